"""The one encoder: typed conditions become a filter that storage runs, built of values and never of text.

A literal takes the type of its column only when nothing is lost; a condition for which that does not hold stays with
the engine, and so does every condition that storage would judge differently:

    floats               storage tells -0.0 from 0.0 and puts NaN above all numbers; its verdict is used as a first
                         sieve, and the engine judges again
    lists, text          membership and search are the engine's

What is pushed and what is left must both hold, and together say what the conditions say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from omnigraph.engine.execution import Execution
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.plan.ir import Predicate
from omnigraph.query.ast import Operator
from omnigraph.query.checked import Comparison, Constant, CurrentTime, Given, ParameterRef, PropertyMatch, PropertyRef
from omnigraph.tables.row_filters import AllOf, Comparator, Compared, NullTest, OneOf, RowFilter, all_of

_COMPARATORS: Final[Mapping[Operator, Comparator]] = {
    Operator.EQ: "=",
    Operator.NE: "!=",
    Operator.LT: "<",
    Operator.LE: "<=",
    Operator.GT: ">",
    Operator.GE: ">=",
}
_MIRRORED: Final = {
    Operator.EQ: Operator.EQ,
    Operator.NE: Operator.NE,
    Operator.LT: Operator.GT,
    Operator.LE: Operator.GE,
    Operator.GT: Operator.LT,
    Operator.GE: Operator.LE,
}
_INTEGERS: Final = {
    Scalar.I32: (pa.int32(), -(2**31), 2**31 - 1),
    Scalar.I64: (pa.int64(), -(2**63), 2**63 - 1),
    Scalar.U32: (pa.uint32(), 0, 2**32 - 1),
    Scalar.U64: (pa.uint64(), 0, 2**64 - 1),
}
MAX_PUSHED: Final = 64
"""Beyond so many conditions the engine judges; storage would take longer to read them than to apply them."""

MAX_MEMBERS: Final = 1_000
"""A list of values that is longer is not pushed, for the same reason."""

_UNTESTED: Final = frozenset({Scalar.BLOB, Scalar.VECTOR})
_GIVEN: Final = (Constant, ParameterRef, CurrentTime)
_LAST_BEFORE_SURROGATES, _FIRST_AFTER, _LAST = 0xD7FF, 0xE000, 0x10FFFF


@dataclass(frozen=True, slots=True)
class Fixed:
    """A condition on one property and a value that is the same for every row."""

    field: PropertyRef
    operator: Operator
    value: Given


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """Conditions, taken apart by who judges them.

    Attributes:
        sieve: what storage sieves by; None for everything.
        residual: what the engine still has to judge, on what storage gives.
        columns: the properties that ``sieve`` is about.
    """

    sieve: RowFilter | None
    residual: tuple[Predicate, ...]
    columns: tuple[str, ...] = ()


def push_down(predicates: Sequence[Predicate], execution: Execution) -> Pushed:
    """What of these conditions, all on one variable, storage can judge."""
    parts: list[RowFilter] = []
    residual: list[Predicate] = []
    columns: list[str] = []
    for each in predicates:
        fixed = as_fixed(each)
        encoded = None if fixed is None else _encode(fixed, execution)
        if fixed is None or encoded is None or len(parts) == MAX_PUSHED:
            residual.append(each)
            continue
        parts.append(encoded)
        columns.append(fixed.field.property)
        if fixed.field.type.scalar.is_float:
            residual.append(each)
    return Pushed(
        sieve=all_of(parts),
        residual=tuple(residual),
        columns=tuple(dict.fromkeys(columns)),
    )


def describe_sieve(key: str, pushed: Pushed, execution: Execution) -> str:
    """How storage finds the rows of a type, for ``explain``; empty when it gives all of them."""
    coverages = {name: execution.source.coverage(key, name, "btree") for name in pushed.columns}
    used = [name for name, each in coverages.items() if each is not None and each.covered_rows]
    if used:
        return f"by the index on {', '.join(used)}"
    return f"sieved by {', '.join(pushed.columns)}, no index" if pushed.columns else ""


def as_fixed(predicate: Predicate) -> Fixed | None:
    """The condition as property, operator, value; None when it is of another form."""
    match predicate:
        case PropertyMatch() if not predicate.is_membership:
            return Fixed(predicate.field, Operator.EQ, predicate.value)
        case Comparison(PropertyRef() as field, operator, right) if isinstance(right, _GIVEN):
            return Fixed(field, operator, right)
        case Comparison(left, operator, PropertyRef() as field) if isinstance(left, _GIVEN) and operator in _MIRRORED:
            return Fixed(field, _MIRRORED[operator], left)
        case _:
            return None


def _encode(fixed: Fixed, execution: Execution) -> RowFilter | None:
    return encode(fixed.field.property, fixed.field.type, fixed.operator, execution.given(fixed.value))


def encode(column: str, of: ValueType, operator: Operator, value: object) -> RowFilter | None:
    """The filter ``column operator value``; None when storage cannot judge it as the language does.

    Of floats it is a first sieve: what it lets through is to be judged again.
    """
    if value is None or of.is_list:
        return None
    if operator is Operator.STARTS_WITH:
        return _prefix(column, value) if isinstance(value, str) else None
    comparator = _COMPARATORS.get(operator)
    literal = lossless(value, of)
    return None if comparator is None or literal is None else Compared(column, comparator, literal)


def encode_membership(column: str, of: ValueType, values: Sequence[object]) -> RowFilter | None:
    """The filter ``column is one of values``; None when storage cannot judge it exactly, of floats never."""
    if of.is_list or of.scalar.is_float or not 0 < len(values) <= MAX_MEMBERS:
        return None
    literals = [each for each in (lossless(value, of) for value in values) if each is not None]
    if len(literals) < len(values):
        return None
    return OneOf(column, pa.array(literals))


def encode_null_test(column: str, of: ValueType, *, is_null: bool) -> RowFilter | None:
    """The filter ``column is null``, or ``is not null``; None when storage cannot judge it."""
    if of.is_list or of.scalar in _UNTESTED:
        return None
    return NullTest(column, is_null)


def lossless(value: object, column: ValueType) -> pa.Scalar | None:
    """A value as a literal of the column's type; None when storage would not compare it as the language does."""
    scalar = column.scalar
    if scalar is Scalar.STRING and isinstance(value, str):
        return pa.scalar(value, pa.string())
    if scalar is Scalar.BOOL and isinstance(value, bool):
        return pa.scalar(value, pa.bool_())
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if scalar is Scalar.DATE and isinstance(value, int):
        return pa.scalar(value, pa.int32()).cast(pa.date32())
    if scalar is Scalar.DATETIME and isinstance(value, int):
        return pa.scalar(value, pa.int64()).cast(pa.date64())
    if scalar in _INTEGERS:
        kind, low, high = _INTEGERS[scalar]
        fits = math.isfinite(value) and value == int(value) and low <= value <= high
        return pa.scalar(int(value), kind) if fits else None
    if scalar.is_float and math.isfinite(value) and value != 0 and float(value) == value:
        kind = pa.float32() if scalar is Scalar.F32 else pa.float64()
        return pa.scalar(float(value), kind)
    return None


def _prefix(column: str, prefix: str) -> RowFilter | None:
    """Texts that begin so are those from the prefix up to, and without, the next text of its length."""
    if not prefix:
        return None
    last = ord(prefix[-1])
    if last == _LAST:
        # There is no next letter to end the range.
        return None
    after = prefix[:-1] + chr(_FIRST_AFTER if last == _LAST_BEFORE_SURROGATES else last + 1)
    return AllOf((Compared(column, ">=", pa.scalar(prefix)), Compared(column, "<", pa.scalar(after))))
