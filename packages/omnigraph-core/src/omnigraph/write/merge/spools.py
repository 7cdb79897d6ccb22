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
from omnigraph.write.buffers import WaitingRows
from omnigraph.write.changeset import ChangeMode, NewRows, TypeChange
from omnigraph.write.committed import CommittedRows
from omnigraph.write.stage import MAX_LOCATED

SPOOL_BYTES: Final = 32 * 1024 * 1024
"""How much one set of rows holds in memory."""


class RowSpools:
    """What becomes of the rows of one type."""

    def __init__(self, target: TypeTable) -> None:
        self._target = target
        ends = ("src", "dst") if target.kind == "edge" else ()
        self._replacing = _Spool(target.schema)
        self._new = _Spool(target.schema)
        self._removed = _Spool(pa.schema([target.schema.field(each) for each in ("id", *ends)]))

    def add(self, rows: RowChanges) -> None:
        """Take what is to happen to some rows."""
        was_there, is_there = rows.before.is_valid(), rows.after.is_valid()
        self._replacing.add(rows.after.filter(pc.and_(was_there, is_there)))
        self._new.add(rows.after.filter(pc.and_(pc.invert(was_there), is_there)))
        self._removed.add(rows.before.filter(pc.and_(was_there, pc.invert(is_there))))

    def change(self, committed: CommittedRows, *, is_written: bool) -> TypeChange:
        """All of it as a change of the type; what is not to be written is not looked for among what is committed."""
        replacing, new, removed = (each.finish() for each in (self._replacing, self._new, self._removed))
        addresses = None
        if is_written and replacing.num_rows <= MAX_LOCATED:
            addresses = committed.locate(self._target, replacing["id"].combine_chunks())
        rows = pa.concat_tables([replacing, new])
        return TypeChange(
            target=self._target,
            mode=ChangeMode.UPSERT,
            rows=NewRows(table=rows, row_count=rows.num_rows),
            removed=NewRows(table=removed, row_count=removed.num_rows),
            addresses=addresses,
        )


class _Spool:
    """Rows as they come: in memory up to a bound, then in a file."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._held: list[pa.RecordBatch] = []
        self._bytes = 0
        self._waiting: WaitingRows | None = None

    def add(self, rows: pa.StructArray) -> None:
        """Take rows that have at least the columns of this one."""
        if not len(rows):
            return
        columns = [rows.field(each) for each in self._schema.names]
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
