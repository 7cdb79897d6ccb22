"""What one commit changed against its first parent, in an order that a consumer can be brought back into.

    states before and after ── types whose pins differ ── rows_between ──> RowChanges of a type, ...
                                                       └─ changes_between ──> (Change, RowMark), (Change, RowMark), ...

Nodes come before edges, types by identity, rows by id: the order depends on nothing but the two states, so the mark of
a row says what was delivered up to it. Nothing is read of types that the commit did not touch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from omnigraph.cancellation import check_cancelled
from omnigraph.engine.change_filter import KINDS
from omnigraph.engine.diff import Change, changes_of
from omnigraph.engine.row_changes import OPS, RowChanges, row_changes
from omnigraph.engine.wanted_changes import WantedChanges
from omnigraph.errors import (
    ChangeCursorRejectedError,
    ChangeFeedGapError,
    ChangeSchemaBoundaryError,
    NotFoundError,
    StorageCondition,
    StorageError,
)
from omnigraph.history.commits import Commit, CommitKind
from omnigraph.history.cursors import RowMark
from omnigraph.history.schemas import TypeTable
from omnigraph.history.snapshot import Snapshot
from omnigraph.tables.interface import TablePin, TableStorage

PHYSICAL: Final = frozenset({CommitKind.MAINTENANCE, CommitKind.FENCE})
"""Kinds of commits that leave every row as it was."""

_SLICE: Final = 256
"""Rows that become changes at a time: a page may end at any of them."""


def changes_between(
    tables: TableStorage,
    before: Snapshot | None,
    after: Snapshot,
    wanted: WantedChanges,
    *,
    behind: RowMark | None = None,
) -> Iterator[tuple[Change, RowMark]]:
    """The changes of the commit that made ``after``, each with its mark. Arguments and errors as ``rows_between``."""
    for target, rows in rows_between(tables, before, after, wanted, behind=behind):
        yield from _marked(after.commit, target, rows)


def rows_between(
    tables: TableStorage,
    before: Snapshot | None,
    after: Snapshot,
    wanted: WantedChanges,
    *,
    behind: RowMark | None = None,
) -> Iterator[tuple[TypeTable, RowChanges]]:
    """The rows that the commit that made ``after`` changed, some of a type at a time; read as they are asked for.

    Args:
        tables: of the graph.
        before: the state that its first parent made; None for the first commit of all.
        after: the state that it made.
        wanted: other changes are left out.
        behind: only what comes behind this mark.

    Raises:
        ChangeSchemaBoundaryError: the commit changed the schema.
        ChangeCursorRejectedError: there is no such mark.
        StorageError: rows could not be read, or a version was reclaimed.
    """
    if before is not None and before.schema.digest != after.schema.digest:
        raise ChangeSchemaBoundaryError(commit_id=after.commit.id)
    for target in sorted(after.schema.tables.values(), key=lambda each: _rank(each.kind, each.identity)):
        place = _rank(target.kind, target.identity)
        reached = None if behind is None else _rank(behind.entity, behind.identity)
        if not wanted.takes(target) or (reached is not None and place < reached):
            continue
        found = row_changes(tables, target, _pin(before, target), _pin(after, target))
        if behind is not None and place == reached:
            found = _behind(found, behind)
        for rows in found:
            yield target, rows if wanted.ops == OPS else rows.only(wanted.ops)


@contextmanager
def gaps_told(commit_id: str, *, cursor: str | None = None) -> Iterator[None]:
    """Around whatever reads the changes of a commit: what is missing there was reclaimed.

    Raises:
        ChangeFeedGapError: something is missing.
    """
    try:
        yield
    except (NotFoundError, StorageError) as error:
        if isinstance(error, StorageError) and error.condition is not StorageCondition.NOT_FOUND:
            raise
        raise ChangeFeedGapError(first_unreadable_commit_id=commit_id, cursor=cursor) from error


def _rank(kind: str, identity: tuple[int, int]) -> tuple[int, tuple[int, int]]:
    return KINDS.index(kind), identity


def _pin(state: Snapshot | None, target: TypeTable) -> TablePin | None:
    """The version of a type to compare; None for one that has no rows, which need not be opened."""
    entry = None if state is None else state.entry(target)
    return None if entry is None or entry.row_count == 0 else entry.pin


def _behind(found: Iterator[RowChanges], mark: RowMark) -> Iterator[RowChanges]:
    """What comes behind a mark of this type."""
    is_behind = False
    for rows in found:
        passed = 0 if is_behind else mark.passed(rows.ids)
        if passed is not None:
            is_behind = is_behind or mark.id_digest is not None or passed < len(rows)
            yield rows.slice(passed, len(rows) - passed)
    if mark.id_digest is not None and not is_behind:
        raise ChangeCursorRejectedError("position")


def _marked(commit: Commit, target: TypeTable, rows: RowChanges) -> Iterator[tuple[Change, RowMark]]:
    for start in range(0, len(rows), _SLICE):
        check_cancelled()
        for change in changes_of(target, rows.slice(start, _SLICE)):
            yield change, RowMark.at(commit.id, target.kind, target.identity, change.id)
