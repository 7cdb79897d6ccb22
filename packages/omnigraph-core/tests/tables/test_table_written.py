"""Rows written by any process beside a table, read back there, and taken up by one commit."""

from __future__ import annotations

import dataclasses
import json
import pickle

import pyarrow as pa
import pytest

from omnigraph.errors import InternalError
from omnigraph.tables import written
from omnigraph.tables.interface import TablePin, WrittenRows
from omnigraph.tables.lance_tables import LanceTables

ABSENT = TablePin(location="nodes/person", branch=None, version=1)


def numbered(schema: pa.Schema, count: int, first: int = 0) -> pa.Table:
    ids = pa.array([f"k{each:06d}" for each in range(first, first + count)])
    return pa.table([ids, pa.array(range(first, first + count), pa.int32())], schema=schema)


def test_parts_written_apart_become_one_version_in_the_order_given(adapter, tables, create, rows, schema, contents):
    base = create(rows(a=1))
    parts = [LanceTables(adapter).write_rows(base.pin, rows(**{name: 2}), schema=schema) for name in ("c", "b", "d")]
    assert tables.count_rows(base) == 1
    staged = tables.stage_append(base, parts)
    after = tables.commit_exact(base, [staged])
    assert after.pin.version == base.pin.version + 1
    assert tables.read(after).read_all()["id"].to_pylist() == ["a", "c", "b", "d"]


def test_written_rows_are_plain_data(tables, create, rows, schema):
    base = create()
    part = tables.write_rows(base.pin, rows(a=1, b=2), schema=schema)
    assert part.row_count == 2
    assert part.byte_count > 0
    through_json = WrittenRows(**json.loads(json.dumps(dataclasses.asdict(part))))
    through_json = dataclasses.replace(through_json, fragments=tuple(through_json.fragments))
    assert pickle.loads(pickle.dumps(part)) == part == through_json
    assert tables.count_rows(tables.commit_exact(base, [tables.stage_append(base, [through_json])])) == 2


@pytest.mark.parametrize("exists", [True, False], ids=["table", "no table"])
@pytest.mark.parametrize("as_stream", [True, False])
def test_written_rows_read_back_in_order_before_any_commit(exists, as_stream, tables, create, schema, monkeypatch):
    monkeypatch.setattr(written, "MAX_ROWS_PER_FILE", 100)
    pin = create().pin if exists else ABSENT
    given = numbered(schema, 350)
    part = tables.write_rows(pin, given.to_reader(30) if as_stream else given, schema=schema)
    assert len(part.fragments) == 4
    assert part.row_count == 350
    assert tables.read_written(part).read_all().equals(given)
    assert tables.read_written(part, columns=["n"]).read_all().equals(given.select(["n"]))
    assert tables.read_written(part).schema.equals(schema, check_metadata=True)


def test_rows_written_before_their_table_exists_can_be_taken_up_by_it(tables, create, rows, schema, contents):
    part = tables.write_rows(ABSENT, rows(b=2), schema=schema)
    base = create(rows(a=1))
    assert contents(tables.commit_exact(base, [tables.stage_append(base, [part])])) == {"a": 1, "b": 2}


def test_an_overwrite_takes_written_rows(tables, create, rows, schema, contents):
    base = create(rows(a=1))
    part = tables.write_rows(base.pin, rows(b=2), schema=schema)
    assert contents(tables.commit_exact(base, [tables.stage_overwrite(base, [part])])) == {"b": 2}


def test_nothing_written_reads_as_nothing(tables, create, rows, schema):
    base = create(rows(a=1))
    part = tables.write_rows(base.pin, rows(), schema=schema)
    assert part.row_count == 0
    found = tables.read_written(part).read_all()
    assert found.schema.equals(schema)
    assert len(found) == 0
    assert tables.count_rows(tables.commit_exact(base, [tables.stage_append(base, [part])])) == 1


def test_rows_written_for_another_table_or_branch_are_refused(tables, create, rows, schema):
    base = create(rows(a=1))
    other = create(rows(a=1), location="nodes/other")
    fork = tables.fork(base, "b1")
    part = tables.write_rows(base.pin, rows(b=2), schema=schema)
    for handle in (other, fork):
        with pytest.raises(InternalError, match="cannot become part of"):
            tables.stage_append(handle, [part])


def test_rows_written_on_a_branch_lie_on_it(tables, create, rows, schema, contents):
    fork = tables.fork(create(rows(a=1)), "b1")
    part = tables.write_rows(fork.pin, rows(b=2), schema=schema)
    assert tables.read_written(part).read_all()["id"].to_pylist() == ["b"]
    assert contents(tables.commit_exact(fork, [tables.stage_append(fork, [part])])) == {"a": 1, "b": 2}


def test_a_stream_is_taken_batch_by_batch(tables, create, schema):
    """The rows are never all there at once: what was written is let go of while more is asked for."""
    held: list[int] = []

    def batches():
        for turn in range(60):
            # 200 kB each; 12 MB in all.
            yield numbered(schema, 10_000, first=turn * 10_000).to_batches()[0]
            held.append(pa.total_allocated_bytes())

    pin = create().pin
    before = pa.total_allocated_bytes()
    part = tables.write_rows(pin, pa.RecordBatchReader.from_batches(schema, batches()), schema=schema)
    assert part.row_count == 600_000
    assert max(held) - before < 4_000_000
