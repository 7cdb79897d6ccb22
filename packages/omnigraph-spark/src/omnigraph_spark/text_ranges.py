"""Files of JSONL and CSV cut into ranges of bytes, each of which one task reads by itself.

    paths ── list_texts ──> TextRange ── open_range ──> the whole rows that begin in it

A row belongs to the range that it begins in, so every row is read once and no task needs another. Where the lines of a
range stand in the file is known when the tasks before it have counted theirs. A row of CSV may have ends of lines
within quotes: whether a range begins within some is known when the quotes before it are counted.
"""

from __future__ import annotations

import csv
import gzip
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, BinaryIO, Final, cast

import omnigraph
from omnigraph.errors import InvalidInputError
from omnigraph_spark.text_files import Form, find_files, form_of, is_packed, open_file

RANGE_BYTES: Final = 64 * 1024 * 1024
"""What one task reads at most of a file that can be cut."""

_DELIMITERS: Final = {Form.CSV: ",", Form.TSV: "\t"}
_LOOK_AHEAD: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRange:
    """The rows of a file that begin between two of its bytes.

    Attributes:
        path: the name of the file as the user knows it; a URI where it is not on a disk.
        end: beyond the last byte; the size of the file, or what is unpacked of it, for a range up to its end.
        type_name: the type that all rows are of; None for records that say theirs.
        starts_quoted: of CSV, whether the first byte stands within quotes.
        ends_quoted: the same of the first byte behind it.
    """

    path: str
    start: int
    end: int
    type_name: str | None = None
    starts_quoted: bool = False
    ends_quoted: bool = False

    @property
    def delimiter(self) -> str | None:
        """What stands between the cells of CSV; None for JSONL."""
        form = form_of(self.path)
        return None if form is None else _DELIMITERS.get(form)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def list_texts(
    paths: Sequence[str | os.PathLike[str]],
    type_name: str | None = None,
    form: Form | None = None,
    *,
    range_bytes: int = RANGE_BYTES,
) -> list[TextRange]:
    """The ranges of all files behind these names, in the order given; files of a directory or pattern by name.

    Args:
        paths: files, directories or patterns.
        type_name: the type that all rows are of; None for records that say theirs, in JSONL.
        form: what the files of one type hold.
        range_bytes: how much one task reads at most.

    Raises:
        InvalidInputError: a name has no file behind it, or one that is read in another way.
    """
    files = [found for each in paths for found in find_files(os.fspath(each), form)]
    for each in files:
        found = form_of(each.path)
        if type_name is None and found not in (None, Form.JSONL):
            raise InvalidInputError(
                f"{each.path} is {found}, which does not say the type of its rows.",
                help=f'Pass it by type, such as {{"Person": "{each.path}"}}.',
            )
    return [piece for each in files for piece in _cut(each.path, each.size, type_name, range_bytes)]


def with_quotes(ranges: Sequence[TextRange], quotes: Sequence[int]) -> list[TextRange]:
    """Ranges that know whether they begin within quotes, from the number of quotes in each."""
    found: list[TextRange] = []
    is_quoted = False
    for each, count in zip(ranges, quotes, strict=True):
        starts_quoted = is_quoted and each.start > 0
        is_quoted = starts_quoted ^ bool(count % 2)
        found.append(replace(each, starts_quoted=starts_quoted, ends_quoted=is_quoted))
    return found


def count_quotes(piece: TextRange) -> int:
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
def open_range(piece: TextRange) -> Iterator[BinaryIO | omnigraph.TypedText]:
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


def _read_columns(file: BinaryIO, piece: TextRange) -> list[str]:
    """The names in the first row of a file of CSV; what is wrong with them is told by the range that they are in."""
    lines = (line.decode("utf-8-sig", "replace") for line in file)
    try:
        return next((row for row in csv.reader(lines, delimiter=piece.delimiter or ",") if row), [])
    except csv.Error:
        return []


def _cut(path: str, size: int, type_name: str | None, range_bytes: int) -> Iterable[TextRange]:
    # A file without anything names its type too: to overwrite with one empties the type.
    if is_packed(path) or (not size and type_name is not None):
        return [TextRange(path=path, start=0, end=size, type_name=type_name)]
    starts = range(0, size, range_bytes)
    ends = (min(start + range_bytes, size) for start in starts)
    return [
        TextRange(path=path, start=start, end=end, type_name=type_name) for start, end in zip(starts, ends, strict=True)
    ]
