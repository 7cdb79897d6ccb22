"""``Diff``: what differs between two snapshots of a graph, as changes of nodes and edges.

    Snapshot, Snapshot ── paired_types ──> TypePair ── row_changes ──> RowChanges ── changes_of ──> Change, Change, ...

Types are paired by identity, so a rename is no change, and a type of a name that was used before is another type.
Where both snapshots pin the same version nothing is read. Nodes come first, then edges; types by their stable number;
then ids by their bytes. What is in memory does not grow with the graphs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.cancellation import TimeLimit
from omnigraph.config import DEFAULT_MAX_HELD_BYTES
from omnigraph.engine.cells import cells, json_objects
from omnigraph.engine.change_filter import KINDS, ChangeFilter
from omnigraph.engine.held_bytes import HeldBytes
from omnigraph.engine.row_changes import DELETE, INSERT, OPS, UPDATE, RowChanges, row_changes
from omnigraph.engine.type_names import select_types
from omnigraph.history.commits import Commit
from omnigraph.history.lifetime import Lifetime
from omnigraph.history.schemas import TypeTable
from omnigraph.history.snapshot import Snapshot
from omnigraph.tables.interface import TablePin, TableStorage

_NAMES: Final = ("id", "src", "dst")
"""Columns that are no properties."""

ARROW_SCHEMA: Final = pa.schema(
    [
        pa.field("entity", pa.string(), nullable=False),
        pa.field("type", pa.string(), nullable=False),
        pa.field("id", pa.string(), nullable=False),
        pa.field("op", pa.string(), nullable=False),
        pa.field("from_id", pa.string()),
        pa.field("to_id", pa.string()),
        pa.field("before", pa.large_string()),
        pa.field("after", pa.large_string()),
    ]
)
"""What ``Diff.to_arrow`` gives; ``before`` and ``after`` are JSON objects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One node or edge that differs.

    Attributes:
        type: the name of its type.
        before: its properties as they were, as JSON values; None when it was not there.
        after: its properties as they are; None when it is not there.
        from_id: of an edge, where it begins; of one that was deleted, where it began. None of a node.
        to_id: the same of its end.
    """

    entity: Literal["node", "edge"]
    type: str
    id: str
    op: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    from_id: str | None = None
    to_id: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "entity": self.entity,
            "type": self.type,
            "id": self.id,
            "op": self.op,
            "before": self.before,
            "after": self.after,
            "from_id": self.from_id,
            "to_id": self.to_id,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffSummary:
    """How much differs.

    Attributes:
        types_affected: the types that have a change, such as ``node:Film``, in ascending order.
    """

    inserts: int
    updates: int
    deletes: int
    types_affected: tuple[str, ...]

    @classmethod
    def of(cls, counts: Counter[tuple[str, str]]) -> Self:
        """The summary of changes that were counted by key of their type and operation."""
        total = {op: sum(count for (_, each), count in counts.items() if each == op) for op in OPS}
        affected = sorted({key for key, _ in counts})
        return cls(inserts=total[INSERT], updates=total[UPDATE], deletes=total[DELETE], types_affected=tuple(affected))

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "inserts": self.inserts,
            "updates": self.updates,
            "deletes": self.deletes,
            "types_affected": list(self.types_affected),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TypePair:
    """One type in two snapshots.

    Attributes:
        target: the type as the later snapshot has it, or as the earlier one had it if it is gone.
        before: the version of its table in the earlier snapshot; None where there was no such type.
        after: the version in the later one.
    """

    target: TypeTable
    before: TablePin | None
    after: TablePin | None


class Diff:
    """What differs between two snapshots, read when it is asked for, and anew each time.

    Iterating gives the changes one by one. After a close of the graph nothing more is given.

    Attributes:
        from_commit: what is compared with.
        to_commit: what is compared.
        filter: which changes are shown.
    """

    def __init__(
        self,
        before: Snapshot,
        after: Snapshot,
        tables: TableStorage,
        wanted: ChangeFilter | None = None,
        *,
        lifetime: Lifetime | None = None,
        deadline: float | None = None,
        max_held_bytes: int = DEFAULT_MAX_HELD_BYTES,
    ) -> None:
        """Compare two snapshots of one graph.

        Args:
            before: the state to compare with.
            after: the state to compare.
            tables: of the graph.
            wanted: which changes are to be shown; None for all.
            lifetime: of the handle that this belongs to.
            deadline: seconds that each reading may take, from its begin.
            max_held_bytes: what the diff may take in memory as one table or one document.

        Raises:
            NotFoundError: the filter names a type that neither snapshot has.
        """
        self.from_commit: Commit = before.commit
        self.to_commit: Commit = after.commit
        self.filter = wanted or ChangeFilter()
        self._pairs = paired_types(before, after, self.filter)
        self._tables = tables
        self._lifetime = lifetime
        self._deadline = deadline
        self._max_held_bytes = max_held_bytes

    def __repr__(self) -> str:
        return f"<Diff from commit {self.from_commit.id} to {self.to_commit.id}>"

    def __iter__(self) -> Iterator[Change]:
        for target, rows in self._rows():
            for change in changes_of(target, rows):
                if self._lifetime is not None:
                    self._lifetime.check()
                yield change

    def summary(self) -> DiffSummary:
        """How much differs: all of it is read, and nothing of it kept."""
        counts: Counter[tuple[str, str]] = Counter()
        for target, rows in self._rows():
            counts.update((target.key, op) for op in rows.ops.to_pylist())
        return DiffSummary.of(counts)

    def to_arrow(self) -> pa.Table:
        """All changes as one table, with a row for each; ``before`` and ``after`` are JSON texts.

        Raises:
            ResourceLimitError: it takes more memory than one call may hold; iterate instead.
        """
        held = HeldBytes("The diff as one table", self._max_held_bytes)
        return pa.Table.from_batches(held.each(arrow_rows(target, rows) for target, rows in self._rows()), ARROW_SCHEMA)

    def about(self) -> dict[str, Any]:
        """What is compared, in the JSON form; nothing is read."""
        return {
            "from_commit": self.from_commit.to_dict(),
            "to_commit": self.to_commit.to_dict(),
            "filter": self.filter.to_dict(),
        }

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, with all changes.

        Raises:
            ResourceLimitError: they take more memory than one call may hold; iterate instead.
        """
        held = HeldBytes("The diff as one document", self._max_held_bytes)
        changes: list[Change] = []
        for target, rows in self._rows():
            held.add(arrow_rows(target, rows).nbytes)
            changes += changes_of(target, rows)
        return {
            **self.about(),
            "summary": DiffSummary.of(Counter((f"{each.entity}:{each.type}", each.op) for each in changes)).to_dict(),
            "changes": [each.to_dict() for each in changes],
        }

    def _rows(self) -> Iterator[tuple[TypeTable, RowChanges]]:
        found = TimeLimit(self._deadline, "diff").each(self._read())
        return found if self._lifetime is None else self._lifetime.each(found)

    def _read(self) -> Iterator[tuple[TypeTable, RowChanges]]:
        for pair in self._pairs:
            for rows in row_changes(self._tables, pair.target, pair.before, pair.after):
                wanted = rows if self.filter.ops is None else rows.only(self.filter.ops)
                if len(wanted):
                    yield pair.target, wanted


