"""A type that is not held is ranked by what storage finds, and gives what it would give in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from search_world import SearchWorld, some_docs

from omnigraph.config import Settings
from omnigraph.engine import run, text_scores
from omnigraph.engine.execution import Execution, Trace
from omnigraph.engine.frame import Frame
from omnigraph.engine.text_scores import spelled_for_index
from omnigraph.plan.ir import NodeScan, Rank
from omnigraph.plan.tree import inputs_of
from omnigraph.tables.counting import count_table_calls
from omnigraph.testing.text_model import is_found, words

SCORED = "return { $d.name as name, %s as s } order { s } limit %d"
BM25 = 'bm25($d.title, "gold wolf")'
NEAREST = "nearest($d.v, [1.0, 0.25, 0.125])"
TITLES = ["André plays", "andre plays", "Andrés", "a résumé", "resume it", "houses and gold", "The house of gold", None]


@pytest.fixture
def indexed(monkeypatch: pytest.MonkeyPatch) -> SearchWorld:
    """Documents that an inverted index covers in part, in a type that counts as large."""
    monkeypatch.setattr(text_scores, "EXACT_ROWS", 0)
    world = SearchWorld(some_docs(31, 40), mode="stored")
    world.index("title", "inverted")
    world.load(some_docs(32, 6, prefix="c"))
    world.remove("d001", "d002")
    return world


def searched(world: SearchWorld, match: str, result: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows of a query, and how its rankings were searched."""
    trace = Trace(lambda: (0, 0))
    rows = world.ask(match, result, trace=trace)
    return rows, [each.facts["search"] for _, each in trace._kept.values() if "search" in each.facts]


@pytest.mark.parametrize("match", ["$d: Doc", "$d: Doc { year: 2000 }", "$d: Doc  $d.year >= 2000"])
def test_an_inverted_index_finds_the_texts_that_a_word_is_in(indexed: SearchWorld, match: str) -> None:
    years = {"$d: Doc": [None, 1999, 2000, 2001], "$d: Doc { year: 2000 }": [2000]}.get(match, [2000, 2001])
    expected = indexed.where(lambda each: each["year"] in years and is_found(each["title"] or "", "gold wolf"))
    rows, how = searched(indexed, match, SCORED % (BM25, 100))
    assert how == ["by the inverted index on title"]
    assert sorted(each["name"] for each in rows) == expected
    scores = [each["s"] for each in rows]
    assert scores == sorted(scores, reverse=True)
    assert min(scores) > 0


def test_an_index_gives_the_scores_of_the_formula_while_it_covers_what_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(text_scores, "EXACT_ROWS", 0)
    # Lance counts no text without words, so there is none.
    world = SearchWorld([each for each in some_docs(33, 60) if words(each["title"] or "")], mode="stored")
    world.index("title", "inverted")
    rows, how = searched(world, "$d: Doc", SCORED % (BM25, 100))
    assert how == ["by the inverted index on title"]
    for each in rows:
        assert each["s"] == pytest.approx(world.text_score(world.docs[each["name"]], "gold wolf"), rel=1e-5)


def test_accents_and_stems_are_found_by_the_index_as_they_are_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_scores, "EXACT_ROWS", 0)
    docs = [{"name": f"d{each}", "title": title, "year": None, "v": None} for each, title in enumerate(TITLES)]
    stored, held = SearchWorld(docs, mode="stored"), SearchWorld(docs, mode="memory")
    stored.index("title", "inverted")
    for query in ["andre", "André", "andrés", "resume", "resumes", "résumés", "HOUSE", "the", "golden"]:
        ranking = f'bm25($d.title, "{query}")'
        found = {each["name"] for each in stored.ask("$d: Doc", SCORED % (ranking, 50))}
        assert found == {each["name"] for each in held.ask("$d: Doc", SCORED % (ranking, 50))}, query


