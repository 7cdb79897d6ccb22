"""Rows on their way into Lance: checked against the table's schema, blobs in Lance's form, a stream still a stream.

Lance reads a stream from code of its own, through which no Python exception passes: whatever the rows' source raises
comes back as a failure of Lance. The source's own exception is kept here and raised in its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pyarrow as pa

from omnigraph.cancellation import checker
from omnigraph.errors import InternalError, StorageError
from omnigraph.tables.arrow_schema import is_blob, physical_batch, physical_schema
from omnigraph.tables.failures import translating


class Incoming:
    """Rows of a logical schema for one write; used once."""

    def __init__(self, rows: pa.Table | pa.RecordBatchReader, schema: pa.Schema) -> None:
        # Lance would match columns by name and invent nulls for what is missing.
        if rows.schema.names != schema.names or rows.schema.types != schema.types:
            raise InternalError(f"Rows of {_columns(rows.schema)} were given where {_columns(schema)} are needed.")
        self._rows = rows
        self._logical = schema
        self._physical = physical_schema(schema)
        self._has_blobs = any(is_blob(each) for each in schema)
        self._required = [place for place, each in enumerate(schema) if not each.nullable]
        self._failure: BaseException | None = None
        # Lance asks for batches in a thread of its own, which knows nothing of the call.
        self._check = checker()

    def physical(self) -> pa.Table | pa.RecordBatchReader:
        """The rows as Lance takes them: a table stays one, a stream too."""
        if isinstance(self._rows, pa.Table):
            return pa.Table.from_batches(self._batches(self._rows.to_batches()), schema=self._physical)
        return pa.RecordBatchReader.from_batches(self._physical, self._watched(self._rows))

    @contextmanager
    def going_to(self, uri: str) -> Iterator[None]:
        """Translate what Lance raises in the block, and let through what the rows' own source raised."""
        try:
            with translating("write", uri):
                yield
        except StorageError:
            if self._failure is None:
                raise
        if self._failure is not None:
            raise self._failure

    def _watched(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._batches(batches)
        # Whatever it is, it is the source's and must reach who gave the rows.
        except BaseException as error:
            self._failure = error
            raise

    def _batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self._check()
            for place in self._required:
                if batch.column(place).null_count:
                    raise InternalError(f"Rows to write have no value for {self._logical.names[place]!r}.")
            if self._has_blobs:
                yield physical_batch(batch, self._logical, self._physical)
            else:
                yield pa.RecordBatch.from_arrays(batch.columns, schema=self._physical)


def _columns(schema: pa.Schema) -> list[str]:
    return [f"{each.name}: {each.type}" for each in schema]
