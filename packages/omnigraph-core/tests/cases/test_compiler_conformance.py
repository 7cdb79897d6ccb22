"""The compile-time half of the conformance set: what each query is refused for, or which columns it has.

Numbers are those of the set. 25 to 27 load data and have no query. What the queries answer is tested where they run.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.errors import CompileError
from omnigraph.lang.codes import Code
from omnigraph.lang.types import Scalar
from omnigraph.plan import Compiler
from omnigraph.query import checked as c
from omnigraph.query import compile_query
from omnigraph.schema import Catalog, compile_schema

SCHEMA = (Path(__file__).parent / "schema" / "film.pg").read_text("utf-8")


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return compile_schema(SCHEMA)


READS = {
    "1": (
        "match { $f: Film } return { $f.code, $f.stars } order { $f.stars }",
        {"f.code": "String", "f.stars": "F32?"},
    ),
    "2": ("match { $f: Film } return { $f.code } order { $f.stars desc } limit 2", {"f.code": "String"}),
    "3": ('match { $f: Film { tags: "space" } } return { $f.code }', {"f.code": "String"}),
    "4": ('match { $f: Film  $f.genre != "drama" } return { $f.code }', {"f.code": "String"}),
    "5": ("match { $f: Film  $f.stars != 3.0 } return { $f.code }", {"f.code": "String"}),
    "6": (
        'match { $f: Film { code: "SF-1" }  $p rented $f } return { $p.handle } order { $p.handle }',
        {"p.handle": "String"},
    ),
    "7": (
        'match { $f: Film { code: "SF-1" }  $f rented $p } return { $p.handle } order { $p.handle }',
        {"p.handle": "String"},
    ),
    "8": ("match { $p: Person  not { $p rented $_ } } return { $p.handle }", {"p.handle": "String"}),
    "9": (
        'match { $p: Person { handle: "ann" }  $p follows{1,3} $q } return { $q.handle } order { $q.handle }',
        {"q.handle": "String"},
    ),
    "10": ('match { $p: Person { handle: "ann" }  $p follows{2,2} $q } return { $q.handle }', {"q.handle": "String"}),
    "11": (
        'match { $p: Person { handle: "bo" }  $p <follows> $q } return { $q.handle } order { $q.handle }',
        {"q.handle": "String"},
    ),
    "12": (
        'match { $p: Person  $p $r:rented $f  $r.on >= date("2026-02-02") } return { $p.handle, $r.on }',
        {"p.handle": "String", "r.on": "Date?"},
    ),
    "13": (
        "match { $p: Person  $p rented $f } return { $p.handle, count($f) as n } order { n desc }",
        {"p.handle": "String", "n": "I64"},
    ),
    "14": ('match { $f: Film { genre: "docu" }  $p rented $f } return { count($p) as n }', {"n": "I64"}),
    "15": (
        'match { $f: Film { code: "DO-3" } } return { $f, $f.added }',
        {"f": "String", "f.added": "DateTime"},
    ),
    "28": (
        "match { $p: Person  $p follows $q } return { $p.handle, count($q) as n }",
        {"p.handle": "String", "n": "I64"},
    ),
    "28, by edge": (
        "match { $p: Person  $p $e:follows $q } return { $p.handle, count($q) as n }",
        {"p.handle": "String", "n": "I64"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("number", READS)
def test_a_read_of_the_set_compiles_to_these_columns(number: str, catalog: Catalog):
    core, columns = READS[number]
    query = compile_query(f"query q() {{ {core} }}", catalog)
    assert isinstance(query, c.CheckedRead)
    assert {each.name: str(each.type) for each in query.projections} == columns
    plan = Compiler(catalog).plan(f"query q() {{ {core} }}")
    assert [each.name for each in plan.columns] == list(columns)


def read_of(number: str, catalog: Catalog) -> c.CheckedRead:
    query = compile_query(f"query q() {{ {READS[number][0]} }}", catalog)
    assert isinstance(query, c.CheckedRead)
    return query


def test_6_and_7_are_the_same_edge_seen_from_its_other_end(catalog: Catalog):
    (_, six), (_, seven) = (read_of(number, catalog).clauses for number in ("6", "7"))
    assert (six.left, six.right, six.direction) == ("p", "f", c.Direction.FORWARD)
    assert (seven.left, seven.right, seven.direction) == ("f", "p", c.Direction.BACKWARD)
    assert six.edge == seven.edge == "Rented"


def test_9_to_12_say_how_far_which_way_and_which_edge(catalog: Catalog):
    hops = {number: read_of(number, catalog).clauses[1] for number in ("9", "10", "11", "12")}
    assert [(each.minimum_hops, each.maximum_hops) for each in hops.values()] == [(1, 3), (2, 2), (1, 1), (1, 1)]
    assert hops["11"].direction is c.Direction.UNDIRECTED
    assert hops["12"].edge_variable == "r"
    assert read_of("12", catalog).clauses[2].right == c.Constant(20486, c.ValueType(Scalar.DATE))


def test_8_negates_a_block_that_hangs_on_the_person(catalog: Catalog):
    negation = read_of("8", catalog).clauses[1]
    assert negation.correlated == ("p",)
    assert dict(negation.variables) == {}


def test_13_and_14_aggregate_with_and_without_a_group_key(catalog: Catalog):
    assert all(read_of(number, catalog).is_aggregate for number in ("13", "14"))
    assert read_of("13", catalog).orderings == (c.Ordering(c.ColumnRef("n", c.COUNT), is_descending=True),)


def test_16_takes_an_optional_parameter_for_an_enum(catalog: Catalog):
    text = "query q($g: String?) { match { $f: Film { genre: $g } } return { $f.code } }"
    query = compile_query(text, catalog)
    assert [(each.name, str(each.type)) for each in query.parameters] == [("g", "String?")]
    assert isinstance(query.clauses[0].matches[0].value, c.ParameterRef)


def test_17_compares_a_date_with_a_string_and_is_refused(catalog: Catalog):
    text = 'query q() { match { $f: Film  $f.released = "2020-03-01" } return { $f.code } }'
    with pytest.raises(CompileError) as caught:
        compile_query(text, catalog)
    (found,) = caught.value.diagnostics
    assert found.code is Code.T7
    assert text[found.span.start : found.span.end] == '"2020-03-01"'


CHANGES = {
    # Refused when they run, by a check of the data; the compiler has nothing against them.
    "18": ('insert Film { code: "sf-9", title: "x", genre: "drama", added: now() }', c.InsertNode),
    "19": ('insert Person { handle: "bo" }', c.InsertNode),
    "20": ('insert Person { handle: "dee", mail: "ann@x.org" }', c.InsertNode),
    "21": ('insert Rented { from: "ann", to: "SF-1" }', c.InsertEdge),
    "22": ('insert Rented { from: "ann", to: "ZZ-9" }', c.InsertEdge),
    "23": ('delete Person where handle = "ann"', c.DeleteNodes),
    "24": ('update Film set { stars: 4 } where code = "DR-2"', c.UpdateNodes),
}


@pytest.mark.parametrize("number", CHANGES)
def test_a_change_of_the_set_compiles_to_this_statement(number: str, catalog: Catalog):
    core, kind = CHANGES[number]
    query = compile_query(f"query q() {{ {core} }}", catalog)
    assert isinstance(query, c.CheckedMutation)
    assert [type(each) for each in query.statements] == [kind]
    assert Compiler(catalog).explain(f"query q() {{ {core} }}")


def test_24_assigns_an_integer_to_a_float_property(catalog: Catalog):
    query = compile_query(f"query q() {{ {CHANGES['24'][0]} }}", catalog)
    (assignment,) = query.statements[0].assignments
    assert str(assignment.type) == "F32?"
    assert assignment.value.value == 4.0


def test_the_schema_of_the_set_compiles_to_what_it_says(catalog: Catalog):
    assert list(catalog.nodes) == ["Film", "Person"]
    assert list(catalog.edges) == ["Directed", "Follows", "Rented"]
    assert list(catalog.interfaces) == ["Titled"]
    film = catalog.nodes["Film"]
    assert film.key == ("code",)
    # Columns are in ascending order of their names, whatever the text says.
    assert {each.name: str(each.type) for each in film.properties} == {
        "added": "DateTime", "code": "String", "genre": "enum(docu, drama, sci-fi)", "plot": "String?",
        "plotVec": "Vector(4)?", "released": "Date?", "stars": "F32?", "tags": "[String]?", "title": "String",
    }  # fmt: skip
    assert [each.name for each in film.properties] == sorted(each.name for each in film.properties)
    assert not film.by_name["title"].is_direct
    assert catalog.edges["Rented"].constraints[0].columns == ("dst", "src")
    assert catalog.edges["Directed"].cardinality.maximum is None


EXAMPLES = {
    "top genres": (
        "query top_genres($since: Date) { match { $p: Person  $p rented $f  $f.released >= $since } "
        "return { $f.genre, count($p) as rentals } order { rentals desc } limit 5 }"
    ),
    "checkout": (
        "query checkout($who: String, $film: String, $day: Date) { insert Person { handle: $who } "
        "insert Rented { from: $who, to: $film, on: $day } }"
    ),
    "retag": "query retag($code: String, $tags: [String]) { update Film set { tags: $tags } where code = $code }",
    "forget": "query forget($who: String) { delete Person where handle = $who }",
}  # fmt: skip


@pytest.mark.parametrize("text", EXAMPLES.values(), ids=EXAMPLES)
def test_the_examples_of_the_language_compile(text: str, catalog: Catalog):
    assert Compiler(catalog).explain(text)
