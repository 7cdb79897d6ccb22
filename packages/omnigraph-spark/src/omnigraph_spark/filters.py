"""Spark's filters as the conditions of a scan.

Only forms that mean the same on both sides become conditions; which of them storage judges exactly is said by the scan.
Spark hands over the terms of a conjunction one by one; an ``or``, a function or a cast never comes here.

    Spark                        condition            null in the column
    x = v, x <=> v               =                    not true, dropped by both
    not (x = v)                  !=                   not true, dropped by both
    x < v and the others         the same             not true, dropped by both
    x in (v, ...)                in                   not true; a null among the values is true of nothing
    x is [not] null              the same
    x like 'v%'                  starts with          not true
    not (x <=> v), not (x in)    none                 true, and a null among the values: left to Spark
"""

from __future__ import annotations

from typing import Final

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
    StringStartsWith,
)

from omnigraph_spark.conditions import Condition

_COMPARISONS: Final[dict[type[Filter], str]] = {
    EqualTo: "=",
    LessThan: "<",
    LessThanOrEqual: "<=",
    GreaterThan: ">",
    GreaterThanOrEqual: ">=",
    StringStartsWith: "starts with",
}


def condition_of(term: Filter) -> Condition | None:
    """A filter of Spark as a condition that is true of the same rows; None where there is none such."""
    match term:
        case EqualNullSafe(attribute=(column,), value=None) | IsNull(attribute=(column,)):
            return column, "is null", None
        case IsNotNull(attribute=(column,)) | Not(child=IsNull(attribute=(column,))):
            return column, "is not null", None
        case Not(child=EqualTo(attribute=(column,), value=value)) if value is not None:
            return column, "!=", value
        case EqualNullSafe(attribute=(column,), value=value):
            return column, "=", value
        case In(attribute=(column,), value=values):
            return column, "in", tuple(each for each in values if each is not None)
        case EqualTo() | LessThan() | LessThanOrEqual() | GreaterThan() | GreaterThanOrEqual() | StringStartsWith():
            # A path of several names leads into a struct, which no column is.
            is_plain = len(term.attribute) == 1 and term.value is not None
            return (term.attribute[0], _COMPARISONS[type(term)], term.value) if is_plain else None
        case _:
            return None
