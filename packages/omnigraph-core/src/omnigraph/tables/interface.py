"""``TableStorage`` and ``InlineCommitResidual``: the sealed surfaces over Lance.

Above them nobody sees a Lance dataset, only handles. The rule that they guard: no method both writes data and moves a
table's newest version, except the explicit commit; and a commit is an exact child of the version that the manifest
pins, so that nothing a crashed or losing writer left behind can leak into a published version.

    open_at(pin) → SnapshotHandle ── stage_* ──> StagedHandle ── commit_exact ──> SnapshotHandle (not yet visible)

Storage backends stay outside: they subclass ``omnigraph.storage.StorageAdapter``, which is open to everybody.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnigraph._sealed import Sealed

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePin:
    """One published version of one table: what a manifest row says and what every read opens.

    Attributes:
        location: key of the table below the graph's root.
        branch: the physical branch that holds the version; None for the table's main line.
        version: the version on that branch.
    """

    location: str
    branch: str | None
    version: int


class SnapshotHandle(Sealed, ABC):
    """One table at one version; opaque, immutable, safe to share between threads."""

    @property
    @abstractmethod
    def pin(self) -> TablePin:
        """The version that this handle shows."""


class StagedHandle(Sealed, ABC):
    """Data that is written and belongs to no version yet; dropping it loses nothing but space."""

    @property
    @abstractmethod
    def transaction_id(self) -> str:
        """The id by which recovery recognises this write in a table's history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """What a manifest row records of a version beside its pin."""

    row_count: int
    version_metadata: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSpec:
    """An index to build: the column, the kind (``btree``, ``inverted``, ``vector``) and a name of its own."""

    column: str
    kind: str
    name: str


class TableStorage(Sealed, ABC):
    """Reads and staged writes of the tables of one graph."""

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def open_at(self, pin: TablePin) -> SnapshotHandle:
        """Open exactly the pinned version, without listing; never the newest.

        Raises:
            StorageError: condition ``not_found`` when the version was reclaimed.
        """

    @abstractmethod
    def scan(
        self,
        handle: SnapshotHandle,
        *,
        columns: Sequence[str] | None = None,
        predicate: pc.Expression | None = None,
        staged: Sequence[StagedHandle] = (),
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a version in batches, as they would be if the staged writes were committed."""

    @abstractmethod
    def count_rows(
        self,
        handle: SnapshotHandle,
        *,
        predicate: pc.Expression | None = None,
        staged: Sequence[StagedHandle] = (),
    ) -> int:
        """How many rows ``scan`` with the same arguments would give."""

    @abstractmethod
    def lookup(self, handle: SnapshotHandle, keys: pa.Array, *, key: str) -> pa.Table:
        """The rows with these keys, in no order; keys that are not there are left out."""

    @abstractmethod
    def table_state(self, handle: SnapshotHandle) -> TableState:
        """What a publish records of this version."""

    @abstractmethod
    def indexes(self, handle: SnapshotHandle) -> tuple[IndexSpec, ...]:
        """The indexes that this version has."""

    # ── staging: nothing becomes part of a version ───────────────────────────────────────────────────────────

    @abstractmethod
    def stage_create(self, location: str, rows: pa.Table) -> StagedHandle:
        """Write the first rows of a table that does not exist."""

    @abstractmethod
    def stage_append(self, handle: SnapshotHandle, rows: pa.Table) -> StagedHandle:
        """Write rows that are known to be new."""

    @abstractmethod
    def stage_insert(self, handle: SnapshotHandle, rows: pa.Table, *, key: str) -> StagedHandle:
        """Write rows whose keys must not be there yet.

        Raises:
            StorageError: condition ``precondition`` when one is.
        """

    @abstractmethod
    def stage_upsert(self, handle: SnapshotHandle, rows: pa.Table, *, key: str) -> StagedHandle:
        """Write rows that replace those of equal key; keys must be unique within ``rows``."""

    @abstractmethod
    def stage_overwrite(self, handle: SnapshotHandle, rows: pa.Table) -> StagedHandle:
        """Write rows that replace the whole table; no rows make it empty."""

    @abstractmethod
    def stage_delete(self, handle: SnapshotHandle, predicate: pc.Expression) -> StagedHandle | None:
        """Mark rows as deleted; None when none matches, so that no empty version appears."""

    @abstractmethod
    def stage_delete_keys(self, handle: SnapshotHandle, keys: pa.Array, *, key: str) -> StagedHandle | None:
        """As ``stage_delete``, by key."""

    @abstractmethod
    def stage_indexes(self, handle: SnapshotHandle, specs: Sequence[IndexSpec]) -> StagedHandle:
        """Build indexes over the rows that none of theirs covers yet."""

    # ── committing: a version that nobody sees until a publish names it ──────────────────────────────────────

    @abstractmethod
    def commit_create(self, staged: StagedHandle) -> SnapshotHandle:
        """Make a table of what ``stage_create`` wrote.

        Raises:
            StorageError: condition ``precondition`` when another creator was first; its table is untouched.
        """

    @abstractmethod
    def commit_exact(self, handle: SnapshotHandle, staged: Sequence[StagedHandle]) -> SnapshotHandle:
        """Make one version that is the handle's version plus the staged writes and nothing else.

        It never loses: what others left on the table meanwhile is stepped over, not built upon.
        """

    @abstractmethod
    def fork(self, handle: SnapshotHandle, branch: str) -> SnapshotHandle:
        """Give this version a physical branch of its own, under a name that was never used before.

        Raises:
            StorageError: condition ``precondition`` when the name is taken.
        """


class InlineCommitResidual(Sealed, ABC):
    """What Lance cannot stage: a write that moves a table's newest version by itself.

    The list of methods may only shrink (a test holds it); every call lies inside a window that recovery knows of.
    """

    @abstractmethod
    def compact(self, handle: SnapshotHandle) -> SnapshotHandle | None:
        """Rewrite small fragments into large ones; None when another writer's version came between.

        Starts only when the newest version is the pinned one, and is accepted only when exactly its own versions
        were added, because Lance would carry a loser's rows along.
        """
