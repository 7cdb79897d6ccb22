"""``RowChanges``: what differs between two versions of a table, row by row, at a cost proportional to the difference.

    TablePin, TablePin ── differing_rows ──> two streams by ascending id ── compare ──> RowChanges, RowChanges, ...

Diffs, merges and the change feed are made of these. Any two versions of a table can be compared: older and newer, newer
and older, two branches. Rows that were only moved, by a fold say, come out of both streams with equal values and are no
change. What is equal, ``equality`` says.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.cancellation import check_cancelled
from omnigraph.engine.differing_rows import MEMORY_BYTES, Batches, Version, differing_rows
from omnigraph.engine.entities import ABSENT, Positions, index_in, take_values
from omnigraph.engine.equality import equal_cells
from omnigraph.engine.frame import Mask
from omnigraph.engine.id_order import count_through, last_id
from omnigraph.engine.pinned_rows import ADDRESS
from omnigraph.history.schemas import TypeTable
from omnigraph.tables.interface import TablePin, TableStorage
from omnigraph.tables.reading import ADDRESS_FIELD

MAX_CHANGES: Final = 8_192
"""The most rows of one ``RowChanges``."""

INSERT: Final = "insert"
UPDATE: Final = "update"
DELETE: Final = "delete"
OPS: Final = (INSERT, UPDATE, DELETE)
"""What can have happened to a row."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowChanges:
    """Rows that differ between two versions, at most ``MAX_CHANGES``; fewer where they have Blobs.

    Attributes:
        ids: of the rows, ascending by bytes, also from one of these to the next.
        before: the rows as they were, structs of all columns of the type; null where there was none.
        after: the rows as they are; null where there is none. Never null on both sides.
        addresses: where the rows lie in the version before; null where there was none, or that is not known.
    """

    ids: pa.StringArray
    before: pa.StructArray
    after: pa.StructArray
    addresses: pa.UInt64Array

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def ops(self) -> pa.StringArray:
        """What happened to each row, one of ``OPS``."""
        return pc.if_else(self.before.is_null(), INSERT, pc.if_else(self.after.is_null(), DELETE, UPDATE))

    def only(self, ops: Collection[str]) -> RowChanges:
        """The rows to which one of these happened."""
        is_wanted = pc.is_in(self.ops, value_set=pa.array(ops, pa.string()))
        return self._of(lambda each: each.filter(is_wanted))

    def slice(self, start: int, count: int) -> RowChanges:
        """Some that follow one another."""
        return self._of(lambda each: each.slice(start, count))

    def take(self, places: Positions) -> RowChanges:
        """Those at these places."""
        return self._of(lambda each: take_values(each, places))

    def _of(self, chosen: Callable[[pa.Array], pa.Array]) -> RowChanges:
        return RowChanges(
            ids=chosen(self.ids),
            before=chosen(self.before),
            after=chosen(self.after),
            addresses=chosen(self.addresses),
        )


def row_changes(
    tables: TableStorage,
    target: TypeTable,
    before: TablePin | None,
    after: TablePin | None,
    *,
    memory_bytes: int = MEMORY_BYTES,
) -> Iterator[RowChanges]:
    """The rows that are not the same in both versions, by ascending id; read as they are asked for.

    Equal pins are no difference and cost no request.

    Args:
        tables: of the graph.
        target: the type, which says what columns there are.
        before: the version to compare with; None when the table did not exist.
        after: the version to compare; None when the table does not exist any more.
        memory_bytes: what rows may take while they are put in order; beyond it they go through a temporary file.

    Raises:
        StorageError: rows could not be read, or a version was reclaimed; raised while iterating.
    """
    if before == after:
        return
    older, newer = (Version.of(tables, target, pin) for pin in (before, after))
    schema = target.schema.append(ADDRESS_FIELD)
    for old, new in aligned(*differing_rows(older, newer, memory_bytes=memory_bytes), schema):
        check_cancelled()
        yield from _changes(old, new)


# ── the two streams side by side ─────────────────────────────────────────────────────────────────────────────────────


def aligned(before: Batches, after: Batches, schema: pa.Schema) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Both streams, some rows at a time, so that an id that both have is in both halves of the same pair."""
    nothing = pa.RecordBatch.from_pylist([], schema)
    before, after = filter(len, before), filter(len, after)
    old, new = next(before, nothing), next(after, nothing)
    while len(old) and len(new):
        last = min(last_id(old), last_id(new))
        old_count, new_count = count_through(old, last), count_through(new, last)
        yield old.slice(0, old_count), new.slice(0, new_count)
        old, new = old.slice(old_count), new.slice(new_count)
        old, new = old if len(old) else next(before, nothing), new if len(new) else next(after, nothing)
    while len(old):
        yield old, nothing
        old = next(before, nothing)
    while len(new):
        yield nothing, new
        new = next(after, nothing)


# ── rows against rows ────────────────────────────────────────────────────────────────────────────────────────────────


def _changes(old: pa.RecordBatch, new: pa.RecordBatch) -> Iterator[RowChanges]:
    """What differs between two sets of rows, each of them by ascending id and with the addresses as the last column."""
    found = index_in(old["id"], new["id"])
    both = np.flatnonzero(found != ABSENT)
    is_added = np.ones(len(new), np.bool_)
    is_added[found[both]] = False
    updated = both[~_are_equal(old, both, new, found[both])]
    removed, added = np.flatnonzero(found == ABSENT), np.flatnonzero(is_added)
    old_places = np.concatenate([updated, removed, np.full(len(added), ABSENT)])
    new_places = np.concatenate([found[updated], np.full(len(removed), ABSENT), added])
    ids = pc.coalesce(take_values(old["id"], old_places), take_values(new["id"], new_places))
    order = pc.sort_indices(ids).to_numpy()
    for start in range(0, len(order), MAX_CHANGES):
        chosen = order[start : start + MAX_CHANGES]
        yield RowChanges(
            ids=ids.take(pa.array(chosen)),
            before=_structs(old, old_places[chosen]),
            after=_structs(new, new_places[chosen]),
            addresses=take_values(old[ADDRESS], old_places[chosen]),
        )


def _are_equal(old: pa.RecordBatch, old_places: Positions, new: pa.RecordBatch, new_places: Positions) -> Mask:
    """For each pair of rows whether all their values are the same."""
    are_equal = np.ones(len(old_places), np.bool_)
    for name in old.schema.names[:-1]:
        if not are_equal.any():
            break
        are_equal &= equal_cells(take_values(old[name], old_places), take_values(new[name], new_places))
    return are_equal


def _structs(rows: pa.RecordBatch, places: Positions) -> pa.StructArray:
    """The rows at these places without their addresses, null where there is none."""
    columns = [take_values(each, places) for each in rows.columns[:-1]]
    return pa.StructArray.from_arrays(columns, fields=list(rows.schema)[:-1], mask=pa.array(places == ABSENT))
