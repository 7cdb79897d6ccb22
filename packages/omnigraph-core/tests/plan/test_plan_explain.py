"""How plans look: the queries of the conformance set, written out by hand from the rules, and odd values."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from omnigraph.lang.types import Scalar, ValueType
from omnigraph.plan import Compiler, explain
from omnigraph.plan.ir import Column, NodeScan, Place, Project, ReadPlan, Sort, SortKey
from omnigraph.plan.spell import spell, spell_sort_keys
from omnigraph.query.ast import TextFunction
from omnigraph.query.checked import Bm25, Constant, CurrentTime, EntityRef, PropertyRef, Rrf, TextMatch
from omnigraph.schema import compile_schema


def _load(name: str):
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


COMPILER = Compiler(compile_schema(_load("library").SCHEMA))

READS = {
    "1": (
        "match { $f: Film } return { $f.code, $f.stars } order { $f.stars }",
        """
query q() -> f.code: String, f.stars: F32?
Project f.code = $f.code, f.stars = $f.stars
  Sort $f.stars, $f
    NodeScan $f: Film columns $f.code, $f.stars
""",
    ),
    "2": (
        "match { $f: Film } return { $f.code } order { $f.stars desc } limit 2",
        """
query q() -> f.code: String
Project f.code = $f.code
  Limit 2
    Sort $f.stars desc, $f
      NodeScan $f: Film columns $f.code, $f.stars
""",
    ),
    "3": (
        'match { $f: Film { tags: "space" } } return { $f.code }',
        """
query q() -> f.code: String
Project f.code = $f.code
  NodeScan $f: Film where $f.tags contains "space" columns $f.code
""",
    ),
    "4": (
        'match { $f: Film  $f.genre != "drama" } return { $f.code }',
        """
query q() -> f.code: String
Project f.code = $f.code
  NodeScan $f: Film where $f.genre != "drama" columns $f.code
""",
    ),
    "5": (
        "match { $f: Film  $f.stars != 3.0 } return { $f.code }",
        """
query q() -> f.code: String
Project f.code = $f.code
  NodeScan $f: Film where $f.stars != 3.0 columns $f.code
""",
    ),
    "6": (
        'match { $f: Film { code: "SF-1" }  $p rented $f } return { $p.handle } order { $p.handle }',
        """
query q() -> p.handle: String
Project p.handle = $p.handle
  Sort $p.handle, $f, $p
    Expand $f Rented <- $p: Person columns $p.handle
      NodeScan $f: Film where $f.code = "SF-1"
""",
    ),
    "7": (
        'match { $f: Film { code: "SF-1" }  $f rented $p } return { $p.handle } order { $p.handle }',
        """
query q() -> p.handle: String
Project p.handle = $p.handle
  Sort $p.handle, $f, $p
    Expand $f Rented <- $p: Person columns $p.handle
      NodeScan $f: Film where $f.code = "SF-1"
""",
    ),
    "8": (
        "match { $p: Person  not { $p rented $_ } } return { $p.handle }",
        """
query q() -> p.handle: String
Project p.handle = $p.handle
  AntiJoin
    NodeScan $p: Person columns $p.handle
    Expand $p Rented -> $_: Film
      OuterRows $p
""",
    ),
    "9": (
        'match { $p: Person { handle: "ann" }  $p follows{1,3} $q } return { $q.handle } order { $q.handle }',
        """
query q() -> q.handle: String
Project q.handle = $q.handle
  Sort $q.handle, $p, $q
    Expand $p Follows{1,3} -> $q: Person columns $q.handle
      NodeScan $p: Person where $p.handle = "ann"
""",
    ),
    "10": (
        'match { $p: Person { handle: "ann" }  $p follows{2,2} $q } return { $q.handle }',
        """
query q() -> q.handle: String
Project q.handle = $q.handle
  Expand $p Follows{2,2} -> $q: Person columns $q.handle
    NodeScan $p: Person where $p.handle = "ann"
""",
    ),
    "11": (
        'match { $p: Person { handle: "bo" }  $p <follows> $q } return { $q.handle } order { $q.handle }',
        """
query q() -> q.handle: String
Project q.handle = $q.handle
  Sort $q.handle, $p, $q
    Expand $p <Follows> $q: Person columns $q.handle
      NodeScan $p: Person where $p.handle = "bo"
""",
    ),
    "12": (
        'match { $p: Person  $p $r:rented $f  $r.on >= date("2026-02-02") } return { $p.handle, $r.on }',
        """
