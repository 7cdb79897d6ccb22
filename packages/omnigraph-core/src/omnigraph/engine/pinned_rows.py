"""``PinnedRows``: rows of one type at one pin in a fixed order, whose columns are loaded when they are first asked for.

    PinnedRows
    ├── Image         by id: what queries bind (``images``)
    └── StoredRows    by address: the ends of edges (``stored_rows``)

After a commit the rows of the new pin are made of those of the old one and the rows that came (``deltas``): a ``Step``.
Each column follows when it is asked for. The older rows are held weakly and the arrays that are still needed of them
strongly, so nothing lives longer than it is counted for. Immutable as seen from outside; safe to share between threads.
"""

from __future__ import annotations

import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.engine.entities import ABSENT, Positions, contiguous
from omnigraph.engine.splice import Splice
from omnigraph.errors import InternalError
from omnigraph.tables.arrow_schema import is_blob
from omnigraph.tables.interface import SnapshotHandle, TablePart, TablePin, TableStorage

Addresses = npt.NDArray[np.uint64]

ADDRESS: Final = "_rowaddr"

MAX_STEPS: Final = 8
"""How many steps a column may be behind; then it is made although nobody asked for it."""

_MAX_HOPS: Final = 32
"""How many steps back positions are followed before they are compared by value."""

T = TypeVar("T")
R = TypeVar("R", bound="PinnedRows")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stored:
    """One type at one version, and the way to read it.

    Attributes:
        key: of the type, such as ``node:Film``.
        columns: that can be read; Blob columns cannot.
        too_large: columns that are not to be loaded whole; their values are fetched where they are needed.
    """

    key: str
    tables: TableStorage
    handle: SnapshotHandle
    parts: tuple[TablePart, ...]
    columns: tuple[str, ...]
    too_large: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, key: str, tables: TableStorage, handle: SnapshotHandle, *, too_large: frozenset[str] = frozenset()
    ) -> Self:
        columns = tuple(each.name for each in tables.schema(handle) if not is_blob(each))
        parts = tables.parts(handle)
        return cls(key=key, tables=tables, handle=handle, parts=parts, columns=columns, too_large=too_large)

    @property
    def pin(self) -> TablePin:
        return self.handle.pin

    def read(self, columns: Sequence[str], *, parts: Sequence[int] | None = None) -> tuple[pa.Table, Addresses]:
        """Columns of all rows or of those in some parts, and the addresses, which ascend."""
        with self.tables.read(self.handle, columns=columns, parts=parts, with_address=True) as reader:
            rows = reader.read_all()
        addresses = as_addresses(rows[ADDRESS])
        return rows.drop_columns(ADDRESS), addresses

    def take(self, addresses: Addresses, columns: Sequence[str]) -> pa.Table:
        """Columns of the rows at these addresses, in their order."""
        return self.tables.take(self.handle, pa.array(addresses), columns)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Step(Generic[R]):
    """How rows came from those of another pin.

    Attributes:
        parent: the rows that they came from.
        splice: which rows of the parent and which added ones follow one another.
        added: rows that came, in the order in which they are taken, with all columns where there are few of them.
        replaced: for each added row the place of the parent's row that had its id; -1 when its id is new. Among
            ``StoredRows`` always -1.
    """

    parent: R
    splice: Splice
    added: pa.Table
    replaced: Positions

    @property
    def taken(self) -> Positions:
        """Row ``i`` is row ``taken[i]`` of the parent, or added row ``taken[i] - len(parent)``."""
        return self.splice.taken


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Origin:
    """A step whose parent is held weakly: it may leave, and what is still needed of it is in ``Following``."""

    parent: weakref.ref[PinnedRows]
    splice: Splice
    added: pa.Table
    replaced: Positions

    @property
    def nbytes(self) -> int:
        return int(self.splice.nbytes + self.added.nbytes + self.replaced.nbytes)


