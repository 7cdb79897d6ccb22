"""What a judgement may cost: few rows are looked up and never scan, many are streamed and never gathered."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from validation_world import LARGE, LIBRARY, STORED, World

from omnigraph.errors import ResourceLimitError, StorageError
from omnigraph.write.validation.questions import absent, held, repeated, superseded, taken
from omnigraph.write.validation.sets import LIMITS, Limits, Rows, plan_table, register, run, session

STREAMED = Limits(memory_rows=0)


# ── few rows ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "mode", "record", "accesses"),
    [
        ("Person", "insert", {"id": "x", "handle": "x"}, ["node:Person"]),
        ("Person", "upsert", {"id": "x", "handle": "x"}, []),
        ("Person", "upsert", {"id": "x", "handle": "x", "mail": "m"}, ["node:Person"]),
        ("Directed", "insert", {"id": "x", "src": "bo", "dst": "SF-1"}, ["node:Film", "node:Person"]),
        ("Follows", "insert", {"id": "x", "src": "bo", "dst": "ann"}, ["node:Person"]),
        ("Rented", "insert", {"id": "x", "src": "bo", "dst": "DO-3"}, ["edge:Rented", "node:Film", "node:Person"]),
        ("Owes", "insert", {"id": "x", "src": "bo", "dst": "ann"}, ["edge:Owes", "node:Person"]),
        ("Owes", "upsert", {"id": "x", "src": "bo", "dst": "ann"}, ["edge:Owes", "edge:Owes", "node:Person"]),
    ],
)
def test_one_row_takes_look_ups_and_no_scan(name, mode, record, accesses):
    stored = {**STORED, "Owes": [{"id": "o1", "src": "ann", "dst": "bo"}]}
    world = World(LIBRARY + "edge Owes: Person -> Person @card(1..3)", stored)
    is_fresh = mode == "insert" and name != "Person"
    assert not world.judge(world.change(name, mode, [record], is_fresh=is_fresh))
    assert sorted(key for _, key in world.committed.accesses) == accesses
    assert not [key for method, key in world.committed.accesses if method == "read"]


def test_endpoints_of_all_edge_types_are_looked_up_together():
    world = World(LIBRARY, STORED)
    assert not world.judge(
        world.change("Follows", "insert", [{"id": "x", "src": "bo", "dst": "ann"}], is_fresh=True),
        world.change("Directed", "insert", [{"id": "y", "src": "cy", "dst": "DO-3"}], is_fresh=True),
    )
    assert sorted(world.committed.accesses) == [("lookup", "node:Film"), ("lookup", "node:Person")]


@pytest.mark.parametrize("limits", [LIMITS, LARGE])
def test_a_write_that_brings_its_nodes_along_reads_no_committed_ones(limits):
    world = World("node A { } edge E: A -> A", {"A": [{"id": "old"}]})
    assert not world.judge(
        world.change("A", "upsert", [{"id": "x"}, {"id": "y"}]),
        world.change("E", "insert", [{"id": "e", "src": "x", "dst": "y"}], is_fresh=True),
        limits=limits,
    )
    assert world.committed.accesses == []


def test_few_edges_that_miss_their_nodes_among_many_new_ones_are_looked_up():
    world = World("node A { } edge E: A -> A", {"A": [{"id": "old"}]})
    problems = world.judge(
        world.change("A", "insert", [{"id": f"{n}"} for n in range(50)], is_fresh=True),
        world.change("E", "insert", [{"id": f"e{n}", "src": f"{n}", "dst": "old"} for n in range(51)], is_fresh=True),
        limits=Limits(memory_rows=0),
    )
    assert [each.message for each in problems.kept] == ["src '50' not found in A"]
    assert {method for method, _ in world.committed.accesses} == {"lookup"}


def test_a_small_write_does_without_datafusion():
    statements = """
import sys
from validation_world import LIBRARY, STORED, World
world = World(LIBRARY, STORED)
edge = {"id": "x", "src": "bo", "dst": "DO-3"}
person = {"id": "q", "handle": "q"}
assert not world.judge(world.change("Rented", "upsert", [edge]), world.change("Person", "insert", [person]))
assert "datafusion" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", statements], cwd=Path(__file__).parent, check=True, timeout=60)


# ── many rows ────────────────────────────────────────────────────────────────────────────────────────────────────


