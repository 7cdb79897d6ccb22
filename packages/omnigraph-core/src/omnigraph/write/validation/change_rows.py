"""From changes and committed tables to ``Rows``: numbered, in comparable columns, without what no question is about.

``ChangedRows`` shows the new rows of one type: all records, or the final image, where the last record of an id has
won. ``committed_rows`` streams what is committed, ``rows_like`` finds the few committed rows that could share a tuple
with a few new ones, without a scan. The number of a new row is its ordinal, from which its place in the input follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.cancellation import check_cancelled
from omnigraph.history.schemas import TypeTable
from omnigraph.tables.interface import TableStorage
from omnigraph.write.changeset import ChangeMode, TypeChange
from omnigraph.write.committed import CommittedRows
from omnigraph.write.validation.questions import Mask, superseded
from omnigraph.write.validation.row_sets import RowSet, pinned_pieces, read_piece, written_pieces
from omnigraph.write.validation.sets import BATCH_ROWS, Limits, Rows

ROW = pa.field("row", pa.int64())


class ChangedRows:
    """The new rows of one type, as validators ask for them. Not shared between threads."""

    def __init__(self, change: TypeChange, tables: TableStorage, limits: Limits) -> None:
        self.change = change
        self.target = change.target
        self.mode = change.mode
        self.row_count = change.rows.row_count
        self._tables = tables
        self._limits = limits

    @property
    def is_few(self) -> bool:
        """Whether committed rows are to be looked up rather than read."""
        return self.row_count <= self._limits.lookup_keys

    @property
    def can_replace(self) -> bool:
        """Whether a row of this change may take the place of a committed one of the same id."""
        return self.mode is ChangeMode.UPSERT and not self.change.ids_are_fresh

    @cached_property
    def removed_ids(self) -> pa.Array:
        """The ids of rows that go beside those that are written."""
        return self._removed_column("id")

    @cached_property
    def removed_sources(self) -> pa.Array:
        """The sources of edges that go beside those that are written."""
        return self._removed_column("src")

    def _removed_column(self, name: str) -> pa.Array:
        removed = self.change.removed
        found = None if removed is None else removed.read(self._tables, [name]).read_all()[name]
        return pa.array([], pa.string()) if found is None else found.combine_chunks()

    def records(self, columns: Mapping[str, str]) -> Rows:
        """All records. ``columns`` says which column becomes which; a record with a null in one of them is left out."""
        return self._rows(columns, None)

    def final(self, columns: Mapping[str, str]) -> Rows:
        """As ``records``, without those that a later record of the same id replaces."""
        return self._rows(columns, self._superseded)

    @cached_property
    def _superseded(self) -> Mask | None:
        # A repeated key is a violation and a fresh id never repeats.
        if not self.can_replace or self.target.key_columns:
            return None
        return superseded(self.records({"key": "id"}), self._limits)

    def _rows(self, columns: Mapping[str, str], without: Mask | None) -> Rows:
        schema = _schema_of(self.target, columns, is_numbered=True)

        def open_rows() -> Iterator[pa.RecordBatch]:
            batches = _numbered(self.read(list(columns.values())), columns, schema)
            return batches if without is None else (_without(each, without) for each in batches)

        def describe() -> RowSet:
            pieces = written_pieces(self.change.rows.written)
            return RowSet(schema=schema, columns=tuple(columns.items()), row_count=self.row_count, pieces=pieces)

        lies_in_files = without is None and self.change.rows.table is None
        origin = describe if lies_in_files else None
        rows = Rows(schema=schema, row_count=self.row_count, open=open_rows, origin=origin)
        return _in_memory_if_few(rows, self._limits)

    def read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All records with these columns as they are, in batches of even size: a question has its price per batch."""
        if not self.row_count:
            return
        held: list[pa.RecordBatch] = []
        rows = 0
        for batch in self.change.rows.read(self._tables, list(dict.fromkeys(columns))):
            check_cancelled()
            for start in range(0, batch.num_rows, BATCH_ROWS):
                held.append(batch.slice(start, BATCH_ROWS))
                rows += held[-1].num_rows
                if rows >= BATCH_ROWS:
                    yield pa.concat_batches(held)
                    held, rows = [], 0
        if held:
            yield pa.concat_batches(held)

    def at(self, numbers: Sequence[int], columns: Sequence[str]) -> list[dict[str, object]]:
        """Some records by number, with comparable values of these columns, in the order asked for."""
        # A property may be called "row".
        named = {f"k{index}": column for index, column in enumerate(columns)}
        schema = _schema_of(self.target, named, is_numbered=True)
        found = records_at(_numbered(self.read(columns), named, schema, keep_nulls=True), numbers)
        return [{column: record[name] for name, column in named.items()} for record in found]


def new_rows(target: TypeTable, table: pa.Table, columns: Mapping[str, str], limits: Limits) -> Rows:
    """Rows of a table as ``ChangedRows.records`` would give them; their numbers are their places in it."""
    schema = _schema_of(target, columns, is_numbered=True)

    def open_rows() -> Iterator[pa.RecordBatch]:
        return _numbered(table.to_batches(max_chunksize=BATCH_ROWS), columns, schema)

    return _in_memory_if_few(Rows(schema=schema, row_count=table.num_rows, open=open_rows), limits)


