"""``look_into``: from a sidecar to the facts about its write, by asking the log and the tables for it by name."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.errors import NotFoundError, StorageCondition, StorageError
from omnigraph.history.log import ManifestLog
from omnigraph.history.repository import Repository
from omnigraph.tables.interface import SnapshotHandle
from omnigraph.write.plan import AnnouncedPlan, PlannedTable
from omnigraph.write.read_sets import ReadSetMovedError, check_read_set, current_pin, shown_pin
from omnigraph.write.recovery.verdict import (
    Decision,
    OwnVersion,
    PlanFacts,
    TableClass,
    TableFacts,
    classify,
    decide,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundWrite:
    """A cut-off write, looked into.

    Attributes:
        log: the newest of its branch; None when that is gone.
        tables: one for each of its plan, in their order.
        committed: the version of its own that each table has.
    """

    plan: AnnouncedPlan
    decision: Decision
    log: ManifestLog | None
    tables: tuple[tuple[TableFacts, TableClass], ...]
    committed: tuple[SnapshotHandle | None, ...]


def look_into(repository: Repository, plan: AnnouncedPlan, *, is_withdrawn: bool) -> FoundWrite:
    """What lies there of a write.

    Raises:
        StorageError: the store did not answer, or a table cannot be read.
        FormatError: the manifest is damaged.
    """
    log = _newest(repository, plan)
    if log is None:
        facts = PlanFacts(has_branch=False, is_published=False, is_withdrawn=is_withdrawn, holds=False, tables=())
        return FoundWrite(plan=plan, decision=decide(facts), log=None, tables=(), committed=())
    is_published = any(each.id == plan.intent.id for each in log.commits_since(plan.base_version))
    found = [_look_at(repository, plan, each, log, is_published=is_published) for each in plan.tables]
    tables = tuple((facts, classify(facts)) for facts, _ in found)
    decision = decide(
        PlanFacts(
            has_branch=True,
            is_published=is_published,
            is_withdrawn=is_withdrawn,
            holds=_holds(repository, plan, log),
            tables=tuple(each for _, each in tables),
        )
    )
    committed = tuple(handle for _, handle in found)
    return FoundWrite(plan=plan, decision=decision, log=log, tables=tables, committed=committed)


def _newest(repository: Repository, plan: AnnouncedPlan) -> ManifestLog | None:
    try:
        branch = repository.resolve(plan.branch.name)
    except NotFoundError:
        return None
    if branch.incarnation != plan.branch.incarnation:
        return None
    return repository.remember(repository.open_newest(branch))


def _holds(repository: Repository, plan: AnnouncedPlan, log: ManifestLog) -> bool:
    try:
        check_read_set(repository, plan, log)
    except ReadSetMovedError:
        return False
    return True


def _look_at(
    repository: Repository, plan: AnnouncedPlan, table: PlannedTable, log: ManifestLog, *, is_published: bool
) -> tuple[TableFacts, SnapshotHandle | None]:
    pin = current_pin(log, table)
    own, handle = OwnVersion.NONE, None
    if table.fork is not None and not is_published and shown_pin(log, table) == table.pin:
        # Nobody shows the fork yet, and it began as what the branch shows.
        pin = table.base
    if pin is not None:
        repository.tables.quarantine(pin)
    if pin == table.base and not is_published:
        own, handle = _own(repository, plan, table)
    newest = None if pin is None else repository.tables.newest(pin)
    facts = TableFacts(
        key=table.key,
        expected=table.pin.version,
        pinned=None if pin is None else pin.version,
        newest=None if newest is None else newest.version,
        restores=None if newest is None else newest.restores,
        own=own,
        is_published=is_published,
    )
    return facts, handle


def _own(repository: Repository, plan: AnnouncedPlan, table: PlannedTable) -> tuple[OwnVersion, SnapshotHandle | None]:
    try:
        found = repository.tables.find_committed(table.base, table.transaction_id, commit_id=plan.intent.id)
    except StorageError as error:
        if error.condition is not StorageCondition.NOT_FOUND:
            raise
        # The pinned version itself is missing, so the newest one is older, which is told as what it is.
        return OwnVersion.NONE, None
    if found.handle is not None:
        return OwnVersion.EXACT, found.handle
    return (OwnVersion.MISPLACED if found.is_misplaced else OwnVersion.NONE), None
