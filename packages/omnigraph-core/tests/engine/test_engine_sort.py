"""Rows come in the order that plain Python gives them, and the first rows are the first of that order."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.config import Settings
from omnigraph.engine import relational
from omnigraph.engine import sort as sorting
from omnigraph.engine.budget import QueryBudget, Spending
from omnigraph.engine.entities import HeldRows
from omnigraph.engine.execution import Execution
from omnigraph.engine.frame import Frame
from omnigraph.engine.sort import first_rows, sort
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.plan.ir import Limit, OneRow, Place, Sort, SortKey
from omnigraph.query.checked import Bm25, ColumnRef, Constant, EntityRef, PropertyRef, Rrf
from omnigraph.tables.arrow_schema import arrow_type

TEXT = ValueType(Scalar.STRING, is_nullable=True)
VALUES = {
    Scalar.I32: st.integers(-2, 2) | st.integers(-(2**31), 2**31 - 1),
    Scalar.I64: st.integers(-2, 2) | st.sampled_from([-(2**63), 2**63 - 1]),
    Scalar.U32: st.integers(0, 3) | st.just(2**32 - 1),
    Scalar.U64: st.sampled_from([0, 1, 2**63 - 1, 2**63, 2**64 - 1]),
    Scalar.F32: st.sampled_from([0.0, -0.0, 1.5, -2.5, math.nan, math.inf, -math.inf]),
    Scalar.F64: st.sampled_from([0.0, -0.0, 1e-320, -1e300, math.nan, math.inf, -math.inf]),
    Scalar.BOOL: st.booleans(),
    Scalar.STRING: st.sampled_from(["", "a", "ab", "é", "\uffff", "😀", "z"]),
    Scalar.DATE: st.integers(-3, 3),
    Scalar.DATETIME: st.integers(-3, 3) | st.integers(-(2**60), 2**60),
}


@pytest.fixture(params=["memory", "relational"], scope="module")
def way(request):
    """Both ways of ranking strings; the first rows are chosen, not sorted out, as soon as there are more than two."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "_FEW", 2)
        if request.param == "relational":
            patch.setattr(relational, "MOST_VALUES", 0)
        yield


def execution() -> Execution:
    return Execution(
        source=cast("Any", None),
        parameters={},
        now=0,
        spending=Spending(QueryBudget()),
        settings=Settings(),
        embed=cast("Any", None),
    )


