"""After the close: what is asked of a handle is a clear error, what was taken from it stays, and nothing is cut off."""

from __future__ import annotations

import inspect
import pickle
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import omnigraph as og
from omnigraph import failpoints
from omnigraph.errors import ClosedError, ErrorKind, OmnigraphError
from omnigraph.graph import Graph
from omnigraph.history.lifetime import Lifetime
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.testing.faults import Call, armed

SCHEMA = "node Film { code: String @key  title: String? }\nedge Cites: Film -> Film\n"
CODES = "query codes() { match { $f: Film } return { $f.code } order { $f.code } }"


@pytest.fixture
def graph() -> Graph:
    made = og.init(f"memory://closing-{uuid.uuid4().hex}", schema=SCHEMA)
    made.load([film("f1"), film("f2"), {"edge": "Cites", "from": "f1", "to": "f2"}], "append")
    return made


def film(code: str) -> dict[str, Any]:
    return {"type": "Film", "data": {"code": code}}


def codes(graph: Graph) -> list[str]:
    return [row["f.code"] for row in graph.query(CODES)]


def refused(call: Callable[[], object], graph: Graph) -> bool:
    """Whether a call is refused in the right words."""
    with pytest.raises(ClosedError) as caught:
        call()
    error = caught.value
    assert error.kind is ErrorKind.CLOSED == "closed"
    assert graph.uri in error.message
    assert f'omnigraph.open("{graph.uri}")' in (error.help or "")
    assert isinstance(error, OmnigraphError)
    return True


def methods() -> list[str]:
    return [name for name, _ in inspect.getmembers(Graph, inspect.isfunction) if name[0] != "_" and name != "close"]


def properties() -> list[str]:
    return [name for name, _ in inspect.getmembers(Graph, lambda each: isinstance(each, property))]


@pytest.mark.parametrize("mode", ["rw", "r"])
@pytest.mark.parametrize("name", methods())
def test_every_verb_is_refused_before_its_arguments_are_looked_at(graph: Graph, name: str, mode: Any):
    handle = og.open(graph.uri, mode=mode)
    handle.close()
    method = getattr(handle, name)
    needed = [each for each in inspect.signature(method).parameters.values() if each.default is each.empty]
    assert refused(lambda: method(*[None for _ in needed]), handle)


@pytest.mark.parametrize("name", properties())
def test_every_property_is_refused_but_those_that_say_which_graph_it_was(graph: Graph, name: str):
    before = {each: getattr(graph, each) for each in ("uri", "mode", "actor")}
    graph.close()
    if name in before:
        assert getattr(graph, name) == before[name]
    else:
        assert refused(lambda: getattr(graph, name), graph)
    assert repr(graph) == f"<Graph {graph.uri} mode='rw'>"


def test_what_a_handle_gave_out_to_ask_ends_with_it(graph: Graph):
    commits, maintain, schema = graph.commits, graph.maintain, graph.schema
    graph.close()
    for call in (
        lambda: commits.list(),
        lambda: commits.show("x"),
        lambda: maintain.ensure_indices(),
        lambda: schema.text,
        lambda: schema.digest,
    ):
        assert refused(call, graph)


@pytest.mark.parametrize("taken", [0, 1, 2])
def test_an_export_that_was_begun_ends_with_the_handle(graph: Graph, taken: int):
    lines = graph.export()
    assert len([next(lines) for _ in range(taken)]) == taken
    graph.close()
    assert refused(lambda: next(lines), graph)
    assert [*lines] == []


def test_snapshots_and_results_outlive_the_handle(graph: Graph):
    snapshot, result, commit = graph.snapshot(), graph.query(CODES), graph.commits.list()[0]
    graph.close()
    assert result.rows() == [{"f.code": "f1"}, {"f.code": "f2"}]
    assert result.to_arrow().num_rows == 2
    assert snapshot.commit == commit
    assert [each["count"] for each in snapshot.to_dict()["types"]] == [1, 2]
    with og.open(graph.uri) as again:
        again.load([film("f3")], "append")
        assert len(again.table("Film", snapshot=snapshot)) == 2


