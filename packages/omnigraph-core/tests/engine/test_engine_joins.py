"""Joins, products and negations give the rows that two nested loops would give, in their order."""

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
from omnigraph.engine.budget import QueryBudget, Spending
from omnigraph.engine.entities import HeldRows
from omnigraph.engine.execution import Execution
from omnigraph.engine.frame import Frame
from omnigraph.engine.joins import anti_join, cross_join, join
from omnigraph.errors import ResourceLimitError
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.plan.ir import AntiJoin, CrossJoin, Filter, Join, JoinKey, NodeScan, OneRow, OuterRows
from omnigraph.query.checked import BoundVariable, PropertyRef
from omnigraph.tables.arrow_schema import arrow_type

NUMBERS = {
    Scalar.I32: st.integers(-2, 3) | st.just(2**31 - 1),
    Scalar.I64: st.integers(-2, 3) | st.sampled_from([-(2**63), 2**53 + 1, 2**63 - 1]),
    Scalar.U32: st.integers(0, 3) | st.just(2**32 - 1),
    Scalar.U64: st.integers(0, 3) | st.sampled_from([2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1]),
    Scalar.F32: st.sampled_from([-2.0, -0.0, 0.0, 1.0, 1.5, 2.0**63, math.nan, math.inf, 2.0**64]),
    Scalar.F64: st.sampled_from([-2.0, -0.0, 0.0, 1.0, 1.5, 2.0**53, 2.0**63, -(2.0**63), math.nan, math.inf]),
}
OTHERS = {
    Scalar.STRING: st.sampled_from(["", "a", "b", "é"]),
    Scalar.BOOL: st.booleans(),
    Scalar.DATE: st.integers(-2, 2),
    Scalar.DATETIME: st.integers(-2, 2) | st.just(2**62),
}


def execution(**budget: Any) -> Execution:
    return Execution(
        source=cast("Any", None),
        parameters={},
        now=0,
        spending=Spending(QueryBudget(**budget)),
        settings=Settings(),
        embed=cast("Any", None),
    )


def held_of(columns: dict[str, pa.Array], count: int) -> HeldRows:
    ids = pa.array([f"{index:06}" for index in range(count)], pa.string())
    return HeldRows("node:Thing", pa.table({"id": ids, **columns}))


def bind(variable: str, held: HeldRows, positions: list[int]) -> Frame:
    return Frame(row_count=len(positions)).binding(variable, held, np.array(positions, dtype=np.int64))


def column(values: list, scalar: Scalar) -> pa.Array:
    kind = arrow_type(ValueType(scalar))
    counts = {pa.date32(): pa.int32(), pa.date64(): pa.int64()}.get(kind, kind)
    return pa.array(values, counts).view(kind) if counts != kind else pa.array(values, kind)


def pairs_of(frame: Frame) -> list[tuple[int, int]]:
    return list(zip(frame.bound["a"].positions.tolist(), frame.bound["b"].positions.tolist(), strict=True))


