"""What the table layer hands out: one version of a table, and one write that belongs to no version yet.

Both wrap a thing of Lance that nobody above may see. A handle holds its version's manifest in memory, so that what is
read through it never changes; it is never moved to another version.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, TypeVar

from lance import LanceDataset
from lance.dataset import Transaction

from omnigraph.errors import InternalError
from omnigraph.storage import ObjectKey
from omnigraph.tables.interface import SnapshotHandle, StagedHandle, TablePin
from omnigraph.tables.opening import Place

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LanceSnapshot(SnapshotHandle):
    """One version of one table, open.

    Attributes:
        made_files: files that came with the making of this version and are not yet known to be durable.
        kept: facts about the version that were asked for once, by name.
    """

    _pin: TablePin
    place: Place
    dataset: LanceDataset
    made_files: tuple[ObjectKey, ...] = ()
    kept: dict[str, Any] = field(default_factory=dict, repr=False)

    def once(self, name: str, find: Callable[[LanceSnapshot], T]) -> T:
        """What is found of this version, which never changes. Two threads may both find it; they find the same."""
        if name not in self.kept:
            self.kept[name] = find(self)
        found: T = self.kept[name]
        return found

    @property
    def pin(self) -> TablePin:
        return self._pin

    def __repr__(self) -> str:
        return f"<LanceSnapshot {self._pin}>"


class StagedKind(StrEnum):
    """What a staged write does to the rows of its table."""

    CREATE = "create"
    APPEND = "append"
    UPSERT = "upsert"
    OVERWRITE = "overwrite"
    DELETE = "delete"
    INDEX = "index"
    REWRITE = "rewrite"

    @property
    def is_stamped(self) -> bool:
        """Whether it writes rows, which Lance stamps with a version number."""
        return self in (StagedKind.APPEND, StagedKind.UPSERT, StagedKind.OVERWRITE)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LanceStaged(StagedHandle):
    """One transaction of Lance that is written and not committed.

    Attributes:
        base: the version it is built on; None for a table that does not exist yet.
        files: what it wrote, below ``place``; blob files are in the directories of ``blob_directories``.
        restage: makes the same change on a version that has more staged writes in it; None when the transaction holds
            wherever it is committed.
    """

    kind: StagedKind
    location: str
    place: Place
    base: TablePin | None
    transaction: Transaction
    files: tuple[ObjectKey, ...] = ()
    blob_directories: tuple[ObjectKey, ...] = ()
    restage: Callable[[LanceDataset], LanceStaged | None] | None = None

    @property
    def transaction_id(self) -> str:
        return self.transaction.uuid

    def __repr__(self) -> str:
        return f"<LanceStaged {self.kind} {self.location} {self.transaction_id}>"


def snapshot_of(handle: SnapshotHandle) -> LanceSnapshot:
    """The handle as what it is here."""
    if not isinstance(handle, LanceSnapshot):
        raise InternalError(f"{type(handle).__name__} is not a handle of this table layer.")
    return handle


def staged_of(handle: StagedHandle) -> LanceStaged:
    """The staged write as what it is here."""
    if not isinstance(handle, LanceStaged):
        raise InternalError(f"{type(handle).__name__} is not a staged write of this table layer.")
    return handle


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class RecentlyUsed(Generic[K, V]):
    """At most ``limit`` values, the least recently used one leaves first. Safe to share between threads.

    Args:
        limit: of all values.
        group_of: tells by a key which values belong together; None where none do.
        group_limit: of the values that belong together.
    """

    def __init__(
        self, limit: int, *, group_of: Callable[[K], Hashable] | None = None, group_limit: int | None = None
    ) -> None:
        self._limit = limit
        self._group_of = group_of
        self._group_limit = limit if group_limit is None else group_limit
        self._values: OrderedDict[K, V] = OrderedDict()
        self.renew_lock()

    def renew_lock(self) -> None:
        """A forked child does not have the thread that may hold the lock."""
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key]

    def put(self, key: K, value: V) -> list[V]:
        """Keep the value; those that leave for it."""
        with self._lock:
            leaving = [self._values.pop(key)] if key in self._values else []
            self._values[key] = value
            leaving.extend(self._values.pop(each) for each in self._crowded_out(key))
            while len(self._values) > self._limit:
                leaving.append(self._values.popitem(last=False)[1])
            return leaving

    def _crowded_out(self, key: K) -> list[K]:
        if self._group_of is None:
            return []
        group = self._group_of(key)
        members = [each for each in self._values if self._group_of(each) == group]
        return members[: -self._group_limit]

    def forget(self, leaves: Callable[[K], bool]) -> list[V]:
        """Let go of the values whose keys are chosen; these values."""
        with self._lock:
            return [self._values.pop(key) for key in [each for each in self._values if leaves(each)]]

    def __len__(self) -> int:
        return len(self._values)
