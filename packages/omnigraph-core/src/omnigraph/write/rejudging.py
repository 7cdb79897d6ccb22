"""What of a large write has to be judged again when others published first: the rows that they could have made wrong.

    judged on one snapshot ──┐
    what differs in another ─┴──> touched_changes ──> a small ChangeSet, judged as any other

A verdict about millions of rows took long, and what others did meanwhile is little. A row that was right can be wrong
now only if a committed row changed that it met: one with its id or its unique values, a node that it starts or ends at,
an edge that counts with it. Rows that met none of these need no second look. Only rows that are to be new are judged
this way: whether a row replaces another one may have changed for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.row_changes import row_changes
from omnigraph.history.schemas import GraphSchema, TypeTable
from omnigraph.history.snapshot import Snapshot
from omnigraph.schema import EdgeType
from omnigraph.tables.interface import TableStorage
from omnigraph.write.changeset import ChangeMode, ChangeSet, NewRows, TypeChange
from omnigraph.write.validation.change_rows import comparable
from omnigraph.write.validation.edges import ENDS, ends_of
from omnigraph.write.validation.unique import unique_tuples

FEW_ROWS: Final = 50_000
"""A write of so many rows is judged as a whole again: that takes moments."""

MAX_DIFFERING: Final = 100_000
"""More rows than these that others changed are not held against the write one by one."""

Chosen = Callable[[pa.RecordBatch], pa.BooleanArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A verdict that holds on one snapshot.

    Attributes:
        read_keys: keys of the tables whose rows mattered to it.
    """

    snapshot: Snapshot
    read_keys: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Difference:
    """What others did to one type: ids of rows that changed, those that went, and the rows before and after."""

    ids: pa.Array
    removed: pa.Array
    rows: pa.StructArray


def touched_changes(
    changes: ChangeSet, schema: GraphSchema, judged: Judged, newer: Snapshot, tables: TableStorage
) -> ChangeSet | None:
    """The rows of changes that were right when they were judged, and may be wrong on a newer snapshot.

    None where all have to be judged: they are few, may replace others, or others changed too much.

    Raises:
        StorageError: what others did cannot be read any more.
    """
    total = sum(each.rows.row_count for each in changes.changes)
    if total <= FEW_ROWS or any(each.mode is not ChangeMode.INSERT for each in changes.changes):
        return None
    found: dict[str, _Difference] = {}
    left = MAX_DIFFERING
    for key in sorted(judged.read_keys):
        difference = _difference(schema.tables[key], judged.snapshot, newer, tables, left)
        if difference is None:
            return None
        left -= len(difference.ids)
        found[key] = difference
    edges = [_touched(each, schema, found, tables) for each in changes.changes if each.target.kind == "edge"]
    ends = _ends(edges, schema)
    nodes = [
        _only(each, _any([*_by_ids(each, found), *_by_values("id", ends.get(each.target.key))]), tables)
        for each in changes.changes
        if each.target.kind == "node"
    ]
    return ChangeSet(changes=tuple(each for each in (*edges, *nodes) if each.rows.row_count))


def _difference(
    target: TypeTable, older: Snapshot, newer: Snapshot, tables: TableStorage, most: int
) -> _Difference | None:
    """What differs of a type between two snapshots; None when that is too much."""
    before, after = older.entry(target).pin, newer.entry(target).pin
    ids, removed, rows = [pa.array([], pa.string())], [pa.array([], pa.string())], [_no_rows(target)]
    count = 0
    for changed in row_changes(tables, target, before, after):
        count += len(changed)
        if count > most:
            return None
        ids.append(changed.ids)
        removed.append(changed.ids.filter(changed.after.is_null()))
        rows += [changed.before.drop_null(), changed.after.drop_null()]
    return _Difference(ids=pa.concat_arrays(ids), removed=pa.concat_arrays(removed), rows=pa.concat_arrays(rows))


def _no_rows(target: TypeTable) -> pa.StructArray:
    return pa.array([], pa.struct(list(target.schema)))


# ── which rows met what others did ───────────────────────────────────────────────────────────────────────────────────


