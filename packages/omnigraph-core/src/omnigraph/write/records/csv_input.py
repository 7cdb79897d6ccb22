"""CSV of one type becomes rows of it: the header says the columns, and cells are texts until their property is known.

    CsvPiece ──> columns of texts ──> text_columns ──> TypedRows

Columns are those of Arrow input. What is wrong is told with the line that the row begins on, of columns that of the
header.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import chain
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
    pieces = cut_rows(source, delimiter, problems, piece_bytes=piece_bytes)
    names: Sequence[str] | None = text.columns
    if names is not None:
        layout = lay_out(target, names, problems, source=source.name)
    else:
        first = next(pieces, None)
        names = _read_header(first, delimiter, problems, source.name)
        if first is None or names is None:
            return
        layout = _lay_out(target, names, delimiter, int(first.lines[0]), problems, source.name)
        pieces = chain([first.behind_first()], pieces)
    if layout is not None:
        for piece in pieces:
            check_cancelled()
            yield from _read_piece(piece, names, layout, delimiter, problems, source.name, chunk_bytes=chunk_bytes)


def _read_header(piece: CsvPiece | None, delimiter: str, problems: ProblemLog, source: str) -> list[str] | None:
    """The names of the columns; None when there are none that can be read, which is told."""
    reason = Reason.MALFORMED_CSV
    if piece is None:
        why = "there is no header; the first row names the columns"
    else:
        try:
            return next(csv.reader(io.StringIO(piece.row(0).decode(), newline=""), delimiter=delimiter, strict=True))
        except UnicodeDecodeError as error:
            reason, why = Reason.INVALID_UTF8, f"byte 0x{error.object[error.start]:02x} of the header is not UTF-8"
        except csv.Error as error:
            why = f"the header cannot be read: {error}"
    # A quote that should not be there may have left no row at all; it is told already.
    if piece is not None or not problems:
        line = 1 if piece is None else int(piece.lines[0])
        problems.add(Problem(reason=reason, message=why, source=source, line=line))
    return None


def _lay_out(
    target: TypeTable, names: Sequence[str], delimiter: str, line: int, problems: ProblemLog, source: str
) -> Layout | None:
    """As ``lay_out``; a header that is one cell because it has other delimiters is told as such."""
    others = [what for other, what in _DELIMITERS.items() if other in names[0]] if len(names) == 1 else []
    if not others:
        return lay_out(target, names, problems, source=source, line=line)
    expected = _DELIMITERS.get(delimiter, shown(delimiter))
    message = f"the header is one cell, {shown(names[0])}; cells are separated by {expected}, not by {others[0]}"
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
        cells = "1 cell" if counts[row] == 1 else f"{counts[row]} cells"
        message = f"the row has {cells}, and the header {len(names)}"
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
