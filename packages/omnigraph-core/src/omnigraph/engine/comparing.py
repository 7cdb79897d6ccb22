"""Two operands to one truth per row: comparisons by value, whatever the types of the two are.

An operand is a column, or one Python value that is the same for every row. Only true counts: a null on either side is
never true, so it is false here. Values compare as ``1 < 1.5`` does on paper, not after a cast: 64-bit integers against
floats, signed against unsigned, all exact. Two rules stand beside that:

    a value against an F32 column    is rounded to F32 first, so that 0.1 finds what 0.1 was stored as
    NaN                              is as in IEEE 754: equal to nothing, less or greater than nothing; ``!=`` is true

Strings compare by bytes of UTF-8, which is the order of code points; false is less than true.
"""

from __future__ import annotations

import math
import operator as python
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.frame import Indices, Mask
from omnigraph.engine.lanes import Lane, is_lane, lane, lane_dtype, truths, validity
from omnigraph.query.ast import Operator
from omnigraph.query.checked import ConstantValue

Operand: TypeAlias = "pa.Array | ConstantValue"
"""A value per row, or one for all rows."""

_MIRRORED: Final[Mapping[Operator, Operator]] = {
    Operator.EQ: Operator.EQ,
    Operator.NE: Operator.NE,
    Operator.LT: Operator.GT,
    Operator.LE: Operator.GE,
    Operator.GT: Operator.LT,
    Operator.GE: Operator.LE,
}
_PYTHON: Final[Mapping[Operator, Callable[[Any, Any], bool]]] = {
    Operator.EQ: python.eq,
    Operator.NE: python.ne,
    Operator.LT: python.lt,
    Operator.LE: python.le,
    Operator.GT: python.gt,
    Operator.GE: python.ge,
    Operator.CONTAINS: lambda left, right: right in left,
    Operator.STARTS_WITH: lambda left, right: left.startswith(right),
}
_NUMPY: Final[Mapping[Operator, Callable[[Any, Any], Any]]] = {
    Operator.EQ: np.equal,
    Operator.NE: np.not_equal,
    Operator.LT: np.less,
    Operator.LE: np.less_equal,
    Operator.GT: np.greater,
    Operator.GE: np.greater_equal,
}
_ARROW: Final[Mapping[Operator, Callable[[Any, Any], pa.Array]]] = {
    Operator.EQ: pc.equal,
    Operator.NE: pc.not_equal,
    Operator.LT: pc.less,
    Operator.LE: pc.less_equal,
    Operator.GT: pc.greater,
    Operator.GE: pc.greater_equal,
}
_UPWARD: Final = (Operator.GT, Operator.GE)
_DOWNWARD: Final = (Operator.LT, Operator.LE)


def compare(left: Operand, operator: Operator, right: Operand) -> Mask:
    """Where ``left operator right`` is true; at least one side is a column, two columns are of equal length.

    ``contains`` asks a list for an item and a string for a part; a null or NaN item is never found.
    """
    if operator is Operator.CONTAINS or operator is Operator.STARTS_WITH:
        return _compare_parts(left, operator, right)
    if not isinstance(right, pa.Array):
        return _compare_with_value(left, operator, right)
    if not isinstance(left, pa.Array):
        return _compare_with_value(right, _MIRRORED[operator], left)
    return _compare_columns(left, operator, right)


def compare_values(left: ConstantValue, operator: Operator, right: ConstantValue) -> bool:
    """Whether ``left operator right`` is true for two values that are the same for all rows."""
    if left is None or right is None:
        return False
    if isinstance(left, tuple) and operator is Operator.CONTAINS:
        # `in` would find a NaN that is the same object.
        return any(each is not None and each == right for each in left)
    return bool(_PYTHON[operator](left, right))


# ── a column and a value ─────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Adapted:
    """A comparison with a value that the type of the column can hold."""

    operator: Operator
    value: int | float | bool | str


