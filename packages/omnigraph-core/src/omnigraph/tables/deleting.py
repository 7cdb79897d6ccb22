"""Staged deletes: rows are marked in deletion files beside the data; no version appears.

The rows are found first, by a predicate or by their keys, or their addresses are known; they are marked by address. So
a predicate is answered by indexes, as in a read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from lance import LanceDataset, LanceFragment, LanceOperation
from lance.fragment import FragmentMetadata

from omnigraph.errors import InternalError
from omnigraph.tables.failures import translating
from omnigraph.tables.handles import LanceSnapshot, LanceStaged, StagedKind
from omnigraph.tables.interface import TablePin
from omnigraph.tables.opening import Place
from omnigraph.tables.parts import fragments_of
from omnigraph.tables.reading import addresses_matching, addresses_of_keys
from omnigraph.tables.row_filters import RowFilter
from omnigraph.tables.staging import deletion_files, planned

Addresses = npt.NDArray[np.uint64]

Finder = Callable[[LanceDataset], pa.ChunkedArray]
"""Gives the addresses of the rows to delete in a version."""

_PART_BITS: Final = np.uint64(32)
_OFFSETS: Final = np.uint64(0xFFFF_FFFF)


def stage_delete(base: LanceSnapshot, predicate: RowFilter) -> LanceStaged | None:
    """Mark the rows that match; None when there are none."""
    return _stage(base.dataset, base.pin, base.place, lambda dataset: addresses_matching(dataset, predicate))


def stage_delete_keys(base: LanceSnapshot, keys: pa.Array, *, key: str) -> LanceStaged | None:
    """Mark the rows with these keys; None when there are none."""
    return _stage(base.dataset, base.pin, base.place, lambda dataset: addresses_of_keys(dataset, keys, key=key))


def stage_delete_at(base: LanceSnapshot, addresses: pa.Array) -> LanceStaged | None:
    """Mark the rows at these addresses; None when there are none.

    Raises:
        InternalError: an address comes twice, or there is no row at one.
    """
    removed = distinct_addresses(addresses)
    return _staged(base.dataset, base.pin, base.place, removed) if len(removed) else None


def mark_deleted(dataset: LanceDataset, addresses: Addresses) -> tuple[list[FragmentMetadata], list[int]]:
    """Parts with rows marked as deleted, and the numbers of parts of which nothing is left; no version appears."""
    changed: list[FragmentMetadata] = []
    gone: list[int] = []
    numbers = addresses >> _PART_BITS
    for fragment in fragments_of(dataset, np.unique(numbers).tolist()):
        offsets = (addresses[numbers == fragment.fragment_id] & _OFFSETS).tolist()
        if max(offsets) >= fragment.physical_rows:
            raise InternalError(f"Part {fragment.fragment_id} of {dataset.uri} has no row {max(offsets)}.")
        left = fragment.delete_rows(offsets)
        if left is None:
            gone.append(fragment.fragment_id)
            continue
        _check_marked(fragment, left, len(offsets))
        changed.append(left)
    return changed, gone


def _check_marked(fragment: LanceFragment, left: FragmentMetadata, count: int) -> None:
    """Refuse marks on rows that were not there: Lance would count them as nothing."""
    if fragment.metadata.num_rows - left.num_rows != count:
        raise InternalError(f"Some of {count} rows to be marked are not in part {fragment.fragment_id}.")


def distinct_addresses(addresses: pa.Array) -> Addresses:
    """Addresses as numbers.

    Raises:
        InternalError: one comes twice.
    """
    found = np.asarray(addresses, np.uint64)
    if len(np.unique(found)) != len(found):
        raise InternalError("An address was given twice.")
    return found


def _stage(dataset: LanceDataset, pin: TablePin, place: Place, find: Finder) -> LanceStaged | None:
    addresses = find(dataset).to_numpy()
    if not len(addresses):
        return None
    # After an upsert of the same commit a part may have more rows marked, and other rows may match.
    return _staged(dataset, pin, place, addresses, restage=lambda newer: _stage(newer, pin, place, find))


def _staged(
    dataset: LanceDataset,
    pin: TablePin,
    place: Place,
    addresses: Addresses,
    *,
    restage: Callable[[LanceDataset], LanceStaged | None] | None = None,
) -> LanceStaged:
    with translating("delete from", place.uri):
        changed, gone = mark_deleted(dataset, addresses)
    operation = LanceOperation.Delete(changed, gone, f"{len(addresses)} rows by address")
    return LanceStaged(
        kind=StagedKind.DELETE,
        location=pin.location,
        place=place,
        base=pin,
        transaction=planned(StagedKind.DELETE, operation, read_version=dataset.version),
        files=deletion_files(changed, place),
        restage=restage,
    )
