"""The naive evaluator itself, against answers that were worked out by hand from the language reference."""

from __future__ import annotations

import itertools
import math
from random import Random

import pytest

from omnigraph.errors import CompileError
from omnigraph.schema import compile_schema
from omnigraph.testing.answers import About, Answer, disagreement
from omnigraph.testing.model import ModelGraph
from omnigraph.testing.query_model import QueryModel
from omnigraph.testing.query_strategies import QUERY_TEXTS, QUERY_VECTORS
from omnigraph.testing.strategies import ENDS, PROPERTIES, SCHEMA, VALUES, make_changes, make_records, make_removals
from omnigraph.testing.text_model import (
    VOCABULARY,
    bm25,
    cosine_distance,
    edits,
    is_found,
    is_nearly_found,
    mock_vector,
    rounded,
    words,
)

LIBRARY = """
node Film {
    code: String @key
    genre: enum(drama, sci-fi, docu)
    tags: [String]?
    stars: F32?
    released: Date?
    added: DateTime
    plot: String?
    vec: Vector(2)?
}
node Person { handle: String @key  mail: String? @unique }
edge Directed: Person -> Film
edge Rented: Person -> Film { on: Date?  @unique(src, dst) }
edge Follows: Person -> Person
"""


def film(code: str, genre: str, added: str, **more: object) -> dict:
    return {"type": "Film", "data": {"code": code, "genre": genre, "added": added, **more}}


def edge(name: str, source: str, target: str, number: int, **more: object) -> dict:
    return {"edge": name, "from": source, "to": target, "data": {"id": f"{name[0]}{number}", **more}}


RECORDS = [
    film("SF-1", "sci-fi", "2026-01-01T00:00:00Z", stars=4.5, released="2020-03-01", tags=["space", "slow"]),
    film("DR-2", "drama", "2026-01-02T00:00:00Z", stars=3.0, released="2021-07-09"),
    film("DO-3", "docu", "2026-01-03T00:00:00.5Z"),
    {"type": "Person", "data": {"handle": "ann", "mail": "ann@x.org"}},
    {"type": "Person", "data": {"handle": "bo"}},
    {"type": "Person", "data": {"handle": "cy"}},
    edge("Directed", "cy", "SF-1", 1),
    edge("Rented", "ann", "SF-1", 1, on="2026-02-01"),
    edge("Rented", "ann", "DR-2", 2),
    edge("Rented", "bo", "SF-1", 3, on="2026-02-03"),
    edge("Follows", "ann", "bo", 1),
    edge("Follows", "bo", "cy", 2),
    edge("Follows", "cy", "ann", 3),
    edge("Follows", "bo", "bo", 4),
]
"""The records of section 20 of the language reference."""

PLOTS = [
    film("A", "drama", "2026-01-01T00:00:00Z", plot="the river and the stone", vec=[1.0, 0.0]),
    film("B", "drama", "2026-01-01T00:00:00Z", plot="Gold, gold: a river", vec=[0.0, 2.0]),
    film("C", "docu", "2026-01-01T00:00:00Z", plot="salt", vec=[1.0, 1.0]),
    film("D", "docu", "2026-01-01T00:00:00Z", vec=[1.0, 1.0]),
    film("E", "docu", "2026-01-01T00:00:00Z", plot="stone"),
]


def model(records: list[dict], schema: str = LIBRARY) -> QueryModel:
    graph = ModelGraph(compile_schema(schema))
    graph.load(records, "append")
    return QueryModel(graph)


def ask(records: list[dict], core: str, declared: str = "", **given: object) -> list[tuple]:
    """The cells of the result; of an unordered one, sorted."""
    answer = model(records).answer(f"query q({declared}) {{ {core} }}", given)
    rows = [tuple(cell.value if isinstance(cell, About) else cell for cell in row) for row in answer.rows]
    rows = rows[: answer.limit]
    return rows if answer.is_total or answer.sorted_by is not None else sorted(rows, key=repr)


