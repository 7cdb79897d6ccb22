"""Rows by ascending id, in memory that does not grow with the table.

Lance sorts a scan in memory. A table that is too large for that is read in ranges of ids, one after the other, each
sorted by itself; a sample of the ids says where a range ends. Blobs are never sorted: rows are put in order without
them and get theirs a few at a time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa
from lance import LanceDataset
from lance.dataset import ColumnOrdering

from omnigraph.tables.arrow_schema import is_blob
from omnigraph.tables.filters import ROW_ADDRESS, ids_between, scan_batches
from omnigraph.tables.reading import BATCH_ROWS, BLOB_BATCH_ROWS
from omnigraph.tables.row_filters import RowFilter, all_of

MAX_ROWS_AT_ONCE: Final = 200_000
MAX_BYTES_AT_ONCE: Final = 128 * 1024**2

_SAMPLES_PER_RANGE: Final = 64


def batches_by_id(dataset: LanceDataset, schema: pa.Schema, predicate: RowFilter | None) -> Iterator[pa.RecordBatch]:
    """The rows that match, by ascending bytes of ``id``; ``schema`` is logical and names the columns."""
    plain = [each.name for each in schema if not is_blob(each)]
    # Lance cannot plan the order of a scan that neither reads nor filters by what it orders by.
    read = plain if "id" in plain else [*plain, "id"]
    blobs = [each.name for each in schema if is_blob(each)]
    for low, high in _ranges(dataset, predicate):
        wanted = all_of([each for each in (predicate, ids_between(low, high)) if each is not None])
        batches = scan_batches(
            dataset,
            read,
            wanted,
            order_by=[ColumnOrdering("id")],
            # Ids of a range lie all over the table: fetching the other columns row by row takes ten times as long.
            late_materialization=False,
            with_row_address=bool(blobs),
            batch_size=BLOB_BATCH_ROWS if blobs else BATCH_ROWS,
            strict_batch_size=bool(blobs),
        )
        for batch in batches:
            yield _with_blobs(dataset, batch, schema, blobs) if blobs else batch.select(schema.names)


def _with_blobs(
    dataset: LanceDataset, batch: pa.RecordBatch, schema: pa.Schema, blobs: Sequence[str]
) -> pa.RecordBatch:
    addresses = batch[ROW_ADDRESS]
    found = {
        name: pa.array(
            [data for _, data in dataset.read_blobs(name, addresses=addresses, preserve_order=True)],
            pa.large_binary(),
        )
        for name in blobs
    }
    columns = [found[name] if name in found else batch[name] for name in schema.names]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _ranges(dataset: LanceDataset, predicate: RowFilter | None) -> Iterable[tuple[str | None, str | None]]:
    """Bounds that part the rows by id, in ascending order; no bounds when all rows fit at once."""
    rows = dataset.count_rows()
    at_once = _rows_at_once(dataset, rows)
    if rows <= at_once:
        return [(None, None)]
    splits = _splits(dataset, predicate, parts=-(-rows // at_once), rows=rows)
    return itertools.pairwise([None, *splits, None])


def _rows_at_once(dataset: LanceDataset, rows: int) -> int:
    """How many rows of average size fit the bound. Files are compressed; vectors, the widest values, hardly are."""
    stored = sum(file.file_size_bytes or 0 for each in dataset.get_fragments() for file in each.data_files())
    return max(1, min(MAX_ROWS_AT_ONCE, MAX_BYTES_AT_ONCE * rows // max(1, stored)))


def _splits(dataset: LanceDataset, predicate: RowFilter | None, *, parts: int, rows: int) -> list[str]:
    """At most ``parts - 1`` ids in ascending order, with about as many rows between each two."""
    step = max(1, rows // (parts * _SAMPLES_PER_RANGE))
    sample: list[str] = []
    seen = 0
    for batch in scan_batches(dataset, ["id"], predicate, batch_size=BATCH_ROWS):
        first = -seen % step
        sample.extend(batch["id"][first::step].to_pylist())
        seen += len(batch)
    sample.sort(key=str.encode)
    chosen = [sample[len(sample) * part // parts] for part in range(1, parts)] if sample else []
    return list(dict.fromkeys(chosen))