query q() -> p.handle: String, r.on: Date?
Project p.handle = $p.handle, r.on = $r.on
  EdgeExpand $p $r:Rented -> $f: Film where $r.on >= date("2026-02-02") columns $r.on
    NodeScan $p: Person columns $p.handle
""",
    ),
    "13": (
        "match { $p: Person  $p rented $f } return { $p.handle, count($f) as n } order { n desc }",
        """
query q() -> p.handle: String, n: I64
Project p.handle, n
  Sort n desc
    Aggregate by p.handle = $p.handle to n = count($f)
      Expand $p Rented -> $f: Film
        NodeScan $p: Person columns $p.handle
""",
    ),
    "14": (
        'match { $f: Film { genre: "docu" }  $p rented $f } return { count($p) as n }',
        """
query q() -> n: I64
Project n
  Aggregate to n = count($p)
    Expand $f Rented <- $p: Person
      NodeScan $f: Film where $f.genre = "docu"
""",
    ),
    "15": (
        'match { $f: Film { code: "DO-3" } } return { $f, $f.added }',
        """
query q() -> f: String, f.added: DateTime
Project f = $f, f.added = $f.added
  NodeScan $f: Film where $f.code = "DO-3" columns $f.added
""",
    ),
    "28": (
        "match { $p: Person  $p $e:follows $q } return { $p.handle, count($q) as n }",
        """
query q() -> p.handle: String, n: I64
Project p.handle, n
  Aggregate by p.handle = $p.handle to n = count($q)
    EdgeExpand $p $e:Follows -> $q: Person
      NodeScan $p: Person columns $p.handle
