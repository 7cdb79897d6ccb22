"""``WarmColumns``: columns of small tables, decoded and kept by version, so that a small write reads nothing.

One-row commits leave one-row files; looking up an id in a thousand of them takes a thousand requests. What is kept of
one version is followed to the next: by what the writer of that version knows (``follow``), or by reading what differs
(``columns``), which is little after the commit of another process too. Every row is kept with its address, by which it
can be replaced or deleted without looking for it.

An entry is named by a pin and pins never change meaning, so an entry is right or absent, never stale. Bounded in bytes,
while reading too; the least used go first. Of one line of a table few versions are kept: a step that is not followed,
such as a fold, leaves the version before it behind. Safe to share between threads.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.tables.interface import SnapshotHandle, TablePart, TablePin, TableStorage
from omnigraph.tables.part_delta import PartsDelta, compare_parts

ADDRESS: Final = "_rowaddr"
"""The column that says where a row lies."""

ADDRESS_FIELD: Final = pa.field(ADDRESS, pa.uint64(), nullable=False)

MAX_BYTES: Final = 64 * 1024 * 1024
"""What all entries together may take."""

MAX_KEPT: Final = 256
"""How many versions of all tables may be kept, however small they are."""

KEPT_OF_LINE: Final = 2
"""How many versions of one line of a table: the newest, and the one that a slower writer still builds on."""

MAX_ROWS: Final = 250_000
"""Tables with more rows are read, not kept."""

_MAX_CHUNKS: Final = 64
_MAX_REFUSALS: Final = 1_024
_PART_BITS: Final = np.uint64(32)
_PART_BYTES: Final = 256
"""About what the description of one part takes."""


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    """Columns of one version, among them the addresses, what the version is made of, and what they take."""

    rows: pa.Table
    parts: tuple[TablePart, ...]
    nbytes: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "nbytes", int(self.rows.nbytes) + _PART_BYTES * len(self.parts))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownStep:
    """What the writer of a version knows of it.

    Attributes:
        added: the rows that it wrote, in the order of its files.
        removed: addresses in the version before of the rows that it replaced or deleted.
    """

    added: pa.Table
    removed: pa.Array

    @classmethod
    def nothing(cls, schema: pa.Schema) -> Self:
        """No row came, went or moved."""
        return cls(added=schema.empty_table(), removed=pa.array([], pa.uint64()))


class WarmColumns:
    """Columns by pin."""

    def __init__(self, *, max_bytes: int = MAX_BYTES, max_rows: int = MAX_ROWS) -> None:
        self.max_bytes = max_bytes
        self.max_rows = max_rows
        self._lock = threading.Lock()
        self._kept: OrderedDict[TablePin, _Kept] = OrderedDict()
        self._bytes = 0
        # Columns that were found to be too large, so that they are not read in vain again.
        self._refused: OrderedDict[tuple[TablePin, tuple[str, ...]], None] = OrderedDict()

    def columns(
        self, tables: TableStorage, handle: SnapshotHandle, columns: Sequence[str], *, row_count: int
    ) -> pa.Table | None:
        """These columns of a version, from memory or read now and kept; None when they are too large to keep.

        ``_rowaddr`` may be one of them. Rows come in no order.
        """
        asked = handle.pin, tuple(sorted(columns))
        if row_count > self.max_rows or asked in self._refused:
            return None
        held = self._held(handle.pin) or self._followed(tables, handle)
        if held is not None and set(columns) <= set(held.rows.column_names):
            return held.rows.select(list(columns))
        # All at once and in one scan: columns read apart may come in different orders.
        wanted = sorted({ADDRESS, *columns, *(() if held is None else held.rows.column_names)})
        found = self._read(tables, handle, wanted)
        if found is None and held is not None:
            found = self._read(tables, handle, sorted({ADDRESS, *columns}))
        if found is None:
            self._refuse(asked)
            return None
        self._keep(handle.pin, _Kept(found, tables.parts(handle)))
        return found.select(list(columns))

    def clear(self) -> None:
        """Let go of every column."""
        with self._lock:
            self._kept.clear()
            self._refused.clear()
            self._bytes = 0

    def forget(self, leaves: Callable[[TablePin], bool]) -> None:
        """Let go of the columns of versions that nobody will ask for."""
        with self._lock:
            for pin in [each for each in self._kept if leaves(each)]:
                self._drop(pin)

    def held(self, handle: SnapshotHandle, columns: Sequence[str]) -> pa.Table | None:
        """These columns of a version if they are kept; nothing is read."""
        held = self._held(handle.pin)
        return held.rows.select(list(columns)) if held and set(columns) <= set(held.rows.column_names) else None

    def follow(self, tables: TableStorage, old: TablePin, handle: SnapshotHandle, step: KnownStep) -> None:
        """Keep of a new version what was kept of an old one, by what its writer knows; nothing is read for it.

        The old version is let go, unless it is of another line, whose next version comes from it as well. Where the
        step does not say all, nothing is kept, and the next who asks reads.
        """
        held = self._take(old) if old.branch == handle.pin.branch else self._held(old)
        if held is None:
            return
        parts = tables.parts(handle)
        delta = compare_parts(held.parts, parts)
        if sum(each.row_count for each in delta.new) != step.added.num_rows or any(
            each.deletions for each in delta.new
        ):
            return
        names = [each for each in held.rows.column_names if each != ADDRESS]
        added = step.added.select(names).append_column(ADDRESS, _addresses(delta.new))
        left = held.rows
        if len(step.removed):
            left = left.filter(pc.invert(pc.is_in(left[ADDRESS], value_set=step.removed)))
        rows = pa.concat_tables([left, added.select(left.column_names).cast(left.schema)])
        if rows.num_rows == sum(each.live_count for each in parts):
            self._keep(handle.pin, _Kept(rows, parts))

    def _followed(self, tables: TableStorage, handle: SnapshotHandle) -> _Kept | None:
        """What is kept of another version, of the same line if it may be, brought to this one by what differs."""
        pin = handle.pin
        with self._lock:
            table = [each for each in reversed(self._kept) if each.location == pin.location]
        older = next((each for each in table if each.branch == pin.branch), next(iter(table), None))
        held = None if older is None else self._held(older)
        if older is None or held is None:
            return None
        parts = tables.parts(handle)
        delta = compare_parts(held.parts, parts)
        if 2 * delta.moved_rows > held.rows.num_rows or any(
            was.live_count < now.live_count for was, now in delta.changed
        ):
            return None
        rows = pa.concat_tables(
            [_left(tables, handle, held.rows, delta), *self._added(tables, handle, held.rows, delta)]
        )
        if rows.num_rows != sum(each.live_count for each in parts):
            return None
        found = _Kept(rows, parts)
        if older.branch == pin.branch and older.version < pin.version:
            self._take(older)
        self._keep(pin, found)
        return found

    def _added(self, tables: TableStorage, handle: SnapshotHandle, like: pa.Table, delta: PartsDelta) -> list[pa.Table]:
        if not delta.new:
            return []
        numbers = [each.number for each in delta.new]
        found = self._read(tables, handle, like.column_names, parts=numbers)
        return [] if found is None else [found.cast(like.schema)]

    def _held(self, pin: TablePin) -> _Kept | None:
        with self._lock:
            found = self._kept.get(pin)
            if found is not None:
                self._kept.move_to_end(pin)
            return found

    def _take(self, pin: TablePin) -> _Kept | None:
        with self._lock:
            return self._drop(pin)

    def _drop(self, pin: TablePin) -> _Kept | None:
        found = self._kept.pop(pin, None)
        self._bytes -= 0 if found is None else found.nbytes
        return found

    def _read(
        self,
        tables: TableStorage,
        handle: SnapshotHandle,
        columns: Sequence[str],
        *,
        parts: Sequence[int] | None = None,
    ) -> pa.Table | None:
        """The columns with the addresses, or None as soon as they take more than may be kept."""
        batches: list[pa.RecordBatch] = []
        size = 0
        names = [each for each in columns if each != ADDRESS]
        with tables.read(handle, columns=names, with_address=True, parts=parts) as reader:
            for batch in reader:
                size += batch.nbytes
                if size > self.max_bytes:
                    return None
                batches.append(batch)
            return pa.Table.from_batches(batches, schema=reader.schema).select(list(columns))

    def _keep(self, pin: TablePin, kept: _Kept) -> None:
        if kept.rows.column(0).num_chunks > _MAX_CHUNKS:
            kept = _Kept(kept.rows.combine_chunks(), kept.parts)
        if kept.nbytes > self.max_bytes or kept.rows.num_rows > self.max_rows:
            return
        with self._lock:
            self._drop(pin)
            self._kept[pin] = kept
            self._bytes += kept.nbytes
            line = [each for each in self._kept if (each.location, each.branch) == (pin.location, pin.branch)]
            for each in line[:-KEPT_OF_LINE]:
                self._drop(each)
            while self._bytes > self.max_bytes or len(self._kept) > MAX_KEPT:
                self._drop(next(iter(self._kept)))

    def _refuse(self, asked: tuple[TablePin, tuple[str, ...]]) -> None:
        with self._lock:
            self._refused[asked] = None
            while len(self._refused) > _MAX_REFUSALS:
                self._refused.popitem(last=False)


def _left(tables: TableStorage, handle: SnapshotHandle, rows: pa.Table, delta: PartsDelta) -> pa.Table:
    """The rows of an older version that are there in another one."""
    if not delta.gone and not delta.changed:
        return rows
    addresses = rows[ADDRESS].to_numpy()
    numbers = addresses >> _PART_BITS
    is_left = ~np.isin(numbers, np.array([each.number for each in delta.gone], np.uint64))
    for number, offsets in tables.deleted(handle, [now.number for _, now in delta.changed]).items():
        is_left &= ~np.isin(addresses, (np.uint64(number) << _PART_BITS) + offsets)
    return rows.filter(pa.array(is_left))


def _addresses(parts: Sequence[TablePart]) -> pa.Array:
    """The addresses of all rows of parts, in the order in which they were written."""
    found = [(np.uint64(each.number) << _PART_BITS) + np.arange(each.row_count, dtype=np.uint64) for each in parts]
    return pa.array(np.concatenate(found) if found else np.empty(0, np.uint64))
