"""What happened to a plan's read set while its writer was losing the race: nothing that matters, or what.

A swap that was lost says only that somebody published. Whether the plan still holds depends on what moved, and who
moved it: a fence voids everything that was staged, maintenance moves pins and leaves every row as it was, a load of the
same name is the same load, a merge may have brought what another merge is about to bring, and only data or schema that
the plan relied on makes a strict write a conflict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from omnigraph.errors import NotFoundError, StorageError
from omnigraph.history.commits import Commit, CommitKind
from omnigraph.history.log import ManifestLog, open_manifest
from omnigraph.history.merged_history import parting_commits
from omnigraph.history.repository import Repository
from omnigraph.history.state import GraphState
from omnigraph.tables.interface import TablePin
from omnigraph.write.plan import LOAD_ID, AnnouncedPlan, PlannedTable

QUIET: Final = frozenset({CommitKind.MAINTENANCE, CommitKind.FENCE})
"""Commits that leave every row as it was."""

_MAX_VERSIONS_READ: Final = 64
"""How many versions are looked into to tell maintenance from data; beyond that, data is assumed."""


class ReadSetMovedError(Exception):
    """What a plan relied on is not so any more; nothing of it is visible and it can never become so.

    Attributes:
        log: the newest log.
        members: what moved.
        is_void: a fence lies in between, so staged files may be gone: prepare from the start.
        is_logical: data or schema moved, and not only its arrangement.
    """

    def __init__(self, log: ManifestLog, members: tuple[str, ...], *, is_void: bool, is_logical: bool) -> None:
        super().__init__(members)
        self.log = log
        self.members = members
        self.is_void = is_void
        self.is_logical = is_logical


def check_read_set(repository: Repository, plan: AnnouncedPlan, log: ManifestLog) -> None:
    """Refuse a plan that does not hold on a newer log of its branch.

    Raises:
        ReadSetMovedError: it does not.
    """
    between = log.commits_since(plan.base_version)
    is_void = any(each.kind is CommitKind.FENCE for each in between)
    members = plan.read_set.moved_in(log.state)
    load_id = plan.intent.properties.get(LOAD_ID)
    if load_id is not None and any(each.properties.get(LOAD_ID) == load_id for each in between):
        # The same load, by another writer. Who prepares again finds it, whatever moved.
        raise ReadSetMovedError(log, (*members, f"load:{load_id}"), is_void=is_void, is_logical=False)
    if plan.read_set.if_commit is not None and any(each.kind not in QUIET for each in between):
        raise ReadSetMovedError(log, (*members, "head"), is_void=is_void, is_logical=True)
    if not is_void and _is_other_base(repository, plan, log, between):
        raise ReadSetMovedError(log, (*members, "base"), is_void=False, is_logical=True)
    if members or is_void:
        is_logical = bool(members) and _is_logical(repository, plan, log, between)
        raise ReadSetMovedError(log, members, is_void=is_void, is_logical=is_logical)


def current_pin(log: ManifestLog, table: PlannedTable) -> TablePin | None:
    """What a branch shows of a table now; None when it shows it no more, or from another line than was written to."""
    pin = shown_pin(log, table)
    return None if pin is None or pin.branch != table.base.branch else pin


def shown_pin(log: ManifestLog, table: PlannedTable) -> TablePin | None:
    """What a branch shows of a table now, on whatever line; None when it shows it no more."""
    entry = log.state.entries.get(table.key)
    return None if entry is None or entry.identity != table.identity else entry.pin


def _is_other_base(repository: Repository, plan: AnnouncedPlan, log: ManifestLog, between: Sequence[Commit]) -> bool:
    """Whether a merge would have another base now; only other merges change that."""
    merged = plan.merged
    if merged is None or not any(each.merged_parent_id for each in between):
        return False
    bases = parting_commits(repository.at_version(merged.branch, merged.manifest_version), log)
    return [each.id for each in bases] != [merged.base_id]


def _is_logical(repository: Repository, plan: AnnouncedPlan, log: ManifestLog, between: Sequence[Commit]) -> bool:
    """Whether a commit that may have changed rows moved a member of the read set."""
    if log.state.schema_digest != plan.read_set.schema_digest:
        return True
    if not any(each.kind in QUIET for each in between):
        return True
    if all(each.kind in QUIET for each in between):
        return False
    if len(between) > _MAX_VERSIONS_READ:
        return True
    # Both kinds lie in between, and the newest state does not tell which of them moved a pin.
    before: Mapping[str, TablePin | None] = plan.read_set.pins
    for commit in sorted(between, key=lambda each: each.manifest_version):
        try:
            after = _pins(plan, open_manifest(repository.manifests, log.branch, version=commit.manifest_version).state)
        except (StorageError, NotFoundError):
            return True
        if commit.kind not in QUIET and after != before:
            return True
        before = after
    return False


def _pins(plan: AnnouncedPlan, state: GraphState) -> dict[str, TablePin | None]:
    return {key: None if (entry := state.entries.get(key)) is None else entry.pin for key in plan.read_set.pins}
