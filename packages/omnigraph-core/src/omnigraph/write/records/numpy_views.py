"""Arrow columns as NumPy sees them: values, nulls and the numbers of rows, without a copy where there need be none."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Lines = npt.NDArray[np.int64]
"""A number per row: its line in a text, or its ordinal."""

Rows = npt.NDArray[np.int64]
"""Numbers of rows within a batch, from 0, ascending."""

Mask = npt.NDArray[np.bool_]


def raw_values(values: pa.Array) -> npt.NDArray[np.generic]:
    """The values of a column of numbers or dates as they lie in memory; what lies under a null is arbitrary."""
    width = values.type.bit_width // 8
    kind = "f" if pa.types.is_floating(values.type) else "u" if pa.types.is_unsigned_integer(values.type) else "i"
    data = values.buffers()[1]
    if data is None:
        return np.zeros(len(values), dtype=f"{kind}{width}")
    return np.frombuffer(data, dtype=f"{kind}{width}", count=len(values) + values.offset)[values.offset :]


def null_mask(values: pa.Array) -> Mask | None:
    """Which rows are null; None when none is."""
    if not values.null_count:
        return None
    mask: Mask = values.is_null().to_numpy(zero_copy_only=False)
    return mask


def true_rows(mask: pa.Array) -> Rows:
    """The rows for which a mask is true; null is not."""
    return np.flatnonzero(mask.fill_null(False).to_numpy(zero_copy_only=False))
