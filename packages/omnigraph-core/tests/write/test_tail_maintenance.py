"""Tail maintenance: parts become few, rows stay what they are, and no write ever fails or waits for it."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator

import pytest

import omnigraph as og
from omnigraph.errors import StorageCondition, StorageError
from omnigraph.failpoints import MUTATION_POST_STAGE_PRE_EFFECT_GATE
from omnigraph.testing.faults import Call, armed
from omnigraph.testing.invariants import assert_graph_is_whole
from omnigraph.write import fold_policy, tail
from omnigraph.write.tail import fold_type

SCHEMA = "node Person { name: String @key  age: I32?  about: String? @index }\nedge Knows: Person -> Person"
ADD = "query add($name: String, $age: I32?) { insert Person { name: $name, age: $age } }"
AGE = "query age($name: String, $age: I32) { update Person set { age: $age } where name = $name }"


@pytest.fixture
def graph(monkeypatch: pytest.MonkeyPatch) -> Iterator[og.Graph]:
    """A graph whose tails are folded when they have eight parts."""
    monkeypatch.setattr(fold_policy, "TAIL_PARTS", 8)
    with og.init(f"memory://tail-{secrets.token_hex(6)}", schema=SCHEMA) as graph:
        graph.load([{"type": "Person", "data": {"name": f"p{number}"}} for number in range(100)], "append")
        yield graph


def add(graph: og.Graph, count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        graph.mutate(ADD, params={"name": f"q{number}", "age": number})


def part_count(graph: og.Graph, key: str = "node:Person") -> int:
    tables = graph._repository.tables
    return len(tables.parts(tables.open_at(graph.snapshot().state.entries[key].pin)))


def kinds(graph: og.Graph) -> list[str]:
    return [str(each.kind) for each in graph.commits.list()]


def test_a_tail_is_folded_after_the_commit_that_makes_it_long_enough(graph: og.Graph):
    add(graph, 7)
    graph._tail.wait()
    assert (part_count(graph), kinds(graph).count("maintenance")) == (8, 0)
    before = [*graph.export()]
    add(graph, 1, first=7)
    graph._tail.wait()
    assert (part_count(graph), kinds(graph)[0]) == (2, "maintenance")
    assert [line for line in graph.export() if '"q7"' not in line] == before
    assert graph.stats().maintenance.folded_parts == 8
    assert_graph_is_whole(graph)


def test_many_small_commits_leave_few_parts(graph: og.Graph):
    add(graph, 60)
    graph._tail.wait()
    assert part_count(graph) <= 1 + 7 + 8
    stats = graph.stats().maintenance
    assert stats.commits >= 5
    assert (stats.failures, stats.waiting) == (0, 0)
    assert len(graph.table("Person")) == 160
    assert_graph_is_whole(graph)


def test_indexes_that_are_there_reach_what_is_folded_and_none_is_begun(graph: og.Graph):
    graph.maintain.ensure_indices()
    add(graph, 8)
    graph._tail.wait()
    people = [each for each in graph.stats().indexes if each.type_key == "node:Person"]
    assert sorted((each.property, each.kind, each.uncovered_rows) for each in people) == [
        ("about", "btree", 0),
        ("about", "inverted", 0),
        ("id", "btree", 0),
        ("name", "btree", 0),
        ("name", "inverted", 0),
    ]
    for number in range(8):
        graph.mutate('query k($to: String) { insert Knows { from: "p1", to: $to } }', params={"to": f"q{number}"})
    graph._tail.wait()
    assert part_count(graph, "edge:Knows") == 1
    assert all(each.covered_rows == 0 for each in graph.stats().indexes if each.type_key == "edge:Knows")


def test_a_strict_write_that_a_fold_overtakes_is_prepared_again_and_lands(graph: og.Graph):
    add(graph, 7)
    with og.open(graph.uri) as other:
        add(other, 1, first=7)
        other._tail.wait()
        add(other, 5, first=8)
        staged = []

        def overtake(_name: str) -> None:
            if not staged:
                staged.append(fold_type(other._repository, "main", "node:Person"))

        # Not long enough for the rule; long enough for this test.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(fold_policy, "TAIL_PARTS", 2)
            with armed({MUTATION_POST_STAGE_PRE_EFFECT_GATE: Call(overtake)}):
                done = graph.mutate(AGE, params={"name": "q3", "age": 33})
    assert staged[0][0] is not None
    assert done.commit is not None
    assert done.commit.parent_id == staged[0][0].id
    assert {row["name"]: row["age"] for row in graph.table("Person").rows()}["q3"] == 33
    assert_graph_is_whole(graph)


def test_a_compare_and_swap_on_a_commit_is_not_lost_to_a_fold(graph: og.Graph):
    add(graph, 7)
    seen = graph.mutate(ADD, params={"name": "q7", "age": 7}).commit
    graph._tail.wait()
    assert graph.snapshot().commit.kind == "maintenance"
    assert graph.mutate(AGE, params={"name": "q7", "age": 8}, if_commit=seen.id).affected_nodes == 1


def test_a_fold_that_fails_is_counted_and_nobody_else_notices(graph: og.Graph, monkeypatch: pytest.MonkeyPatch):
    def fail(*_arguments: object) -> None:
        raise StorageError("The disk is full.", condition=StorageCondition.CONFIGURATION)

    monkeypatch.setattr(type(graph._repository.tables), "fold_rows", fail)
    add(graph, 9)
    graph._tail.wait()
    stats = graph.stats().maintenance
    assert (stats.runs, stats.commits, stats.failures, stats.last_failure) == (1, 0, 1, "The disk is full.")
    monkeypatch.undo()
    assert len(graph.table("Person")) == 109
    assert_graph_is_whole(graph)


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OMNIGRAPH_TAIL_MAINTENANCE", "off")
    monkeypatch.setattr(fold_policy, "TAIL_PARTS", 2)
    with og.init(f"memory://tail-{secrets.token_hex(6)}", schema=SCHEMA) as graph:
        add(graph, 5)
        assert part_count(graph) == 5
        assert graph.stats().maintenance == og.MaintenanceStats(is_on=False)
        assert "maintenance" not in kinds(graph)


def test_a_close_waits_for_the_fold_that_is_under_way_and_begins_no_other(graph: og.Graph, monkeypatch):
    begun, go_on = threading.Event(), threading.Event()
    real = tail.fold_type

    def slow(*arguments):
        begun.set()
        assert go_on.wait(20)
        return real(*arguments)

    monkeypatch.setattr(tail, "fold_type", slow)
    add(graph, 8)
    assert begun.wait(20)
    closing = threading.Thread(target=graph._tail.close)
    closing.start()
    closing.join(0.05)
    assert closing.is_alive()
    go_on.set()
    closing.join(20)
    assert not closing.is_alive()
    assert part_count(graph) == 2
    add(graph, 8, first=8)
    graph._tail.wait()
    assert part_count(graph) == 10


def test_two_handles_that_fold_one_tail_fold_it_once(graph: og.Graph):
    add(graph, 7)
    with og.open(graph.uri) as other:
        add(other, 1, first=7)
        threads = [
            threading.Thread(target=fold_type, args=(handle._repository, "main", "node:Person"))
            for handle in (graph, other)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        other._tail.wait()
    graph.refresh()
    assert part_count(graph) == 2
    assert len(graph.table("Person")) == 108
    assert_graph_is_whole(graph)


@pytest.mark.parametrize("is_small", [True, False])
def test_a_fold_whose_rows_changed_is_made_again_or_left_to_the_next_one(graph: og.Graph, monkeypatch, is_small):
    """Rows are written outside every gate, and while others may be waiting only few of them."""
    if not is_small:
        monkeypatch.setattr(tail, "QUICK_BYTES", 0)
    monkeypatch.setattr(fold_policy, "TAIL_PARTS", 1_000)
    add(graph, 8)
    monkeypatch.setattr(fold_policy, "TAIL_PARTS", 8)
    tables = type(graph._repository.tables)
    real, written = tables.fold_rows, []

    def fold_rows(self, handle, parts):
        written.append(real(self, handle, parts))
        if len(written) == 1:
            graph.mutate(AGE, params={"name": "q3", "age": 33})
        return written[-1]

    monkeypatch.setattr(tables, "fold_rows", fold_rows)
    commit, folded = fold_type(graph._repository, "main", "node:Person")
    assert (len(written), commit is not None, folded) == ((2, True, 8) if is_small else (1, False, 0))
    assert {row["name"]: row["age"] for row in graph.table("Person").rows()}["q3"] == 33
    assert_graph_is_whole(graph)


def test_a_process_without_room_for_a_thread_goes_on_without_folds(graph: og.Graph, monkeypatch):
    def refuse(_thread) -> None:
        raise RuntimeError("can't start new thread")

    add(graph, 7)
    with monkeypatch.context() as patch:
        patch.setattr("omnigraph.write.tail.threading.Thread.start", refuse)
        add(graph, 1, first=7)
    assert len(graph.table("Person")) == 108
    assert graph.stats().maintenance.runs == 0