def adapt(kind: pa.DataType, operator: Operator, value: ConstantValue) -> Adapted | bool:
    """The comparison ``column operator value`` in the terms of the column's own type, with the same answers.

    Args:
        kind: of the column: a scalar.
        operator: one of the six that order values.
        value: of a type that can be compared with the column's; dates and points in time are integers.

    Returns:
        The comparison to make; or what it is for each value that is not null.
    """
    if value is None:
        return False
    if isinstance(value, str | bool):
        return Adapted(operator, value)
    assert isinstance(value, int | float), value  # noqa: S101 - the check lets no list be compared
    if pa.types.is_float32(kind):
        return Adapted(operator, float(_rounded(value)))
    if pa.types.is_float64(kind):
        return _adapt_to_floats(operator, value)
    return _adapt_to_integers(operator, value, np.iinfo(lane_dtype(kind)))


def _adapt_to_floats(operator: Operator, value: float) -> Adapted | bool:
    near = _nearest_float(value)
    if near == value or near != near:
        return Adapted(operator, near)
    if operator is Operator.EQ or operator is Operator.NE:
        return operator is Operator.NE
    # An integer between two floats: whatever is on the far side of the nearest one is on the far side of it too.
    if operator in _DOWNWARD:
        return Adapted(Operator.LT if near > value else Operator.LE, near)
    return Adapted(Operator.GE if near > value else Operator.GT, near)


def _adapt_to_integers(operator: Operator, value: float, bounds: np.iinfo[Any]) -> Adapted | bool:
    if value != value:
        return operator is Operator.NE
    low, high = int(bounds.min), int(bounds.max)
    if not low <= value <= high:
        is_below = value < low
        return operator is Operator.NE or operator in (_UPWARD if is_below else _DOWNWARD)
    whole = math.floor(value)
    if whole == value:
        return Adapted(operator, whole)
    if operator is Operator.EQ or operator is Operator.NE:
        return operator is Operator.NE
    return Adapted(Operator.GT if operator in _UPWARD else Operator.LE, whole)


def _nearest_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _rounded(value: float) -> np.float32:
    with np.errstate(over="ignore"):
        return np.float32(_nearest_float(value))


def _compare_with_value(column: pa.Array, operator: Operator, value: ConstantValue) -> Mask:
    adapted = adapt(column.type, operator, value)
    if isinstance(adapted, bool):
        valid = validity(column) if adapted else None
        return np.full(len(column), adapted) if valid is None else valid
    if not is_lane(column.type):
        return truths(_ARROW[adapted.operator](column, pa.scalar(adapted.value, column.type)))
    values = lane(column)
    return _where_valid(_NUMPY[adapted.operator](values, values.dtype.type(adapted.value)), column)


def _where_valid(mask: Mask, *columns: pa.Array) -> Mask:
    for each in columns:
        valid = validity(each)
        if valid is not None:
            mask &= valid
    return mask


# ── two columns ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _compare_columns(left: pa.Array, operator: Operator, right: pa.Array) -> Mask:
    if not is_lane(left.type):
        return truths(_ARROW[operator](left, right))
    return _where_valid(_compare_lanes(lane(left), operator, lane(right)), left, right)


def _compare_lanes(left: Lane, operator: Operator, right: Lane) -> Mask:
    kinds = left.dtype.kind + right.dtype.kind
    widths = left.dtype.itemsize, right.dtype.itemsize
    if kinds in ("iu", "fi", "fu"):
        return _compare_lanes(right, _MIRRORED[operator], left)
    if kinds == "ui" and widths[0] == 8:
        order = _order_unsigned(left, right)
    elif kinds in ("if", "uf") and widths[0] == 8:
        order = _order_wide(left, right.astype(np.float64))
    else:
        # numpy widens both to a type that holds all values of either.
        return np.asarray(_NUMPY[operator](left, right), dtype=np.bool_)
    found = np.asarray(_NUMPY[operator](order, 0), dtype=np.bool_)
    if kinds[1] == "f":
        found[np.isnan(right)] = operator is Operator.NE
    return found


