"""``RowSpools``: the rows that a merge writes and removes of one type, in memory while they are few.

Rows that take another's place come before those that are new, so that whoever stages them knows which is which. What is
more than some MiB waits in a temporary file of this machine, which is mapped and not read.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.row_changes import RowChanges
from omnigraph.history.schemas import TypeTable
from omnigraph.history.warm import ADDRESS
from omnigraph.write.buffers import WaitingRows
from omnigraph.write.changeset import ChangeMode, NewRows, TypeChange
from omnigraph.write.merge.base_places import MAX_REMOVED, BasePlaces
from omnigraph.write.stage import MAX_LOCATED

SPOOL_BYTES: Final = 32 * 1024 * 1024
"""How much one set of rows holds in memory."""

_ADDRESS_FIELD: Final = pa.field(ADDRESS, pa.uint64())


class RowSpools:
    """What becomes of the rows of one type."""

    def __init__(self, target: TypeTable) -> None:
        self._target = target
        ends = ("src", "dst") if target.kind == "edge" else ()
        self._replacing = _Spool(target.schema.append(_ADDRESS_FIELD))
        self._new = _Spool(target.schema)
        self._removed = _Spool(pa.schema([*(target.schema.field(each) for each in ("id", *ends)), _ADDRESS_FIELD]))

    def add(self, rows: RowChanges) -> None:
        """Take what is to happen to some rows."""
        was_there, is_there = rows.before.is_valid(), rows.after.is_valid()
        changed, gone = pc.and_(was_there, is_there), pc.and_(was_there, pc.invert(is_there))
        self._replacing.add(rows.after.filter(changed), rows.addresses.filter(changed))
        self._new.add(rows.after.filter(pc.and_(pc.invert(was_there), is_there)))
        self._removed.add(rows.before.filter(gone), rows.addresses.filter(gone))

    def change(self, places: BasePlaces | None) -> TypeChange:
        """All of it as a change of the type; where the rows lie does not matter if nothing is to be written."""
        replacing, new, removed = (each.finish() for each in (self._replacing, self._new, self._removed))
        addresses, removed_addresses = (
            None if places is None else places.locate(each.select(["id", ADDRESS]), most)
            for each, most in ((replacing, MAX_LOCATED), (removed, MAX_REMOVED))
        )
        rows = pa.concat_tables([replacing.drop_columns(ADDRESS), new])
        return TypeChange(
            target=self._target,
            mode=ChangeMode.UPSERT,
            rows=NewRows(table=rows, row_count=rows.num_rows),
            removed=NewRows(table=removed.drop_columns(ADDRESS), row_count=removed.num_rows),
            addresses=addresses,
            removed_addresses=removed_addresses,
        )


class _Spool:
    """Rows as they come: in memory up to a bound, then in a file."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._held: list[pa.RecordBatch] = []
        self._bytes = 0
        self._waiting: WaitingRows | None = None

    def add(self, rows: pa.StructArray, addresses: pa.Array | None = None) -> None:
        """Take rows that have at least the columns of this one, but for their addresses."""
        if not len(rows):
            return
        columns = [addresses if each == ADDRESS else rows.field(each) for each in self._schema.names]
        self._held.append(pa.RecordBatch.from_arrays(columns, schema=self._schema))
        self._bytes += self._held[-1].nbytes
        if self._bytes > SPOOL_BYTES:
            self._spill()

    def finish(self) -> pa.Table:
        """All of them."""
        if self._waiting is None:
            return pa.Table.from_batches(self._held, self._schema)
        self._spill()
        return self._waiting.map().cast(self._schema)

    def _spill(self) -> None:
        self._waiting = self._waiting or WaitingRows(self._schema)
        self._waiting.add(self._held)
        self._held, self._bytes = [], 0
