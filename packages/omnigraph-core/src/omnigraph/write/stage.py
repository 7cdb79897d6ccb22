"""``stage_changes``: a judged change set becomes staged table writes, one effect per type.

    few rows that replace others     by the addresses of those; nothing of the table is searched
    many rows that may replace       by Lance's merge, or by a ``BulkMerger`` where they lie in files
    rows that are new                appended; their files are written once, however often a write is prepared
    rows that go                     marked by address; in the same step as those that replace, where that is by address

``prepare_changes`` does for rows that a load brings all that leads there: ids, judgement, staging.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.cancellation import check_cancelled
from omnigraph.config import DEFAULT_MAX_HELD_BYTES
from omnigraph.engine.held_bytes import HeldBytes
from omnigraph.history.repository import Repository
from omnigraph.history.schemas import TypeTable
from omnigraph.history.snapshot import Snapshot
from omnigraph.history.state import GraphState
from omnigraph.history.warm import KnownStep
from omnigraph.tables.interface import SnapshotHandle, StagedHandle, TablePin, TableStorage, WrittenRows
from omnigraph.write.buffers import fill_ids, refuse_lost_files
from omnigraph.write.changeset import ChangeMode, ChangeSet, NewRows, TypeChange
from omnigraph.write.committed import CommittedRows
from omnigraph.write.forks import Forks, on_line
from omnigraph.write.plan import TableEffect
from omnigraph.write.problems import ProblemLog
from omnigraph.write.rejudging import Judged, touched_changes
from omnigraph.write.row_merging import BulkMerger, MergedRows, rows_to_merge
from omnigraph.write.validation import validate_changes
from omnigraph.write.validation.edge_ids import keep_last, resolve_edge_ids
from omnigraph.write.validation.sets import LIMITS, Limits

MAX_LOCATED: Final = 10_000
"""More rows than these, whose places are not known, are merged by Lance."""

_COMPARED_ROWS: Final = 1_000
"""Rows up to so many are compared with those of an earlier attempt, to use its file again."""


class AttemptFiles:
    """Files that the attempts of one write wrote: rows that are the same in the next attempt are not written again.

    Attributes:
        forks: the lines that it made for itself.
    """

    def __init__(self, repository: Repository) -> None:
        self.forks = Forks(repository)
        self._written: dict[TablePin, tuple[pa.Table, WrittenRows]] = {}
        self._merged: dict[TablePin, MergedRows] = {}

    def rows(self, repository: Repository, pin: TablePin, target: TypeTable, rows: pa.Table) -> tuple[WrittenRows, ...]:
        """These rows in files below the table of a pin: written now, or by an earlier attempt."""
        if rows.num_rows == 0:
            return ()
        # Files of a table hold for every version of the same line.
        line = replace(pin, version=0)
        before, written = self._written.get(line, (None, None))
        if written is None or before is None or not _are_same(before, rows):
            written = repository.tables.write_rows(pin, rows, schema=target.schema)
            self._written[line] = rows, written
        return (written,)

    def merged(self, base: TablePin, merge: Callable[[], MergedRows]) -> MergedRows:
        """The rows of a type merged into a version: now, or by an earlier attempt that found the same version."""
        if base not in self._merged:
            self._merged[base] = merge()
        return self._merged[base]

    def forget(self) -> None:
        """Nothing that was written may be counted on."""
        self.forks.forget()
        self._written.clear()
        self._merged.clear()


def _are_same(before: pa.Table, rows: pa.Table) -> bool:
    return before is rows or (rows.num_rows <= _COMPARED_ROWS and before.equals(rows))


@dataclass(slots=True)
class Incoming:
    """Rows of one type that a load brings.

    Attributes:
        waits_for_ids: rows without an id take it from the committed row that they replace, if there is one.
    """

    target: TypeTable
    mode: ChangeMode
    rows: NewRows
    ids_are_fresh: bool = False
    waits_for_ids: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """How the rows of a load are judged.

    Attributes:
        limits: from which size on a check goes another way, and who answers questions about many rows.
        found: rules that are known to be broken, by whoever judged the values of all rows; None when nobody did.
        earlier: that the same rows were found right; None the first time.
        max_held_bytes: how many bytes of one type may be held where its rows are needed all at once.
        merger: merges more than ``memory_rows`` of the limits, where they lie in files; None for this process.
    """

    limits: Limits = LIMITS
    found: ProblemLog | None = None
    earlier: Judged | None = None
    max_held_bytes: int = DEFAULT_MAX_HELD_BYTES
    merger: BulkMerger | None = None

    def merger_for(self, change: TypeChange) -> BulkMerger | None:
        """Who merges the rows of a change in the place of this process; None when nobody is to.

        Few rows are looked up here, by an index where there is one, however many others the type has.
        """
        may_replace = change.mode is ChangeMode.UPSERT and not change.ids_are_fresh
        is_elsewhere = may_replace and change.rows.table is None and change.rows.row_count > self.limits.memory_rows
        return self.merger if is_elsewhere else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedChanges:
    """Staged writes, and what they rely on.

    Attributes:
        read_keys: keys of every table read or written.
        steps: what this process knows of the versions to come, by table key.
    """

    effects: tuple[TableEffect, ...]
    read_keys: frozenset[str]
    steps: dict[str, KnownStep] = field(default_factory=dict)

    def read_pins(self, snapshot: Snapshot) -> dict[str, TablePin]:
        """The versions that these writes rely on."""
        return {key: snapshot.state.entries[key].pin for key in sorted(self.read_keys)}

    def keep_warm(self, repository: Repository, state: GraphState) -> None:
        """Bring what this process knows of the tables to the versions that were published."""
        for effect in self.effects:
            step, entry = self.steps.get(effect.target.key), state.entries.get(effect.target.key)
            if step is not None and entry is not None:
                made = repository.tables.open_at(entry.pin)
                repository.warm.follow(repository.tables, effect.pin, made, step)


def prepare_changes(
    repository: Repository,
    snapshot: Snapshot,
    incoming: tuple[Incoming, ...],
    files: AttemptFiles,
    *,
    is_void: bool,
    judging: Judging,
) -> StagedChanges:
    """Judge rows of a load against a snapshot and stage them; ``is_void`` says that files written before may be gone.

    Raises:
        ConstraintError: the rows break a rule of the schema; nothing is staged.
        ConflictError: files are gone that cannot be written again.
    """
    committed = CommittedRows(snapshot, repository.tables, repository.warm)
    judged = ChangeSet(changes=tuple(_change(each, committed, judging) for each in incoming))
    _judge(judged, committed, judging)
    if is_void:
        files.forget()
        for each in incoming:
            refuse_lost_files(each.rows)
    # Every record is judged, and where several have one id, the last of them is written.
    mergers = {each.target.key: judging.merger_for(each) for each in judged.changes}
    written = (
        each if mergers[each.target.key] is not None else _last_records(each, committed, judging)
        for each in judged.changes
    )
    changes = ChangeSet(changes=tuple(written))
    return stage_changes(repository, changes, committed, files, mergers=mergers)


def _judge(changes: ChangeSet, committed: CommittedRows, judging: Judging) -> None:
    """Judge rows of a load; those that were right before, only as far as others may have made them wrong.

    Raises:
        ConstraintError: they break a rule.
    """
    problems = ProblemLog() if judging.found is None else judging.found.copy()
    are_checked = judging.found is not None
    newer, earlier = committed.snapshot, judging.earlier
    if earlier is not None:
        touched = touched_changes(changes, newer.schema, earlier, newer, committed.tables)
        if touched is not None:
            # What the earlier verdict relied on, this one relies on, as it is now.
            committed.looked_at |= earlier.read_keys
            changes, are_checked = touched, True
    validate_changes(changes, newer.schema, committed, problems, values_are_checked=are_checked, limits=judging.limits)
    problems.raise_violated()


def stage_changes(
    repository: Repository,
    changes: ChangeSet,
    committed: CommittedRows,
    files: AttemptFiles,
    *,
    mergers: Mapping[str, BulkMerger | None] = MappingProxyType({}),
) -> StagedChanges:
    """Stage changes that were judged against what is committed. A type of which nothing changes has no effect.

    ``mergers`` says by table key who merges rows that lie in files in the place of this process.
    """
    effects: list[TableEffect] = []
    steps: dict[str, KnownStep] = {}
    for change in changes.changes:
        check_cancelled()
        target, pin = change.target, committed.snapshot.entry(change.target).pin
        if change.is_empty:
            continue
        base = files.forks.base_of(committed.snapshot.branch, pin)
        handle, merger = repository.tables.open_at(base), mergers.get(target.key)
        staged, step = _Stage(repository, committed, files, change, handle, merger).run()
        if not staged:
            continue
        effects.append(TableEffect(target=target, pin=pin, base=base, staged=staged))
        if step is not None:
            steps[target.key] = step
    keys = committed.looked_at | {effect.target.key for effect in effects}
    return StagedChanges(effects=tuple(effects), read_keys=frozenset(keys), steps=steps)


@dataclass(frozen=True, slots=True)
class _Stage:
    """Staging the change of one type on one version."""

    repository: Repository
    committed: CommittedRows
    files: AttemptFiles
    change: TypeChange
    handle: SnapshotHandle
    merger: BulkMerger | None

    def run(self) -> tuple[tuple[StagedHandle, ...], KnownStep | None]:
        """What was staged, and what is known of the version that it makes."""
        change, tables = self.change, self.repository.tables
        if change.mode is ChangeMode.REMOVE:
            return self._remove()
        if change.mode is ChangeMode.REPLACE:
            return (tables.stage_overwrite(self.handle, self._written(change.rows.table)),), None
        if self.merger is not None:
            return self._merge_elsewhere(self.merger), None
        is_upsert = change.mode is ChangeMode.UPSERT and not change.ids_are_fresh
        if not is_upsert or not self.committed.row_count(change.target):
            return self._append(change.rows.table)
        if change.rows.table is None or (change.addresses is None and change.rows.row_count > MAX_LOCATED):
            return self._merge(), None
        return self._replace(change.rows.table)

    def _merge(self) -> tuple[StagedHandle, ...]:
        """Many rows by Lance's own merge, and then those that go."""
        change, tables = self.change, self.repository.tables
        staged = tables.stage_upsert(self.handle, change.rows.read(tables, change.target.schema.names))
        if change.removed is None or not change.removed.row_count:
            return (staged,)
        gone = tables.stage_delete_keys(self.handle, _ids(change.removed, tables))
        return (staged,) if gone is None else (staged, gone)

    def _merge_elsewhere(self, merger: BulkMerger) -> tuple[StagedHandle, ...]:
        """Rows in files, which others match with those that are there."""
        tables, base = self.repository.tables, self.handle.pin
        # A repeated key is a violation and was told.
        may_repeat = not self.change.target.key_columns
        merged = self.files.merged(
            base, lambda: merger.merge(rows_to_merge(self._written(None), base, tables, may_repeat=may_repeat))
        )
        if not merged.marked:
            return (tables.stage_append(self.handle, merged.written),)
        return (tables.stage_marked(self.handle, merged.written, merged.marked),)

    def _remove(self) -> tuple[tuple[StagedHandle, ...], KnownStep | None]:
        table, addresses = self.change.rows.table, self.change.addresses
        if addresses is None:
            addresses = self.committed.locate(self.change.target, _column(table, "id"))
        return self._removed_at(addresses)

    def _removed_at(self, addresses: pa.Array) -> tuple[tuple[StagedHandle, ...], KnownStep | None]:
        staged = self.repository.tables.stage_delete_at(self.handle, addresses)
        step = KnownStep(added=self.change.target.schema.empty_table(), removed=addresses)
        return () if staged is None else (staged,), step

    def _replace(self, rows: pa.Table) -> tuple[tuple[StagedHandle, ...], KnownStep | None]:
        places, removed = self._places(rows), self._removed_places()
        if not rows.num_rows:
            return self._removed_at(removed)
        if places.null_count == len(places) and not len(removed):
            return self._append(rows)
        if places.null_count:
            # Those that replace come first.
            order = np.argsort(places.is_null().to_numpy(zero_copy_only=False), kind="stable")
            rows, places = rows.take(pa.array(order)), places.drop_null()
        staged = self.repository.tables.stage_replace(self.handle, self._written(rows), places, removed=removed)
        return (staged,), KnownStep(added=rows, removed=pa.concat_arrays([places, removed]))

    def _removed_places(self) -> pa.Array:
        """Where the rows lie that go beside those that are written."""
        removed, known = self.change.removed, self.change.removed_addresses
        if removed is None or not removed.row_count:
            return pa.array([], pa.uint64())
        if known is not None:
            return known
        return self.committed.locate(self.change.target, _ids(removed, self.repository.tables))

    def _places(self, rows: pa.Table) -> pa.Array:
        """Where the rows lie that these replace; null for rows that are new."""
        ids, known = _column(rows, "id"), self.change.addresses
        if known is None:
            return self.committed.locate(self.change.target, ids)
        if self.change.removed is not None:
            # Whoever removes rows beside others knows of all of them.
            return known
        unknown = known.is_null()
        if not known.null_count:
            return known
        return pc.replace_with_mask(known, unknown, self.committed.locate(self.change.target, ids.filter(unknown)))

    def _append(self, rows: pa.Table | None) -> tuple[tuple[StagedHandle, ...], KnownStep | None]:
        staged = self.repository.tables.stage_append(self.handle, self._written(rows))
        return (staged,), None if rows is None else KnownStep(added=rows, removed=pa.array([], pa.uint64()))

    def _written(self, rows: pa.Table | None) -> tuple[WrittenRows, ...]:
        if rows is None:
            return on_line(self.repository.tables, self.change.rows.written, self.handle.pin)
        return self.files.rows(self.repository, self.handle.pin, self.change.target, rows)


