"""The change feed as a stream of Spark: one micro-batch is whole commits, in the order in which they were made.

    the driver   from an offset to the next one: a span of commits, of which no row is read; cut into partitions
    a task       reads what the commits of its partition changed, some thousand rows at a time

An offset is the cursor of the feed, which knows the graph, the branch and the filters that it belongs to, and the id of
the commit for people to read. A stream that was never begun has its ``start`` for an offset. Spark asks for the
partitions between two offsets again after a failure, whatever has been published meanwhile, and gets the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

import omnigraph
from omnigraph.errors import (
    ChangeCursorRejectedError,
    ChangeFeedGapError,
    ChangeSchemaBoundaryError,
    InvalidInputError,
)
from omnigraph_spark.options import SourceOptions
from omnigraph_spark.schema import arrow_schema_for, cast_batch, check_asked, spark_schema

MAX_COMMITS: Final = 1_000
"""Commits of a micro-batch, where the options do not say."""

COMMITS_PER_PARTITION: Final = 8
"""Commits that one task reads, where the options do not say."""

NOW: Final = "now"

_FACTS: Final = (
    StructField("commit_id", StringType(), nullable=False),
    StructField("commit_version", LongType(), nullable=False),
    StructField("commit_kind", StringType(), nullable=False),
    StructField("actor", StringType()),
    StructField("committed_at", TimestampType(), nullable=False),
    StructField("entity", StringType(), nullable=False),
    StructField("type", StringType(), nullable=False),
    StructField("id", StringType(), nullable=False),
    StructField("op", StringType(), nullable=False),
    StructField("from_id", StringType()),
    StructField("to_id", StringType()),
)
_IMAGES: Final = ("before", "after")

Offset = dict[str, str]


def change_schema(given: SourceOptions) -> StructType:
    """The columns of a stream: what every change says, then its images: columns of the one type asked for, or JSON.

    Raises:
        NotFoundError: there is no such graph, branch or type.
        InvalidInputError: the type is a node type and an edge type.
    """
    image: StructType | StringType = StringType()
    if given.type_name is not None:
        with omnigraph.open(given.uri, mode="r", options=given.storage) as graph:
            columns = spark_schema(graph.scan(given.type_name, branch=given.get("branch", "main")).schema)
        # A commit from before a column was added has none.
        image = StructType([StructField(each.name, each.dataType) for each in columns])
    return StructType([*_FACTS, *(StructField(name, image) for name in _IMAGES)])


def make_stream_reader(given: SourceOptions, schema: StructType, there: StructType) -> ChangeStreamReader:
    """The reader of a stream.

    Args:
        given: the options.
        schema: what Spark expects: ``there``, or what the user wrote in its place.
        there: what ``change_schema`` gave.

    Raises:
        InvalidInputError: an option is not for streams, ``start`` is missing, or the schema is not of the stream's.
    """
    given.check("readStream")
    if given.get("start") is None:
        raise InvalidInputError(
            "Where the stream begins is not said.",
            help='Say it: .option("start", "now"), "beginning", or "after:" with the id of a commit. It counts for a '
            "new stream; one that has a checkpoint goes on from there.",
        )
    if schema != there:
        check_asked(schema, there)
    return ChangeStreamReader(given, schema)


class SpanPartition(InputPartition):
    """Commits that one task reads."""

    def __init__(self, span: omnigraph.ChangeSpan) -> None:
        super().__init__(None)
        self.span = span


class ChangeStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Gives Spark the next offset, and what lies between two of them.

    One lives in a process of its own beside the driver, as long as the query runs, and keeps the graph open there. What
    tasks are given is a copy that has nothing open.
    """

    def __init__(self, given: SourceOptions, schema: StructType) -> None:
        self.given = given
        self.asked = schema
        self._graph: omnigraph.Graph | None = None
        self._target: Offset | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_graph": None}

    # ── offsets ──────────────────────────────────────────────────────────────────────────────────────────────

    def initialOffset(self) -> Offset:  # noqa: N802 - as Spark calls it; so below
        # Spark writes down where a batch ends and asks again where the first one begins, so that must not be a moment:
        # the batch that "now" begins is empty, and where it ends is what "now" was.
        return {"start": self.given.get("start")}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        if start.get("start") == NOW:
            return self._target or self._head()
        most = limit.max_files if isinstance(limit, ReadMaxFiles) else None
        through = None if self._target is None else self._target["cursor"]
        span = self._span(start, through=through, max_commits=most)
        return _offset_behind(span) if span.commits else start

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        # Spark knows rows, files and bytes, and hands back what it is given: a file is a commit here.
        return ReadMaxFiles(self.given.get("maxCommitsPerTrigger", MAX_COMMITS))

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._target = self._head()

    # ── batches ──────────────────────────────────────────────────────────────────────────────────────────────

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        if start.get("start") == NOW:
            return []
        size = self.given.get("commitsPerPartition", COMMITS_PER_PARTITION)
        found: list[InputPartition] = []
        # A span ends early before a commit that cannot be told, and the next one says why.
        while start != end:
            span = self._span(start, through=end["cursor"])
            found += (SpanPartition(each) for each in span.split(size) if each.telling)
            start = _offset_behind(span)
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, SpanPartition):
            # Spark makes a partition of its own where there is none.
            return
        schema = arrow_schema_for(self.asked)
        with _told_for_streams():
            for batch in partition.span.read(images="json" if self.given.type_name is None else "columns"):
                yield cast_batch(_with_images(batch, schema), schema)

    def stop(self) -> None:
        if self._graph is not None:
            self._graph.close()
            self._graph = None

    # ── the graph ────────────────────────────────────────────────────────────────────────────────────────────

    def _head(self) -> Offset:
        return _offset_behind(self._span({"start": NOW}))

    def _span(
        self, start: Offset, *, through: str | None = None, max_commits: int | None = None
    ) -> omnigraph.ChangeSpan:
        if self._graph is None:
            self._graph = omnigraph.open(self.given.uri, mode="r", options=self.given.storage)
        types = self.given.get("types") if self.given.type_name is None else (self.given.type_name,)
        with _told_for_streams():
            return self._graph.changes.span(
                self.given.get("branch", "main"),
                start=start.get("start"),
                cursor=start.get("cursor"),
                through=through,
                kinds=self.given.get("kinds"),
                types=types,
                ops=self.given.get("ops"),
                max_commits=max_commits,
            )