class Stream:
    """Numbers as keys, made while they are read.

    Attributes:
        opened: how often it was read.
        most_alive: how many of its batches existed at a time, in terms of bytes.
    """

    def __init__(self, batches: int, rows: int, *, start: int = 0) -> None:
        self.batches = batches
        self.rows = rows
        self.start = start
        self.opened = 0
        self.most_alive = 0.0

    def open(self) -> Iterator[pa.RecordBatch]:
        self.opened += 1
        pool = pa.default_memory_pool()
        before, made = pool.bytes_allocated(), 1
        for number in range(self.batches):
            numbers = np.arange(number * self.rows, (number + 1) * self.rows)
            keys = pa.array(numbers + self.start).cast(pa.string())
            made = max(made, keys.nbytes)
            yield pa.record_batch({"row": pa.array(numbers), "key": keys})
            self.most_alive = max(self.most_alive, (pool.bytes_allocated() - before) / made)

    def as_rows(self) -> Rows:
        schema = pa.schema({"row": pa.int64(), "key": pa.string()})
        return Rows(schema=schema, row_count=self.batches * self.rows, open=self.open)


def test_edges_pass_by_the_nodes_without_being_gathered():
    nodes, edges = Stream(1, 1_000), Stream(60, 32_768)
    found = taken(edges.as_rows(), [nodes.as_rows()], 3, STREAMED)
    assert (found.count, found.first["row"].to_pylist()) == (1_000, [0, 1, 2])
    assert edges.most_alive < 30


