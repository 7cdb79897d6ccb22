"""``Source``: where the operators of one execution get rows: whole types from memory, few rows from storage.

    Source ── image, endpoints ──> memory (held, extended or loaded now)
           └─ rows ──────────────> storage, by key

A type is held when it is small enough for the bound of the memory, and, where only few of its rows are wanted, when it
is small or asked for often. Everything is read at the pins of one snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.config import Settings
from omnigraph.engine.deltas import extend_image, extend_rows
from omnigraph.engine.entities import Entities, HeldRows, contiguous
from omnigraph.engine.images import LARGE, PATIENCE, Image, load_image
from omnigraph.engine.memory import Memory
from omnigraph.engine.pinned_rows import PinnedRows, Stored
from omnigraph.engine.stored_rows import StoredRows, load_rows
from omnigraph.history.schemas import GraphSchema
from omnigraph.history.snapshot import Snapshot
from omnigraph.history.state import TableEntry
from omnigraph.tables.arrow_schema import is_blob
from omnigraph.tables.interface import IndexCoverage, SnapshotHandle, TableStorage

TYPES: Final = "types"
ENDPOINTS: Final = "endpoints"

SHARE: Final = 2
"""One type may take one part in so many of the bound of the memory."""

FEW_NODES: Final = 1_024
"""So many nodes are looked up in storage rather than read with all others of a large type."""

BRANCH_VERSIONS: Final = 3
TYPE_VERSIONS: Final = 16
"""How many versions of a type are kept: of one branch, of all together."""

_ENDS: Final = ("src", "dst")
_NAMES: Final = ("id", *_ENDS)
"""Columns whose texts are names, and short."""
_ADDRESS_WIDTH: Final = 12

R = TypeVar("R", bound=PinnedRows)


class Source:
    """The types of one snapshot. Belongs to one execution; what it hands out may be shared."""

    def __init__(self, snapshot: Snapshot, tables: TableStorage, memory: Memory, settings: Settings) -> None:
        self.snapshot = snapshot
        self.tables = tables
        self.memory = memory
        self.settings = settings
        self._entries: dict[str, TableEntry] = {}
        self._handles: dict[str, SnapshotHandle] = {}
        self._images: dict[str, Image] = {}
        self._open_widths: dict[str, int] = {}

    @property
    def schema(self) -> GraphSchema:
        """The schema of the snapshot."""
        return self.snapshot.schema

    def entry(self, key: str) -> TableEntry:
        """Which version of a type the snapshot shows.

        Raises:
            NotFoundError: the type did not exist yet.
        """
        found = self._entries.get(key)
        if found is None:
            found = self._entries[key] = self.snapshot.entry(self.schema.tables[key])
        return found

    def handle(self, key: str) -> SnapshotHandle:
        """That version, open."""
        found = self._handles.get(key)
        if found is None:
            found = self._handles[key] = self.tables.open_at(self.entry(key).pin)
        return found

    def row_count(self, key: str) -> int:
        """How many rows a type has."""
        return self.entry(key).row_count

    def image(
        self, key: str, *, columns: Sequence[str] = (), shown: Sequence[str] = (), is_selective: bool = False
    ) -> Image | None:
        """A whole type in memory; None when it is not to be held, and rows have to be read from storage.

        Args:
            key: of the type, such as ``node:Film``.
            columns: that will be read whole. They count when it is decided, and are loaded with the ids if these are.
            shown: that will be read for some rows; loaded with the others where they fit.
            is_selective: storage could find the few rows that are wanted. A large type is then held only after it was
                asked for several times.
        """
        if self.settings.scan_mode == "stored":
            return None
        image = self._images.get(key)
        if image is None:
            is_there = self.memory.holds(TYPES, (key, self.entry(key).pin))
            if not is_there and not self._may_hold(key, columns, is_selective=is_selective):
                return None
            load = partial(load_image, columns=(*columns, *shown))
            image = self._images[key] = self._held(TYPES, key, load=load, extend=extend_image)
        is_readable = all(image.is_loaded(each) or each not in image.stored.too_large for each in columns)
        return image if is_readable else None

    def endpoints(self, key: str) -> StoredRows | None:
        """The ends of all edges of a type, as columns ``src`` and ``dst``; None when they are too many to hold."""
        if self.settings.scan_mode == "stored":
            return None
        if self.settings.scan_mode != "memory" and not self.fits(key, _ENDS, with_ids=False):
            return None
        return self._held(ENDPOINTS, key, load=partial(load_rows, columns=_ENDS), extend=extend_rows)

    def is_held(self, key: str) -> bool:
        """Whether the image of a type is in memory, or one that it is made of by reading what changed. No load."""
        pin = self.entry(key).pin
        if self.memory.holds(TYPES, (key, pin)):
            return True
        return self.memory.holds_line(TYPES, pin.location) and self.fits(key, ())

    def rows(self, key: str, ids: pa.Array | pa.ChunkedArray, columns: Sequence[str], *, by: str = "id") -> HeldRows:
        """The entities whose ``id``, or other column, is one of these values, from storage."""
        names = list(dict.fromkeys(("id", *columns)))
        keys = contiguous(pc.unique(ids)).drop_null()
        return HeldRows(key, self.tables.lookup(self.handle(key), keys, key=by, columns=names))

    def nodes(self, key: str, ids: pa.Array | pa.ChunkedArray, columns: Sequence[str]) -> Entities:
        """Entities that have these among them: the whole type where it is held or is to be, else their rows."""
        image = self.image(key, columns=columns, is_selective=len(ids) <= FEW_NODES)
        return self.rows(key, ids, columns) if image is None else image

    def coverage(self, key: str, column: str, kind: str) -> IndexCoverage | None:
        """How far the index of a kind on a column reaches; None when there is none."""
        found = self.tables.coverage(self.handle(key))
        return next((each for each in found if each.spec.column == column and each.spec.kind == kind), None)

    def _may_hold(self, key: str, columns: Sequence[str], *, is_selective: bool) -> bool:
        if self.settings.scan_mode == "memory":
            return True
        if not self.fits(key, columns):
            return False
        if not is_selective or self.row_count(key) <= LARGE:
            return True
        location = self.entry(key).pin.location
        return self.memory.holds_line(TYPES, location) or self.memory.count_asked((TYPES, location)) >= PATIENCE

    def fits(self, key: str, columns: Sequence[str], *, with_ids: bool = True) -> bool:
        """Whether ids and these columns of all entities take no more than the share of the memory of one type."""
        schema = self.schema.tables[key].schema
        names = dict.fromkeys(("id", *columns) if with_ids else columns)
        width = _ADDRESS_WIDTH + sum(self._width(key, schema.field(each)) for each in names)
        return self.row_count(key) * width * SHARE <= self.settings.cache_bytes

    def _too_large(self, key: str) -> frozenset[str]:
        """The columns that would not fit even alone."""
        if self.settings.scan_mode == "memory":
            return frozenset()
        schema = self.schema.tables[key].schema
        return frozenset(each for each in schema.names if each != "id" and not self.fits(key, (each,), with_ids=False))

    def _width(self, key: str, field: pa.Field) -> int:
        """Bytes that a value of a column is taken to need, before anything is read."""
        width = _width(field.type)
        if field.name in _NAMES or not _is_open(field.type):
            return width
        found = self._open_widths.get(key)
        if found is None:
            found = self._open_widths[key] = self._open_width(key)
        return max(width, found)

    def _open_width(self, key: str) -> int:
        """What texts and lists of a row take at most, by the size of the files; 0 where that says nothing."""
        schema = self.schema.tables[key].schema
        parts = self.tables.parts(self.handle(key))
        rows = sum(each.row_count for each in parts)
        if rows == 0 or any(is_blob(each) for each in schema):
            return 0
        fixed = sum(_width(each.type) for each in schema if each.name in _NAMES or not _is_open(each.type))
        return max(0, sum(each.byte_count for each in parts) // rows - fixed)

    def _held(
        self,
        family: str,
        key: str,
        *,
        load: Callable[..., R],
        extend: Callable[..., R | None],
    ) -> R:
        """Rows of a type at its pin: kept ones, or made now of the nearest that are kept."""
        memory, pin = self.memory, self.entry(key).pin
        name = (key, pin)
        lines = ((pin.location, pin.branch), pin.location)

        def build() -> R:
            grown = partial(memory.recount, family, name)
            stored = Stored.of(key, self.tables, self.handle(key), too_large=self._too_large(key))
            for line in lines:
                older = memory.newest(family, line)
                made = None if older is None else extend(older, stored, on_growth=grown)
                if made is not None:
                    memory.note_extension(family)
                    return made
            return load(stored, on_growth=grown)

        rows = memory.get_or_build(family, name, build, _nbytes)
        newest = memory.newest(family, lines[0])
        if newest is None or newest.pin.version < pin.version:
            memory.remember(family, lines[0], name, keep=BRANCH_VERSIONS)
        memory.remember(family, lines[1], name, keep=TYPE_VERSIONS)
        return rows


def _nbytes(rows: PinnedRows) -> int:
    return rows.nbytes


def _width(kind: pa.DataType) -> int:
    """Bytes that a value is taken to need, before anything is read."""
    if pa.types.is_fixed_size_list(kind):
        return 4 * int(kind.list_size)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return 64
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return 32
    return 8


def _is_open(kind: pa.DataType) -> bool:
    """Whether values of a type are as long as they like."""
    return bool(pa.types.is_string(kind) or pa.types.is_list(kind))
