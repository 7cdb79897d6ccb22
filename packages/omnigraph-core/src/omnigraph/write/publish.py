"""``publish``: the one place where a graph changes.

    plan ── sidecar ──> announced ── commit each table ──> committed ── swap the manifest ──> visible
         ── sync ──> durable ── read the object of the branch ──> acknowledged

Up to the swap nothing of a write can be seen; the swap is one compare-and-swap on the manifest; and the call returns
only when it would survive a loss of power. Each table is committed as an exact child of the version that the plan was
built on, whatever others left on that table.

A swap that was won is not yet a commit: it may have landed on a line that no branch has any more, or on a name that
garbage collection freed. So the object of the branch is read after it, of main too; see ``_confirmed``.

A lost swap is not yet a lost write. If our own commit is in the new log, somebody finished it for us. If nothing that
the plan relied on has moved, the same table commits are published on the new log. Otherwise the plan is void, and its
writer decides; see ``attempts``.

A write that fails or is interrupted withdraws its sidecar, because whoever found it could still finish the write; one
that had moved tables stays there withdrawn, until somebody puts the tables right. Only where the outcome is not known
does the sidecar stay as it is. A write that is given up stops before its sidecar is written or not at all: what was
announced goes on to its end.

A publish that took long may have been taken back meanwhile, by somebody who held its writer for dead. It is made all
the same, and then lets its tables show it again; see ``show_again``.

``publish_announced`` is the same from the middle on, for a recovery that found a sidecar and all its table commits.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, TypeVar

from omnigraph import failpoints
from omnigraph.cancellation import check_cancelled, patient, uncancellable
from omnigraph.errors import (
    BranchReplacedError,
    FormatError,
    NotFoundError,
    OmnigraphError,
    OutcomeUnknownError,
    StorageCondition,
    StorageError,
)
from omnigraph.failpoints import reach
from omnigraph.history.branches import MAIN, BranchRef, tell_if_gone
from omnigraph.history.commits import Commit
from omnigraph.history.heartbeats import BEAT_SECONDS
from omnigraph.history.log import ManifestLog, StagedVersion, open_manifest
from omnigraph.history.repository import Repository
from omnigraph.history.rows import ManifestRow
from omnigraph.history.whereabouts import whereabouts
from omnigraph.tables.interface import SnapshotHandle, TablePin
from omnigraph.tables.log import LogConflictError, LogRefusedError
from omnigraph.tables.new_files import release_new_files
from omnigraph.write.deadlines import Deadline, pause
from omnigraph.write.errands import Errand
from omnigraph.write.leftovers import Leftovers, show_again
from omnigraph.write.plan import AnnouncedPlan, PublishPlan, Writer
from omnigraph.write.publish_rows import pin_rows, stage_version
from omnigraph.write.read_sets import ReadSetMovedError, check_read_set
from omnigraph.write.sidecar import delete_sidecar, withdraw_sidecar, write_sidecar
from omnigraph.write.under_way import under_way

__all__ = ["Published", "ReadSetMovedError", "publish", "publish_announced"]

SETTLING_LOOKS: Final = 5
"""How often a publish whose answer was lost is repeated, or looked for, before its outcome counts as unknown."""

_StagedRows: TypeAlias = tuple[Sequence[ManifestRow], StagedVersion]
"""Rows of pins, and the version that was staged with them."""

T = TypeVar("T")

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A commit that is visible and durable, and the log whose head it was when it was made.

    Attributes:
        moved: the versions that it was built on, of the types that it changed, by table key.
    """

    commit: Commit
    log: ManifestLog
    moved: Mapping[str, TablePin]


