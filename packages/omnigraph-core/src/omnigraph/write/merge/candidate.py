"""``Candidate``: everything that a merge would change, and everything that speaks against it.

    heads ── per type ──> differences of both sides ── three_way ──> rows, conflicts ── judge ──> Candidate

Where the target did nothing to a type since the branches parted, and is not main, it can show the source's version as
it is, and nothing is written. Main always has its own line, so that other readers of Lance find its newest state there.
All conflicts of all types are told, those between rows and those with rules of the schema.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final, TypeAlias

from omnigraph.cancellation import check_cancelled
from omnigraph.engine.held_bytes import HeldBytes
from omnigraph.engine.row_changes import RowChanges
from omnigraph.errors import MergeConflict, MergeConflictKind
from omnigraph.history.branches import BranchRef
from omnigraph.history.repository import Repository
from omnigraph.history.schemas import GraphSchema, TypeTable
from omnigraph.write.changeset import ChangeSet, TypeChange
from omnigraph.write.committed import CommittedRows
from omnigraph.write.merge.base_places import BasePlaces, unmoved
from omnigraph.write.merge.heads import MergeHeads, TypeHeads, differing_types
from omnigraph.write.merge.spools import RowSpools
from omnigraph.write.merge.streams import Changes
from omnigraph.write.merge.three_way import MergedRows, Resolve, merge_rows
from omnigraph.write.merge.virtual_base import changes_since_base
from omnigraph.write.plan import AdoptedTable
from omnigraph.write.problems import Problem, ProblemLog
from omnigraph.write.validation import validate_changes

Tell: TypeAlias = Callable[[TypeTable, RowChanges], object]
"""Is told what would become of some rows of the target; type by type, in the order of table keys."""

_CONFLICT_BYTES: Final = 1_000

_KINDS: Final = {
    "unique": MergeConflictKind.UNIQUE_VIOLATION,
    "key_conflict": MergeConflictKind.UNIQUE_VIOLATION,
    "endpoint": MergeConflictKind.ORPHAN_EDGE,
    "orphan_edge": MergeConflictKind.ORPHAN_EDGE,
    "cardinality": MergeConflictKind.CARDINALITY_VIOLATION,
}
"""What reasons of the validators are called here; all others are about values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A merge that is thought through and not done.

    Attributes:
        changes: what is to be written.
        adopted: types of which the source's version is shown as it is.
        conflicts: with any of them, nothing may be published.
        resolved: how many others were decided.
    """

    changes: ChangeSet
    adopted: tuple[AdoptedTable, ...]
    conflicts: tuple[MergeConflict, ...]
    resolved: int


def make_candidate(
    repository: Repository,
    heads: MergeHeads,
    committed: CommittedRows,
    resolve: Resolve,
    *,
    held: HeldBytes,
    tell: Tell = lambda _type, _rows: None,
) -> Candidate:
    """Think a merge through; ``committed`` is the target, and notes what was looked at. Conflicts are decided once.

    Raises:
        ResourceLimitError: the conflicts take more than ``held`` allows.
        ConflictError: the branches have different schemas.
        NotFoundError: the state of the base was reclaimed.
    """
    written, adopted, conflicts, resolved = list[TypeChange](), list[AdoptedTable](), list[MergeConflict](), 0
    judged: list[TypeChange] = []
    for each in differing_types(repository, heads):
        check_cancelled()
        committed.looked_at.add(each.type.key)
        spools = RowSpools(each.type)
        for rows in _merged_rows(repository, each, resolve):
            tell(each.type, rows.changes)
            spools.add(rows.changes)
            spools.add(rows.undecided)
            for conflict in rows.conflicts:
                held.add(_size_of(conflict))
                conflicts.append(conflict)
            resolved += rows.resolved
        can_adopt = _can_adopt(each, heads.target.branch)
        change = spools.change(None if can_adopt else BasePlaces(heads=each, committed=committed))
        if change.is_empty:
            continue
        judged.append(change)
        if can_adopt:
            adopted.append(_adopted(each))
        else:
            written.append(change)
    conflicts += _broken_rules(ChangeSet(changes=tuple(judged)), committed)
    return Candidate(
        changes=ChangeSet(changes=tuple(written)),
        adopted=tuple(adopted),
        conflicts=tuple(conflicts),
        resolved=resolved,
    )


def _merged_rows(repository: Repository, heads: TypeHeads, resolve: Resolve) -> Iterator[MergedRows]:
    """What becomes of the rows of one type."""
    tables, target = repository.tables, heads.type
    theirs = changes_since_base(tables, heads, heads.source.pin)
    first = [*islice(theirs, 2)]
    ours: Changes = iter(())
    # Where the target left alone the few rows that the source changed, what it did to others does not matter.
    if len(first) != 1 or unmoved(tables, heads, first[0].addresses).null_count:
        ours = changes_since_base(tables, heads, heads.target.pin)
    return merge_rows(target, chain(first, theirs), ours, resolve)


def _size_of(conflict: MergeConflict) -> int:
    """About what a conflict takes in memory: its texts, and the objects around them."""
    return _CONFLICT_BYTES + sum(len(str(each)) for each in (conflict.base, conflict.source, conflict.target))


def _can_adopt(heads: TypeHeads, branch: BranchRef) -> bool:
    return heads.is_untouched and not branch.is_main


def _adopted(heads: TypeHeads) -> AdoptedTable:
    return AdoptedTable(
        key=heads.type.key,
        identity=heads.type.identity,
        pin=heads.target.pin,
        to=heads.source.pin,
        row_count=heads.source.row_count,
        version_metadata=heads.source.version_metadata,
    )


def _broken_rules(changes: ChangeSet, committed: CommittedRows) -> list[MergeConflict]:
    """Rules of the schema that the target would break with these changes."""
    schema: GraphSchema = committed.snapshot.schema
    # All of them are told, however many: whoever merges is to decide once.
    problems = ProblemLog(limit=sys.maxsize)
    validate_changes(changes, schema, committed, problems)
    return [_conflict(schema, each) for each in problems.kept]


def _conflict(schema: GraphSchema, problem: Problem) -> MergeConflict:
    target = schema.tables[str(problem.type_key)]
    return MergeConflict(
        kind=_KINDS.get(problem.reason, MergeConflictKind.VALUE_CONSTRAINT_VIOLATION),
        entity=target.kind,
        type=target.name,
        # Of edges that are too many or too few, none is more to blame than the others.
        id=None if problem.reason == "cardinality" else problem.id,
        message=problem.message,
    )
