"""The rows of Parquet whose row groups begin in a range of a file, read by Arrow in the task that writes them.

Spark would read them into rows of its own, and hand these to Python over a socket, which takes several times as long as
all else that a load does with them. What Arrow reads has the types that the file says, so that it is judged as it would
be in a load of one process; and a row has a place, its number in the file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from omnigraph.errors import InvalidInputError
from omnigraph_spark.input_files import open_native, store_errors
from omnigraph_spark.parquet_moments import right_moments

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from omnigraph_spark.file_ranges import FileRange

BATCH_BYTES: Final = 32 * 1024 * 1024
"""A batch has as many rows as are asked for, and fewer where these are wide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetRows:
    """The rows of a range, in their order.

    Attributes:
        reader: their batches; it is read once.
        are_first: the file has none before them; of a file without rows, its first range has these.
    """

    reader: pa.RecordBatchReader
    row_count: int
    are_first: bool


@contextmanager
def open_parquet(piece: FileRange, batch_rows: int) -> Iterator[ParquetRows]:
    """The rows of a range, which are read while the block lasts, at most so many at a time.

    Raises:
        InvalidInputError: the file is not there, is no Parquet, or has changed; also while rows are read.
        StorageError: the store says that something is wrong; also while rows are read.
    """
    import pyarrow.parquet as pq

    with open_native(piece.path) as native:
        with _told(piece):
            _refuse_changed(piece, native.size())
            # Finer parts of a moment are no part of a graph, and nanoseconds count three centuries only.
            file = pq.ParquetFile(native, pre_buffer=True, coerce_int96_timestamp_unit="ms")
        metadata = file.metadata
        # The last range has all that is left, so that no group is in none, even if a footer tells nonsense.
        groups = groups_in(metadata, piece.start, sys.maxsize if piece.end == piece.size else piece.end)
        rows = sum(metadata.row_group(each).num_rows for each in groups)
        size = sum(metadata.row_group(each).total_byte_size for each in groups)
        wanted = max(1, min(batch_rows, BATCH_BYTES * rows // max(size, 1)))
        # Each core has a task of its own.
        batches = file.iter_batches(wanted, row_groups=groups, use_threads=False)
        batches = right_moments(batches, file.schema, metadata.metadata or {}, piece.path)
        yield ParquetRows(
            reader=pa.RecordBatchReader.from_batches(file.schema_arrow, _telling(piece, batches)),
            row_count=rows,
            are_first=_first_group(metadata) in groups if metadata.num_rows else not piece.start,
        )


def refuse_lost_values(path: str, columns: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise if a directory on the way to a file is named by a value of a wanted column that the file does not have.

    Raises:
        InvalidInputError: the value would be lost, and null in its place.
    """
    directories = path.partition("?")[0].split("/")[:-1]
    for key in (each.partition("=")[0] for each in directories if "=" in each):
        if key in wanted and key not in columns:
            raise InvalidInputError(
                f"{path} has no column {key!r}; the directory that it lies in is named by its value.",
                help=f"Give the directory above those that are named {key}=..., or a DataFrame that has the column.",
                details={"path": path, "property": key},
            )


def groups_in(metadata: pq.FileMetaData, start: int, end: int) -> list[int]:
    """The row groups that begin between two bytes of a file: a run of them, whatever the file says."""
    begins = accumulate((_begin(metadata.row_group(each)) for each in range(metadata.num_row_groups)), max)
    return [number for number, begin in enumerate(begins) if start <= begin < end]


def _first_group(metadata: pq.FileMetaData) -> int:
    """The first row group that has rows, of a file that has some."""
    return next(each for each in range(metadata.num_row_groups) if metadata.row_group(each).num_rows)


def _begin(group: Any) -> int:
    if not group.num_columns:
        return 0
    first = group.column(0)
    return int(first.data_page_offset if first.dictionary_page_offset is None else first.dictionary_page_offset)


def _refuse_changed(piece: FileRange, size: int) -> None:
    if size != piece.size:
        raise InvalidInputError(
            f"{piece.path} had {piece.size:,} bytes when the load began, and has {size:,} now.",
            help="Load it when nobody writes to it any more.",
            details={"path": piece.path},
        )


def _telling(piece: FileRange, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    with _told(piece):
        yield from batches


@contextmanager
def _told(piece: FileRange) -> Iterator[None]:
    """Tells what Arrow makes of a broken file from what the system says, by a number, or a store that is far away."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and (error.errno is not None or "://" in piece.path):
            with store_errors(piece.path):
                raise
        raise InvalidInputError(
            f"{piece.path} cannot be read as Parquet: {str(error).strip().splitlines()[0].rstrip('.')}.",
            help="The file must hold Parquet; what Spark alone can read is given as a DataFrame, spark.read.parquet().",
            details={"path": piece.path},
        ) from error
