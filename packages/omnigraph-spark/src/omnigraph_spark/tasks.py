"""What tasks do: functions for ``mapInArrow``, which run in the Python workers of a cluster.

Each is made on the driver from plain data and travels pickled; secrets are inside what is pickled and never in rows,
which Spark may show. A task returns what it did as one row of JSON: Spark keeps exactly one answer per partition, so
that files of attempts that failed, or came second, are in no answer and in no commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from omnigraph_spark.text_ranges import TextRange, count_quotes, open_range

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from omnigraph import BulkAttempt, BulkTicket, RowSet

Batches = Iterable[pa.RecordBatch]
Task = Callable[[Batches], Iterator[pa.RecordBatch]]

ANSWER: Final = "number long, answer string"
"""The columns of what writing tasks return: a number that orders the answers, and an attempt as JSON."""

RANGES: Final = (
    "number long, path string, start long, end long, type_name string, starts_quoted boolean, ends_quoted boolean"
)
"""The columns of what there is to read: the fields of a ``TextRange`` behind its number."""

GATHERED_ROWS: Final = 65_536
"""Spark hands over ten thousand rows at a time; checking has a price per batch."""


def write_rows(ticket: BulkTicket, type_name: str) -> Task:
    """A task that writes the rows of one type of its partition."""

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        attempt = written_rows(ticket, type_name, batches)
        if attempt is not None:
            context = TaskContext.get()
            yield _answer(0 if context is None else context.partitionId(), attempt)

    return task


def written_rows(ticket: BulkTicket, type_name: str, batches: Batches) -> BulkAttempt | None:
    """Write the rows of one type that a partition has; None when it has none."""
    rows = iter(batches)
    first = next(rows, None)
    if first is None:
        return None
    reader = pa.RecordBatchReader.from_batches(first.schema, gather(chain([first], rows)))
    attempt = ticket.attempt({type_name: reader})
    # Ordinals within a partition say nothing to anybody; ids do.
    unplaced = tuple(replace(each, line=None, source=_named(type_name, each.id)) for each in attempt.problems)
    return replace(attempt, problems=unplaced)


def write_ranges(ticket: BulkTicket) -> Task:
    """A task that writes the rows of ranges of text; each is a row of ``RANGES``."""

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        for number, piece in _ranges(batches):
            with open_range(piece) as text:
                attempt = ticket.attempt(text)
            if piece.start and not attempt.is_readable and all(each.line is None for each in attempt.problems):
                # The columns are wrong, which the range tells that they stand in.
                attempt = replace(attempt, problems=(), counts={})
            yield _answer(number, attempt)

    return task


def count_quotes_of(batches: Batches) -> Iterator[pa.RecordBatch]:
    """A task that counts the quotes in ranges of text."""
    for number, piece in _ranges(batches):
        yield pa.record_batch({"number": [number], "quotes": [count_quotes(piece)]})


def range_rows(ranges: Sequence[TextRange]) -> list[tuple[Any, ...]]:
    """Ranges as rows of ``RANGES``."""
    return [(number, *each.to_dict().values()) for number, each in enumerate(ranges)]


def _ranges(batches: Batches) -> Iterator[tuple[int, TextRange]]:
    for batch in batches:
        for row in batch.to_pylist():
            yield row.pop("number"), TextRange(**row)


def read_pieces(ticket: BulkTicket, rows: RowSet) -> Task:
    """A task that reads pieces of a set of rows; each is named by its number."""

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from gather(ticket.read(rows, batch["piece"].to_pylist()))

    return task


def gather(batches: Batches, at_least: int = GATHERED_ROWS) -> Iterator[pa.RecordBatch]:
    """The same rows in fewer batches: of so many rows each, but for the last."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= at_least:
            yield pa.concat_batches(held)
            held, rows = [], 0
    if held:
        yield pa.concat_batches(held)


def spread(spark: SparkSession, rows: Sequence[tuple[Any, ...]], schema: str) -> DataFrame:
    """A row for each thing to do, one partition for each as far as there are cores."""
    return spark.createDataFrame(list(rows), schema)


def _named(type_name: str, id_: str | None) -> str | None:
    return None if id_ is None else f"{type_name.rpartition(':')[2]} {id_!r}"


def _answer(number: int, attempt: BulkAttempt) -> pa.RecordBatch:
    return pa.record_batch({"number": [number], "answer": [attempt.to_json()]})
