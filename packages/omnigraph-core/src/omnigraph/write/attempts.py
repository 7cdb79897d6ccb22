"""``run_write``: prepare a write on what is known, publish it, and prepare again when the graph moved on.

    prepare(snapshot) ──> plan ── publish ──> done
        ▲                            │ the read set moved
        └────────────────────────────┘ unless the write is strict and data moved

Preparing again is right for inserts and merges: they mean the same on any state. A strict write, such as an overwrite,
replaces what its caller has seen, so it fails with a conflict instead. A write that is given a commit to be built on
fails as soon as another one has changed anything. Maintenance moves pins and no rows, so it is nobody's conflict.

Writers of one process pass gates: a small write holds those of its types from its first preparation on, so that it is
not made for nothing; a large one only while it publishes, and from then on if it has to prepare again. Writers of
several processes that have met stand in line.

A lost attempt leaves versions of its tables. The next attempt steps over them; a write that is refused puts them back.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Final

from omnigraph.cancellation import patient, uncancellable
from omnigraph.errors import BranchReplacedError, ConstraintError, HeadMovedError, StorageCondition, StorageError
from omnigraph.history.commits import CommitKind
from omnigraph.history.log import ManifestLog
from omnigraph.history.repository import Repository
from omnigraph.history.snapshot import Snapshot
from omnigraph.write.deadlines import Deadline
from omnigraph.write.gates import SCHEMA_GATE, GateRoom, gates_of, type_gate
from omnigraph.write.leftovers import Leftovers
from omnigraph.write.line import stand_in_line
from omnigraph.write.plan import PublishPlan
from omnigraph.write.publish import Published, ReadSetMovedError, publish
from omnigraph.write.read_sets import QUIET

_log: Final = logging.getLogger(__name__)

Prepare = Callable[[ManifestLog, Snapshot, bool], PublishPlan]
"""From a log and its snapshot to a plan; the flag says that files staged before may be gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRequest:
    """How a write goes about it.

    Attributes:
        types: keys of the types that it will write, as far as they are known.
        is_strict: it is a conflict when data that it relied on changed meanwhile.
        is_brief: preparing it takes moments.
        start: a log of the branch, if the caller knows one: then that is the branch which is written to, and not
            another one that was made under its name since. The first attempt is built on what is remembered of it.
        starts_newest: its first attempt is built on the newest state there is, whatever is remembered.
        if_commit: the commit that must be the newest, but for maintenance; None for any.
        staged_at: which manifest version the writer knew when it wrote files: a fence that was published since voids
            them. None when it wrote none.
        after: is told of the commit when it is durable; what it raises is logged, and nobody's failure.
    """

    branch: str
    types: frozenset[str] = frozenset()
    is_strict: bool = False
    is_brief: bool = False
    start: ManifestLog | None = None
    starts_newest: bool = False
    if_commit: str | None = None
    staged_at: int | None = None
    after: Callable[[Published], None] = lambda _published: None
    deadline: Deadline = field(default_factory=Deadline)


def run_write(repository: Repository, request: WriteRequest, prepare: Prepare) -> Published:
    """Publish what ``prepare`` plans, however often it takes.

    Raises:
        HeadMovedError: the write is strict and data that it relied on moved, or the commit that it is to be built on is
            not the newest any more.
        BranchReplacedError: the branch was made anew.
        ContentionError: the deadline passed.
        ConstraintError: the rows break a rule on the newest state.
    """
    # What a strict write conflicts with happens from now on; what was there before it began is what it is about.
    is_newest = request.is_strict or request.starts_newest or request.if_commit is not None
    known = repository.known(request.branch) if request.start is None else repository.newest_known(request.start)
    log = repository.newest_of(known.branch) if is_newest else known
    attempts = _Attempts(
        repository=repository,
        request=request,
        prepare=prepare,
        room=gates_of(repository.adapter),
        log=log,
        is_void=request.staged_at is not None and _is_fenced(log, request.staged_at),
        leftovers=Leftovers(repository),
    )
    with patient(), repository.heart.beating():
        return attempts.run()