def publish(
    repository: Repository, plan: PublishPlan, deadline: Deadline, leftovers: Leftovers | None = None
) -> Published:
    """Carry out a plan: afterwards its commit is visible and durable, or nothing of it ever will be.

    Args:
        repository: the graph.
        plan: what is to be done.
        deadline: for others that publish first.
        leftovers: of the write, which may be prepared again; without them, tables of a void plan are put back here.

    Raises:
        ReadSetMovedError: the plan is void because the graph moved on.
        ContentionError: the deadline passed while others kept publishing first.
        BranchReplacedError: the branch was made anew.
        NotFoundError: the branch was deleted.
        OutcomeUnknownError: the answer of the store was lost and could not be found out; the sidecar stays.
        StorageError: something could not be written; nothing is visible.
    """
    reach(failpoints.PUBLISH_BEFORE_SIDECAR)
    log = repository.newest_known(plan.base)
    repository.refuse_lost_version(log)
    if log.table.has_auto_cleanup:
        # Somebody may have removed the settings since this version was opened.
        log = repository.newest_of(log.branch)
        log.table.refuse_auto_cleanup()
    announced = plan.announced(
        graph=repository.graph_id, writer=Writer(id=repository.heart.writer, process=whereabouts())
    )
    if log is not plan.base:
        # This process knows already that the swap would be lost; it may know that the plan is, too.
        check_read_set(repository, announced, log)
    check_cancelled()
    with patient(), uncancellable(), under_way(plan.operation_id):
        left = Leftovers(repository) if leftovers is None else leftovers
        try:
            published = _Publish(repository, plan, announced, deadline, left).run(log)
        except ReadSetMovedError:
            if leftovers is None:
                left.put_back()
            raise
    reach(failpoints.PUBLISH_SIDECAR_DELETED)
    return published


@patient()
def publish_announced(
    repository: Repository, plan: AnnouncedPlan, committed: Sequence[SnapshotHandle], deadline: Deadline
) -> Published:
    """Carry out the rest of a plan whose tables are all committed, for whoever was cut off; its sidecar stays.

    Args:
        repository: the graph.
        plan: as its sidecar says.
        committed: the exact child of each of its tables, in their order.
        deadline: for others that publish first.

    Raises:
        ReadSetMovedError, ContentionError, BranchReplacedError, NotFoundError: as ``publish``.
        OutcomeUnknownError, StorageError: as ``publish``.
    """
    repository.tables.sync_committed(committed)
    log, landed = _look(repository, plan)
    if landed is None:
        check_read_set(repository, plan, log)
        landed = _swap(repository, plan, log, committed, deadline)
    landed = _confirmed(repository, plan, landed)
    repository.remember(landed.log)
    return landed


@dataclass(slots=True)
class _Publish:
    """One publish, from its sidecar to its end.

    Attributes:
        leftovers: of earlier attempts of the same write.
        has_moved: a table may have a version of it, or of an earlier attempt, that no commit names.
        committed: the versions that its tables got.
    """

    repository: Repository
    plan: PublishPlan
    announced: AnnouncedPlan
    deadline: Deadline
    leftovers: Leftovers
    has_moved: bool = False
    committed: list[SnapshotHandle] = field(default_factory=list)

    def run(self, log: ManifestLog) -> Published:
        began = time.monotonic()
        staged = [each for effect in self.plan.effects for each in effect.staged]
        try:
            # Both before the first table moves, and neither needs the other.
            with Errand(lambda: self.repository.tables.sync_staged(staged)) as synced:
                self._announce()
            published = self._carry_out(log, synced)
            self.has_moved = False
            published = _confirmed(self.repository, self.announced, published)
            self.repository.remember(published.log)
            reach(failpoints.PUBLISH_ACKNOWLEDGED)
        except (BranchReplacedError, NotFoundError):
            # What was published was published on a line that no branch has any more.
            delete_sidecar(self.repository.adapter, self.plan.operation_id)
            raise
        except ReadSetMovedError:
            # The swap was lost, or it won a name that counts for nothing: no version of the manifest can name these
            # table commits any more, sidecar or not. This write, prepared again, steps over them, or puts them back.
            self.leftovers.keep(self.announced, [each.pin for each in self.committed])
            raise
        except OmnigraphError:
            raise
        except BaseException:
            # Interrupted. What the manifest names is whole, and what it does not name nobody shall finish.
            self._withdraw()
            raise
        if time.monotonic() - began >= min(BEAT_SECONDS, self.repository.observer.patience):
            show_again(self.repository, self.announced, [each.pin for each in self.committed])
        delete_sidecar(self.repository.adapter, self.plan.operation_id)
        return published

    def _announce(self) -> None:
        adapter = self.repository.adapter
        try:
            write_sidecar(adapter, self.announced)
        except StorageError as error:
            # It may lie there all the same. A plan that moves no table counts as complete to whoever finds it.
            if not delete_sidecar(adapter, self.plan.operation_id) and not self.plan.effects:
                raise _unknown(
                    self.repository, self.announced, "its plan may lie there, and a recovery may carry it out"
                ) from error
            raise
        self.has_moved = self.leftovers.replaced_by(self.announced)

    def _carry_out(self, log: ManifestLog, synced: Errand[None]) -> Published:
        """From a plan that is announced to its commit; a plan that failed is withdrawn. Raises as ``publish``."""
        try:
            synced.result()
            reach(failpoints.PUBLISH_SIDECAR_WRITTEN)
            expected = self._expected_rows(log)
            # Mostly the tables become what they are expected to, and then this is what the manifest becomes.
            with Errand(lambda: self._staged_ahead(log, expected)) as ahead:
                committed = self._commit_tables()
            reach(failpoints.PUBLISH_TABLES_DURABLE)
            return _swap(self.repository, self.announced, log, committed, self.deadline, ahead)
        except OutcomeUnknownError:
            raise
        except OmnigraphError as error:
            # Where the graph was removed, nothing is left for the one that was made after it to find.
            tell_if_gone(error, self.repository.refuse_replaced)
            if isinstance(error, BranchReplacedError) and error.branch == MAIN:
                raise
            if not self._withdraw():
                raise _unknown(
                    self.repository, self.announced, "its plan could not be withdrawn, and a recovery may carry it out"
                ) from error
            raise

    def _withdraw(self) -> bool:
        take_away = withdraw_sidecar if self.has_moved else delete_sidecar
        return take_away(self.repository.adapter, self.plan.operation_id)

    def _expected_rows(self, log: ManifestLog) -> Sequence[ManifestRow] | None:
        tables = self.repository.tables
        expected = [tables.expected(tables.open_at(each.base), each.staged) for each in self.plan.effects]
        known = [each for each in expected if each is not None]
        if len(known) < len(expected):
            return None
        return pin_rows(self.announced, [(each.pin, each.state) for each in known], log)

    def _staged_ahead(self, log: ManifestLog, rows: Sequence[ManifestRow] | None) -> _StagedRows | None:
        """The next version with rows that are expected; None where there is nothing to expect."""
        return None if rows is None else (rows, stage_version(self.repository, self.announced, log, rows))

    def _commit_tables(self) -> list[SnapshotHandle]:
        tables, committed = self.repository.tables, self.committed
        for effect in self.plan.effects:
            base = tables.open_at(effect.base)
            release_new_files()
            self.has_moved = True
            made = tables.commit_exact(base, effect.staged, commit_id=self.plan.intent.id)
            if made.pin.version != effect.base.version + 1:
                # Somebody else committed to this table and has not published it, or never will.
                self.repository.rivals.meet(self.plan.read_set.incarnation)
            committed.append(made)
            reach(failpoints.PUBLISH_TABLE_COMMITTED)
        tables.sync_committed(committed)
        return committed


