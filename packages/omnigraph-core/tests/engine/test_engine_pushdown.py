"""Conditions as filters of storage: exact, or left to the engine."""

from __future__ import annotations

import datetime as dt
from typing import Any, cast

import pyarrow as pa
import pytest

from omnigraph.config import Settings
from omnigraph.engine.budget import QueryBudget, Spending
from omnigraph.engine.execution import Execution
from omnigraph.engine.pushdown import MAX_PUSHED, push_down
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.plan.ir import Predicate
from omnigraph.query.ast import Operator
from omnigraph.query.checked import Comparison, Constant, ParameterRef, PropertyMatch, PropertyRef

ROWS = {
    Scalar.STRING: pa.array(
        ["", "a", "ab", "abc", "b", "\ud7ff", "\ud7ffx", "\ue000", "\U0010ffff", "\U0010ffffz", None]
    ),
    Scalar.I32: pa.array([-(2**31), -1, 0, 2, 3, 2**31 - 1, None], pa.int32()),
    Scalar.I64: pa.array([-(2**63), 0, 2, 2**53 + 1, 2**63 - 1, None], pa.int64()),
    Scalar.BOOL: pa.array([True, False, None]),
    Scalar.DATE: pa.array([dt.date(2020, 3, 1), dt.date(1969, 12, 31), None]),
    Scalar.F64: pa.array([-0.0, 0.0, 1.5, 2.0, None], pa.float64()),
    Scalar.F32: pa.array([0.1, 0.5, None], pa.float32()),
}


def execution(**parameters: Any) -> Execution:
    return Execution(
        source=cast("Any", None),
        parameters=parameters,
        now=0,
        spending=Spending(QueryBudget()),
        settings=Settings(),
        embed=cast("Any", None),
    )


def of(scalar: Scalar, operator: Operator, value: Any) -> Comparison:
    return Comparison(PropertyRef("p", "x", ValueType(scalar)), operator, Constant(value, ValueType(scalar)))


def matched(predicate: Predicate, scalar: Scalar, **parameters: Any) -> list[Any] | None:
    pushed = push_down([predicate], execution(**parameters))
    if pushed.expression is None:
        assert pushed.residual == (predicate,)
        return None
    return cast("list[Any]", pa.table({"x": ROWS[scalar]}).filter(pushed.expression)["x"].to_pylist())


@pytest.mark.parametrize("prefix", ["a", "ab", "\ud7ff", "\ue000", "zz"])
def test_a_prefix_becomes_a_range_that_holds_the_same_texts(prefix: str) -> None:
    expected = [text for text in ROWS[Scalar.STRING].to_pylist() if text is not None and text.startswith(prefix)]
    assert matched(of(Scalar.STRING, Operator.STARTS_WITH, prefix), Scalar.STRING) == expected


@pytest.mark.parametrize("scalar", [Scalar.I32, Scalar.I64])
@pytest.mark.parametrize("value", [2, 2.0, 0, -1])
@pytest.mark.parametrize("operator", ["=", "!=", "<", "<=", ">", ">="])
def test_a_whole_number_is_pushed_as_one_of_the_width_of_its_column(
    scalar: Scalar, value: float, operator: str
) -> None:
    compare = {
        "=": lambda x: x == value,
        "!=": lambda x: x != value,
        "<": lambda x: x < value,
        "<=": lambda x: x <= value,
        ">": lambda x: x > value,
        ">=": lambda x: x >= value,
    }[operator]
    expected = [each for each in ROWS[scalar].to_pylist() if each is not None and compare(each)]
    assert matched(of(scalar, Operator(operator), value), scalar) == expected


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        (Scalar.I32, 2.7),
        (Scalar.I32, 2**31),
        (Scalar.I64, 2**63),
        (Scalar.I64, float("inf")),
        (Scalar.F64, 0.0),
        (Scalar.F64, float("nan")),
        (Scalar.F64, 2**53 + 1),
        (Scalar.U64, 5),
        (Scalar.U32, 5),
        (Scalar.DATETIME, 5),
    ],
)
def test_what_storage_would_judge_otherwise_is_left_to_the_engine(scalar: Scalar, value: Any) -> None:
    predicate = of(scalar, Operator.EQ, value)
    pushed = push_down([predicate], execution())
    assert (pushed.expression, pushed.residual) == (None, (predicate,))


