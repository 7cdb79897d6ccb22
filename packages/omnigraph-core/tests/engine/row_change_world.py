"""A table on several lines whose versions are compared: by the engine, and by reading all of them."""

from __future__ import annotations

import secrets
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from omnigraph.engine.differing_rows import HeldLimits
from omnigraph.engine.row_changes import MAX_CHANGES, RowChanges, row_changes
from omnigraph.history.schemas import GraphSchema
from omnigraph.storage import parse_uri
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.tables.interface import SnapshotHandle, StagedHandle, TablePin
from omnigraph.tables.lance_tables import LanceTables

SCHEMA = GraphSchema.new(
    """
    node Plain {
        key: String @key
        n: I64?
    }
    node Thing {
        _row_x: I32?
        f32: F32?
        f64: F64?
        numbers: [F64]?
        picture: Blob?
        tags: [String]?
        text: String?
        vector: Vector(2)?
    }
    edge Link: Thing -> Thing {
        since: Date?
        u64: U64?
        when: DateTime?
    }
    """,
    "0" * 26,
)

Row = Mapping[str, Any]
Images = tuple[Any, Any]
"""A row before and after, None where it is not there; in the form of ``rows_of``."""

IN_MEMORY = HeldLimits()
BY_STREAMS = HeldLimits(row_count=0, byte_count=0)


class Lines:
    """The versions of one table: the main line and its forks."""

    def __init__(self, key: str, first: Sequence[Row] = ()) -> None:
        self.target = SCHEMA.tables[key]
        self.tables = LanceTables(MemoryAdapter(parse_uri(f"memory://row-changes-{secrets.token_hex(6)}")))
        staged = self.tables.stage_create(self.target.location, self.target.schema, self.table_of(first))
        self.versions = [self.tables.commit_create(staged)]
        self.heads = [0]

    def table_of(self, rows: Sequence[Row]) -> pa.Table:
        return pa.Table.from_pylist([dict(each) for each in rows], self.target.schema)

    def head(self, line: int = 0) -> SnapshotHandle:
        return self.versions[self.heads[line]]

    def pin(self, version: int) -> TablePin:
        return self.versions[version].pin

    def contents(self, version: int) -> dict[str, Any]:
        """All rows of a version by id."""
        batches = self.tables.read(self.versions[version])
        return {row["id"]: row for batch in batches for row in rows_of(batch.to_struct_array())}

    def append(self, rows: Sequence[Row], line: int = 0) -> None:
        self._commit(line, self.tables.stage_append(self.head(line), self.table_of(rows)))

    def upsert(self, rows: Sequence[Row], line: int = 0) -> None:
        self._commit(line, self.tables.stage_upsert(self.head(line), self.table_of(rows)))

    def overwrite(self, rows: Sequence[Row], line: int = 0) -> None:
        self._commit(line, self.tables.stage_overwrite(self.head(line), self.table_of(rows)))

    def delete(self, ids: Sequence[str], line: int = 0) -> None:
        staged = self.tables.stage_delete_keys(self.head(line), pa.array(ids, pa.string()))
        if staged is not None:
            self._commit(line, staged)

    def fold(self, line: int = 0) -> None:
        head = self.head(line)
        folded = self.tables.fold_rows(head, [each.number for each in self.tables.parts(head)])
        if folded is not None:
            self._commit(line, *self.tables.stage_fold(head, folded, []))

    def fork(self, line: int = 0) -> int:
        """The number of a new line that starts where another one is."""
        self.versions.append(self.tables.fork(self.head(line), f"b{secrets.token_hex(8)}"))
        self.heads.append(len(self.versions) - 1)
        return len(self.heads) - 1

    def changes(self, before: int | None, after: int | None, limits: HeldLimits = IN_MEMORY) -> dict[str, Images]:
        """What is found to differ between two versions, by id, after a look at its form."""
        return images_of(self.batches(before, after, limits))

    def batches(self, before: int | None, after: int | None, limits: HeldLimits = IN_MEMORY) -> Iterator[RowChanges]:
        old, new = (None if each is None else self.pin(each) for each in (before, after))
        for each in row_changes(self.tables, self.target, old, new, limits=limits):
            for side in (each.before, each.after):
                side.validate()
                assert list(side.type) == list(self.target.schema)
            yield each

    def expected(self, before: int | None, after: int | None) -> dict[str, Images]:
        """What differs between two full reads."""
        old, new = ({} if each is None else self.contents(each) for each in (before, after))
        return {key: (old.get(key), new.get(key)) for key in old | new if old.get(key) != new.get(key)}

    def _commit(self, line: int, *staged: StagedHandle) -> None:
        self.versions.append(self.tables.commit_exact(self.head(line), staged))
        self.heads[line] = len(self.versions) - 1


def images_of(batches: Iterator[RowChanges]) -> dict[str, Images]:
    """Changes by id, after a look at their order and their size."""
    found: dict[str, Images] = {}
    ids: list[str] = []
    for each in batches:
        assert 0 < len(each) <= MAX_CHANGES
        ids += each.ids.to_pylist()
        for key, *images in zip(each.ids.to_pylist(), rows_of(each.before), rows_of(each.after), strict=True):
            assert {image["id"] for image in images if image is not None} == {key}
            found[key] = images[0], images[1]
    assert ids == sorted(found, key=str.encode)
    return found


def rows_of(rows: pa.StructArray) -> list[dict[str, Any] | None]:
    """Rows as values that are equal when they have the same bits; None where a row is not there."""
    fields = [each.name for each in rows.type]
    columns = [rows.field(place) for place in range(len(fields))]
    # As a date in Python a point in time would lose its time of day.
    cells = [(each.view(pa.int64()) if pa.types.is_date64(each.type) else each).to_pylist() for each in columns]
    values = [dict(zip(fields, map(_bits, row), strict=True)) for row in zip(*cells, strict=True)]
    return [row if is_there else None for row, is_there in zip(values, rows.is_valid().to_pylist(), strict=True)]


def _bits(value: Any) -> Any:
    if isinstance(value, float):
        return "float", struct.pack(">d", value)
    return [_bits(each) for each in value] if isinstance(value, list) else value
