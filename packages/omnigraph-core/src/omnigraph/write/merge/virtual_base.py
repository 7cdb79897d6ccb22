"""What two branches are compared with where they merged each other: not one of their last common commits, but all.

    root ──┬── base ───┬──> source          virtual base = base and others, merged with each other
           └── other ──┴──> target          of a row that both changed: the root's row

Compared with the base alone, what only ``other`` did looks like a change of both branches, and what one branch did to
it since looks like none. Where the two changed a row to different things, each branch has decided since; the row of the
root is neither, so both decisions count as changes.

Differences are streams by ascending id and are put together as such, so memory does not grow with them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.entities import ABSENT, Positions, index_in, take_values
from omnigraph.engine.equality import equal_rows
from omnigraph.engine.frame import Mask
from omnigraph.engine.row_changes import RowChanges, row_changes
from omnigraph.history.schemas import TypeTable
from omnigraph.tables.interface import TablePin, TableStorage
from omnigraph.write.merge.heads import TypeCrossing, TypeHeads
from omnigraph.write.merge.streams import Changes, side_by_side


def changes_since_base(tables: TableStorage, heads: TypeHeads, pin: TablePin) -> Changes:
    """What a branch did to a type since it parted from the other: how ``pin`` differs from what both began with."""
    found = row_changes(tables, heads.type, heads.base.pin, pin)
    if not heads.crossings:
        return found
    back = (_inverted(each) for each in _to_virtual_base(tables, heads, heads.crossings))
    return _composed(heads.type, back, found)


def _to_virtual_base(tables: TableStorage, heads: TypeHeads, crossings: Sequence[TypeCrossing]) -> Changes:
    """How what the base and others amount to differs from the base."""
    if not crossings:
        return iter(())
    target, base, last = heads.type, heads.base.pin, crossings[-1]
    before = crossings[:-1]
    from_root = row_changes(tables, target, last.root, base)
    ours = _composed(target, from_root, _to_virtual_base(tables, heads, before))
    theirs = row_changes(tables, target, last.root, last.other)
    return _composed(target, _to_virtual_base(tables, heads, before), _taken_in(target, theirs, ours))


def _taken_in(target: TypeTable, theirs: Changes, ours: Changes) -> Changes:
    """What ``ours`` becomes by taking ``theirs`` in, both from one root; the root's row where they disagree."""
    for their, our in side_by_side(target, theirs, ours):
        found = index_in(their.ids, our.ids)
        is_shared = found != ABSENT
        own = take_values(our.after, found)
        is_torn = is_shared.copy()
        is_torn[is_shared] = ~equal_rows(their.after.filter(pa.array(is_shared)), own.filter(pa.array(is_shared)))
        chosen = np.flatnonzero(~is_shared | is_torn)
        yield RowChanges(
            ids=their.ids,
            before=_either(is_torn, own, their.before),
            after=_either(is_torn, their.before, their.after),
            addresses=pa.nulls(len(their), pa.uint64()),
        ).take(chosen)


def _composed(target: TypeTable, first: Changes, second: Changes) -> Changes:
    """Changes from one state to another and on to a third, as changes from the one to the third.

    Addresses are those of rows that only the second changed, as it tells them.
    """
    for one, two in side_by_side(target, first, second):
        found = index_in(one.ids, two.ids)
        is_followed = found != ABSENT
        is_second = np.ones(len(two), np.bool_)
        is_second[found[is_followed]] = False
        on_its_own = two.take(np.flatnonzero(is_second))
        both = RowChanges(
            ids=one.ids,
            before=one.before,
            after=_either(is_followed, take_values(two.after, found), one.after),
            addresses=pa.nulls(len(one), pa.uint64()),
        ).take(np.flatnonzero(~_are_undone(one, two, found)))
        yield _in_order(both, on_its_own)


def _are_undone(one: RowChanges, two: RowChanges, found: Positions) -> Mask:
    """Which of the first changes the second ones take back."""
    is_followed = found != ABSENT
    undone = np.zeros(len(one), np.bool_)
    chosen = pa.array(is_followed)
    undone[is_followed] = equal_rows(one.before.filter(chosen), two.after.take(pa.array(found[is_followed])))
    return undone


def _in_order(some: RowChanges, others: RowChanges) -> RowChanges:
    """Changes of different rows together, by ascending id."""
    together = RowChanges(
        ids=pa.concat_arrays([some.ids, others.ids]),
        before=pa.concat_arrays([some.before, others.before]),
        after=pa.concat_arrays([some.after, others.after]),
        addresses=pa.concat_arrays([some.addresses, others.addresses]),
    )
    return together.take(pc.sort_indices(together.ids).to_numpy().astype(np.int64))


def _inverted(rows: RowChanges) -> RowChanges:
    return RowChanges(ids=rows.ids, before=rows.after, after=rows.before, addresses=pa.nulls(len(rows), pa.uint64()))


def _either(is_one: Mask, one: pa.StructArray, other: pa.StructArray) -> pa.StructArray:
    """Rows of the one or of the other, place by place."""
    places = np.arange(len(other))
    return pa.concat_arrays([one, other]).take(pa.array(np.where(is_one, places, places + len(one))))