ANN = '$p: Person { handle: "ann" }'
CASES = {
    "1": (
        "match { $f: Film } return { $f.code, $f.stars } order { $f.stars }",
        [("DO-3", None), ("DR-2", 3.0), ("SF-1", 4.5)],
    ),
    "2": ("match { $f: Film } return { $f.code } order { $f.stars desc } limit 2", [("SF-1",), ("DR-2",)]),
    "3": ('match { $f: Film { tags: "space" } } return { $f.code }', [("SF-1",)]),
    "4": ('match { $f: Film  $f.genre != "drama" } return { $f.code }', [("DO-3",), ("SF-1",)]),
    "5": ("match { $f: Film  $f.stars != 3.0 } return { $f.code }", [("SF-1",)]),
    "6": (
        'match { $f: Film { code: "SF-1" }  $p rented $f } return { $p.handle } order { $p.handle }',
        [("ann",), ("bo",)],
    ),
    "7": (
        'match { $f: Film { code: "SF-1" }  $f rented $p } return { $p.handle } order { $p.handle }',
        [("ann",), ("bo",)],
    ),
    "8": ("match { $p: Person  not { $p rented $_ } } return { $p.handle }", [("cy",)]),
    "9": (f"match {{ {ANN}  $p follows{{1,3}} $q }} return {{ $q.handle }} order {{ $q.handle }}", [("bo",), ("cy",)]),
    "10": (f"match {{ {ANN}  $p follows{{2,2}} $q }} return {{ $q.handle }}", [("bo",), ("cy",)]),
    "11": (
        'match { $p: Person { handle: "bo" }  $p <follows> $q } return { $q.handle } order { $q.handle }',
        [("ann",), ("bo",), ("cy",)],
    ),
    "12": (
        'match { $p: Person  $p $r:rented $f  $r.on >= date("2026-02-02") } return { $p.handle, $r.on }',
        [("bo", "2026-02-03")],
    ),
    "13": (
        "match { $p: Person  $p rented $f } return { $p.handle, count($f) as n } order { n desc }",
        [("ann", 2), ("bo", 1)],
    ),
    "14": ('match { $f: Film { genre: "docu" }  $p rented $f } return { count($p) as n }', [(0,)]),
    "15": ('match { $f: Film { code: "DO-3" } } return { $f, $f.added }', [("DO-3", "2026-01-03T00:00:00.500Z")]),
    "a component without a binding": (
        "match { $a follows $b } return { $a, $b }",
        [("ann", "bo"), ("bo", "bo"), ("bo", "cy"), ("cy", "ann")],
    ),
    "a node binding twice": ('match { $f: Film  $f: Film { genre: "docu" } } return { $f }', [("DO-3",)]),
    "a cross product": (
        'match { $f: Film { genre: "docu" }  $p: Person } return { $f, $p }',
        [("DO-3", "ann"), ("DO-3", "bo"), ("DO-3", "cy")],
    ),
    "nameless ends count": ("match { $p: Person  $p rented $_ } return { $p }", [("ann",), ("ann",), ("bo",)]),
    "a flip in a negation": ("match { $f: Film  not { $f directed $p } } return { $f }", [("DO-3",), ("DR-2",)]),
    "a binding again in a negation": (
        'match { $p: Person  not { $p: Person { handle: "ann" } } } return { $p }',
        [("bo",), ("cy",)],
    ),
    "a negation in a negation": (
        "match { $p: Person  not { $p follows $q  not { $q rented $_ } } } return { $p }",
        [("ann",), ("cy",)],
    ),
    "null in a negation": ("match { $f: Film  not { $f.stars > 3.0 } } return { $f }", [("DO-3",), ("DR-2",)]),
    "a pair that is connected": (
        'match { $p: Person  $q: Person { handle: "bo" }  $p follows $q } return { $p }',
        [("ann",), ("bo",)],
    ),
    "hops between types": (
        "match { $p: Person  $p rented{1,3} $f } return { $p, $f }",
        [("ann", "DR-2"), ("ann", "SF-1"), ("bo", "SF-1")],
    ),
    "hops from 2 between types": ("match { $p: Person  $p rented{2,3} $f } return { $p, $f }", []),
    "hops from 2, seen from the end": (
        'match { $q: Person { handle: "bo" }  $p follows{2,2} $q } return { $p }',
        [("cy",)],
    ),
    "a loop is a way back": (
        'match { $p: Person { handle: "bo" }  $p follows{1,2} $q } return { $q }',
        [("ann",), ("bo",), ("cy",)],
    ),
    "edges both ways": (
        'match { $p: Person { handle: "bo" }  $p $e:<follows> $q } return { $q }',
        [("ann",), ("bo",), ("cy",)],
    ),
    "F32 and a literal": ("match { $f: Film  $f.stars = 4.5 } return { $f }", [("SF-1",)]),
    "no rows and a group key": ('match { $f: Film { code: "x" } } return { $f.genre, count($f) as n }', []),
    "no rows, other aggregates": (
        'match { $f: Film { code: "x" } } return { sum($f.stars), max($f.code) as m, min($f) as i }',
        [(None, None, None)],
    ),
    "aggregates": (
        "match { $f: Film } return { count($f.stars), sum($f.stars) as s, avg($f.stars) as a, max($f) as h }",
        [(2, 7.5, 3.75, "SF-1")],
    ),
    "a null group": (
        "match { $p: Person } return { $p.mail, count($p) as n } order { n }",
        [("ann@x.org", 1), (None, 2)],
    ),
    "ties by name of variable": (
        "match { $b: Person  $a follows $b } return { $a, $b } order { $b.mail }",
        [("ann", "bo"), ("bo", "bo"), ("bo", "cy"), ("cy", "ann")],
    ),
    "limit 0": ("match { $f: Film } return { $f } order { f } limit 0", []),
    "a literal": (
        'match { $f: Film { code: "SF-1" } } return { "x", $f.tags, $f.stars }',
        [("x", ["space", "slow"], 4.5)],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_answers_worked_out_by_hand(case: str):
    core, expected = CASES[case]
    assert ask(RECORDS, core) == expected


def test_a_null_parameter_matches_nothing():
    for condition in ("{ genre: $g }", "$f.genre = $g", "$f.genre != $g"):
        core = f"match {{ $f: Film  {condition} }}" if "$f" in condition else f"match {{ $f: Film {condition} }}"
        assert ask(RECORDS, f"{core} return {{ $f }}", "$g: String?") == []
    assert ask(RECORDS, "match { $f: Film { genre: $g } } return { $f }", "$g: String?", g="docu") == [("DO-3",)]


def test_what_the_check_refuses_has_no_answer():
    with pytest.raises(CompileError):
        ask(RECORDS, 'match { $f: Film  $f.released = "2020-03-01" } return { $f }')


def test_parallel_edges_are_one_pair_and_two_edges():
    doubled = [*RECORDS, *(edge("Follows", source, target, 9) for source, target in (("ann", "bo"),))]
    pairs = "match { $p: Person  $p follows $q } return { $p.handle, count($q) as n } order { $p.handle }"
    assert ask(doubled, pairs) == [("ann", 1), ("bo", 2), ("cy", 1)]
    assert ask(doubled, pairs.replace("follows", "$e:follows")) == [("ann", 2), ("bo", 2), ("cy", 1)]


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("$a.big = $a.full", []),
        ("$a.big > $a.full", [("x",)]),
        ("$a.small = 2.7", []),
        ("$a.small < 2.7", [("x",)]),
        ("$a.half = 0.1", [("x",)]),
        ("$a.half > $a.full", []),
        ("$a.wide > 9223372036854775807", [("x",)]),
        ("$a.halves contains 0.1", [("x",)]),
        ("[1, 2] contains $a.small", [("x",)]),
    ],
)
def test_numbers_are_compared_by_value_and_given_ones_in_the_precision_of_an_f32(condition: str, expected: list):
    item = {"code": "x", "big": 2**53 + 1, "full": 2.0**53, "small": 2, "half": 0.1, "wide": 2**64 - 1, "halves": [0.1]}
    answer = model([{"type": "Item", "data": item}], SCHEMA).answer(
        f"query q() {{ match {{ $a: Item  {condition} }} return {{ $a }} }}"
    )
    assert list(answer.rows) == expected


