"""What a handle keeps in memory does not grow with the commits that it made or saw, and ends with its close.

Resident memory over 20,000 commits is measured by benchmarks/memory.py.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections import Counter
from functools import lru_cache
from pathlib import Path

import pytest
from lance import LanceDataset

import omnigraph as og
from omnigraph.history import commits
from omnigraph.history.log import ManifestLog
from omnigraph.tables.handles import LanceSnapshot
from omnigraph.tables.lance_tables import KEPT_OF_LINE

SCHEMA = "node Person { key: String @key  age: I32 }"
INSERT = "query q($key: String) { insert Person { key: $key, age: 1 } }"
COUNT = "query q() { match { $p: Person } return { count($p) as n } }"

SESSIONS = "many-commits-sessions"
"""The name of a graph, which the places of its tables have in them."""

COUNTED = 64
"""Commits whose memory is measured."""


def insert(graph: og.Graph, count: int, *, first: int = 0) -> None:
    for number in range(first, first + count):
        graph.mutate(INSERT, params={"key": f"p{number}"})
    graph._tail.wait()


def insert_on(graph: og.Graph, branch: str) -> None:
    graph.mutate(INSERT, params={"key": f"{branch}-{time.time_ns()}"}, branch=branch)


def objects_of_lance() -> Counter[str]:
    gc.collect()
    kinds = (LanceDataset, LanceSnapshot, ManifestLog)
    return Counter(type(each).__name__ for each in gc.get_objects() if isinstance(each, kinds))


def traced_bytes(graph: og.Graph) -> int:
    """What Python holds, without what has a bound of its own and is now smaller and now larger."""
    graph._repository.tables._handles.forget(lambda _: True)
    graph._repository.warm.clear()
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def session_bytes(graph: og.Graph) -> int:
    return graph._repository.tables.kept_handles()[1]


def test_lance_keeps_no_more_of_old_versions_than_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    limit = 256 * 1024
    monkeypatch.setenv("OMNIGRAPH_METADATA_CACHE_BYTES", str(limit))
    monkeypatch.setenv("OMNIGRAPH_INDEX_CACHE_BYTES", str(limit))
    with og.init(tmp_path / "graph", schema=SCHEMA) as graph:
        insert(graph, 50)
        # Without a bound it is about 1.5 MiB by now. Lance evicts a little later than it adds.
        assert session_bytes(graph) < 3 * limit
        assert graph.query(COUNT).rows() == [{"n": 50}]


def test_every_version_that_stays_open_shares_the_session_that_has_a_bound():
    with og.init(f"memory://{SESSIONS}", schema=SCHEMA) as graph:
        insert(graph, 2)
        graph.branches.create("work")
        for number in range(3):
            graph.mutate(INSERT, params={"key": f"work-{number}"}, branch="work")
        graph.branches.merge("work")
        tables = graph._repository.tables
        kept = [
            each for each in gc.get_objects() if isinstance(each, LanceDataset) and "commits-sessions" in str(each.uri)
        ]
        assert len(kept) > 3
        sessions = (tables.session, graph._repository.logs.session)
        assert all(any(each.session().is_same_as(one) for one in sessions) for each in kept)


def test_caches_begin_anew_after_many_versions_so_that_indexes_nobody_reads_leave(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("omnigraph.tables.lance_tables.RENEW_AFTER", 10)
    monkeypatch.setattr("omnigraph.tables.lance_tables.RENEW_ABOVE", 0)
    with og.init("memory://many-commits-renewed", schema=SCHEMA) as graph:
        tables = graph._repository.tables
        sessions = [tables.session]
        for number in range(25):
            insert(graph, 1, first=number)
            assert graph.query(COUNT).rows() == [{"n": number + 1}]
            if not tables.session.is_same_as(sessions[-1]):
                sessions.append(tables.session)
        assert len(sessions) >= 3
        kept = [
            each.session()
            for each in gc.get_objects()
            if isinstance(each, LanceDataset) and "-renewed" in str(each.uri)
        ]
        assert not any(each.is_same_as(old) for each in kept for old in sessions[:-1])
        monkeypatch.setattr("omnigraph.tables.lance_tables.RENEW_ABOVE", 2**40)
        insert(graph, 25, first=100)
        assert tables.session.is_same_as(sessions[-1])


def test_of_one_table_few_versions_stay_open():
    with og.init("memory://many-commits-open", schema=SCHEMA) as graph:
        insert(graph, 4 * KEPT_OF_LINE)
        assert graph._repository.tables.kept_handles()[0] <= KEPT_OF_LINE


def test_a_commit_leaves_less_than_a_kilobyte_behind(monkeypatch: pytest.MonkeyPatch):
    # Bounded at 1,024 commits, and this test makes fewer.
    monkeypatch.setattr(commits, "_commit_of", lru_cache(maxsize=40)(commits._commit_of.__wrapped__))
    with og.init("memory://many-commits-growth", schema=SCHEMA) as graph:
        insert(graph, 10)
        tracemalloc.start()
        try:
            insert(graph, 50, first=1_000)
            before = traced_bytes(graph)
            insert(graph, COUNTED, first=2_000)
            grown = traced_bytes(graph) - before
        finally:
            tracemalloc.stop()
    assert grown / COUNTED < 1_000


def test_branches_that_are_gone_leave_nothing_behind(tmp_path: Path):
    with og.init(tmp_path / "graph", schema=SCHEMA) as graph:
        insert(graph, 2)
        counts = []
        for number in range(4):
            graph.branches.create("work")
            insert_on(graph, "work")
            assert graph.query(COUNT, branch="work").rows() == [{"n": 3 + number}]
            graph.branches.merge("work", delete_branch=True)
            repository = graph._repository
            lines = {pin.branch for pin in repository.warm._kept} | {
                pin.branch for pin in repository.tables._handles._values
            }
            counts.append((len(repository._newest), len(lines)))
        # main has a version of its own, or shows that of the last branch.
        assert max(counts) <= (1, 2)


def test_a_fold_that_comes_too_late_keeps_nothing_of_its_branch():
    with og.init("memory://many-commits-late", schema=SCHEMA) as graph:
        graph.branches.create("work")
        insert_on(graph, "work")
        repository = graph._repository
        ref = repository.resolve("work")
        [pin] = [entry.pin for entry in repository.known("work").state.entries.values()]
        graph.branches.delete("work")
        # As a fold that began before the branch was deleted.
        repository.tables.open_at(pin)
        graph._tail._begin(ref, ["node:Person"])
        graph._tail.wait()
        assert pin not in repository.tables._handles._values


def test_what_another_branch_shows_of_one_that_is_gone_stays_open():
    with og.init("memory://many-commits-heir", schema=SCHEMA) as graph:
        graph.branches.create("work")
        insert_on(graph, "work")
        graph.branches.create("heir", base="work")
        assert graph.query(COUNT, branch="heir").rows() == [{"n": 1}]
        repository = graph._repository
        ref = repository.resolve("work")
        [pin] = [entry.pin for entry in repository.known("heir").state.entries.values()]
        repository.rivals.meet(ref.incarnation)
        graph.branches.delete("work")
        assert not repository.rivals.are_near(ref.incarnation)
        assert pin in repository.tables._handles._values
        graph.branches.delete("heir")
        repository.forget_branch(ref)
        assert pin not in repository.tables._handles._values


def test_a_handle_that_follows_another_keeps_few_versions(tmp_path: Path):
    with og.init(tmp_path / "graph", schema=SCHEMA) as graph, og.open(tmp_path / "graph", mode="r") as reader:
        for number in range(3 * KEPT_OF_LINE):
            graph.mutate(INSERT, params={"key": f"p{number}"})
            reader.refresh()
            assert reader.query(COUNT).rows() == [{"n": number + 1}]
        assert reader._repository.tables.kept_handles()[0] <= KEPT_OF_LINE


def test_a_close_lets_go_of_all_that_was_open_although_somebody_holds_the_handle(tmp_path: Path):
    before = objects_of_lance()
    graph = og.init(tmp_path / "graph", schema=SCHEMA)
    insert(graph, 5)
    graph.branches.create("work")
    graph.query(COUNT, branch="work").rows()
    snapshot = graph.snapshot()
    assert objects_of_lance() != before
    tables = graph._repository.tables
    graph.close()
    assert objects_of_lance() == before
    assert tables.kept_handles()[0] == 0
    # An empty session has a few bytes for itself.
    assert session_bytes(graph) < 1_000
    assert graph._reader.plan_counts()["entries"] == 0
    assert snapshot.commit.id


def test_a_graph_that_lives_in_memory_outlives_the_close_of_its_handle():
    with og.init("memory://many-commits-close", schema=SCHEMA) as graph:
        insert(graph, 2)
    with og.open("memory://many-commits-close") as graph:
        assert graph.query(COUNT).rows() == [{"n": 2}]
