"""``CommittedRows``: what is committed, as one write sees it: one snapshot, and a note of every table looked at.

Validators and id resolvers read through it and nothing else, so the read set of a write is what it really read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.history.schemas import TypeTable
from omnigraph.history.snapshot import Snapshot
from omnigraph.history.warm import ADDRESS, ADDRESS_FIELD, WarmColumns
from omnigraph.tables.interface import SnapshotHandle, TablePin, TableStorage
from omnigraph.tables.row_filters import OneOf, RowFilter, all_of

RowsOfArrow = TypeVar("RowsOfArrow", pa.Table, pa.RecordBatch)


class CommittedRows:
    """Rows of one snapshot. Not shared between threads.

    Attributes:
        looked_at: keys of the tables whose rows mattered to this write.
    """

    def __init__(self, snapshot: Snapshot, tables: TableStorage, warm: WarmColumns) -> None:
        self.snapshot = snapshot
        self.tables = tables
        self.warm = warm
        self.looked_at: set[str] = set()

    def without(self, removed: Mapping[str, pa.Array]) -> CommittedRows:
        """The same as if rows of these ids were gone, by table key; tables looked at are noted here."""
        return _Remaining(self, removed)

    def row_count(self, target: TypeTable) -> int:
        """How many rows the type has; costs no request."""
        self.looked_at.add(target.key)
        return self.snapshot.entry(target).row_count

    def size_hint(self, target: TypeTable) -> int:
        """The same for who plans by it: nothing is concluded from it, so the type is not noted."""
        return self.snapshot.entry(target).row_count

    def read(self, target: TypeTable, columns: Sequence[str]) -> pa.RecordBatchReader:
        """All rows of the type as a stream, with these columns."""
        return self.tables.read(self._open(target), columns=list(columns))

    def lookup(
        self, target: TypeTable, keys: pa.Array, *, key: str = "id", columns: Sequence[str] | None = None
    ) -> pa.Table:
        """The rows whose ``key`` column has one of these values, with these columns; in no order.

        ``_rowaddr`` may be one of the columns.
        """
        handle = self._open(target)
        if columns is None:
            return self.tables.lookup(handle, keys, key=key)
        wanted = sorted({key, *columns})
        kept = self.warm.columns(self.tables, handle, wanted, row_count=self.row_count(target))
        if kept is not None:
            return kept.filter(pc.is_in(kept[key], value_set=keys)).select(list(columns))
        names = [each for each in columns if each != ADDRESS]
        found = self.tables.lookup(handle, keys, key=key, columns=names, with_address=len(names) != len(columns))
        return found.select(list(columns))

    def lookup_all(self, target: TypeTable, keys: Mapping[str, pa.Array], *, columns: Sequence[str]) -> pa.Table:
        """The rows that have in each column of ``keys`` one of its values, with these columns; in no order."""
        handle = self._open(target)
        wanted = sorted({*keys, *columns})
        kept = self.warm.columns(self.tables, handle, wanted, row_count=self.row_count(target))
        if kept is not None:
            for name, values in keys.items():
                kept = kept.filter(pc.is_in(kept[name], value_set=values))
            return kept.select(list(columns))
        predicate = all_of([OneOf(name, values) for name, values in keys.items()])
        return self.tables.read(handle, columns=columns, predicate=predicate).read_all()

    def column_batches(self, target: TypeTable, column: str, sieve: RowFilter | None) -> Iterator[pa.RecordBatch]:
        """A column with the addresses of its rows: of all rows, or of those at least that the sieve lets through."""
        handle = self._open(target)
        kept = self.warm.columns(self.tables, handle, [column, ADDRESS], row_count=self.row_count(target))
        if kept is not None:
            return iter(kept.to_batches())
        return iter(self.tables.read(handle, columns=[column], predicate=sieve, with_address=True))

    def rows_at(self, target: TypeTable, addresses: pa.Array, columns: Sequence[str]) -> pa.Table:
        """The rows at these addresses, with these columns, in this order; ``_rowaddr`` may be one of them."""
        handle = self._open(target)
        names = [each for each in columns if each != ADDRESS]
        kept = self.warm.held(handle, [*names, ADDRESS])
        if kept is not None:
            found = kept.take(pc.index_in(addresses, value_set=kept[ADDRESS].combine_chunks()))
        else:
            found = self.tables.take(handle, addresses, names).append_column(ADDRESS_FIELD, addresses)
        return found.select(list(columns))

    def locate(self, target: TypeTable, ids: pa.Array) -> pa.Array:
        """Where the rows with these ids lie, id by id; null for those that are not there."""
        if not len(ids) or not self.row_count(target):
            return pa.nulls(len(ids), pa.uint64())
        found = self.lookup(target, ids, columns=["id", ADDRESS])
        return found[ADDRESS].combine_chunks().take(pc.index_in(ids, value_set=found["id"].combine_chunks()))

    def pin_of_all(self, target: TypeTable) -> TablePin | None:
        """The version whose rows are all that there is of a type; None where some of them do not count."""
        self.looked_at.add(target.key)
        return self.snapshot.entry(target).pin

    def _open(self, target: TypeTable) -> SnapshotHandle:
        self.looked_at.add(target.key)
        return self.tables.open_at(self.snapshot.entry(target).pin)


class _Remaining(CommittedRows):
    """Committed rows without some that go. Numbers of rows are upper bounds; none is 0 that has rows."""

    def __init__(self, all_rows: CommittedRows, removed: Mapping[str, pa.Array]) -> None:
        super().__init__(all_rows.snapshot, all_rows.tables, all_rows.warm)
        self.looked_at = all_rows.looked_at
        self._removed = removed

    def pin_of_all(self, target: TypeTable) -> TablePin | None:
        return None if target.key in self._removed else super().pin_of_all(target)

    def read(self, target: TypeTable, columns: Sequence[str]) -> pa.RecordBatchReader:
        if target.key not in self._removed:
            return super().read(target, columns)
        reader = super().read(target, [*dict.fromkeys((*columns, "id"))])
        schema = pa.schema([reader.schema.field(each) for each in columns])
        left = (self._left(target, batch).select(list(columns)) for batch in reader)
        return pa.RecordBatchReader.from_batches(schema, left)

    def lookup(
        self, target: TypeTable, keys: pa.Array, *, key: str = "id", columns: Sequence[str] | None = None
    ) -> pa.Table:
        if columns is None or target.key not in self._removed:
            return self._left(target, super().lookup(target, keys, key=key, columns=columns))
        found = super().lookup(target, keys, key=key, columns=[*dict.fromkeys((*columns, "id"))])
        return self._left(target, found).select(list(columns))

    def lookup_all(self, target: TypeTable, keys: Mapping[str, pa.Array], *, columns: Sequence[str]) -> pa.Table:
        if target.key not in self._removed:
            return super().lookup_all(target, keys, columns=columns)
        found = super().lookup_all(target, keys, columns=[*dict.fromkeys((*columns, "id"))])
        return self._left(target, found).select(list(columns))

    def _left(self, target: TypeTable, rows: RowsOfArrow) -> RowsOfArrow:
        removed = self._removed.get(target.key)
        return rows if removed is None else rows.filter(pc.invert(pc.is_in(rows["id"], value_set=removed)))
