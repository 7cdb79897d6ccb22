"""CSV of one type becomes rows of it: the header says the columns, and cells are texts until their property is known.

    CsvPiece ──> columns of texts ──> text_columns ──> TypedRows

Columns are those of Arrow input. What is wrong is told with the line that the row begins on, of columns that of the
header.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from omnigraph.cancellation import check_cancelled
from omnigraph.history.schemas import TypeTable
from omnigraph.write.problems import Problem, ProblemLog
from omnigraph.write.records.arrow_input import Layout, lay_out, read_batch
from omnigraph.write.records.csv_pieces import CsvPiece, cut_rows
from omnigraph.write.records.reasons import Reason
from omnigraph.write.records.sources import TextSource, TypedText
from omnigraph.write.records.text_columns import fit_text_column
from omnigraph.write.records.typed_rows import TypedRows, rows_within
from omnigraph.write.records.values import shown

_DELIMITERS: Final = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}


def read_csv(
    text: TypedText, source: TextSource, target: TypeTable, problems: ProblemLog, *, piece_bytes: int, chunk_bytes: int
) -> Iterator[TypedRows]:
    """The rows of a text of CSV, in its order.

    Raises:
        ResourceLimitError: a row is too long.
        InvalidInputError: the source is in another format altogether.
    """
    delimiter = text.delimiter or ","
    names: Sequence[str] | None = text.columns
    layout = None if names is None else lay_out(target, names, problems, source=source.name)
    for piece in cut_rows(source, delimiter, problems, piece_bytes=piece_bytes):
        check_cancelled()
        rows = piece
        if names is None:
            names = _read_header(piece, delimiter, problems, source.name)
            layout = (
                None
                if names is None
                else _lay_out(target, names, delimiter, int(piece.lines[0]), problems, source.name)
            )
            rows = piece.behind_first()
        if names is None or layout is None:
            return
        yield from _read_piece(rows, names, layout, delimiter, problems, source.name, chunk_bytes=chunk_bytes)
    if names is None and not problems:
        message = "there is no header; the first row names the columns"
        problems.add(Problem(reason=Reason.MALFORMED_CSV, message=message, source=source.name, line=1))


def _read_header(piece: CsvPiece, delimiter: str, problems: ProblemLog, source: str) -> list[str] | None:
    """The names of the columns; None when they cannot be read, which is told."""
    line = int(piece.lines[0])
    try:
        return next(csv.reader(io.StringIO(piece.row(0).decode(), newline=""), delimiter=delimiter, strict=True))
    except UnicodeDecodeError as error:
        reason, why = Reason.INVALID_UTF8, f"byte 0x{error.object[error.start]:02x} of the header is not UTF-8"
    except csv.Error as error:
        reason, why = Reason.MALFORMED_CSV, f"the header cannot be read: {error}"
    problems.add(Problem(reason=reason, message=why, source=source, line=line))
    return None


def _lay_out(
    target: TypeTable, names: Sequence[str], delimiter: str, line: int, problems: ProblemLog, source: str
) -> Layout | None:
    """As ``lay_out``; a header that is one cell because it has other delimiters is told as such."""
    others = [what for other, what in _DELIMITERS.items() if other in names[0]] if len(names) == 1 else []
    if not others:
        return lay_out(target, names, problems, source=source, line=line)
    message = f"the header is one cell, {shown(names[0])}: cells are separated by {others[0]}, and not by "
    message += _DELIMITERS.get(delimiter, shown(delimiter))
    problems.add(Problem(reason=Reason.MALFORMED_CSV, message=message, source=source, line=line))
    return None


def _read_piece(
    piece: CsvPiece,
    names: Sequence[str],
    layout: Layout,
    delimiter: str,
    problems: ProblemLog,
    source: str,
    *,
    chunk_bytes: int,
) -> Iterator[TypedRows]:
    counts = piece.count_cells(delimiter)
    wrong = np.flatnonzero(counts != len(names))
    for row in wrong.tolist():
        message = f"the row has {counts[row]} cells, and the header {len(names)}"
        line = int(piece.lines[row])
        key = layout.target.key
        problems.add(Problem(reason=Reason.MALFORMED_CSV, message=message, type_key=key, source=source, line=line))
    if len(wrong):
        piece = piece.only(np.delete(np.arange(len(counts)), wrong))
    if not len(piece.starts):
        return
    step = rows_within(layout.target, chunk_bytes)
    at = 0
    for batch in _read_cells(piece, names, delimiter).to_batches(max_chunksize=step):
        lines = piece.lines[at : at + batch.num_rows]
        at += batch.num_rows
        rows = read_batch(layout, batch, lines, problems, source=source, fit=fit_text_column)
        if rows is not None:
            yield rows


def _read_cells(piece: CsvPiece, names: Sequence[str], delimiter: str) -> pa.Table:
    """The cells as texts, null where there is nothing, not even quotes. They need not be UTF-8."""
    return pa_csv.read_csv(
        pa.BufferReader(piece.text),
        read_options=pa_csv.ReadOptions(column_names=names, use_threads=False, block_size=len(piece.text) + 1),
        parse_options=pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            check_utf8=False,
        ),
    )