# ── search ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_words_are_lower_case_without_accents_stems_and_no_stop_words():
    assert words("Café, the Über-RIVER houses running") == ("cafe", "uber", "river", "hous", "run")
    assert all(words(word) == (word,) for word in VOCABULARY)


def test_any_word_is_enough_and_fuzzy_allows_edits():
    assert is_found("the river", "RIVER stone")
    assert not is_found("the river", "the")
    assert edits("river", "rivet") == 1
    assert edits("", "map") == edits("map", "") == 3
    assert edits("kitten", "sitting") == 3
    assert is_nearly_found("river", "rivr", 1)
    assert not is_nearly_found("river", "rivr", 0)
    assert is_nearly_found("house", "houses", 0)
    assert is_nearly_found("houses", "houzes", 1)


def test_bm25_is_the_usual_formula():
    texts = ["gold gold river", "river", "salt"]
    average, rarity = 5 / 3, math.log(1 + (3 - 1 + 0.5) / 1.5)
    expected = rarity * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / average))
    assert bm25(texts[0], "gold", texts) == pytest.approx(expected)
    assert bm25(texts[2], "gold", texts) is None


def test_the_mock_vector_is_the_published_one():
    assert mock_vector("alpha", 4) == pytest.approx([-0.542049, -0.471799, 0.160905, 0.676534], abs=1e-6)