# ── types ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def paired_types(before: Snapshot, after: Snapshot, wanted: ChangeFilter) -> tuple[TypePair, ...]:
    """The types of two snapshots that a filter asks for, by the same identity in both, in the order of changes.

    A type that was renamed goes by either name.

    Raises:
        NotFoundError: the filter names a type that neither snapshot has.
    """
    # Where a name was used twice, what it names now answers for whether there is such a type.
    selected = select_types({**before.schema.tables, **after.schema.tables}, wanted.types)
    keys = {each.key for each in selected}
    older, newer = ({each.identity: each for each in side.schema.tables.values()} for side in (before, after))
    old_pins, new_pins = ({each.identity: each.pin for each in side.state.entries.values()} for side in (before, after))
    pairs = []
    for identity in older.keys() | newer.keys():
        names = [side[identity] for side in (newer, older) if identity in side]
        if keys.isdisjoint(each.key for each in names):
            continue
        if wanted.kinds is None or names[0].kind in wanted.kinds:
            pairs.append(TypePair(target=names[0], before=old_pins.get(identity), after=new_pins.get(identity)))
    return tuple(sorted(pairs, key=lambda each: type_order(each.target)))


def type_order(target: TypeTable) -> tuple[int, tuple[int, int]]:
    """By this the changes of types are put in order: nodes first, then edges; then by stable number."""
    return KINDS.index(target.kind), target.identity


# ── rows to changes ──────────────────────────────────────────────────────────────────────────────────────────────────


def changes_of(target: TypeTable, rows: RowChanges) -> Iterator[Change]:
    """The changes of one type that rows tell of, in their order."""
    starts, ends = _endpoints(target, rows)
    facts = (rows.ids, rows.ops, starts, ends)
    sides = (images(target, rows.before), images(target, rows.after))
    for key, op, start, end, before, after in zip(*(each.to_pylist() for each in facts), *sides, strict=True):
        yield Change(
            entity=target.kind, type=target.name, id=key, op=op, before=before, after=after, from_id=start, to_id=end
        )


def arrow_rows(target: TypeTable, rows: RowChanges) -> pa.RecordBatch:
    """The same as ``changes_of`` in the form of ``ARROW_SCHEMA``."""
    texts = []
    for side in (rows.before, rows.after):
        objects = json_objects(_properties(target, side), len(side))
        texts.append(pc.if_else(side.is_valid(), objects, pa.scalar(None, objects.type)))
    return pa.RecordBatch.from_arrays([*facts_of(target, rows), *texts], schema=ARROW_SCHEMA)


def facts_of(target: TypeTable, rows: RowChanges) -> list[pa.Array]:
    """The columns of ``ARROW_SCHEMA`` before the images."""
    same = (pa.repeat(each, len(rows)) for each in (target.kind, target.name))
    return [*same, rows.ids, rows.ops, *_endpoints(target, rows)]


def _endpoints(target: TypeTable, rows: RowChanges) -> tuple[pa.Array, pa.Array]:
    """Where edges begin and end, as they are or else as they were."""
    if target.kind == "node":
        return pa.nulls(len(rows), pa.string()), pa.nulls(len(rows), pa.string())
    starts, ends = (pc.coalesce(rows.after.field(each), rows.before.field(each)) for each in ("src", "dst"))
    return starts, ends


def images(target: TypeTable, side: pa.StructArray) -> list[dict[str, Any] | None]:
    """The properties of each row as JSON values; None where there is no row."""
    columns = _properties(target, side)
    if not columns:
        values: Iterator[tuple[Any, ...]] = (() for _ in range(len(side)))
    else:
        values = zip(*(cells(each) for each in columns.values()), strict=True)
    rows = (dict(zip(columns, each, strict=True)) for each in values)
    return [row if is_there else None for row, is_there in zip(rows, side.is_valid().to_pylist(), strict=True)]


def _properties(target: TypeTable, side: pa.StructArray) -> dict[str, pa.Array]:
    return {each: side.field(each) for each in target.schema.names if each not in _NAMES}
