"""``StoredRows``: rows of a type at one pin as they lie in storage, by ascending address; the ends of edges.

Adjacency is made of them: an edge is added where a row is and removed where one is gone, and ids of edges do not
matter. ``deltas`` extends them to another pin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from omnigraph.engine.entities import ABSENT, Positions, contiguous
from omnigraph.engine.pinned_rows import PinnedRows, Stored


class StoredRows(PinnedRows):
    """Rows of a type at one pin, by address."""

    def _compare(self, older: PinnedRows) -> Positions:
        shared = {(each.number, each.files) for each in self.stored.parts}
        numbers = [each.number for each in older.stored.parts if (each.number, each.files) in shared]
        found = np.searchsorted(self.addresses, older.addresses)
        is_same = np.isin(older.addresses >> np.uint64(32), np.array(numbers, dtype=np.uint64))
        is_same &= found < len(self)
        is_same[is_same] = self.addresses[found[is_same]] == older.addresses[is_same]
        return np.where(is_same, found, ABSENT)

    def _from_storage(self, column: pa.Array) -> pa.Array:
        return column


def load_rows(stored: Stored, columns: Sequence[str], *, on_growth: Callable[[], None] | None = None) -> StoredRows:
    """Rows as they are stored, with these columns loaded."""
    rows, addresses = stored.read(list(columns))
    return StoredRows(stored, addresses, {each: contiguous(rows[each]) for each in columns}, on_growth=on_growth)