def _in_memory_if_few(rows: Rows, limits: Limits) -> Rows:
    return rows if rows.row_count > limits.memory_rows else Rows.of(rows.read_all(), row_count=rows.row_count)


def records_at(batches: Iterable[pa.RecordBatch], numbers: Sequence[int]) -> list[dict[str, object]]:
    """The rows with these numbers, of batches in order."""
    if not numbers:
        return []
    wanted, last = pa.array(sorted(set(numbers)), pa.int64()), max(numbers)
    found: dict[int, dict[str, object]] = {}
    for batch in batches:
        for record in batch.filter(pc.is_in(batch["row"], value_set=wanted)).to_pylist():
            found[record.pop("row")] = record
        if batch.num_rows and batch["row"][-1].as_py() >= last:
            break
    return [found[number] for number in numbers]


# ── committed rows ───────────────────────────────────────────────────────────────────────────────────────────────


def committed_rows(
    committed: CommittedRows, target: TypeTable, columns: Mapping[str, str], *, is_numbered: bool = False
) -> Rows:
    """What is committed of a type, as a stream; a row with a null in one of the columns is left out."""
    schema = _schema_of(target, columns, is_numbered=is_numbered)

    def open_rows() -> Iterator[pa.RecordBatch]:
        return _numbered(committed.read(target, list(dict.fromkeys(columns.values()))), columns, schema)

    row_count = committed.row_count(target)

    def describe() -> RowSet | None:
        pin = committed.pin_of_all(target)
        if pin is None:
            return None
        pieces = pinned_pieces(pin, committed.tables)
        return RowSet(schema=schema, columns=tuple(columns.items()), row_count=row_count, pieces=pieces)

    return Rows(schema=schema, row_count=row_count, open=open_rows, origin=describe)


def read_row_set(rows: RowSet, numbers: Sequence[int], tables: TableStorage) -> Iterator[pa.RecordBatch]:
    """The rows of some pieces of a set, as ``Rows.open`` would give them where the set comes from."""
    columns = dict(rows.columns)
    for number in numbers:
        piece = rows.pieces[number]
        batches = read_piece(piece, list(dict.fromkeys(columns.values())), tables)
        yield from _numbered(batches, columns, rows.schema, first=piece.first)


def table_rows(target: TypeTable, table: pa.Table, columns: Mapping[str, str]) -> Rows:
    """Committed rows that are in memory, as ``committed_rows`` would give them."""
    schema = _schema_of(target, columns, is_numbered=False)
    return Rows.of(pa.Table.from_batches(_numbered(table.to_batches(), columns, schema), schema=schema))


def rows_like(committed: CommittedRows, target: TypeTable, columns: Sequence[str], like: pa.Table) -> pa.Table:
    """The committed rows, with ``id``, that have in each of these columns one of the values of ``like`` there.

    So all that share a tuple with one of its rows, and possibly some more. For few rows.
    """
    keys = {name: _with_both_zeros(like[name].unique().drop_null()) for name in columns}
    wanted = list(dict.fromkeys(("id", *columns)))
    if len(columns) == 1:
        return committed.lookup(target, keys[columns[0]], key=columns[0], columns=wanted)
    # One column alone may have a value in half of all rows.
    return committed.lookup_all(target, keys, columns=wanted)


def _with_both_zeros(keys: pa.Array) -> pa.Array:
    if not pa.types.is_floating(keys.type) or not pc.any(pc.equal(keys, 0)).as_py():
        return keys
    return pa.concat_arrays([keys, pa.array([0.0, -0.0], keys.type)])


# ── columns ──────────────────────────────────────────────────────────────────────────────────────────────────────


def comparable(column: pa.Array) -> pa.Array:
    """Values of which equal ones are equal bit by bit, in types that every set operation knows."""
    kind = column.type
    if pa.types.is_floating(kind):
        return pc.add(column, pa.scalar(0, kind))  # so -0.0 becomes 0.0
    if pa.types.is_uint64(kind):
        return column.view(pa.int64())
    target = _comparable_type(kind)
    return column if target == kind else column.cast(target)


def _comparable_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_unsigned_integer(kind) or pa.types.is_date64(kind):
        return pa.int64()
    return pa.int32() if pa.types.is_date32(kind) else kind


def _schema_of(target: TypeTable, columns: Mapping[str, str], *, is_numbered: bool) -> pa.Schema:
    fields = [pa.field(name, _comparable_type(target.schema.field(column).type)) for name, column in columns.items()]
    return pa.schema([ROW, *fields] if is_numbered else fields)


def _numbered(
    batches: Iterable[pa.RecordBatch],
    columns: Mapping[str, str],
    schema: pa.Schema,
    *,
    first: int = 0,
    keep_nulls: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Batches with the columns that the schema names, and the number of each row if it names that."""
    position = first
    for batch in batches:
        arrays = [comparable(batch[column]) for column in columns.values()]
        if schema.names[0] == "row":
            arrays.insert(0, pa.array(np.arange(position, position + batch.num_rows)))
        position += batch.num_rows
        made = pa.RecordBatch.from_arrays(arrays, schema=schema)
        yield made if keep_nulls or not any(each.null_count for each in arrays) else made.drop_null()


def _without(batch: pa.RecordBatch, mask: Mask) -> pa.RecordBatch:
    return batch.filter(pa.array(~mask[batch["row"].to_numpy()]))
