"""The reads of the conformance set (cases 1 to 17 and 28) and searches, through the public API.

Each is asked on every place, with no index, with indexes that cover a part of the rows and with ones that cover all,
and with both ways to traverse.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from library import DIRECTED, EARLY, EVERYTHING, FOLLOWS, LATE, PLOTS, SCHEMA

import omnigraph as og
from omnigraph.errors import CompileError
from omnigraph.testing import GraphPlace

COVERAGES = ("none", "part", "all")
TRAVERSALS = ("csr", "indexed")


@dataclass(frozen=True)
class Library:
    """A graph that stays as it is, and a handle for each way to traverse."""

    graphs: dict[str, og.Graph]

    def ask(self, core: str, declared: str = "", **params: Any) -> list[dict[str, Any]]:
        """The rows of a query, which are the same either way; without an order, sorted."""
        text = f"query q({declared}) {{ {core} }}"
        answers = [graph.query(text, params=params).rows() for graph in self.graphs.values()]
        if " order " not in core:
            answers = [sorted(rows, key=repr) for rows in answers]
        assert answers[0] == answers[1], "the two ways to traverse"
        return answers[0]


@pytest.fixture(scope="module", params=["memory", "local", "s3"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> GraphPlace:
    """A place below which graphs are made."""
    if request.param == "memory":
        return GraphPlace(uri=f"memory://reads-{secrets.token_hex(8)}")
    if request.param == "local":
        return GraphPlace(uri=str(tmp_path_factory.mktemp("reads")))
    options = request.getfixturevalue("ministack").options()
    return GraphPlace(uri=f"s3://conformance/{secrets.token_hex(8)}", options=options)


@pytest.fixture(scope="module", params=COVERAGES)
def coverage(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def build(root: GraphPlace, name: str, coverage: str, early: str, late: str) -> Iterator[Library]:
    place = GraphPlace(uri=f"{root.uri}/{name}", options=root.options)
    with place.init(SCHEMA) as graph:
        if coverage == "part":
            graph.load(early, "append")
            graph.maintain.ensure_indices()
            graph.load(late, "append")
        else:
            graph.load(f"{early}\n{late}", "append")
        if coverage == "all":
            graph.maintain.ensure_indices()
    graphs = {}
    with pytest.MonkeyPatch.context() as patch:
        for traversal in TRAVERSALS:
            patch.setenv("OMNIGRAPH_TRAVERSAL_MODE", traversal)
            graphs[traversal] = place.open("r")
    yield Library(graphs)
    for each in graphs.values():
        each.close()


@pytest.fixture(scope="module")
def library(place: GraphPlace, coverage: str) -> Iterator[Library]:
    yield from build(place, f"library-{coverage}", coverage, EARLY, LATE)


@pytest.fixture(scope="module")
def plots(place: GraphPlace, coverage: str) -> Iterator[Library]:
    yield from build(
        place,
        f"plots-{coverage}",
        coverage,
        "\n".join((*PLOTS[::2][:3], *PLOTS[5:7])),
        "\n".join((PLOTS[1], PLOTS[3], *PLOTS[7:])),
    )


def test_the_two_loads_are_the_records_of_the_set():
    assert sorted(f"{EARLY}\n{LATE}".splitlines()) == sorted(EVERYTHING.splitlines())


ANN = '$p: Person { handle: "ann" }'
BO = '$p: Person { handle: "bo" }'
SF_1 = '$f: Film { code: "SF-1" }'

CASES: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "1": (
        "match { $f: Film } return { $f.code, $f.stars } order { $f.stars }",
        [
            {"f.code": "DO-3", "f.stars": None},
            {"f.code": "DR-2", "f.stars": 3.0},
            {"f.code": "SF-1", "f.stars": 4.5},
        ],
    ),
    "2": (
        "match { $f: Film } return { $f.code } order { $f.stars desc } limit 2",
        [{"f.code": "SF-1"}, {"f.code": "DR-2"}],
    ),
    "3": ('match { $f: Film { tags: "space" } } return { $f.code }', [{"f.code": "SF-1"}]),
    "4": ('match { $f: Film  $f.genre != "drama" } return { $f.code }', [{"f.code": "DO-3"}, {"f.code": "SF-1"}]),
    "5": ("match { $f: Film  $f.stars != 3.0 } return { $f.code }", [{"f.code": "SF-1"}]),
    "6": (
        f"match {{ {SF_1}  $p rented $f }} return {{ $p.handle }} order {{ $p.handle }}",
        [{"p.handle": "ann"}, {"p.handle": "bo"}],
    ),
    "7": (
        f"match {{ {SF_1}  $f rented $p }} return {{ $p.handle }} order {{ $p.handle }}",
        [{"p.handle": "ann"}, {"p.handle": "bo"}],
    ),
    "8": ("match { $p: Person  not { $p rented $_ } } return { $p.handle }", [{"p.handle": "cy"}]),
    "9": (
        f"match {{ {ANN}  $p follows{{1,3}} $q }} return {{ $q.handle }} order {{ $q.handle }}",
        [{"q.handle": "bo"}, {"q.handle": "cy"}],
    ),
    "10": (
        f"match {{ {ANN}  $p follows{{2,2}} $q }} return {{ $q.handle }}",
        [{"q.handle": "bo"}, {"q.handle": "cy"}],
    ),
    "11": (
        f"match {{ {BO}  $p <follows> $q }} return {{ $q.handle }} order {{ $q.handle }}",
        [{"q.handle": "ann"}, {"q.handle": "bo"}, {"q.handle": "cy"}],
    ),
    "12": (
        'match { $p: Person  $p $r:rented $f  $r.on >= date("2026-02-02") } return { $p.handle, $r.on }',
        [{"p.handle": "bo", "r.on": "2026-02-03"}],
    ),
    "13": (
        "match { $p: Person  $p rented $f } return { $p.handle, count($f) as n } order { n desc }",
        [{"p.handle": "ann", "n": 2}, {"p.handle": "bo", "n": 1}],
    ),
    "14": ('match { $f: Film { genre: "docu" }  $p rented $f } return { count($p) as n }', [{"n": 0}]),
    "15": (
        'match { $f: Film { code: "DO-3" } } return { $f, $f.added }',
        [{"f": "DO-3", "f.added": "2026-01-03T00:00:00.500Z"}],
    ),
    "a flip in a negation": (
        "match { $f: Film  not { $f directed $p } } return { $f }",
        [{"f": "DO-3"}, {"f": "DR-2"}],
    ),
    "a binding again in a negation": (
        'match { $p: Person  not { $p: Person { handle: "ann" } } } return { $p }',
        [{"p": "bo"}, {"p": "cy"}],
    ),
    "a negation in a negation": (
        "match { $p: Person  not { $p follows $q  not { $q rented $_ } } } return { $p }",
        [{"p": "ann"}, {"p": "cy"}],
    ),
    "a component without a binding": (
        "match { $a follows $b } return { $a, $b } order { a, b desc }",
        [{"a": "ann", "b": "bo"}, {"a": "bo", "b": "cy"}, {"a": "bo", "b": "bo"}, {"a": "cy", "b": "ann"}],
    ),
    "a later binding is a condition": (
        'match { $p: Person  $p rented $f  $f: Film { genre: "drama" } } return { $p, $f.title }',
        [{"p": "ann", "f.title": "Harbor"}],
    ),
    "two components": (
        "match { $p: Person  $f: Film { genre: \"docu\" } } return { $p, $f } order { p }",
        [{"p": "ann", "f": "DO-3"}, {"p": "bo", "f": "DO-3"}, {"p": "cy", "f": "DO-3"}],
    ),
    "two components and a comparison": (
        "match { $f: Film  $g: Film  $f.stars > $g.stars } return { $f, $g }",
        [{"f": "SF-1", "g": "DR-2"}],
    ),
    "edges both ways": (
        f"match {{ {BO}  $p $e:<follows> $q }} return {{ $q }} order {{ q }}",
        [{"q": "ann"}, {"q": "bo"}, {"q": "cy"}],
    ),
    "no hops between different types": ("match { $p: Person  $p rented{2,3} $f } return { $p, $f }", []),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_cases_of_the_conformance_set(library: Library, case: str):
    core, expected = CASES[case]
    assert library.ask(core) == expected


def test_case_16_a_null_parameter_matches_nothing(library: Library):
    assert library.ask("match { $f: Film { genre: $g } } return { $f.code }", "$g: String?") == []
    assert library.ask("match { $f: Film  $f.genre != $g } return { $f.code }", "$g: String?", g=None) == []


def test_case_17_a_date_is_no_string(library: Library):
    with pytest.raises(CompileError) as refused:
        library.ask('match { $f: Film  $f.released = "2020-03-01" } return { $f.code }')
    assert [each.code for each in refused.value.diagnostics] == ["T7"]


@pytest.mark.parametrize("coverage", COVERAGES)
def test_case_28_doubled_edges_double_as_edges_and_not_as_pairs(root, coverage: str):
    with root.init(SCHEMA) as graph:
        graph.load(EVERYTHING, "append")
        pairs = "query q() { match { $p: Person  $p follows $q } return { $p, count($q) as n } order { n, p } }"
        before = graph.query(pairs).rows()
        if coverage == "part":
            graph.maintain.ensure_indices()
        graph.load("\n".join((*FOLLOWS, *DIRECTED)), "merge")
        if coverage == "all":
            graph.maintain.ensure_indices()
        assert graph.query(pairs).rows() == before
        assert before == [{"p": "ann", "n": 1}, {"p": "cy", "n": 1}, {"p": "bo", "n": 2}]
        edges = graph.query(pairs.replace("follows", "$e:follows")).rows()
        assert edges == [{**each, "n": 2 * each["n"]} for each in before]


# ── search ───────────────────────────────────────────────────────────────────────────────────────────────────────────

NEAREST = "nearest($f.plotVec, [1, 0, 0, 0])"
"""AA-1 is at 0, AA-3 and AA-4 at 1 - 1/sqrt(2), AA-2 at 1; AA-5 has no vector."""

SEARCHES: dict[str, tuple[str, list[str]]] = {
    "any word is enough": ('match { $f: Film  search($f.plot, "salt stone") } return { $f }', ["AA-1", "AA-3", "AA-5"]),
    "case, accents and forms are one": (
        'match { $f: Film  match_text($f.plot, "CAFE house") } return { $f }',
        ["AA-3"],
    ),
    "stop words find nothing": ('match { $f: Film  search($f.plot, "the of a") } return { $f }', []),
    "fuzzy allows edits": ('match { $f: Film  fuzzy($f.plot, "stne", 1) } return { $f }', ["AA-1", "AA-5"]),
    "fuzzy without edits": ('match { $f: Film  fuzzy($f.plot, "stne", 0) } return { $f }', []),
    "texts conjoin": (
        'match { $f: Film  search($f.plot, "river")  search($f.plot, "stone") } return { $f }',
        ["AA-1"],
    ),
    "on a variable of a traversal": (
        'match { $p: Person { handle: "ann" }  $p rented $f  search($f.plot, "salt gold") } return { $f }',
        ["AA-3"],
    ),
    "bm25 drops what has no word": (
        'match { $f: Film } return { $f } order { bm25($f.plot, "river gold") }',
        ["AA-2", "AA-1"],
    ),
    "bm25 beside a text clause": (
        'match { $f: Film  search($f.plot, "stone") } return { $f } order { bm25($f.plot, "river") }',
        ["AA-1"],
    ),
    "nearest by cosine": (
        f"match {{ $f: Film }} return {{ $f }} order {{ {NEAREST} }} limit 3",
        ["AA-1", "AA-3", "AA-4"],
    ),
    "further keys break ties of nearest": (
        f"match {{ $f: Film }} return {{ $f }} order {{ {NEAREST}, $f.stars desc }} limit 3",
        ["AA-1", "AA-4", "AA-3"],
    ),
    "conditions before the best": (
        f'match {{ $f: Film {{ genre: "drama" }} }} return {{ $f }} order {{ {NEAREST} }} limit 1',
        ["AA-3"],
    ),
    "negations after the best": (
        f"match {{ $f: Film  not {{ $f.stars = 2.0 }} }} return {{ $f }} order {{ {NEAREST} }} limit 2",
        ["AA-3"],
    ),
    "traversals after the best": (
        f"match {{ $p: Person  $p rented $f }} return {{ $f }} order {{ {NEAREST} }} limit 3",
        ["AA-1", "AA-3"],
    ),
    # nearest: AA-1, AA-3 (the limit is 2); bm25: AA-5, AA-1. So AA-1 has 1/61 + 1/62, AA-5 1/61, AA-3 1/62.
    "rrf": (
        f'match {{ $f: Film }} return {{ $f }} order {{ rrf({NEAREST}, bm25($f.plot, "stone")) }} limit 2',
        ["AA-1", "AA-5"],
    ),
    "ties of rrf keep the order of the first arm": (
        'match { $f: Film } return { $f } order { rrf(bm25($f.plot, "salt"), bm25($f.plot, "gold")) } limit 5',
        ["AA-3", "AA-2"],
    ),
}


@pytest.mark.parametrize("case", SEARCHES)
def test_searches(plots: Library, case: str):
    core, expected = SEARCHES[case]
    assert [row["f"] for row in plots.ask(core)] == expected


def test_scores_are_columns(plots: Library):
    shown = f'$f, {NEAREST} as far, bm25($f.plot, "salt") as near, rrf({NEAREST}, bm25($f.plot, "salt"), 1) as both'
    rows = plots.ask(f"match {{ $f: Film }} return {{ {shown} }} order {{ f }}")
    assert [row["far"] for row in rows] == pytest.approx([0, 1, 1 - 2**-0.5, 1 - 2**-0.5, None], abs=1e-6)
    assert [row["near"] is not None for row in rows] == [False, False, True, False, False]
    # By distance AA-1, AA-3, AA-4 (by id), AA-2; by words AA-3 alone.
    assert [row["both"] for row in rows] == pytest.approx([1 / 2, 1 / 5, 1 / 3 + 1 / 2, 1 / 4, None])
    by_alias = plots.ask(f"match {{ $f: Film }} return {{ $f, {NEAREST} as far }} order {{ far }} limit 2")
    assert [row["f"] for row in by_alias] == ["AA-1", "AA-3"]
