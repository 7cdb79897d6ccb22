"""Rankings choose, order and score the rows that plain Python does: held or not, scanned or reached."""

from __future__ import annotations

from typing import Any

import pytest
from search_world import Doc, SearchWorld, some_docs

from omnigraph.errors import InvalidInputError

QUERY = "gold wolf"
VECTOR = [1.0, 0.25, 0.125]
SCORED = "return { $d.name as name, %s as s } order { s } limit %d"
BM25 = f'bm25($d.title, "{QUERY}")'
NEAREST = "nearest($d.v, [1.0, 0.25, 0.125])"


@pytest.fixture(scope="module", params=["memory", "stored"])
def world(request: pytest.FixtureRequest) -> SearchWorld:
    found = SearchWorld(some_docs(11, 40), mode=request.param)
    found.tag({"x": [f"d{each:03d}" for each in range(0, 40, 3)], "y": ["d003", "d006", "d007"], "z": []})
    assert found.ask("$d: Doc", SCORED % (BM25, 3))
    assert found.ask("$d: Doc", SCORED % (NEAREST, 3))
    found.load(some_docs(12, 15, prefix="c"))
    assert found.ask("$d: Doc", SCORED % (BM25, 3))
    found.load(some_docs(13, 9))
    found.remove("d020", "d021", "c004")
    return found


def pairs(rows: list[dict[str, Any]]) -> list[tuple[str, float]]:
    return [(each["name"], each["s"]) for each in rows]


def close(expected: list[tuple[str, float]]) -> list[tuple[str, Any]]:
    return [(name, pytest.approx(value, abs=1e-11)) for name, value in expected]


def by_text(world: SearchWorld, query: str = QUERY, **options: Any) -> list[tuple[str, float]]:
    def worse(doc: Doc) -> float | None:
        score = world.text_score(doc, query)
        return None if score is None else -score

    return [(name, -value) for name, value in world.best(worse, **options)]


def by_distance(world: SearchWorld, **options: Any) -> list[tuple[str, float]]:
    return world.best(lambda doc: world.distance(doc, VECTOR), **options)


# ── bm25 ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("limit", [0, 1, 5, 100])
def test_texts_come_by_descending_score_and_equal_ones_by_id(world: SearchWorld, limit: int) -> None:
    expected = by_text(world)
    assert len({value for _, value in expected}) < len(expected)
    assert pairs(world.ask("$d: Doc", SCORED % (BM25, limit))) == close(expected[:limit])


def test_without_a_limit_every_match_comes(world: SearchWorld) -> None:
    result = f"return {{ $d.name as name }} order {{ {BM25} }}"
    assert world.names("$d: Doc", result) == [name for name, _ in by_text(world)]


@pytest.mark.parametrize("query", [QUERY, "stone"])
def test_statistics_are_those_of_the_whole_type_under_a_condition_too(world: SearchWorld, query: str) -> None:
    """Both when more texts match than rows are left, and the other way round."""
    for year in (1999, 2001):
        among = world.where(lambda each, year=year: (each["year"] or 0) >= year)
        expected = by_text(world, query, among=among)
        assert expected
        match, result = f"$d: Doc  $d.year >= {year}", SCORED % (f'bm25($d.title, "{query}")', 50)
        assert pairs(world.ask(match, result)) == close(expected)


def test_further_keys_decide_between_equal_scores(world: SearchWorld) -> None:
    result = 'return { $d.name as name, bm25($d.title, "gold") as s } order { s, $d.year desc } limit 100'
    # Nulls are last where years descend.
    expected = by_text(world, before=lambda each: -(each["year"] or 0), query="gold")
    assert pairs(world.ask("$d: Doc", result)) == close(expected)


@pytest.mark.parametrize("query", ["", "the", "absent", None])
def test_a_query_without_words_that_occur_ranks_nothing(world: SearchWorld, query: str | None) -> None:
    result = SCORED % ("bm25($d.title, $q)", 10)
    assert world.ask("$d: Doc", result, q=("String?", query)) == []


def test_a_text_condition_and_a_ranking_must_both_hold(world: SearchWorld) -> None:
    among = world.where(lambda each: "river" in (each["title"] or ""))
    expected = by_text(world, among=among)
    assert expected
    assert pairs(world.ask('$d: Doc  search($d.title, "river")', SCORED % (BM25, 50))) == close(expected)


# ── nearest ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("limit", [0, 1, 4, 9, 100])
def test_the_nearest_come_first_and_of_equally_near_ones_the_smaller_id(world: SearchWorld, limit: int) -> None:
    expected = by_distance(world)
    assert 9 < len(expected) < len(world.docs)
    assert pairs(world.ask("$d: Doc", SCORED % (NEAREST, limit))) == close(expected[:limit])


