"""``WarmColumns``: columns of small tables, decoded and kept by version, so that a small write reads nothing.

One-row commits leave one-row files; looking up an id in a thousand of them takes a thousand requests. A process that
made those commits knows what they hold: after each publish the kept columns are carried over to the new version. An
entry is named by a pin and pins never change meaning, so an entry is right or absent, never stale. Bounded in bytes,
while reading too; the least used go first. Safe to share between threads.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.tables.interface import SnapshotHandle, TablePin, TableStorage

MAX_BYTES: Final = 64 * 1024 * 1024
"""What all entries together may take."""

MAX_ROWS: Final = 250_000
"""Tables with more rows are read, not kept."""

_MAX_CHUNKS: Final = 64
_MAX_REFUSALS: Final = 1_024


class WarmColumns:
    """Columns by pin."""

    def __init__(self, *, max_bytes: int = MAX_BYTES, max_rows: int = MAX_ROWS) -> None:
        self.max_bytes = max_bytes
        self.max_rows = max_rows
        self._lock = threading.Lock()
        self._kept: OrderedDict[TablePin, tuple[pa.Table, int]] = OrderedDict()
        self._bytes = 0
        # Columns that were found to be too large, so that they are not read in vain again.
        self._refused: OrderedDict[tuple[TablePin, tuple[str, ...]], None] = OrderedDict()

    def columns(
        self, tables: TableStorage, handle: SnapshotHandle, columns: Sequence[str], *, row_count: int
    ) -> pa.Table | None:
        """These columns of a version, from memory or read now and kept; None when they are too large to keep."""
        asked = handle.pin, tuple(sorted(columns))
        if row_count > self.max_rows or asked in self._refused:
            return None
        held = self._held(handle.pin)
        if held is not None and set(columns) <= set(held.column_names):
            return held.select(list(columns))
        # All at once and in one scan: columns read apart may come in different orders.
        wanted = sorted({*columns, *(() if held is None else held.column_names)})
        found = self._read(tables, handle, wanted)
        if found is None and held is not None:
            found = self._read(tables, handle, sorted(columns))
        if found is None:
            self._refuse(asked)
            return None
        self._keep(handle.pin, found)
        return found.select(list(columns))

    def carry_over(self, old: TablePin, new: TablePin, added: pa.Table | None, *, replaces: bool) -> None:
        """What is known of a new version that is an old one plus rows.

        Args:
            old: the version before, of which this keeps nothing any more.
            new: the version after.
            added: the rows, or None when they are not at hand; then nothing is carried over.
            replaces: rows of equal id were replaced, so they go first.
        """
        held = self._take(old)
        if held is None or added is None or (replaces and "id" not in held.column_names):
            return
        if replaces:
            held = held.filter(pc.invert(pc.is_in(held["id"], value_set=added["id"].combine_chunks())))
        self._keep(new, pa.concat_tables([held, added.select(held.column_names).cast(held.schema)]))

    def _held(self, pin: TablePin) -> pa.Table | None:
        with self._lock:
            found = self._kept.get(pin)
            if found is None:
                return None
            self._kept.move_to_end(pin)
            return found[0]

    def _take(self, pin: TablePin) -> pa.Table | None:
        with self._lock:
            found = self._kept.pop(pin, None)
            if found is None:
                return None
            self._bytes -= found[1]
            return found[0]

    def _read(self, tables: TableStorage, handle: SnapshotHandle, columns: Sequence[str]) -> pa.Table | None:
        """The columns, or None as soon as they take more than may be kept."""
        batches: list[pa.RecordBatch] = []
        size = 0
        with tables.read(handle, columns=columns) as reader:
            for batch in reader:
                size += batch.nbytes
                if size > self.max_bytes:
                    return None
                batches.append(batch)
            return pa.Table.from_batches(batches, schema=reader.schema)

    def _keep(self, pin: TablePin, table: pa.Table) -> None:
        if table.column(0).num_chunks > _MAX_CHUNKS:
            table = table.combine_chunks()
        size = table.nbytes
        if size > self.max_bytes or table.num_rows > self.max_rows:
            return
        with self._lock:
            replaced = self._kept.pop(pin, None)
            self._kept[pin] = table, size
            self._bytes += size - (0 if replaced is None else replaced[1])
            while self._bytes > self.max_bytes:
                _, (_, freed) = self._kept.popitem(last=False)
                self._bytes -= freed

    def _refuse(self, asked: tuple[TablePin, tuple[str, ...]]) -> None:
        with self._lock:
            self._refused[asked] = None
            while len(self._refused) > _MAX_REFUSALS:
                self._refused.popitem(last=False)