@pytest.mark.parametrize(
    "join", ["b RIGHT ANTI JOIN p", "b RIGHT SEMI JOIN p", "b LEFT ANTI JOIN p", "b LEFT SEMI JOIN p", "b JOIN p"]
)
@pytest.mark.parametrize("is_in_memory", [False, True])
def test_the_left_side_of_a_join_becomes_the_hash_table(join, is_in_memory):
    context = session(LIMITS)
    left = Stream(2, 100).as_rows()
    register(context, "b", Rows.of(left.read_all()) if is_in_memory else left, [])
    register(context, "p", Stream(1, 1).as_rows(), [])
    wanted = "b.key" if "LEFT" in join else "p.key"
    plan = context.sql(f"SELECT {wanted} FROM {join} ON b.key = p.key").execution_plan().display_indent()
    lines = [line.strip() for line in plan.splitlines()]
    sides = [line.split(":")[0] for line in lines if line.startswith(("DataSourceExec", "DatasetExec"))]
    kind = "Inner" if join == "b JOIN p" else join.split()[1].title() + join.split()[2].title()
    assert any(f"join_type={kind}," in line for line in lines), plan
    assert sides == ["DataSourceExec" if is_in_memory else "DatasetExec", "DatasetExec"], plan


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_a_hash_table_that_would_be_too_large_is_made_in_parts(parts):
    limits = Limits(memory_rows=0, build_rows=-(-1_000 // parts))
    nodes, edges = Stream(10, 100), Stream(3, 400)
    assert absent(edges.as_rows(), [nodes.as_rows()], 2, limits).count == 200
    # One look at the first batch, for its width.
    assert nodes.opened == parts + 1
    assert edges.opened == parts
    assert plan_table(nodes.as_rows(), limits).parts == parts
    assert taken(edges.as_rows(), [nodes.as_rows()], 2, limits).count == 1_000


def test_the_parts_follow_from_the_width_of_rows_too():
    wide = pa.table({"key": ["x" * 1_000] * 10})
    assert plan_table(Rows.of(wide), Limits(build_bytes=2_500)).parts == 5


@pytest.mark.parametrize("length", [1, 12, 13, 40])
def test_texts_of_any_length_are_compared_alike(length):
    def keys(names: str) -> Rows:
        table = pa.table({"row": np.arange(len(names)), "key": [name * length for name in names]})
        return Rows(schema=table.schema, row_count=len(names), open=lambda: iter(table.to_batches()))

    assert plan_table(keys("ab"), STREAMED).has_short_keys == (length <= 12)
    assert absent(keys("abxcdy"), [keys("abcd")], 9, STREAMED).first["row"].to_pylist() == [2, 5]
    assert taken(keys("abxcdy"), [keys("abcd")], 9, STREAMED).count == 4


def test_the_smaller_side_becomes_the_hash_table_whichever_it_is():
    nodes, edges = Stream(10, 100), Stream(1, 20, start=990)
    limits = Limits(memory_rows=0, build_rows=20)
    found = absent(edges.as_rows(), [nodes.as_rows()], 5, limits)
    assert (found.count, found.first["row"].to_pylist()) == (10, [10, 11, 12, 13, 14])
    assert nodes.opened == 1


def test_repetitions_are_found_by_hashes_in_several_passes():
    keys = pa.array([f"{n % 700}" for n in range(1_000)])
    rows = Rows.of(pa.table({"row": np.arange(1_000), "key": keys}))
    limits = Limits(memory_rows=0, hash_rows=150, build_rows=60)
    found = repeated(rows, 5, limits)
    assert found.count == 300
    assert found.first.to_pylist() == [{"row": 700 + n, "first": n} for n in range(5)]
    mask = superseded(rows, limits)
    assert mask is not None
    assert np.flatnonzero(mask).tolist() == list(range(300))


def test_a_repetition_names_the_first_record_however_far_back_it_lies():
    def open_rows() -> Iterator[pa.RecordBatch]:
        for start in range(0, 200_000, 4_000):
            numbers = np.arange(start, start + 4_000)
            yield pa.record_batch({"row": numbers, "key": pa.array(numbers % 20_000).cast(pa.string())})

    schema = pa.schema({"row": pa.int64(), "key": pa.string()})
    found = repeated(Rows(schema=schema, row_count=200_000, open=open_rows), 180_000, STREAMED)
    assert found.count == 180_000
    first = found.first["first"].to_numpy()
    assert (first == found.first["row"].to_numpy() % 20_000).all()


@pytest.mark.parametrize("limits", [LIMITS, STREAMED])
def test_equal_hashes_of_different_values_are_not_taken_for_repetitions(monkeypatch, limits):
    # Every tuple has a suspicious hash; the exact comparison still finds that none repeats.
    from omnigraph.write.validation import questions

    keys = pa.table({"row": np.arange(50), "key": [f"{n}" for n in range(50)]})
    everything = run("SELECT xxhash64(key) AS hash FROM r", {"r": Rows.of(keys)}, LIMITS, has_hashes=True)
    hashes = pa.Table.from_batches(everything)["hash"].to_numpy()
    monkeypatch.setattr(questions, "frequent_hashes", lambda *_arguments: hashes)
    assert repeated(Rows.of(keys), 5, limits).count == 0
    assert superseded(Rows.of(keys), limits) is None


def test_pairs_are_found_in_parts_whichever_side_is_smaller():
    def tuples(count: int, name: str) -> Rows:
        numbers = np.arange(count)
        keys = {"k0": pa.array(numbers % 40), "k1": pa.array([f"{n}" for n in numbers])}
        ids = pa.array([f"{name}{n}" for n in numbers])
        return Rows.of(pa.table({"row": numbers, "id": ids, **keys}))

    limits = Limits(memory_rows=0, build_rows=13)
    for ours, theirs in ((100, 60), (60, 100)):
        found = held(tuples(ours, "n"), tuples(theirs, "o"), None, 2, limits)
        assert found.count == 60
        assert found.first.to_pylist() == [{"row": 0, "holder": "o0"}, {"row": 1, "holder": "o1"}]


# ── failures ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_reading_raises_comes_out_as_it_was_raised():
    def broken() -> Iterator[pa.RecordBatch]:
        yield from Stream(1, 5).open()
        raise StorageError("the disk is gone", condition="permanent")

    rows = Rows(schema=Stream(1, 1).as_rows().schema, row_count=10, open=broken)
    with pytest.raises(StorageError, match="the disk is gone"):
        absent(Stream(1, 10).as_rows(), [rows], 5, STREAMED)


def test_a_hash_table_beyond_the_bound_of_memory_is_refused_with_a_typed_error():
    rows = Stream(20, 10_000)
    limits = Limits(memory_rows=0, pool_bytes=500_000)
    with pytest.raises(ResourceLimitError) as caught:
        absent(rows.as_rows(), [rows.as_rows()], 5, limits)
    assert caught.value.limit == 500_000


def test_filters_that_datafusion_hands_down_to_a_stream_are_applied():
    rows = Stream(3, 10).as_rows()
    batches = run('SELECT "row" FROM r WHERE "row" > 24', {"r": rows}, LIMITS)
    assert pa.Table.from_batches(batches)["row"].to_pylist() == [25, 26, 27, 28, 29]
