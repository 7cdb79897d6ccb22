"""``OmnigraphSource``: what stands behind ``format("omnigraph")``. Spark makes it, and asks it for what it needs.

    load() ── options checked, moment chosen ──> OmnigraphSource ── pickled ──> reader ── one task per partition

Spark makes a source once for a DataFrame and keeps it, so the moment that is read is chosen then: whatever is done with
the DataFrame sees one snapshot, whatever is published meanwhile. Each of the calls below may run in another process.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StructType

from omnigraph_spark.options import SourceOptions, parse_options


class OmnigraphSource(DataSource):
    """Node types, edge types and query results of a graph as DataFrames; its options are in ``options.OPTIONS``.

    Example::

        spark.read.format("omnigraph").option("uri", "s3://bucket/films").option("nodeType", "Film").load()
    """

    given: SourceOptions

    def __init__(self, options: MutableMapping[str, str]) -> None:
        # What Spark would keep as ``self.options`` is not kept: it shows secrets to whoever prints it.
        self.given = parse_options(options)

    @classmethod
    def name(cls) -> str:
        return "omnigraph"

    def schema(self) -> StructType:
        return self._subject().schema

    def reader(self, schema: StructType) -> DataSourceReader:
        return self._subject().reader(schema)

    def _subject(self) -> Any:
        raise NotImplementedError