@pytest.mark.parametrize("scalar", [Scalar.F64, Scalar.F32])
def test_storage_sieves_floats_and_the_engine_judges_them_again(scalar: Scalar) -> None:
    predicate = of(scalar, Operator.GE, 0.5)
    pushed = push_down([predicate], execution())
    assert pushed.expression is not None
    assert pushed.residual == (predicate,)


def test_dates_and_truths_are_pushed() -> None:
    day = dt.date(2020, 3, 1).toordinal() - dt.date(1970, 1, 1).toordinal()
    assert matched(of(Scalar.DATE, Operator.GE, day), Scalar.DATE) == [dt.date(2020, 3, 1)]
    assert matched(of(Scalar.BOOL, Operator.EQ, True), Scalar.BOOL) == [True]


def test_a_constant_on_the_left_turns_the_comparison_round() -> None:
    field = PropertyRef("p", "x", ValueType(Scalar.I32))
    predicate = Comparison(Constant(2, ValueType(Scalar.I32)), Operator.LT, field)
    assert matched(predicate, Scalar.I32) == [3, 2**31 - 1]


def test_a_parameter_counts_with_its_value_and_null_is_not_pushed() -> None:
    field = PropertyRef("p", "x", ValueType(Scalar.STRING))
    predicate = PropertyMatch(field, ParameterRef("g", ValueType(Scalar.STRING, is_nullable=True)))
    assert matched(predicate, Scalar.STRING, g="ab") == ["ab"]
    assert matched(predicate, Scalar.STRING, g=None) is None


def test_membership_substrings_and_comparisons_of_properties_are_left_to_the_engine() -> None:
    tags = PropertyRef("p", "x", ValueType(Scalar.STRING, is_list=True))
    text = PropertyRef("p", "x", ValueType(Scalar.STRING))
    word = Constant("a", ValueType(Scalar.STRING))
    predicates = [
        PropertyMatch(tags, word),
        Comparison(text, Operator.CONTAINS, word),
        Comparison(text, Operator.EQ, text),
        Comparison(word, Operator.STARTS_WITH, text),
    ]
    pushed = push_down(predicates, execution())
    assert (pushed.expression, pushed.residual) == (None, tuple(predicates))


def test_quotes_in_a_value_are_a_value() -> None:
    evil = "a' OR 1=1 --"
    pushed = push_down([of(Scalar.STRING, Operator.EQ, evil)], execution())
    assert pushed.expression is not None
    assert pa.table({"x": ["a", evil]}).filter(pushed.expression)["x"].to_pylist() == [evil]


def test_a_prefix_without_a_next_text_is_left_to_the_engine() -> None:
    assert matched(of(Scalar.STRING, Operator.STARTS_WITH, "a\U0010ffff"), Scalar.STRING) is None
    assert matched(of(Scalar.STRING, Operator.STARTS_WITH, ""), Scalar.STRING) is None


def test_many_conditions_are_pushed_as_a_tree_of_little_depth() -> None:
    predicates = [of(Scalar.I64, Operator.NE, number) for number in range(MAX_PUSHED + 2)]
    pushed = push_down(predicates, execution())
    assert pushed.residual == tuple(predicates[MAX_PUSHED:])
    assert pushed.expression is not None
    assert str(pushed.expression).count("(((((((((") == 0
    rows = pa.table({"x": pa.array([-1, 0, MAX_PUSHED - 1, MAX_PUSHED], pa.int64())})
    assert rows.filter(pushed.expression)["x"].to_pylist() == [-1, MAX_PUSHED]
