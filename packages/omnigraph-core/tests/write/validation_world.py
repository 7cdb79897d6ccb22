"""A graph for tests of validation: committed rows in plain memory, changes made of dicts, and the verdict on them.

``CommittedInMemory`` stands in for ``CommittedRows``. It notes every access, so that a test can hold what a judgement
may cost. Streams come in batches of two rows: what spans batches is the interesting case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.history.schemas import GraphSchema, TypeTable
from omnigraph.tables.facts import TablePart
from omnigraph.tables.interface import TablePin, WrittenRows
from omnigraph.write.changeset import ChangeMode, ChangeSet, NewRows, TypeChange
from omnigraph.write.problems import ProblemLog
from omnigraph.write.validation.changes import validate_changes
from omnigraph.write.validation.sets import Limits

DOMAIN = "01JCZZZZZZZZZZZZZZZZZZZZZZ"
BATCH = 2
SMALL = Limits()
LARGE = Limits(lookup_keys=0, memory_rows=0, build_rows=3, hash_rows=4)
"""Forces every question through DataFusion, in several pieces and passes."""

Records = Sequence[Mapping[str, Any]]

LIBRARY = """
interface Titled { title: String @index }
node Film implements Titled {
    code: String @key
    genre: enum(drama, sci-fi, docu)
    tags: [String]?
    stars: F32?
    released: Date?
    added: DateTime
    plot: String? @index
    plotVec: Vector(4)? @embed("plot", model="demo/embed") @index
    @range(stars, 0.0..5.0)
    @check(code, "^[A-Z]{2}-[0-9]+$")
}
node Person { handle: String @key  mail: String? @unique }
edge Directed: Person -> Film @card(0..)
edge Rented: Person -> Film { on: Date?  @unique(src, dst) }
edge Follows: Person -> Person
"""
"""The schema of the specification's conformance set, and the graph that it loads."""

FILMS: Records = (
    {"id": "SF-1", "code": "SF-1", "title": "Orbit", "genre": "sci-fi", "stars": 4.5, "added": 0},
    {"id": "DR-2", "code": "DR-2", "title": "Harbor", "genre": "drama", "stars": 3.0, "added": 0},
    {"id": "DO-3", "code": "DO-3", "title": "Salt", "genre": "docu", "added": 0},
)
PERSONS: Records = (
    {"id": "ann", "handle": "ann", "mail": "ann@x.org"},
    {"id": "bo", "handle": "bo"},
    {"id": "cy", "handle": "cy"},
)
DIRECTED: Records = ({"id": "d1", "src": "cy", "dst": "SF-1"},)
RENTED: Records = (
    {"id": "r1", "src": "ann", "dst": "SF-1"},
    {"id": "r2", "src": "ann", "dst": "DR-2"},
    {"id": "r3", "src": "bo", "dst": "SF-1"},
)
FOLLOWS: Records = (
    {"id": "f1", "src": "ann", "dst": "bo"},
    {"id": "f2", "src": "bo", "dst": "cy"},
    {"id": "f3", "src": "cy", "dst": "ann"},
    {"id": "f4", "src": "bo", "dst": "bo"},
)
STORED: Mapping[str, Records] = {
    "Film": FILMS,
    "Person": PERSONS,
    "Directed": DIRECTED,
    "Rented": RENTED,
    "Follows": FOLLOWS,
}


def table_of(target: TypeTable, records: Records) -> pa.Table:
    """Records as rows of a type, in batches of two; what is not given is null."""
    rows = [{name: record.get(name) for name in target.schema.names} for record in records]
    # A table may hold nulls where its schema wants none, which is one of the things to be found.
    loose = pa.schema([field.with_nullable(True) for field in target.schema])
    whole = pa.Table.from_pylist(rows, schema=loose)
    return pa.Table.from_batches(whole.to_batches(max_chunksize=BATCH), schema=loose)