NEAREST = "nearest($f.vec, [1.0, 0.0])"


@pytest.mark.parametrize(
    ("core", "expected"),
    [
        # From (1, 0): A is at 0, C and D at 1 - 1/sqrt(2), B at 1; E has no vector.
        ("match { $f: Film } return { $f } order { nearest($f.vec, [1.0, 0.0]) } limit 3", [("A",), ("C",), ("D",)]),
        (
            'match { $f: Film { genre: "docu" } } return { $f } order { nearest($f.vec, [1.0, 0.0]) } limit 9',
            [("C",), ("D",)],
        ),
        (
            "match { $f: Film } return { $f } order { nearest($f.vec, [1.0, 0.0]), $f.plot desc } limit 3",
            [("A",), ("C",), ("D",)],
        ),
        (
            "match { $f: Film } return { $f } order { nearest($f.vec, [1.0, 0.0]), $f.plot } limit 3",
            [("A",), ("D",), ("C",)],
        ),
        # A negation comes after the best were chosen.
        (
            'match { $f: Film  not { $f.plot = "salt" } } return { $f } order { nearest($f.vec, [1.0, 0.0]) } limit 2',
            [("A",)],
        ),
        # Gold twice and a river in B; a river in A, which is longer; none in C, D, E.
        ('match { $f: Film } return { $f } order { bm25($f.plot, "river gold") }', [("B",), ("A",)]),
        ('match { $f: Film  search($f.plot, "stone") } return { $f } order { bm25($f.plot, "river") }', [("A",)]),
        # nearest: A, C (limit 2); bm25: E, A. A has 1/61 + 1/62, E 1/61, C 1/62.
        (
            f'match {{ $f: Film }} return {{ $f }} order {{ rrf({NEAREST}, bm25($f.plot, "stone")) }} limit 2',
            [("A",), ("E",)],
        ),
        # One is first here, the other there: the order of the first arm decides.
        (
            'match { $f: Film } return { $f } order { rrf(bm25($f.plot, "salt"), bm25($f.plot, "gold")) } limit 5',
            [("C",), ("B",)],
        ),
    ],
)
def test_rankings_worked_out_by_hand(core: str, expected: list):
    assert ask(PLOTS, core) == expected


