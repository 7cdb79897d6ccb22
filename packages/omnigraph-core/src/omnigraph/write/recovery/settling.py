"""``settle``: what was decided about a cut-off write is done and told in the audit, and then its sidecar is removed.

A recovery may itself be cut off at any point and is then done again from the start: publishing the same plan, restoring
the same version and telling of the same operation have no second effect.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from omnigraph import failpoints
from omnigraph.errors import ConflictError, NotFoundError, RecoveryRequiredError, StorageError
from omnigraph.failpoints import reach
from omnigraph.history.heartbeats import heartbeat_key
from omnigraph.history.recoveries import Recovery, RecoveryKind, TableOutcome, record_recovery
from omnigraph.history.repository import Repository
from omnigraph.write.deadlines import Deadline
from omnigraph.write.plan import AnnouncedPlan
from omnigraph.write.publish import ReadSetMovedError, publish_announced
from omnigraph.write.read_sets import current_pin
from omnigraph.write.recovery.finding import FoundWrite, look_into
from omnigraph.write.recovery.verdict import Decision
from omnigraph.write.sidecar import FoundSidecar, remove_settled, sidecar_key

Line = tuple[str, str | None]
"""One line of versions of a table: its location and physical branch."""

_LOOKS: Final = 10
"""How often a write is looked into whose branch moves under the look."""

_KINDS: Final = {
    Decision.CLEAN_UP: RecoveryKind.ROLLED_FORWARD,
    Decision.ROLL_FORWARD: RecoveryKind.ROLLED_FORWARD,
    Decision.DISCARD: RecoveryKind.ROLLED_BACK,
    Decision.ABANDON: RecoveryKind.ORPHANED_BRANCH_DISCARDED,
}

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One sidecar to settle.

    Attributes:
        claimed: lines of tables that other sidecars name, so that their owners put them right.
        discards: whether a write that is not complete may be taken back; otherwise only what goes forward is done, and
            what its own writer gave up.
    """

    sidecar: FoundSidecar
    plan: AnnouncedPlan
    claimed: Collection[Line]
    discards: bool


def lines_of(plan: AnnouncedPlan) -> frozenset[Line]:
    """The lines of tables that a plan writes to."""
    return frozenset((each.base.location, each.base.branch) for each in plan.tables)


def settle(repository: Repository, task: Task) -> Recovery | None:
    """Finish or discard the write of a sidecar whose writer is dead; None when it is left to somebody else.

    Raises:
        RecoveryRequiredError: a table is not what any write leaves; nothing was touched, and the sidecar stays.
        StorageError, OutcomeUnknownError: it could not be done; the sidecar stays, and the next one tries again.
    """
    found = _carry_out(repository, task)
    if found is None:
        return None
    shown = {} if found.log is None else _put_right(repository, task)
    if found.decision is Decision.ABANDON:
        reach(failpoints.RECOVERY_ORPHAN_DISCARD_AUDIT_APPEND)
    else:
        reach(failpoints.RECOVERY_RECORD_AUDIT)
    recovery = _recovery(found, shown)
    record_recovery(repository.manifests, recovery)
    remove_settled(repository.adapter, task.sidecar)
    _take_heartbeat_away(repository, task.plan)
    _log.warning(
        "A %s of %s was cut off; recovery: %s (operation %s, commit %s).",
        recovery.writer_kind,
        recovery.recovery_for_actor or "nobody in particular",
        recovery.kind,
        recovery.operation_id,
        recovery.graph_commit_id,
    )
    return recovery


def _carry_out(repository: Repository, task: Task) -> FoundWrite | None:
    for _ in range(_LOOKS):
        found = look_into(repository, task.plan, is_withdrawn=task.sidecar.is_withdrawn)
        if found.decision is Decision.ABORT:
            raise _violated(repository, task, found)
        if not _is_allowed(found.decision, task):
            return None
        if found.decision is not Decision.ROLL_FORWARD:
            return found
        reach(failpoints.RECOVERY_BEFORE_ROLL_FORWARD_PUBLISH)
        committed = [each for each in found.committed if each is not None]
        try:
            publish_announced(repository, task.plan, committed, Deadline())
        except (ReadSetMovedError, ConflictError, NotFoundError) as moved:
            _log.info("While %s was being recovered, others published: %s", task.plan.operation_id, moved)
        else:
            return found
    return None


def _is_allowed(decision: Decision, task: Task) -> bool:
    goes_forward = decision in (Decision.CLEAN_UP, Decision.ROLL_FORWARD)
    return goes_forward or task.discards or task.sidecar.is_withdrawn


def _put_right(repository: Repository, task: Task) -> dict[str, int]:
    """Let the newest version of each table show what is published; the published versions, by table key."""
    shown: dict[str, int] = {}
    for table in task.plan.tables:
        for _ in range(_LOOKS):
            # Others may publish between the look and the restore; then it is restored to what they published.
            pin = current_pin(repository.newest(task.plan.branch.name), table)
            if pin is None:
                break
            shown[table.key] = pin.version
            is_claimed = (pin.location, pin.branch) in task.claimed
            if is_claimed or repository.tables.newest(pin).shows(pin.version):
                break
            repository.tables.restore(pin)
            reach(failpoints.RECOVERY_POST_TABLE_RESTORE_PRE_PUBLISH)
    return shown


def _recovery(found: FoundWrite, shown: dict[str, int]) -> Recovery:
    plan = found.plan
    return Recovery(
        graph_commit_id=plan.intent.id,
        kind=_KINDS[found.decision],
        recovery_for_actor=plan.intent.actor,
        operation_id=plan.operation_id,
        writer_kind=str(plan.kind),
        branch=plan.branch.name,
        tables=tuple(
            TableOutcome(
                table_key=facts.key, found=str(each), from_version=facts.newest, to_version=shown.get(facts.key)
            )
            for facts, each in found.tables
        ),
        created_at=datetime.now(UTC),
    )


def _violated(repository: Repository, task: Task, found: FoundWrite) -> RecoveryRequiredError:
    behind = next(facts for facts, _ in found.tables if facts.is_behind)
    uri = repository.adapter.uri(
        sidecar_key(repository.adapter, task.plan.operation_id, is_withdrawn=task.sidecar.is_withdrawn)
    )
    return RecoveryRequiredError(
        f"{behind.key} is published at version {behind.pinned}, and its newest version is {behind.newest}: versions "
        f"are missing. The write that was cut off ({task.plan.operation_id}) is left as it is.",
        operation_id=task.plan.operation_id,
        help=f"Somebody removed files of the table. Restore them from a copy; the plan of the write lies at {uri}.",
    )


def _take_heartbeat_away(repository: Repository, plan: AnnouncedPlan) -> None:
    try:
        repository.adapter.delete(heartbeat_key(repository.adapter, plan.writer.id))
    except StorageError as error:
        _log.debug("The heartbeat of %s stays: %s", plan.writer.id, error)
