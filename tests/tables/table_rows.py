"""What the tests of tables on real backends write: rows, blobs, and the table that holds them."""

from __future__ import annotations

import pyarrow as pa

from omnigraph.tables.interface import SnapshotHandle
from omnigraph.tables.lance_tables import LanceTables
from omnigraph_storage_local.adapter import LocalAdapter

SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("n", pa.int32())])
BLOBS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("data", pa.large_binary(), metadata={b"omnigraph.blob": b"true"}),
    ]
)
PERSON = "nodes/person"


def rows(**values: int) -> pa.Table:
    return pa.table([pa.array(values, pa.string()), pa.array(values.values(), pa.int32())], schema=SCHEMA)


def blobs(**values: bytes | None) -> pa.Table:
    return pa.table([pa.array(values, pa.string()), pa.array(values.values(), pa.large_binary())], schema=BLOBS)


def create(tables: LanceTables, first: pa.Table | None = None, schema: pa.Schema = SCHEMA) -> SnapshotHandle:
    return tables.commit_create(tables.stage_create(PERSON, schema, first))


def ids(tables: LanceTables, handle: SnapshotHandle) -> set[str]:
    return set(tables.read(handle, columns=["id"]).read_all()["id"].to_pylist())


def contents(tables: LanceTables, handle: SnapshotHandle) -> dict[str, object]:
    """Id to the other value; fails when an id comes twice."""
    found = tables.read(handle).read_all()
    assert len(set(found["id"].to_pylist())) == len(found)
    return dict(zip(found["id"].to_pylist(), found.column(1).to_pylist(), strict=True))


def files_below(adapter: LocalAdapter) -> set[str]:
    return {key.value for key in adapter.list()}
