"""Merges of many rows: they wait in files, go by Lance's own merge, and memory does not grow with them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from merging_world import again, check_history, counted_writes, meanwhile, new_graph, pin_of

import omnigraph as og
from omnigraph.engine import differing_rows
from omnigraph.engine.row_changes import RowChanges, row_changes
from omnigraph.errors import MergeConflictError
from omnigraph.failpoints import PUBLISH_BEFORE_COMMIT
from omnigraph.tables.counting import count_table_calls
from omnigraph.testing.invariants import assert_graph_is_whole
from omnigraph.write.merge import spools, virtual_base
from omnigraph.write.stage import MAX_LOCATED

WIDE = """
node Doc {
    key: String @key
    data: Blob?
    n: I64?
    tags: [String]?
    text: String?
    vector: Vector(3)?
}
edge Cites: Doc -> Doc { weight: F64? }
"""
NARROW = "node Doc { key: String @key  n: I64? }  edge Cites: Doc -> Doc"


def key(number: int) -> str:
    return f"k{number:06}"


def docs(numbers: range, mark: int) -> pa.Table:
    """Rows whose every column tells the number and the mark."""
    return pa.table(
        {
            "key": [key(each) for each in numbers],
            "data": pa.array([None if each % 5 == 0 else b"\x00" * mark + bytes([each % 256]) for each in numbers]),
            "n": [each * 10 + mark for each in numbers],
            "tags": [None if each % 3 == 0 else [str(mark)] * (each % 3) for each in numbers],
            "text": [None if each % 7 == 0 else f"é{mark}" * (each % 11) for each in numbers],
            "vector": pa.array(
                [None if each % 4 == 0 else [each, mark, 0.5] for each in numbers], pa.list_(pa.float32(), 3)
            ),
        }
    )


def cites(numbers: range, mark: float) -> pa.Table:
    return pa.table(
        {
            "id": [f"c{each:06}" for each in numbers],
            "src": [key(each) for each in numbers],
            "dst": [key(each + 1) for each in numbers],
            "weight": [mark + each for each in numbers],
        }
    )


def narrow(numbers: range, mark: int) -> pa.Table:
    return docs(numbers, mark).select(["key", "n"])


def all_rows(graph: og.Graph, type_name: str, at: Any = "main") -> pa.Table:
    rows = graph.table(type_name, snapshot=graph.snapshot(at=at)).to_arrow()
    return rows.sort_by("id").combine_chunks()


@pytest.fixture
def small_spools(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows wait in files when they take more than some hundred bytes; how often some were written to one."""
    written: list[int] = []
    spill = spools._Spool._spill

    def counted(spool: Any) -> None:
        written.append(len(spool._held))
        spill(spool)

    monkeypatch.setattr(spools, "SPOOL_BYTES", 500)
    monkeypatch.setattr(spools._Spool, "_spill", counted)
    return written


# ── rows in files ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_rows_of_every_kind_are_the_same_when_they_waited_in_files(small_spools: list[int]):
    graph = new_graph(WIDE, seed=())
    graph.load({"Doc": docs(range(120), 1), "Cites": cites(range(100), 1.0)}, "append")
    graph.branches.create("dev")
    graph.load({"Doc": docs(range(60), 2), "Cites": cites(range(50), 2.0)}, "merge", branch="dev")
    graph.load({"Doc": docs(range(200, 280), 3), "Cites": cites(range(200, 270), 3.0)}, "append", branch="dev")
    graph.mutate("query d() { delete Doc where n >= 1101 }", branch="dev")
    graph.load({"Doc": docs(range(100, 102), 4)}, "merge")
    graph.branches.merge("dev")
    # Rows that replace, that are new and that go, of both types.
    assert len(small_spools) >= 5
    expected = docs(range(100, 102), 4)
    after, source = all_rows(graph, "Doc"), all_rows(graph, "Doc", "dev")
    own = after.slice(after["id"].to_pylist().index(key(100)), 2)
    assert own.select(expected.column_names).to_pylist() == expected.to_pylist()
    assert after.num_rows == 110
    assert source.num_rows == 110
    theirs = [each for each in source.to_pylist() if each["id"] not in own["id"].to_pylist()]
    assert [each for each in after.to_pylist() if each["id"] not in own["id"].to_pylist()] == theirs
    assert all_rows(graph, "Cites") == all_rows(graph, "Cites", "dev")
    assert_graph_is_whole(graph)


