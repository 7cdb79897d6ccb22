"""Columns with too many strings to be hashed or sorted in memory: sorted by DataFusion, which spills to disk.

Rows of a frame are numbers, and few values stand behind many rows. So joins, groups and sorts of any number of rows
work on codes and ranks of the values, in numpy. At 3 million rows over 100,000 entities that took a third of the time
that DataFusion took for the rows, and less memory. What can be too large are the values themselves, and their ranks are
made here: two values are equal when their ranks are, and compare as their ranks do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.budget import advice
from omnigraph.engine.execution import Execution
from omnigraph.engine.frame import Indices, Mask
from omnigraph.engine.lanes import truths, validity
from omnigraph.errors import ResourceLimitError
from omnigraph.errors.panics import translating_panics

if TYPE_CHECKING:
    from datafusion import SessionContext

MOST_VALUES: Final = 2_000_000
"""More strings than these are ranked here."""

_BATCH_ROWS: Final = 65_536
_BATCH_BYTES: Final = 1024**2
_LEAST_POOL: Final = 64 * 1024**2
_POOL: Final = 1024**3
_OUT_OF_MEMORY: Final = "Resources exhausted"


def value_ranks(column: pa.Array, execution: Execution) -> Indices:
    """Dense ranks of strings, or of bytes, by their bytes: from 1, equal values share theirs; 0 for null.

    Raises:
        ResourceLimitError: it takes more memory than the query may use, with the disk beside it.
        DeadlineError: the time was over.
    """
    valid = validity(column)
    rows = np.arange(len(column)) if valid is None else np.flatnonzero(valid)
    ranks: Indices = np.zeros(len(column), dtype=np.int64)
    if not len(rows):
        return ranks
    execution.spending.check_bytes("Sort", column.nbytes)
    values = column if valid is None else column.drop_null()
    last_rank, last_value = 0, None
    try:
        with translating_panics("sort the values"):
            for batch in _sorted_batches(values, rows, execution):
                execution.spending.check_time("Sort")
                texts = batch.column(0)
                is_new = _changes(texts, last_value)
                found = last_rank + np.cumsum(is_new)
                ranks[np.asarray(batch.column(1), dtype=np.int64)] = found
                last_rank, last_value = int(found[-1]), texts[len(texts) - 1]
    except Exception as error:
        if _OUT_OF_MEMORY not in str(error):
            raise
        raise _too_much(execution) from error
    return ranks


def _changes(values: pa.Array, before: pa.Scalar | None) -> Mask:
    """Where a sorted column has another value than the row before."""
    is_new = np.ones(len(values), dtype=np.bool_)
    is_new[1:] = truths(pc.not_equal(values[1:], values[:-1]))
    is_new[0] = before is None or values[0] != before
    return is_new


def _sorted_batches(values: pa.Array, rows: Indices, execution: Execution) -> Iterator[pa.RecordBatch]:
    from datafusion import col

    size = max(1, min(_BATCH_ROWS, _BATCH_BYTES * len(values) // max(values.nbytes, 1)))
    session = _session(_pool_bytes(execution), values.nbytes, batch_rows=size)
    frame = session.create_dataframe([list(_batches(values, rows, size))])
    for batch in frame.sort(col("value").sort()).execute_stream():
        found = batch.to_pyarrow()
        if found.num_rows:
            yield found


def _batches(values: pa.Array, rows: Indices, size: int) -> Iterator[pa.RecordBatch]:
    """Batches that share no memory: DataFusion counts what a batch lies in, so slices would count as the whole."""
    for start in range(0, len(values), size):
        part = pa.array(np.arange(start, min(start + size, len(values))))
        yield pa.record_batch({"value": values.take(part), "row": pa.array(rows[start : start + size])})


def _session(pool_bytes: int, value_bytes: int, *, batch_rows: int) -> SessionContext:
    # Loading DataFusion takes longer than most queries, which need it not at all.
    from datafusion import RuntimeEnvBuilder, SessionConfig, SessionContext

    config = SessionConfig().with_batch_size(batch_rows)
    if 4 * value_bytes > pool_bytes:
        # Sorters in several threads would have to share what is not enough for one without the disk.
        config = config.with_target_partitions(1)
    return SessionContext(config, RuntimeEnvBuilder().with_disk_manager_os().with_fair_spill_pool(pool_bytes))


def _pool_bytes(execution: Execution) -> int:
    """A share of what the query may use; the values themselves take more of it."""
    limit = execution.spending.budget.max_bytes
    return _POOL if limit is None else min(_POOL, max(limit // 4, _LEAST_POOL))


def _too_much(execution: Execution) -> ResourceLimitError:
    limit = _pool_bytes(execution)
    return ResourceLimitError(
        f"Sorting the values needs more memory than {limit:,} bytes, which the query may use (max_bytes).",
        resource="max_bytes",
        limit=limit,
        actual=limit + 1,
        operator="Sort",
        help=advice("max_bytes"),
    )
