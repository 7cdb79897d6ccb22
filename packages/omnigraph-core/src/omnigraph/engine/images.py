"""``Image``: every entity of a type at one pin, by ascending bytes of id; what queries bind where a type is held.

``load_image`` reads one. Ids and addresses are there from the start, other columns come when they are asked for; a few
values of a large column that nobody else reads are fetched by address instead. ``deltas`` extends an image to another
pin.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.entities import ABSENT, Entities, Positions, contiguous, index_in, take_values
from omnigraph.engine.pinned_rows import Addresses, Origin, PinnedRows, Stored

LARGE: Final = 50_000
"""Types with more entities are not read whole for the sake of a few."""

FEW: Final = 64
"""So many values of a column of a large type are fetched alone."""

PATIENCE: Final = 3
"""The time at which something that was fetched in pieces is loaded whole."""

_ONE_BY_ONE: Final = 16
"""So many ids are looked for one after the other; more are looked for together."""

Places = npt.NDArray[np.int32]


class Image(PinnedRows, Entities):
    """A whole type at one pin, by id."""

    def __init__(
        self,
        stored: Stored,
        addresses: Addresses,
        columns: dict[str, pa.Array],
        *,
        origin: Origin | None = None,
        places: Places | None = None,
        on_growth: Callable[[], None] | None = None,
    ) -> None:
        """An image with at least the column ``id``; ``places`` are the ranks of the rows by address, where known."""
        super().__init__(stored, addresses, columns, origin=origin, on_growth=on_growth)
        self._ids = columns["id"]
        self._places = places
        self._fetches: dict[str, int] = {}

    @property
    def ids(self) -> pa.Array:
        return self._ids

    @property
    def nbytes(self) -> int:
        return super().nbytes + (0 if self._places is None else self._places.nbytes)

    def find(self, ids: pa.Array | pa.ChunkedArray) -> Positions:
        """Where these ids are, -1 for those that are not there."""
        wanted = contiguous(ids)
        if len(wanted) <= _ONE_BY_ONE:
            found = (ABSENT if each is None else self.find_one(each) for each in wanted.to_pylist())
            return np.fromiter(found, np.int64, len(wanted))
        if len(wanted) > len(self) // 16 or wanted.null_count:
            return index_in(wanted, self._ids)
        return exactly(self._ids, wanted, lower_bounds(self._ids, wanted))

    def find_one(self, entity_id: str) -> int:
        """Where this id is, -1 when it is not there."""
        ids = self._ids
        place = _lower_bound(ids, entity_id)
        return place if place < len(ids) and ids[place].as_py() == entity_id else ABSENT

    def values(self, name: str, positions: Positions) -> pa.Array:
        """The values of a column at these positions, null at -1; few of a column that is not loaded are fetched."""
        if name == "id" or not self._is_fetched(name, len(positions)):
            return take_values(self.column(name), positions)
        distinct, inverse = np.unique(positions[positions != ABSENT], return_inverse=True)
        fetched = contiguous(self.stored.take(self.addresses[distinct], [name])[name])
        places = np.full(len(positions), ABSENT, dtype=np.int64)
        places[positions != ABSENT] = inverse
        return take_values(fetched, places)

    def _is_fetched(self, name: str, count: int) -> bool:
        if name in self.stored.too_large and not self.is_loaded(name):
            return True
        if count > FEW or len(self) <= LARGE or self.is_loaded(name):
            return False
        with self._lock:
            times = self._fetches[name] = self._fetches.get(name, 0) + 1
        return times < PATIENCE

    def _compare(self, older: PinnedRows) -> Positions:
        assert isinstance(older, Image)  # noqa: S101 - rows are compared with rows of their own class
        return index_in(older.ids, self._ids)

    def _from_storage(self, column: pa.Array) -> pa.Array:
        if self._places is None:
            places = np.empty(len(self), dtype=np.int32)
            places[np.argsort(self.addresses)] = np.arange(len(self), dtype=np.int32)
            self._places = places
        return contiguous(column.take(pa.array(self._places)))


def load_image(stored: Stored, columns: Sequence[str] = (), *, on_growth: Callable[[], None] | None = None) -> Image:
    """A type as it is stored, with these columns loaded; the others follow when they are asked for."""
    wanted = (each for each in columns if each in stored.columns and each not in stored.too_large)
    names = list(dict.fromkeys(("id", *wanted)))
    rows, addresses = stored.read(names)
    places = pc.sort_indices(rows["id"]).to_numpy().astype(np.int32)
    order = pa.array(places)
    loaded = {each: contiguous(contiguous(rows[each]).take(order)) for each in names}
    return Image(stored, addresses[places], loaded, places=places, on_growth=on_growth)


def lower_bounds(ids: pa.Array, wanted: pa.Array) -> Positions:
    """For each wanted id, none of them null, the first place among ascending ids that is not before it."""
    if len(wanted) <= _ONE_BY_ONE:
        return np.fromiter((_lower_bound(ids, each) for each in wanted.to_pylist()), np.int64, len(wanted))
    low = np.zeros(len(wanted), dtype=np.int64)
    high = np.full(len(wanted), len(ids), dtype=np.int64)
    # Binary search for all of them at once: as many rounds as the number of ids has binary digits.
    for _ in range(len(ids).bit_length()):
        middle = (low + high) >> 1
        is_open = low < high
        seen = ids.take(pa.array(np.minimum(middle, len(ids) - 1)))
        is_before = pc.less(seen, wanted).to_numpy(zero_copy_only=False) & is_open
        low = np.where(is_before, middle + 1, low)
        high = np.where(is_open & ~is_before, middle, high)
    return low


def _lower_bound(ids: pa.Array, wanted: str) -> int:
    # Texts compare as their bytes in UTF-8 do.
    return bisect_left(range(len(ids)), wanted, key=lambda each: ids[each].as_py())


def exactly(ids: pa.Array, wanted: pa.Array, places: Positions) -> Positions:
    """Places where ids are the wanted ones, -1 elsewhere."""
    if len(ids) == 0:
        return np.full(len(wanted), ABSENT, dtype=np.int64)
    seen = ids.take(pa.array(np.minimum(places, len(ids) - 1)))
    is_same = pc.equal(seen, wanted).to_numpy(zero_copy_only=False) & (places < len(ids))
    return np.where(is_same, places, ABSENT)
