"""A merge that is only asked about: it tells what the merge then does, and writes nothing at all."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from merging_world import (
    SCHEMA,
    SEED,
    content,
    counted_writes,
    drop,
    film,
    ids,
    log_of,
    new_graph,
    note,
    person,
    put,
    rated,
)
from publish_world import disk_adapter

import omnigraph as og
from omnigraph.engine.diff import ARROW_SCHEMA
from omnigraph.errors import HeadMovedError, InvalidInputError, MergeConflictError, NotFoundError, ReadOnlyError
from omnigraph.graph import Graph
from omnigraph.testing.faults import CountingAdapter
from omnigraph.testing.graph_contract.clauses import GraphPlace
from omnigraph.testing.graph_contract.faults import CHANGING_VERBS, opened_through
from omnigraph.write.init import init_graph


@pytest.fixture
def graph() -> og.Graph:
    graph = new_graph()
    graph.branches.create("dev")
    return graph


def work(graph: og.Graph) -> None:
    """Both branches change several types, each in every way, and agree on some of it."""
    put(graph, "dev", person("ann", 31), person("eve", 20), film("f2"), note("n2"), rated("r2", "eve", "f2"))
    drop(graph, "dev", "Note", "text", "n1")
    put(graph, "main", person("gus"), note("n2"), note("n3"))


# ── what it tells ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_it_tells_the_changes_that_the_merge_then_makes(graph: og.Graph):
    work(graph)
    before = graph.snapshot()
    planned = graph.branches.merge("dev", dry_run=True)
    done = graph.branches.merge("dev")
    made = graph.diff(before, "main").to_arrow()
    assert planned.changes == made
    assert (planned.outcome, planned.source_commit, planned.base_commit) == (
        done.outcome,
        done.source_commit,
        done.base_commit,
    )
    assert [(each["entity"], each["type"], each["id"], each["op"]) for each in made.to_pylist()] == [
        ("node", "Film", "f2", "insert"),
        ("node", "Note", "n1", "delete"),
        ("node", "Person", "ann", "update"),
        ("node", "Person", "eve", "insert"),
        ("edge", "Rated", "r2", "insert"),
    ]
    assert (planned.commit, planned.conflicts, planned.branch_deleted) == (None, (), False)
    assert done.changes is None


@pytest.mark.parametrize("strategy", ["ours", "theirs"])
def test_it_tells_what_a_strategy_decides(graph: og.Graph, strategy: str):
    work(graph)
    put(graph, "dev", person("bob", 41))
    put(graph, "main", person("bob", 42))
    drop(graph, "main", "Person", "name", "ann")
    before = graph.snapshot()
    planned = graph.branches.merge("dev", dry_run=True, strategy=strategy)
    done = graph.branches.merge("dev", strategy=strategy)
    assert planned.changes == graph.diff(before, "main").to_arrow()
    assert planned.resolved == done.resolved == 2


def test_a_fast_forward_and_one_that_has_nothing_to_do_say_so(graph: og.Graph):
    planned = graph.branches.merge("dev", dry_run=True)
    assert (planned.outcome, planned.changes) == ("already_up_to_date", ARROW_SCHEMA.empty_table())
    put(graph, "dev", person("eve"))
    planned = graph.branches.merge("dev", dry_run=True)
    assert planned.outcome == "fast_forward"
    assert planned.changes is not None
    assert planned.changes["id"].to_pylist() == ["eve"]


def test_a_branch_that_would_only_be_pointed_elsewhere_is_told_every_row(graph: og.Graph):
    graph.branches.create("release")
    work(graph)
    before = graph.snapshot("release")
    planned = graph.branches.merge("dev", "release", dry_run=True)
    graph.branches.merge("dev", "release")
    assert planned.changes == graph.diff(before, "release").to_arrow()


def test_conflicts_are_told_with_the_changes_that_nothing_speaks_against(graph: og.Graph):
    work(graph)
    put(graph, "main", person("ann", 32))
    planned = graph.branches.merge("dev", dry_run=True)
    assert planned.changes is not None
    assert planned.changes["id"].to_pylist() == ["f2", "n1", "eve", "r2"]
    assert [(each.type, each.id) for each in planned.conflicts] == [("Person", "ann")]
    with pytest.raises(MergeConflictError) as caught:
        graph.branches.merge("dev")
    assert caught.value.conflicts == planned.conflicts


def test_a_callable_is_asked_once_about_each_conflict(graph: og.Graph):
    put(graph, "dev", person("ann", 31), person("bob", 41))
    put(graph, "main", person("ann", 32), person("bob", 42))
    asked: list[str | None] = []

    def decide(conflict: og.MergeConflict) -> str | None:
        asked.append(conflict.id)
        return "theirs" if conflict.id == "ann" else None

    planned = graph.branches.merge("dev", dry_run=True, strategy=decide)
    assert asked == ["ann", "bob"]
    assert planned.changes is not None
    assert planned.changes["id"].to_pylist() == ["ann"]
    assert (planned.resolved, [each.id for each in planned.conflicts]) == (1, ["bob"])


def test_values_of_every_type_are_told_as_a_diff_tells_them():
    graph = new_graph(
        "node Thing { key: String @key  data: Blob?  vector: Vector(2)?  at: DateTime?  tags: [String]? }", ()
    )
    graph.branches.create("dev")
    rows = pa.table(
        {
            "key": ["a", "b"],
            "data": pa.array([b"\x00\xff", None], pa.large_binary()),
            "vector": pa.array([[0.5, -1.0], None], pa.list_(pa.float32(), 2)),
            "tags": [["x", "y"], []],
        }
    )
    graph.load({"Thing": rows}, "append", branch="dev")
    before = graph.snapshot()
    planned = graph.branches.merge("dev", dry_run=True)
    graph.branches.merge("dev")
    assert planned.changes == graph.diff(before, "main").to_arrow()
    assert content(graph) == content(graph, "dev")


# ── what it leaves ───────────────────────────────────────────────────────────────────────────────────────────────────


def files_below(directory: Path) -> dict[str, bytes]:
    return {str(each.relative_to(directory)): each.read_bytes() for each in directory.rglob("*") if each.is_file()}


def test_nothing_is_written_anywhere(tmp_path: Path):
    repository = init_graph(disk_adapter(tmp_path), SCHEMA)
    with Graph(repository) as graph:
        graph.load(SEED, "append")
        for name in ("dev", "release"):
            graph.branches.create(name)
        work(graph)
        put(graph, "release", person("bob", 43))
        before = files_below(tmp_path)
        for into in ("main", "release"):
            assert graph.branches.merge("dev", into, dry_run=True).changes is not None
        assert files_below(tmp_path) == before
        graph.branches.merge("dev", "release")
        assert files_below(tmp_path).keys() > before.keys()


def test_no_request_of_a_handle_for_reading_changes_anything(graph: og.Graph):
    work(graph)
    head = log_of(graph).version
    with (
        opened_through(CountingAdapter, GraphPlace(uri=graph.uri, options={}), "r") as (reader, counts),
        counted_writes() as writes,
    ):
        counts.calls.clear()
        planned = reader.branches.merge("dev", dry_run=True)
        assert planned.changes is not None
        assert planned.changes["id"].to_pylist() == ["f2", "n1", "ann", "eve", "r2"]
        assert not {*counts.calls} & {*CHANGING_VERBS}
        with pytest.raises(ReadOnlyError):
            reader.branches.merge("dev")
    assert not writes
    assert log_of(graph).version == head


def test_it_does_not_delete_the_branch(graph: og.Graph):
    put(graph, "dev", person("eve"))
    planned = graph.branches.merge("dev", dry_run=True, delete_branch=True)
    assert (planned.branch_deleted, planned.branch_delete_error) == (False, None)
    assert ids(graph, "Person", "dev") == ["ann", "bob", "eve"]


# ── what it is refused for ───────────────────────────────────────────────────────────────────────────────────────────


def test_it_is_refused_for_what_the_merge_is_refused_for(graph: og.Graph):
    put(graph, "dev", person("eve"))
    with pytest.raises(HeadMovedError):
        graph.branches.merge("dev", dry_run=True, expect_head=graph.snapshot("dev").commit)
    with pytest.raises(InvalidInputError, match="itself"):
        graph.branches.merge("dev", "dev", dry_run=True)
    with pytest.raises(InvalidInputError, match="strategy"):
        graph.branches.merge("dev", dry_run=True, strategy="mine")  # type: ignore[arg-type]
    for source, into in (("nowhere", "main"), ("dev", "nowhere")):
        with pytest.raises(NotFoundError, match="nowhere"):
            graph.branches.merge(source, into, dry_run=True)
    assert graph.branches.merge("dev", dry_run=True, expect_head=graph.snapshot().commit).outcome == "fast_forward"