class WrittenInMemory:
    """Stands in for ``TableStorage``, of rows in files and of versions, whose parts have two rows each."""

    def __init__(self) -> None:
        self.files: dict[str, pa.Table] = {}
        self.versions: dict[str, pa.Table] = {}

    def write(self, name: str, table: pa.Table) -> tuple[WrittenRows, ...]:
        """The rows of a table, written twice, the second time to two files."""
        cut = table.num_rows // 2
        made = []
        for half in ([table.slice(0, cut)], [table.slice(cut, 1), table.slice(cut + 1)]):
            fragments = tuple(self._file(part) for part in half if part.num_rows)
            rows = sum(each["physical_rows"] for each in fragments)
            if rows:
                made.append(WrittenRows(location=name, branch=None, fragments=fragments, row_count=rows, byte_count=0))
        return tuple(made)

    def _file(self, rows: pa.Table) -> dict[str, Any]:
        name = f"file-{len(self.files)}"
        self.files[name] = rows
        return {"physical_rows": rows.num_rows, "name": name}

    def read_written(self, written: WrittenRows, *, columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
        table = pa.concat_tables([self.files[each["name"]] for each in written.fragments])
        return (table if columns is None else table.select(list(columns))).to_reader(max_chunksize=BATCH)

    def open_at(self, pin: TablePin) -> pa.Table:
        return self.versions[pin.location]

    def parts(self, version: pa.Table) -> list[TablePart]:
        starts = range(0, version.num_rows, BATCH)
        counts = [min(BATCH, version.num_rows - start) for start in starts]
        return [
            TablePart(number=number, files="", deletions=None, row_count=count, live_count=count, byte_count=0)
            for number, count in enumerate(counts)
        ]

    def read(self, version: pa.Table, *, columns: Sequence[str], parts: Sequence[int]) -> pa.RecordBatchReader:
        rows = pa.concat_tables([version.slice(number * BATCH, BATCH) for number in parts])
        return rows.select(list(columns)).to_reader()


class CommittedInMemory:
    """Stands in for ``CommittedRows``.

    Attributes:
        accesses: every access, as the name of the method and the key of the table.
    """

    def __init__(self, schema: GraphSchema, records: Mapping[str, Records]) -> None:
        by_name = {target.name: target for target in schema.tables.values()}
        self.tables = WrittenInMemory()
        self.rows = {by_name[name].key: table_of(by_name[name], rows) for name, rows in records.items()}
        self.tables.versions = self.rows
        self.accesses: list[tuple[str, str]] = []

    def row_count(self, target: TypeTable) -> int:
        return self.rows[target.key].num_rows if target.key in self.rows else 0

    size_hint = row_count

    def without(self, removed: Mapping[str, pa.Array]) -> CommittedInMemory:
        return RemainingInMemory(self, removed)

    def pin_of_all(self, target: TypeTable) -> TablePin | None:
        return TablePin(location=target.key, branch=None, version=1)

    def read(self, target: TypeTable, columns: Sequence[str]) -> pa.RecordBatchReader:
        self.accesses.append(("read", target.key))
        return self.rows[target.key].select(list(columns)).to_reader(max_chunksize=BATCH)

    def lookup(
        self, target: TypeTable, keys: pa.Array, *, key: str = "id", columns: Sequence[str] | None = None
    ) -> pa.Table:
        self.accesses.append(("lookup", target.key))
        table = self.rows[target.key]
        found = table.filter(pc.is_in(table[key], value_set=keys))
        return found if columns is None else found.select(list(columns))

    def lookup_all(self, target: TypeTable, keys: Mapping[str, pa.Array], *, columns: Sequence[str]) -> pa.Table:
        self.accesses.append(("lookup_all", target.key))
        table = self.rows[target.key]
        parts = [pc.is_in(table[name], value_set=values) for name, values in keys.items()]
        return table.filter(reduce(pc.and_, parts)).select(list(columns))


class RemainingInMemory(CommittedInMemory):
    """The same without rows of some ids; how many there are is still the number of all, as it may be."""

    def __init__(self, every: CommittedInMemory, removed: Mapping[str, pa.Array]) -> None:
        self.tables, self.accesses = every.tables, every.accesses
        self._counts = {key: table.num_rows for key, table in every.rows.items()}
        self._removed = removed
        self.rows = {
            key: table.filter(pc.invert(pc.is_in(table["id"], value_set=removed[key]))) if key in removed else table
            for key, table in every.rows.items()
        }

    def row_count(self, target: TypeTable) -> int:
        return self._counts.get(target.key, 0)

    size_hint = row_count

    def pin_of_all(self, target: TypeTable) -> TablePin | None:
        return None if target.key in self._removed else super().pin_of_all(target)


class World:
    """A schema and what is committed; changes by the names of types."""

    def __init__(self, schema: str | GraphSchema, committed: Mapping[str, Records] | None = None) -> None:
        self.schema = GraphSchema.new(schema, DOMAIN) if isinstance(schema, str) else schema
        self.by_name = {target.name: target for target in self.schema.tables.values()}
        self.committed = CommittedInMemory(self.schema, committed or {})

    def change(
        self,
        name: str,
        mode: str,
        records: Records,
        removed: Sequence[str] | None = None,
        *,
        is_fresh: bool = False,
        is_written: bool = False,
    ) -> TypeChange:
        """A change of one type. The record with the ordinal n stands in line n + 1 of ``in.jsonl``.

        ``removed`` are ids of committed rows that go beside.
        """
        target = self.by_name[name]
        table = table_of(target, records)
        rows = NewRows(
            table=None if is_written else table,
            written=self.committed.tables.write(name, table) if is_written else (),
            row_count=table.num_rows,
            place_of=lambda row: ("in.jsonl", row + 1),
        )
        return TypeChange(
            target=target,
            mode=ChangeMode(mode),
            rows=rows,
            ids_are_fresh=is_fresh,
            removed=None if removed is None else self._removed(target, removed),
        )

    def _removed(self, target: TypeTable, removed: Sequence[str]) -> NewRows:
        columns = ["id", "src", "dst"] if target.kind == "edge" else ["id"]
        stored = self.committed.rows.get(target.key, target.schema.empty_table()).select(columns)
        table = stored.filter(pc.is_in(stored["id"], value_set=pa.array(removed, pa.string())))
        assert table.num_rows == len(removed)
        return NewRows(table=table, row_count=table.num_rows)

    def judge(
        self, *changes: TypeChange, limits: Limits = SMALL, keep: int = 1_000_000, values_are_checked: bool = False
    ) -> ProblemLog:
        """What is wrong with these changes together."""
        problems = ProblemLog(limit=keep)
        ordered = tuple(sorted(changes, key=lambda each: each.target.key))
        validate_changes(
            ChangeSet(changes=ordered),
            self.schema,
            self.committed,  # type: ignore[arg-type]
            problems,
            values_are_checked=values_are_checked,
            limits=limits,
        )
        return problems


def messages(problems: ProblemLog) -> list[str]:
    return [each.message for each in problems.kept]
