"""JSONL files cut into ranges of bytes, each of which one task reads by itself.

    paths ── list_texts ──> TextFile ── cut ──> TextRange ── open_range ──> the whole lines that begin in it

A line belongs to the range that it begins in, so every line is read once and no task needs another. Where the lines of
a range stand in the file is known when the tasks before it have counted theirs.
"""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import pyarrow as pa
import pyarrow.fs as pafs

from omnigraph.errors import InvalidInputError

RANGE_BYTES: Final = 64 * 1024 * 1024
"""What one task reads at most of a file that can be cut."""

SUFFIXES: Final = (".jsonl", ".ndjson")
_PACKED: Final = ".gz"
_LOOK_AHEAD: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRange:
    """The lines of a file that begin between two of its bytes.

    Attributes:
        path: the name of the file as the user knows it; a URI where it is not on a disk.
        end: beyond the last byte; the size of the file, or what is unpacked of it, for a range up to its end.
    """

    path: str
    start: int
    end: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def list_texts(paths: Sequence[str | os.PathLike[str]], *, range_bytes: int = RANGE_BYTES) -> list[TextRange]:
    """The ranges of all files behind these names, in the order given; files of a directory or pattern by name.

    Raises:
        InvalidInputError: a name has no file behind it, or one that is no JSONL.
    """
    files = [found for each in paths for found in _find(os.fspath(each))]
    return [piece for path, size in files for piece in _cut(path, size, range_bytes)]


@contextmanager
def open_range(piece: TextRange) -> Iterator[BinaryIO]:
    """The lines of a range as a file with a name.

    Raises:
        InvalidInputError: the file is not there, or not any more.
    """
    with _open(piece.path) as file:
        start = _line_start(file, piece.start)
        end = None if piece.path.endswith(_PACKED) else _line_start(file, piece.end)
        file.seek(start)
        yield cast("BinaryIO", _Bounded(file, piece.path, None if end is None else end - start))


def is_text(path: str) -> bool:
    """Whether a name is that of JSONL, packed or not."""
    return path.removesuffix(_PACKED).lower().endswith(SUFFIXES)


class _Bounded:
    """The next bytes of a file, up to a number of them."""

    def __init__(self, file: BinaryIO, name: str, size: int | None) -> None:
        self._file = file
        self._left = size
        self.name = name

    def read(self, size: int) -> bytes:
        if self._left is not None:
            size = min(size, self._left)
        block = self._file.read(size) if size else b""
        if self._left is not None:
            self._left -= len(block)
        return block


def _line_start(file: BinaryIO, offset: int) -> int:
    """Where the first line begins that does not begin before an offset; the size of the file when there is none."""
    if offset == 0:
        return 0
    # A line that begins right at the offset follows the end of another one.
    place = offset - 1
    file.seek(place)
    while block := file.read(_LOOK_AHEAD):
        found = block.find(b"\n")
        if found >= 0:
            return place + found + 1
        place += len(block)
    return place


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _cut(path: str, size: int, range_bytes: int) -> Iterable[TextRange]:
    if path.endswith(_PACKED):
        return [TextRange(path=path, start=0, end=size)]
    starts = range(0, size, range_bytes)
    return [TextRange(path=path, start=start, end=min(start + range_bytes, size)) for start in starts]


def _find(name: str) -> list[tuple[str, int]]:
    """The files behind a name, with their sizes."""
    found = _find_remote(name) if "://" in name else _find_local(name)
    if not found:
        raise InvalidInputError(
            f"There is no JSONL file behind {name!r}.",
            help="Give files that end in .jsonl, .ndjson or these and .gz, a directory that has some, or a pattern.",
        )
    return found


def _find_local(name: str) -> list[tuple[str, int]]:
    path = Path(name)
    if path.is_dir():
        files = [each for each in sorted(path.iterdir()) if each.is_file() and is_text(each.name)]
    elif path.is_file():
        files = [path]
    else:
        files = [each for each in sorted(path.parent.glob(path.name)) if each.is_file()]
    return [(str(each), each.stat().st_size) for each in files]


def _find_remote(name: str) -> list[tuple[str, int]]:
    system, path = _remote(name)
    info = system.get_file_info(path)
    if info.type is pafs.FileType.File:
        return [(name, info.size)]
    if info.type is not pafs.FileType.Directory:
        return []
    listed = system.get_file_info(pafs.FileSelector(path))
    files = sorted((each.base_name, each.size) for each in listed if each.is_file and is_text(each.base_name))
    where, question, options = name.partition("?")
    return [(f"{where.rstrip('/')}/{base}{question}{options}", size) for base, size in files]


@contextmanager
def _open(name: str) -> Iterator[BinaryIO]:
    try:
        if "://" in name:
            system, path = _remote(name)
            file: Any = io.BufferedReader(system.open_input_file(path))
        else:
            file = Path(name).open("rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise InvalidInputError(
            f"{name} cannot be read: {error}.", help="The file must be there for the tasks too, under the same name."
        ) from error
    with file:
        is_packed = name.partition("?")[0].endswith(_PACKED)
        yield cast("BinaryIO", gzip.GzipFile(fileobj=file) if is_packed else file)


def _remote(name: str) -> tuple[Any, str]:
    try:
        system, path = pafs.FileSystem.from_uri(name)
    except (pa.ArrowException, OSError) as error:
        raise InvalidInputError(
            f"{name!r} cannot be reached: {error}.", help="Give a path, or a URI that Arrow knows, such as s3://."
        ) from error
    return system, path