@pytest.mark.parametrize("largest", [0, 10**9], ids=["relational", "memory"])
@given(data=st.data())
def test_a_join_pairs_rows_that_are_equal_by_value_in_all_keys(largest, data):
    kind = st.tuples(*[st.sampled_from(list(NUMBERS))] * 2) | st.sampled_from(list(OTHERS)).map(
        lambda each: (each, each)
    )
    kinds = data.draw(st.lists(kind, min_size=1, max_size=2))
    values = {**NUMBERS, **OTHERS}
    sides: list[list[tuple]] = []
    frames: list[Frame] = []
    for side, variable in enumerate("ab"):
        rows = st.tuples(*(st.none() | values[each[side]] for each in kinds))
        stored = data.draw(st.lists(rows, min_size=1, max_size=6))
        columns = {f"p{index}": column([row[index] for row in stored], each[side]) for index, each in enumerate(kinds)}
        positions = data.draw(st.lists(st.integers(0, len(stored) - 1), max_size=8))
        frames.append(bind(variable, held_of(columns, len(stored)), positions))
        sides.append([(*stored[at], at) for at in positions])
    keys = tuple(
        JoinKey(PropertyRef("a", f"p{index}", ValueType(each[0])), PropertyRef("b", f"p{index}", ValueType(each[1])))
        for index, each in enumerate(kinds)
    )

    def matches(left, right):
        return all(left[i] is not None and left[i] == right[i] for i in range(len(kinds)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relational, "MOST_VALUES", largest)
        found = join(Join(OneRow(), OneRow(), keys), *frames, execution())
    assert pairs_of(found) == [(a[-1], b[-1]) for a in sides[0] for b in sides[1] if matches(a, b)]


EDGES = {
    Scalar.I32: [None, -2, 0, 1, 2**31 - 1],
    Scalar.I64: [None, -(2**63), -2, 0, 1, 2**53, 2**53 + 1, 2**63 - 1],
    Scalar.U32: [None, 0, 1, 2**32 - 1],
    Scalar.U64: [None, 0, 1, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1],
    Scalar.F32: [None, -2.0, -0.0, 0.0, 1.0, 1.5, 2.0**63, 2.0**64, -(2.0**63), math.nan, math.inf, -math.inf],
    Scalar.F64: [None, -2.0, -0.0, 1.0, 1.5, 2.0**53, 2.0**63, 2.0**64, -(2.0**63), math.nan, math.inf, 2.0**31 - 1],
}


@pytest.mark.parametrize("right_scalar", list(EDGES))
@pytest.mark.parametrize("left_scalar", list(EDGES))
def test_numbers_of_every_two_types_join_by_value(left_scalar, right_scalar):
    left, right = EDGES[left_scalar], EDGES[right_scalar]
    frames = [
        bind(variable, held_of({"p": column(values, scalar)}, len(values)), list(range(len(values))))
        for variable, values, scalar in (("a", left, left_scalar), ("b", right, right_scalar))
    ]
    key = JoinKey(PropertyRef("a", "p", ValueType(left_scalar)), PropertyRef("b", "p", ValueType(right_scalar)))
    found = join(Join(OneRow(), OneRow(), (key,)), *frames, execution())
    wanted = [
        (i, j)
        for i, one in enumerate(left)
        for j, other in enumerate(right)
        if one is not None and other is not None and one == other
    ]
    assert pairs_of(found) == wanted


def test_a_product_is_in_the_order_of_the_left_then_of_the_right():
    held = held_of({}, 3)
    found = cross_join(CrossJoin(OneRow(), OneRow()), bind("a", held, [2, 0]), bind("b", held, [1, 1, 0]), execution())
    assert pairs_of(found) == [(2, 1), (2, 1), (2, 0), (0, 1), (0, 1), (0, 0)]
    empty = cross_join(CrossJoin(OneRow(), OneRow()), bind("a", held, [2, 0]), bind("b", held, []), execution())
    assert pairs_of(empty) == []


@pytest.mark.parametrize(("budget", "name"), [({"max_rows": 10**9}, "max_rows"), ({"max_rows": None}, "max_bytes")])
def test_a_product_that_is_too_large_is_refused_before_it_is_made(budget, name):
    held = held_of({}, 1)
    many = bind("a", held, [0] * 100_000), bind("b", held, [0] * 100_000)
    with pytest.raises(ResourceLimitError, match=rf"CrossJoin.*\({name}\)"):
        cross_join(CrossJoin(OneRow(), OneRow()), *many, execution(**budget))


def test_a_join_with_too_many_pairs_is_refused_before_they_are_made():
    held = held_of({"p": pa.array([1], pa.int64())}, 1)
    many = bind("a", held, [0] * 1_000), bind("b", held, [0] * 1_000)
    key = JoinKey(PropertyRef("a", "p", ValueType(Scalar.I64)), PropertyRef("b", "p", ValueType(Scalar.I64)))
    with pytest.raises(ResourceLimitError, match=r"Join.*\(max_rows\)"):
        join(Join(OneRow(), OneRow(), (key,)), *many, execution(max_rows=999_999))


def test_both_sides_keep_their_scores_and_the_origin_of_a_negation():
    held = held_of({"p": pa.array([1, 2], pa.int64())}, 2)
    left = Frame(row_count=2, bound=bind("a", held, [0, 1]).bound, origin=np.array([4, 7]))
    key = JoinKey(PropertyRef("a", "p", ValueType(Scalar.I64)), PropertyRef("b", "p", ValueType(Scalar.I64)))
    found = join(Join(OneRow(), OneRow(), (key,)), left, bind("b", held, [1, 0, 1]), execution())
    assert pairs_of(found) == [(0, 0), (1, 1), (1, 1)]
    assert found.origin is not None
    assert found.origin.tolist() == [4, 7, 7]


# ── negation ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def outer(*names: str) -> OuterRows:
    return OuterRows(tuple(BoundVariable(each, "Thing") for each in names))


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12), st.sets(st.tuples(*[st.integers(0, 3)] * 2))
)
def test_a_row_goes_when_the_inner_plan_has_a_row_for_its_variables(rows, solutions):
    held = held_of({}, 4)
    frame = bind("a", held, [each[0] for each in rows])
    frame = frame.binding("b", held, np.array([each[1] for each in rows], dtype=np.int64))
    asked = []

    def run_inner(given_rows: Frame) -> Frame:
        asked.extend(pairs_of(given_rows))
        assert given_rows.origin is not None
        assert given_rows.origin.tolist() == list(range(given_rows.row_count))
        hits = [at for at, pair in enumerate(pairs_of(given_rows)) if pair in solutions]
        # Solutions come twice and in no order, as those of a traversal may.
        return given_rows.take(np.array([*reversed(hits), *hits], dtype=np.int64))

    op = AntiJoin(OneRow(), Filter(outer("b", "a"), ()))
    found = anti_join(op, frame, run_inner, execution())
    assert pairs_of(found) == [each for each in rows if each not in solutions]
    assert asked == list(dict.fromkeys(rows))


def test_only_the_variables_that_the_inner_plan_names_are_handed_in():
    held = held_of({}, 3)
    frame = bind("a", held, [1, 2, 1, 1]).binding("b", held, np.array([0, 1, 2, 0]))
    seen = []

    def run_inner(given_rows: Frame) -> Frame:
        seen.append({name: each.positions.tolist() for name, each in given_rows.bound.items()})
        return given_rows.take(np.array([1]))

    inner = AntiJoin(CrossJoin(outer("a"), NodeScan("c", "Thing")), outer("a", "b", "c"))
    found = anti_join(AntiJoin(OneRow(), inner), frame, run_inner, execution())
    assert seen == [{"a": [1, 2]}]
    assert found.bound["a"].positions.tolist() == [1, 1, 1]
    assert found.bound["b"].positions.tolist() == [0, 2, 0]


def test_nothing_is_run_for_no_rows():
    frame = bind("a", held_of({}, 1), [])
    found = anti_join(AntiJoin(OneRow(), outer("a")), frame, lambda _: pytest.fail("it was run"), execution())
    assert found.row_count == 0


@pytest.mark.parametrize("solutions", [0, 3])
def test_an_inner_plan_that_asks_nothing_of_the_outer_row_keeps_all_or_none(solutions):
    frame = bind("a", held_of({}, 2), [0, 1, 0])
    found = anti_join(AntiJoin(OneRow(), OneRow()), frame, lambda _: Frame(row_count=solutions), execution())
    assert found.row_count == (0 if solutions else 3)
