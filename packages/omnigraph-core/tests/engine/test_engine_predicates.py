"""Conditions keep the rows for which they are true, and ask as little as they need to."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.config import Settings
from omnigraph.engine import predicates
from omnigraph.engine.budget import QueryBudget, Spending
from omnigraph.engine.entities import HeldRows
from omnigraph.engine.execution import Execution
from omnigraph.engine.frame import Frame
from omnigraph.engine.predicates import arrow_value, filter_rows, holds
from omnigraph.errors import DeadlineError
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.plan.ir import Filter, OneRow
from omnigraph.query.ast import Operator, TextFunction
from omnigraph.query.checked import (
    Comparison,
    Constant,
    CurrentTime,
    ParameterRef,
    PropertyMatch,
    PropertyRef,
    TextMatch,
)

I64 = ValueType(Scalar.I64, is_nullable=True)
TEXT = ValueType(Scalar.STRING, is_nullable=True)
TEXTS = ValueType(Scalar.STRING, is_list=True)
TIME = ValueType(Scalar.DATETIME)


def execution(parameters: dict[str, Any] | None = None, budget: QueryBudget | None = None, now: int = 0) -> Execution:
    spending = Spending(budget or QueryBudget())
    return Execution(
        source=cast("Any", None),
        parameters=parameters or {},
        now=now,
        spending=spending,
        settings=Settings(),
        embed=cast("Any", None),
    )


def entities(**columns: pa.Array) -> HeldRows:
    count = len(next(iter(columns.values())))
    ids = pa.array([f"{index:06}" for index in range(count)], pa.string())
    return HeldRows("node:Thing", pa.table({"id": ids, **columns}))


def bind(held: HeldRows, positions: list[int], variable: str = "x") -> Frame:
    return Frame(row_count=len(positions)).binding(variable, held, np.array(positions, dtype=np.int64))


def ref(name: str, type_: ValueType, variable: str = "x") -> PropertyRef:
    return PropertyRef(variable, name, type_)


numbers = st.lists(st.none() | st.integers(-5, 5), min_size=1, max_size=6)


@given(numbers, numbers, st.data())
def test_rows_are_kept_for_which_all_conditions_are_true(ages, sizes, data):
    size = min(len(ages), len(sizes))
    held = entities(age=pa.array(ages[:size], pa.int64()), size=pa.array(sizes[:size], pa.int64()))
    positions = data.draw(st.lists(st.integers(0, size - 1), max_size=12))
    low, other = data.draw(st.integers(-5, 5)), data.draw(st.none() | st.integers(-5, 5))
    wanted = (
        Comparison(ref("age", I64), Operator.GT, Constant(low, I64)),
        Comparison(ref("size", I64), Operator.NE, ParameterRef("p", I64)),
        Comparison(ref("age", I64), Operator.LE, ref("size", I64)),
    )

    def is_kept(at):
        age, length = ages[at], sizes[at]
        return None not in (age, length, other) and age > low and length != other and age <= length

    frame = bind(held, positions)
    found = filter_rows(Filter(OneRow(), wanted), frame, execution({"p": other}))
    assert found.bound["x"].positions.tolist() == [each for each in positions if is_kept(each)]


@pytest.mark.parametrize("few", [0, 10**9])
@pytest.mark.parametrize("repeats", [1, 2, 50])
def test_repeated_entities_are_judged_as_each_row_would_be(monkeypatch, few, repeats):
    monkeypatch.setattr(predicates, "_FEW_ROWS", few)
    names = ["ann", None, "bo", "anna", ""]
    held = entities(name=pa.array(names, pa.string()), age=pa.array([1, 2, None, 4, 5], pa.int32()))
    positions = [0, 3, 1, 4] * repeats
    wanted = (
        Comparison(ref("name", TEXT), Operator.CONTAINS, Constant("n", TEXT)),
        Comparison(ref("age", I64), Operator.LT, Constant(4.5, ValueType(Scalar.F64))),
    )
    mask = holds(wanted, bind(held, positions), execution())
    assert mask.tolist() == [True, True, False, False] * repeats


def test_an_inline_match_is_equality_or_membership_in_a_list():
    held = entities(
        name=pa.array(["ann", "bo", None]), tags=pa.array([["space", "slow"], ["slow"], None], pa.list_(pa.string()))
    )
    frame = bind(held, [0, 1, 2])
    assert holds((PropertyMatch(ref("name", TEXT), Constant("bo", TEXT)),), frame, execution()).tolist() == [
        False,
        True,
        False,
    ]
    assert holds((PropertyMatch(ref("tags", TEXTS), Constant("space", TEXT)),), frame, execution()).tolist() == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("operator", list(Operator)[:6])
def test_a_null_parameter_matches_nothing_not_even_as_different(operator):
    held = entities(age=pa.array([1, None], pa.int64()))
    condition = Comparison(ref("age", I64), operator, ParameterRef("p", I64))
    assert not holds((condition,), bind(held, [0, 1]), execution({"p": None})).any()


def test_a_comparison_of_two_given_values_holds_for_all_rows_or_for_none():
    frame = bind(entities(age=pa.array([1, 2], pa.int64())), [0, 1, 1])
    is_past = Comparison(Constant(5, TIME), Operator.LT, CurrentTime())
    assert holds((is_past,), frame, execution(now=6)).tolist() == [True] * 3
    assert holds((is_past,), frame, execution(now=5)).tolist() == [False] * 3
    assert holds((), frame, execution()).tolist() == [True] * 3


def test_conditions_on_two_variables_compare_row_by_row():
    held = entities(age=pa.array([3, 1, 2], pa.int64()))
    frame = bind(held, [0, 1, 2]).binding("y", held, np.array([1, 0, 2]))
    condition = Comparison(ref("age", I64), Operator.GT, ref("age", I64, "y"))
    assert holds((condition,), frame, execution()).tolist() == [True, False, False]


def test_an_empty_frame_has_no_rows_to_judge():
    frame = bind(entities(age=pa.array([], pa.int64())), [])
    assert holds((Comparison(ref("age", I64), Operator.EQ, Constant(1, I64)),), frame, execution()).tolist() == []


def test_a_text_match_is_asked_last_and_only_about_entities_that_are_left(monkeypatch):
    asked = []

    def text_mask(match, bound, execution):
        asked.append(bound.positions.tolist())
        return np.array([position != 3 for position in bound.positions])

    monkeypatch.setattr(predicates, "text_mask", text_mask)
    held = entities(name=pa.array(list("abcdef")), age=pa.array([1, 2, 3, 4, 5, 6], pa.int64()))
    wanted = (
        TextMatch(TextFunction.SEARCH, ref("name", TEXT), Constant("a", TEXT)),
        Comparison(ref("age", I64), Operator.GE, Constant(3, I64)),
    )
    mask = holds(wanted, bind(held, [0, 2, 3, 5]), execution())
    assert mask.tolist() == [False, True, False, True]
    assert asked == [[2, 3, 5]]
    monkeypatch.setattr(predicates, "_FEW_ROWS", 0)
    mask = holds(wanted, bind(held, [0, 2, 3, 5] * 3), execution())
    assert mask.tolist() == [False, True, False, True] * 3
    assert asked[1:] == [[2, 3, 5]]


def test_what_a_text_match_found_is_not_written_to(monkeypatch):
    def text_mask(match, bound, execution):
        mask = bound.positions < (2 if match.query.value == "a" else 1)
        mask.setflags(write=False)
        return mask

    monkeypatch.setattr(predicates, "text_mask", text_mask)
    frame = bind(entities(name=pa.array(list("abc"))), [0, 1, 2])
    wanted = [TextMatch(TextFunction.SEARCH, ref("name", TEXT), Constant(each, TEXT)) for each in "ab"]
    assert holds(wanted, frame, execution()).tolist() == [True, False, False]


def test_the_deadline_is_asked_for_between_conditions():
    frame = bind(entities(age=pa.array([1], pa.int64())), [0])
    with pytest.raises(DeadlineError, match="Filter"):
        holds(
            (Comparison(ref("age", I64), Operator.EQ, Constant(1, I64)),),
            frame,
            execution(budget=QueryBudget(deadline=0)),
        )


def test_constants_have_the_arrow_type_of_properties():
    assert arrow_value(3, ValueType(Scalar.DATE)).value == 3
    assert arrow_value(1_234_567, TIME).cast(pa.int64()).as_py() == 1_234_567
    assert arrow_value(None, ValueType(Scalar.U64, is_nullable=True)) == pa.scalar(None, pa.uint64())
    assert arrow_value(("a", "b"), TEXTS).as_py() == ["a", "b"]
    assert arrow_value((0.5, 1.0), ValueType(Scalar.VECTOR, dimension=2)).type == pa.list_(
        pa.field("item", pa.float32()), 2
    )
    assert math.isnan(arrow_value(math.nan, ValueType(Scalar.F64)).as_py())