@dataclass(slots=True)
class _Attempts:
    """The attempts of one write.

    Attributes:
        log: what the next attempt is built on.
        is_void: files that earlier attempts wrote may be gone.
        leftovers: what lost attempts left on their tables.
    """

    repository: Repository
    request: WriteRequest
    prepare: Prepare
    room: GateRoom
    log: ManifestLog
    is_void: bool
    leftovers: Leftovers

    def run(self) -> Published:
        try:
            published = self._published()
        except Exception:
            self.leftovers.put_back()
            raise
        except BaseException:
            self.leftovers.withdraw()
            raise
        self.leftovers.put_back()
        try:
            with uncancellable():
                self.request.after(published)
                if self.repository.on_published is not None:
                    self.repository.on_published(published.log, published.moved)
        # The commit is made and durable: whatever goes wrong from here on is no reason to say otherwise.
        except Exception as error:  # noqa: BLE001
            _log.warning("After commit %s, which is made: %s", published.commit.id, error)
        return published

    def _published(self) -> Published:
        if not self.request.is_brief:
            published = self._once(self._hold)
            if published is not None:
                return published
            self._wait()
        with self._hold():
            rivals = self.repository.rivals
            if not rivals.are_near(self.log.branch.incarnation):
                # Whoever was in front has published meanwhile.
                self.log = self.repository.newest_known(self.log)
                published = self._once(nullcontext)
                if published is not None:
                    return published
            rivals.pass_by(self.log.branch.incarnation)
            with self._in_line():
                while True:
                    published = self._once(nullcontext)
                    if published is not None:
                        return published
                    self._wait()

    def _wait(self) -> None:
        self.request.deadline.wait("finish the write", branch=self.request.branch)

    def _hold(self) -> AbstractContextManager[object]:
        gates = {type_gate(self.log.branch.incarnation, each) for each in self.request.types}
        return self.room.hold(exclusive=gates, shared=[SCHEMA_GATE], seconds=self.request.deadline.seconds_left)

    @contextmanager
    def _in_line(self) -> Iterator[None]:
        """Wait for writers of other processes; whoever was in front has published meanwhile."""
        incarnation = self.log.branch.incarnation
        rivals = self.repository.rivals
        with stand_in_line(
            self.repository.adapter, incarnation, self.request.deadline, write_seconds=rivals.write_seconds
        ) as has_company:
            if has_company:
                rivals.meet(incarnation)
            newest = self.repository.newest(self.log.branch.name)
            _refuse_other_branch(self.log, newest)
            self.is_void = self.is_void or _is_fenced(newest, self.log.version)
            self.log = newest
            yield

    def _once(self, hold: Callable[[], AbstractContextManager[object]]) -> Published | None:
        """Prepare once and publish; None when the graph moved on, with what it is now in ``log``."""
        repository, log = self.repository, self.log
        began = time.monotonic()
        refuse_other_head(log, self.request.if_commit)
        try:
            plan = self.prepare(log, repository.snapshot(log), self.is_void)
        except (ConstraintError, StorageError) as error:
            # Judged on a state that may be old, whose files may be gone: the verdict stands only if it is not.
            is_final = isinstance(error, StorageError) and error.condition is not StorageCondition.NOT_FOUND
            if is_final or repository.is_newest(log):
                raise
            newer = repository.newest(log.branch.name)
            _refuse_other_branch(log, newer)
            self._refuse_changed(log, newer, error)
            # What is void stays so until a preparation succeeds.
            self.log, self.is_void = newer, self.is_void or _is_fenced(newer, log.version)
            return None
        try:
            with hold():
                published = publish(repository, plan, self.request.deadline, self.leftovers)
        except ReadSetMovedError as moved:
            refuse_other_head(moved.log, self.request.if_commit)
            if self.request.is_strict and moved.is_logical:
                raise HeadMovedError(
                    branch=log.branch.name,
                    expected=log.state.head.id,
                    actual=moved.log.state.head.id,
                    members=moved.members,
                ) from moved
            self.log, self.is_void = moved.log, moved.is_void
            return None
        if self.request.is_brief:
            repository.rivals.note_write(time.monotonic() - began)
        return published

    def _refuse_changed(self, log: ManifestLog, newer: ManifestLog, error: Exception) -> None:
        """Raise if the write is strict and others changed a type that it is about, while it was being judged.

        Raises:
            HeadMovedError: they did.
        """
        if not self.request.is_strict or all(each.kind in QUIET for each in newer.commits_since(log.version)):
            return
        before, after = log.state.entries, newer.state.entries
        moved = [key for key in sorted(self.request.types) if before.get(key) != after.get(key)]
        if moved:
            raise HeadMovedError(
                branch=log.branch.name,
                expected=log.state.head.id,
                actual=newer.state.head.id,
                members=tuple(f"pin:{key}" for key in moved),
            ) from error


def refuse_other_head(log: ManifestLog, if_commit: str | None) -> None:
    """Raise unless a commit is the newest of a branch that changed anything; maintenance after it does not count.

    Raises:
        HeadMovedError: it is not.
    """
    if if_commit is None:
        return
    recent = tuple(reversed(log.state.recent))
    # Right after a commit that moved the others to the history, what is recent may be maintenance only.
    for commit in recent if any(each.kind not in QUIET for each in recent) else log.commits():
        if commit.id == if_commit:
            return
        if commit.kind not in QUIET:
            break
    raise HeadMovedError(branch=log.branch.name, expected=if_commit, actual=log.state.head.id)


def _is_fenced(log: ManifestLog, since: int) -> bool:
    """Whether garbage collection may have removed files that no version named at the manifest version ``since``."""
    return any(each.kind is CommitKind.FENCE for each in log.commits_since(since))


def _refuse_other_branch(log: ManifestLog, newer: ManifestLog) -> None:
    if newer.branch.incarnation != log.branch.incarnation:
        raise BranchReplacedError(
            branch=log.branch.name, expected=log.branch.incarnation, actual=newer.branch.incarnation
        )
