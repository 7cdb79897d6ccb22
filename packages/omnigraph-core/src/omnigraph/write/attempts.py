"""``run_write``: prepare a write on what is known, publish it, and prepare again when the graph moved on.

    prepare(snapshot) ──> plan ── publish ──> done
        ▲                            │ the read set moved
        └────────────────────────────┘ unless the write is strict and data moved

Preparing again is right for inserts and merges: they mean the same on any state. A strict write, such as an overwrite,
replaces what its caller has seen, so it fails with a conflict instead. Writers of one process that prepare again take
turns, so that none of them starves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from omnigraph.errors import BranchReplacedError, ConstraintError, HeadMovedError, StorageCondition, StorageError
from omnigraph.history.commits import CommitKind
from omnigraph.history.log import ManifestLog
from omnigraph.history.repository import Repository
from omnigraph.history.snapshot import Snapshot
from omnigraph.write.deadlines import Deadline
from omnigraph.write.plan import PublishPlan
from omnigraph.write.publish import Published, ReadSetMovedError, publish
from omnigraph.write.turns import turns_of

Prepare = Callable[[ManifestLog, Snapshot, bool], PublishPlan]
"""From a log and its snapshot to a plan; the flag says that files staged before may be gone."""


def run_write(
    repository: Repository,
    branch: str,
    prepare: Prepare,
    *,
    is_strict: bool,
    deadline: Deadline | None = None,
    staged_at: int | None = None,
) -> Published:
    """Publish what ``prepare`` plans, however often it takes.

    A writer that wrote files before it came here says with ``staged_at`` which manifest version it knew then: a fence
    that was published since voids them.

    Raises:
        HeadMovedError: the write is strict and data that it relied on moved.
        BranchReplacedError: the branch was made anew.
        ContentionError: the deadline passed.
        ConstraintError: the rows break a rule on the newest state.
    """
    deadline = deadline or Deadline()
    turns = turns_of(str(repository.adapter.root), branch)
    turns.let_others_go_first(deadline.seconds_left)
    # A strict write is a conflict with what happens from now on, and not with what was there before it began.
    log = repository.newest(branch) if is_strict else repository.known(branch)
    base = _Base(log=log, is_void=staged_at is not None and _is_fenced(log, staged_at))
    published = _attempt(repository, base, prepare, is_strict=is_strict, deadline=deadline)
    if published is not None:
        return published
    with turns.turn(deadline.seconds_left):
        while published is None:
            deadline.wait(f"finish the write on {branch}", branch=branch)
            published = _attempt(repository, base, prepare, is_strict=is_strict, deadline=deadline)
    return published


@dataclass(slots=True)
class _Base:
    """What the next attempt is built on.

    Attributes:
        is_void: files that earlier attempts wrote may be gone.
    """

    log: ManifestLog
    is_void: bool


def _attempt(
    repository: Repository, base: _Base, prepare: Prepare, *, is_strict: bool, deadline: Deadline
) -> Published | None:
    """Prepare once and publish; None when the graph moved on, with what it is now in ``base``."""
    try:
        plan = prepare(base.log, repository.snapshot(base.log), base.is_void)
    except (ConstraintError, StorageError) as error:
        # Judged on a state that may be old, whose files may be gone: the verdict stands only if it is not.
        is_final = isinstance(error, StorageError) and error.condition is not StorageCondition.NOT_FOUND
        if is_final or base.log.is_newest():
            raise
        newer = repository.newest(base.log.branch.name)
        _refuse_other_branch(base.log, newer)
        # What is void stays so until a preparation succeeds.
        base.log, base.is_void = newer, base.is_void or _is_fenced(newer, base.log.version)
        return None
    try:
        return publish(repository, plan, deadline)
    except ReadSetMovedError as moved:
        if is_strict and moved.is_logical:
            raise HeadMovedError(
                branch=plan.base.branch.name,
                expected=plan.base.state.head.id,
                actual=moved.log.state.head.id,
                members=moved.members,
            ) from moved
        base.log, base.is_void = moved.log, moved.is_void
        return None


def _is_fenced(log: ManifestLog, since: int) -> bool:
    """Whether garbage collection may have removed files that no version named at the manifest version ``since``."""
    return any(each.kind is CommitKind.FENCE for each in log.commits_since(since))


def _refuse_other_branch(log: ManifestLog, newer: ManifestLog) -> None:
    if newer.branch.incarnation != log.branch.incarnation:
        raise BranchReplacedError(
            branch=log.branch.name, expected=log.branch.incarnation, actual=newer.branch.incarnation
        )
