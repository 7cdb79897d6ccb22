"""Blobs: null and empty stay apart, whatever their size and whichever way they went."""

from __future__ import annotations

import pyarrow as pa
import pytest

from omnigraph.errors import StorageError
from omnigraph.tables.interface import TablePin
from omnigraph.tables.row_filters import Compared

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("data", pa.large_binary(), metadata={b"omnigraph.blob": b"true"}),
        # Lance keeps a blob as a struct with members of these names.
        pa.field("kind", pa.string()),
        pa.field("size", pa.int32()),
    ]
)

VALUES = {
    "null": None,
    "empty": b"",
    "inline": b"abc",
    "packed": b"p" * 200_000,
    "own file": b"o" * 5_000_000,
}


def blobs(**values: bytes | None) -> pa.Table:
    kinds = [None if data is None else f"k{len(data)}" for data in values.values()]
    return pa.table(
        [
            pa.array(values, pa.string()),
            pa.array(values.values(), pa.large_binary()),
            pa.array(kinds),
            pa.array(range(len(values)), pa.int32()),
        ],
        schema=SCHEMA,
    )


@pytest.fixture
def base(tables):
    return tables.commit_create(tables.stage_create("nodes/file", SCHEMA, blobs(first=b"1")))


def found(reader: pa.RecordBatchReader) -> dict[str, bytes | None]:
    rows = reader.read_all()
    assert rows.schema.field("data").equals(SCHEMA.field("data"), check_metadata=True)
    return dict(zip(rows["id"].to_pylist(), rows["data"].to_pylist(), strict=True))


@pytest.mark.parametrize("way", ["append", "upsert", "overwrite", "written"])
def test_blobs_come_back_whichever_way_they_went(way, tables, base):
    given = blobs(**VALUES)
    expected = dict(VALUES)
    if way == "append":
        staged = tables.stage_append(base, given)
    elif way == "upsert":
        given = blobs(first=None, **VALUES)
        staged = tables.stage_upsert(base, given)
        expected["first"] = None
    elif way == "overwrite":
        staged = tables.stage_overwrite(base, given)
    else:
        staged = tables.stage_append(base, [tables.write_rows(base.pin, given.to_reader(2), schema=SCHEMA)])
    if way in ("append", "written"):
        expected["first"] = b"1"
    after = tables.commit_exact(base, [staged])
    assert found(tables.read(after)) == expected
    assert found(tables.read(after, order_by_id=True)) == expected
    assert tables.count_rows(after, predicate=Compared("id", "=", pa.scalar("empty"))) == 1


def test_blobs_survive_a_promotion(tables, base):
    staged = tables.stage_append(base, blobs(**VALUES))
    tables.commit_exact(base, [tables.stage_append(base, blobs(foreign=b"f"))])
    assert found(tables.read(tables.commit_exact(base, [staged]))) == {"first": b"1", **VALUES}


def test_written_blobs_read_back_before_any_commit(tables, base):
    part = tables.write_rows(base.pin, blobs(**VALUES), schema=SCHEMA)
    assert found(tables.read_written(part)) == VALUES
    assert list(found(tables.read_written(part, columns=["id", "data"]))) == list(VALUES)
    assert tables.count_rows(base) == 1


def test_columns_beside_a_blob_read_back_by_their_names(tables, base):
    part = tables.write_rows(base.pin, blobs(a=b"xy", b=None), schema=SCHEMA)
    rows = tables.read_written(part, columns=["size", "kind", "id"]).read_all()
    assert rows.to_pydict() == {"size": [0, 1], "kind": ["k2", None], "id": ["a", "b"]}


def test_blobs_written_before_their_table_exists_wait_for_it(tables):
    part = tables.write_rows(TablePin(location="nodes/file", branch=None, version=1), blobs(a=b"1"), schema=SCHEMA)
    with pytest.raises(StorageError):
        tables.read_written(part)
    base = tables.commit_create(tables.stage_create("nodes/file", SCHEMA))
    assert found(tables.read_written(part)) == {"a": b"1"}
    assert found(tables.read(tables.commit_exact(base, [tables.stage_append(base, [part])]))) == {"a": b"1"}


def test_a_look_up_and_a_read_without_the_blob_do_not_need_it(tables, base):
    assert tables.lookup(base, pa.array(["first"]), columns=["kind"])["kind"].to_pylist() == ["k1"]
    assert tables.read(base, columns=["id"]).read_all().to_pydict() == {"id": ["first"]}
    assert tables.lookup(base, pa.array(["first"]))["data"].to_pylist() == [b"1"]
