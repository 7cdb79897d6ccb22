"""Two rankings are fused by their places as the formula says, over the rows that the whole pattern leaves."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_world import SearchWorld, fused, some_docs

from omnigraph.config import Settings
from omnigraph.engine.budget import QueryBudget, Spending
from omnigraph.engine.entities import HeldRows
from omnigraph.engine.execution import Execution
from omnigraph.engine.frame import Frame
from omnigraph.engine.fusion import fuse
from omnigraph.errors import InvalidInputError
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.plan.ir import Fuse, OneRow, Place, SortKey
from omnigraph.query.checked import Bm25, Constant, PropertyRef, Rrf

VECTOR = [1.0, 0.25, 0.125]
NEAREST, BM25 = "nearest($d.v, [1.0, 0.25, 0.125])", 'bm25($d.title, "gold wolf")'
TEXT = ValueType(Scalar.STRING)
GROUP = PropertyRef("d", "group", ValueType(Scalar.I32))
RANKING = Rrf(*(Bm25(PropertyRef("d", "t", TEXT), Constant(each, TEXT)) for each in ("a", "b")))  # type: ignore[arg-type]


def execution() -> Execution:
    """Of a query that begins now: its time runs from here."""
    return Execution(
        source=cast("Any", None),
        parameters={},
        now=0,
        spending=Spending(QueryBudget()),
        settings=Settings(),
        embed=cast("Any", None),
    )


@given(
    entity_count=st.integers(1, 8),
    count=st.integers(0, 9),
    k=st.sampled_from([None, 1, 60]),
    has_ties=st.booleans(),
    data=st.data(),
)
def test_the_best_entities_keep_all_their_rows(
    entity_count: int, count: int, k: int | None, has_ties: bool, data: st.DataObject
) -> None:
    names = [f"e{each}" for each in range(entity_count)]
    groups = {name: data.draw(st.integers(0, 1)) for name in names}
    rows = data.draw(st.lists(st.sampled_from(names), max_size=12))
    # Of what an arm ranked, some entities are in no row, so that places have gaps.
    arms = [data.draw(st.permutations(names))[: data.draw(st.integers(0, entity_count))] for _ in range(2)]
    rows = [each for each in rows if any(each in arm for arm in arms)]

    ranking = Rrf(RANKING.first, RANKING.second, None if k is None else Constant(k, ValueType(Scalar.I32)))
    entities = HeldRows(
        "node:N", pa.table({"id": names, "group": pa.array([groups[each] for each in names], pa.int32())})
    )
    places = [[arm.index(each) + 1 if each in arm else None for each in rows] for arm in arms]
    frame = (
        Frame(row_count=len(rows))
        .binding("d", entities, np.array([names.index(each) for each in rows], dtype=np.int64))
        .scoring({Place(ranking, arm): pa.array(each, pa.int64()) for arm, each in enumerate(places, 1)})
    )
    ties = (SortKey(GROUP, is_descending=True),) if has_ties else ()
    result = fuse(Fuse(OneRow(), ranking, count, ties), frame, execution())

    best = fused([[each for each in arm if each in rows] for arm in arms], 60 if k is None else k)
    if has_ties:
        best.sort(key=lambda each: (-each[1], -groups[each[0]]))
    scores = dict(best[:count])
    assert result.ids("d").to_pylist() == [each for each in rows if each in scores]
    found = result.ids("d").to_pylist()
    assert result.scores[ranking].to_pylist() == [scores[each] for each in found]
    assert result.scores[Place(ranking)].to_pylist() == [list(scores).index(each) + 1 for each in found]


@pytest.fixture(scope="module", params=["memory", "stored"])
def world(request: pytest.FixtureRequest) -> SearchWorld:
    found = SearchWorld(some_docs(21, 40), mode=request.param)
    found.tag({"x": [f"d{each:03d}" for each in range(0, 40, 2)], "y": ["d002", "d003", "d004", "d009"]})
    found.load(some_docs(22, 7))
    found.remove("d011", "d012")
    return found


def arms_of(world: SearchWorld, limit: int | None) -> tuple[list[str], list[str]]:
    near = [name for name, _ in world.best(lambda doc: world.distance(doc, VECTOR))]
    texts = world.best(lambda doc: None if (s := world.text_score(doc, "gold wolf")) is None else -s)
    return near[:limit], [name for name, _ in texts]


@pytest.mark.parametrize("k", [None, 1, 7])
@pytest.mark.parametrize("limit", [1, 6, 100])
def test_a_scan_is_ranked_by_two_rankings(world: SearchWorld, limit: int, k: int | None) -> None:
    expected = fused(arms_of(world, limit), 60 if k is None else k)[:limit]
    ranking = f"rrf({NEAREST}, {BM25}{'' if k is None else f', {k}'})"
    rows = world.ask("$d: Doc", f"return {{ $d.name as name, {ranking} as s }} order {{ s }} limit {limit}")
    assert [(each["name"], each["s"]) for each in rows] == expected


def test_the_order_of_arms_decides_between_equal_scores(world: SearchWorld) -> None:
    near, texts = arms_of(world, 5)
    ranking = f"rrf({BM25}, {NEAREST})"
    result = f"return {{ $d.name as name, {ranking} as s }} order {{ s }} limit 5"
    rows = world.ask("$d: Doc", result)
    assert [(each["name"], each["s"]) for each in rows] == fused([texts, near])[:5]


def test_entities_are_ranked_again_after_a_traversal(world: SearchWorld) -> None:
    limit = 5
    reached = [name for names in world.tags.values() for name in names if name in world.docs]
    near, texts = ([each for each in arm if each in reached] for arm in arms_of(world, limit))
    expected = [
        (name, tag, score)
        for name, score in fused([near, texts])[:limit]
        for tag, names in sorted(world.tags.items())
        if name in names
    ][:limit]
    rows = world.ask(
        "$t: Tag  $d tagged $t",
        f"return {{ $d.name as name, $t.name as tag, rrf({NEAREST}, {BM25}) as s }} order {{ s }} limit {limit}",
    )
    assert [(each["name"], each["tag"], each["s"]) for each in rows] == expected


def test_a_fused_score_that_chooses_nothing_ranks_what_the_rows_have(world: SearchWorld) -> None:
    reached = [name for names in world.tags.values() for name in names if name in world.docs]
    scores = dict(fused([[each for each in arm if each in reached] for arm in arms_of(world, None)]))
    rows = world.ask(
        "$t: Tag  $d tagged $t", f"return {{ $d.name as name, rrf({NEAREST}, {BM25}) as s }} order {{ name }}"
    )
    assert [(each["name"], each["s"]) for each in rows] == [(each, scores.get(each)) for each in sorted(reached)]
    assert None in [each["s"] for each in rows]


def test_an_arm_that_ranks_nothing_leaves_the_other(world: SearchWorld) -> None:
    near, _ = arms_of(world, 4)
    result = f'return {{ $d.name as name }} order {{ rrf({NEAREST}, bm25($d.title, "the")) }} limit 4'
    assert world.names("$d: Doc", result) == near


@pytest.mark.parametrize("k", [0, -1])
@pytest.mark.parametrize("use", ["order { rrf(%s, %s, $k) } limit 3", "order { $d.name, rrf(%s, %s, $k) } limit 3"])
def test_a_k_that_is_not_above_0_is_refused(world: SearchWorld, k: int, use: str) -> None:
    with pytest.raises(InvalidInputError, match=f"k of rrf is {k}"):
        world.ask("$d: Doc", "return { $d.name } " + use % (NEAREST, BM25), k=("I32", k))


def test_a_null_k_is_the_usual_one(world: SearchWorld) -> None:
    result = f"return {{ $d.name as name }} order {{ rrf({NEAREST}, {BM25}, $k) }} limit 6"
    expected = [name for name, _ in fused(arms_of(world, 6))[:6]]
    assert world.names("$d: Doc", result, k=("I32?", None)) == expected