def _touched(
    change: TypeChange, schema: GraphSchema, found: Mapping[str, _Difference], tables: TableStorage
) -> TypeChange:
    """The edges of a change that met what others did, and where edges are counted, all that start with one of them."""
    target = change.target
    bounds = target.type.cardinality if isinstance(target.type, EdgeType) else None
    is_counted = bounds is not None and (bounds.minimum > 0 or bounds.maximum is not None)
    tests = _by_ids(change, found)
    for end, node in ends_of(schema, target).items():
        tests += _by_values(end, found[node.key].removed if node.key in found else None)
    sources = None
    if is_counted and target.key in found:
        sources = found[target.key].rows.field("src")
        tests += _by_values("src", sources)
    touched = _only(change, _any(tests), tables)
    if not is_counted or touched.rows.table is None or not touched.rows.row_count:
        return touched
    # Counting some edges of a source and not the others would find too few.
    return _only(change, _any(_by_values("src", touched.rows.table["src"].combine_chunks())), tables)


def _by_ids(change: TypeChange, found: Mapping[str, _Difference]) -> list[Chosen]:
    """Whether a row has the id, or could have the unique values, of one that others changed."""
    difference = found.get(change.target.key)
    if difference is None or not len(difference.ids):
        return []
    tests = [] if change.ids_are_fresh else _by_values("id", difference.ids)
    for columns in unique_tuples(change.target):
        # A null in a tuple exempts the row.
        values = {name: comparable(difference.rows.field(name)).unique().drop_null() for name in columns}

        def could_be_same(batch: pa.RecordBatch, values: dict[str, pa.Array] = values) -> pa.BooleanArray:
            each = [pc.is_in(comparable(batch[name]), value_set=known) for name, known in values.items()]
            return pa.array(np.logical_and.reduce([one.to_numpy(zero_copy_only=False) for one in each]))

        tests.append(could_be_same)
    return tests


def _by_values(column: str, values: pa.Array | None) -> list[Chosen]:
    if values is None or not len(values):
        return []
    known = values.unique()
    return [lambda batch: pc.is_in(batch[column], value_set=known)]


def _any(tests: list[Chosen]) -> Chosen | None:
    if not tests:
        return None
    return lambda batch: pa.array(np.logical_or.reduce([each(batch).to_numpy(zero_copy_only=False) for each in tests]))


def _ends(edges: list[TypeChange], schema: GraphSchema) -> dict[str, pa.Array]:
    """The nodes that edges start or end at, by type."""
    found: dict[str, list[pa.Array]] = {}
    for each in edges:
        if each.rows.table is not None and each.rows.row_count:
            for end, node in ends_of(schema, each.target).items():
                found.setdefault(node.key, []).append(each.rows.table[end].combine_chunks())
    return {key: pa.concat_arrays(arrays) for key, arrays in found.items()}


def _only(change: TypeChange, is_wanted: Chosen | None, tables: TableStorage) -> TypeChange:
    """A change with some of its rows, in memory, with the columns that rules about other rows are about."""
    target, rows = change.target, change.rows
    names = {"id", *(ENDS if target.kind == "edge" else ()), *(name for each in unique_tuples(target) for name in each)}
    columns = [name for name in target.schema.names if name in names]
    schema = pa.schema([target.schema.field(name) for name in columns])
    chosen: list[pa.RecordBatch] = []
    numbers: list[np.ndarray[tuple[int], np.dtype[np.int64]]] = [np.zeros(0, np.int64)]
    if is_wanted is not None:
        for first, batch in _numbered(rows.read(tables, columns)):
            mask = is_wanted(batch)
            chosen.append(batch.filter(mask))
            numbers.append(np.flatnonzero(mask.to_numpy(zero_copy_only=False)) + first)
    table, places = pa.Table.from_batches(chosen, schema=schema), np.concatenate(numbers)
    kept = NewRows(table=table, row_count=table.num_rows, place_of=lambda row: rows.place_of(int(places[row])))
    return replace(change, rows=kept)


def _numbered(batches: pa.RecordBatchReader) -> Iterator[tuple[int, pa.RecordBatch]]:
    first = 0
    for batch in batches:
        yield first, batch
        first += batch.num_rows
