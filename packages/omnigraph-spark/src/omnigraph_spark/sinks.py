"""``sink``: micro-batches of any stream as commits of a graph, each exactly once.

    df.writeStream.foreachBatch(sink(...)) ── batch 7 ──> load(..., load_id="orders:<query id>:7") ──> one commit
                                          └── batch 7 again, after a crash ──> the commit is there, nothing happens

Spark repeats the last batch when it does not know that it was done. Its number rides in the publish of its rows, so the
two cannot part: either both are in the graph, or neither is.

Numbers begin at 0 again with a new checkpoint, and would be taken for those of the old one. So the id of the query goes
with the number: Spark makes one up with each checkpoint and keeps it there. Tasks of an ordinary session are told it;
over Spark Connect nobody is, and it has to be read from the checkpoint. Where it cannot be had, a batch is refused:
better no row than rows that are silently left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import omnigraph
from omnigraph.errors import InvalidInputError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    Route = Callable[[DataFrame], Mapping[str, DataFrame]]

MODES: Final = ("merge", "append")

_QUERY_ID: Final = "sql.streaming.queryId"
"""What Spark calls the id of a query among the properties of its jobs."""


def sink(
    uri: str | Path,
    to: str | Route,
    *,
    stream: str,
    mode: str = "merge",
    branch: str = "main",
    actor: str | None = None,
    checkpoint: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
) -> GraphSink:
    """A function for ``foreachBatch`` that loads each micro-batch as one commit, exactly once.

    Args:
        uri: the graph.
        to: the type of all rows; or what turns a batch into DataFrames by type, such as ``by_column`` gives.
        stream: a name for this stream of rows among all that one query writes to the branch; it begins the load id of
            each commit.
        mode: ``merge``: rows of equal id are replaced whole. ``append``: ids must be new.
        branch: the branch to load to.
        actor: who loads.
        checkpoint: the ``checkpointLocation`` of the query. Spark Connect needs it; elsewhere it saves a job per batch.
        options: what the backend needs beside the URI; these travel with the function, the environment does not.

    Raises:
        InvalidInputError: the name is empty, or there is no such mode.
    """
    if not stream.strip():
        raise InvalidInputError(
            f"{stream!r} is no name of a stream.", help='Give a text that stays the same, such as stream="orders".'
        )
    if mode not in MODES:
        raise InvalidInputError(
            f"{mode!r} is no mode of a sink.", help='Use "merge" or "append": a batch is never all that there is.'
        )
    return GraphSink(
        uri=str(uri),
        to=to,
        stream=stream,
        mode=mode,
        branch=branch,
        actor=actor,
        checkpoint=None if checkpoint is None else str(checkpoint),
        options=dict(options or {}),
    )


def by_column(column: str, types: Mapping[str, Sequence[str]]) -> ByColumn:
    """A route for batches of several types: a column names the type of each row.

    Args:
        column: the column.
        types: by its values, ``Person`` or ``edge:Knows``, the columns that rows of the type have.

    Raises:
        InvalidInputError: there is no type.
    """
    if not types or any(isinstance(each, str) for each in types.values()):
        raise InvalidInputError(
            "Which columns rows of which type have is not said.", help='Say it: {"Person": ["name", "age"]}.'
        )
    return ByColumn(column=column, types={name: tuple(columns) for name, columns in types.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class ByColumn:
    """Rows by the type that a column names. It pickles."""

    column: str
    types: Mapping[str, tuple[str, ...]]

    def __call__(self, frame: DataFrame) -> dict[str, DataFrame]:
        """The rows of each type with its columns.

        Raises:
            InvalidInputError: a row names no type that is known here; it would be left out.
        """
        from pyspark.sql import functions as F  # noqa: N812 - as Spark's own docs have it

        named = F.col(self.column)
        strays = frame.where(named.isNull() | ~named.isin(*self.types)).select(named).limit(1).collect()
        if strays:
            raise InvalidInputError(
                f"The column {self.column!r} has the value {strays[0][0]!r}, for which there is no type.",
                help=f"Known are: {', '.join(self.types)}. Add it, or leave such rows out before the sink.",
                details={"column": self.column},
            )
        return {name: frame.where(named == F.lit(name)).select(*columns) for name, columns in self.types.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSink:
    """Loads micro-batches; what ``sink`` gives. It pickles with the storage options, and holds nothing open."""

    uri: str
    to: str | Route
    stream: str
    mode: str
    branch: str
    actor: str | None
    checkpoint: str | None
    options: Mapping[str, Any] = field(repr=False)

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Load a batch, unless it was loaded; of one without rows nothing is kept.

        Raises:
            InvalidInputError: which query this is cannot be found out; or rows that are no rows of their type.
            ConstraintError: rows that break a rule of the schema.
        """
        from omnigraph_spark.loading import load

        spark = frame.sparkSession
        load_id = f"{self.stream}:{find_query_id(spark, self.checkpoint)}:{batch_id}"
        # A load looks at its rows several times, and they may be costly to compute.
        frame.persist()
        try:
            if frame.isEmpty():
                return
            frames = {self.to: frame} if isinstance(self.to, str) else self.to(frame)
            if not frames:
                return
            with omnigraph.open(self.uri, options=self.options) as graph:
                load(spark, graph, frames, mode=self.mode, branch=self.branch, actor=self.actor, load_id=load_id)
        finally:
            frame.unpersist()


def find_query_id(spark: SparkSession, checkpoint: str | None) -> str:
    """The id of the query that runs the current batch: what its checkpoint says, or its tasks are told.

    Raises:
        InvalidInputError: neither is the case.
    """
    found = _asked_id(spark) if checkpoint is None else _stored_id(spark, checkpoint)
    if found is not None:
        return found
    if checkpoint is None:
        raise InvalidInputError(
            "Which query this batch is of is not known here, so that it could not be told from a batch of another one.",
            help="Give the sink the checkpointLocation of the query: sink(..., checkpoint=...).",
        )
    raise InvalidInputError(
        f"There is no checkpoint of a query at {checkpoint}.",
        help='Give the same to the sink and to .option("checkpointLocation", ...).',
        details={"checkpoint": checkpoint},
    )


def _stored_id(spark: SparkSession, checkpoint: str) -> str | None:
    from pyspark.errors import AnalysisException

    try:
        # Whatever file system a checkpoint is on, Spark reads it.
        lines = spark.read.text(f"{checkpoint.rstrip('/')}/metadata").collect()
        return str(json.loads(lines[0][0])["id"])
    except (AnalysisException, IndexError, ValueError, KeyError, TypeError):
        return None


def _asked_id(spark: SparkSession) -> str | None:
    """What a task of this session is told; one of a batch knows the query."""
    rows = spark.range(1, numPartitions=1).mapInArrow(_tell_id, "query_id string").collect()
    return rows[0][0] if rows else None


def _tell_id(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    from pyspark import TaskContext

    context = TaskContext.get()
    for _ in batches:
        told = None if context is None else context.getLocalProperty(_QUERY_ID)
        yield pa.RecordBatch.from_pydict({"query_id": pa.array([told], pa.string())})
