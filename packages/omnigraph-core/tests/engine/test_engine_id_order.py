"""Rows by ascending id, whether they fit in memory or not; what does not fit goes to a file, and only that."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.engine import id_order
from omnigraph.engine.batch_file import BatchFile
from omnigraph.engine.id_order import IdOrder, count_through, last_id

SCHEMA = pa.schema(
    [pa.field("id", pa.string(), nullable=False), pa.field("n", pa.int64()), pa.field("tags", pa.list_(pa.string()))]
)


def batch(ids: list[str]) -> pa.RecordBatch:
    rows: list[dict[str, Any]] = [{"id": each, "n": len(each), "tags": [each, None]} for each in ids]
    return pa.RecordBatch.from_pylist(rows, SCHEMA)


IDS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=3), unique=True, max_size=40)


@given(
    ids=IDS, cut=st.integers(1, 7), memory_bytes=st.sampled_from([0, 200, 1 << 20]), run=st.sampled_from([1, 1 << 20])
)
def test_rows_come_by_the_bytes_of_their_ids(ids: list[str], cut: int, memory_bytes: int, run: int) -> None:
    order = IdOrder(SCHEMA, memory_bytes=memory_bytes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(id_order, "_RUN_BATCH_BYTES", run)
        for start in range(0, len(ids), cut):
            order.add(batch(ids[start : start + cut]))
        found = pa.Table.from_batches(order.by_id(), SCHEMA)
    assert found.equals(pa.Table.from_batches([batch(sorted(ids, key=str.encode))]))


def test_batches_are_bounded_either_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(id_order, "BATCH_ROWS", 10)
    ids = [f"{number:03d}" for number in range(95)]
    for memory_bytes in (0, 1 << 20):
        order = IdOrder(SCHEMA, memory_bytes=memory_bytes)
        for start in range(5):
            order.add(batch(ids[start::5]))
        found = [*order.by_id()]
        assert max(map(len, found)) <= 10
        assert [each for rows in found for each in rows["id"].to_pylist()] == ids


def test_only_what_does_not_fit_in_memory_goes_to_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    plain = BatchFile.add

    def add(self: BatchFile, rows: pa.RecordBatch) -> None:
        written.append(len(rows))
        plain(self, rows)

    monkeypatch.setattr(BatchFile, "add", add)
    rows = batch(["b", "a"])
    for count, runs in ((2, []), (3, [6]), (4, [6, 2])):
        order = IdOrder(SCHEMA, memory_bytes=2 * rows.nbytes)
        for _ in range(count):
            order.add(rows)
        assert sum(map(len, order.by_id())) == 2 * count
        assert written == runs
        written.clear()


def test_an_order_of_nothing_is_nothing() -> None:
    assert [*IdOrder(SCHEMA, memory_bytes=0).by_id()] == []


def test_rows_are_counted_through_an_id() -> None:
    rows = batch(["a", "c", "é", "\uffff", "\U0001d11e"])
    assert [count_through(rows, each) for each in ("", "a", "b", "c", "\uffff", "\U0001d11f")] == [0, 1, 1, 2, 4, 5]
    assert last_id(rows) == "\U0001d11e"