def test_rows_that_waited_in_files_survive_being_prepared_again(small_spools: list[int]):
    graph = new_graph(NARROW, seed=())
    graph.load({"Doc": narrow(range(300), 1)}, "append")
    graph.branches.create("dev")
    graph.load({"Doc": narrow(range(200), 2)}, "merge", branch="dev")

    def write() -> None:
        with again(graph) as other:
            other.load({"Doc": narrow(range(250, 251), 9)}, "merge")

    with meanwhile(PUBLISH_BEFORE_COMMIT, write):
        graph.branches.merge("dev")
    assert small_spools
    expected = [each * 10 + (2 if each < 200 else 9 if each == 250 else 1) for each in range(300)]
    assert all_rows(graph, "Doc")["n"].to_pylist() == expected


# ── more rows than are looked for one by one ─────────────────────────────────────────────────────────────────────────

MANY = MAX_LOCATED + 500


@pytest.mark.parametrize("into", ["main", "release"])
def test_many_rows_that_replace_others_go_by_lances_merge_with_those_that_go_beside(into: str):
    graph = new_graph(NARROW, seed=())
    graph.load({"Doc": narrow(range(MANY + 1_000), 1)}, "append")
    for name in ("dev", "release"):
        graph.branches.create(name)
    graph.load({"Doc": narrow(range(MANY), 2)}, "merge", branch="dev")
    graph.load({"Doc": narrow(range(50_000, 50_200), 3)}, "append", branch="dev")
    last = (MANY + 900) * 10
    graph.mutate(f"query d() {{ delete Doc where n > {last} }}", branch="dev")
    graph.mutate("query d() { delete Doc where n > 500000 }", branch="dev")
    # So that the type is not untouched.
    graph.load({"Doc": narrow(range(MANY + 10, MANY + 11), 4)}, "merge", branch=into)
    with counted_writes() as writes:
        graph.branches.merge("dev", into)
    assert (writes["stage_upsert"], writes["stage_delete"], writes["stage_replace"]) == (1, 1, 0)
    after, source = all_rows(graph, "Doc", into), all_rows(graph, "Doc", "dev")
    assert after["id"] == source["id"]
    differing = [
        (ours["id"], ours["n"])
        for ours, theirs in zip(after.to_pylist(), source.to_pylist(), strict=True)
        if ours != theirs
    ]
    assert differing == [(key(MANY + 10), (MANY + 10) * 10 + 4)]
    # The next write finds its rows.
    graph.load({"Doc": narrow(range(1), 5)}, "merge", branch=into)
    assert all_rows(graph, "Doc", into)["n"][0].as_py() == 5
    check_history(graph, into)


def test_as_many_rows_as_are_looked_for_are_replaced_where_they_lie():
    graph = new_graph(NARROW, seed=())
    graph.load({"Doc": narrow(range(MAX_LOCATED + 1), 1)}, "append")
    graph.branches.create("dev")
    graph.load({"Doc": narrow(range(MAX_LOCATED), 2)}, "merge", branch="dev")
    graph.load({"Doc": narrow(range(20_000, 20_500), 3)}, "append", branch="dev")
    with counted_writes() as writes:
        graph.branches.merge("dev")
    assert (writes["stage_replace"], writes["stage_upsert"]) == (1, 0)
    assert all_rows(graph, "Doc") == all_rows(graph, "Doc", "dev")


def test_many_rows_that_only_go_are_marked_and_nothing_is_written():
    graph = new_graph(NARROW, seed=())
    graph.load({"Doc": narrow(range(MANY), 1)}, "append")
    graph.branches.create("dev")
    graph.mutate("query d() { delete Doc where n >= 11 }", branch="dev")
    with counted_writes() as writes:
        graph.branches.merge("dev")
    assert "write_rows" not in writes
    assert all_rows(graph, "Doc")["id"].to_pylist() == [key(0)]