def test_a_condition_that_storage_cannot_judge_is_judged_before_scores_are_given(indexed: SearchWorld) -> None:
    rows, how = searched(indexed, '$d: Doc  search($d.title, "river")', SCORED % (BM25, 100))
    assert how == ["reads every title"]
    expected = indexed.where(lambda each: all(is_found(each["title"] or "", word) for word in ("river", "gold wolf")))
    assert sorted(each["name"] for each in rows) == expected


@pytest.mark.parametrize("few", [0, 1_000])
def test_scores_that_choose_nothing_come_from_the_index_too(
    indexed: SearchWorld, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_scores, "_FEW_IDS", few)
    ranked = {each["name"]: each["s"] for each in indexed.ask("$d: Doc", SCORED % (BM25, 100))}
    rows = indexed.ask("$d: Doc", f"return {{ $d.name as name, {BM25} as s }}")
    assert {each["name"]: each["s"] for each in rows} == {name: ranked.get(name) for name in indexed.docs}


def test_below_the_bound_scores_are_exact_although_there_is_an_index() -> None:
    world = SearchWorld(some_docs(31, 40), mode="stored")
    world.index("title", "inverted")
    world.remove("d001", "d002")
    rows, how = searched(world, "$d: Doc", SCORED % (BM25, 100))
    assert how == ["reads every title"]
    expected = {name: world.text_score(doc, "gold wolf") for name, doc in world.docs.items()}
    assert {each["name"]: each["s"] for each in rows} == pytest.approx(
        {name: value for name, value in expected.items() if value is not None}
    )


@pytest.mark.parametrize("is_indexed", [False, True])
def test_the_nearest_are_found_by_storage(is_indexed: bool) -> None:
    world = SearchWorld(some_docs(34, 60), mode="stored")
    if is_indexed:
        world.index("v", "vector")
        world.load(some_docs(35, 8, prefix="c"))
        world.remove("d003")
    expected = world.best(lambda doc: world.distance(doc, [1.0, 0.25, 0.125]))
    for limit in (1, 7, 20):
        rows, how = searched(world, "$d: Doc", SCORED % (NEAREST, limit))
        assert how == ["by storage"]
        assert [each["name"] for each in rows] == [name for name, _ in expected[:limit]]
        assert [each["s"] for each in rows] == pytest.approx([value for _, value in expected[:limit]], abs=1e-11)


def test_vectors_of_zeros_are_at_a_right_angle_wherever_they_are_compared() -> None:
    vectors = {"a": [0.0, 0.0, 0.0], "b": [-1.0, 0.0, 0.0], "c": [1.0, 0.0, 0.0], "d": None, "e": [0.0, 1.0, 0.0]}
    docs = [{"name": name, "title": None, "year": None, "v": each} for name, each in vectors.items()]
    for mode in ("memory", "stored"):
        world = SearchWorld(docs, mode=mode)
        for limit in range(6):
            rows = world.ask("$d: Doc", SCORED % ("nearest($d.v, [1.0, 0.0, 0.0])", limit))
            expected = [("c", 0.0), ("a", 1.0), ("e", 1.0), ("b", 2.0)][:limit]
            assert [(each["name"], each["s"]) for each in rows] == expected, (mode, limit)


def test_vectors_that_are_too_many_to_hold_are_compared_by_storage() -> None:
    world = SearchWorld(some_docs(36, 30))
    width = 30 * 2 * (12 + 32 + 12)
    world.settings = Settings(cache_bytes=width - 1)
    # The ids are held, which a scan asks for, and would fit with anything but the vectors.
    assert world.ask("$d: Doc", "return { $d.name as name }")
    rows, how = searched(world, "$d: Doc", SCORED % (NEAREST, 3))
    assert how == ["by storage"]
    world.settings = Settings(cache_bytes=width)
    assert searched(world, "$d: Doc", SCORED % (NEAREST, 3)) == (rows, ["in memory"])


