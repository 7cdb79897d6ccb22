"""A table layer over memory for each test, and the rows that the tests write.

The tests run with core alone installed, so the tables live in ``shared-memory://``. What differs on a disk or in an
object store is tested at the root of the repository.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

import pyarrow as pa
import pytest

from omnigraph.storage import parse_uri
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.tables.interface import SnapshotHandle, StagedHandle
from omnigraph.tables.lance_tables import LanceTables

SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("n", pa.int32())])
LOCATION = "nodes/person"

Rows = Callable[..., pa.Table]
Create = Callable[..., SnapshotHandle]
Contents = Callable[..., dict[str, int | None]]


@pytest.fixture
def schema() -> pa.Schema:
    return SCHEMA


@pytest.fixture
def adapter() -> MemoryAdapter:
    return MemoryAdapter(parse_uri(f"memory://tables-{secrets.token_hex(6)}"))


@pytest.fixture
def tables(adapter: MemoryAdapter) -> LanceTables:
    return LanceTables(adapter)


@pytest.fixture
def rows() -> Rows:
    """``rows(a=1, b=2)`` has one row per name."""

    def make(**values: int | None) -> pa.Table:
        return pa.table([pa.array(values, pa.string()), pa.array(values.values(), pa.int32())], schema=SCHEMA)

    return make


@pytest.fixture
def create(tables: LanceTables) -> Create:
    """Makes the table of the tests, with or without first rows."""

    def make(first: pa.Table | None = None, location: str = LOCATION) -> SnapshotHandle:
        return tables.commit_create(tables.stage_create(location, SCHEMA, first))

    return make


@pytest.fixture
def contents(tables: LanceTables) -> Contents:
    """What a version holds, as a dict of id to n; fails when an id comes twice."""

    def read(handle: SnapshotHandle, staged: Sequence[StagedHandle] = ()) -> dict[str, int | None]:
        found = tables.read(handle, staged=staged).read_all().to_pylist()
        assert len({each["id"] for each in found}) == len(found)
        return {each["id"]: each["n"] for each in found}

    return read
