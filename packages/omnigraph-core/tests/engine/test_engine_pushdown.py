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
from omnigraph.tables.row_filters import Compared, RowFilter, as_expression

ROWS = {
    Scalar.STRING: pa.array(
        ["", "a", "ab", "abc", "b", "\ud7ff", "\ud7ffx", "\ue000", "\U0010ffff", "\U0010ffffz", None]
    ),
    Scalar.I32: pa.array([-(2**31), -1, 0, 2, 3, 2**31 - 1, None], pa.int32()),
    Scalar.I64: pa.array([-(2**63), 0, 2, 2**53 + 1, 2**63 - 1, None], pa.int64()),
    Scalar.U32: pa.array([0, 2, 3, 2**31, 2**32 - 1, None], pa.uint32()),
    Scalar.U64: pa.array([0, 2, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, None], pa.uint64()),
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
    if pushed.sieve is None:
        assert pushed.residual == (predicate,)
        return None
    return cast("list[Any]", ROWS[scalar].filter(pa.array(_rows_of(pushed.sieve, scalar))).to_pylist())


def _rows_of(sieve: RowFilter, scalar: Scalar) -> list[bool]:
    """Which rows Arrow finds; of unsigned numbers and points in time, which it coerces, by their integers."""
    rows = pa.table({"x": ROWS[scalar], "row": range(len(ROWS[scalar]))})
    found = rows.filter(as_expression(sieve))["row"].to_pylist()
    return [row in found for row in range(len(rows))]


@pytest.mark.parametrize("prefix", ["a", "ab", "\ud7ff", "\ue000", "zz"])
def test_a_prefix_becomes_a_range_that_holds_the_same_texts(prefix: str) -> None:
    expected = [text for text in ROWS[Scalar.STRING].to_pylist() if text is not None and text.startswith(prefix)]
    assert matched(of(Scalar.STRING, Operator.STARTS_WITH, prefix), Scalar.STRING) == expected


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        *((scalar, value) for scalar in (Scalar.I32, Scalar.I64) for value in (2, 2.0, 0, -1)),
        *((Scalar.U32, value) for value in (2, 2.0, 0, 2**31, 2**32 - 1)),
        *((Scalar.U64, value) for value in (2, 2.0, 0, 2**63 - 1, 2**63, 2**64 - 1)),
    ],
)
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
        (Scalar.U64, -1),
        (Scalar.U64, 2**64),
        (Scalar.U64, 1.5),
        (Scalar.U32, 2**32),
        (Scalar.DATETIME, 0.5),
    ],
)
def test_what_storage_would_judge_otherwise_is_left_to_the_engine(scalar: Scalar, value: Any) -> None:
    predicate = of(scalar, Operator.EQ, value)
    pushed = push_down([predicate], execution())
    assert (pushed.sieve, pushed.residual) == (None, (predicate,))


@pytest.mark.parametrize("scalar", [Scalar.F64, Scalar.F32])
def test_storage_sieves_floats_and_the_engine_judges_them_again(scalar: Scalar) -> None:
    predicate = of(scalar, Operator.GE, 0.5)
    pushed = push_down([predicate], execution())
    assert pushed.sieve is not None
    assert pushed.residual == (predicate,)


def test_dates_and_truths_are_pushed() -> None:
    day = dt.date(2020, 3, 1).toordinal() - dt.date(1970, 1, 1).toordinal()
    assert matched(of(Scalar.DATE, Operator.GE, day), Scalar.DATE) == [dt.date(2020, 3, 1)]
    assert matched(of(Scalar.BOOL, Operator.EQ, True), Scalar.BOOL) == [True]


@pytest.mark.parametrize("milliseconds", [-62_135_596_800_000, -1, 0, 999, 1_700_000_000_123])
def test_a_point_in_time_is_pushed_with_its_milliseconds(milliseconds: int) -> None:
    pushed = push_down([of(Scalar.DATETIME, Operator.LT, milliseconds)], execution())
    assert pushed.residual == ()
    assert isinstance(pushed.sieve, Compared)
    assert pushed.sieve.value.type == pa.date64()
    assert pushed.sieve.value.cast(pa.int64()).as_py() == milliseconds


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
    assert (pushed.sieve, pushed.residual) == (None, tuple(predicates))


def test_quotes_in_a_value_are_a_value() -> None:
    evil = "a' OR 1=1 --"
    pushed = push_down([of(Scalar.STRING, Operator.EQ, evil)], execution())
    assert pushed.sieve is not None
    assert pa.table({"x": ["a", evil]}).filter(as_expression(pushed.sieve))["x"].to_pylist() == [evil]


def test_a_prefix_without_a_next_text_is_left_to_the_engine() -> None:
    assert matched(of(Scalar.STRING, Operator.STARTS_WITH, "a\U0010ffff"), Scalar.STRING) is None
    assert matched(of(Scalar.STRING, Operator.STARTS_WITH, ""), Scalar.STRING) is None


def test_many_conditions_are_pushed_as_a_tree_of_little_depth() -> None:
    predicates = [of(Scalar.I64, Operator.NE, number) for number in range(MAX_PUSHED + 2)]
    pushed = push_down(predicates, execution())
    assert pushed.residual == tuple(predicates[MAX_PUSHED:])
    assert pushed.sieve is not None
    expression = as_expression(pushed.sieve)
    assert str(expression).count("(((((((((") == 0
    rows = pa.table({"x": pa.array([-1, 0, MAX_PUSHED - 1, MAX_PUSHED], pa.int64())})
    assert rows.filter(expression)["x"].to_pylist() == [-1, MAX_PUSHED]
