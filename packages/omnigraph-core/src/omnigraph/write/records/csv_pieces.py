"""CSV: blocks of bytes become pieces of whole rows, which know the line that each row begins on.

    blocks ──> CsvPiece ──> cells, all at once (csv_input)

The form is that of RFC 4180: a cell that holds the delimiter, a quote or the end of a line stands in quotes, and a
quote within is doubled. Rows end with LF or CRLF; blank lines are skipped, and so is a byte order mark at the start.
Quotes anywhere else are refused: then every quote opens or closes a cell, and whether a byte stands within one is told
by the number of quotes before it, wherever a reader begins.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from omnigraph.errors import ResourceLimitError
from omnigraph.write.problems import Problem, ProblemLog
from omnigraph.write.records.ndjson import MAX_LINE_BYTES, refuse_other_formats
from omnigraph.write.records.numpy_views import Lines, Rows
from omnigraph.write.records.reasons import Reason
from omnigraph.write.records.sources import TextSource

_QUOTE: Final = ord('"')
_LF: Final = ord("\n")
_CR: Final = ord("\r")

_NO_ROWS: Final = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class CsvPiece:
    """Whole rows of CSV.

    Attributes:
        text: the rows and the blank lines between them, LF behind the last.
        starts: where each row begins in it; blank lines are no rows.
        ends: where it ends, before its LF or CRLF.
        lines: the line that it begins on, from 1.
    """

    text: bytes
    starts: Rows
    ends: Rows
    lines: Lines

    def row(self, number: int) -> bytes:
        """The bytes of a row."""
        return self.text[self.starts[number] : self.ends[number]]

    def behind_first(self) -> CsvPiece:
        """The rows behind the first."""
        size = int(self.starts[1]) if len(self.starts) > 1 else len(self.text)
        return CsvPiece(self.text[size:], self.starts[1:] - size, self.ends[1:] - size, self.lines[1:])

    def only(self, rows: Rows) -> CsvPiece:
        """The same piece without other rows."""
        text = b"".join(self.row(int(number)) + b"\n" for number in rows)
        lengths = (self.ends - self.starts)[rows]
        ends = np.cumsum(lengths + 1) - 1
        return CsvPiece(text, ends - lengths, ends, self.lines[rows])

    def count_cells(self, delimiter: str) -> Rows:
        """How many cells each row has."""
        data = np.frombuffer(self.text, np.uint8)
        places = np.flatnonzero(data == ord(delimiter))
        if b'"' in self.text:
            places = _outside(places, np.flatnonzero(data == _QUOTE))
        return np.searchsorted(places, self.ends) - np.searchsorted(places, self.starts) + 1


def cut_rows(source: TextSource, delimiter: str, problems: ProblemLog, *, piece_bytes: int) -> Iterator[CsvPiece]:
    """Pieces of whole rows; one that is not the last has ``piece_bytes`` or more, and little more.

    Behind a quote that should not be there rows cannot be told from one another: it is told, and the text ends there.

    Raises:
        ResourceLimitError: a row is too long.
        InvalidInputError: the source is in another format altogether.
    """
    first = 1
    held = b""
    blocks: list[bytes] = []
    held_bytes = 0
    is_start = True
    for block in source.blocks:
        blocks.append(block)
        held_bytes += len(block)
        if held_bytes < piece_bytes:
            continue
        held = _joined(blocks, source.name, is_start=is_start)
        is_start = False
        piece, rest, wrong = _split(held, first, delimiter)
        if len(piece.starts):
            yield piece
        if wrong is not None:
            problems.add(_problem(source.name, *wrong))
            return
        first += piece.text.count(b"\n")
        blocks, held_bytes = [rest], len(rest)
        _check_length(rest, first, source.name)
    held = _joined(blocks, source.name, is_start=is_start)
    if held:
        piece, rest, wrong = _split(held if held.endswith(b"\n") else held + b"\n", first, delimiter)
        if len(piece.starts):
            yield piece
        if wrong is None and rest:
            line = first + piece.text.count(b"\n")
            wrong = line, "a quote opens a cell of the row that begins here, and none closes it"
        if wrong is not None:
            problems.add(_problem(source.name, *wrong))


def _joined(blocks: list[bytes], name: str, *, is_start: bool) -> bytes:
    text = b"".join(blocks)
    if is_start:
        refuse_other_formats(text, name, "CSV")
        text = text.removeprefix(codecs.BOM_UTF8)
    return text


def _split(text: bytes, first: int, delimiter: str) -> tuple[CsvPiece, bytes, tuple[int, str] | None]:
    """The whole rows of a text, what is left behind them, and the line and words of what is wrong, if anything is."""
    data = np.frombuffer(text, np.uint8)
    line_ends = np.flatnonzero(data == _LF)
    quotes = np.flatnonzero(data == _QUOTE) if b'"' in text else _NO_ROWS
    row_ends = _outside(line_ends, quotes)
    wrong = _first_wrong(data, quotes, delimiter)
    told = None
    if wrong is not None:
        place, words = wrong
        row_ends = row_ends[row_ends < place]
        told = first + int(np.searchsorted(line_ends, place)), words
    size = int(row_ends[-1]) + 1 if len(row_ends) else 0
    starts = np.concatenate(([0], row_ends[:-1] + 1)) if len(row_ends) else _NO_ROWS
    # A line end of two characters belongs to no cell; before the first character there is the end of a row.
    ends = row_ends - (data[row_ends - 1] == _CR) * (row_ends > starts) if len(row_ends) else _NO_ROWS
    is_row = ends > starts
    starts, ends = starts[is_row], ends[is_row]
    lines = first + np.searchsorted(line_ends, starts)
    return CsvPiece(text[:size], starts, ends, lines), text[size:], told


def _outside(places: Rows, quotes: Rows) -> Rows:
    """Those of some places that do not stand within quotes."""
    if not len(quotes):
        return places
    chosen: Rows = places[np.searchsorted(quotes, places) % 2 == 0]
    return chosen


def _first_wrong(
    data: np.ndarray[tuple[int], np.dtype[np.uint8]], quotes: Rows, delimiter: str
) -> tuple[int, str] | None:
    """The place of the first byte that CSV does not have there, and what is wrong with it."""
    found: list[tuple[int, str]] = []
    last = len(data) - 1
    opening, closing = quotes[::2], quotes[1::2]
    before = data[np.maximum(opening - 1, 0)]
    misplaced = opening[(opening > 0) & ~np.isin(before, (ord(delimiter), _LF, _QUOTE))]
    if len(misplaced):
        text = "a quote stands in a cell that does not begin with one; put the cell in quotes, and double those within"
        found.append((int(misplaced[0]), text))
    after = data[np.minimum(closing + 1, last)]
    followed = closing[(closing < last) & ~np.isin(after, (ord(delimiter), _LF, _CR, _QUOTE))]
    if len(followed):
        found.append(
            (int(followed[0]), "more follows behind the quote that closes a cell; double quotes within a cell")
        )
    returns = np.flatnonzero(data == _CR)
    if len(returns):
        # Whether a line end follows the last byte is not known yet.
        alone = _outside(returns[(returns < last) & (data[np.minimum(returns + 1, last)] != _LF)], quotes)
        if len(alone):
            found.append((int(alone[0]), "a carriage return stands alone; rows end with LF or CRLF"))
    return min(found, default=None)


def _check_length(rest: bytes, line: int, name: str) -> None:
    if len(rest) > MAX_LINE_BYTES:
        raise ResourceLimitError(
            f"The row at {name}:{line} has more than {MAX_LINE_BYTES} bytes.",
            resource="load_line_bytes",
            limit=MAX_LINE_BYTES,
            actual=len(rest),
            help="Look for a quote that is not closed. Load larger values as Arrow data.",
        )


def _problem(source: str, line: int, text: str) -> Problem:
    return Problem(reason=Reason.MALFORMED_CSV, message=text, source=source, line=line)
