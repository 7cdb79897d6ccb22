"""What a user gives to ``load`` becomes blocks of bytes with a name, or the records and Arrow data that it already is.

    Path, text, bytes, file object ──> TextSource        iterable of dicts ──> RecordSource
    {"Film": table, "edge:Rented": reader} ──> ArrowSource

Nothing of a file is read here but on demand, block by block. Whatever is wrong with the input as a whole is told at
once: a file that is not there, a directory, a format that is read in another way.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from omnigraph.errors import InvalidInputError, StorageError
from omnigraph.storage.failures import advice_for, condition_of, describe_failure

LoadInput = (
    str | bytes | bytearray | memoryview | os.PathLike[str] | IO[bytes] | IO[str] | Iterable[Mapping[str, Any]]
    | Mapping[str, Any]
)  # fmt: skip
"""What can be loaded: NDJSON in any of these forms, records, or Arrow data by type name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedText:
    """A text of rows of one type: JSONL without types, or CSV.

    Attributes:
        type_name: ``Film``, or ``node:Film`` and ``edge:Film`` where both exist.
        file: its bytes; problems tell its ``name``.
        delimiter: what stands between the cells of CSV; None for JSONL.
        columns: the names of the columns of CSV, where they are not the first row of the text.
    """

    type_name: str
    file: IO[bytes]
    delimiter: str | None = None
    columns: Sequence[str] | None = None


TEXT_SUFFIXES: Final = (".jsonl", ".ndjson")
_BLOCK: Final = 1024 * 1024
_LONGEST_NAME: Final = 4096
"""A text that is longer is no name of a file."""
_FORMS: Final = (
    'Give JSONL as a pathlib.Path, text, bytes or an open file; or a list of records such as {"type": "Film", "data": '
    '{...}}; or Arrow data by type name, such as {"Film": table}.'
)
_ARROW_FORMS: Final = (
    "Give each type an Arrow table, batch or reader, or a data frame: pyarrow.parquet.read_table(path) for a Parquet "
    "file, pyarrow.RecordBatchReader.from_batches(schema, batches) for batches that come one by one."
)


@dataclass(frozen=True, slots=True)
class TextSource:
    """NDJSON as blocks of bytes of any size, not cut at lines.

    Attributes:
        name: the name of the file, or ``<text>``.
    """

    blocks: Iterator[bytes]
    name: str = "<text>"


@dataclass(frozen=True, slots=True)
class RecordSource:
    """Records as Python objects."""

    records: Iterator[Any]


@dataclass(frozen=True, slots=True)
class ArrowSource:
    """Arrow data by type name; every value can be read as an Arrow stream."""

    data: Mapping[str, Any]


def open_source(data: LoadInput) -> TextSource | RecordSource | ArrowSource:
    """What the input is. A file is opened when its first block is asked for, and closed behind its last.

    Raises:
        InvalidInputError: it is nothing that can be loaded.
    """
    if isinstance(data, str):
        return _text_source(data)
    if isinstance(data, bytes | bytearray | memoryview):
        view = memoryview(data).cast("B")
        return TextSource(bytes(view[at : at + _BLOCK]) for at in range(0, len(view), _BLOCK))
    if isinstance(data, os.PathLike):
        return _file_source(Path(os.fsdecode(os.fspath(data))))
    if callable(getattr(data, "read", None)) and not is_arrow(data):
        return open_text(data)
    if isinstance(data, Mapping):
        return _arrow_source(data)
    if is_arrow(data):
        raise InvalidInputError(
            f"Arrow data needs the name of its type, and a {type(data).__name__} was given alone.",
            help='Pass it by type name: load({"Film": table}).',
        )
    if isinstance(data, Iterable):
        return RecordSource(iter(data))
    raise InvalidInputError(f"A value of type {type(data).__name__} cannot be loaded.", help=_FORMS)


def open_text(file: Any) -> TextSource:
    """The blocks of an open file."""
    name = getattr(file, "name", None)
    blocks = _read_object(file.read, name)
    return TextSource(blocks, name) if isinstance(name, str) and name else TextSource(blocks)


def is_arrow(data: object) -> bool:
    """Whether something gives Arrow data: a table, a batch, a reader, a data frame."""
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")


def _text_source(text: str) -> TextSource:
    line = text[:_LONGEST_NAME].removeprefix("\ufeff").strip()
    if len(text) > _LONGEST_NAME or "\n" in line or not line or line.startswith(("{", "[", "//")):
        return TextSource(_encode(text))
    if line.lower().endswith(TEXT_SUFFIXES) and "://" not in line:
        return _file_source(Path(line))
    shown = line if len(line) <= 60 else f"{line[:57]}..."
    raise InvalidInputError(
        f'"{shown}" is neither JSONL nor the name of a file that ends in .jsonl or .ndjson.',
        help="Pass a file as pathlib.Path(...); open one that is elsewhere and pass the open file.",
    )


def _encode(text: str) -> Iterator[bytes]:
    # Half of a surrogate pair has no UTF-8; passed on as it is, it is found with its line.
    for at in range(0, len(text), _BLOCK):
        yield text[at : at + _BLOCK].encode("utf-8", "surrogatepass")


def _arrow_source(data: Mapping[str, Any]) -> ArrowSource:
    for name, value in data.items():
        if not is_arrow(value):
            is_record = "type" in data or "edge" in data
            raise InvalidInputError(
                f"A mapping is read as Arrow data by type name, and {name!r} has a {type(value).__name__}.",
                help="Pass records in a list: load([{...}])." if is_record else _ARROW_FORMS,
            )
    return ArrowSource(data)


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _file_source(path: Path) -> TextSource:
    if path.suffix.lower() == ".parquet":
        raise InvalidInputError(
            f"{path} is a Parquet file, which does not say its type.",
            help='Read it in Python and say the type: graph.load({"Film": pyarrow.parquet.read_table(path)}, mode).',
        )
    return TextSource(_read_file(path), str(path))


def _read_file(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                yield block
    except FileNotFoundError as error:
        raise InvalidInputError(f"There is no file {path}.", help="Check the name.") from error
    except IsADirectoryError as error:
        raise InvalidInputError(f"{path} is a directory.", help="Pass a file; load each file by itself.") from error
    except OSError as error:
        raise _unreadable(str(path), error) from error


def _read_object(read: Any, name: object) -> Iterator[bytes]:
    place = name if isinstance(name, str) else "the open file"
    try:
        while (block := read(_BLOCK)) or block is None:
            if isinstance(block, str):
                yield block.encode("utf-8", "surrogatepass")
            elif isinstance(block, bytes | bytearray | memoryview):
                yield bytes(block)
            else:
                raise InvalidInputError(f"read() of {place} gave a {type(block).__name__}, not bytes.", help=_FORMS)
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{place} was opened as text and is not in the encoding that it was opened with ({error.encoding}).",
            help="Open it in binary mode; JSONL is UTF-8.",
        ) from error
    except OSError as error:
        raise _unreadable(place, error) from error


def _unreadable(place: str, error: OSError) -> StorageError:
    condition = condition_of(error)
    return StorageError(
        f"{place} cannot be read: {describe_failure(error)}.",
        condition=condition,
        help=advice_for(error, condition),
        details={"path": place},
    )