def _swap(
    repository: Repository,
    plan: AnnouncedPlan,
    log: ManifestLog,
    committed: Sequence[SnapshotHandle],
    deadline: Deadline,
    ahead: Errand[_StagedRows | None] | None = None,
) -> Published:
    states = [(handle.pin, repository.tables.table_state(handle)) for handle in committed]
    while True:
        rows = pin_rows(plan, states, log)
        staged = None if ahead is None else _usable(ahead, rows)
        ahead = None
        try:
            return _swap_once(repository, plan, log, staged or stage_version(repository, plan, log, rows))
        except LogConflictError:
            repository.rivals.meet(plan.read_set.incarnation)
            log, landed = _look(repository, plan)
        if landed is not None:
            return landed
        check_read_set(repository, plan, log)
        deadline.wait(f"publish commit {plan.intent.id}", branch=log.branch.name)


def _usable(ahead: Errand[_StagedRows | None], rows: Sequence[ManifestRow]) -> StagedVersion | None:
    """What was staged ahead, if it holds these rows; None also when that failed, and is done again."""
    try:
        found = ahead.result()
    except StorageError as error:
        _log.debug("A version that was staged ahead is of no use: %s", error)
        return None
    return found[1] if found is not None and found[0] == rows else None


def _swap_once(repository: Repository, plan: AnnouncedPlan, log: ManifestLog, staged: StagedVersion) -> Published:
    """One compare-and-swap, repeated only while its outcome is not known: the same again has no second effect."""
    is_in_doubt = False
    for look in range(1, SETTLING_LOOKS + 1):
        try:
            reach(failpoints.PUBLISH_BEFORE_COMMIT)
            published = log.publish(staged)
            reach(failpoints.PUBLISH_AFTER_COMMIT)
            published.table.sync()
        except LogRefusedError as refused:
            # It says nothing about an earlier request whose answer was lost.
            if not is_in_doubt:
                raise refused.failure from refused
            last = refused.failure
        except StorageError as error:
            _log.warning("The answer to publishing commit %s was lost (look %d): %s", staged.commit.id, look, error)
            is_in_doubt, last = True, error
            if error.condition is StorageCondition.NOT_FOUND:
                # The line itself may be gone, with its branch or with the whole graph; then there is no doubt.
                _find_out(repository, plan, lambda: _check_branch(repository, plan))
        else:
            return Published(commit=staged.commit, log=published, moved=plan.moved_pins)
        pause(look)
    raise _unknown(repository, plan, "the store did not answer") from last