def _ids(rows: NewRows, tables: TableStorage) -> pa.Array:
    return rows.read(tables, ["id"]).read_all()["id"].combine_chunks()


def _column(rows: pa.Table | None, name: str) -> pa.Array:
    if rows is None:
        return pa.array([], pa.string())
    column = rows[name]
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


# ── rows of a load ───────────────────────────────────────────────────────────────────────────────────────────────


def _change(each: Incoming, committed: CommittedRows, judging: Judging) -> TypeChange:
    """All records of a type, with their ids."""
    rows = each.rows
    if each.waits_for_ids:
        table = _held(each.target, rows, committed, judging) if rows.table is None else rows.table
        table = fill_ids(each.target, resolve_edge_ids(each.target, table, committed))
        rows = NewRows(table=table, row_count=table.num_rows, place_of=rows.place_of)
    return TypeChange(target=each.target, mode=each.mode, rows=rows, ids_are_fresh=each.ids_are_fresh)


def _held(target: TypeTable, rows: NewRows, committed: CommittedRows, judging: Judging) -> pa.Table:
    """All rows of a type, in memory.

    Raises:
        ResourceLimitError: they take more than the call may hold.
    """
    held = HeldBytes(f"What the load merges into {target.key}", judging.max_held_bytes)
    with rows.read(committed.tables, target.schema.names) as reader:
        return pa.Table.from_batches(held.each(reader), schema=target.schema)


def _last_records(change: TypeChange, committed: CommittedRows, judging: Judging) -> TypeChange:
    """The change without records that a later one of the same id replaces."""
    if change.mode is not ChangeMode.UPSERT or change.target.key_columns or change.ids_are_fresh:
        return change
    table = change.rows.table
    if table is None:
        if not _has_repeated_ids(change.rows, committed):
            return change
        table = _held(change.target, change.rows, committed, judging)
    kept = keep_last(table)
    return change if kept is table else replace(change, rows=NewRows(table=kept, row_count=kept.num_rows))


def _has_repeated_ids(rows: NewRows, committed: CommittedRows) -> bool:
    ids = rows.read(committed.tables, ["id"]).read_all()["id"]
    return bool(pc.count_distinct(ids).as_py() != len(ids))
