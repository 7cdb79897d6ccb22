"""Distances are cosines in double precision, and the nearest are those that comparing everything gives."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.config import Settings
from omnigraph.engine import distances as module
from omnigraph.engine.budget import QueryBudget, Spending
from omnigraph.engine.distances import distances_of, nearest_among, query_vector
from omnigraph.engine.entities import HeldRows
from omnigraph.engine.execution import Execution
from omnigraph.errors import InvalidInputError
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.query.checked import Constant, Nearest, PropertyRef
from omnigraph.testing.text_model import cosine_distance

NUMBER = st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 1e-30, 1e30, 3e38, 1e-40])
VECTOR = st.none() | st.lists(NUMBER, min_size=3, max_size=3)
KIND = pa.list_(pa.float32(), 3)


def rows_of(vectors: list[list[float] | None]) -> HeldRows:
    ids = [f"{each:05d}" for each in range(len(vectors))]
    return HeldRows("node:N", pa.table({"id": pa.array(ids, pa.string()), "v": pa.array(vectors, KIND)}))


def expected_distance(vector: list[float] | None, query: list[float]) -> float | None:
    if vector is None:
        return None
    exact = [float(each) for each in np.float32(vector)]
    return 1.0 if not any(exact) else cosine_distance(exact, [float(each) for each in np.float32(query)])


@settings(max_examples=200)
@given(
    vectors=st.lists(VECTOR, max_size=20),
    query=st.lists(NUMBER, min_size=3, max_size=3).filter(any),
    count=st.integers(0, 22),
    data=st.data(),
)
def test_the_nearest_are_those_of_comparing_everything(
    vectors: list[list[float] | None], query: list[float], count: int, data: st.DataObject
) -> None:
    rows = rows_of(vectors)
    positions = np.array([each for each in range(len(vectors)) if data.draw(st.booleans())], dtype=np.int64)
    with pytest.MonkeyPatch.context() as patch:
        # Everything is looked at twice, and in blocks of two.
        patch.setattr(module, "_FEW", 0)
        patch.setattr(module, "_BLOCK", 2)
        places, found = nearest_among(rows, "v", positions, query=np.float32(query), count=count)
    distances = {place: expected_distance(vectors[each], query) for place, each in enumerate(positions)}
    known = {place: round(each, 10) for place, each in distances.items() if each is not None}
    last = sorted(known.values())[:count]
    nearest = {place: each for place, each in known.items() if last and each <= last[-1]}
    assert places.tolist() == sorted(nearest)
    assert found.tolist() == pytest.approx([nearest[each] for each in places.tolist()], abs=1e-9)


@given(vectors=st.lists(VECTOR, max_size=8), query=st.lists(NUMBER, min_size=3, max_size=3).filter(any))
def test_every_vector_has_its_distance(vectors: list[list[float] | None], query: list[float]) -> None:
    positions = np.array([each for each in range(len(vectors)) for _ in range(2)], dtype=np.int64)
    places, found = distances_of(rows_of(vectors), "v", positions, query=np.float32(query))
    expected = [expected_distance(vectors[each], query) for each in positions.tolist()]
    assert places.tolist() == [place for place, each in enumerate(expected) if each is not None]
    assert found.tolist() == pytest.approx([each for each in expected if each is not None], abs=1e-9)


def test_parallel_vectors_are_equally_near_whatever_stands_beside_them() -> None:
    chance = np.random.default_rng(7)
    vectors = [[factor * each for each in (1.0, -2.0, 5.0)] for factor in range(1, 30)]
    vectors += chance.normal(size=(6, 3)).tolist()
    query = np.float32([1, 2, 3])
    alone = [float(distances_of(rows_of([each]), "v", np.arange(1), query=query)[1][0]) for each in vectors]
    together = distances_of(rows_of(vectors), "v", np.arange(len(vectors)), query=query)[1]
    assert together.tolist() == alone
    assert len(set(alone[:29])) == 1


def test_the_same_direction_is_at_0_and_the_opposite_one_at_2() -> None:
    rows = rows_of([[0.1, 0.2, 0.3], [-0.1, -0.2, -0.3], [0.0, 0.0, 0.0]])
    assert distances_of(rows, "v", np.arange(3), query=np.float32([0.1, 0.2, 0.3]))[1].tolist() == [0.0, 2.0, 1.0]


def test_a_vector_that_the_first_look_cannot_judge_takes_no_place_from_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FEW", 0)
    for opposite in ([-1e-30, 0.0, 0.0], [-3e38, 0.0, 0.0]):
        rows = rows_of([opposite, [-1.0, 5.0, 0.0], [-1.0, 1.0, 0.0]])
        places, _ = nearest_among(rows, "v", np.arange(3), query=np.float32([1, 0, 0]), count=1)
        assert places.tolist() == [1]


def test_vectors_that_float32_cannot_tell_apart_come_in_the_order_of_their_distances() -> None:
    chance = np.random.default_rng(13)
    matrix = (np.ones(64) + 3e-7 * chance.normal(size=(3_000, 64))).astype(np.float32)
    query = chance.normal(size=64).astype(np.float32)
    column = pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), 64)
    rows = HeldRows("node:N", pa.table({"id": [f"{each:05d}" for each in range(3_000)], "v": column}))
    places, _ = nearest_among(rows, "v", np.arange(3_000), query=query, count=500)
    exact = [round(cosine_distance(each, query.tolist()), 12) for each in matrix.astype(float).tolist()]
    assert {*places.tolist()} == {place for place, each in enumerate(exact) if each <= sorted(exact)[499]}


@pytest.mark.parametrize("count", [1, 10, 64])
def test_the_first_look_loses_none_of_many(count: int) -> None:
    chance = np.random.default_rng(11)
    matrix = chance.normal(size=(5_000, 32)).astype(np.float32)
    matrix[100:140] = matrix[50]
    query = matrix[50] + np.float32(0.01)
    column = pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), 32)
    rows = HeldRows("node:N", pa.table({"id": [f"{each:05d}" for each in range(5_000)], "v": column}))
    places, found = nearest_among(rows, "v", np.arange(5_000), query=query, count=count)
    exact = [cosine_distance(each, query.tolist()) for each in matrix.astype(float).tolist()]
    last = sorted(round(each, 12) for each in exact)[count - 1]
    assert places.tolist() == [place for place, each in enumerate(exact) if round(each, 12) <= last]
    assert found.tolist() == pytest.approx([exact[each] for each in places], abs=1e-11)


@given(vectors=st.lists(VECTOR, min_size=1, max_size=8), added=st.lists(VECTOR, max_size=4), data=st.data())
def test_what_is_kept_about_vectors_follows_a_change(
    vectors: list[list[float] | None], added: list[list[float] | None], data: st.DataObject
) -> None:
    every = [*vectors, *added]
    taken = [each for each in range(len(every)) if data.draw(st.booleans())]
    older = module._make_norms(pa.array(vectors, KIND))
    extended = module._extend_norms(older, np.array(taken, dtype=np.int64), pa.array(added, KIND))
    fresh = module._make_norms(pa.array([every[each] for each in taken], KIND))
    valid = [every[each] is not None for each in taken]
    assert (extended.is_valid is None) == (fresh.is_valid is None)
    assert extended.is_valid is None or extended.is_valid.tolist() == valid
    assert extended.inverse[valid].tolist() == fresh.inverse[valid].tolist()
    assert [each for each in extended.doubtful if valid[each]] == [each for each in fresh.doubtful if valid[each]]


# ── what is searched for ─────────────────────────────────────────────────────────────────────────────────────────────


def vector_of(value: Any, embedded: Any = None) -> Any:
    kind = ValueType(Scalar.VECTOR, dimension=3)
    execution = Execution(
        source=cast("Any", None),
        parameters={},
        now=0,
        spending=Spending(QueryBudget()),
        settings=Settings(),
        embed=lambda text, _: np.float32(embedded[text]),
    )
    return query_vector(Nearest(PropertyRef("d", "v", kind), Constant(value, kind)), execution)


def test_a_text_is_embedded_and_null_stays_null() -> None:
    assert vector_of("sea", {"sea": [0, 1, 0]}).tolist() == [0, 1, 0]
    assert vector_of((1, 2.5, 3)).tolist() == [1, 2.5, 3]
    assert vector_of(None) is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ((1.0, 2.0), "has 2 numbers, and the property has 3"),
        ((), "has 0 numbers"),
        ((0.0, 0.0, 0.0), "all zero"),
        ((0.0, 1e-60, 0.0), "all zero"),
        ((math.nan, 1.0, 0.0), "F32 cannot hold"),
        ((1e39, 1.0, 0.0), "F32 cannot hold"),
        (("a", "b", "c"), "no number"),
    ],
)
def test_a_vector_that_cannot_be_compared_with_is_refused(value: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        vector_of(value)


def test_what_an_embedder_gives_is_checked_as_well() -> None:
    with pytest.raises(InvalidInputError, match=r"\$d\.v"):
        vector_of("sea", {"sea": [1, 2]})
