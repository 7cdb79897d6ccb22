"""From the rows of one pin to those of another: compare what the two versions are made of, read what differs.

    parts of both versions ──> Delta (rows that go, rows that come) ──> Image or StoredRows with a step

A version is made of immutable parts, each with a list of deleted rows. Parts that both versions have cost nothing. New
parts are read, of parts whose deletions differ the addresses that are left, and rows that are there again are fetched.
It works from any version to any other of the same table: forwards, backwards, to a sibling branch. What comes out is
what ``load_image`` and ``load_rows`` would read, array by array; None when too much changed for that to be cheaper.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.entities import ABSENT, Positions, contiguous
from omnigraph.engine.images import Image, exactly, lower_bounds
from omnigraph.engine.moved_rows import OFFSET_BITS, OFFSETS, addresses_in, live_rows
from omnigraph.engine.pinned_rows import Addresses, Origin, PinnedRows, Stored
from omnigraph.engine.splice import Splice
from omnigraph.engine.stored_rows import StoredRows
from omnigraph.tables.part_delta import compare_parts

_FEW: Final = 10_000
"""So many rows that come are read with all their columns; of more only the columns that are in use."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Delta:
    """What differs between two versions of a table.

    Attributes:
        removed: places of older rows that are gone, ascending.
        added: rows that came, by ascending address.
        addresses: theirs.
    """

    removed: Positions
    added: pa.Table
    addresses: Addresses


def extend_image(older: Image, stored: Stored, *, on_growth: Callable[[], None] | None = None) -> Image | None:
    """The image of another version of the same type; None when it is better read anew."""
    delta = find_delta(older, stored)
    if delta is None:
        return None
    order = pc.sort_indices(delta.added["id"])
    added = delta.added.take(order)
    ids = contiguous(added["id"])
    at = lower_bounds(older.ids, ids)
    splice = Splice.of(len(older), delta.removed, at)
    replaced = exactly(older.ids, ids, at)
    return Image(
        stored,
        splice.apply_numbers(older.addresses, delta.addresses[order.to_numpy()]),
        {"id": splice.apply(older.ids, ids)},
        origin=_origin(older, splice, added, replaced),
        on_growth=on_growth,
    )


def extend_rows(older: StoredRows, stored: Stored, *, on_growth: Callable[[], None] | None = None) -> StoredRows | None:
    """The stored rows of another version of the same type; None when they are better read anew."""
    delta = find_delta(older, stored)
    if delta is None:
        return None
    splice = Splice.of(len(older), delta.removed, np.searchsorted(older.addresses, delta.addresses))
    replaced = np.full(len(delta.addresses), ABSENT, dtype=np.int64)
    addresses = splice.apply_numbers(older.addresses, delta.addresses)
    return StoredRows(stored, addresses, {}, origin=_origin(older, splice, delta.added, replaced), on_growth=on_growth)


def find_delta(older: PinnedRows, stored: Stored) -> Delta | None:
    """What differs, or None when more than half of the rows do."""
    parts = compare_parts(older.stored.parts, stored.parts)
    if 2 * parts.moved_rows > len(older):
        return None
    gone, changed = parts.gone, [now for _, now in parts.changed]
    columns = _columns(older, stored, parts.moved_rows)
    added, addresses = _read_new(stored, [each.number for each in parts.new], columns)
    numbers = older.addresses >> OFFSET_BITS if gone or changed else older.addresses
    is_removed = np.zeros(len(older), dtype=np.bool_)
    if gone:
        is_removed |= np.isin(numbers, np.array([each.number for each in gone], dtype=np.uint64))
    if changed:
        live = live_rows(stored, changed)
        back: list[Addresses] = []
        for part in changed:
            is_left = live[part.number]
            here = np.flatnonzero(numbers == part.number)
            offsets = older.addresses[here] & OFFSETS
            is_removed[here] = ~is_left[offsets]
            is_left[offsets] = False
            back.append(addresses_in(part, is_left))
        added, addresses = _with_returned(stored, added, addresses, np.concatenate(back))
    return Delta(removed=np.flatnonzero(is_removed), added=added, addresses=addresses)


def _columns(older: PinnedRows, stored: Stored, count: int) -> list[str]:
    if count <= _FEW:
        return [*stored.columns]
    return [each for each in stored.columns if each == "id" or older.is_loaded(each)]


def _read_new(stored: Stored, parts: Sequence[int], columns: Sequence[str]) -> tuple[pa.Table, Addresses]:
    if parts:
        return stored.read(columns, parts=parts)
    schema = stored.tables.schema(stored.handle)
    return pa.schema([schema.field(each) for each in columns]).empty_table(), np.empty(0, dtype=np.uint64)


def _with_returned(
    stored: Stored, added: pa.Table, addresses: Addresses, returned: Addresses
) -> tuple[pa.Table, Addresses]:
    """Added rows with those that are there again, by ascending address."""
    if len(returned) == 0:
        return added, addresses
    fetched = stored.take(returned, added.column_names).cast(added.schema)
    together = np.concatenate([addresses, returned])
    order = np.argsort(together)
    return pa.concat_tables([added, fetched]).take(pa.array(order)), together[order]


def _origin(older: PinnedRows, splice: Splice, added: pa.Table, replaced: Positions) -> Origin:
    return Origin(parent=weakref.ref(older), splice=splice, added=added.combine_chunks(), replaced=replaced)
