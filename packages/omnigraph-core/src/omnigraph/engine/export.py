"""A snapshot as JSONL, one line per edge and node, in a form that a load reads back to the same graph.

    {"edge":"Rented","from":"ann","to":"SF-1","data":{"id":"01J...","on":"2026-02-01"}}
    {"type":"Film","data":{"id":"SF-1","added":"2026-01-01T00:00:00.000Z","stars":4.5,"tags":["slow"]}}

Edge types first, then node types, each by name; rows by ascending id, compared as bytes; every property is there, in
column order, nulls too. So two graphs that hold the same rows have the same text. Rows stream: what is in memory is a
few MiB, however large the graph is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from omnigraph.cancellation import check_cancelled
from omnigraph.engine.cells import join_texts, json_text, json_texts
from omnigraph.engine.type_names import select_types
from omnigraph.history.schemas import TypeTable
from omnigraph.history.snapshot import Snapshot
from omnigraph.tables.interface import TableStorage

SLICE_BYTES: Final = 4 << 20
"""How much of a batch is spelled at a time. Text is several times larger: a number of a vector takes 4 bytes and 20."""


def export_parts(
    snapshot: Snapshot, tables: TableStorage, *, types: Sequence[str] | None = None
) -> Iterator[Sequence[str]]:
    """The lines of a snapshot, without newlines, some at a time, read as they are asked for.

    ``types`` names what to export, see ``type_names``; None is everything, and an empty list nothing.

    Raises:
        NotFoundError: there is no such type; raised by the call, before the first line.
        StorageError: rows could not be read; raised while iterating.
    """
    return _parts(snapshot, tables, select_types(snapshot.schema.tables, types))


def _parts(snapshot: Snapshot, tables: TableStorage, targets: tuple[TypeTable, ...]) -> Iterator[Sequence[str]]:
    for target in targets:
        handle = tables.open_at(snapshot.entry(target).pin)
        for batch in tables.read(handle, order_by_id=True):
            yield from spell_rows(target.key, batch)


def spell_rows(type_key: str, rows: pa.RecordBatch) -> Iterator[Sequence[str]]:
    """The lines of stored rows of a type, with every column, some at a time."""
    for part in _slices(rows):
        # Whole columns become one column of lines; this is the only step that goes row by row.
        check_cancelled()
        yield _joined(type_key, part).to_pylist()


def _slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in parts of about ``SLICE_BYTES``, one row at least."""
    if batch.num_rows == 0:
        return
    rows = max(1, batch.num_rows * SLICE_BYTES // max(batch.nbytes, SLICE_BYTES))
    yield from (batch.slice(start, rows) for start in range(0, batch.num_rows, rows))


def _joined(type_key: str, rows: pa.RecordBatch) -> pa.Array:
    """One line per row."""
    kind, _, name = type_key.partition(":")
    texts = {each: json_texts(rows.column(each)) for each in rows.schema.names}
    if kind == "edge":
        ends = [',"from":', texts.pop("src"), ',"to":', texts.pop("dst")]
        parts = [f'{{"edge":{json_text(name)}', *ends, ',"data":{"id":', texts.pop("id")]
    else:
        parts = [f'{{"type":{json_text(name)},"data":{{"id":', texts.pop("id")]
    for each, column in texts.items():
        parts += [f",{json_text(each)}:", column]
    return join_texts([*parts, "}}"])
