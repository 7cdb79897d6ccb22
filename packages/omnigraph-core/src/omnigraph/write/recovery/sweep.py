"""When recovery runs: all of it when a graph is opened for writing, and what goes forward before every write.

    sweep    opening for writing    waits for writers that may live, then finishes or discards what dead ones left
    heal     every write, refresh   waits for nobody; finishes what is complete, and leaves the rest to the next opening

A writer of this process is alive while its publish is under way. One on this machine is dead when its process is gone.
Of any other one only its heartbeat tells, for as long as the observer's patience lasts. Being wrong about that does no
harm: a writer that goes on after all finds its commit made, or its swap lost, or makes it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from omnigraph import failpoints
from omnigraph.cancellation import cancellable_wait
from omnigraph.errors import OmnigraphError, RecoveryRequiredError, RelocationRequiredError
from omnigraph.failpoints import reach
from omnigraph.history.recoveries import Recovery
from omnigraph.history.repository import Repository
from omnigraph.history.whereabouts import Fate, fate_of
from omnigraph.write.gates import SCHEMA_GATE, gates_of, type_gate
from omnigraph.write.plan import AnnouncedPlan
from omnigraph.write.recovery.settling import Task, lines_of, settle
from omnigraph.write.sidecar import FoundSidecar, list_sidecars, read_sidecar, sidecar_key
from omnigraph.write.sidecar_form import ForeignSidecarError, SidecarFormError
from omnigraph.write.under_way import is_under_way

GATE_SECONDS: Final = 5.0
"""How long a recovery waits for writers of this process; then it leaves the sidecar to the next one."""

_STEP_SECONDS: Final = 0.1

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pending:
    """A sidecar and what it says."""

    sidecar: FoundSidecar
    plan: AnnouncedPlan


def sweep(repository: Repository) -> tuple[Recovery, ...]:
    """Finish or discard every write that was cut off; wait for writers that may be alive, at most for the patience.

    Raises:
        RecoveryRequiredError: a sidecar cannot be acted on; all others are settled, and that one stays.
        StorageError: the store did not answer.
    """
    recovered: list[Recovery] = []
    waiting, problems = _read(repository)
    while waiting:
        alive = {each.sidecar.operation_id: _is_alive(repository, each) for each in waiting}
        for each in waiting:
            if alive[each.sidecar.operation_id] is False:
                try:
                    recovered.extend(_settle(repository, each, waiting, discards=True))
                except RecoveryRequiredError as problem:
                    problems.append(problem)
                except RelocationRequiredError as error:
                    # It is of a branch that cannot be read before a repair; main can be written meanwhile.
                    _log.warning("The cut-off write %s is left as it is: %s", each.sidecar.operation_id, error)
        unsettled = {name for name, verdict in alive.items() if verdict is None}
        if not unsettled:
            break
        cancellable_wait(_STEP_SECONDS)
        there = {each.operation_id for each in list_sidecars(repository.adapter)}
        waiting = [each for each in waiting if each.sidecar.operation_id in unsettled & there]
    if problems:
        raise problems[0]
    return tuple(recovered)


def heal(repository: Repository) -> tuple[Recovery, ...]:
    """Finish what dead writers left complete; one empty listing when there is nothing. No write waits or fails for it.

    Raises:
        StorageError: sidecars could not be listed.
    """
    waiting, problems = _read(repository)
    for problem in problems:
        _log.warning("%s %s", problem.message, problem.help)
    recovered: list[Recovery] = []
    for each in waiting:
        try:
            if _is_alive(repository, each) is False:
                recovered.extend(_settle(repository, each, waiting, discards=False))
        except OmnigraphError as error:
            _log.warning("The cut-off write %s is left as it is: %s", each.sidecar.operation_id, error)
    return tuple(recovered)


def _is_alive(repository: Repository, pending: _Pending) -> bool | None:
    """Whether the writer of a sidecar is alive; None when that cannot be told yet."""
    operation_id, writer = pending.plan.operation_id, pending.plan.writer
    fate = fate_of(writer.process)
    if fate is Fate.HERE:
        return is_under_way(operation_id)
    # What its own writer gave up is nobody's any more.
    if fate is Fate.GONE or pending.sidecar.is_withdrawn:
        return False
    return repository.observer.is_alive(operation_id, writer.id)


def _read(repository: Repository) -> tuple[list[_Pending], list[RecoveryRequiredError]]:
    """Every sidecar that lies there but those of this process that are being carried out; what is wrong with some."""
    found = [each for each in list_sidecars(repository.adapter) if not is_under_way(each.operation_id)]
    repository.observer.keep({each.operation_id for each in found})
    if not found:
        return [], []
    reach(failpoints.RECOVERY_POST_SIDECAR_LIST_PRE_READ)
    pending, problems = [], []
    for each in found:
        try:
            plan = _plan_of(repository, each)
        except ForeignSidecarError as foreign:
            # A writer that was stopped while its graph was removed announces its plan where this graph is by now.
            _log.warning("The plan of the write %s is passed over: %s.", each.operation_id, foreign)
        except RecoveryRequiredError as problem:
            problems.append(problem)
        else:
            if plan is not None:
                pending.append(_Pending(sidecar=each, plan=plan))
    return pending, problems


def _plan_of(repository: Repository, sidecar: FoundSidecar) -> AnnouncedPlan | None:
    try:
        return read_sidecar(repository.adapter, sidecar, graph=repository.graph_id)
    except ForeignSidecarError:
        raise
    except SidecarFormError as error:
        raise unreadable(repository, sidecar, error) from error


def unreadable(repository: Repository, sidecar: FoundSidecar, why: SidecarFormError) -> RecoveryRequiredError:
    """That a sidecar cannot be acted on."""
    adapter = repository.adapter
    uri = adapter.uri(sidecar_key(adapter, sidecar.operation_id, is_withdrawn=sidecar.is_withdrawn))
    return RecoveryRequiredError(
        f"The plan of a write that was cut off, {uri}, cannot be acted on: {why}. It stays where it is.",
        operation_id=sidecar.operation_id,
        help="Open the graph with the release that wrote it. If it does not belong here, take it away: "
        f"omnigraph recovery discard {adapter.root} {sidecar.operation_id}. Reading works meanwhile.",
    )


def _settle(
    repository: Repository, pending: _Pending, others: Iterable[_Pending], *, discards: bool
) -> Iterable[Recovery]:
    """Settle one sidecar with the gates of its types held, after another look at it."""
    sidecar = pending.sidecar
    reach(failpoints.RECOVERY_POST_LIST_PRE_GATES)
    incarnation = pending.plan.branch.incarnation
    gates = [type_gate(incarnation, each.key) for each in pending.plan.tables]
    with gates_of(repository.adapter).hold(exclusive=gates, shared=[SCHEMA_GATE], seconds=GATE_SECONDS) as is_open:
        # Whoever held the gates may have finished it, or given it up.
        there = {each.operation_id: each for each in list_sidecars(repository.adapter)}
        current = there.get(sidecar.operation_id)
        plan = None if current is None else _plan_of(repository, current)
        if not is_open or current is None or plan is None:
            return ()
        claimed = {
            line
            for each in others
            if each.sidecar.operation_id in there and each.sidecar != sidecar
            for line in lines_of(each.plan)
        }
        recovery = settle(repository, Task(sidecar=current, plan=plan, claimed=frozenset(claimed), discards=discards))
        return () if recovery is None else (recovery,)
