"""Rows in which two versions of a table may differ, of each version by ascending id, ready to be compared.

    parts of both ──┬── of parts that only one version has all rows ──┬── IdOrder ──> batches by id
                    └── of shared parts the rows that came or went ───┘

No other row can differ, and no other row is read. What is in memory is bounded: rows that are too many to be put in
order there go through a temporary file. Blobs do not: they are fetched for a few rows at a time when these come, so
rows that carry them come in small batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self

import pyarrow as pa

from omnigraph.engine.entities import contiguous
from omnigraph.engine.id_order import IdOrder
from omnigraph.engine.moved_rows import find_moved
from omnigraph.engine.pinned_rows import ADDRESS, Addresses, Stored, as_addresses
from omnigraph.history.schemas import TypeTable
from omnigraph.tables.arrow_schema import is_blob
from omnigraph.tables.interface import TablePart, TablePin, TableStorage
from omnigraph.tables.part_delta import compare_parts
from omnigraph.tables.reading import ADDRESS_FIELD, BLOB_BATCH_ROWS

Batches = Iterator[pa.RecordBatch]

MEMORY_BYTES: Final = 128 * 1024**2
"""What rows of both versions together may take while they are put in order; sorting takes as much again."""

_TAKEN_BYTES: Final = 16 * 1024**2
_TAKEN_ROWS: Final = 131_072
_FIRST_ROWS: Final = 1_024
"""How much is fetched by address at a time: so many rows, fewer where they are wide; the first ones tell how wide."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Version:
    """One of two versions of a type that are compared.

    Attributes:
        stored: None where the table of the type does not exist; then there are no rows.
        schema: the columns to read, as logical fields.
    """

    stored: Stored | None
    schema: pa.Schema

    @classmethod
    def of(cls, tables: TableStorage, target: TypeTable, pin: TablePin | None) -> Self:
        stored = None if pin is None else Stored.of(target.key, tables, tables.open_at(pin))
        return cls(stored=stored, schema=target.schema)

    @property
    def parts(self) -> tuple[TablePart, ...]:
        return () if self.stored is None else self.stored.parts


def differing_rows(before: Version, after: Version, *, memory_bytes: int = MEMORY_BYTES) -> tuple[Batches, Batches]:
    """Rows of the one and of the other version by ascending id; every row that is not in both is among them.

    The last column, after those of the type, is ``_rowaddr``: where the row lies in its version.
    """
    delta = compare_parts(before.parts, after.parts)
    older, newer = (_Gathered(each, memory_bytes // 2) for each in (before, after))
    older.add_parts(delta.gone)
    newer.add_parts(delta.new)
    if before.stored is not None and after.stored is not None:
        for moved in find_moved(before.stored, after.stored, delta.changed):
            older.add_rows(moved.gone)
            newer.add_rows(moved.come)
    return older.batches(), newer.batches()


class _Gathered:
    """Rows of one version on their way into order: all columns but Blobs, and the address."""

    def __init__(self, version: Version, memory_bytes: int) -> None:
        self._stored = version.stored
        self._schema = version.schema
        self._blobs = [each.name for each in version.schema if is_blob(each)]
        self._plain = [each for each in version.schema.names if each not in self._blobs]
        ordered = pa.schema([*(version.schema.field(each) for each in self._plain), ADDRESS_FIELD])
        self._order = IdOrder(ordered, memory_bytes=memory_bytes)

    def add_parts(self, parts: Sequence[TablePart]) -> None:
        """Take all rows of these parts."""
        if self._stored is None or not parts:
            return
        tables, numbers = self._stored.tables, [each.number for each in parts]
        with tables.read(self._stored.handle, columns=self._plain, parts=numbers, with_address=True) as batches:
            for batch in batches:
                self._order.add(batch)

    def add_rows(self, addresses: Addresses) -> None:
        """Take the rows at these addresses."""
        if self._stored is None:
            return
        start, count = 0, min(_FIRST_ROWS, _TAKEN_ROWS)
        while start < len(addresses):
            chosen = addresses[start : start + count]
            rows = self._stored.take(chosen, self._plain).append_column(ADDRESS_FIELD, pa.array(chosen))
            for batch in rows.to_batches():
                self._order.add(batch)
            start += len(chosen)
            # In the files they may be a hundred times smaller.
            count = min(_TAKEN_ROWS, max(1, _TAKEN_BYTES * len(chosen) // max(1, rows.nbytes)))

    def batches(self) -> Batches:
        """All rows by ascending id, with their Blobs."""
        for rows in self._order.by_id():
            if self._stored is None or not self._blobs:
                yield rows
                continue
            for start in range(0, len(rows), BLOB_BATCH_ROWS):
                some = rows.slice(start, BLOB_BATCH_ROWS)
                fetched = self._stored.take(as_addresses(some[ADDRESS]), self._blobs)
                schema = self._schema.append(ADDRESS_FIELD)
                columns = [contiguous(fetched[each]) if each in self._blobs else some[each] for each in schema.names]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)
