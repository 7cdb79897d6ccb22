"""``Entities``: nodes or edges of one type in memory, in ascending order of id, so that a position is a rank.

    Entities
    ├── HeldRows        rows that one query read, its own
    └── images          whole types, kept by version and shared by queries

Rows of a query are positions in entities (see ``frame``). Because a position is a rank, comparing two of them compares
the ids, and every tie-break is a comparison of integers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Positions = npt.NDArray[np.int64]
"""Positions of entities; -1 where there is none."""

ABSENT: Final = -1

_ONE_BY_ONE: Final = 4

_MOST_TEXT: Final = 2**31 - 1
"""What the offsets of one array of text can count; beyond it they have to be wider."""


class Entities(ABC):
    """Entities of one type, each once, by ascending bytes of id. Immutable; safe to share between threads.

    Attributes:
        key: of the type, such as ``node:Film``.
    """

    key: str

    @property
    @abstractmethod
    def ids(self) -> pa.Array:
        """The ids, a string array, ascending and unique."""

    @abstractmethod
    def column(self, name: str) -> pa.Array:
        """The values of a column in the order of ``ids``, one contiguous array; ``id`` is a column too."""

    @abstractmethod
    def find(self, ids: pa.Array | pa.ChunkedArray) -> Positions:
        """Where these ids are, -1 for those that are not there."""

    def values(self, name: str, positions: Positions) -> pa.Array:
        """The values of a column at these positions, null at -1."""
        return take_values(self.column(name), positions)

    def __len__(self) -> int:
        return len(self.ids)


class HeldRows(Entities):
    """Rows that were read for one query.

    Attributes:
        rows: by ascending id, each once.
    """

    def __init__(self, key: str, rows: pa.Table) -> None:
        """Hold rows that have a column ``id``; a row that comes twice is kept once."""
        self.key = key
        self.rows = _by_id(rows)

    @property
    def ids(self) -> pa.Array:
        return self.column("id")

    def column(self, name: str) -> pa.Array:
        return contiguous(self.rows[name])

    def find(self, ids: pa.Array | pa.ChunkedArray) -> Positions:
        return index_in(ids, self.ids)


def index_in(values: pa.Array | pa.ChunkedArray, among: pa.Array) -> Positions:
    """The place of each value in ``among``, -1 where it is not."""
    found = contiguous(pc.index_in(values, value_set=among))
    return np.asarray(found.fill_null(ABSENT).to_numpy(zero_copy_only=False), dtype=np.int64)


def contiguous(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column as one array."""
    if isinstance(column, pa.Array):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_string(column.type) and column.nbytes > _MOST_TEXT:
        column = column.cast(pa.large_string())
    return column.combine_chunks()


def take_values(column: pa.Array, positions: Positions) -> pa.Array:
    """The values at these positions; null at -1."""
    if len(positions) == len(column) and is_identity(positions):
        return column
    if 0 < len(positions) <= _ONE_BY_ONE and _is_plain(column.type):
        # One by one, which for so few is quicker than a call of Arrow's kernels.
        return pa.array([None if each == ABSENT else column[each].as_py() for each in positions.tolist()], column.type)
    indices = pa.array(positions)
    if len(positions) and int(positions.min()) == ABSENT:
        indices = pc.if_else(pc.equal(indices, ABSENT), pa.scalar(None, pa.int64()), indices)
    return contiguous(column.take(indices))


def _is_plain(kind: pa.DataType) -> bool:
    """Whether a value goes through Python and back as it is."""
    return bool(pa.types.is_string(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def is_identity(positions: Positions) -> bool:
    """Whether positions name each of so many rows once, in order."""
    count = len(positions)
    if count == 0:
        return True
    ends = int(positions[0]) == 0 and int(positions[-1]) == count - 1
    return ends and bool(np.array_equal(positions, np.arange(count)))


def _by_id(rows: pa.Table) -> pa.Table:
    order = pc.sort_indices(rows["id"])
    ordered = rows.take(order).combine_chunks()
    ids = contiguous(ordered["id"])
    if len(ids) < 2:
        return ordered
    is_first = pc.not_equal(ids.slice(1), ids.slice(0, len(ids) - 1))
    if pc.all(is_first).as_py():
        return ordered
    return ordered.filter(pa.concat_arrays([pa.array([True]), is_first])).combine_chunks()
