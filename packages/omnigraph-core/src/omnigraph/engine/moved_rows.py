"""Which rows came and which went in parts that two versions of a table share, by address.

A part is immutable but for its list of deleted rows. So of a part that both versions have, only rows that one of the
lists names and the other does not can differ. The lists are all that is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from omnigraph.engine.frame import Mask
from omnigraph.engine.pinned_rows import Addresses, Stored
from omnigraph.tables.interface import TablePart

Offsets = npt.NDArray[np.uint32]

OFFSET_BITS: Final = np.uint64(32)
OFFSETS: Final = np.uint64(0xFFFF_FFFF)

_ROWS_AT_ONCE: Final = 4 << 20
"""Parts of so many rows are looked at together; a row takes one byte for each version."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MovedRows:
    """Rows of shared parts that only one of two versions has.

    Attributes:
        gone: addresses of those that only the older version has, ascending by part.
        come: of those that only the newer one has.
    """

    gone: Addresses
    come: Addresses


def find_moved(before: Stored, after: Stored, shared: Sequence[tuple[TablePart, TablePart]]) -> Iterator[MovedRows]:
    """The rows that moved in parts with other deletions, those of some parts at a time.

    ``shared`` pairs each part as it was with the part as it is.
    """
    for pairs in _groups(shared):
        numbers = [part.number for part, _ in pairs]
        was, now = (each.tables.deleted(each.handle, numbers) for each in (before, after))
        yield MovedRows(
            gone=np.concatenate([_addresses(each, _without(now[each], was[each])) for each in numbers]),
            come=np.concatenate([_addresses(each, _without(was[each], now[each])) for each in numbers]),
        )


def live_rows(stored: Stored, parts: Sequence[TablePart]) -> Mapping[int, Mask]:
    """For each part, by number, which of the rows that were written to it are there, by offset."""
    deleted = stored.tables.deleted(stored.handle, [each.number for each in parts])
    found = {each.number: np.ones(each.row_count, np.bool_) for each in parts}
    for number, offsets in deleted.items():
        found[number][offsets] = False
    return found


def addresses_in(part: TablePart, is_wanted: Mask) -> Addresses:
    """The addresses of the rows of a part that are wanted, ascending."""
    return _addresses(part.number, np.flatnonzero(is_wanted))


def _without(offsets: Offsets, others: Offsets) -> Offsets:
    """Offsets that are not among others; both ascend."""
    if not len(others):
        return offsets
    places = np.searchsorted(others, offsets).clip(max=len(others) - 1)
    return np.asarray(offsets[others[places] != offsets])


def _addresses(part: int, offsets: npt.NDArray[np.integer]) -> Addresses:
    return offsets.astype(np.uint64) | np.uint64(part) << OFFSET_BITS


def _groups(shared: Sequence[tuple[TablePart, TablePart]]) -> Iterator[list[tuple[TablePart, TablePart]]]:
    """The pairs, some at a time, so that what is known of their rows fits in memory."""
    group: list[tuple[TablePart, TablePart]] = []
    rows = 0
    for pair in shared:
        if group and rows + pair[0].row_count > _ROWS_AT_ONCE:
            yield group
            group, rows = [], 0
        group.append(pair)
        rows += pair[0].row_count
    if group:
        yield group
