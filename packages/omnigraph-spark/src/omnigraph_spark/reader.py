"""From a scan to the batches of a DataFrame: what Spark's planner and its tasks ask for.

    planning   partitions: the parts of the scan, small ones together; filters: those that storage judges are taken
    a task     opens the pinned version, reads its parts, gives batches in Spark's own types

A reader is pickled once for all tasks and holds nothing open. A query is one partition: it is computed by one task.
Spark's planner asks a reader that ``format("omnigraph")`` gave it; ``frame_of`` makes a DataFrame without the planner.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

import omnigraph
from omnigraph_spark.conditions import Condition
from omnigraph_spark.filters import condition_of
from omnigraph_spark.query_text import query_text
from omnigraph_spark.schema import arrow_schema_for, cast_batch, spark_schema
from omnigraph_spark.spreading import numbers_in, one_by_one
from omnigraph_spark.task_errors import telling
from omnigraph_spark.workers import prepare_worker

if TYPE_CHECKING:
    import os

    from pyspark.sql import DataFrame, SparkSession

ROWS_PER_PARTITION: Final = 1_000_000
"""Parts are read together up to so many rows: a task of fewer takes longer to start than to read."""

MOST_ROWS: Final = 4_000_000
"""What a task reads where it is known how many cores there are: one that fails takes no more with it."""

LEAST_ROWS: Final = 250_000

_BATCH_ROWS: Final = 8_192


class PartsPartition(InputPartition):
    """Some parts of a scan; what one task reads."""

    def __init__(self, parts: tuple[int, ...]) -> None:
        super().__init__(parts)
        self.parts = parts


class TypeReader(DataSourceReader):
    """Reads the rows of a type for which conditions hold. Spark judges all of its own filters."""

    def __init__(
        self,
        scan: omnigraph.TypeScan,
        schema: StructType,
        *,
        partitions: int | None = None,
        rows_per_partition: int = ROWS_PER_PARTITION,
        where: Sequence[Condition] = (),
    ) -> None:
        self.scan = scan
        self.asked = schema
        self.most_partitions = partitions
        self.rows_per_partition = rows_per_partition
        self.where = tuple(where)

    def partitions(self) -> Sequence[InputPartition]:
        rows = [(each.number, each.row_count) for each in self.scan.parts if each.row_count]
        size = self.rows_per_partition
        if self.most_partitions is not None:
            return [PartsPartition(each) for each in into_groups(rows, self.most_partitions)]
        return [PartsPartition(each) for each in up_to_rows(rows, size)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, PartsPartition):
            # Spark makes a partition of its own where there is none: the type has no rows.
            return
        prepare_worker()
        schema = arrow_schema_for(self.asked)
        for batch in self.scan.read(partition.parts, self.where):
            yield cast_batch(batch, schema)


class FilteringTypeReader(TypeReader):
    """Takes filters from Spark too, which it refuses where the session does not push filters.

    Spark 4.3 keeps the last reader of a DataFrame that filters were pushed to, and uses it for every later read of the
    same DataFrame, and for every other one in the same query, whatever their own filters are: rows are missing then and
    nobody is told (tests/test_spark_surface.py shows it). So this is for who asks for it.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - as Spark calls it
        found = [(each, condition_of(each)) for each in filters]
        known = [(each, condition) for each, condition in found if condition is not None]
        self.where += tuple(condition for _, condition in known)
        # What storage judges as a sieve only is asked of it all the same, and of Spark again.
        taken = {id(each) for each, condition in known if self.scan.takes(condition)}
        return [each for each in filters if id(each) not in taken]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryScan:
    """The result of a query at one commit, to be computed elsewhere. It pickles with the storage options.

    Attributes:
        text: of the queries; the file that they came from is not needed any more.
        schema: of the result.
    """

    uri: str
    options: Mapping[str, Any] = field(repr=False)
    commit_id: str
    text: str
    query_name: str | None
    params: Mapping[str, Any] | None
    schema: pa.Schema = field(repr=False)

    def read(self) -> pa.Table:
        """Run the query."""
        with omnigraph.open(self.uri, mode="r", options=self.options) as graph:
            return graph.query(self.text, self.query_name, params=self.params, snapshot=self.commit_id).to_arrow()


class QueryReader(DataSourceReader):
    """Reads the result of a query, in one task."""

    def __init__(self, scan: QueryScan, schema: StructType) -> None:
        self.scan = scan
        self.asked = schema

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        schema = arrow_schema_for(self.asked)
        for batch in self.scan.read().to_batches(max_chunksize=_BATCH_ROWS):
            yield cast_batch(batch, schema)


def frame_of(spark: SparkSession, reader: TypeReader | QueryReader) -> DataFrame:
    """A DataFrame of all that a reader reads, in its own partitions; they are chosen now."""
    pieces = reader.partitions()

    # Plans of Spark show its name.
    @telling
    def read_omnigraph(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in numbers_in(batches):
            yield from reader.read(pieces[number])

    return one_by_one(spark, len(pieces)).mapInArrow(read_omnigraph, reader.asked)


def scan_query(
    graph: omnigraph.Graph,
    source: str | os.PathLike[str],
    name: str | None,
    params: Mapping[str, Any] | None,
    commit_id: str | None,
    options: Mapping[str, Any] | None,
) -> QueryScan:
    """The result of a query; what is wrong with it is told now. The plan knows the columns, so nothing is run.

    Raises:
        CompileError: the query is wrong.
        InvalidInputError: a parameter is wrong or missing, or the query changes the graph.
    """
    explained = graph.explain(source, name, params=params or {}, snapshot=commit_id)
    return QueryScan(
        uri=graph.uri,
        options=dict(options or {}),
        commit_id=explained.commit_id,
        text=query_text(source),
        query_name=name,
        # A DataFrame may be used when the caller has changed them.
        params=deepcopy(params),
        schema=explained.schema,
    )


def schema_of(scan: omnigraph.TypeScan | QueryScan) -> StructType:
    """The schema of a DataFrame of all that a scan reads."""
    return spark_schema(scan.schema)


def partitions_for(rows: int, cores: int) -> int:
    """How many partitions rows are best read in: as many for each core as for the others, and few.

    A task costs Spark as much as some hundred thousand rows, and one core that has one more keeps the others waiting.
    """
    for_each = -(-rows // (MOST_ROWS * cores))
    return max(1, min(for_each * cores, -(-rows // LEAST_ROWS)))


def up_to_rows(rows: Sequence[tuple[int, int]], most: int) -> list[tuple[int, ...]]:
    """Numbers of parts in groups of at most so many rows; a part with more is a group by itself."""
    groups: list[list[int]] = []
    filled = most
    for number, count in rows:
        if filled + count > most:
            groups.append([])
            filled = 0
        groups[-1].append(number)
        filled += count
    return [tuple(each) for each in groups]


def into_groups(rows: Sequence[tuple[int, int]], most: int) -> list[tuple[int, ...]]:
    """Numbers of parts in at most so many groups, of as equal a number of rows as parts allow."""
    groups: list[list[int]] = [[] for _ in range(min(most, len(rows)))]
    filled = [0] * len(groups)
    # The largest first, each to the group that has least: the rest evens out what they left.
    for number, count in sorted(rows, key=lambda each: -each[1]):
        least = filled.index(min(filled))
        groups[least].append(number)
        filled[least] += count
    return [tuple(sorted(each)) for each in groups]