def test_scores_are_columns():
    core = f'match {{ $f: Film }} return {{ $f, {NEAREST} as far, bm25($f.plot, "none") as b }} order {{ $f.code }}'
    found = ask(PLOTS, core)
    assert [row[0] for row in found] == ["A", "B", "C", "D", "E"]
    assert [row[1] for row in found] == pytest.approx([0, 1, 1 - 2**-0.5, 1 - 2**-0.5, None], abs=1e-9)
    assert {row[2] for row in found} == {None}


# ── judging results ──────────────────────────────────────────────────────────────────────────────────────────────────


def answer(rows: list[tuple], **facts: object) -> Answer:
    facts = {"limit": None, "sorted_by": None, "is_total": False, **facts}
    return Answer(columns=("a", "b"), rows=tuple(rows), **facts)


def verdict(expected: Answer, rows: list[tuple]) -> str | None:
    return disagreement(expected, ("a", "b"), [dict(zip(("a", "b"), row, strict=True)) for row in rows])


def test_rows_without_an_order_may_come_in_any_and_no_other_rows():
    expected = answer([(1, "x"), (2, "y"), (2, "y")])
    assert verdict(expected, [(2, "y"), (1, "x"), (2, "y")]) is None
    assert verdict(expected, [(1, "x"), (1, "x"), (2, "y")]) is not None
    assert verdict(expected, [(1, "x"), (2, "y")]) is not None
    assert verdict(expected, [(1.0, "x"), (2, "y"), (2, "y")]) is not None


def test_an_order_is_kept_and_ties_of_groups_are_open():
    rows = [(1, "x"), (1, "y"), (2, "z")]
    assert verdict(answer(rows, is_total=True), [(1, "y"), (1, "x"), (2, "z")]) is not None
    tied = answer(rows, sorted_by=(0,), limit=2)
    assert verdict(tied, [(1, "y"), (1, "x")]) is None
    assert verdict(tied, [(1, "y"), (2, "z")]) is not None


def test_a_limit_takes_any_of_the_rows_that_have_no_order():
    expected = answer([(1, "x"), (2, "y")], limit=1)
    assert verdict(expected, [(2, "y")]) is None
    assert verdict(expected, [(3, "y")]) is not None


def test_sums_and_scores_may_be_a_little_off():
    expected = answer([(1, About(0.3, 1e-9)), (None, About(1.0, 1e-9))])
    assert verdict(expected, [(None, 1.0), (1, 0.1 + 0.2)]) is None
    assert verdict(expected, [(None, 1.0), (1, 0.31)]) is not None
    assert verdict(expected, [(None, 1.0), (1, None)]) is not None


# ── random graphs ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_random_graphs_keep_the_rules_of_their_schema():
    catalog = compile_schema(SCHEMA)
    assert {name: (found.source, found.target) for name, found in catalog.edges.items()} == ENDS
    owners = {**catalog.nodes, **catalog.edges}
    assert {name: set(found.by_name) for name, found in owners.items()} == {k: set(v) for k, v in PROPERTIES.items()}
    for seed in range(30):
        random = Random(seed)
        records = make_records(random)
        graph = ModelGraph(catalog)
        graph.load(records, "append")
        changes = make_changes(random, records)
        graph.load(changes, "merge")
        graph.load(make_removals(random, [*records, *changes]), "overwrite")


def test_vectors_are_apart_by_far_more_than_rounding():
    queries = [*QUERY_VECTORS, *(mock_vector(text, 3) for text in QUERY_TEXTS)]
    for query in queries:
        distances = sorted(cosine_distance(tuple(map(rounded, each)), query) for each in VALUES["Vector"])
        assert min(right - left for left, right in itertools.pairwise(distances)) > 1e-3, query
