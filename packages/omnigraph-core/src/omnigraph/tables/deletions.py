"""Which rows of a part are deleted, by the list that Lance keeps beside the part; no row is looked at for it.

    array    few rows: a file of Arrow, one column of offsets in no order
    bitmap   many: a roaring bitmap in its portable form, https://github.com/RoaringBitmap/RoaringFormatSpec

A version names the list of each part, and a list never changes. Where lists are no objects of the adapter, in memory,
or have a form that is not known here, Lance is asked which rows are there instead.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
import pyarrow as pa
from lance import LanceFragment
from lance.fragment import DeletionFile

from omnigraph.storage import StorageAdapter
from omnigraph.tables.counting import note
from omnigraph.tables.failures import translating
from omnigraph.tables.filters import ROW_ADDRESS
from omnigraph.tables.handles import LanceSnapshot
from omnigraph.tables.opening import place_of
from omnigraph.tables.parts import Offsets, fragments_of

READ_AT_ONCE: Final = 8
"""So many lists are read side by side."""

MAX_KEPT: Final = 16_384
"""A list of so many rows stays with its version: who compares versions asks for it again."""

_PORTABLE: Final = 12_346
"""A roaring bitmap without runs begins with it; Lance writes no others."""

_MOST_LISTED: Final = 4_096
"""Of more numbers a container is a bitmap."""

_BITMAP_BYTES: Final = 8_192
_OFFSETS: Final = np.uint64(0xFFFF_FFFF)


def deleted_rows(adapter: StorageAdapter, snapshot: LanceSnapshot, parts: Sequence[int]) -> dict[int, Offsets]:
    """The rows that are deleted in each of these parts, by number of the part; a small request for each list.

    Raises:
        InternalError: a number is none of the version.
        StorageError: a list could not be read.
    """
    fragments = fragments_of(snapshot.dataset, parts)
    if len(fragments) < 2:
        return {each.fragment_id: _deleted(adapter, snapshot, each) for each in fragments}
    with ThreadPoolExecutor(max_workers=READ_AT_ONCE) as pool:
        found = pool.map(lambda each: _deleted(adapter, snapshot, each), fragments)
        return {each.fragment_id: offsets for each, offsets in zip(fragments, found, strict=True)}


def known_lists(snapshot: LanceSnapshot) -> dict[int, Offsets]:
    """The lists that were read of a version and stayed with it, by number of the part."""
    return snapshot.once("deleted", lambda _: {})


def _deleted(adapter: StorageAdapter, snapshot: LanceSnapshot, fragment: LanceFragment) -> Offsets:
    deletions = fragment.metadata.deletion_file
    if deletions is None:
        return np.empty(0, np.uint32)
    kept, number = known_lists(snapshot), fragment.fragment_id
    if number in kept:
        return kept[number]
    note("read_deleted")
    found = _listed(adapter, snapshot, number, deletions)
    if found is None or len(found) != deletions.num_deleted_rows:
        found = _scanned(snapshot, fragment)
    if len(found) <= MAX_KEPT:
        kept[number] = found
    return found


def _listed(adapter: StorageAdapter, snapshot: LanceSnapshot, number: int, deletions: DeletionFile) -> Offsets | None:
    """What the list of a part says; None where Lance has to be asked."""
    place = snapshot.place
    if not place.has_files:
        return None
    if deletions.base_id is not None:
        # It lies below a line that this one was forked from.
        line = snapshot.dataset.base_paths()[deletions.base_id].name
        place = place_of(adapter, snapshot.pin.location, line)
    data = adapter.read(place.file(deletions.path(number)))
    try:
        return _from_arrow(data) if deletions.file_type == "array" else _from_bitmap(data)
    except (pa.ArrowException, KeyError, ValueError, struct.error):
        # Lance knows better, or says what is wrong with it.
        return None


def _scanned(snapshot: LanceSnapshot, fragment: LanceFragment) -> Offsets:
    with translating("read", snapshot.place.uri):
        rows = snapshot.dataset.scanner(columns=[], with_row_address=True, fragments=[fragment]).to_table()
    is_deleted = np.ones(fragment.physical_rows, np.bool_)
    is_deleted[rows[ROW_ADDRESS].to_numpy() & _OFFSETS] = False
    return np.flatnonzero(is_deleted).astype(np.uint32)


def _from_arrow(data: bytes) -> Offsets:
    with pa.ipc.open_file(pa.BufferReader(data)) as file:
        return np.sort(file.read_all()["row_id"].to_numpy())


def _from_bitmap(data: bytes) -> Offsets:
    """The numbers in a bitmap: for each upper half a container of lower halves, which is a list or a bitmap itself."""
    cookie, size = struct.unpack_from("<II", data)
    if cookie != _PORTABLE:
        raise ValueError(cookie)
    # Each upper half, and how many numbers have it, less one; then the places of the containers, which are in order.
    headers = np.frombuffer(data, "<u2", 2 * size, 8).reshape(size, 2)
    place = 8 + 8 * size
    found = [np.empty(0, np.uint32)]
    for upper, count in headers.astype(np.uint32).tolist():
        if count < _MOST_LISTED:
            lower = np.frombuffer(data, "<u2", count + 1, place)
            place += 2 * len(lower)
        else:
            bits = np.frombuffer(data, np.uint8, _BITMAP_BYTES, place)
            lower = np.flatnonzero(np.unpackbits(bits, bitorder="little"))
            place += _BITMAP_BYTES
        found.append(lower.astype(np.uint32) | np.uint32(upper << 16))
    return np.concatenate(found)