@pytest.mark.parametrize("match", ["$d: Doc { year: 2000 }", '$d: Doc  $d.year >= 2000  search($d.title, "gold")'])
def test_conditions_on_the_variable_hold_before_rows_are_counted(world: SearchWorld, match: str) -> None:
    years = [2000] if "{" in match else [2000, 2001]
    among = world.where(lambda each: each["year"] in years and ("{" in match or "gold" in (each["title"] or "")))
    expected = by_distance(world, among=among)
    assert expected
    assert pairs(world.ask(match, SCORED % (NEAREST, 3))) == close(expected[:3])


def test_further_keys_decide_who_of_equally_near_ones_is_in(world: SearchWorld) -> None:
    expected = by_distance(world, before=lambda each: (each["year"] is not None, each["year"]))
    assert {*expected[:3]} != {*by_distance(world)[:3]}
    result = f"return {{ $d.name as name, {NEAREST} as s }} order {{ s, $d.year }} limit 3"
    assert pairs(world.ask("$d: Doc", result)) == close(expected[:3])


def test_a_null_vector_ranks_nothing(world: SearchWorld) -> None:
    assert world.ask("$d: Doc", SCORED % ("nearest($d.v, $q)", 3), q=("Vector(3)?", None)) == []


def test_a_text_is_compared_by_what_it_is_embedded_as(world: SearchWorld) -> None:
    world.embedded["sea"] = VECTOR
    assert pairs(world.ask("$d: Doc", SCORED % ('nearest($d.v, "sea")', 4))) == close(by_distance(world)[:4])


def test_a_vector_of_zeros_is_refused(world: SearchWorld) -> None:
    with pytest.raises(InvalidInputError, match="no direction"):
        world.ask("$d: Doc", SCORED % ("nearest($d.v, [0.0, 0.0, 0.0])", 3))


# ── reached by a traversal ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("tag", [None, "x"])
@pytest.mark.parametrize("ranking", [BM25, NEAREST])
def test_a_reached_variable_is_ranked_among_its_whole_type(world: SearchWorld, ranking: str, tag: str | None) -> None:
    """From the ranked nodes on or towards them; the nearest are counted before, so that fewer may be left."""
    limit = 20
    ranked = by_text(world) if ranking is BM25 else by_distance(world)[:limit]
    scores = dict(ranked)
    expected = [
        (name, each, scores[name])
        for name, _ in ranked
        for each, names in sorted(world.tags.items())
        if name in names and tag in (None, each)
    ][:limit]
    assert expected
    rows = world.ask(
        "$t: Tag  $d tagged $t" if tag is None else '$t: Tag { name: "x" }  $d tagged $t',
        f"return {{ $d.name as name, $t.name as tag, {ranking} as s }} order {{ s }} limit {limit}",
    )
    assert [(each["name"], each["tag"]) for each in rows] == [each[:2] for each in expected]
    assert [each["s"] for each in rows] == pytest.approx([value for _, _, value in expected], abs=1e-11)


# ── scores that choose nothing ───────────────────────────────────────────────────────────────────────────────────────


def test_scores_are_columns_like_others(world: SearchWorld) -> None:
    rows = world.ask("$d: Doc", f"return {{ $d.name as name, {BM25} as text, {NEAREST} as distance }}")
    assert [each["name"] for each in rows] == sorted(world.docs)
    for each in rows:
        doc = world.docs[each["name"]]
        assert each["text"] == _approx(world.text_score(doc, QUERY))
        assert each["distance"] == _approx(world.distance(doc, VECTOR))


def test_scores_of_reached_nodes_are_given_to_each_row(world: SearchWorld) -> None:
    rows = world.ask(
        "$t: Tag  $d tagged $t",
        f"return {{ $t.name as tag, $d.name as name, {BM25} as text, {NEAREST} as distance }} order {{ tag, name }}",
    )
    assert [(each["tag"], each["name"]) for each in rows] == [
        (tag, name) for tag, names in sorted(world.tags.items()) for name in sorted(names) if name in world.docs
    ]
    for each in rows:
        doc = world.docs[each["name"]]
        assert each["text"] == _approx(world.text_score(doc, QUERY))
        assert each["distance"] == _approx(world.distance(doc, VECTOR))


def test_a_ranking_that_is_not_first_only_sorts(world: SearchWorld) -> None:
    def key(name: str) -> tuple[Any, ...]:
        doc = world.docs[name]
        score = world.text_score(doc, QUERY)
        return (doc["year"] is not None, doc["year"], score is None, -(score or 0), name)

    result = f"return {{ $d.name as name }} order {{ $d.year, {BM25} }}"
    assert world.names("$d: Doc", result) == sorted(world.docs, key=key)


def _approx(value: float | None) -> Any:
    return None if value is None else pytest.approx(value, abs=1e-11)


@pytest.mark.parametrize("mode", ["memory", "stored"])
def test_an_empty_type_ranks_nothing(mode: str) -> None:
    world = SearchWorld(mode=mode)
    assert world.ask("$d: Doc", SCORED % (BM25, 3)) == []
    assert world.ask("$d: Doc", SCORED % (NEAREST, 3)) == []
    assert world.ask("$d: Doc", SCORED % (f"rrf({NEAREST}, {BM25})", 3)) == []
