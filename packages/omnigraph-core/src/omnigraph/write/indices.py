"""``ensure_indices``: every declared index exists and covers every row; one commit for all of them, or none.

    declared ── minus what covers already ──> staged builds ── publish (maintenance) ──> IndexReport

An index changes no row, so this write conflicts with nobody's: when data moved meanwhile it is prepared again on the
newer state. What cannot be built yet is reported with the reason and is not an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from omnigraph import failpoints
from omnigraph.cancellation import check_cancelled
from omnigraph.failpoints import reach
from omnigraph.history.branches import BranchRef
from omnigraph.history.commits import Commit, CommitKind
from omnigraph.history.declared_indexes import VECTOR, declared_indexes, unbuilt_indexes
from omnigraph.history.log import ManifestLog
from omnigraph.history.repository import Repository
from omnigraph.history.schemas import TypeTable
from omnigraph.history.snapshot import Snapshot
from omnigraph.history.ulids import new_ulid
from omnigraph.history.warm import KnownStep
from omnigraph.tables.interface import IndexSpec, SnapshotHandle, TablePin
from omnigraph.write.attempts import WriteRequest, run_write
from omnigraph.write.forks import Forks
from omnigraph.write.plan import CommitIntent, PublishPlan, ReadSet, TableEffect, WriterKind
from omnigraph.write.publish import Published


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltIndex:
    """An index that was built, or extended to the rows that it did not cover.

    Attributes:
        type_key: such as ``node:Film``.
        rows: that it covers now and did not before.
    """

    type_key: str
    property: str
    kind: str
    rows: int

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type_key, "property": self.property, "kind": self.kind, "rows": self.rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingIndex:
    """An index that is declared and cannot be built yet.

    Attributes:
        property: of an index on several properties all of them, with commas between.
    """

    type_key: str
    property: str
    kind: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type_key, "property": self.property, "kind": self.kind, "reason": self.reason}


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport:
    """What ``ensure_indices`` did.

    Attributes:
        commit: None when there was nothing to do, and nothing was written.
    """

    branch: str
    built: tuple[BuiltIndex, ...]
    pending: tuple[PendingIndex, ...]
    commit: Commit | None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form that the command line prints."""
        return {
            "branch": self.branch,
            "built": [each.to_dict() for each in self.built],
            "pending": [each.to_dict() for each in self.pending],
            "commit": None if self.commit is None else self.commit.to_dict(),
        }


class _NothingToDoError(Exception):
    """Every index that can be built covers every row."""


@dataclass(slots=True)
class _Work:
    """What one preparation found, for the report, and the lines that were made for it."""

    built: list[BuiltIndex]
    pending: list[PendingIndex]
    forks: Forks


def ensure_indices(repository: Repository, branch: str, *, actor: str | None = None) -> IndexReport:
    """Build what is declared and missing, and extend what does not cover every row.

    Raises:
        ContentionError: others kept publishing first until the deadline passed.
        NotFoundError: there is no such branch.
        ReadOnlyError: the graph was opened for reading.
        OutcomeUnknownError, StorageError: as ``publish``.
    """
    intent = CommitIntent(id=new_ulid(), kind=CommitKind.MAINTENANCE, actor=actor, created_at=datetime.now(UTC))
    work = _Work([], [], Forks(repository))
    effects: tuple[TableEffect, ...] = ()

    def prepare(log: ManifestLog, snapshot: Snapshot, is_void: bool) -> PublishPlan:
        nonlocal effects
        if is_void:
            work.forks.forget()
        work.built, work.pending = [], []
        effects = tuple(_effects(repository, snapshot, work))
        if not effects:
            # Said of the newest state, or not at all: what is remembered may be older than the rows in question.
            raise _NothingToDoError
        reach(failpoints.ENSURE_INDICES_POST_STAGE_PRE_COMMIT_BTREE)
        return PublishPlan(
            operation_id=new_ulid(),
            writer=WriterKind.ENSURE_INDICES,
            intent=intent,
            base=log,
            read_set=ReadSet(
                pins={each.target.key: each.pin for each in effects},
                schema_digest=snapshot.schema.digest,
                incarnation=log.branch.incarnation,
            ),
            effects=effects,
        )

    def follow(published: Published) -> None:
        for each in effects:
            # No row moved, so what is known of the old version holds for the new one.
            made = repository.tables.open_at(published.log.state.entries[each.target.key].pin)
            repository.warm.follow(repository.tables, each.pin, made, KnownStep.nothing(each.target.schema))

    start = repository.newest(branch)
    try:
        published = run_write(repository, WriteRequest(branch=branch, start=start, after=follow), prepare)
    except _NothingToDoError:
        return IndexReport(branch=branch, built=(), pending=tuple(work.pending), commit=None)
    return IndexReport(branch=branch, built=tuple(work.built), pending=tuple(work.pending), commit=published.commit)


def _effects(repository: Repository, snapshot: Snapshot, work: _Work) -> list[TableEffect]:
    effects = []
    for _, target in sorted(snapshot.schema.tables.items()):
        check_cancelled()
        work.pending += [
            PendingIndex(type_key=target.key, property=each.property, kind=each.kind, reason=each.reason)
            for each in unbuilt_indexes(target)
        ]
        entry = snapshot.entry(target)
        if entry.row_count == 0 or _is_of_main(entry.pin, snapshot.branch):
            continue
        handle = repository.tables.open_at(entry.pin)
        specs = _missing(repository, target, handle, entry.row_count, work)
        if not specs:
            continue
        base = work.forks.base_of(snapshot.branch, entry.pin)
        staged = repository.tables.stage_indexes(repository.tables.open_at(base), specs)
        if staged is not None:
            effects.append(TableEffect(target=target, pin=entry.pin, base=base, staged=(staged,)))
    return effects


def _is_of_main(pin: TablePin, branch: BranchRef) -> bool:
    """Whether a branch shows a type as main has it: then main's own indexes serve it."""
    return pin.branch is None and not branch.owns(pin)


def _missing(
    repository: Repository, target: TypeTable, handle: SnapshotHandle, row_count: int, work: _Work
) -> list[IndexSpec]:
    """The declared indexes that do not cover every row, and can."""
    coverages = {each.spec.name: each for each in repository.tables.coverage(handle)}
    missing = []
    for spec in declared_indexes(target):
        covered = coverages.get(spec.name)
        uncovered = row_count if covered is None else covered.uncovered_rows
        if uncovered == 0:
            continue
        if spec.kind == VECTOR and repository.tables.count_vectors(handle, spec.column) == 0:
            if covered is None:
                reason = "no non-null vectors to train on yet"
                work.pending.append(
                    PendingIndex(type_key=target.key, property=spec.column, kind=spec.kind, reason=reason)
                )
            continue
        missing.append(spec)
        work.built.append(BuiltIndex(type_key=target.key, property=spec.column, kind=spec.kind, rows=uncovered))
    return missing
