"""``TableStorage`` and ``InlineCommitResidual``: the sealed surfaces over Lance.

Above them nobody sees a Lance dataset, only handles. The rule that they guard: no method both writes data and moves a
table's newest version, except the explicit commit; and a commit is an exact child of the version that the manifest
pins, so that nothing a crashed or losing writer left behind can leak into a published version.

    open_at(pin) → SnapshotHandle ── stage_* ──> StagedHandle ── commit_exact ──> SnapshotHandle (not yet visible)

Rows go in and come out as Arrow with the *logical* schema of ``arrow_schema``: a Blob is ``large_binary``, whatever the
file format makes of it. Durability is in the hands of the caller, who knows the order: ``sync_staged`` before a commit,
``sync_committed`` after it.

Storage backends stay outside: they subclass ``omnigraph.storage.StorageAdapter``, which is open to everybody.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRows:
    """Rows that lie in files of a table and belong to no version yet. Plain data: it pickles and is JSON.

    Attributes:
        location: key of the table below the graph's root.
        branch: the physical branch below which the files lie.
        fragments: what Lance needs to take the files up, as JSON values.
        row_count: how many rows they hold.
        byte_count: the size of the files.
    """

    location: str
    branch: str | None
    fragments: tuple[dict[str, Any], ...]
    row_count: int
    byte_count: int


class TableStorage(Sealed, ABC):
    """Reads and staged writes of the tables of one graph. Safe to share between threads."""

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def open_at(self, pin: TablePin) -> SnapshotHandle:
        """Open exactly the pinned version, without listing; never the newest. Handles are cached by pin.

        Raises:
            StorageError: condition ``not_found`` when the version was reclaimed.
        """

    @abstractmethod
    def schema(self, handle: SnapshotHandle) -> pa.Schema:
        """The logical schema, in column order, with field metadata."""

    @abstractmethod
    def read(
        self,
        handle: SnapshotHandle,
        *,
        columns: Sequence[str] | None = None,
        predicate: pc.Expression | None = None,
        staged: Sequence[StagedHandle] = (),
        order_by_id: bool = False,
    ) -> pa.RecordBatchReader:
        """The rows of a version as a stream, as they would be if the staged writes were committed.

        With ``order_by_id`` the rows come by ascending ``id`` (bytewise). Literals of a predicate have the type of the
        column that they are compared with; Arrow would coerce a column of uint64 to int64 and fail.
        """

    @abstractmethod
    def count_rows(
        self,
        handle: SnapshotHandle,
        *,
        predicate: pc.Expression | None = None,
        staged: Sequence[StagedHandle] = (),
    ) -> int:
        """How many rows ``read`` with the same arguments would give."""

    @abstractmethod
    def lookup(
        self, handle: SnapshotHandle, keys: pa.Array, *, key: str = "id", columns: Sequence[str] | None = None
    ) -> pa.Table:
        """The rows with these keys, in no order; keys that are not there are left out."""

    @abstractmethod
    def read_written(self, written: WrittenRows, *, columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
        """Rows that ``write_rows`` wrote, in the order in which they were written.

        With Blob columns only after the table was created: the files alone do not give them back.
        """

    @abstractmethod
    def table_state(self, handle: SnapshotHandle) -> TableState:
        """What a publish records of this version."""

    @abstractmethod
    def indexes(self, handle: SnapshotHandle) -> tuple[IndexSpec, ...]:
        """The indexes that this version has."""

    # ── staging: nothing becomes part of a version ───────────────────────────────────────────────────────────

    @abstractmethod
    def write_rows(self, pin: TablePin, rows: pa.Table | pa.RecordBatchReader, *, schema: pa.Schema) -> WrittenRows:
        """Write rows to files beside the table, in bounded memory; any process that reaches the store may do it.

        Args:
            pin: where the rows are going to; the table need not exist.
            rows: at once or as a stream.
            schema: the logical schema of the table. ``rows`` has the same columns in the same order.
        """

    @abstractmethod
    def stage_create(self, location: str, schema: pa.Schema, rows: pa.Table | None = None) -> StagedHandle:
        """Write the first rows of a table that does not exist; without rows it begins empty."""

    @abstractmethod
    def stage_append(self, handle: SnapshotHandle, rows: pa.Table | Sequence[WrittenRows]) -> StagedHandle:
        """Rows that are known to be new, written now or before."""

    @abstractmethod
    def stage_insert(self, handle: SnapshotHandle, rows: pa.Table, *, key: str = "id") -> StagedHandle:
        """Rows whose keys must not be there yet.

        Raises:
            StorageError: condition ``precondition`` when one is.
        """

    @abstractmethod
    def stage_upsert(
        self, handle: SnapshotHandle, rows: pa.Table | pa.RecordBatchReader, *, key: str = "id"
    ) -> StagedHandle:
        """Rows that replace those of equal key; keys must be unique within ``rows`` and not null."""

    @abstractmethod
    def stage_overwrite(self, handle: SnapshotHandle, rows: pa.Table | Sequence[WrittenRows]) -> StagedHandle:
        """Rows that replace the whole table; no rows make it empty."""

    @abstractmethod
    def stage_delete(self, handle: SnapshotHandle, predicate: pc.Expression) -> StagedHandle | None:
        """Mark rows as deleted; None when none matches, so that no empty version appears."""

    @abstractmethod
    def stage_delete_keys(self, handle: SnapshotHandle, keys: pa.Array, *, key: str = "id") -> StagedHandle | None:
        """As ``stage_delete``, by key."""

    @abstractmethod
    def stage_indexes(self, handle: SnapshotHandle, specs: Sequence[IndexSpec]) -> StagedHandle | None:
        """Build indexes over the rows that none of theirs covers yet; None when there are none."""

    @abstractmethod
    def sync_staged(self, staged: Sequence[StagedHandle]) -> None:
        """Return only when the files of these staged writes survive a loss of power."""

    # ── committing: a version that nobody sees until a publish names it ──────────────────────────────────────

    @abstractmethod
    def commit_create(self, staged: StagedHandle) -> SnapshotHandle:
        """Make a table of what ``stage_create`` wrote.

        Raises:
            StorageError: condition ``precondition`` when another creator was first; its table is untouched.
        """

    @abstractmethod
    def commit_exact(self, handle: SnapshotHandle, staged: Sequence[StagedHandle]) -> SnapshotHandle:
        """Make one version that is the handle's version plus the staged writes, in their order, and nothing else.

        It never loses: what others left on the table meanwhile is stepped over, not built upon. The version carries
        the transaction id of the last staged write.

        What writes rows comes first: any number of appends, or one upsert or overwrite; then deletes and indexes. A
        delete sees what the steps before it wrote.

        Another version may carry the same transaction id, with other writers' rows in it: a first attempt that landed
        in the wrong place. The exact one is that right after the handle's version, or the one made by a Restore.

        Raises:
            InternalError: a step was staged on another version, or the order cannot be kept.
        """

    @abstractmethod
    def sync_committed(self, handles: Sequence[SnapshotHandle]) -> None:
        """Return only when these versions, made by ``commit_*``, survive a loss of power."""

    @abstractmethod
    def drop(self, location: str) -> None:
        """Remove a table that no manifest ever named; a missing one is success. Not atomic."""

    @abstractmethod
    def close(self) -> None:
        """Let go of every handle and remove what was kept for reading only."""

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