""",
    ),
}


@pytest.mark.parametrize("number", READS)
def test_reads_of_the_conformance_set(number):
    core, expected = READS[number]
    assert COMPILER.explain(f"query q() {{ {core} }}") == expected.strip()


def test_parameters_are_shown_with_their_types():
    text = (
        "query hot($g: String?, $at: Date) { match { $f: Film { genre: $g }  $f.released < $at } return { $f.code } }"
    )
    assert COMPILER.explain(text).splitlines() == [
        "query hot($g: String?, $at: Date) -> f.code: String",
        "Project f.code = $f.code",
        "  NodeScan $f: Film where $f.genre = $g and $f.released < $at columns $f.code",
    ]


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        (
            'insert Film { code: "sf-9", title: "x", genre: "drama", added: now() }',
            (
                'InsertNode Film { code: "sf-9", title: "x", genre: "drama", added: now(), plot: null, plotVec: null,'
                " released: null, stars: null, tags: null } key code"
            ),
        ),
        ('insert Person { handle: "bo" }', 'InsertNode Person { handle: "bo", mail: null } key handle'),
        (
            'insert Rented { from: "ann", to: "SF-1" }',
            'InsertEdge Rented: Person -> Film { from: "ann", to: "SF-1", on: null }',
        ),
        (
            'delete Person where handle = "ann"',
            (
                'DeleteNodes Person where handle = "ann"\n'
                "  cascade Directed from\n  cascade Follows from or to\n  cascade Rented from"
            ),
        ),
        (
            'update Film set { stars: 4.5 } where code = "DR-2"',
            'UpdateNodes Film set { stars: 4.5 } where code = "DR-2"',
        ),
        (
            'delete Rented where on < date("2026-02-02")',
            'DeleteEdges Rented where on < date("2026-02-02")',
        ),
        ('delete Rented where to = "SF-1"', 'DeleteEdges Rented where to = "SF-1"'),
    ],
    ids=["18", "19", "21", "23", "24", "edges by property", "edges by end"],
)
def test_mutations_of_the_conformance_set(statements, expected):
    assert COMPILER.explain(f"query q() {{ {statements} }}") == f"query q()\n{expected}"


def test_a_mutation_is_one_line_per_statement_in_their_order():
    text = """
        query checkout($who: String, $film: String, $day: Date) {
            insert Person { handle: $who }
            insert Rented { from: $who, to: $film, on: $day }
        }
    """
    assert COMPILER.explain(text).splitlines() == [
        "query checkout($who: String, $film: String, $day: Date)",
        "InsertNode Person { handle: $who, mail: null } key handle",
        "InsertEdge Rented: Person -> Film { from: $who, to: $film, on: $day }",
    ]


def test_a_left_out_vector_is_shown_as_made_from_its_source():
    catalog = compile_schema('node Doc { text: String  vec: Vector(3) @embed("text") }')
    found = Compiler(catalog).explain('query q() { insert Doc { text: "x" } }')
    assert found.splitlines()[1] == 'InsertNode Doc { text: "x", vec: embed(text) }'


def test_a_hybrid_search_is_shown_with_its_arms():
    text = """
        query find($q: String) {
            match { $p: Person { handle: "ann" }  $p rented $f  search($f.title, "sea") }
            return { $f.code }
            order { rrf(nearest($f.plotVec, $q), bm25($f.plot, $q), 10) }
            limit 3
        }
    """
    fused = "rrf(nearest($f.plotVec, $q), bm25($f.plot, $q), 10)"
    assert COMPILER.explain(text).splitlines()[1:] == [
        "Project f.code = $f.code",
        "  Limit 3",
        f"    Sort {fused} desc, place, $f, $p",
        f"      Fuse {fused} first 3",
        "        RankJoin $f",
        "          Expand $p Rented -> $f: Film columns $f.code",
        '            NodeScan $p: Person where $p.handle = "ann"',
        f"          Rank {fused} first 3",
        '            NodeScan $f: Film where search($f.title, "sea")',
    ]


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def constant(value, scalar: Scalar, **facts) -> Constant:
    return Constant(value, ValueType(scalar, **facts))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (constant('a "b" \\ \n\r\t', Scalar.STRING), '"a \\"b\\" \\\\ \\n\\r\\t"'),
        (constant("\x1b[31m\u2028", Scalar.STRING), '"\\u{1b}[31m\\u{2028}"'),
        (constant("Ünïcode", Scalar.STRING), '"Ünïcode"'),
        (constant(True, Scalar.BOOL), "true"),
        (constant(False, Scalar.BOOL), "false"),
        (constant(7, Scalar.I64), "7"),
        (constant(0.5, Scalar.F64), "0.5"),
        (constant(1e20, Scalar.F64), "100000000000000000000.0"),
        (constant((1.5e-9,), Scalar.F64, is_list=True), "[0.0000000015]"),
        (constant(None, Scalar.I64, is_nullable=True), "null"),
        (constant(0, Scalar.DATE), 'date("1970-01-01")'),
        (constant(1500, Scalar.DATETIME), 'datetime("1970-01-01T00:00:01.500Z")'),
        (constant(("a", "b"), Scalar.STRING, is_list=True), '["a", "b"]'),
        (constant((0, 1), Scalar.DATE, is_list=True), '[date("1970-01-01"), date("1970-01-02")]'),
        (constant((1.0,) * 8, Scalar.VECTOR, dimension=8), "[" + ", ".join(["1.0"] * 8) + "]"),
        (constant((1.0,) * 1536, Scalar.VECTOR, dimension=1536), "[" + ", ".join(["1.0"] * 8) + ", 1528 more]"),
        (CurrentTime(), "now()"),
        (EntityRef("f", "Film"), "$f"),
    ],
)
def test_values_are_spelled_as_in_the_language(value, expected):
    assert spell(value) == expected


def test_a_text_never_breaks_a_line():
    plan = COMPILER.plan('query q() { match { $f: Film { title: "two\nlines" } } return { $f } }')
    assert len(explain(plan).splitlines()) == 3


def test_fuzzy_shows_its_edits_only_when_they_were_given():
    field, query = PropertyRef("f", "title", ValueType(Scalar.STRING)), constant("x", Scalar.STRING)
    assert spell(TextMatch(TextFunction.FUZZY, field, query)) == 'fuzzy($f.title, "x")'
    with_edits = TextMatch(TextFunction.FUZZY, field, query, constant(1, Scalar.I64))
    assert spell(with_edits) == 'fuzzy($f.title, "x", 1)'


def test_where_nulls_go_is_said_when_it_is_not_by_default():
    field = PropertyRef("f", "n", ValueType(Scalar.I64))
    arm = Bm25(field, constant("x", Scalar.STRING))
    keys = [
        SortKey(field),
        SortKey(field, nulls_first=False),
        SortKey(field, is_descending=True, nulls_first=False),
        SortKey(field, is_descending=True, nulls_first=True),
        SortKey(Place(Rrf(arm, arm), 2)),
    ]
    expected = "$f.n, $f.n nulls last, $f.n desc, $f.n desc nulls first, place in arm 2"
    assert spell_sort_keys(keys) == expected


def test_a_plan_that_was_made_by_hand_is_explained_too():
    string = ValueType(Scalar.STRING)
    root = Project(Sort(NodeScan("f", "Film"), (SortKey(EntityRef("f", "Film")),)), ())
    plan = ReadPlan(name="mine", parameters=(), root=root, columns=(Column("x", string),))
    assert explain(plan).splitlines()[0] == "query mine() -> x: String"
