"""Every node knows its place: the text of its span is what was written."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from omnigraph.lang import SourceText
from omnigraph.lang.source import Name
from omnigraph.query import ast
from omnigraph.query.parser import parse_queries

READ = """// ü before everything
query read($a: String, $list: [I32]?, $v: Vector(3)) @description("d") {
    match {
        $f: Film { code: $a, tags: "x", }
        $p $r:<rented>{1,3} $f
        not { $p follows $_ }
        $f.stars >= 3.5
        search($f.plot, "ö") = true
        fuzzy($f.plot, $a, 2)
        [1, 2] contains $f.stars
        $f.added < datetime("2024")
        $f.released > date("2024")
        $f.on = now()
    }
    return { $f.code as code, count($p), rrf(nearest($f.vec, $v), bm25($f.plot, "ü"), 60) as score }
    order { code desc, nearest($f.vec, [0.5]), $f.x asc }
    limit 10
}
"""
CHANGE = """query change() {
    insert Film { code: "a", on: true }
    update Film set { code: "b" } where stars <= 2
    delete Film where code = $x
}"""


def written(text: str) -> dict[str, list[str]]:
    """What every kind of node covers, in the order of the text."""
    found: dict[str, list[str]] = {}

    def visit(node: object) -> None:
        if isinstance(node, tuple) and not hasattr(node, "start"):
            for each in node:
                visit(each)
        elif is_dataclass(node):
            span = getattr(node, "span", None)
            if span is not None:
                found.setdefault(type(node).__name__, []).append(text[span.start : span.end])
            for each in fields(node):
                visit(getattr(node, each.name))

    visit(parse_queries(SourceText.of(text)))
    return found


def test_every_node_of_a_read_covers_its_text():
    body = READ[READ.index("match") : READ.index("\n}")]
    query = READ[READ.index("query") : -1]
    nearest = "nearest($f.vec, $v)"
    assert written(READ) == {
        "Query": [query],
        "Name": ["read", "$a", "$list", "$v", "$f", "Film", "code", "tags", "$p", "$r", "rented", "$f", "$p",
                 "follows", "$_", "$f", "stars", "$f", "plot", "$f", "plot", "$f", "stars", "$f", "added", "$f",
                 "released", "$f", "on", "$f", "code", "code", "$f", "vec", "$f", "plot", "score", "$f", "vec", "$f",
                 "x"],
        "Parameter": ["$a: String", "$list: [I32]?", "$v: Vector(3)"],
        "Read": [body],
        "Binding": ['$f: Film { code: $a, tags: "x", }'],
        "PropertyMatch": ["code: $a", 'tags: "x"'],
        "Variable": ["$a", "$a", "$p", "$v"],
        "StringLiteral": ['"x"', '"ö"', '"ü"'],
        "Traversal": ["$p $r:<rented>{1,3} $f", "$p follows $_"],
        "Hops": ["{1,3}"],
        "Negation": ["not { $p follows $_ }"],
        "Filter": ["$f.stars >= 3.5", 'search($f.plot, "ö") = true', "[1, 2] contains $f.stars",
                   '$f.added < datetime("2024")', '$f.released > date("2024")', "$f.on = now()"],
        "PropertyAccess": ["$f.stars", "$f.plot", "$f.plot", "$f.stars", "$f.added", "$f.released", "$f.on", "$f.code",
                           "$f.plot", "$f.x"],
        "FloatLiteral": ["3.5", "0.5"],
        "TextCall": ['search($f.plot, "ö")', "fuzzy($f.plot, $a, 2)", 'bm25($f.plot, "ü")'],
        "TextClause": ["fuzzy($f.plot, $a, 2)"],
        "BoolLiteral": ["true"],
        "IntegerLiteral": ["2", "1", "2", "60"],
        "ListLiteral": ["[1, 2]", "[0.5]"],
        "DateTimeLiteral": ['datetime("2024")'],
        "DateLiteral": ['date("2024")'],
        "Now": ["now()"],
        "Projection": ["$f.code as code", "count($p)", f'rrf({nearest}, bm25($f.plot, "ü"), 60) as score'],
        "Aggregate": ["count($p)"],
        "Rrf": [f'rrf({nearest}, bm25($f.plot, "ü"), 60)'],
        "Nearest": [nearest, "nearest($f.vec, [0.5])"],
        "Ordering": ["code desc", "nearest($f.vec, [0.5])", "$f.x asc"],
        "Identifier": ["code"],
        "Limit": ["limit 10"],
    }  # fmt: skip


def test_every_node_of_a_mutation_covers_its_text():
    statements = ['insert Film { code: "a", on: true }', 'update Film set { code: "b" } where stars <= 2']
    found = written(CHANGE)
    assert found["Query"] == [CHANGE]
    assert found["Mutation"] == [CHANGE[CHANGE.index("insert") : -2]]
    assert found["Insert"] == statements[:1]
    assert found["Update"] == statements[1:]
    assert found["Delete"] == ["delete Film where code = $x"]
    assert found["Assignment"] == ['code: "a"', "on: true", 'code: "b"']
    assert found["Predicate"] == ["stars <= 2", "code = $x"]


def test_the_two_texts_hold_every_kind_of_node():
    kinds = {
        each for each in vars(ast).values() if is_dataclass(each) and each is not Name and "span" in each.__slots__
    }
    assert {each.__name__ for each in kinds} <= {*written(READ), *written(CHANGE)}
