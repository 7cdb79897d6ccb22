"""``assert_graph_is_whole`` tells each thing that can be wrong with a graph: else what stands on it proves nothing."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from omnigraph.failpoints import PUBLISH_SIDECAR_WRITTEN
from omnigraph.graph import Commits, Graph
from omnigraph.testing.faults import Call, armed
from omnigraph.testing.graph_contract.clauses import SEED, GraphPlace
from omnigraph.testing.invariants import assert_graph_is_whole
from omnigraph.write import fold_policy


@pytest.fixture
def graph() -> Iterator[Graph]:
    with GraphPlace(uri=f"memory://whole-{secrets.token_hex(8)}/g").init() as graph:
        graph.load(SEED, "append")
        graph.load([], "append")
        yield graph


def test_a_whole_graph_passes(graph: Graph):
    assert_graph_is_whole(graph)


@pytest.mark.parametrize(
    ("name", "said"),
    [("__recovery/01ARZ3NDEKTSV4RRFFQ69G5FAV.json", "sidecar: the plan"), ("__init_claim.json", "left behind: ")],
)
def test_what_a_write_left_behind_is_told_unless_it_is_expected(graph: Graph, name: str, said: str):
    adapter = graph._repository.adapter
    adapter.write(adapter.key(name), b"{}")
    assert_graph_is_whole(graph, is_settled=False)
    with pytest.raises(AssertionError, match=f"{said}.*{name}"):
        assert_graph_is_whole(graph)


def test_a_fold_of_the_tail_that_is_under_way_is_waited_for(graph: Graph, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fold_policy, "TAIL_PARTS", 2)
    announced, go_on = threading.Event(), threading.Event()

    def hold(_name: str) -> None:
        if threading.current_thread().name == "omnigraph-fold":
            announced.set()
            assert go_on.wait(20)

    with armed({PUBLISH_SIDECAR_WRITTEN: Call(hold)}):
        for name in ("eve", "fay"):
            graph.load([{"type": "Person", "data": {"name": name}}], "append")
        assert announced.wait(20)
        # Long enough for whoever does not wait to see the sidecar.
        threading.Timer(0.3, go_on.set).start()
        assert_graph_is_whole(graph)


def broken_history(graph: Graph, monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    commits = graph.commits.list()
    monkeypatch.setattr(Commits, "list", lambda self, _branch: change(commits))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda commits: [commits[0], commits[2]], "history is no line"),
        (lambda commits: [replace(commits[0], parent_id=commits[2].id), *commits[1:]], "history is no line"),
        (lambda commits: [replace(commits[0], manifest_version=7), *commits[1:]], "versions have gaps"),
        (lambda commits: commits[1:], "the newest commit is"),
    ],
    ids=["missing", "fork", "gap", "behind"],
)
def test_a_history_that_is_no_line_is_told(graph: Graph, monkeypatch: pytest.MonkeyPatch, change: Any, complaint: str):
    broken_history(graph, monkeypatch, change)
    with pytest.raises(AssertionError, match=complaint):
        assert_graph_is_whole(graph)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (None, "node:Person is exported otherwise"),
        ('{"type":"Person","data":{"id":"zed","name":"zed","age":null}}', "node:Person is exported otherwise"),
        ('{"edge":"Rated","from":"zed","to":"F1","data":{"id":"x","stars":1}}', "has no from: zed"),
        ('{"edge":"Rated","from":"ann","to":"F9","data":{"id":"x","stars":1}}', "has no to: F9"),
    ],
    ids=["missing", "added", "source", "target"],
)
def test_an_export_that_is_not_what_is_stored_is_told(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, line: str | None, complaint: str
):
    lines = list(graph.export())
    changed = (
        [each for each in lines if '"ann"' not in each or '"Person"' not in each] if line is None else [*lines, line]
    )
    monkeypatch.setattr(Graph, "export", lambda self, **_: iter(changed))
    with pytest.raises(AssertionError, match=complaint):
        assert_graph_is_whole(graph)


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([{"id": "ann"}], "node:Person has 1 rows, and the manifest says 2"),
        ([{"id": "ann"}, {"id": "ann"}], "node:Person has ids twice"),
    ],
)
def test_rows_that_are_not_as_the_manifest_says_are_told(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, rows: list[dict[str, str]], complaint: str
):
    read = Graph.table

    def table(self: Graph, name: str, *arguments: Any, **options: Any) -> Any:
        return rows if name == "node:Person" else read(self, name, *arguments, **options)

    monkeypatch.setattr(Graph, "table", table)
    with pytest.raises(AssertionError, match=complaint):
        assert_graph_is_whole(graph)