@pytest.mark.parametrize("ranking", [BM25, NEAREST, f"rrf({NEAREST}, {BM25})"])
def test_rows_that_a_scan_has_read_itself_are_ranked_among_the_type_in_memory(ranking: str) -> None:
    """As where a condition names few rows of a large type, and the type is held all the same when it is searched."""
    world = SearchWorld(some_docs(39, 30))
    result = SCORED % (ranking, 6)
    expected = world.ask("$d: Doc { year: 2000 }", result)
    assert expected
    scan_nodes = run.scan_nodes

    def scan_apart(operator: NodeScan, execution: Execution) -> Frame:
        stored = replace(execution, source=world.source(settings=Settings(scan_mode="stored")))
        return scan_nodes(operator, stored)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "scan_nodes", scan_apart)
        assert searched(world, "$d: Doc { year: 2000 }", result) == (expected, ["in memory"])
        shown = f"return {{ $d.name as name, $d.title as title, {BM25} as s }} order {{ name }}"
        rows = world.ask("$d: Doc { year: 2000 }", shown)
    for each in rows:
        score = world.text_score(world.docs[each["name"]], "gold wolf")
        assert each["s"] == (None if score is None else pytest.approx(score))


def test_a_search_in_memory_reads_nothing_when_it_is_asked_again() -> None:
    world = SearchWorld(some_docs(37, 30), mode="auto")
    match, result = "$d: Doc { year: 2000 }", SCORED % (f"rrf({NEAREST}, {BM25})", 5)
    first = world.ask(match, result)
    with count_table_calls() as calls:
        assert world.ask(match, result) == first
    assert not {name for name in calls if name in ("read", "take", "lookup", "search_text", "nearest")}


def test_rows_are_shown_at_the_scan_of_the_plan_although_another_was_run_for_it() -> None:
    world = SearchWorld(some_docs(38, 20), mode="stored")
    trace = Trace(lambda: (0, 0))
    world.ask("$d: Doc { year: 2000 }", SCORED % (BM25, 5), trace=trace)
    plan = world.compiler.plan(f"query q() {{ match {{ $d: Doc {{ year: 2000 }} }} {SCORED % (BM25, 5)} }}")
    operator = plan.root
    while not isinstance(operator, Rank):
        (operator,) = inputs_of(operator)
    assert trace.of(operator.input).rows == len(world.where(lambda each: each["year"] == 2000))


def test_words_for_the_index_are_given_as_stems_and_as_they_are_spelled() -> None:
    assert spelled_for_index("The river") == "river"
    assert spelled_for_index("André's HOUSE") == "andre s house ándré hóúsé"
    assert spelled_for_index("runs running run") == "runs rúns rúnníng"
    assert spelled_for_index("résumés") == "resumes résúmés résúmé"
    assert spelled_for_index("the") == ""


def test_frequent_rounding_never_makes_a_match_a_miss() -> None:
    """Every text has the word, so it says next to nothing; still each is found."""
    docs = [{"name": f"d{each:04d}", "title": "gold", "year": None, "v": None} for each in range(300)]
    world = SearchWorld(docs)
    assert len(world.ask("$d: Doc", SCORED % ('bm25($d.title, "gold")', 1000))) == 300
    assert np.isfinite([each["s"] for each in world.ask("$d: Doc", SCORED % (BM25, 1000))]).all()


@pytest.mark.parametrize("arms", [f"{BM25}, {NEAREST}", f"{NEAREST}, {BM25}"])
@pytest.mark.parametrize("limit", [1, 5, 40])
def test_arms_of_which_one_is_ranked_in_memory_and_one_by_storage_are_fused(arms: str, limit: int) -> None:
    docs = some_docs(37, 40)
    ranking = SCORED % (f"rrf({arms})", limit)
    expected = SearchWorld(docs, mode="memory").ask("$d: Doc", ranking)
    assert expected
    # For every bound: ids alone, with texts, with vectors, or everything fits.
    for width in range(40, 200, 8):
        world = SearchWorld(docs)
        world.settings = Settings(cache_bytes=2 * 40 * width)
        world.ask("$d: Doc", "return { $d.name as name }")
        assert world.ask("$d: Doc", ranking) == expected, width
