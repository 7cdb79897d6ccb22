"""Values to numbers that sort as the values do, with the rules of order in one place.

    integers, dates     as they are                     Bool     false, true
    U64                 shifted down by 2^63            F32, F64 their bits, so that -0.0 is 0.0 and NaN is after all
    entities            their positions, as ids         String   rank by the bytes of UTF-8

``ascending`` gives 64-bit integers, ``descended`` the values back. Sorting, and least and greatest of a group, agree
because both use these.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine import relational
from omnigraph.engine.execution import Execution
from omnigraph.engine.lanes import Lane, lane, lane_dtype

Keys = npt.NDArray[np.int64]

_SIGN: Final = np.uint64(2**63)
_BELOW_SIGN: Final = np.int64(2**63 - 1)


def ascending(column: pa.Array) -> Keys:
    """Numbers in the order of the values, which are no strings; arbitrary where a value is null."""
    values = lane(column)
    if values.dtype.kind == "f":
        return _float_keys(values)
    if values.dtype == np.uint64:
        return (values ^ _SIGN).view(np.int64)
    return values.astype(np.int64, copy=False)


def descended(keys: Keys, kind: pa.DataType) -> Lane:
    """The values of which these are the numbers; not for strings."""
    dtype = lane_dtype(kind)
    if dtype.kind == "f":
        bits = np.where(keys < 0, keys ^ _BELOW_SIGN, keys)
        with np.errstate(over="ignore", invalid="ignore"):
            return bits.view(np.float64).astype(dtype)
    if dtype == np.uint64:
        return keys.view(np.uint64) ^ _SIGN
    with np.errstate(over="ignore"):
        return keys.astype(dtype)


def text_ranks(column: pa.Array, execution: Execution) -> Keys:
    """Dense ranks of strings; equal ones share theirs."""
    if len(column) > relational.MOST_VALUES:
        return relational.value_ranks(column, execution)
    return np.asarray(pc.rank(column, sort_keys="ascending", tiebreaker="dense"), dtype=np.int64)


def _float_keys(values: npt.NDArray[Any]) -> Keys:
    plain = values.astype(np.float64) + 0.0
    plain[np.isnan(plain)] = np.nan
    bits = plain.view(np.int64)
    # Below zero, greater magnitudes have greater bits.
    return np.where(bits < 0, bits ^ _BELOW_SIGN, bits)
