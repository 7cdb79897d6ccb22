"""Two columns to one truth per row: whether both hold exactly the same value there.

What changed between two versions is decided here, so it is stricter than the comparisons of queries (``comparing``):

    null, "" and []   three different values; null is equal to null
    floats            bit by bit: a NaN is equal to a NaN of the same bits, 0.0 is not equal to -0.0
    lists, vectors    of equal length, and equal item by item
    all others        by value, Blobs by their bytes
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.frame import Mask
from omnigraph.engine.lanes import truths

_BITS: Final = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}


def equal_cells(left: pa.Array, right: pa.Array) -> Mask:
    """For each row whether the two columns, of one type and one length, hold the same value."""
    kind = left.type
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return _equal_lists(left, right)
    if kind in _BITS:
        return _equal_values(left.view(_BITS[kind]), right.view(_BITS[kind]))
    return _equal_values(left, right)


def equal_rows(left: pa.StructArray, right: pa.StructArray) -> Mask:
    """For each pair of rows of one type whether all their values are the same; no row is the same as no row."""
    are_there = truths(left.is_valid())
    are_equal: Mask = np.equal(are_there, truths(right.is_valid()))
    for name in left.type.names if are_there.any() else ():
        are_equal &= ~are_there | equal_cells(left.field(name), right.field(name))
    return are_equal


def _equal_values(left: pa.Array, right: pa.Array) -> Mask:
    are_equal = pc.equal(left, right)
    if are_equal.null_count:
        are_equal = pc.coalesce(are_equal, pc.and_(left.is_null(), right.is_null()))
    return truths(are_equal)


def _equal_lists(left: pa.Array, right: pa.Array) -> Mask:
    lengths = pc.list_value_length(left)
    # Both null, or as long as one another; of the latter the items decide, which lie in the same places then.
    are_equal = np.array(_equal_values(lengths, pc.list_value_length(right)))
    has_items = are_equal & truths(pc.greater(lengths, 0))
    if not has_items.any():
        return are_equal
    chosen = pa.array(has_items)
    items = equal_cells(left.filter(chosen).flatten(), right.filter(chosen).flatten())
    ends = np.cumsum(lengths.filter(chosen).to_numpy(), dtype=np.int64)
    are_equal[has_items] = np.logical_and.reduceat(items, np.concatenate([[0], ends[:-1]]))
    return are_equal
