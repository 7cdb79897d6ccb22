"""Spark's filters as conditions: the same rows, or none of our business."""

from __future__ import annotations

import pytest
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from omnigraph_spark.filters import Condition, condition_of

X = ("x",)


@pytest.mark.parametrize(
    ("term", "condition"),
    [
        (EqualTo(X, 1), ("x", "=", 1)),
        (EqualNullSafe(X, 1), ("x", "=", 1)),
        (EqualNullSafe(X, None), ("x", "is null", None)),
        (LessThan(X, 1), ("x", "<", 1)),
        (LessThanOrEqual(X, 1), ("x", "<=", 1)),
        (GreaterThan(X, 1), ("x", ">", 1)),
        (GreaterThanOrEqual(X, 1), ("x", ">=", 1)),
        (In(X, (1, 2)), ("x", "in", (1, 2))),
        (In(X, (1, None)), ("x", "in", (1,))),
        (IsNull(X), ("x", "is null", None)),
        (IsNotNull(X), ("x", "is not null", None)),
        (Not(IsNull(X)), ("x", "is not null", None)),
        (Not(EqualTo(X, 1)), ("x", "!=", 1)),
        (StringStartsWith(X, "a"), ("x", "starts with", "a")),
    ],
    ids=str,
)
def test_a_filter_that_means_the_same_becomes_a_condition(term: Filter, condition: Condition):
    assert condition_of(term) == condition


@pytest.mark.parametrize(
    "term",
    [
        Not(EqualNullSafe(X, 1)),
        Not(In(X, (1, 2))),
        Not(LessThan(X, 1)),
        Not(StringStartsWith(X, "a")),
        Not(IsNotNull(X)),
        EqualTo(X, None),
        Not(EqualTo(X, None)),
        LessThan(X, None),
        EqualTo(("x", "y"), 1),
        IsNull(("x", "y")),
        In(("x", "y"), (1,)),
        StringContains(X, "a"),
        StringEndsWith(X, "a"),
    ],
    ids=str,
)
def test_a_filter_of_which_null_would_have_to_be_told_apart_stays_with_spark(term: Filter):
    assert condition_of(term) is None