def _look(repository: Repository, plan: AnnouncedPlan) -> tuple[ManifestLog, Published | None]:
    """The newest log of the plan's branch, and our own commit if it is in its history; made durable then.

    Raises:
        BranchReplacedError, NotFoundError: the branch is not there any more.
        OutcomeUnknownError: nothing could be found out.
    """

    def look() -> tuple[ManifestLog, Published | None]:
        reach(failpoints.PUBLISH_LOAD_STATE_RETRYABLE_CONTENTION)
        log = repository.remember(repository.open_newest(_check_branch(repository, plan)))
        between = log.commits_since(plan.base_version)
        landed = next((each for each in between if each.id == plan.intent.id), None)
        if landed is None:
            return log, None
        try:
            own = open_manifest(repository.manifests, log.branch, version=landed.manifest_version)
        except NotFoundError:
            # Its version was reclaimed since, so it was durable; what it moved is moved on.
            return log, Published(commit=landed, log=log, moved={})
        own.table.sync()
        return log, Published(commit=landed, log=own, moved=plan.moved_pins)

    return _find_out(repository, plan, look)


def _confirmed(repository: Repository, plan: AnnouncedPlan, published: Published) -> Published:
    """Read the object of the branch after a swap, and only then count the commit as made.

    The swap alone is no proof. It lands on a line that no branch has any more when the branch was deleted meanwhile,
    or the graph removed: neither waits for writers. And it creates a name, which garbage collection may have freed:
    with versions 4 to 8 removed and 10 as the newest, a writer that slept since version 3 makes a version 4 that no
    history contains. Garbage collection says in the object how far it goes before it frees a name.

    Raises:
        BranchReplacedError, NotFoundError: the branch is not there any more.
        ReadSetMovedError: the swap made a version that was reclaimed before; the commit is in no history.
        OutcomeUnknownError: nothing could be found out.
    """
    ref = _find_out(repository, plan, lambda: _check_branch(repository, plan))
    if published.log.version >= ref.reclaimed_below:
        return published
    log, landed = _look(repository, plan)
    if landed is not None:
        # It was made, and its version reclaimed since.
        return landed
    check_read_set(repository, plan, log)
    raise ReadSetMovedError(log, (), is_void=True, is_logical=False)


def _find_out(repository: Repository, plan: AnnouncedPlan, ask: Callable[[], T]) -> T:
    """What the store says, asked again while it does not answer. Raises as ``ask``, and ``OutcomeUnknownError``."""
    for look in range(1, SETTLING_LOOKS + 1):
        try:
            return ask()
        except (StorageError, FormatError) as error:
            _log.warning("Looking for commit %s failed (look %d): %s", plan.intent.id, look, error)
            last = error
        pause(look)
    is_answered = isinstance(last, FormatError)
    why = f"the branch cannot be read: {last.message}" if is_answered else "the store did not answer"
    raise _unknown(repository, plan, why) from last


def _check_branch(repository: Repository, plan: AnnouncedPlan) -> BranchRef:
    """The branch that a plan is for, and not one made anew under its name; one request.

    Raises:
        BranchReplacedError, NotFoundError: it is not there any more.
    """
    branch = repository.look_up(plan.branch.name)
    if branch.incarnation != plan.read_set.incarnation:
        raise BranchReplacedError(branch=branch.name, expected=plan.read_set.incarnation, actual=branch.incarnation)
    return branch


def _unknown(repository: Repository, plan: AnnouncedPlan, why: str) -> OutcomeUnknownError:
    commit_id, root = plan.intent.id, repository.adapter.root
    return OutcomeUnknownError(
        f"It is not known whether commit {commit_id} was made, or will be: {why}.",
        commit_id=commit_id,
        help=f"When the store answers again, settle it: omnigraph recovery run {root}. Then look for it: omnigraph "
        f"commit show {root} {commit_id}. If it is not there, nothing of the write happened.",
    )
