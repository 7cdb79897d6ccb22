"""``TypeBuffer``: the rows of one type on their way into a write, in memory while they are few, in files beyond that.

    TypedRows, batch by batch ──> ids minted ──> memory, and where that is too much, files beside the table

What all types of one write hold together is bounded (``spill_largest``), so memory grows neither with the rows nor with
the number of types. Files written this way belong to no version. If the write fails they are litter that garbage
collection removes.

Edges that are to be merged by a unique tuple wait for their ids until a snapshot is chosen: when they are many, they
wait in a temporary file of this machine, which is mapped and not read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.batch_file import BatchFile
from omnigraph.errors import ConflictError
from omnigraph.history.schemas import TypeTable
from omnigraph.tables.interface import TablePin, TableStorage, WrittenRows
from omnigraph.write.changeset import NewRows
from omnigraph.write.places import RowPlaces
from omnigraph.write.records.ids import mint_ulids
from omnigraph.write.records.typed_rows import TypedRows
from omnigraph.write.validation.edge_ids import merge_tuple

SPILL_BYTES: Final = 64 * 1024 * 1024
"""How many bytes one write gathers, all types together, before the largest go to files: of narrow rows about a million,
which is what a file should have."""


class TypeBuffer:
    """Rows of one type, in input order.

    ``base`` says what the files are to lie beside; it is asked when the first one is written, because it may make a
    line of the table.

    Attributes:
        held_bytes: what is in memory.
        minted: how many of the ids were minted here.
        is_minted: by row, whether its id was, where a merge may give it that of the edge that it replaces.
        waits_for_ids: rows without an id keep it open, for ``resolve_edge_ids``.
    """

    def __init__(
        self, target: TypeTable, base: Callable[[], TablePin], tables: TableStorage, *, waits_for_ids: bool
    ) -> None:
        self.target = target
        self.waits_for_ids = waits_for_ids
        self.held_bytes = 0
        self.minted = 0
        self.is_minted: list[npt.NDArray[np.bool_]] = []
        self.row_count = 0
        self._base = base
        self._tables = tables
        self._batches: list[pa.RecordBatch] = []
        self._written: list[WrittenRows] = []
        self._waiting: WaitingRows | None = None
        self._places = RowPlaces()

    def add(self, typed: TypedRows) -> pa.RecordBatch:
        """Take the next rows; the same with the ids that they got."""
        rows = typed.rows if self.waits_for_ids else self._with_ids(typed.rows)
        self._places.add(typed.lines, typed.source)
        self._batches.append(rows)
        self.held_bytes += rows.nbytes
        self.row_count += rows.num_rows
        return rows

    def finish(self) -> NewRows:
        """All rows: in memory if they never were too many, else in files."""
        if self._batches and (self._written or self._waiting is not None):
            self.spill()
        table = None
        if self._waiting is not None:
            table = self._waiting.map()
        elif not self._written:
            table = pa.Table.from_batches(self._batches, self.target.schema)
        return NewRows(table=table, written=tuple(self._written), row_count=self.row_count, place_of=self._places)

    def write_out(self) -> tuple[WrittenRows, ...]:
        """All rows in files, however few they are."""
        if self._batches:
            self.spill()
        return tuple(self._written)

    @property
    def ids_are_fresh(self) -> bool:
        return self.minted == self.row_count

    def spill(self) -> None:
        """Write what is in memory to files."""
        if self.waits_for_ids:
            self._waiting = self._waiting or WaitingRows(self.target.schema)
            self._waiting.add(self._batches)
        else:
            table = pa.Table.from_batches(self._batches, self.target.schema)
            self._written.append(self._tables.write_rows(self._base(), table, schema=self.target.schema))
        self._batches, self.held_bytes = [], 0

    def _with_ids(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        ids = rows.column("id")
        missing = ids.null_count
        if merge_tuple(self.target) is not None:
            self.is_minted.append(np.asarray(ids.is_null().to_numpy(zero_copy_only=False), np.bool_))
        if not missing:
            return rows
        self.minted += missing
        fresh = mint_ulids(missing)
        filled = fresh if missing == len(ids) else pc.replace_with_mask(ids, pc.is_null(ids), fresh)
        return rows.set_column(0, self.target.schema.field(0), filled)


def spill_largest(buffers: Collection[TypeBuffer], limit: int) -> None:
    """Let the buffer that holds most write files, if all of them together hold ``limit`` bytes or more."""
    if sum(each.held_bytes for each in buffers) >= limit:
        max(buffers, key=lambda each: each.held_bytes).spill()


class WaitingRows:
    """Rows in a temporary file of this machine."""

    def __init__(self, schema: pa.Schema) -> None:
        # Ids are open, whatever the table says of them.
        self._schema = schema.set(0, schema.field(0).with_nullable(True))
        self._file = BatchFile(self._schema)

    def add(self, batches: list[pa.RecordBatch]) -> None:
        for batch in batches:
            self._file.add(pa.RecordBatch.from_arrays(batch.columns, schema=self._schema))

    def map(self) -> pa.Table:
        """All rows, mapped from the file; nothing can be added any more."""
        return self._file.map().read_all()


def fill_ids(target: TypeTable, rows: pa.Table) -> pa.Table:
    """Mint an id for every row that has none."""
    ids = rows["id"].combine_chunks()
    missing = ids.null_count
    if not missing:
        return rows
    filled = pc.replace_with_mask(ids, pc.is_null(ids), mint_ulids(missing))
    return rows.set_column(0, target.schema.field(0), filled)


def refuse_lost_files(rows: NewRows) -> None:
    """Raise when rows lie in files that garbage collection may have taken.

    Raises:
        ConflictError: they do.
    """
    if rows.table is None:
        raise ConflictError(
            "Garbage collection ran while this load was under way, and may have removed what it had written.",
            help="Repeat the load.",
        )
