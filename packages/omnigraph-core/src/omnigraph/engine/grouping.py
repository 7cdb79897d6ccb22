"""Rows to groups of equal keys, in the order of their first rows.

    column ── encode ──> Codes ──┐
    column ── encode ──> Codes ──┴── group_rows ──> Grouping

A code is a small number that two rows share when their values are equal: null is equal to null, -0.0 to 0.0, NaN to
NaN, two lists when their items are. Several keys are packed into one number, so that grouping is counting. Aggregates
group by result columns, negations by the outer rows that they ask about.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine import relational
from omnigraph.engine.entities import Entities, contiguous
from omnigraph.engine.execution import Execution
from omnigraph.engine.frame import Bound, Indices
from omnigraph.engine.images import Image
from omnigraph.engine.lanes import Lane, column_of, is_lane, lane, validity

_WIDEST: Final = 2**62
"""Packed codes stay below; so no sum or product of them leaves 64 bits."""
_ROOM: Final = 65_536
"""A table of so many codes is cheap, however few rows use them."""


@dataclass(frozen=True, slots=True)
class Codes:
    """One code per row, from 0 to below ``span``. Not every code need occur."""

    values: Lane
    span: int

    @property
    def nbytes(self) -> int:
        return self.values.nbytes

    def take(self, indices: Indices) -> Codes:
        return Codes(self.values[indices].astype(np.int64, copy=False), self.span)


@dataclass(frozen=True, slots=True)
class Grouping:
    """The groups of some rows.

    Attributes:
        codes: of the rows; rows of a group share theirs.
        present: the code of each group, in the order of the groups' first rows.
        first_rows: the number of each group's first row, ascending.
        counts: rows of each group.
    """

    codes: Codes
    present: Indices
    first_rows: Indices
    counts: Indices

    def numbers(self) -> Indices:
        """For each row the number of its group."""
        if len(self.first_rows) == len(self.codes.values):
            return self.first_rows
        table = np.zeros(self.codes.span, dtype=np.int64)
        table[self.present] = np.arange(len(self.present))
        return table[self.codes.values]


def group_rows(keys: Iterable[Codes], row_count: int) -> Grouping:
    """The groups of rows with equal codes for all keys; without keys there is one group, also of no rows."""
    packed = Codes(np.zeros(row_count, dtype=np.int64), 1)
    for each in keys:
        packed = _pack(packed, each)
    if row_count and packed.span >= row_count and bool((packed.values[1:] > packed.values[:-1]).all()):
        # A scan gives each entity once, in order.
        numbers = np.arange(row_count)
        return Grouping(Codes(numbers, row_count), numbers, numbers, np.ones(row_count, dtype=np.int64))
    if packed.span > _most_for(row_count):
        packed = _narrow(packed.values)
    if packed.span == 1:
        nought: Indices = np.zeros(1, dtype=np.int64)
        return Grouping(packed, nought, nought, np.array([row_count]))
    counts = np.bincount(packed.values, minlength=packed.span)
    first_rows = _first_rows(packed, int(np.count_nonzero(counts)))
    present = packed.values[first_rows]
    return Grouping(packed, present, first_rows, counts[present])


def _first_rows(codes: Codes, wanted: int) -> Indices:
    """The first row of each code, ascending. Where codes are few, the first rows have seen them all."""
    size = min(len(codes.values), 16 * wanted)
    while True:
        first = np.full(codes.span, -1, dtype=np.int64)
        # The last assignment to a place counts, so rows are gone through from the last to the first.
        first[codes.values[:size][::-1]] = np.arange(size - 1, -1, -1)
        found = first[first >= 0]
        if len(found) == wanted:
            break
        size = min(len(codes.values), 16 * size)
    is_first = np.zeros(size, dtype=np.bool_)
    is_first[found] = True
    return np.flatnonzero(is_first)


def _most_for(row_count: int) -> int:
    return max(_ROOM, 4 * row_count)


def _pack(high: Codes, low: Codes) -> Codes:
    if high.span == 1:
        return low
    if high.span * low.span >= _WIDEST:
        high = _narrow(high.values)
    if high.span * low.span >= _WIDEST:
        low = _narrow(low.values)
    return Codes(high.values * low.span + low.values, high.span * low.span)


def _narrow(values: Lane) -> Codes:
    """The same rows together, with no more codes than there are rows."""
    found, codes = np.unique(values, return_inverse=True)
    return Codes(codes.astype(np.int64, copy=False), max(len(found), 2))


# ── codes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def entity_codes(bound: Bound) -> Codes:
    """Codes of entities: their positions."""
    return Codes(bound.positions, max(len(bound.entities), 2))


def property_codes(bound: Bound, name: str, execution: Execution) -> Codes:
    """Codes of a property in each row. Where rows repeat entities, its values are looked at once per entity."""
    entities, positions = bound.entities, bound.positions
    if len(positions) < len(entities):
        return encode(entities.values(name, positions), execution)
    return _column_codes(entities, name, execution).take(positions)


def _column_codes(entities: Entities, name: str, execution: Execution) -> Codes:
    column = entities.column(name)
    if is_lane(column.type) or not isinstance(entities, Image):
        return encode(column, execution)
    return entities.derived(("codes", name), lambda image: _small(encode(image.column(name), execution)))


def _small(codes: Codes) -> Codes:
    return Codes(codes.values.astype(np.int32), codes.span)


def encode(column: pa.Array, execution: Execution) -> Codes:
    """Codes of the values of a column of any type."""
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return _encode_lists(column, execution)
    if pa.types.is_floating(kind):
        return _encode_hashed(column_of(_one_zero(lane(column)), kind, is_null=_nulls(column)))
    if not is_lane(kind):
        return _encode_bytes(column, execution)
    return _encode_integers(column)


def _encode_integers(column: pa.Array) -> Codes:
    values, valid = lane(column), validity(column)
    known = values if valid is None else values[valid]
    if not len(known):
        return Codes(np.zeros(len(column), dtype=np.int64), 2)
    low, high = int(known.min()), int(known.max())
    span = high - low + 2
    if span > _most_for(len(values)):
        return _encode_wide(values, valid)
    codes = (values - values.dtype.type(low)).astype(np.int64) + 1
    if valid is not None:
        codes[~valid] = 0
    return Codes(codes, span)


def _encode_wide(values: Lane, valid: npt.NDArray[np.bool_] | None) -> Codes:
    found = _narrow(values)
    if valid is None:
        return found
    codes = found.values + 1
    codes[~valid] = 0
    return Codes(codes, found.span + 1)


def _encode_bytes(column: pa.Array, execution: Execution) -> Codes:
    if len(column) > relational.MOST_VALUES:
        return Codes(relational.value_ranks(column, execution), len(column) + 1)
    return _encode_hashed(column)


def _encode_hashed(column: pa.Array) -> Codes:
    coded = contiguous(pc.dictionary_encode(column, null_encoding="encode"))
    return Codes(np.asarray(coded.indices, dtype=np.int64), max(len(coded.dictionary), 2))


def _encode_lists(column: pa.Array, execution: Execution) -> Codes:
    """Lists are equal when the codes of their items, written one after the other, are the same bytes."""
    parents: Indices = np.asarray(pc.list_parent_indices(column), dtype=np.int64)
    items = encode(contiguous(pc.list_flatten(column)), execution).values.astype(np.int32)
    ends = np.cumsum(np.bincount(parents, minlength=len(column)))
    offsets = np.concatenate([[0], ends]).astype(np.int64) * items.itemsize
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(items)]
    texts = pa.Array.from_buffers(pa.large_binary(), len(column), buffers)
    missing = _nulls(column)
    if missing is not None:
        texts = pc.if_else(pa.array(missing), pa.scalar(None, pa.large_binary()), texts)
    return _encode_bytes(texts, execution)


def _nulls(column: pa.Array) -> npt.NDArray[np.bool_] | None:
    valid = validity(column)
    return None if valid is None else ~valid


def _one_zero(values: Lane) -> npt.NDArray[Any]:
    """Floats with one zero and one NaN."""
    plain: npt.NDArray[Any] = values + values.dtype.type(0)
    plain[np.isnan(plain)] = np.nan
    return plain