def test_closing_twice_is_closing_once(graph: Graph, monkeypatch: pytest.MonkeyPatch):
    closed: list[object] = []
    monkeypatch.setattr(MemoryAdapter, "close", lambda self: closed.append(self))
    graph.close()
    graph.close()
    assert closed == [graph._repository.adapter]


def test_a_context_closes_and_a_closed_handle_makes_none(graph: Graph):
    with pytest.raises(KeyError), graph:
        raise KeyError
    assert refused(graph.refresh, graph)
    assert refused(graph.__enter__, graph)


def test_a_closed_handle_does_not_travel(graph: Graph):
    graph.close()
    assert refused(lambda: pickle.dumps(graph), graph)


def test_other_handles_of_the_graph_go_on(graph: Graph):
    other = pickle.loads(pickle.dumps(graph))
    graph.close()
    other.load([film("f3")], "append")
    assert codes(other) == ["f1", "f2", "f3"]


# ── calls that are under way ─────────────────────────────────────────────────────────────────────────────────────


def test_a_write_that_is_under_way_when_another_thread_closes_happens(graph: Graph, monkeypatch: pytest.MonkeyPatch):
    is_under_way, is_closed, released = threading.Event(), threading.Event(), list[str]()
    genuine = MemoryAdapter.close
    monkeypatch.setattr(MemoryAdapter, "close", lambda self: (released.append("adapter"), genuine(self)))

    def wait(_: str) -> None:
        is_under_way.set()
        assert is_closed.wait(60)
        assert released == []

    with armed({failpoints.PUBLISH_TABLES_DURABLE: Call(wait)}), ThreadPoolExecutor(1) as threads:
        writing = threads.submit(graph.load, [film("f3")], "append")
        assert is_under_way.wait(60)
        graph.close()
        assert refused(graph.refresh, graph)
        is_closed.set()
        assert writing.result().total == 1
    assert released == ["adapter"]
    assert codes(og.open(graph.uri)) == ["f1", "f2", "f3"]


def test_threads_that_are_closed_upon_finish_or_are_told(graph: Graph):
    """Each call of each thread either does what it should or is refused; there is nothing else."""
    others, done = 6, threading.Barrier(7, timeout=60)

    def work(number: int) -> int:
        done.wait()
        for count in range(1_000):
            try:
                if number % 3 == 0:
                    assert codes(graph)[:2] == ["f1", "f2"]
                elif number % 3 == 1:
                    graph.load([film(f"w{number}")], "merge")
                else:
                    assert len([*graph.export(types=["Cites"])]) == 1
                    graph.stats()
            except ClosedError:
                return count
        raise AssertionError("nobody closed it")

    with ThreadPoolExecutor(others) as threads:
        working = [threads.submit(work, number) for number in range(others)]
        done.wait()
        while not any(row["code"].startswith("w") for row in graph.table("Film")):
            pass
        graph.close()
        assert all(each.result() >= 0 for each in working)


def test_a_close_by_the_call_itself_takes_nothing_away_from_it(graph: Graph):
    graph.load([film("f3")], "append", progress=lambda _: graph.close())
    assert refused(graph.refresh, graph)
    assert codes(og.open(graph.uri)) == ["f1", "f2", "f3"]


def test_whoever_leaves_last_lets_go_once():
    life, released = Lifetime("memory://life"), list[int]()
    with life:
        with life:
            life.close(lambda: released.append(1))
            life.close(lambda: released.append(2))
        assert released == []
    assert released == [1]
    with pytest.raises(ClosedError), life:
        pass
    assert released == [1]


def test_a_call_that_fails_is_over_too():
    life, released = Lifetime("memory://life"), list[int]()
    with pytest.raises(KeyboardInterrupt), life:
        raise KeyboardInterrupt
    life.close(lambda: released.append(1))
    assert released == [1]
