"""What a load holds in memory at once is bounded over all its types together, and the rest waits in files."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.tables.counting import count_table_calls
from omnigraph.write import load as loading
from omnigraph.write.buffers import TypeBuffer, spill_largest
from omnigraph.write.load import LoadMode, LoadRequest

TYPES = 10
ROWS = 600
LIMIT = 64 * 1024
SCHEMA = "\n".join(f"node T{number} {{ name: String @key }}" for number in range(TYPES))


def rows_of(number: int) -> pa.Table:
    return pa.table({"name": [f"{number}-{row:026d}" for row in range(ROWS)]})


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Bytes in memory after each batch of a load."""
    seen: list[int] = []

    def spill_and_note(buffers: Collection[TypeBuffer], limit: int) -> None:
        spill_largest(buffers, limit)
        seen.append(sum(each.held_bytes for each in buffers))

    monkeypatch.setattr(loading, "spill_largest", spill_and_note)
    return seen


def test_many_types_together_hold_no_more_than_one_may(tmp_path: Path, held: list[int]):
    with og.init(tmp_path / "graph", schema=SCHEMA) as graph:
        tables = {f"T{number}": rows_of(number) for number in range(TYPES)}
        # No type alone is too much; a key is stored twice, as itself and as the id.
        assert max(2 * each.nbytes for each in tables.values()) < LIMIT
        assert sum(2 * each.nbytes for each in tables.values()) > 5 * LIMIT
        with count_table_calls() as calls:
            loading.load(graph._repository, tables, LoadRequest(mode=LoadMode.APPEND, spill_bytes=LIMIT))
        assert max(held) < LIMIT
        assert calls["write_rows"] == TYPES
        for name, rows in tables.items():
            assert sorted(graph.table(name).to_arrow()["name"].to_pylist()) == rows["name"].to_pylist()


def test_a_load_within_the_bound_writes_each_type_once(tmp_path: Path, held: list[int]):
    with og.init(tmp_path / "graph", schema=SCHEMA) as graph, count_table_calls() as calls:
        graph.load({"T0": rows_of(0), "T1": rows_of(1)}, "append")
    assert max(held) == held[-1] > 0
    assert calls["write_rows"] == 2