def _order_unsigned(left: Lane, right: Lane) -> Lane:
    """-1, 0 or 1 as an unsigned 64-bit integer is below, at or above a signed one."""
    positive = right.astype(np.uint64)
    order = (left > positive).astype(np.int8) - (left < positive).astype(np.int8)
    order[right < 0] = 1
    return order


def _order_wide(left: Lane, right: Lane) -> Lane:
    """-1, 0 or 1 as a 64-bit integer is below, at or above a float; 0 for NaN."""
    near = left.astype(np.float64)
    order = (near > right).astype(np.int8) - (near < right).astype(np.int8)
    # Rounding keeps the order, so only where the rounded integer meets the float the exact one has to be asked.
    ties = np.flatnonzero(near == right)
    if len(ties):
        floats, exact = right[ties], left[ties]
        limit = 2.0 ** (64 if left.dtype.kind == "u" else 63)
        is_beyond = floats >= limit
        whole = np.where(is_beyond, 0.0, floats).astype(left.dtype)
        order[ties] = (exact > whole).astype(np.int8) - (exact < whole).astype(np.int8)
        order[ties[is_beyond]] = -1
    return order


# ── items and parts ──────────────────────────────────────────────────────────────────────────────────────────────────


def _compare_parts(left: Operand, operator: Operator, right: Operand) -> Mask:
    if isinstance(left, tuple):
        return _is_among(left, right)
    if isinstance(left, pa.Array):
        if pa.types.is_list(left.type):
            return _has_item(left, right)
        if not isinstance(right, pa.Array):
            return _has_part(left, operator, right)
    return _have_parts(left, operator, right)


def _is_among(items: tuple[ConstantValue, ...], column: pa.Array) -> Mask:
    found = np.zeros(len(column), dtype=np.bool_)
    for each in items:
        found |= _compare_with_value(column, Operator.EQ, each)
    return found


def _has_item(lists: pa.Array, wanted: Operand) -> Mask:
    parents: Indices = np.asarray(pc.list_parent_indices(lists), dtype=np.int64)
    if isinstance(wanted, pa.Array):
        wanted = wanted.take(pa.array(parents))
    found = np.zeros(len(lists), dtype=np.bool_)
    found[parents[compare(pc.list_flatten(lists), Operator.EQ, wanted)]] = True
    return found


def _has_part(texts: pa.Array, operator: Operator, part: ConstantValue) -> Mask:
    if part is None:
        return np.zeros(len(texts), dtype=np.bool_)
    search = pc.match_substring if operator is Operator.CONTAINS else pc.starts_with
    return truths(search(texts, pattern=part))


def _have_parts(left: Operand, operator: Operator, right: pa.Array) -> Mask:
    """The part is a column, which no kernel takes: each pair of texts that occurs is asked once."""
    text_numbers, texts = _encoded(left)
    part_numbers, parts = _encoded(right)
    width = max(len(parts), 1)
    pairs, inverse = np.unique(text_numbers * width + part_numbers, return_inverse=True)
    test = _PYTHON[operator]
    answers = [_is_part(test, texts[pair // width], parts[pair % width]) for pair in pairs.tolist()]
    return np.array(answers, dtype=np.bool_)[inverse]


def _is_part(test: Callable[[Any, Any], bool], text: str | None, part: str | None) -> bool:
    return text is not None and part is not None and test(text, part)


def _encoded(operand: Operand) -> tuple[Indices, list[str | None]]:
    """Numbers of texts, and the texts; a null is a text of its own."""
    column = operand if isinstance(operand, pa.Array) else pa.array([operand], pa.string())
    coded = pc.dictionary_encode(column, null_encoding="encode")
    return np.asarray(coded.indices, dtype=np.int64), coded.dictionary.to_pylist()
