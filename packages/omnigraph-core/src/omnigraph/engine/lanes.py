"""Columns of Arrow as numpy arrays: the values as they lie in memory, and beside them which of them are there.

Steps that compare, group, join and sort work on these. Nothing is copied but truth values, which Arrow keeps as bits.
Dates and points in time are integers here, so nobody asks whether a point in time is a whole day. What stands where a
value is null is arbitrary; who uses values asks for the validity too.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.engine.frame import Mask

Lane = npt.NDArray[Any]
"""Numbers, one per row."""

_DTYPES: Final[dict[pa.DataType, type[np.generic]]] = {
    pa.int32(): np.int32,
    pa.int64(): np.int64,
    pa.uint32(): np.uint32,
    pa.uint64(): np.uint64,
    pa.float32(): np.float32,
    pa.float64(): np.float64,
    pa.date32(): np.int32,
    pa.date64(): np.int64,
}


def is_lane(kind: pa.DataType) -> bool:
    """Whether values of this type are numbers in memory: all scalars but strings."""
    return kind in _DTYPES or bool(pa.types.is_boolean(kind))


def lane_dtype(kind: pa.DataType) -> np.dtype[Any]:
    """The numpy type of a column's values; truth values are 0 and 1."""
    return np.dtype(_DTYPES.get(kind, np.uint8))


def lane(column: pa.Array) -> Lane:
    """The values of a column of numbers, dates or truth values; arbitrary where null. Not to be written to."""
    if pa.types.is_boolean(column.type):
        return truths(column).view(np.uint8)
    dtype = lane_dtype(column.type)
    data = column.buffers()[1]
    if data is None or not len(column):
        return np.zeros(len(column), dtype)
    return np.frombuffer(data, dtype, count=len(column), offset=column.offset * dtype.itemsize)


def validity(column: pa.Array) -> Mask | None:
    """Where a column has a value; None when it has one everywhere."""
    if not column.null_count:
        return None
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)


def truths(column: pa.Array) -> Mask:
    """Where a column of truth values is true; null is not."""
    known = column.fill_null(False) if column.null_count else column
    return np.asarray(known.to_numpy(zero_copy_only=False), dtype=np.bool_)


def column_of(values: Lane, kind: pa.DataType, *, is_null: Mask | None = None) -> pa.Array:
    """The column of which these are the values, null where said."""
    if pa.types.is_boolean(kind):
        return pa.array(values.astype(np.bool_), mask=is_null)
    found = pa.array(np.ascontiguousarray(values, lane_dtype(kind)), mask=is_null)
    return found if found.type == kind else found.view(kind)