def rank_of(value):
    """A key for Python's sort: NaN after all numbers, -0.0 as 0.0, strings by bytes."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value + 0.0)
    return value.encode() if isinstance(value, str) else value


def ordered(rows: list[tuple], keys: list[tuple[bool, bool]]) -> list[int]:
    """Numbers of rows, sorted by the last key first, as a stable sort allows."""
    order = list(range(len(rows)))
    for index, (is_descending, nulls_first) in reversed(list(enumerate(keys))):
        known = [at for at in order if rows[at][index] is not None]
        unknown = [at for at in order if rows[at][index] is None]
        known.sort(key=lambda at, index=index: rank_of(rows[at][index]), reverse=is_descending)
        order = unknown + known if nulls_first else known + unknown
    return order


def column(values: list, scalar: Scalar) -> pa.Array:
    kind = arrow_type(ValueType(scalar))
    counts = {pa.date32(): pa.int32(), pa.date64(): pa.int64()}.get(kind, kind)
    return pa.array(values, counts).view(kind) if counts != kind else pa.array(values, kind)


@pytest.mark.usefixtures("way")
@given(data=st.data())
def test_rows_sort_by_all_keys_with_nulls_where_the_keys_say(data):
    scalars = data.draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=3))
    stored = data.draw(st.lists(st.tuples(*(st.none() | VALUES[each] for each in scalars)), min_size=1, max_size=10))
    flags = [data.draw(st.tuples(st.booleans(), st.booleans())) for _ in scalars]
    positions = data.draw(st.lists(st.integers(0, len(stored) - 1), max_size=15))
    table = {f"p{index}": column([row[index] for row in stored], each) for index, each in enumerate(scalars)}
    ids = pa.array([f"{index:03}" for index in range(len(stored))], pa.string())
    held = HeldRows("node:Thing", pa.table({"id": ids, **table}))
    frame = Frame(row_count=len(positions), columns={"row": pa.array(np.arange(len(positions)))})
    frame = frame.binding("x", held, np.array(positions, dtype=np.int64))
    keys = [
        SortKey(PropertyRef("x", f"p{index}", ValueType(scalar, is_nullable=True)), *flag)
        for index, (scalar, flag) in enumerate(zip(scalars, flags, strict=True))
    ]
    rows = [stored[at] for at in positions]
    if data.draw(st.booleans()):
        keys.append(SortKey(EntityRef("x", "Thing")))
        rows, flags = [(*stored[at], at) for at in positions], [*flags, (False, True)]
    op = Sort(OneRow(), tuple(keys))
    wanted = ordered(rows, flags)
    assert sort(op, frame, execution()).columns["row"].to_pylist() == wanted
    count = data.draw(st.integers(0, len(positions) + 1))
    assert first_rows(Limit(op, count), frame, execution()).columns["row"].to_pylist() == wanted[:count]


EDGES = {
    Scalar.I32: [-(2**31), -1, 0, 1, 2**31 - 1],
    Scalar.I64: [-(2**63), -1, 0, 1, 2**63 - 1],
    Scalar.U64: [0, 1, 2**63 - 1, 2**63, 2**64 - 1],
    Scalar.F32: [-math.inf, -2.5, -1.5, 0.0, 1.5, math.inf, math.nan],
    Scalar.F64: [-math.inf, -1e300, -1.0, -1e-320, 0.0, 1e-320, 1.0, math.inf, math.nan],
    Scalar.BOOL: [False, True],
    Scalar.STRING: ["", "a", "ab", "b", "é", "\uffff", "😀"],
    Scalar.DATE: [-(2**31), 0, 2**31 - 1],
    Scalar.DATETIME: [-(2**63), -1, 0, 86_400_001, 2**63 - 1],
}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("scalar", list(EDGES))
@pytest.mark.parametrize("is_descending", [False, True])
@pytest.mark.parametrize("nulls_first", [False, True])
def test_values_of_every_type_have_one_place_from_either_end(scalar, is_descending, nulls_first):
    ascending = EDGES[scalar]
    order = ascending[::-1] if is_descending else ascending
    wanted = [None, *order] if nulls_first else [*order, None]
    places = [place for start in (2, 1, 0) for place in range(len(wanted))[start::3]]
    values = column([wanted[place] for place in places], scalar)
    frame = Frame(row_count=len(wanted), columns={"v": values, "place": pa.array(places)})
    op = Sort(OneRow(), (SortKey(ColumnRef("v", ValueType(scalar)), is_descending, nulls_first),))
    assert sort(op, frame, execution()).columns["place"].to_pylist() == list(range(len(wanted)))
    for count in range(len(wanted)):
        found = first_rows(Limit(op, count), frame, execution())
        assert found.columns["place"].to_pylist() == list(range(count))


@pytest.mark.usefixtures("way")
def test_many_equal_rows_are_told_apart_by_later_keys():
    random = np.random.default_rng(5)
    count = 3_000
    ids = pa.array([f"{index:05}" for index in range(count)])
    small, large = random.integers(0, 3, count), random.integers(0, 2**62, count) - 2**61
    words = [f"w{each}" for each in random.integers(0, 40, count)]
    held = HeldRows("node:Thing", pa.table({"id": ids, "s": small, "l": large, "w": words}))
    positions = random.permutation(count)
    frame = Frame(row_count=count).binding("x", held, positions)
    for names in (["s", "w"], ["w", "l"], ["s"], ["l", "s"]):
        columns = {"s": small.tolist(), "l": large.tolist(), "w": words}
        keys = tuple(SortKey(PropertyRef("x", name, TEXT if name == "w" else ValueType(Scalar.I64))) for name in names)
        op = Sort(OneRow(), (*keys, SortKey(EntityRef("x", "Thing"), True)))
        wanted = sorted(range(count), key=lambda at: (*(columns[name][at] for name in names), -at))
        assert sort(op, frame, execution()).bound["x"].positions.tolist() == wanted
        for limit in (1, 10, 1_500):
            found = first_rows(Limit(op, limit), frame, execution())
            assert found.bound["x"].positions.tolist() == wanted[:limit]


def test_scores_places_and_columns_of_groups_are_keys():
    text = PropertyRef("x", "t", TEXT)
    ranking = Bm25(text, Constant("a", TEXT))
    place = Place(Rrf(ranking, ranking))
    frame = Frame(
        row_count=3,
        scores={ranking: pa.array([None, 0.5, 1.5]), place: pa.array([2, 1, None], pa.int64())},
        columns={"n": pa.array([7, 7, 9])},
    )
    exec_ = execution()

    def order(*keys: SortKey) -> list:
        return sort(Sort(OneRow(), keys), frame, exec_).scores[ranking].to_pylist()

    assert order(SortKey(ranking, is_descending=True, nulls_first=False)) == [1.5, 0.5, None]
    assert order(SortKey(place, nulls_first=False)) == [0.5, None, 1.5]
    by_count = SortKey(ColumnRef("n", ValueType(Scalar.I64)), is_descending=True)
    assert order(by_count, SortKey(place)) == [1.5, 0.5, None]
    assert order(by_count, SortKey(Constant(1, ValueType(Scalar.I64)))) == [1.5, None, 0.5]


def test_without_keys_rows_stay_as_they_are():
    frame = Frame(row_count=3, columns={"n": pa.array([3, 1, 2])})
    assert sort(Sort(OneRow(), ()), frame, execution()).columns["n"].to_pylist() == [3, 1, 2]
    found = first_rows(Limit(Sort(OneRow(), ()), 2), frame, execution())
    assert found.columns["n"].to_pylist() == [3, 1]
    assert first_rows(Limit(Sort(OneRow(), ()), 0), frame, execution()).row_count == 0
