"""``SparkJudge``: questions about many rows, answered where the rows are.

    up to ``rows_in_task`` rows        one task reads them and answers, in bounded memory
    more, about few keys               tasks share the rows, and each holds all the keys
    more                               by shuffle: exact joins and groups of keys

The rows of a question are read by tasks straight from the files, with the columns that it is about and no others; what
comes back to the driver is a count and the first few rows that were found. All ways give the same answers.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from omnigraph import BulkJudge, Found
from omnigraph_spark.spreading import numbers_in, spread
from omnigraph_spark.task_errors import plain_errors, telling
from omnigraph_spark.tasks import (
    FAILURE,
    PROBED_ROWS,
    Batches,
    Task,
    attempted,
    gather,
    raise_failure,
    read_pieces,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from omnigraph import BulkTicket, RowSet

_ROW: Final = pa.schema({"row": pa.int64()})
_FIRST: Final = _ROW.append(pa.field("first", pa.int64()))
_HOLDER: Final = _ROW.append(pa.field("holder", pa.string()))
_SPARK_TYPES: Final = {
    pa.int32(): "int", pa.int64(): "long", pa.string(): "string", pa.bool_(): "boolean", pa.float32(): "float",
    pa.float64(): "double",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeLimits:
    """From which size on a question is answered in another way.

    Attributes:
        rows_in_task: rows of all sides together, up to which one task answers.
        keys_in_task: keys that a task holds to compare with; some 60 bytes each.
    """

    rows_in_task: int = 16_000_000
    keys_in_task: int = 4_000_000


class SparkJudge(BulkJudge):
    """Answers by jobs of one Spark session. What tasks raise comes as itself, so that core can tell what it means."""

    def __init__(self, spark: SparkSession, ticket: BulkTicket, limits: JudgeLimits | None = None) -> None:
        self._spark = spark
        self._ticket = ticket
        self._limits = limits or JudgeLimits()

    @plain_errors()
    def absent(self, rows: RowSet, known: Sequence[RowSet], keep: int) -> Found:
        if self._fits_in_task(rows, *known):
            return self._ask(lambda judge: judge.absent(rows, known, keep))
        return self._compare(rows, known, keep, are_known=False)

    @plain_errors()
    def taken(self, rows: RowSet, known: Sequence[RowSet], keep: int) -> Found:
        if self._fits_in_task(rows, *known):
            return self._ask(lambda judge: judge.taken(rows, known, keep))
        return self._compare(rows, known, keep, are_known=True)

    @plain_errors()
    def repeated(self, rows: RowSet, keep: int) -> Found:
        if self._fits_in_task(rows):
            return self._ask(lambda judge: judge.repeated(rows, keep))
        keys, frame = list(rows.keys), self._frame(rows)
        groups = frame.groupBy(*keys).agg(F.count("*").alias("rows"), F.min("row").alias("first"))
        several = groups.where("rows > 1")
        (count,) = several.agg(F.coalesce(F.sum(F.col("rows") - 1), F.lit(0))).collect()[0]
        if not count:
            return Found(count=0, first=_FIRST.empty_table())
        later = frame.join(several, keys).where("row > first").select("row", "first")
        return Found(count=count, first=later.orderBy("row").limit(keep).toArrow().cast(_FIRST))

    @plain_errors()
    def held(self, rows: RowSet, others: RowSet, keep: int) -> Found:
        if self._fits_in_task(rows, others):
            return self._ask(lambda judge: judge.held(rows, others, keep))
        theirs = self._frame(others).withColumnRenamed("id", "holder")
        pairs = self._frame(rows).join(theirs, list(rows.keys)).where("id <> holder").select("row", "holder")
        return _found(pairs, _HOLDER, keep)

    @plain_errors()
    def outnumbered(self, new: RowSet, kept: RowSet, gone: RowSet, minimum: int, maximum: int | None) -> pa.Table:
        if self._fits_in_task(new, kept, gone):
            return self._ask(lambda judge: _counted(judge.outnumbered(new, kept, gone, minimum, maximum))).first
        nowhere = F.lit(-1).cast("long")
        sides = [
            self._frame(new).select("src", F.lit(1).alias("edges"), "row", F.lit(1).alias("touched")),
            self._frame(kept).select("src", F.lit(1), nowhere, F.lit(0)),
            self._frame(gone).select("src", F.lit(0), nowhere, F.lit(1)),
        ]
        totals = _union(sides).groupBy("src")
        counted = totals.agg(
            F.sum("edges").alias("edges"), F.max("row").alias("row"), F.max("touched").alias("touched")
        )
        is_broken = F.col("edges") < minimum
        if maximum is not None:
            is_broken = is_broken | (F.col("edges") > maximum)
        return counted.where(is_broken & (F.col("touched") == 1)).select("src", "edges", "row").toArrow()

    def _compare(self, rows: RowSet, known: Sequence[RowSet], keep: int, *, are_known: bool) -> Found:
        if sum(each.row_count for each in known) <= self._limits.keys_in_task:
            found = self._pieces(rows).mapInArrow(compare_keys(self._ticket, rows, known, are_known), "row long")
        else:
            theirs = _union([self._frame(each).select("key") for each in known])
            found = self._frame(rows).join(theirs, "key", "left_semi" if are_known else "left_anti").select("row")
        return _found(found, _ROW, keep)

    def _fits_in_task(self, *sides: RowSet) -> bool:
        return sum(each.row_count for each in sides) <= self._limits.rows_in_task

    def _ask(self, question: Callable[[BulkJudge], Found]) -> Found:
        """The answer of one task."""
        one = spread(self._spark, 1)
        columns = f"count long, first binary, {FAILURE} binary"
        (row,) = one.mapInArrow(answer(self._ticket, question), columns).collect()
        raise_failure(row[FAILURE])
        return Found(count=row["count"], first=pa.ipc.open_stream(io.BytesIO(row["first"])).read_all())

    def _pieces(self, rows: RowSet) -> DataFrame:
        return spread(self._spark, len(rows.pieces))

    def _frame(self, rows: RowSet) -> DataFrame:
        """The rows of a set as Spark reads them."""
        return self._pieces(rows).mapInArrow(read_pieces(self._ticket, rows), wire_columns(rows.schema))


def answer(ticket: BulkTicket, question: Callable[[BulkJudge], Found]) -> Task:
    """A task that answers a question by itself."""

    @telling
    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            found, failure = attempted(lambda: _answered(ticket, question))
            count, first = found or (None, None)
            yield pa.record_batch({
                "count": pa.array([count], pa.int64()),
                "first": pa.array([first], pa.binary()),
                FAILURE: pa.array([failure], pa.binary()),
            })  # fmt: skip

    return task


def _answered(ticket: BulkTicket, question: Callable[[BulkJudge], Found]) -> tuple[int, bytes]:
    with ticket.judge() as judge:
        found = question(judge)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, found.first.schema) as stream:
        stream.write_table(found.first)
    return found.count, sink.getvalue()


def compare_keys(ticket: BulkTicket, rows: RowSet, known: Sequence[RowSet], are_known: bool) -> Task:
    """A task that reads pieces of rows (row, key) and lets those through whose key is known, or is not."""

    @telling
    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        pieces = list(numbers_in(batches))
        if not pieces:
            return
        every = (batch for each in known for batch in ticket.read(each, range(len(each.pieces))))
        keys = pa.chunked_array([batch["key"] for batch in every], pa.string())
        for batch in gather(ticket.read(rows, pieces), PROBED_ROWS):
            is_known = pc.is_in(batch["key"], value_set=keys)
            yield batch.filter(is_known if are_known else pc.invert(is_known)).select(["row"])

    return task


def wire_columns(schema: pa.Schema) -> str:
    """The columns of a set of rows in the words of Spark."""
    return ", ".join(f"{each.name} {_SPARK_TYPES[each.type]}" for each in schema)


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.union(other), frames)


def _counted(rows: pa.Table) -> Found:
    return Found(count=rows.num_rows, first=rows)


def _found(rows: DataFrame, schema: pa.Schema, keep: int) -> Found:
    """How many rows there are, and the first of them, in one job."""
    whole = F.struct(*schema.names)
    ((count, first),) = rows.agg(F.count("*"), F.min_by(whole, whole, max(keep, 1))).collect()
    return Found(count=count, first=pa.Table.from_pylist([each.asDict() for each in (first or [])[:keep]], schema))
