"""Rows by ascending id, in memory that does not grow with the table.

Lance sorts a scan in memory. A table that is too large for that is read in ranges of ids, one after the other, each
sorted by itself; a sample of the ids says where a range ends. So it is with some parts of a table. Blobs are never
sorted: rows are put in order without them and get theirs a few at a time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from lance import LanceDataset, LanceFragment
from lance.dataset import ColumnOrdering

from omnigraph.tables.arrow_schema import is_blob
from omnigraph.tables.filters import ROW_ADDRESS, ids_between, scan_batches
from omnigraph.tables.reading import BATCH_ROWS, BLOB_BATCH_ROWS

MAX_ROWS_AT_ONCE: Final = 200_000
MAX_BYTES_AT_ONCE: Final = 128 * 1024**2

_SAMPLES_PER_RANGE: Final = 64


def batches_by_id(
    dataset: LanceDataset,
    schema: pa.Schema,
    predicate: pc.Expression | None,
    fragments: Sequence[LanceFragment] | None = None,
) -> Iterator[pa.RecordBatch]:
    """The rows that match, of these fragments or of all, by ascending bytes of ``id``.

    ``schema`` is logical and names the columns.
    """
    plain = [each.name for each in schema if not is_blob(each)]
    # Lance cannot plan the order of a scan that neither reads nor filters by what it orders by.
    read = plain if "id" in plain else [*plain, "id"]
    blobs = [each.name for each in schema if is_blob(each)]
    for low, high in _ranges(dataset, predicate, fragments):
        between, as_sql = ids_between(low, high)
        wanted = as_sql if predicate is None else predicate if between is None else predicate & between
        batches = scan_batches(
            dataset,
            read,
            wanted,
            instead=as_sql,
            fragments=fragments,
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


def _ranges(
    dataset: LanceDataset, predicate: pc.Expression | None, fragments: Sequence[LanceFragment] | None
) -> Iterable[tuple[str | None, str | None]]:
    """Bounds that part the rows by id, in ascending order; no bounds when all rows fit at once."""
    read = dataset.get_fragments() if fragments is None else fragments
    rows = sum(each.metadata.num_rows for each in read)
    at_once = _rows_at_once(read, rows)
    if rows <= at_once:
        return [(None, None)]
    ids = scan_batches(dataset, ["id"], predicate, fragments=fragments, batch_size=BATCH_ROWS)
    return itertools.pairwise([None, *_splits(ids, parts=-(-rows // at_once), rows=rows), None])


def _rows_at_once(fragments: Sequence[LanceFragment], rows: int) -> int:
    """How many rows of average size fit the bound. Files are compressed; vectors, the widest values, hardly are."""
    stored = sum(file.file_size_bytes or 0 for each in fragments for file in each.metadata.files)
    return max(1, min(MAX_ROWS_AT_ONCE, MAX_BYTES_AT_ONCE * rows // max(1, stored)))


def _splits(batches: Iterable[pa.RecordBatch], *, parts: int, rows: int) -> list[str]:
    """At most ``parts - 1`` ids in ascending order, with about as many rows between each two."""
    step = max(1, rows // (parts * _SAMPLES_PER_RANGE))
    sample: list[str] = []
    seen = 0
    for batch in batches:
        first = -seen % step
        sample.extend(batch["id"][first::step].to_pylist())
        seen += len(batch)
    sample.sort(key=str.encode)
    chosen = [sample[len(sample) * part // parts] for part in range(1, parts)] if sample else []
    return list(dict.fromkeys(chosen))
