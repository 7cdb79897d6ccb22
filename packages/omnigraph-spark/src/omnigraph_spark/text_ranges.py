"""The rows of JSONL and CSV that begin in a range of a file.

Where the lines of a range stand in the file is known when the tasks before it have counted theirs. A row of CSV may
have ends of lines within quotes: whether a range begins within some is known when the quotes before it are counted.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import BinaryIO, Final, cast

import omnigraph
from omnigraph.errors import InvalidInputError
from omnigraph_spark.file_ranges import FileRange
from omnigraph_spark.input_files import is_packed, open_file

_LOOK_AHEAD: Final = 1024 * 1024


def with_quotes(ranges: Sequence[FileRange], quotes: Sequence[int]) -> list[FileRange]:
    """Ranges that know whether they begin within quotes, from the number of quotes in each."""
    found: list[FileRange] = []
    is_quoted = False
    for each, count in zip(ranges, quotes, strict=True):
        starts_quoted = is_quoted and each.start > 0
        is_quoted = starts_quoted ^ bool(count % 2)
        found.append(replace(each, starts_quoted=starts_quoted, ends_quoted=is_quoted))
    return found


def count_quotes(piece: FileRange) -> int:
    """How many quotes the bytes of a range have.

    Raises:
        InvalidInputError: the file is not there, or not any more.
    """
    count, left = 0, piece.end - piece.start
    with open_file(piece.path) as file:
        file.seek(piece.start)
        while left and (block := file.read(min(left, _LOOK_AHEAD))):
            count += block.count(b'"')
            left -= len(block)
    return count


@contextmanager
def open_text(piece: FileRange) -> Iterator[BinaryIO | omnigraph.TypedText]:
    """The rows of a range, as a bulk ticket takes them.

    Raises:
        InvalidInputError: the file is not there, or not any more.
    """
    is_csv = piece.delimiter is not None
    with open_file(piece.path) as file:
        columns = _read_columns(file, piece) if is_csv and piece.start else None
        start = _row_start(file, piece.start, piece.starts_quoted if is_csv else None)
        end = None if is_packed(piece.path) else _row_start(file, piece.end, piece.ends_quoted if is_csv else None)
        file.seek(start)
        text = cast("BinaryIO", _Bounded(file, piece.path, None if end is None else end - start))
        if piece.type_name is None:
            yield text
        else:
            yield omnigraph.TypedText(type_name=piece.type_name, file=text, delimiter=piece.delimiter, columns=columns)


class _Bounded:
    """The next bytes of a file, up to a number of them."""

    def __init__(self, file: BinaryIO, name: str, size: int | None) -> None:
        self._file = file
        self._left = size
        self.name = name

    def read(self, size: int) -> bytes:
        if self._left is not None:
            size = min(size, self._left)
        try:
            block = self._file.read(size) if size else b""
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InvalidInputError(
                f"{self.name} is no whole gzip file: {error}.",
                help="Pack it again, or leave off .gz if it is not packed.",
            ) from error
        if self._left is not None:
            self._left -= len(block)
        return block


def _row_start(file: BinaryIO, offset: int, is_quoted: bool | None) -> int:
    """Where the first row begins that does not begin before an offset; the size of the file when there is none.

    ``is_quoted`` says whether the byte at the offset stands within quotes; None where quotes mean nothing.
    """
    if offset == 0:
        return 0
    # A row that begins right at the offset follows the end of another one.
    file.seek(offset - 1)
    place = offset
    if file.read(1) == b"\n" and not is_quoted:
        return place
    while block := file.read(_LOOK_AHEAD):
        at = 0
        while (found := block.find(b"\n", at)) >= 0:
            is_quoted = is_quoted if is_quoted is None else is_quoted ^ bool(block.count(b'"', at, found) % 2)
            if not is_quoted:
                return place + found + 1
            at = found + 1
        is_quoted = is_quoted if is_quoted is None else is_quoted ^ bool(block.count(b'"', at) % 2)
        place += len(block)
    return place


def _read_columns(file: BinaryIO, piece: FileRange) -> list[str]:
    """The names in the first row of a file of CSV; what is wrong with them is told by the range that they are in."""
    lines = (line.decode("utf-8-sig", "replace") for line in file)
    try:
        return next((row for row in csv.reader(lines, delimiter=piece.delimiter or ",") if row), [])
    except csv.Error:
        return []