def _offset_behind(span: omnigraph.ChangeSpan) -> Offset:
    last = span.commits[-1].id if span.commits else None
    if last is None and span.behind is not None:
        last = span.behind.commit_id
    return {"commit": last or "", "cursor": span.cursor}


@contextmanager
def _told_for_streams() -> Iterator[None]:
    """Around whatever asks the feed: what it raises also says what to do in Spark."""
    try:
        yield
    except ChangeCursorRejectedError as error:
        error.add_note(
            "The checkpoint of this stream belongs to another graph, branch or filter than its options say. Give the "
            "options that it was begun with; or begin anew, with another checkpointLocation."
        )
        raise
    except (ChangeSchemaBoundaryError, ChangeFeedGapError) as error:
        error.add_note(
            "The stream ends here. Read the graph as it is with spark.read, at a commit that you name, and begin a "
            'stream with another checkpointLocation behind it: .option("start", "after:COMMIT").'
        )
        raise


# ── images ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _with_images(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The same changes with the images that a stream of columns has; JSON stays as it is."""
    for name in _IMAGES:
        if name in schema.names and pa.types.is_struct(schema.field(name).type):
            wanted = schema.field(name)
            batch = batch.set_column(batch.schema.get_field_index(name), wanted, _image(batch[name], wanted.type))
    return batch


def _image(found: pa.StructArray, wanted: pa.StructType) -> pa.StructArray:
    """Rows with the columns that the stream has; those that the type did not have yet are null."""
    there: Mapping[str, pa.Array] = {each.name: found.field(each.name) for each in found.type}
    columns = [
        there[each.name].cast(each.type) if each.name in there else pa.nulls(len(found), each.type) for each in wanted
    ]
    return pa.StructArray.from_arrays(columns, fields=list(wanted), mask=found.is_null())
