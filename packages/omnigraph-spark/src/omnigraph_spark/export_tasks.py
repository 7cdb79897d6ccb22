"""``ExportWork``: what the tasks of an export do, each for some parts of one type, each into one file.

    scans of one commit ── divide ──> tasks ── write(number), on any machine ──> a row that names the file

A task that is tried again, or run twice at a time, writes another file each time; only the one that a row names is
taken into the export.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from omnigraph_spark.export_target import ATTEMPTS, ExportTarget
from omnigraph_spark.task_errors import telling

if TYPE_CHECKING:
    import pyarrow as pa

    from omnigraph import TypeScan

TASK_BYTES: Final = 128 << 20
"""About how much of a type a task reads, as it is stored; a part that is larger is a task of its own."""
TASK_ROWS: Final = 1_000_000
"""Likewise in rows, where storage does not tell bytes."""

WRITTEN: Final = "task long, file string, rows long, bytes long"
"""The columns of what tasks report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportTask:
    """Parts of one type that become one file.

    Attributes:
        scan: which of the scans.
        parts: numbers of its parts; none for a type without rows.
    """

    scan: int
    parts: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A file that an attempt of a task has written."""

    task: int
    file: str
    rows: int
    bytes: int


def divide(scans: Sequence[TypeScan], *, with_empty: bool) -> tuple[ExportTask, ...]:
    """Tasks that read every part once, in the order of the scans.

    ``with_empty`` gives a type without rows a task too, whose file has the columns and nothing else.
    """
    tasks: list[ExportTask] = []
    for number, scan in enumerate(scans):
        group: list[int] = []
        size = rows = 0
        for part in scan.parts:
            if group and (size + part.byte_count > TASK_BYTES or rows + part.row_count > TASK_ROWS):
                tasks.append(ExportTask(scan=number, parts=tuple(group)))
                group, size, rows = [], 0, 0
            group.append(part.number)
            size, rows = size + part.byte_count, rows + part.row_count
        if group or with_empty:
            tasks.append(ExportTask(scan=number, parts=tuple(group)))
    return tuple(tasks)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportWork:
    """All tasks of an export, as a value that is sent to every machine."""

    target: ExportTarget
    format: str
    scans: tuple[TypeScan, ...] = field(repr=False)
    tasks: tuple[ExportTask, ...] = field(repr=False)

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """For ``mapInArrow`` over the numbers of tasks: does them, and tells what was written."""
        return telling(self._run)(batches)

    def _run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            for number in batch.column(0).to_pylist():
                done = self.write(number)
                row = {"task": done.task, "file": done.file, "rows": done.rows, "bytes": done.bytes}
                yield pa.RecordBatch.from_pylist([row])

    def write(self, number: int) -> Written:
        """Do one task, into a file that no other attempt writes.

        Raises:
            StorageError: rows cannot be read, or the file cannot be written.
        """
        name = f"{ATTEMPTS}/{number:05}-{uuid.uuid4().hex}.{self.format}"
        task = self.tasks[number]
        scan = self.scans[task.scan]
        with self.target.open().writing(name) as stream:
            rows = (_write_parquet if self.format == "parquet" else _write_lines)(scan, task.parts, stream)
            size = stream.tell()
        return Written(task=number, file=name, rows=rows, bytes=size)


def _write_parquet(scan: TypeScan, parts: tuple[int, ...], stream: object) -> int:
    from pyarrow import parquet

    rows = 0
    with parquet.ParquetWriter(stream, scan.schema, compression="zstd") as writer:
        for batch in scan.read(parts):
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def _write_lines(scan: TypeScan, parts: tuple[int, ...], stream: pa.NativeFile) -> int:
    rows = 0
    for lines in scan.lines(parts):
        stream.write("".join(f"{line}\n" for line in lines).encode())
        rows += len(lines)
    return rows
