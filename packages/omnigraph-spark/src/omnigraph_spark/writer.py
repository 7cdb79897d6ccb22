"""``TypeWriter``: ``df.write.format("omnigraph")``: the rows of one type become one commit.

    OmnigraphSource.writer ── ticket ──> write() in tasks ── attempts ──> commit(): one publish

Spark runs ``commit`` in a Python process of its own, which has no session: rules that need other rows are judged there,
in bounded memory. For several types in one commit, for large loads, and to have what was done told, there is
``omnigraph_spark.load``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

import omnigraph
from omnigraph.errors import InvalidInputError
from omnigraph_spark.options import SourceOptions
from omnigraph_spark.tasks import written_rows

if TYPE_CHECKING:
    from omnigraph import BulkTicket

MODES: Final = ("append", "merge")


@dataclass
class WrittenPartition(WriterCommitMessage):
    """What one task handed back: an attempt as JSON; None of an empty partition."""

    attempt: str | None


class TypeWriter(DataSourceArrowWriter):
    """Writes the rows of one type."""

    def __init__(self, given: SourceOptions, *, overwrite: bool) -> None:
        """Ask the graph for a ticket.

        Raises:
            InvalidInputError: an option is missing or not for writing.
            NotFoundError: there is no such graph, type or branch.
        """
        given.check("write")
        type_name = given.type_name
        if type_name is None:
            raise InvalidInputError("Which type is to be written is not said.", help='Say it: .option("type", "Film").')
        self._given = given
        self._type_name = type_name
        self._mode = "overwrite" if overwrite else _mode_of(given.get("writeMode", "append"))
        with self._open() as graph:
            self._ticket: BulkTicket = graph.bulk(
                [type_name], branch=given.get("branch", "main"), load_id=given.get("loadId")
            )

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        if self._ticket.landed:
            return WrittenPartition(None)
        attempt = written_rows(self._ticket, self._type_name, iterator)
        return WrittenPartition(None if attempt is None else attempt.to_json())

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Publish what the tasks wrote; raises what is wrong with the rows, all of it."""
        found = [each.attempt for each in messages if isinstance(each, WrittenPartition) and each.attempt is not None]
        with self._open() as graph:
            graph.bulk_publish(
                found,
                self._mode,
                branch=self._ticket.branch,
                actor=self._given.get("actor"),
                load_id=self._ticket.load_id,
            )

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Nothing: what was written belongs to no version."""

    def _open(self) -> omnigraph.Graph:
        options: Mapping[str, Any] = self._given.storage
        return omnigraph.open(self._given.uri, options=options)


def _mode_of(word: str) -> str:
    if word not in MODES:
        raise InvalidInputError(
            f"There is no writeMode {word!r}.",
            help='Use append or merge; for overwriting, write .mode("overwrite").',
            details={"option": "writeMode"},
        )
    return word
