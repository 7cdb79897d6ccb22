"""From a plan and what its tables became to the rows of the next version of the manifest, staged."""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.history.commits import Commit
from omnigraph.history.log import ManifestLog, StagedVersion
from omnigraph.history.merged_history import commits_to_bring
from omnigraph.history.repository import Repository
from omnigraph.history.rows import ManifestRow
from omnigraph.history.state import pin_row
from omnigraph.tables.interface import TablePin, TableState
from omnigraph.write.plan import AnnouncedPlan


def pin_rows(plan: AnnouncedPlan, states: Sequence[tuple[TablePin, TableState]], log: ManifestLog) -> list[ManifestRow]:
    """What the manifest says of each type that a plan changes, once it is published on a log."""
    seq = log.version + 1
    rows = [
        pin_row(each.key, each.identity, pin, state, seq)
        for each, (pin, state) in zip(plan.tables, states, strict=True)
    ]
    for taken in plan.adopted:
        state = TableState(row_count=taken.row_count, version_metadata=taken.version_metadata)
        rows.append(pin_row(taken.key, taken.identity, taken.to, state, seq))
    return rows


def stage_version(
    repository: Repository, plan: AnnouncedPlan, log: ManifestLog, rows: Sequence[ManifestRow]
) -> StagedVersion:
    """The next version of a log, with the commit of a plan; of a merge, with the history that it takes in."""
    merged: Sequence[Commit] = ()
    if plan.merged is not None:
        source = repository.at_version(plan.merged.branch, plan.merged.manifest_version)
        merged = commits_to_bring(source, log, base_id=plan.merged.base_id)
    return log.stage(commit_of(plan, log), rows, merged=merged)


def commit_of(plan: AnnouncedPlan, log: ManifestLog) -> Commit:
    """The commit of a plan, as it is once it is published on a log."""
    return Commit(
        id=plan.intent.id,
        parent_id=log.state.head.id,
        merged_parent_id=None if plan.merged is None else plan.merged.commit_id,
        branch=log.branch.name,
        line=log.branch.physical,
        manifest_version=log.version + 1,
        kind=plan.intent.kind,
        actor=plan.intent.actor,
        created_at=plan.intent.created_at,
        properties=plan.intent.properties,
    )
