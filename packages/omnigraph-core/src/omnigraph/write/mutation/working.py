"""``run_statements``: the statements of a mutation, in order, against one snapshot and what they did themselves.

    inserts, updates   committed rows, and before those of equal id the rows that earlier statements wrote
    deletes            committed rows without those that earlier statements deleted

A mutation writes or deletes, never both, so one of the two is always empty. Nothing is judged here but which rows a
statement finds; the final image is judged as a whole afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph import failpoints
from omnigraph.engine.budget import Spending
from omnigraph.failpoints import reach
from omnigraph.history.schemas import TypeTable
from omnigraph.history.warm import ADDRESS
from omnigraph.write.changeset import ChangeMode, ChangeSet, NewRows, TypeChange
from omnigraph.write.committed import CommittedRows
from omnigraph.write.mutation.matching import find_matching, holds
from omnigraph.write.mutation.statements import (
    BoundMutation,
    BoundStatement,
    DeleteRows,
    InsertRow,
    UpdateRows,
    place_of,
)

_FACTS = pa.schema({ADDRESS: pa.uint64(), "statement": pa.int32(), "is_fresh": pa.bool_()})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What statements did to a snapshot: nothing yet, but all of it is here.

    Attributes:
        affected_nodes: summed over statements; a row that two statements wrote counts twice, a deleted one once.
    """

    changes: ChangeSet
    affected_nodes: int
    affected_edges: int

    @property
    def is_empty(self) -> bool:
        return not self.affected_nodes and not self.affected_edges


def run_statements(mutation: BoundMutation, committed: CommittedRows, spending: Spending) -> Outcome:
    """Run a mutation on what is committed.

    Raises:
        ResourceLimitError: an update would hold more rows in memory than the budget allows.
        DeadlineError: it took longer than that allows.
    """
    working = _Working(committed, spending)
    for each in mutation.statements:
        working.run(each)
    return working.outcome()


class _Working:
    """One run. Not shared between threads."""

    def __init__(self, committed: CommittedRows, spending: Spending) -> None:
        self._committed = committed
        self._spending = spending
        self._written: dict[str, _WrittenRows] = {}
        self._removed: dict[str, _RemovedRows] = {}
        self._affected = {"node": 0, "edge": 0}

    def run(self, statement: BoundStatement) -> None:
        self._spending.check_time(place_of(statement.number))
        match statement:
            case InsertRow():
                self._rows_of(statement.target).put(statement.row, statement.number, is_fresh=statement.is_fresh)
                self._affected[statement.target.kind] += 1
            case UpdateRows():
                self._affected["node"] += self._update(statement)
            case DeleteRows():
                self._delete(statement)
                if statement.target.kind == "node":
                    reach(failpoints.MUTATION_DELETE_NODE_PRE_PRIMARY_DELETE)

    def outcome(self) -> Outcome:
        changes = [each.change() for each in self._written.values()]
        changes += [each.change() for each in self._removed.values()]
        return Outcome(
            changes=ChangeSet(
                changes=tuple(sorted((each for each in changes if each), key=lambda each: each.target.key))
            ),
            affected_nodes=self._affected["node"],
            affected_edges=self._affected["edge"],
        )

    def _rows_of(self, target: TypeTable) -> _WrittenRows:
        return self._written.setdefault(target.key, _WrittenRows(target))

    def _update(self, update: UpdateRows) -> int:
        target, ours = update.target, self._rows_of(update.target)
        addresses = find_matching(self._committed, target, update.condition)
        self._spending.check_rows(place_of(update.number), len(addresses))
        rows = self._committed.rows_at(target, addresses, target.schema.names)
        self._spending.check_bytes(place_of(update.number), rows.nbytes)
        # What an earlier statement wrote stands in front of it.
        is_hidden = pc.is_in(rows["id"], value_set=ours.ids)
        rows, addresses = rows.filter(pc.invert(is_hidden)), addresses.filter(pc.invert(is_hidden.combine_chunks()))
        count = ours.update(update, holds(update.condition, ours.column(update.condition.column)))
        if rows.num_rows:
            ours.put(_assigned(rows, update), update.number, addresses=addresses)
        return count + int(rows.num_rows)

    def _delete(self, delete: DeleteRows) -> None:
        target = delete.target
        addresses = find_matching(self._committed, target, delete.condition)
        columns = _removed_columns(target)
        gone = self._remove(target, self._committed.rows_at(target, addresses, columns))
        for edge, cascade in delete.cascades:
            for end, is_at in (("src", cascade.at_source), ("dst", cascade.at_target)):
                if is_at and gone.num_rows and self._committed.row_count(edge):
                    ids = gone["id"].combine_chunks()
                    self._remove(edge, self._committed.lookup(edge, ids, key=end, columns=_removed_columns(edge)))
                elif is_at:
                    # That there is no edge is relied on too.
                    self._committed.row_count(edge)

    def _remove(self, target: TypeTable, rows: pa.Table) -> pa.Table:
        """Take rows away; those that were there until now."""
        removed = self._removed.setdefault(target.key, _RemovedRows(target))
        gone = removed.add(rows)
        self._affected[target.kind] += gone.num_rows
        self._spending.check_bytes(f"delete {target.name}", removed.nbytes)
        return gone


