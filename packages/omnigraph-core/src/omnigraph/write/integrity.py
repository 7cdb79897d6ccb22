"""``check_integrity``: everything that is wrong with a branch as it is stored, found by reading all of it.

    manifest ── history ──> commits: one beginning, one head, every line without gaps
        └─ per type: pin ── open ──> rows ──> values, ids, keys, unique tuples, ends of edges, cardinality, their number

A write is judged before it is published, so nothing here is ever found unless something went behind the manifest's
back, or we made a mistake. Rules are those of every write (``validation``), asked of the whole type as if it were
loaded anew. Rows are streamed; of a type at most the columns that a rule is about pass by.

A finding is damage, or it tells of something that a cut-off write may leave and that hurts nobody: see
``Finding.is_damage``.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import NotFoundError, StorageCondition, StorageError
from omnigraph.history.history_check import broken_history
from omnigraph.history.lineage import first_parents
from omnigraph.history.log import ManifestLog
from omnigraph.history.repository import Repository
from omnigraph.history.schemas import TypeTable
from omnigraph.history.snapshot import Snapshot
from omnigraph.history.warm import WarmColumns
from omnigraph.tables.interface import SnapshotHandle, TablePin, TableStorage
from omnigraph.write.changeset import ChangeMode, NewRows, TypeChange
from omnigraph.write.committed import CommittedRows
from omnigraph.write.opening import repository_at
from omnigraph.write.problems import KEPT, ProblemLog
from omnigraph.write.records.ids import derive_ids
from omnigraph.write.sidecar import RECOVERY_PREFIX
from omnigraph.write.validation.cardinality import check_cardinality
from omnigraph.write.validation.change_rows import ChangedRows
from omnigraph.write.validation.edges import NodesAfter, check_endpoints, ends_of
from omnigraph.write.validation.sets import LIMITS
from omnigraph.write.validation.unique import check_ids, check_unique
from omnigraph.write.validation.values import check_values, judged_columns
from omnigraph.write.validation.violations import quoted


class FindingKind(StrEnum):
    """What was found, as a word that programs may rely on. Append-only."""

    DUPLICATE_ID = "duplicate_id"
    KEY_MISMATCH = "key_mismatch"
    REQUIRED = "required"
    ENUM = "enum"
    RANGE = "range"
    CHECK = "check"
    UNIQUE = "unique"
    ORPHAN_EDGE = "orphan_edge"
    CARDINALITY = "cardinality"
    ROW_COUNT = "row_count"
    UNREADABLE = "unreadable"
    HISTORY = "history"
    HEAD_AHEAD = "head_ahead"
    SIDECAR = "sidecar"


HARMLESS: Final = frozenset({FindingKind.HEAD_AHEAD, FindingKind.SIDECAR})
"""What a write that lost or was cut off leaves behind; nobody reads it."""

_KIND_OF_REASON: Final = {"endpoint": FindingKind.ORPHAN_EDGE}
"""Reasons of the validators that are called otherwise here."""

_TROUBLE: Final = (StorageCondition.TRANSIENT, StorageCondition.CONFIGURATION)
"""The store did not answer; that says nothing about what it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong, or remarkable.

    Attributes:
        message: what it is, in words.
        type_key: ``node:Film``, where it is about a type.
        id: of the row, where it is about one.
        property: the column, where it is about one.
        expected: what the manifest says: a version, or a number of rows.
        actual: what is there instead.
    """

    kind: FindingKind
    message: str
    type_key: str | None = None
    id: str | None = None
    property: str | None = None
    expected: int | None = None
    actual: int | None = None

    @builtins.property
    def is_damage(self) -> bool:
        """Whether the graph is not what it should be; otherwise nothing needs to be done."""
        return self.kind not in HARMLESS

    def to_dict(self) -> dict[str, Any]:
        names = ("message", "type_key", "id", "property", "expected", "actual")
        told = {name: value for name in names if (value := getattr(self, name)) is not None}
        return {"kind": str(self.kind), "is_damage": self.is_damage, **told}


def check_integrity(repository: Repository, branch: str = "main", *, limit: int = KEPT) -> tuple[Finding, ...]:
    """Everything that is wrong with the newest state of a branch, and what cut-off writes left beside it.

    Reads every row once for each rule that is about it. What others publish meanwhile is not looked at.

    Args:
        repository: the graph. Versions that it has open already are opened again: they may be gone.
        branch: the branch.
        limit: how many findings of each kind of a type are told one by one; of the others only the number.

    Raises:
        NotFoundError: there is no such branch.
        FormatError: the manifest itself cannot be read.
        StorageError: the store did not answer.
    """
    cold = repository_at(repository.adapter, repository.main)
    try:
        log = cold.newest(branch)
        return (*_history_findings(log), *_TypeChecks(cold, log, limit).findings(), *_leftovers(cold))
    finally:
        cold.tables.close()


def _history_findings(log: ManifestLog) -> Iterator[Finding]:
    head, known, line = log.state.head, log.lineage(), log.commits()
    problems = broken_history(head.id, known.values())
    if line[:1] != (head,):
        problems.append(f"the newest commit is {line[0].id if line else None}, and the head is {head.id}")
    elif not problems and line != tuple(first_parents(head.id, known.get)):
        problems.append(f"history is no line: {[(each.id, each.parent_id) for each in line]}")
    yield from (Finding(kind=FindingKind.HISTORY, message=each) for each in problems)


def _leftovers(repository: Repository) -> Iterator[Finding]:
    adapter = repository.adapter
    for key in adapter.list_dir(adapter.key(RECOVERY_PREFIX)):
        message = f"the plan of a write lies at {adapter.uri(key)}: it is under way, or was cut off"
        yield Finding(kind=FindingKind.SIDECAR, message=message)


# ── types ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoredRows(NewRows):
    """The rows of a version in the place of rows that are to be written."""

    handle: SnapshotHandle

    def read(self, tables: TableStorage, columns: Sequence[str]) -> pa.RecordBatchReader:
        return tables.read(self.handle, columns=list(columns))


class _CountedRows(CommittedRows):
    """Committed rows with their true numbers, whatever the manifest says."""

    def __init__(self, snapshot: Snapshot, tables: TableStorage, counts: Mapping[str, int]) -> None:
        super().__init__(snapshot, tables, WarmColumns())
        self._counts = counts

    def row_count(self, target: TypeTable) -> int:
        return self._counts[target.key]


class _TypeChecks:
    """The types of one state: first each by itself, then what goes across them, for those that could be read."""

    def __init__(self, repository: Repository, log: ManifestLog, limit: int) -> None:
        self.tables = repository.tables
        self.branch = log.branch
        self.snapshot = repository.snapshot(log)
        self.limit = limit
        self.handles: dict[str, SnapshotHandle] = {}
        self.counts: dict[str, int] = {}

    def findings(self) -> Iterator[Finding]:
        targets = self.snapshot.schema.tables.values()
        for target in targets:
            try:
                yield from self._of_rows(target)
            except NotFoundError as error:
                yield Finding(kind=FindingKind.UNREADABLE, message=str(error), type_key=target.key)
            except StorageError as error:
                if error.condition in _TROUBLE:
                    raise
                yield Finding(kind=FindingKind.UNREADABLE, message=str(error), type_key=target.key)
        for target in targets:
            if target.key in self.counts:
                yield from self._of_sets(target)

    def _of_rows(self, target: TypeTable) -> Iterator[Finding]:
        """What one pass over the rows of a type shows."""
        entry = self.snapshot.entry(target)
        handle = self.handles[target.key] = self.tables.open_at(entry.pin)
        yield from self._of_head(target, entry.pin)
        problems, mismatched = ProblemLog(limit=self.limit), _Kept(target, FindingKind.KEY_MISMATCH, self.limit)
        columns = dict.fromkeys(("id", *target.key_columns, *judged_columns(target, is_written=False)))
        count = 0
        for batch in self.tables.read(handle, columns=list(columns)):
            check_values(target, batch, problems, first_row=count, place_of=lambda _row: (None, None))
            mismatched.take(_mismatched(target, batch))
            count += batch.num_rows
        yield from _findings_of(problems, target)
        yield from mismatched.findings()
        if count != entry.row_count:
            yield Finding(
                kind=FindingKind.ROW_COUNT,
                message=f"{target.key} has {count} rows, and the manifest says {entry.row_count}",
                type_key=target.key,
                expected=entry.row_count,
                actual=count,
            )
        self.counts[target.key] = count

    def _of_head(self, target: TypeTable, pin: TablePin) -> Iterator[Finding]:
        """What others that read the table without its graph would see instead.

        A branch that shares a type with another one is not asked: that one may have moved on.
        """
        if not self.branch.owns(pin):
            return
        said, actual = "cannot be read", None
        try:
            newest = self.tables.newest(pin)
        except StorageError as error:
            if error.condition in _TROUBLE:
                raise
        else:
            if newest.shows(pin.version):
                return
            said, actual = f"is {newest.version}", newest.version
        yield Finding(
            kind=FindingKind.HEAD_AHEAD,
            message=f"{target.key} is at version {pin.version}, and its newest version {said}",
            type_key=target.key,
            expected=pin.version,
            actual=actual,
        )

    def _of_sets(self, target: TypeTable) -> Iterator[Finding]:
        """What the rows of a type show together, and beside those of the types at its ends."""
        stored = _StoredRows(handle=self.handles[target.key], row_count=self.counts[target.key])
        rows = ChangedRows(TypeChange(target=target, mode=ChangeMode.REPLACE, rows=stored), self.tables, LIMITS)
        committed = _CountedRows(self.snapshot, self.tables, self.counts)
        twice, problems = ProblemLog(limit=self.limit), ProblemLog(limit=self.limit)
        check_ids(rows, committed, twice, LIMITS)
        check_unique(rows, committed, problems, LIMITS)
        if target.kind == "edge":
            ends = ends_of(self.snapshot.schema, target)
            if all(node.key in self.counts for node in ends.values()):
                nodes = NodesAfter({}, committed, LIMITS)
                check_endpoints(rows, self.snapshot.schema, nodes, problems)
                check_cardinality(rows, self.snapshot.schema, nodes, committed, problems, LIMITS)
        kept = _Kept(target, FindingKind.DUPLICATE_ID, self.limit)
        kept.take((str(each.id), "several rows have this id") for each in twice.kept)
        kept.count = twice.total
        yield from kept.findings()
        yield from _findings_of(problems, target)


class _Kept:
    """Findings of one kind about rows of one type: the first ones, and how many there are."""

    def __init__(self, target: TypeTable, kind: FindingKind, limit: int) -> None:
        self.target = target
        self.kind = kind
        self.limit = limit
        self.kept: list[tuple[str, str]] = []
        self.count = 0

    def take(self, found: Iterator[tuple[str, str]]) -> None:
        """Ids of rows, and what is wrong with them."""
        for each in found:
            self.count += 1
            if len(self.kept) < self.limit:
                self.kept.append(each)

    def findings(self) -> Iterator[Finding]:
        for id_, said in self.kept:
            message = f"{self.target.name} {quoted(id_)}: {said}"
            yield Finding(kind=self.kind, message=message, type_key=self.target.key, id=id_)
        if self.count > len(self.kept):
            yield _more(self.kind, self.target, self.count - len(self.kept))


def _mismatched(target: TypeTable, batch: pa.RecordBatch) -> Iterator[tuple[str, str]]:
    """The rows whose id is not that of their key; those whose key is null are told elsewhere."""
    if not target.key_columns:
        return
    known = batch.select(["id", *target.key_columns]).drop_null()
    derived = derive_ids(target, {name: known[name] for name in target.key_columns})
    for index in pc.indices_nonzero(pc.not_equal(known["id"], derived)).to_pylist():
        yield known["id"][index].as_py(), f"the id that its key gives is {quoted(derived[index].as_py())}"


def _findings_of(problems: ProblemLog, target: TypeTable) -> Iterator[Finding]:
    """Problems as findings, and for each kind how many more there are."""
    left = problems.counts.copy()
    for each in problems.kept:
        left[each.reason] -= 1
        kind = _kind_of(each.reason)
        yield Finding(kind=kind, message=each.message, type_key=target.key, id=each.id, property=each.property)
    yield from (_more(_kind_of(reason), target, count) for reason, count in sorted(left.items()) if count)


def _kind_of(reason: str) -> FindingKind:
    return _KIND_OF_REASON.get(reason) or FindingKind(reason)


def _more(kind: FindingKind, target: TypeTable, count: int) -> Finding:
    return Finding(kind=kind, message=f"{target.key}: {count} more of this kind", type_key=target.key)
