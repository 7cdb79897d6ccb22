"""``Recoveries``: writes that were cut off, as users ask for them."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from omnigraph.errors import FormatError, NotFoundError, StorageError
from omnigraph.history.branches import MAIN, is_of_one_branch, list_branch_names
from omnigraph.history.log import ManifestLog
from omnigraph.history.recoveries import Recovery, RecoveryKind, read_recoveries
from omnigraph.history.repository import Repository
from omnigraph.history.whereabouts import Fate, fate_of
from omnigraph.write.bulk.leases import LoadLease, list_leases
from omnigraph.write.sidecar import FoundSidecar, list_sidecars, read_sidecar
from omnigraph.write.sidecar_form import SidecarFormError
from omnigraph.write.under_way import is_under_way


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingWrite:
    """A write that is under way, or was cut off and is not settled.

    Attributes:
        state: ``under_way`` in this process; ``cut_off``: its process is gone, or it was given up; ``unknown``: nothing
            can be told at once of a process elsewhere; ``refused``: its plan cannot be acted on.
        reason: why it is refused.
        writer_kind: the verb, such as ``load``; None when it is refused. So are the others.
        graph_commit_id: the commit that it is to make.
    """

    operation_id: str
    state: str
    reason: str | None = None
    writer_kind: str | None = None
    branch: str | None = None
    actor: str | None = None
    graph_commit_id: str | None = None

    def to_dict(self) -> dict[str, Any]:
        names = ("operation_id", "state", "reason", "writer_kind", "branch", "actor", "graph_commit_id")
        return {name: getattr(self, name) for name in names}


class Recoveries:
    """The recoveries of a graph."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    def list(self, *, commit: str | None = None) -> builtins.list[Recovery]:
        """What was done about writes that were cut off, the newest first; with ``commit``, about that one's only.

        A write that was taken back and that its writer, which was only stopped, published afterwards says both.

        Raises:
            ClosedError: the graph was closed.
        """
        with self._repository.lifetime:
            recoveries = read_recoveries(self._repository.manifests)
            if not recoveries:
                # There is hardly ever any; so nobody else looks whether the graph is there.
                self._repository.refuse_replaced()
            found = [each for each in reversed(recoveries) if commit in (None, each.graph_commit_id)]
            return _with_what_is_published(self._repository, found)

    def pending(self) -> builtins.list[PendingWrite]:
        """Writes that are announced and not over, the oldest first. Looks, and settles nothing.

        Raises:
            ClosedError: the graph was closed.
        """
        with self._repository.lifetime:
            found = [self._pending(each) for each in list_sidecars(self._repository.adapter)]
            self._repository.refuse_replaced()
        return [each for each in found if each is not None]

    def loads(self) -> builtins.list[LoadLease]:
        """Bulk loads that hold a lease, and large loads: under way, or cut off with files that nobody will publish.

        Raises:
            ClosedError: the graph was closed.
        """
        with self._repository.lifetime:
            return list_leases(self._repository)

    def settled(self) -> builtins.list[Recovery]:
        """What was done about writes that were cut off when this handle was opened for writing, in that order.

        Raises:
            ClosedError: the graph was closed.
        """
        with self._repository.lifetime:
            return [*self._repository.settled]

    def _pending(self, sidecar: FoundSidecar) -> PendingWrite | None:
        try:
            plan = read_sidecar(self._repository.adapter, sidecar, graph=self._repository.graph_id)
        except SidecarFormError as error:
            return PendingWrite(operation_id=sidecar.operation_id, state="refused", reason=str(error))
        if plan is None:
            return None
        fate = fate_of(plan.writer.process)
        if fate is Fate.HERE and is_under_way(plan.operation_id):
            state = "under_way"
        else:
            state = "unknown" if fate is Fate.UNKNOWN and not sidecar.is_withdrawn else "cut_off"
        return PendingWrite(
            operation_id=plan.operation_id,
            state=state,
            writer_kind=str(plan.kind),
            branch=plan.branch.name,
            actor=plan.intent.actor,
            graph_commit_id=plan.intent.id,
        )


def _with_what_is_published(repository: Repository, found: builtins.list[Recovery]) -> builtins.list[Recovery]:
    """The same; those that were taken back and published by their writers all the same say so.

    The audit tells what a recovery did; only the history tells which commits there are.
    """
    missing = {each.graph_commit_id: each.branch for each in found if each.kind is not RecoveryKind.ROLLED_FORWARD}
    versions: dict[str, int] = {}
    made_at: dict[str, datetime | None] = {}
    lines: set[str] = set()
    # A merge may have taken the commit to another branch, while its own was deleted.
    branches = (*missing.values(), MAIN, *list_branch_names(repository.adapter)) if missing else ()
    for branch in dict.fromkeys(branches):
        try:
            log = repository.newest(branch)
        except NotFoundError:
            continue
        except (FormatError, StorageError) as error:
            # Of a branch that is damaged nobody can say what it has; the others are asked.
            if not is_of_one_branch(error):
                raise
            made_at[branch] = None
            continue
        made_at[branch] = log.branch.created_at
        lines.add(log.branch.physical)
        _note_versions(log, missing.keys(), versions)
        if missing.keys() <= versions.keys():
            break
    if any(_is_of_deleted(each, made_at) for each in found if each.graph_commit_id in missing.keys() - versions.keys()):
        for log in repository.logs_of_nobody(lines):
            _note_versions(log, missing.keys(), versions)
    return [replace(each, published_version=versions.get(each.graph_commit_id)) for each in found]


def _note_versions(log: ManifestLog, wanted: AbstractSet[str], versions: dict[str, int]) -> None:
    """Add the manifest versions of the wanted commits that a branch knows."""
    recent = {each.id: each for each in log.state.recent}
    commits = recent if wanted <= recent.keys() | versions.keys() else log.lineage()
    versions |= {name: commits[name].manifest_version for name in wanted if name in commits}


def _is_of_deleted(recovery: Recovery, made_at: Mapping[str, datetime | None]) -> bool:
    """Whether a write was taken back on a branch that was deleted since; one of its name is another branch then."""
    if recovery.kind is not RecoveryKind.ROLLED_BACK:
        return False
    made = made_at.get(recovery.branch)
    return recovery.branch not in made_at or (made is not None and made > recovery.created_at)
