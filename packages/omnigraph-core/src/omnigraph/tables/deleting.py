"""Staged deletes: rows are marked in deletion files beside the data; no version appears.

The rows are found first, by a predicate or by their keys, and marked by address. So a predicate stays an expression
that uses indexes, and nothing is ever spelled as SQL.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance import LanceDataset, LanceFragment, LanceOperation

from omnigraph.tables.failures import translating
from omnigraph.tables.handles import LanceSnapshot, LanceStaged, StagedKind
from omnigraph.tables.interface import TablePin
from omnigraph.tables.opening import Place
from omnigraph.tables.reading import addresses_matching, addresses_of_keys
from omnigraph.tables.staging import deletion_files, planned

Finder = Callable[[LanceDataset], pa.ChunkedArray]
"""Gives the addresses of the rows to delete in a version."""


def stage_delete(base: LanceSnapshot, predicate: pc.Expression) -> LanceStaged | None:
    """Mark the rows that match; None when there are none."""
    return _stage(base.dataset, base.pin, base.place, lambda dataset: addresses_matching(dataset, predicate))


def stage_delete_keys(base: LanceSnapshot, keys: pa.Array, *, key: str) -> LanceStaged | None:
    """Mark the rows with these keys; None when there are none."""
    return _stage(base.dataset, base.pin, base.place, lambda dataset: addresses_of_keys(dataset, keys, key=key))


def _stage(dataset: LanceDataset, pin: TablePin, place: Place, find: Finder) -> LanceStaged | None:
    addresses = find(dataset).to_numpy()
    if not len(addresses):
        return None
    changed, gone = [], []
    with translating("delete from", place.uri):
        fragment_ids = addresses >> np.uint64(32)
        offsets = addresses & np.uint64(0xFFFF_FFFF)
        for fragment_id in np.unique(fragment_ids).tolist():
            fragment = LanceFragment(dataset, fragment_id)
            left = fragment.delete_rows(offsets[fragment_ids == fragment_id].tolist())
            if left is None:
                gone.append(fragment_id)
            else:
                changed.append(left)
    operation = LanceOperation.Delete(changed, gone, f"{len(addresses)} rows by address")
    return LanceStaged(
        kind=StagedKind.DELETE,
        location=pin.location,
        place=place,
        base=pin,
        transaction=planned(StagedKind.DELETE, operation, read_version=dataset.version),
        files=deletion_files(changed, place),
        # After an upsert of the same commit a fragment may have more rows marked, and other rows may match.
        restage=lambda newer: _stage(newer, pin, place, find),
    )
