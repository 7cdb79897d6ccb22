"""What tasks do: functions for ``mapInArrow``, which run in the Python workers of a cluster.

Each is made on the driver from plain data and travels pickled; secrets are inside what is pickled and never in rows,
which Spark may show. A task returns what it did as one row of JSON: Spark keeps exactly one answer per partition, so
that files of attempts that failed, or came second, are in no answer and in no commit. An exception is an order to try
again, and comes to the driver when Spark gives up; what would end the same way is handed back as data.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeVar

import pyarrow as pa

from omnigraph.errors import OmnigraphError, StorageCondition, StorageError
from omnigraph_spark.file_ranges import FileRange
from omnigraph_spark.parquet_ranges import open_parquet, refuse_lost_values
from omnigraph_spark.spreading import numbers_in
from omnigraph_spark.task_errors import telling
from omnigraph_spark.text_ranges import count_quotes, open_text

if TYPE_CHECKING:
    from omnigraph import BulkAttempt, BulkTicket, RowSet

T = TypeVar("T")
Batches = Iterable[pa.RecordBatch]
Task = Callable[[Batches], Iterator[pa.RecordBatch]]

FAILURE: Final = "failure"
"""The column of what a task returns that says why it could not do its work; see ``attempted``."""

ANSWER: Final = f"number long, answer string, {FAILURE} binary"
"""The columns of what writing tasks return: a number that orders the answers, and an attempt as JSON."""

QUOTES: Final = f"number long, quotes long, {FAILURE} binary"
"""The columns of what ``count_quotes_of`` returns."""

WORDY_ANSWERS: Final = 1_000
BRIEF_PROBLEMS: Final = 10
"""The driver holds what all tasks hand back, and all of them may be wrong. What comes first is told first: so many
answers tell a hundred problems of each reason, and those behind them so many in all."""

_PASSING: Final = (StorageCondition.TRANSIENT, StorageCondition.UNKNOWN)

GATHERED_ROWS: Final = 60_000
"""Spark hands over ten thousand rows at a time; checking has a price per batch. Core takes six of these at once, and
would cut a rest off seven and check that by itself."""

GATHERED_BYTES: Final = 64 * 1024 * 1024
"""What is gathered lies in memory twice for a moment."""

PROBED_ROWS: Final = 1_000_000
"""Arrow makes its hash table anew for each comparison of keys, so that each is about many rows."""


def write_rows(ticket: BulkTicket, type_name: str) -> Task:
    """A task that writes the rows of one type of its partition."""

    @telling
    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        attempt, failure = attempted(lambda: written_rows(ticket, type_name, batches))
        if attempt is not None or failure is not None:
            context = TaskContext.get()
            yield _answer(0 if context is None else context.partitionId(), attempt, failure)

    return task


def written_rows(ticket: BulkTicket, type_name: str, batches: Batches) -> BulkAttempt | None:
    """Write the rows of one type that a partition has; None when it has none."""
    rows = iter(batches)
    first = next(rows, None)
    if first is None:
        return None
    reader = pa.RecordBatchReader.from_batches(first.schema, gather(chain([first], rows)))
    attempt = ticket.attempt({type_name: reader})
    # Ordinals within a partition say nothing to anybody but the order of its rows; ids do.
    ordered = sorted(attempt.problems, key=lambda each: each.line or 0)
    unplaced = tuple(replace(each, line=None, source=_named(type_name, each.id)) for each in ordered)
    return replace(attempt, problems=unplaced)


def write_ranges(ticket: BulkTicket, ranges: Sequence[FileRange]) -> Task:
    """A task that writes the rows of ranges of files; see ``one_by_one``."""

    @telling
    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        for number in numbers_in(batches):
            yield _answer(number, *attempted(partial(written_range, ticket, ranges[number])))

    return task


def written_range(ticket: BulkTicket, piece: FileRange) -> BulkAttempt:
    """Write the rows of a range of a file; its lines are those of the range, and of Parquet its rows."""
    if piece.is_parquet:
        attempt, is_first = _written_parquet(ticket, piece)
    else:
        with open_text(piece) as text:
            attempt, is_first = ticket.attempt(text), not piece.start
    if not is_first and not attempt.is_readable and all(each.line is None for each in attempt.problems):
        # The columns are wrong, which the range tells that has the first rows of the file.
        return replace(attempt, problems=(), counts={})
    return attempt


def _written_parquet(ticket: BulkTicket, piece: FileRange) -> tuple[BulkAttempt, bool]:
    """What was written, and whether the rows are the first of their file."""
    with open_parquet(piece, GATHERED_ROWS) as rows:
        refuse_lost_values(piece.path, rows.reader.schema.names, ticket.columns_of(str(piece.type_name)))
        attempt = ticket.attempt({str(piece.type_name): rows.reader})
    placed = tuple(replace(each, source=piece.path) for each in attempt.problems)
    return replace(attempt, problems=placed, lines=rows.row_count), rows.are_first


def count_quotes_of(ranges: Sequence[FileRange]) -> Task:
    """A task that counts the quotes in ranges of text; see ``one_by_one``."""

    @telling
    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        for number in numbers_in(batches):
            quotes, failure = attempted(partial(count_quotes, ranges[number]))
            yield pa.record_batch({
                "number": [number],
                "quotes": pa.array([quotes], pa.int64()),
                FAILURE: pa.array([failure], pa.binary()),
            })  # fmt: skip

    return task


def read_pieces(ticket: BulkTicket, rows: RowSet) -> Task:
    """A task that reads pieces of a set of rows, by their numbers."""

    @telling
    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        yield from gather(ticket.read(rows, list(numbers_in(batches))))

    return task


def gather(batches: Batches, at_least: int = GATHERED_ROWS) -> Iterator[pa.RecordBatch]:
    """The same rows in fewer batches: of so many rows each, or fewer that are wide; and the rest."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= at_least or size >= GATHERED_BYTES:
            yield pa.concat_batches(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.concat_batches(held)


def attempted(work: Callable[[], T]) -> tuple[T | None, bytes | None]:
    """What work gives, or the error that it would end in every time, for ``raise_failure`` on the driver.

    Raises:
        StorageError: of a store that may do better next time; Spark tries the task again.
    """
    try:
        return work(), None
    except OmnigraphError as error:
        if isinstance(error, StorageError) and error.condition in _PASSING:
            raise
        return None, pickle.dumps(error)


def raise_failure(failure: bytes | None) -> None:
    """Raise what a task could not do, as it was raised there."""
    if failure is not None:
        raise pickle.loads(failure)  # noqa: S301 - a task of ours wrote it


def _named(type_name: str, id_: str | None) -> str | None:
    return None if id_ is None else f"{type_name.rpartition(':')[2]} {id_!r}"


def _answer(number: int, attempt: BulkAttempt | None, failure: bytes | None) -> pa.RecordBatch:
    if attempt is not None and number >= WORDY_ANSWERS:
        attempt = attempt.shortened(BRIEF_PROBLEMS)
    return pa.record_batch({
        "number": [number],
        "answer": pa.array([None if attempt is None else attempt.to_json()], pa.string()),
        FAILURE: pa.array([failure], pa.binary()),
    })  # fmt: skip
