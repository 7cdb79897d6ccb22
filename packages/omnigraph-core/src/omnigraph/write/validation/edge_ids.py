"""Ids of edges in a merge: an edge without an id is the committed edge with the same unique tuple, if there is one.

A type that declares ``@unique(src, dst)``, or a wider tuple, so has edges that can be recognised, and loading a file
twice changes nothing. ``keep_last`` settles what a merge does with records of the same id.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.history.schemas import TypeTable
from omnigraph.schema import Unique
from omnigraph.write.committed import CommittedRows
from omnigraph.write.validation.change_rows import committed_rows, new_rows, rows_like, table_rows
from omnigraph.write.validation.questions import HELD, meet, superseded
from omnigraph.write.validation.sets import LIMITS, Limits, Rows


def merge_tuple(target: TypeTable) -> tuple[str, ...] | None:
    """The columns by which edges of a type are recognised: the narrowest ``@unique`` with ``src`` and ``dst``."""
    if target.kind != "edge":
        return None
    rules = [rule.columns for rule in target.type.constraints if isinstance(rule, Unique)]
    return min(
        (each for each in rules if {"src", "dst"} <= set(each)), key=lambda each: (len(each), each), default=None
    )


def resolve_edge_ids(
    target: TypeTable, rows: pa.Table, committed: CommittedRows, *, limits: Limits = LIMITS
) -> pa.Table:
    """Rows of an edge type of which each that has no id takes that of the committed edge with the same tuple.

    Rows that meet none keep their null. An edge that another row names by its id is not taken: that row may give it
    another tuple.
    """
    columns = merge_tuple(target)
    is_open = rows["id"].is_null()
    if columns is None or not pc.any(is_open).as_py() or not committed.row_count(target):
        return rows
    waiting = rows.select(columns).filter(is_open)
    names = {f"k{index}": column for index, column in enumerate(columns)}
    with_id = {"id": "id", **names}
    ours = new_rows(target, waiting, names, limits)
    if waiting.num_rows <= limits.lookup_keys:
        theirs = table_rows(target, rows_like(committed, target, columns, waiting), with_id)
    else:
        theirs = committed_rows(committed, target, with_id)
    pairs = pa.Table.from_batches(meet(ours, theirs, limits), schema=HELD)
    pairs = pairs.filter(pc.invert(pc.is_in(pairs["holder"], value_set=rows["id"].drop_null())))
    # Should several committed edges share a tuple, the choice must not depend on the order of rows.
    pairs = pairs.group_by("row", use_threads=False).aggregate([("holder", "min")]).sort_by("row")
    places = np.flatnonzero(is_open.to_numpy())[pairs["row"].to_numpy()]
    mask = np.zeros(rows.num_rows, bool)
    mask[places] = True
    ids = pc.replace_with_mask(rows["id"].combine_chunks(), pa.array(mask), pairs["holder_min"].combine_chunks())
    return rows.set_column(rows.schema.get_field_index("id"), rows.schema.field("id"), ids)


def keep_last(rows: pa.Table, *, limits: Limits = LIMITS) -> pa.Table:
    """The rows without those that a later one of the same id replaces; the order stays. Null ids are all kept."""
    numbers = np.arange(rows.num_rows)
    ids = pa.table({"row": numbers, "key": rows["id"]}).drop_null()
    lost = superseded(Rows.of(ids, row_count=rows.num_rows), limits)
    return rows if lost is None else rows.filter(pa.array(~lost))
