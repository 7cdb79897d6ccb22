"""Values as the naive evaluator of queries has them: what is stored, what is given, how they compare, how they show.

Dates are days and points in time milliseconds since 1970, lists are tuples, a F32 is the nearest number that F32 holds.
Everything is plain Python, in which integers have any size and are compared with floats exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from omnigraph.lang.types import Scalar, ValueType
from omnigraph.query.ast import Operator
from omnigraph.query.checked import Constant, CurrentTime, Given, ParameterRef
from omnigraph.testing.text_model import rounded

_FIRST_DAY: Final = date(1970, 1, 1)
_FIRST_MOMENT: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


def stored_value(value: Any, kind: ValueType) -> Any:
    """What a property of this type holds, from how a loader record spells it."""
    found = given_value(value, kind)
    if kind.scalar not in (Scalar.F32, Scalar.VECTOR) or found is None:
        return found
    return tuple(map(rounded, found)) if isinstance(found, tuple) else rounded(found)


def given_value(value: Any, kind: ValueType) -> Any:
    """What a parameter of this type is, from how a caller gives it."""
    if value is None:
        return None
    if kind.is_list:
        return tuple(given_value(each, kind.item) for each in value)
    match kind.scalar:
        case Scalar.VECTOR:
            return tuple(float(each) for each in value)
        case Scalar.DATE:
            return (date.fromisoformat(value) - _FIRST_DAY).days
        case Scalar.DATETIME:
            return (datetime.fromisoformat(value) - _FIRST_MOMENT) // _MILLISECOND
        case Scalar.F32 | Scalar.F64:
            return float(value)
        case scalar if scalar.is_integer:
            return int(value)
    return value


def shown_value(value: Any, kind: ValueType) -> Any:
    """A value as a row of a result shows it, which is JSON."""
    if value is None:
        return None
    if kind.is_list:
        return [shown_value(each, kind.item) for each in value]
    match kind.scalar:
        case Scalar.VECTOR:
            return [rounded(each) for each in value]
        case Scalar.DATE:
            return str(_FIRST_DAY + timedelta(days=value))
        case Scalar.DATETIME:
            moment = _FIRST_MOMENT + value * _MILLISECOND
            return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value % 1000:03}Z"
        case Scalar.F32:
            return rounded(value)
        case Scalar.F64:
            return float(value)
    return value


class GivenValues:
    """What is the same for every row of one execution.

    Args:
        parameters: by name, as the caller gives them; one that is missing is null.
        now: in milliseconds since 1970.
    """

    def __init__(self, parameters: Mapping[str, Any], now: int) -> None:
        self.parameters = parameters
        self.now = now

    def __getitem__(self, given: Given) -> Any:
        match given:
            case Constant():
                return given.value
            case ParameterRef():
                return given_value(self.parameters.get(given.name), given.type)
            case CurrentTime():
                return self.now


def is_true(left: Any, operator: Operator, right: Any) -> bool:
    """Whether a comparison is true; with null on either side it is not."""
    if left is None or right is None:
        return False
    match operator:
        case Operator.EQ:
            return bool(left == right)
        case Operator.NE:
            return bool(left != right)
        case Operator.LT:
            return bool(left < right)
        case Operator.LE:
            return bool(left <= right)
        case Operator.GT:
            return bool(left > right)
        case Operator.GE:
            return bool(left >= right)
        case Operator.CONTAINS:
            return right in left
        case Operator.STARTS_WITH:
            return bool(left.startswith(right))


def as_single(value: Any) -> Any:
    """A given value in the precision of the F32 property that it is compared with."""
    if isinstance(value, tuple):
        return tuple(map(as_single, value))
    return rounded(value) if isinstance(value, int | float) else value
