"""A whole Arrow column becomes the column of a property: cast without loss, or told row by row why it cannot be.

What ``values`` decides for one JSON value is decided here for Arrow types:

    String, enum   any text                       integers   integers and decimals of scale 0 in range
    Bool           booleans                       F32, F64   finite floats, integers that stay exact
    Date           dates, timestamps (their UTC day), days as integers, texts
    DateTime       dates, timestamps (finer parts cut off, no zone means UTC), milliseconds as integers, texts
    Vector(n)      lists of n finite numbers      [T]        lists of any kind, no null items
    Blob           binary

A column that already has the right type is passed on without a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.lang.types import Scalar, ValueType
from omnigraph.write.records.date_columns import count_days, count_milliseconds, parse_texts
from omnigraph.write.records.numpy_views import Mask, Rows, null_mask, raw_values, true_rows
from omnigraph.write.records.reasons import Misfit, Reason
from omnigraph.write.records.typed_rows import shown_at
from omnigraph.write.records.values import DATE_RANGES, INTEGER_RANGES, out_of_range

_t: Final = pa.types
_EXACT_INTEGERS: Final = {Scalar.F32: 2**24, Scalar.F64: 2**53}
"""Up to here every integer is a float of the type."""

_WHOLE: Final = pa.decimal256(76, 0)
"""Every integer that a decimal can be."""


@dataclass(frozen=True, slots=True)
class Misfits:
    """Rows whose values do not fit, all for the same reason.

    Attributes:
        tell: for one of them, what follows the name of the property in a message.
    """

    rows: Rows
    reason: Reason
    tell: Callable[[int], str]


@dataclass(frozen=True, slots=True)
class FittedColumn:
    """A column as it is stored. Rows named in ``misfits`` hold anything; nulls of the input are null."""

    values: pa.Array
    misfits: tuple[Misfits, ...] = ()


def fit_column(values: pa.Array, wanted: pa.DataType, of: ValueType) -> FittedColumn:
    """A column of a property.

    Args:
        values: what was given, of any Arrow type.
        wanted: the Arrow type of the property.
        of: the type of the property.

    Raises:
        Misfit: no column of this Arrow type can be one of the property.
    """
    values = _decoded(values)
    if _t.is_null(values.type):
        return FittedColumn(pa.nulls(len(values), wanted))
    if of.scalar is Scalar.VECTOR:
        return _fit_vectors(values, wanted, of)
    if of.is_list:
        return _fit_lists(values, wanted, of)
    return _FITS[of.scalar](values, wanted, of)


def _decoded(values: pa.Array) -> pa.Array:
    """The plain values behind an encoding that only saves space."""
    while True:
        if _t.is_dictionary(values.type):
            values = values.dictionary_decode()
        elif _t.is_run_end_encoded(values.type):
            values = pc.run_end_decode(values)
        elif isinstance(values, pa.ExtensionArray):
            values = values.storage
        else:
            return values


def _wrong_column(values: pa.Array, of: ValueType, expected: str) -> Misfit:
    return Misfit(Reason.WRONG_TYPE, f"expects {of}, got an Arrow column of {values.type}; give {expected}")


def _beyond(values: pa.Array, rows: Rows, of: ValueType) -> tuple[Misfits, ...]:
    if not len(rows):
        return ()

    def tell(row: int) -> str:
        value = values[row].as_py() if of.scalar.is_float else None
        return out_of_range(value, of, seen=shown_at(values, row)).text

    return (Misfits(rows, Reason.OUT_OF_RANGE, tell),)


def _without(values: pa.Array, rows: Rows) -> pa.Array:
    """The column with these rows null, so that the others can be converted."""
    mask = np.zeros(len(values), dtype=bool)
    mask[rows] = True
    return values.take(pa.array(np.arange(len(values)), mask=mask))


# ── scalars ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _is_text(of: pa.DataType) -> bool:
    return bool(_t.is_string(of) or _t.is_large_string(of) or _t.is_string_view(of))


def _fit_strings(values: pa.Array, wanted: pa.DataType, of: ValueType) -> FittedColumn:
    if not _is_text(values.type):
        raise _wrong_column(values, of, "texts")
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        rows = true_rows(pa.array([not _is_utf8(values[row]) for row in range(len(values))]))
        misfits = Misfits(rows, Reason.INVALID_UTF8, lambda _: f"expects {of}, and the bytes are not UTF-8")
        return FittedColumn(_without(values, rows).cast(wanted), (misfits,))
    return FittedColumn(values if values.type == wanted else values.cast(wanted))


def _is_utf8(value: pa.Scalar) -> bool:
    try:
        value.as_py()
    except UnicodeDecodeError:
        return False
    return True


def _fit_bools(values: pa.Array, wanted: pa.DataType, of: ValueType) -> FittedColumn:
    if not _t.is_boolean(values.type):
        raise _wrong_column(values, of, "booleans")
    return FittedColumn(values)


def _fit_integers(values: pa.Array, wanted: pa.DataType, of: ValueType) -> FittedColumn:
    # Engines without unsigned integers, such as Spark, have them as decimals.
    if _t.is_decimal(values.type) and values.type.scale <= 0:
        return _fit_integers_from_decimals(values, wanted, of)
    if not _t.is_integer(values.type):
        raise _wrong_column(values, of, "integers")
    if values.type == wanted:
        return FittedColumn(values)
    rows = _rows_outside(values, *INTEGER_RANGES[of.scalar])
    return FittedColumn((_without(values, rows) if len(rows) else values).cast(wanted), _beyond(values, rows, of))


def _fit_integers_from_decimals(values: pa.Array, wanted: pa.DataType, of: ValueType) -> FittedColumn:
    whole = values.cast(_WHOLE)
    low, high = (pa.scalar(Decimal(end), _WHOLE) for end in INTEGER_RANGES[of.scalar])
    rows = true_rows(pc.or_(pc.less(whole, low), pc.greater(whole, high)))
    if not len(rows):
        return FittedColumn(whole.cast(wanted))

    def tell(row: int) -> str:
        return out_of_range(int(whole[row].as_py()), of).text

    return FittedColumn(_without(whole, rows).cast(wanted), (Misfits(rows, Reason.OUT_OF_RANGE, tell),))


def _rows_outside(values: pa.Array, low: int, high: int) -> Rows:
    """The rows whose integer lies outside a range; ``values`` may be too narrow to reach its ends."""
    ends = pc.min_max(values).as_py()
    if ends["min"] is None or (low <= ends["min"] and ends["max"] <= high):
        return np.empty(0, dtype=np.int64)
    raw: npt.NDArray[Any] = raw_values(values)
    least, most = int(np.iinfo(raw.dtype).min), int(np.iinfo(raw.dtype).max)
    outside = np.zeros(len(raw), dtype=bool)
    if low > least:
        outside |= raw < low
    if high < most:
        outside |= raw > high
    return true_rows(pc.and_(pa.array(outside), values.is_valid()))


def _fit_floats(values: pa.Array, wanted: pa.DataType, of: ValueType) -> FittedColumn:
    if _t.is_integer(values.type):
        return _fit_floats_from_integers(values, wanted, of)
    if not _t.is_floating(values.type):
        raise _wrong_column(values, of, "floats or integers")
    stored = values if values.type == wanted else values.cast(wanted)
    is_finite = np.isfinite(raw_values(stored))
    if is_finite.all():
        return FittedColumn(stored)
    # What lies under a null may be NaN, and usually is when pandas made it.
    rows = true_rows(pc.and_(pa.array(~is_finite), values.is_valid()))
    return FittedColumn(stored, _beyond(values, rows, of))


def _fit_floats_from_integers(values: pa.Array, wanted: pa.DataType, of: ValueType) -> FittedColumn:
    limit = _EXACT_INTEGERS[of.scalar]
    rows = _rows_outside(values, -limit, limit)
    if not len(rows):
        return FittedColumn(values.cast(wanted))

    def tell(row: int) -> str:
        return f"expects {of}, got {shown_at(values, row)}: not every integer of this size is an {of.scalar}"

    return FittedColumn(_without(values, rows).cast(wanted), (Misfits(rows, Reason.OUT_OF_RANGE, tell),))


def _fit_dates(values: pa.Array, wanted: pa.DataType, of: ValueType) -> FittedColumn:
    """Both Date and DateTime: counts of days or of milliseconds."""
    is_date = of.scalar is Scalar.DATE
    storage = pa.int32() if is_date else pa.int64()
    misfits: tuple[Misfits, ...] = ()
    if values.type == wanted:
        counts = values.view(storage)
    elif _t.is_date(values.type) or _t.is_timestamp(values.type):
        counts = pa.array(count_days(values) if is_date else count_milliseconds(values), mask=null_mask(values))
    elif _t.is_integer(values.type):
        counts = values
    elif _is_text(values.type):
        texts = _fit_strings(values, pa.string(), of)
        counts, wrong = parse_texts(texts.values, of.scalar)
        misfits = texts.misfits
        if wrong:
            rows = np.array(sorted(wrong), dtype=np.int64)
            misfits += (Misfits(rows, Reason.BAD_DATE, lambda row: f"expects {of}: {wrong[row]}"),)
    else:
        raise _wrong_column(values, of, "dates, timestamps or texts")
    rows = _rows_outside(counts, *DATE_RANGES[of.scalar])
    if len(rows):
        misfits += _beyond(values, rows, of)
        counts = _without(counts, rows)
    return FittedColumn(values if values.type == wanted else counts.cast(storage).view(wanted), misfits)


def _fit_blobs(values: pa.Array, wanted: pa.DataType, of: ValueType) -> FittedColumn:
    kind = values.type
    if not (_t.is_binary(kind) or _t.is_large_binary(kind) or _t.is_binary_view(kind) or _t.is_fixed_size_binary(kind)):
        raise _wrong_column(values, of, "binary")
    if _t.is_fixed_size_binary(kind):
        values = values.cast(pa.binary())
    return FittedColumn(values if values.type == wanted else values.cast(wanted))


# ── lists and vectors ────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Items:
    """What the rows of a list column hold, one after another; null rows hold nothing."""

    values: pa.Array
    offsets: Rows

    def row_of(self, items: Rows) -> Rows:
        found: Rows = np.searchsorted(self.offsets, items, side="right") - 1
        return found

    def place(self, item: int) -> int:
        """The number of an item within its row, from 1."""
        return item - int(self.offsets[int(self.row_of(np.array([item]))[0])]) + 1


def _items_of(values: pa.Array, of: ValueType) -> _Items:
    kind = values.type
    is_list = _t.is_list(kind) or _t.is_large_list(kind) or _t.is_fixed_size_list(kind)
    if not is_list and not (_t.is_list_view(kind) or _t.is_large_list_view(kind)):
        raise _wrong_column(values, of, "lists")
    lengths = pc.list_value_length(values).fill_null(0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    return _Items(_decoded(values.flatten()), offsets)


def _fit_lists(values: pa.Array, wanted: pa.DataType, of: ValueType) -> FittedColumn:
    items = _items_of(values, of)
    fitted = fit_column(items.values, wanted.value_type, of.item)
    misfits = [_by_row(each, items, of) for each in fitted.misfits]
    if items.values.null_count:
        nulls = Misfits(true_rows(items.values.is_null()), Reason.BAD_ITEM, lambda _: "is null")
        misfits.append(_by_row(nulls, items, of))
    lists = pa.ListArray.from_arrays(
        pa.array(items.offsets, pa.int32()),
        fitted.values,
        type=wanted,
        mask=values.is_null() if values.null_count else None,
    )
    return FittedColumn(lists, tuple(misfits))


def _by_row(misfits: Misfits, items: _Items, of: ValueType) -> Misfits:
    """Wrong items as wrong rows; the first wrong item of a row is told."""
    rows, first = np.unique(items.row_of(misfits.rows), return_index=True)
    item_of = dict(zip(rows.tolist(), misfits.rows[first].tolist(), strict=True))

    def tell(row: int) -> str:
        item = item_of[row]
        return f"expects {of}, and item {items.place(item)} {misfits.tell(item)}"

    return Misfits(rows, Reason.BAD_ITEM, tell)


def _fit_vectors(values: pa.Array, wanted: pa.DataType, of: ValueType) -> FittedColumn:
    dimension = wanted.list_size
    items = _items_of(values, of)
    lengths = np.diff(items.offsets)
    misfits: list[Misfits] = []
    short = true_rows(pc.and_(pa.array(lengths != dimension), values.is_valid()))
    if len(short):
        misfits.append(
            Misfits(short, Reason.BAD_VECTOR, lambda row: f"expects {dimension} dimensions, got {lengths[row]}")
        )
        items = _items_of(_without(values, short), of)
    if not (_t.is_floating(items.values.type) or _t.is_integer(items.values.type)):
        raise _wrong_column(values, of, "lists of numbers")
    elements = items.values.cast(pa.float32(), safe=False)
    is_finite = np.isfinite(raw_values(elements))
    if elements.null_count or not is_finite.all():
        bad = np.flatnonzero(~is_finite | items.values.is_null().to_numpy(zero_copy_only=False))
        misfits.append(_wrong_elements(bad, items, of))
    return FittedColumn(_vectors(elements, np.diff(items.offsets) > 0, wanted), tuple(misfits))


def _wrong_elements(bad: Rows, items: _Items, of: ValueType) -> Misfits:
    rows, first = np.unique(items.row_of(bad), return_index=True)
    item_of = dict(zip(rows.tolist(), bad[first].tolist(), strict=True))

    def tell(row: int) -> str:
        item = item_of[row]
        value = items.values[item].as_py()
        why = "elements must be numeric" if value is None else "must stay finite as F32"
        return f"expects {of}, and element {items.place(item)} is {shown_at(items.values, item)}: {why}"

    return Misfits(rows, Reason.BAD_VECTOR, tell)


def _vectors(elements: pa.Array, has_value: Mask, wanted: pa.DataType) -> pa.Array:
    """Vectors of the rows that have one; the others are null, and take the same space."""
    if has_value.all():
        return pa.FixedSizeListArray.from_arrays(elements, type=wanted)
    spread = np.zeros((len(has_value), wanted.list_size), dtype=np.float32)
    spread[has_value] = raw_values(elements).reshape(-1, wanted.list_size)
    return pa.FixedSizeListArray.from_arrays(pa.array(spread.ravel()), type=wanted, mask=pa.array(~has_value))


_FITS: Final[Mapping[Scalar, Callable[[pa.Array, pa.DataType, ValueType], FittedColumn]]] = {
    Scalar.STRING: _fit_strings,
    Scalar.BLOB: _fit_blobs,
    Scalar.BOOL: _fit_bools,
    Scalar.I32: _fit_integers,
    Scalar.I64: _fit_integers,
    Scalar.U32: _fit_integers,
    Scalar.U64: _fit_integers,
    Scalar.F32: _fit_floats,
    Scalar.F64: _fit_floats,
    Scalar.DATE: _fit_dates,
    Scalar.DATETIME: _fit_dates,
}