@dataclass(frozen=True, slots=True, eq=False)
class Following:
    """A column that nobody asked for yet since it was loaded for older rows, and the steps that lead to these."""

    values: pa.Array
    steps: tuple[tuple[Splice, pa.Array], ...] = ()

    def made(self) -> pa.Array:
        """The column."""
        values = self.values
        for splice, added in self.steps:
            values = splice.apply(values, added)
        return values

    def at(self, positions: Positions) -> pa.Array:
        """The column at these positions, which are few; the others do not follow for them."""
        if not self.steps:
            return contiguous(self.values.take(pa.array(positions)))
        splice, added = self.steps[-1]
        traced = splice.trace(positions)
        is_old = traced < splice.old_count
        old = Following(self.values, self.steps[:-1]).at(traced[is_old])
        new = added.take(pa.array(traced[~is_old] - splice.old_count))
        places = np.empty(len(positions), dtype=np.int64)
        places[is_old], places[~is_old] = np.arange(len(old)), len(old) + np.arange(len(new))
        return pa.concat_arrays([old, new]).take(pa.array(places))

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes)


@dataclass(frozen=True, slots=True, eq=False)
class Older(Generic[T]):
    """Something that was derived from older rows, and the steps that lead from those to these, the first one first."""

    value: T
    steps: tuple[Origin, ...]

    @property
    def nbytes(self) -> int:
        return int(self.value.nbytes)  # type: ignore[attr-defined]  # whatever is derived has it


