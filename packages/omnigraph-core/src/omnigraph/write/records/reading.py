"""From what a user gives to ``load`` to Arrow batches of logical rows: the front of the input side.

    text ──> pieces of lines ──> blocks of one type, or single records ─┐
    Python records ─────────────────────────────────────────────────────┼──> TypedRows
    Arrow data by type name, CSV ───────────────────────────────────────┘

Memory does not grow with the input. Rows that are wrong are left out and told in the ``ProblemLog``, with file and
line; reading goes on behind them, so that a user corrects a file in one go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from omnigraph.cancellation import check_cancelled
from omnigraph.history.schemas import GraphSchema
from omnigraph.write.problems import Problem, ProblemLog
from omnigraph.write.records.arrow_input import find_target, read_arrow
from omnigraph.write.records.content import ContentDigest
from omnigraph.write.records.csv_input import read_csv
from omnigraph.write.records.envelopes import EnvelopeReader, RowForm
from omnigraph.write.records.json_blocks import group_lines, group_rows, read_block
from omnigraph.write.records.ndjson import cut_pieces, decode_line
from omnigraph.write.records.reasons import Misfit
from omnigraph.write.records.row_reader import RowReader
from omnigraph.write.records.sources import (
    ArrowSource,
    LoadInput,
    RecordSource,
    TextSource,
    TypedText,
    open_source,
    open_text,
)
from omnigraph.write.records.typed_rows import TypedRows, rows_within

CHUNK_ROWS: Final = 65_536
CHUNK_BYTES: Final = 32 * 1024 * 1024

_PIECE_BYTES: Final = 4 * 1024 * 1024
"""How much text is decoded at once: enough for whole columns, little enough to stay in the caches."""

_SIZED: Final = frozenset({str, bytes, list})


def read_records(
    data: LoadInput | TypedText,
    schema: GraphSchema,
    problems: ProblemLog,
    *,
    chunk_rows: int = CHUNK_ROWS,
    chunk_bytes: int = CHUNK_BYTES,
    digest: ContentDigest | None = None,
) -> Iterator[TypedRows]:
    """The rows of an input; within a type in the order of the input.

    Args:
        data: what was given to ``load``, or a text of one type.
        schema: says the types.
        problems: takes everything that is wrong with records.
        chunk_rows: how many rows a batch has at most.
        chunk_bytes: how much of the input is held at once, about.
        digest: notes what is read, where that is not a text of one type.

    Raises:
        InvalidInputError: the input as a whole cannot be read.
        StorageError: a file could not be read.
        ResourceLimitError: a line is beyond its bounds.
    """
    if isinstance(data, TypedText):
        for rows in _read_typed(data, schema, problems, chunk_bytes=chunk_bytes):
            yield from rows.cut(chunk_rows)
        return
    source = open_source(data) if digest is None else digest.watching(open_source(data))
    if isinstance(source, ArrowSource):
        note = None if digest is None else digest.add_batch
        yield from read_arrow(source, schema, problems, chunk_rows=chunk_rows, chunk_bytes=chunk_bytes, note=note)
        return
    if isinstance(source, RecordSource):
        batches = _read_objects(source, schema, problems, chunk_rows=chunk_rows, chunk_bytes=chunk_bytes)
    else:
        batches = _read_text(source, EnvelopeReader(schema), problems, chunk_bytes=chunk_bytes)
    for rows in batches:
        yield from rows.cut(chunk_rows)


def _read_typed(data: TypedText, schema: GraphSchema, problems: ProblemLog, *, chunk_bytes: int) -> Iterator[TypedRows]:
    """The rows of a text of one type; without any, a batch without rows, because the type is named."""
    source = open_text(data.file)
    try:
        target = find_target(data.type_name, schema)
    except Misfit as misfit:
        problems.add(Problem(reason=misfit.reason, message=misfit.text, source=source.name))
        return
    if data.delimiter is None:
        batches = _read_text(source, RowForm(target), problems, chunk_bytes=chunk_bytes)
    else:
        piece_bytes = min(_PIECE_BYTES, chunk_bytes)
        batches = read_csv(data, source, target, problems, piece_bytes=piece_bytes, chunk_bytes=chunk_bytes)
    is_empty = True
    for rows in batches:
        is_empty = False
        yield rows
    if is_empty:
        nothing = pa.RecordBatch.from_pylist([], schema=target.schema)
        yield TypedRows(target=target, rows=nothing, lines=np.zeros(0, np.int64), source=source.name)


def _read_text(
    source: TextSource, forms: EnvelopeReader | RowForm, problems: ProblemLog, *, chunk_bytes: int
) -> Iterator[TypedRows]:
    reader = RowReader(forms, problems, source.name, batch_bytes=chunk_bytes)
    for piece in cut_pieces(source, piece_bytes=min(_PIECE_BYTES, chunk_bytes)):
        check_cancelled()
        blocks = group_rows(piece, forms.target) if isinstance(forms, RowForm) else group_lines(piece, forms)
        if blocks is None:
            yield from _read_lines(piece.lines(), reader)
            continue
        for block in blocks:
            for part in block.cut(rows_within(block.target, chunk_bytes)):
                rows = read_block(part, source.name)
                if rows is None:
                    yield from _read_lines(part.numbered(), reader)
                else:
                    yield rows


def _read_lines(lines: Iterator[tuple[int, bytes]], reader: RowReader) -> Iterator[TypedRows]:
    for number, line in lines:
        try:
            record = decode_line(line)
        except Misfit as misfit:
            reader.refuse(misfit, number)
        else:
            reader.add(record, number)
    return reader.take()


def _read_objects(
    source: RecordSource, schema: GraphSchema, problems: ProblemLog, *, chunk_rows: int, chunk_bytes: int
) -> Iterator[TypedRows]:
    reader = RowReader(EnvelopeReader(schema), problems, None, batch_bytes=chunk_bytes)
    held_bytes = 0
    for ordinal, record in enumerate(source.records, 1):
        # Whoever makes the records may take long over each.
        check_cancelled()
        reader.add(record, ordinal)
        held_bytes += _weight(record)
        if reader.row_count >= chunk_rows or held_bytes >= chunk_bytes:
            yield from reader.take()
            held_bytes = 0
    yield from reader.take()


def _weight(record: Any) -> int:
    """About how many bytes a record holds."""
    weight = 64
    data = record.get("data") if isinstance(record, dict) else None
    if isinstance(data, dict):
        for value in data.values():
            if type(value) in _SIZED or hasattr(value, "__len__"):
                weight += len(value)
    return weight
