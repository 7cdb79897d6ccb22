"""``TableStorage``: the sealed surface over Lance.

Above it nobody sees a Lance dataset, only handles. The rule that it guards: no method both writes data and moves a
table's newest version, except the explicit commit; and a commit is an exact child of the version that the manifest
pins, so that nothing a crashed or losing writer left behind can leak into a published version. There is no exception:
what Lance itself only does inline, compaction, is staged here too.

    open_at(pin) → SnapshotHandle ── stage_* ──> StagedHandle ── commit_exact ──> SnapshotHandle (not yet visible)

Rows go in and come out as Arrow with the *logical* schema of ``arrow_schema``: a Blob is ``large_binary``, whatever the
file format makes of it. Durability is in the hands of the caller, who knows the order: ``sync_staged`` before a commit,
``sync_committed`` after it. Storage backends stay outside: they subclass ``omnigraph.storage.StorageAdapter``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from omnigraph._sealed import Sealed
from omnigraph.tables.facts import (
    ExpectedVersion,
    FoldedRows,
    IndexCoverage,
    IndexSpec,
    MarkedPart,
    NewestVersion,
    TablePart,
    TablePin,
    TableState,
    WrittenRows,
)
from omnigraph.tables.merge_steps import MergeSteps
from omnigraph.tables.opaque import FoundVersion, SnapshotHandle, StagedHandle
from omnigraph.tables.row_filters import RowFilter

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

__all__ = [
    "ExpectedVersion",
    "FoldedRows",
    "FoundVersion",
    "IndexCoverage",
    "IndexSpec",
    "MarkedPart",
    "NewestVersion",
    "SnapshotHandle",
    "StagedHandle",
    "TablePart",
    "TablePin",
    "TableState",
    "TableStorage",
    "WrittenRows",
]


class TableStorage(MergeSteps, Sealed, ABC):
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
        predicate: RowFilter | None = None,
        staged: Sequence[StagedHandle] = (),
        order_by_id: bool = False,
        parts: Sequence[int] | None = None,
        with_address: bool = False,
    ) -> pa.RecordBatchReader:
        """The rows of a version as a stream, as they would be if the staged writes were committed.

        With ``order_by_id`` the rows come by ascending ``id`` (bytewise); otherwise, and without a predicate, by
        ascending address. Literals of a predicate have the type of the column that they are compared with.

        Args:
            handle: the version.
            columns: names, in the order wanted; none at all is fine with ``with_address``.
            predicate: only rows for which it is true.
            staged: writes to be seen as if they were committed.
            order_by_id: by id instead of by address; not together with ``parts`` or ``with_address``.
            parts: only rows of the parts with these numbers.
            with_address: one more column, the last: ``_rowaddr``, uint64, number of the part << 32 | offset.

        Raises:
            InternalError: a number in ``parts`` is none of the version, or arguments exclude each other.
        """

    @abstractmethod
    def parts(self, handle: SnapshotHandle) -> tuple[TablePart, ...]:
        """What the version is made of, by ascending number. Costs no request."""

    @abstractmethod
    def deleted(self, handle: SnapshotHandle, parts: Sequence[int]) -> dict[int, npt.NDArray[np.uint32]]:
        """Offsets of the rows that are deleted in these parts, ascending, by number of the part; no row is read."""

    @abstractmethod
    def take(self, handle: SnapshotHandle, addresses: pa.Array, columns: Sequence[str]) -> pa.Table:
        """The rows at these addresses, in the order asked for; one may come twice. None may be missing."""

    @abstractmethod
    def count_rows(
        self,
        handle: SnapshotHandle,
        *,
        predicate: RowFilter | None = None,
        staged: Sequence[StagedHandle] = (),
    ) -> int:
        """How many rows ``read`` with the same arguments would give."""

    @abstractmethod
    def lookup(
        self,
        handle: SnapshotHandle,
        keys: pa.Array,
        *,
        key: str = "id",
        columns: Sequence[str] | None = None,
        with_address: bool = False,
    ) -> pa.Table:
        """The rows with these keys, in no order; keys that are not there are left out.

        ``with_address`` adds the column ``_rowaddr`` as ``read`` does.
        """

    @abstractmethod
    def read_written(self, written: WrittenRows, *, columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
        """Rows that ``write_rows`` wrote, in the order in which they were written.

        With Blob columns only after the table was created: the files alone do not give them back.
        """

    @abstractmethod
    def newest(self, pin: TablePin) -> NewestVersion:
        """The newest version on the line of a pin, published or not; a listing. No write goes by it, only reports."""

    @abstractmethod
    def table_state(self, handle: SnapshotHandle) -> TableState:
        """What a publish records of this version."""

    @abstractmethod
    def named_files(self, handle: SnapshotHandle) -> Mapping[str, int | None]:
        """Keys of the files that hold the rows of a version and say which are deleted, on whatever line; no request.

        With their sizes, where the version says them.
        """

    @abstractmethod
    def expected(self, handle: SnapshotHandle, staged: Sequence[StagedHandle]) -> ExpectedVersion | None:
        """What ``commit_exact`` makes of this if nobody else left a version there; None where that cannot be told."""

    @abstractmethod
    def indexes(self, handle: SnapshotHandle) -> tuple[IndexSpec, ...]:
        """The indexes that this version has."""

    @abstractmethod
    def coverage(self, handle: SnapshotHandle) -> tuple[IndexCoverage, ...]:
        """How far each index reaches, by name of the index. Kept with the handle: asking again costs nothing."""

    @abstractmethod
    def count_vectors(self, handle: SnapshotHandle, column: str) -> int:
        """How many rows have a vector in this column that no vector index covers: a pass over what is not covered.

        A vector that is zero, or not a number somewhere, has no direction and does not count. With none
        ``stage_indexes`` builds nothing for the column.
        """

    @abstractmethod
    def search_text(
        self,
        handle: SnapshotHandle,
        column: str,
        query: str,
        *,
        columns: Sequence[str],
        predicate: RowFilter | None = None,
        limit: int | None = None,
    ) -> pa.Table:
        """The rows in whose text at least one word of the query occurs, with ``_score`` (BM25, float64), best first.

        Needs an inverted index on the column, which says what a word is; rows that it does not cover are searched too,
        but Lance scores them by statistics of their own, so that equal texts may differ in score. Rows of equal score
        come by address.

        Args:
            handle: the version.
            column: of strings.
            query: plain words; nothing in it is syntax.
            columns: names, in the order wanted; ``_score`` comes after them.
            predicate: only rows for which it is true, judged before the limit.
            limit: the best so many rows, and all that are as good as the last of them; None for every row.

        Raises:
            InternalError: the column has no inverted index.
        """

    @abstractmethod
    def nearest(
        self,
        handle: SnapshotHandle,
        column: str,
        vector: Sequence[float] | npt.NDArray[np.float32],
        count: int,
        *,
        columns: Sequence[str],
        predicate: RowFilter | None = None,
    ) -> pa.Table:
        """The rows nearest to the vector, with ``_distance`` (cosine: 1 - similarity, float64), nearest first.

        Exact without an index and with one over at most 100,000 rows; beyond that the rows are those that the index
        comes by, nearly always the same. The distances are computed from the vectors in double precision either way. A
        row without a vector, or with one without a direction, is never found. Rows of equal distance come by
        address.

        Args:
            handle: the version.
            column: of vectors.
            vector: as long as those of the column, and not zero.
            count: the nearest so many rows, and all that are as near as the last of them.
            columns: names, in the order wanted; ``_distance`` comes after them.
            predicate: only rows for which it is true, judged before the rows are counted.
        """

    @abstractmethod
    def read_counts(self) -> tuple[int, int]:
        """How many requests reads of this graph's tables made so far, and how many bytes they read; never less.

        Reads of the manifest and those that belong to a commit are among them; listings are not.
        """

    @abstractmethod
    def kept_handles(self) -> tuple[int, int]:
        """How many versions are open, and the bytes that Lance keeps of metadata and indexes."""

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
    def stage_upsert(
        self, handle: SnapshotHandle, rows: pa.Table | pa.RecordBatchReader, *, key: str = "id"
    ) -> StagedHandle:
        """Rows that replace those of equal key; keys must be unique within ``rows`` and not null."""

    @abstractmethod
    def stage_replace(
        self,
        handle: SnapshotHandle,
        rows: pa.Table | Sequence[WrittenRows],
        addresses: pa.Array,
        *,
        removed: pa.Array | None = None,
    ) -> StagedHandle:
        """Rows of which the first replace those at these addresses, in this order; the others are new.

        As ``stage_upsert`` for who knows where the rows lie. Ids are the caller's matter. Rows at ``removed`` go too.

        Raises:
            InternalError: more addresses than rows, one given twice, or one without a row.
        """

    @abstractmethod
    def stage_overwrite(self, handle: SnapshotHandle, rows: pa.Table | Sequence[WrittenRows]) -> StagedHandle:
        """Rows that replace the whole table; no rows make it empty."""

    @abstractmethod
    def stage_delete(self, handle: SnapshotHandle, predicate: RowFilter) -> StagedHandle | None:
        """Mark rows as deleted; None when none matches, so that no empty version appears."""

    @abstractmethod
    def stage_delete_keys(self, handle: SnapshotHandle, keys: pa.Array, *, key: str = "id") -> StagedHandle | None:
        """As ``stage_delete``, by key."""

    @abstractmethod
    def stage_delete_at(self, handle: SnapshotHandle, addresses: pa.Array) -> StagedHandle | None:
        """As ``stage_delete``, by address: nothing is searched.

        Raises:
            InternalError: an address is given twice, or there is no row at one.
        """

    @abstractmethod
    def stage_indexes(self, handle: SnapshotHandle, specs: Sequence[IndexSpec]) -> StagedHandle | None:
        """Build indexes over the rows that none of theirs covers yet; None when there is nothing to build."""

    @abstractmethod
    def fold_rows(self, handle: SnapshotHandle, parts: Sequence[int]) -> FoldedRows | None:
        """Write the rows of these parts together to new files; None when fewer than two can be folded.

        Parts that a segment of an index covers together with others are left out.
        """

    @abstractmethod
    def stage_fold(
        self, handle: SnapshotHandle, folded: FoldedRows, specs: Sequence[IndexSpec]
    ) -> tuple[StagedHandle, ...]:
        """The steps after which the folded rows stand for the parts that they were read from; no row changes.

        Index segments that cover nothing else are dropped, and each of the indexes gets one over whatever it does not
        cover then. Nothing is staged when this version has not all those parts unchanged.
        """

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
    def commit_exact(
        self, handle: SnapshotHandle, staged: Sequence[StagedHandle], *, commit_id: str | None = None
    ) -> SnapshotHandle:
        """Make one version that is the handle's version plus the staged writes, in their order, and nothing else.

        It never loses: what others left on the table meanwhile is stepped over, not built upon. The version carries
        the transaction id of the last staged write, and the id of the commit that it is for.

        What writes rows comes first: any number of appends, or one upsert or overwrite; then deletes and indexes. A
        delete sees what the steps before it wrote.

        Another version may carry the same transaction id, with other writers' rows in it: a first attempt that landed
        in the wrong place. ``find_committed`` tells them apart.

        Raises:
            InternalError: a step was staged on another version, or the order cannot be kept.
        """

    @abstractmethod
    def sync_committed(self, handles: Sequence[SnapshotHandle]) -> None:
        """Return only when these versions, made by ``commit_*``, survive a loss of power."""

    @abstractmethod
    def find_committed(self, pin: TablePin, transaction_id: str, *, commit_id: str) -> FoundVersion:
        """What ``commit_exact`` made on a pin for a commit, if it got so far."""

    @abstractmethod
    def quarantine(self, pin: TablePin) -> None:
        """Move versions above a pin that a loss of power damaged out of the way of everybody."""

    @abstractmethod
    def restore(self, pin: TablePin) -> int:
        """Make the newest version on the line of a pin show the pinned one, durably; its number.

        No version goes away, so what others commit and publish at the same time is as good as before.
        """

    @abstractmethod
    def drop(self, location: str) -> None:
        """Remove a table that no manifest ever named; a missing one is success. Not atomic."""

    @abstractmethod
    def forget(self, leaves: Callable[[TablePin], bool]) -> None:
        """Let go of the handles of versions that nobody will ask for; who asks all the same opens them again."""

    @abstractmethod
    def close(self) -> None:
        """Let go of every handle."""

    @abstractmethod
    def fork(self, handle: SnapshotHandle, branch: str) -> SnapshotHandle:
        """Give this version a physical branch of its own, under a name that was never used before.

        Raises:
            StorageError: condition ``precondition`` when the name is taken.
        """
