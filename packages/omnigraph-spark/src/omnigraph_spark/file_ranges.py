"""Files cut into ranges of bytes, each of which one task reads by itself.

    paths ── list_ranges ──> FileRange ── open_text, open_parquet ──> the rows that begin in it

A row belongs to the range that it begins in, and of Parquet to that in which its row group begins, so every row is read
once and no task needs another. Nothing is opened to cut a file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from omnigraph.errors import InvalidInputError
from omnigraph_spark.input_files import Form, find_files, form_of, is_packed

RANGE_BYTES: Final = 64 * 1024 * 1024
"""What one task reads at most of a file that can be cut."""

_DELIMITERS: Final = {Form.CSV: ",", Form.TSV: "\t"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRange:
    """The rows of a file that begin between two of its bytes.

    Attributes:
        path: the name of the file as the user knows it; a URI where it is not on a disk.
        end: beyond the last byte; the size of the file, or what is unpacked of it, for a range up to its end.
        size: of the file when it was cut.
        type_name: the type that all rows are of; None for records that say theirs.
        starts_quoted: of CSV, whether the first byte stands within quotes.
        ends_quoted: the same of the first byte behind it.
    """

    path: str
    start: int
    end: int
    size: int
    type_name: str | None = None
    starts_quoted: bool = False
    ends_quoted: bool = False

    @property
    def is_parquet(self) -> bool:
        return form_of(self.path) is Form.PARQUET

    @property
    def delimiter(self) -> str | None:
        """What stands between the cells of CSV; None for other forms."""
        form = form_of(self.path)
        return None if form is None else _DELIMITERS.get(form)


def list_ranges(
    paths: Sequence[str | os.PathLike[str]],
    type_name: str | None = None,
    form: Form | None = None,
    *,
    range_bytes: int = RANGE_BYTES,
) -> list[FileRange]:
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


def _cut(path: str, size: int, type_name: str | None, range_bytes: int) -> Iterable[FileRange]:
    # A file without anything names its type too: to overwrite with one empties the type.
    if is_packed(path) or (not size and type_name is not None):
        return [FileRange(path=path, start=0, end=size, size=size, type_name=type_name)]
    starts = range(0, size, range_bytes)
    ends = (min(start + range_bytes, size) for start in starts)
    return [
        FileRange(path=path, start=start, end=end, size=size, type_name=type_name)
        for start, end in zip(starts, ends, strict=True)
    ]