def _removed_columns(target: TypeTable) -> list[str]:
    return ["id", ADDRESS] if target.kind == "node" else ["id", "src", "dst", ADDRESS]


def _assigned(rows: pa.Table, update: UpdateRows) -> pa.Table:
    """Rows with the values of an update in them."""
    first = pa.array(np.zeros(rows.num_rows, np.int64))
    for name, value in update.values.items():
        place = rows.schema.get_field_index(name)
        rows = rows.set_column(place, rows.schema.field(place), value.take(first))
    return rows


class _WrittenRows:
    """Rows of one type that the statements so far have written: one per id, the last one."""

    def __init__(self, target: TypeTable) -> None:
        self._target = target
        self._rows = target.schema.empty_table()
        self._facts = _FACTS.empty_table()

    @property
    def ids(self) -> pa.Array:
        return self._rows["id"].combine_chunks()

    def column(self, name: str) -> pa.Array:
        return self._rows[name].combine_chunks()

    def put(self, rows: pa.Table, number: int, *, is_fresh: bool = False, addresses: pa.Array | None = None) -> None:
        """Write rows, in place of those of equal id; ``addresses`` are where the committed ones lie."""
        count = rows.num_rows
        facts = pa.table(
            [
                pa.nulls(count, pa.uint64()) if addresses is None else addresses,
                pa.repeat(pa.scalar(number, pa.int32()), count),
                pa.repeat(is_fresh, count),
            ],
            schema=_FACTS,
        )
        if self._rows.num_rows and not is_fresh:
            before = pc.index_in(self.ids, value_set=rows["id"].combine_chunks())
            if before.null_count < len(before):
                facts = self._inherited(facts, before)
                is_left = before.is_null()
                self._rows, self._facts = self._rows.filter(is_left), self._facts.filter(is_left)
        self._rows = pa.concat_tables([self._rows, rows.cast(self._rows.schema)])
        self._facts = pa.concat_tables([self._facts, facts])

    def update(self, update: UpdateRows, mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> int:
        """Give the rows at the mask the values of an update; how many they are."""
        count = int(mask.sum())
        if not count:
            return 0
        chosen = pa.array(mask)
        facts = self._facts.filter(chosen)
        rows = _assigned(self._rows.filter(chosen), update)
        others = pc.invert(chosen)
        self._rows = pa.concat_tables([self._rows.filter(others), rows])
        facts = facts.set_column(1, _FACTS.field(1), pa.repeat(pa.scalar(update.number, pa.int32()), count))
        self._facts = pa.concat_tables([self._facts.filter(others), facts])
        return count

    def change(self) -> TypeChange | None:
        if not self._rows.num_rows:
            return None
        numbers = self._facts["statement"].to_pylist()
        return TypeChange(
            target=self._target,
            mode=ChangeMode.UPSERT,
            rows=NewRows(
                table=self._rows.combine_chunks(),
                row_count=self._rows.num_rows,
                place_of=lambda row: (place_of(numbers[row]), None),
            ),
            ids_are_fresh=bool(pc.all(self._facts["is_fresh"]).as_py()),
            addresses=self._facts[ADDRESS].combine_chunks(),
        )

    def _inherited(self, facts: pa.Table, before: pa.Int32Array) -> pa.Table:
        """Facts of new rows, with what is known of the rows that they replace."""
        places = np.full(facts.num_rows, -1, np.int64)
        known = before.is_valid().to_numpy(zero_copy_only=False)
        places[before.drop_null().to_numpy()] = np.flatnonzero(known)
        taken = self._facts.take(pa.array(places, mask=places < 0))
        addresses = pc.coalesce(facts[ADDRESS], taken[ADDRESS])
        is_fresh = pc.coalesce(taken["is_fresh"], facts["is_fresh"])
        return facts.set_column(0, _FACTS.field(0), addresses).set_column(2, _FACTS.field(2), is_fresh)


class _RemovedRows:
    """Rows of one type that the statements so far have deleted, each once."""

    def __init__(self, target: TypeTable) -> None:
        self._target = target
        self._rows: pa.Table | None = None

    @property
    def nbytes(self) -> int:
        return 0 if self._rows is None else self._rows.nbytes

    def add(self, rows: pa.Table) -> pa.Table:
        """Take rows away; those of them that were there until now, each once: an edge may be found at both its ends."""
        if self._rows is None:
            self._rows = rows
            return rows
        new = rows.filter(pc.invert(pc.is_in(rows[ADDRESS], value_set=self._rows[ADDRESS])))
        self._rows = pa.concat_tables([self._rows, new])
        return new

    def change(self) -> TypeChange | None:
        if self._rows is None or not self._rows.num_rows:
            return None
        return TypeChange(
            target=self._target,
            mode=ChangeMode.REMOVE,
            rows=NewRows(table=self._rows.drop_columns(ADDRESS), row_count=self._rows.num_rows),
            addresses=self._rows[ADDRESS].combine_chunks(),
        )