class PinnedRows(ABC):
    """Rows of one type at one pin.

    Attributes:
        key: of the type.
        addresses: where the rows lie in storage.
        origin: what they were made of; None when they were read.
    """

    key: str

    def __init__(
        self,
        stored: Stored,
        addresses: Addresses,
        columns: dict[str, pa.Array],
        *,
        origin: Origin | None = None,
        on_growth: Callable[[], None] | None = None,
    ) -> None:
        """Rows with the columns that are known.

        Args:
            stored: where other columns are read.
            addresses: of the rows, in their order.
            columns: by name, in the order of the rows.
            origin: what they were made of.
            on_growth: called when they take more memory than before.
        """
        self.key = stored.key
        self.stored = stored
        self.addresses = addresses
        self.origin = origin
        self._columns = columns
        self._following: dict[str, Following] = {}
        self._derived: dict[Hashable, Any] = {}
        self._older: dict[Hashable, Older[Any]] = {}
        self._on_growth = on_growth
        self._lock = threading.Lock()
        self._making: dict[Hashable, threading.Lock] = {}
        parent = None if origin is None else origin.parent()
        if origin is not None and parent is not None:
            self._follow(parent, origin)

    def __len__(self) -> int:
        return len(self.addresses)

    @property
    def pin(self) -> TablePin:
        """The version that the rows are of."""
        return self.stored.pin

    @property
    def step(self) -> Step[Self] | None:
        """How the rows came from older ones, while these are in memory."""
        origin = self.origin
        parent = None if origin is None else origin.parent()
        if origin is None or parent is None:
            return None
        return Step(parent=cast("Self", parent), splice=origin.splice, added=origin.added, replaced=origin.replaced)

    @property
    def nbytes(self) -> int:
        """What the rows take in memory with all that is kept with them; what they share with older ones included."""
        arrays = [*self._columns.values(), *self._following.values(), *self._derived.values(), *self._older.values()]
        extra = 0 if self.origin is None else self.origin.nbytes
        return int(self.addresses.nbytes + extra + sum(each.nbytes for each in arrays))

    def column(self, name: str) -> pa.Array:
        """The values of a column in the order of the rows, one contiguous array; loaded once."""
        found = self._columns.get(name)
        if found is not None:
            return found
        with self._alone(("column", name)):
            found = self._columns.get(name)
            if found is not None:
                return found
            following = self._following.get(name)
            found = self._read(name) if following is None else following.made()
            self._columns[name] = found
            self._following.pop(name, None)
        self._grown()
        return found

    def pick(self, name: str, positions: Positions) -> pa.Array:
        """The values of a column at a few positions; one that follows older rows stays where it is."""
        following = self._following.get(name)
        if following is not None:
            return following.at(positions)
        return contiguous(self.column(name).take(pa.array(positions)))

    def is_loaded(self, name: str) -> bool:
        """Whether a column can be had without reading it from storage."""
        return name in self._following or name in self._columns

    @property
    def loaded(self) -> dict[str, Following]:
        """The columns that can be had without reading them from storage."""
        # In this order: a column that is made meanwhile is first among the columns, then no longer following.
        following = {**self._following}
        return following | {name: Following(values) for name, values in [*self._columns.items()]}

    def derived(self, name: Hashable, build: Callable[[Self], T]) -> T:
        """What ``build`` makes of these rows: made once, kept with them, counted by its ``nbytes``.

        It must not refer to the rows, which would keep them alive after nobody needs them.
        """
        found = self._derived.get(name)
        if found is not None:
            return cast("T", found)
        with self._alone(("derived", name)):
            found = self._derived.get(name)
            if found is not None:
                return cast("T", found)
            made = build(self)
            self._derived[name] = made
            self._older.pop(name, None)
        self._grown()
        return made

    def peek(self, name: Hashable) -> Any | None:
        """What was derived under this name, if it was."""
        return self._derived.get(name)

    def older(self, name: Hashable) -> Older[Any] | None:
        """What was derived under this name from older rows, for a ``build`` that extends it; kept until it did."""
        return self._older.get(name)

    def positions_from(self, older: Self) -> Positions | None:
        """For each row of other rows of the same type where it is here, -1 when it is gone; None when unrelated."""
        if older is self:
            return np.arange(len(self), dtype=np.int64)
        if older.pin.location != self.pin.location:
            return None
        hops: list[Origin] = []
        rows: PinnedRows | None = self
        while rows is not None and rows is not older and len(hops) <= _MAX_HOPS:
            origin = rows.origin
            rows = None if origin is None else origin.parent()
            hops += [] if origin is None else [origin]
        if rows is not older:
            return self._compare(older)
        positions: Positions | None = None
        for hop in reversed(hops):
            forward = hop.splice.forward(hop.replaced)
            # One more place, so that -1 stays -1.
            positions = forward if positions is None else np.append(forward, ABSENT)[positions]
        return positions

    @abstractmethod
    def _compare(self, older: Self) -> Positions:
        """``positions_from`` where no steps lead from one to the other."""

    @abstractmethod
    def _from_storage(self, column: pa.Array) -> pa.Array:
        """Values in the order of addresses, in the order of the rows."""

    def _read(self, name: str) -> pa.Array:
        rows, addresses = self.stored.read([name])
        if len(addresses) != len(self):
            raise InternalError(f"{self.key} has {len(addresses)} rows, and not {len(self)}.")
        return self._from_storage(contiguous(rows[name]))

    def _follow(self, parent: PinnedRows, origin: Origin) -> None:
        """Let the columns that the parent has follow when they are asked for, or now when the way became too long."""
        for name, each in parent.loaded.items():
            if name in self._columns or name not in origin.added.column_names:
                continue
            step = (origin.splice, contiguous(origin.added[name]))
            following = Following(each.values, (*each.steps, step))
            if len(following.steps) <= MAX_STEPS:
                self._following[name] = following
            else:
                self._columns[name] = following.made()
        older = {**parent._older} | {name: Older(value, ()) for name, value in [*parent._derived.items()]}
        for key, found in older.items():
            if len(found.steps) < MAX_STEPS:
                self._older[key] = Older(found.value, (*found.steps, origin))

    def _alone(self, what: Hashable) -> threading.Lock:
        """The lock under which one thing is made, so that it is made once."""
        with self._lock:
            return self._making.setdefault(what, threading.Lock())

    def _grown(self) -> None:
        if self._on_growth is not None:
            self._on_growth()


def as_addresses(column: pa.Array | pa.ChunkedArray) -> Addresses:
    """A column of addresses as numbers."""
    return np.asarray(contiguous(column).to_numpy(zero_copy_only=False), dtype=np.uint64)
