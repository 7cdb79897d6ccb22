"""``TailMaintenance``: after a commit whose type has too many small parts, they are folded into one, in the background.

    commit acknowledged ──> is_due ──> a thread: stage_fold ── publish (maintenance) ──> fewer parts, indexes reach them

Small writes leave small parts that no index covers; looking for anything then means reading every one of them. Folding
changes no row, so it is nobody's conflict: a write that loses its race to it is prepared again, strict ones too. It is
best effort: whatever goes wrong is counted and left to the next commit. It begins after the acknowledgement, and one
handle runs one at a time. The rows are written outside every gate; what keeps others of this process waiting takes what
a small write does: staging, publishing, and writing again the few rows that changed meanwhile.
``OMNIGRAPH_TAIL_MAINTENANCE=off`` switches it off.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from omnigraph import failpoints
from omnigraph.engine.stats import MaintenanceStats
from omnigraph.errors import BranchReplacedError, ConflictError, NotFoundError, OmnigraphError
from omnigraph.failpoints import reach
from omnigraph.history.branches import BranchRef
from omnigraph.history.commits import Commit, CommitKind
from omnigraph.history.declared_indexes import declared_indexes
from omnigraph.history.log import ManifestLog
from omnigraph.history.repository import Repository
from omnigraph.history.snapshot import Snapshot
from omnigraph.history.ulids import new_ulid
from omnigraph.tables.interface import FoldedRows, IndexSpec, SnapshotHandle, StagedHandle, TablePin
from omnigraph.tables.native_memory import give_back
from omnigraph.write.attempts import WriteRequest, run_write
from omnigraph.write.deadlines import Deadline
from omnigraph.write.fold_policy import choose_parts, is_due
from omnigraph.write.plan import CommitIntent, PublishPlan, ReadSet, TableEffect, WriterKind
from omnigraph.write.read_sets import QUIET

QUICK_BYTES: Final = 4 * 1024 * 1024
"""Rows of so many bytes are written again when some of them changed meanwhile; more are left to the next fold."""

FOLD_SECONDS: Final = 20.0
"""How long a fold is tried against others that publish first; where many stand in line, its turn comes late."""

_log: Final = logging.getLogger(__name__)


class TailMaintenance:
    """Folds for one open graph. Safe to share between threads."""

    def __init__(self, repository: Repository, *, is_on: bool = True) -> None:
        self._repository = repository
        self._lock = threading.Lock()
        self._due: dict[tuple[BranchRef, str], None] = {}
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._stats = MaintenanceStats(is_on=is_on)
        if is_on:
            repository.on_published = self.note

    @property
    def stats(self) -> MaintenanceStats:
        """What was done so far, by this handle."""
        with self._lock:
            return replace(self._stats, waiting=len(self._due))

    def note(self, log: ManifestLog, moved: Mapping[str, TablePin]) -> None:
        """Look at the types that a commit of this handle changed, and begin what is due."""
        if log.state.head.kind in QUIET:
            return
        due = [key for key, pin in moved.items() if self._is_due(pin, log.state.entries[key].pin)]
        if due:
            self._begin(log.branch, due)

    def _is_due(self, before: TablePin, after: TablePin) -> bool:
        # Both versions are open: this process has just built one on the other.
        tables = self._repository.tables
        return is_due(tables.parts(tables.open_at(before)), tables.parts(tables.open_at(after)))

    def wait(self) -> None:
        """Return when no fold is under way or due."""
        while True:
            with self._lock:
                thread = self._thread
            if thread is None or thread is threading.current_thread():
                return
            thread.join()

    def close(self) -> None:
        """Finish the fold that is under way, and begin no other."""
        with self._lock:
            self._is_closed = True
            self._due.clear()
        self.wait()

    def _begin(self, branch: BranchRef, types: Sequence[str]) -> None:
        with self._lock:
            if self._is_closed:
                return
            self._due.update(dict.fromkeys((branch, key) for key in types))
            if self._thread is None:
                # No daemon: a process that ends lets a fold end, and leaves nothing half done.
                thread = threading.Thread(target=self._work, name="omnigraph-fold")
                thread.start()
                self._thread = thread

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._due:
                    self._thread = None
                    return
                branch, key = next(iter(self._due))
                del self._due[branch, key]
            self._fold(branch, key)
            # Commits leave holes in the heap of each thread; here nobody waits.
            give_back()

    def _fold(self, branch: BranchRef, key: str) -> None:
        commit, parts, error = None, 0, None
        try:
            commit, parts = fold_type(self._repository, branch.name, key)
        except (ConflictError, NotFoundError) as overtaken:
            _log.debug("A fold of %s on %s was overtaken: %s", key, branch.name, overtaken)
            if not branch.is_main and isinstance(overtaken, (NotFoundError, BranchReplacedError)):
                # It was deleted, and what this thread opened since then is of no use.
                self._repository.forget_branch(branch)
        # A thread of ours has nobody to raise to.
        except Exception as failure:  # noqa: BLE001
            _log.warning("A fold of %s on %s failed; it will be tried again: %s", key, branch.name, failure)
            error = failure.message if isinstance(failure, OmnigraphError) else f"{type(failure).__name__}: {failure}"
        with self._lock:
            self._stats = replace(
                self._stats,
                runs=self._stats.runs + 1,
                commits=self._stats.commits + (commit is not None),
                folded_parts=self._stats.folded_parts + parts,
                failures=self._stats.failures + (error is not None),
                last_failure=error or self._stats.last_failure,
            )


class _NothingToFoldError(Exception):
    """No tier of the type is full any more, or what was folded is not what it was."""


def fold_type(repository: Repository, branch: str, key: str) -> tuple[Commit | None, int]:
    """Fold the small parts of one type, as one maintenance commit; the commit, and how many parts became one.

    Raises:
        ConflictError: others kept publishing first.
        NotFoundError: there is no such branch or type any more.
        OutcomeUnknownError, StorageError: as ``publish``.
    """
    intent = CommitIntent(id=new_ulid(), kind=CommitKind.MAINTENANCE, actor=None, created_at=datetime.now(UTC))
    folded: FoldedRows | None = None

    def prepare(log: ManifestLog, snapshot: Snapshot, is_void: bool) -> PublishPlan:
        nonlocal folded
        target = snapshot.schema.tables.get(key)
        if target is None:
            raise NotFoundError(f"There is no type {key}.", details={"type": key})
        pin = snapshot.entry(target).pin
        if not snapshot.branch.owns(pin):
            # A merge made the branch show another one's line meanwhile, whose owner folds it.
            raise _NothingToFoldError
        handle = repository.tables.open_at(pin)
        specs = _existing(repository, handle, declared_indexes(target))
        staged: tuple[StagedHandle, ...] = ()
        if folded is not None and not is_void:
            staged = repository.tables.stage_fold(handle, folded, specs)
        if not staged:
            parts = repository.tables.parts(handle)
            chosen = choose_parts(parts)
            # Others may be waiting from the second time on; what is small is written in the time of a small write.
            is_small = sum(each.byte_count for each in parts if each.number in chosen) <= QUICK_BYTES
            folded = repository.tables.fold_rows(handle, chosen) if folded is None or is_small else None
            staged = () if folded is None else repository.tables.stage_fold(handle, folded, specs)
        if not staged:
            raise _NothingToFoldError
        reach(failpoints.FOLD_STAGED)
        return PublishPlan(
            operation_id=new_ulid(),
            writer=WriterKind.FOLD,
            intent=intent,
            base=log,
            read_set=ReadSet(pins={key: pin}, schema_digest=snapshot.schema.digest, incarnation=log.branch.incarnation),
            effects=(TableEffect(target=target, pin=pin, base=pin, staged=staged),),
        )

    request = WriteRequest(branch=branch, types=frozenset({key}), deadline=Deadline(seconds=FOLD_SECONDS))
    try:
        commit = run_write(repository, request, prepare).commit
    except _NothingToFoldError:
        return None, 0
    return commit, 0 if folded is None else len(folded.parts)


def _existing(repository: Repository, handle: SnapshotHandle, declared: Sequence[IndexSpec]) -> tuple[IndexSpec, ...]:
    """The declared indexes that are there: a fold extends indexes and begins none."""
    there = {each.spec.name for each in repository.tables.coverage(handle)}
    return tuple(each for each in declared if each.name in there)
