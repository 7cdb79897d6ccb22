"""Row against row: what both sides of a merge did since their base, and what becomes of it.

    base      source     target     result
    any       as base    any        the target's row stays
    any       any        as base    the source's row is taken: inserted, changed or gone
    any       as target  as source  it stays: both did the same
    none      a row      another    divergent_insert
    a row     none       changed    delete_vs_update, and so the other way round
    a row     changed    otherwise  divergent_update

Both sides come as differences from the base, by ascending id, and are compared some rows at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.diff import images
from omnigraph.engine.entities import ABSENT, Positions, index_in
from omnigraph.engine.equality import equal_rows
from omnigraph.engine.row_changes import RowChanges
from omnigraph.errors import MergeConflict, MergeConflictKind
from omnigraph.history.schemas import TypeTable
from omnigraph.write.merge.streams import Changes, side_by_side

Side = Literal["ours", "theirs"]
"""Whose row is taken: ``ours`` is the target's, ``theirs`` the source's."""

Resolve = Callable[[MergeConflict], Side | None]
"""Decides a conflict, or leaves it one."""

_MESSAGES: Final = {
    MergeConflictKind.DIVERGENT_INSERT: "both branches inserted it, with different values",
    MergeConflictKind.DIVERGENT_UPDATE: "both branches changed it, to different values",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedRows:
    """What becomes of some rows of the target.

    Attributes:
        changes: what is decided: rows of the target, and what is to be there instead; with addresses in the base.
        undecided: rows that the target deleted and the source changed, where nobody decided: with the source's row.
        conflicts: those that nobody decided.
        resolved: how many were decided.
    """

    changes: RowChanges
    undecided: RowChanges
    conflicts: tuple[MergeConflict, ...] = ()
    resolved: int = 0


def merge_rows(target: TypeTable, theirs: Changes, ours: Changes, resolve: Resolve) -> Iterator[MergedRows]:
    """What to do to the rows of the target branch, given what the source and the target did since the base."""
    for source, own in side_by_side(target, theirs, ours):
        if len(source):
            yield _merged(target, source, own, resolve)


def _merged(target: TypeTable, source: RowChanges, own: RowChanges, resolve: Resolve) -> MergedRows:
    found = index_in(source.ids, own.ids)
    # What the target has where the source changed something: what it made of it, or what the base had.
    theirs, is_own = source.after, found != ABSENT
    ours = _replaced(source.before, own.after, found)
    takes = ~is_own
    conflicts, undecided, resolved = list[MergeConflict](), list[int](), 0
    torn = np.flatnonzero(is_own)[~equal_rows(theirs.filter(pa.array(is_own)), ours.filter(pa.array(is_own)))]
    told = _conflicts(target, source.take(torn), ours.take(pa.array(torn)))
    for place, conflict in zip(torn.tolist(), told, strict=True):
        side = resolve(conflict)
        if side is None:
            conflicts.append(conflict)
            if conflict.target is None:
                undecided.append(place)
        else:
            takes[place] = side == "theirs"
            resolved += 1
    # Of what the target changed itself, the row of the base is not the target's.
    addresses = pc.if_else(pa.array(is_own), pa.scalar(None, pa.uint64()), source.addresses)
    rows = RowChanges(ids=source.ids, before=ours, after=theirs, addresses=addresses)
    return MergedRows(
        changes=rows.take(np.flatnonzero(takes)),
        undecided=rows.take(np.array(undecided, np.int64)),
        conflicts=tuple(conflicts),
        resolved=resolved,
    )


def _replaced(rows: pa.StructArray, others: pa.StructArray, places: Positions) -> pa.StructArray:
    """Rows, with others at some places; ``ABSENT`` where the row itself stays."""
    if not (places != ABSENT).any():
        return rows
    order = np.where(places == ABSENT, np.arange(len(rows)), places + len(rows))
    return pa.concat_arrays([rows, others]).take(pa.array(order))


def _conflicts(target: TypeTable, source: RowChanges, ours: pa.StructArray) -> Iterator[MergeConflict]:
    """That rows of both branches differ, one by one."""
    sides = (_images(target, each) for each in (source.before, source.after, ours))
    for row_id, base, theirs, own in zip(source.ids.to_pylist(), *sides, strict=True):
        kind = MergeConflictKind.DIVERGENT_INSERT if base is None else MergeConflictKind.DIVERGENT_UPDATE
        if theirs is None or own is None:
            kind = MergeConflictKind.DELETE_VS_UPDATE
        gone = "source" if theirs is None else "target"
        yield MergeConflict(
            kind=kind,
            entity=target.kind,
            type=target.name,
            id=row_id,
            message=_MESSAGES.get(kind, f"the {gone} branch deleted it and the other one changed it"),
            base=base,
            source=theirs,
            target=own,
        )


def _images(target: TypeTable, rows: pa.StructArray) -> list[dict[str, Any] | None]:
    """Rows as JSON values, of edges with their ends; no property can be called as these are."""
    found = images(target, rows)
    if target.kind == "node":
        return found
    ends = zip(rows.field("src").to_pylist(), rows.field("dst").to_pylist(), strict=True)
    return [
        None if each is None else {"src": start, "dst": end, **each}
        for each, (start, end) in zip(found, ends, strict=True)
    ]
