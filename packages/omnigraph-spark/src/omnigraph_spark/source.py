"""``OmnigraphSource``: what stands behind ``format("omnigraph")``. Spark makes it, and asks it for what it needs.

    load() ── options checked, commit chosen ──> OmnigraphSource ── pickled ──> reader ── one task per partition

Spark makes a source once for a DataFrame and keeps it, so the commit that is read is chosen then: whatever is done with
the DataFrame sees one snapshot, whatever is published meanwhile. Each of the calls below may run in another process.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType

import omnigraph
from omnigraph.errors import InvalidInputError
from omnigraph_spark.change_stream import change_schema, make_stream_reader
from omnigraph_spark.conditions import check_taken
from omnigraph_spark.moments import choose_commit
from omnigraph_spark.options import SourceOptions, parse_options
from omnigraph_spark.reader import (
    ROWS_PER_PARTITION,
    FilteringTypeReader,
    QueryReader,
    QueryScan,
    TypeReader,
    scan_query,
    schema_of,
)
from omnigraph_spark.schema import check_asked, names_of
from omnigraph_spark.writer import TypeWriter


class OmnigraphSource(DataSource):
    """Node types, edge types and query results of a graph as DataFrames; its options are in ``options.OPTIONS``.

    Example::

        spark.read.format("omnigraph").option("uri", "s3://bucket/films").option("nodeType", "Film").load()

    Attributes:
        given: the options.
        commit_id: what is read; None where the options are not those of a read.
    """

    given: SourceOptions
    commit_id: str | None

    def __init__(self, options: MutableMapping[str, str]) -> None:
        # ``self.options``, which Spark's own constructor would set, shows secrets to whoever prints it.
        self.given = parse_options(options)
        self.commit_id = None
        self._scan: omnigraph.TypeScan | QueryScan | None = None
        self._change_schema: StructType | None = None
        if self.given.can_be("read"):
            with self._open() as graph:
                self.commit_id = choose_commit(graph, **self.given.moment)

    @classmethod
    def name(cls) -> str:
        return "omnigraph"

    def schema(self) -> StructType:
        # Spark does not say what it asks for; where to start does, which only a stream has.
        if self.given.get("start") is not None:
            self.given.check("readStream")
            return self._changes()
        return schema_of(self._scanned())

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader of a batch; ``schema`` is what ``schema()`` gave, or what the user wrote in its place."""
        scan = self._scanned()
        if schema != schema_of(scan):
            check_asked(schema, schema_of(scan))
        if isinstance(scan, QueryScan):
            return QueryReader(scan, schema)
        kind = FilteringTypeReader if self.given.get("pushDown") else TypeReader
        return kind(
            scan if names_of(schema) == scan.schema.names else self._scan_type(names_of(schema)),
            schema,
            partitions=self.given.get("partitions"),
            rows_per_partition=self.given.get("rowsPerPartition", ROWS_PER_PARTITION),
            where=self.given.get("where", ()),
        )

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - as Spark calls it
        """The reader of a stream of changes."""
        return make_stream_reader(self.given, schema, self._changes())

    def writer(self, schema: StructType, overwrite: bool) -> TypeWriter:
        """The writer of one type; ``schema`` is judged row by row, by what the type takes."""
        return TypeWriter(self.given, overwrite=overwrite)

    def _changes(self) -> StructType:
        """The columns of a stream; found out once, and pickled with the source."""
        if self._change_schema is None:
            self._change_schema = change_schema(self.given)
        return self._change_schema

    def _scanned(self) -> omnigraph.TypeScan | QueryScan:
        """What is read; found out once, and pickled with the source."""
        self.given.check("read")
        if self._scan is None:
            self._scan = self._scan_type(self.given.get("columns")) if self.given.type_name else self._scan_query()
        return self._scan

    def _scan_type(self, columns: Sequence[str] | None) -> omnigraph.TypeScan:
        with self._open() as graph:
            scan = graph.scan(self.given.type_name or "", columns, snapshot=self.commit_id)
        check_taken(scan, self.given.get("where", ()))
        return scan

    def _scan_query(self) -> QueryScan:
        source, name = self.given.get("query"), self.given.get("queryName")
        if source is None:
            raise InvalidInputError(
                "What is to be read is not said.",
                help='Give a type, .option("type", "Film"), or a query, .option("query", "query ... { ... }"); for a '
                'stream of changes say where it begins, .option("start", "now").',
            )
        with self._open() as graph:
            return scan_query(graph, source, name, self.given.get("params"), self.commit_id, self.given.storage)

    def _open(self) -> omnigraph.Graph:
        return omnigraph.open(self.given.uri, mode="r", options=self.given.storage)
