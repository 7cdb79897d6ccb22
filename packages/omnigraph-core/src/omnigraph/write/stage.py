"""``prepare_changes``: incoming rows become a judged change set, and that becomes staged table writes.

Files are written once per write, however often it is prepared: rows that are only added do not depend on the version
that they are added to. Replacing rows by id does, so upserts are staged anew on each snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.history.log import ManifestLog
from omnigraph.history.repository import Repository
from omnigraph.history.schemas import TypeTable
from omnigraph.history.snapshot import Snapshot
from omnigraph.tables.interface import StagedHandle, WrittenRows
from omnigraph.write.buffers import fill_ids, refuse_lost_files
from omnigraph.write.changeset import ChangeMode, ChangeSet, NewRows, TypeChange
from omnigraph.write.committed import CommittedRows
from omnigraph.write.plan import TableEffect
from omnigraph.write.problems import ProblemLog
from omnigraph.write.validation import validate_changes
from omnigraph.write.validation.edge_ids import keep_last, resolve_edge_ids


@dataclass(slots=True)
class Incoming:
    """Rows of one type that a write brings.

    Attributes:
        waits_for_ids: rows without an id take it from the committed row that they replace, if there is one.
        files: what was written of them, for every attempt after the first.
    """

    target: TypeTable
    mode: ChangeMode
    rows: NewRows
    ids_are_fresh: bool = False
    waits_for_ids: bool = False
    files: tuple[WrittenRows, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Staged writes, and the tables whose content they rely on.

    Attributes:
        read_keys: keys of every table read or written.
        changes: what was staged.
    """

    effects: tuple[TableEffect, ...]
    read_keys: frozenset[str]
    changes: ChangeSet

    def keep_warm(self, repository: Repository, log: ManifestLog) -> None:
        """Carry what this process knows of the tables over to their new versions."""
        for effect in self.effects:
            change = self.changes.of(effect.target)
            entry = log.state.entries.get(effect.target.key)
            if change is None or entry is None or change.mode is ChangeMode.REPLACE:
                continue
            repository.warm.carry_over(
                effect.pin, entry.pin, change.rows.table, replaces=change.mode is ChangeMode.UPSERT
            )


def prepare_changes(
    repository: Repository, snapshot: Snapshot, incoming: tuple[Incoming, ...], *, is_void: bool
) -> Prepared:
    """Judge rows against a snapshot and stage them on it; ``is_void`` says that files written before may be gone.

    Raises:
        ConstraintError: the rows break a rule of the schema; nothing is staged.
        ConflictError: files are gone that cannot be written again.
    """
    committed = CommittedRows(snapshot, repository.tables, repository.warm)
    judged = ChangeSet(changes=tuple(_change(each, committed) for each in incoming))
    problems = ProblemLog()
    validate_changes(judged, snapshot.schema, committed, problems)
    problems.raise_violated()
    # Every record is judged, and where several have one id, the last of them is written.
    changes = ChangeSet(changes=tuple(_last_records(each, committed) for each in judged.changes))
    effects = []
    for each, change in zip(incoming, changes.changes, strict=True):
        if is_void:
            refuse_lost_files(each.rows)
            each.files = ()
        pin = snapshot.entry(change.target).pin
        staged = _stage(repository, snapshot, each, change)
        if staged is not None:
            effects.append(TableEffect(target=change.target, pin=pin, staged=(staged,)))
    keys = committed.looked_at | {effect.target.key for effect in effects}
    return Prepared(effects=tuple(effects), read_keys=frozenset(keys), changes=changes)


def _change(each: Incoming, committed: CommittedRows) -> TypeChange:
    """All records of a type, with their ids."""
    rows = each.rows
    if each.waits_for_ids:
        table = rows.read(committed.tables, each.target.schema.names).read_all() if rows.table is None else rows.table
        table = fill_ids(each.target, resolve_edge_ids(each.target, table, committed))
        rows = NewRows(table=table, row_count=table.num_rows, place_of=rows.place_of)
    return TypeChange(target=each.target, mode=each.mode, rows=rows, ids_are_fresh=each.ids_are_fresh)


def _last_records(change: TypeChange, committed: CommittedRows) -> TypeChange:
    """The change without records that a later one of the same id replaces."""
    if change.mode is not ChangeMode.UPSERT or change.target.key_columns or change.ids_are_fresh:
        return change
    table = change.rows.table
    if table is None:
        if not _has_repeated_ids(change.rows, committed):
            return change
        table = change.rows.read(committed.tables, change.target.schema.names).read_all()
    kept = keep_last(table)
    return change if kept is table else replace(change, rows=NewRows(table=kept, row_count=kept.num_rows))


def _has_repeated_ids(rows: NewRows, committed: CommittedRows) -> bool:
    ids = rows.read(committed.tables, ["id"]).read_all()["id"]
    return bool(pc.count_distinct(ids).as_py() != len(ids))


def _stage(repository: Repository, snapshot: Snapshot, each: Incoming, change: TypeChange) -> StagedHandle | None:
    tables, target, entry = repository.tables, change.target, snapshot.entry(change.target)
    handle = tables.open_at(entry.pin)
    if change.mode is ChangeMode.REPLACE:
        return tables.stage_overwrite(handle, _files(repository, snapshot, each, change))
    if change.rows.row_count == 0:
        return None
    if change.mode is ChangeMode.UPSERT and entry.row_count and not change.ids_are_fresh:
        rows = change.rows.table
        source: pa.Table | pa.RecordBatchReader = (
            rows if rows is not None else change.rows.read(tables, target.schema.names)
        )
        return tables.stage_upsert(handle, source)
    return tables.stage_append(handle, _files(repository, snapshot, each, change))


def _files(repository: Repository, snapshot: Snapshot, each: Incoming, change: TypeChange) -> tuple[WrittenRows, ...]:
    """The rows in files: as they came, as an earlier attempt wrote them, or written now."""
    if change.rows.table is None:
        return change.rows.written
    # Ids that were taken from committed rows belong to one snapshot.
    if not each.files or each.waits_for_ids:
        pin = snapshot.entry(change.target).pin
        if change.rows.row_count == 0:
            return ()
        each.files = (repository.tables.write_rows(pin, change.rows.table, schema=change.target.schema),)
    return each.files
