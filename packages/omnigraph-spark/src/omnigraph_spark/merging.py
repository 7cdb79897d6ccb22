"""``SparkMerger``: which rows of a load replace which of the graph, found and done by tasks.

    ids of the load ──┐                    ┌── per file of the load: rows that replace apart from those that are new
                      ├── joined by id ────┤
    ids of the graph ─┘                    └── per part of the graph: rows that are replaced are marked

    few ids in the load    tasks read the graph, and each holds all ids of the load
    more                   by shuffle

What comes back to the driver is one description per file and part. Files and marks of tasks that were done twice are in
no answer, and so in no commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from omnigraph import BulkMerger, MergedRows
from omnigraph_spark.judge import JudgeLimits, SparkJudge
from omnigraph_spark.spreading import numbers_in, spread
from omnigraph_spark.task_errors import plain_errors, telling, told_errors
from omnigraph_spark.tasks import FAILURE, PROBED_ROWS, Batches, Task, attempted, gather, raise_failure
from omnigraph_spark.workers import prepare_worker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from omnigraph import BulkTicket, MergeWork, RowsToMerge

_KEYS: Final = "piece int, row long, key string"
_KEY_SCHEMA: Final = pa.schema({"piece": pa.int32(), "row": pa.int64(), "key": pa.string()})
_PLACES: Final = "key string, address long, row_id long, made_at long"
_FOUND: Final = "piece int, row long, address long, row_id long, made_at long"
_DONE: Final = f"number int, answer string, {FAILURE} binary"

_PART_BITS: Final = 32
"""An address is the number of a part, and below it so many bits of an offset."""


class SparkMerger(BulkMerger):
    """Merges by jobs of one Spark session."""

    def __init__(self, spark: SparkSession, ticket: BulkTicket, limits: JudgeLimits | None = None) -> None:
        self._spark = spark
        self._ticket = ticket
        self._limits = limits or JudgeLimits()
        self._judge = SparkJudge(spark, ticket, self._limits)

    @plain_errors()
    def merge(self, asked: RowsToMerge) -> MergedRows:
        do_repeat = asked.may_repeat and bool(self._judge.repeated(asked.rows, 0).count)
        if not asked.parts and not do_repeat:
            return MergedRows.gathered(asked, {}, ())
        # Both jobs read it; it is small beside the rows, and what does not fit goes to disk.
        found = self._found(asked, do_repeat=do_repeat).persist()
        try:
            settled = _done(found.groupBy("piece").applyInArrow(settle(self._ticket, asked), _DONE))
            if not settled:
                return MergedRows.gathered(asked, {}, ())
            replaced = found.where("address is not null").withColumn("part", F.shiftright("address", _PART_BITS))
            marked = _done(replaced.groupBy("part").applyInArrow(mark(self._ticket, asked), _DONE))
        finally:
            found.unpersist()
        return MergedRows.gathered(asked, dict(settled), [answer for _, answer in marked])

    def _found(self, asked: RowsToMerge, *, do_repeat: bool) -> DataFrame:
        """What is found of new rows, by file; nothing of those that are new and stay."""
        parts = spread(self._spark, len(asked.parts))
        if not do_repeat and asked.rows.row_count <= self._limits.keys_in_task:
            return parts.mapInArrow(probe(self._ticket, asked), _FOUND)
        files = spread(self._spark, len(asked.rows.pieces))
        keys = files.mapInArrow(read_keys(self._ticket, asked), _KEYS)
        places = parts.mapInArrow(read_places(self._ticket, asked), _PLACES)
        if not do_repeat:
            return keys.join(places, "key").drop("key")
        last = F.max("row").over(Window.partitionBy("key"))
        both = keys.withColumn("is_last", F.col("row") == last).join(places, "key", "left")
        # A row that a later one overtakes replaces nothing and is not new: it goes without a place.
        own = [F.when(F.col("is_last"), F.col(name)).alias(name) for name in ("address", "row_id", "made_at")]
        return both.where("address is not null or not is_last").select("piece", "row", *own)


def read_keys(ticket: BulkTicket, asked: RowsToMerge) -> Task:
    """A task that reads the ids of files of the load, each named by its number."""

    @telling
    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        with ticket.merge_work(asked) as work:
            yield from _keys(work, list(numbers_in(batches)))

    return task


def _keys(work: MergeWork, numbers: Iterable[int]) -> Iterator[pa.RecordBatch]:
    """The ids of files of the load, with the numbers of the files."""
    for number in numbers:
        for batch in gather(work.keys([number])):
            piece = pa.repeat(pa.scalar(number, pa.int32()), batch.num_rows)
            yield pa.RecordBatch.from_arrays([piece, batch["row"], batch["key"]], schema=_KEY_SCHEMA)


def read_places(ticket: BulkTicket, asked: RowsToMerge) -> Task:
    """A task that reads ids and places of parts of the graph, each named by its number."""

    @telling
    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        with ticket.merge_work(asked) as work:
            yield from gather(work.places(list(numbers_in(batches))))

    return task


def probe(ticket: BulkTicket, asked: RowsToMerge) -> Task:
    """A task that reads parts of the graph and finds the rows of the load that replace theirs; no id comes twice."""

    @telling
    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        numbers = list(numbers_in(batches))
        if not numbers:
            return
        with ticket.merge_work(asked) as work:
            own = pa.Table.from_batches(_keys(work, range(len(asked.rows.pieces))), _KEY_SCHEMA)
            for batch in gather(work.places(numbers), PROBED_ROWS):
                at = pc.index_in(batch["key"], value_set=own["key"])
                found, here = own.select(["piece", "row"]).take(at.drop_null()), batch.filter(at.is_valid())
                for name in ("address", "row_id", "made_at"):
                    found = found.append_column(name, here[name])
                yield from found.combine_chunks().to_batches()

    return task


Grouped = Callable[[tuple[pa.Scalar, ...], pa.Table], pa.Table]


def settle(ticket: BulkTicket, asked: RowsToMerge) -> Grouped:
    """What is done with all that was found of the rows of one file."""

    def task(key: tuple[pa.Scalar, ...], found: pa.Table) -> pa.Table:
        number = int(key[0].as_py())
        return _worked(ticket, asked, number, lambda work: work.settle(number, found))

    return task


def mark(ticket: BulkTicket, asked: RowsToMerge) -> Grouped:
    """What is done with the places of all rows of one part that are replaced."""

    def task(key: tuple[pa.Scalar, ...], found: pa.Table) -> pa.Table:
        return _worked(ticket, asked, int(key[0].as_py()), lambda work: work.mark(found["address"]))

    return task


def _worked(ticket: BulkTicket, asked: RowsToMerge, number: int, do: Callable[[MergeWork], str]) -> pa.Table:
    """What work on a file or a part gives, as a row of ``_DONE``."""

    def done() -> str:
        with ticket.merge_work(asked) as work:
            return do(work)

    prepare_worker()
    with told_errors():
        answer, failure = attempted(done)
    return pa.table({
        "number": pa.array([number], pa.int32()),
        "answer": pa.array([answer], pa.string()),
        FAILURE: pa.array([failure], pa.binary()),
    })  # fmt: skip


def _done(answers: DataFrame) -> list[tuple[int, str]]:
    """What tasks handed back, by number."""
    rows = answers.collect()
    for each in rows:
        raise_failure(each[FAILURE])
    return sorted((each["number"], each["answer"]) for each in rows)