def test_all_rows_may_go_and_others_come():
    graph = new_graph(NARROW, seed=())
    graph.load({"Doc": narrow(range(50), 1)}, "append")
    graph.branches.create("dev")
    graph.load({"Doc": narrow(range(100, 130), 1)}, "overwrite", branch="dev")
    graph.branches.merge("dev")
    assert all_rows(graph, "Doc") == all_rows(graph, "Doc", "dev")
    assert all_rows(graph, "Doc").num_rows == 30


def test_many_conflicts_are_all_told():
    graph = new_graph(NARROW, seed=())
    graph.load({"Doc": narrow(range(9_000), 1)}, "append")
    graph.branches.create("dev")
    for branch, mark in (("dev", 2), ("main", 3)):
        graph.load({"Doc": narrow(range(9_000), mark)}, "merge", branch=branch)
    with pytest.raises(MergeConflictError) as caught:
        graph.branches.merge("dev")
    assert [each.id for each in caught.value.conflicts] == [key(each) for each in range(9_000)]
    assert graph.branches.merge("dev", strategy="theirs").resolved == 9_000
    assert all_rows(graph, "Doc") == all_rows(graph, "Doc", "dev")


# ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────────

TEXT_BYTES = 1_000
BOUND = 1024 * 1024
"""What each set of rows may hold in memory here."""


def long_texts(numbers: range, letter: str) -> pa.Table:
    """Rows that are wide in memory and small in files."""
    return pa.table({"key": [key(each) for each in numbers], "text": [letter * TEXT_BYTES for _ in numbers]})


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """What Arrow holds in memory, beyond what it held before, whenever a merge has thought about some rows more."""
    seen: list[int] = []
    before = pa.total_allocated_bytes()
    add = spools.RowSpools.add

    def add_and_note(self: spools.RowSpools, rows: RowChanges) -> None:
        add(self, rows)
        seen.append(pa.total_allocated_bytes() - before)

    monkeypatch.setattr(spools.RowSpools, "add", add_and_note)
    monkeypatch.setattr(spools, "SPOOL_BYTES", BOUND)
    monkeypatch.setattr(differing_rows, "_TAKEN_BYTES", BOUND)
    monkeypatch.setattr(virtual_base, "row_changes", partial(row_changes, memory_bytes=2 * BOUND))
    return seen


def test_what_a_merge_holds_in_memory_does_not_grow_with_the_rows(held: list[int]):
    graph = new_graph("node Doc { key: String @key  text: String? }", seed=())
    peaks = []
    for count in (9_000, 27_000):
        name, other = f"b{count}", f"o{count}"
        graph.load({"Doc": long_texts(range(count), "a")}, "overwrite")
        for branch in (name, other):
            graph.branches.create(branch)
        graph.load({"Doc": long_texts(range(count // 2), "b")}, "merge", branch=name)
        graph.load({"Doc": long_texts(range(count, count + count // 2), "c")}, "append", branch=name)
        graph.load({"Doc": long_texts(range(count - 1, count), "d")}, "merge", branch=other)
        held.clear()
        graph.branches.merge(name, other)
        assert len(held) > count // 8_192
        peaks.append(max(held))
        assert all_rows(graph, "Doc", other).num_rows == count + count // 2
    # A batch of rows that are compared is held on both sides, whatever the bounds are.
    assert peaks[1] < 1.5 * peaks[0], peaks
    assert peaks[1] < 27_000 * TEXT_BYTES, peaks


def test_a_type_that_is_only_pointed_to_is_not_written_however_large_it_is(held: list[int]):
    graph = new_graph("node Doc { key: String @key  text: String? }", seed=())
    graph.branches.create("dev")
    graph.branches.create("release")
    graph.load({"Doc": long_texts(range(3_000), "a")}, "append", branch="dev")
    with count_table_calls() as counts:
        graph.branches.merge("dev", "release")
    assert {"write_rows", "commit", "fork"}.isdisjoint(counts)
    assert pin_of(graph, "node:Doc", "release") == pin_of(graph, "node:Doc", "dev")
