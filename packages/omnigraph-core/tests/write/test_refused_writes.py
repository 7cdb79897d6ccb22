"""A write that is refused after its tables moved: the newest version of each of them shows what is published again."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

import omnigraph as og
from omnigraph.errors import ConstraintError, HeadMovedError, StorageCondition, StorageError
from omnigraph.failpoints import (
    MUTATION_POST_STAGE_PRE_EFFECT_GATE,
    PUBLISH_BEFORE_COMMIT,
    RECOVERY_SIDECAR_WRITE,
    REFUSAL_POST_PUT_BACK,
    REFUSAL_PRE_PUT_BACK,
)
from omnigraph.testing.faults import Call, Raise, armed, recorded

SCHEMA = """
node Person { name: String @key  age: I32? }
node Film { code: String @key  title: String? @unique }
edge Saw: Person -> Film
"""
QUERIES = """
query add($name: String) { insert Person { name: $name } }
query film($code: String, $title: String?) { insert Film { code: $code, title: $title } }
query pair($code: String, $title: String?) {
    insert Person { name: $code }
    insert Film { code: $code, title: $title }
}
query age($name: String, $age: I32) { update Person set { age: $age } where name = $name }
query both($age: I32) {
    update Person set { age: $age } where name = "ann"
    insert Film { code: "new", title: "t" }
}
"""


@pytest.fixture
def graph() -> Iterator[og.Graph]:
    with og.init(f"memory://refused-{secrets.token_hex(6)}", schema=SCHEMA) as graph:
        change(graph, "add", name="ann")
        yield graph


@pytest.fixture
def rival(graph: og.Graph) -> Iterator[og.Graph]:
    with og.open(graph.uri, actor="rival") as rival:
        yield rival


def change(graph: og.Graph, query: str, /, **params):
    return graph.mutate(QUERIES, query, params=params)


def once(act: Callable[[], object]) -> Call:
    """Does something the first time that a failpoint is reached; what it does may reach it too."""
    left = [act]
    return Call(lambda _name: left.pop()() if left else None)


def shown(graph: og.Graph) -> dict[str, bool]:
    """By type, whether the newest version of its table shows what the graph shows."""
    tables = graph._repository.tables
    entries = graph.snapshot().state.entries
    return {key: tables.newest(each.pin).shows(each.pin.version) for key, each in entries.items()}


def sidecars(graph: og.Graph) -> list[str]:
    adapter = graph._repository.adapter
    return [each.name for each in adapter.list_dir(adapter.key("__recovery"))]


def lose(graph: og.Graph, rival: og.Graph, query: str = "both", /, *, beside: dict | None = None) -> None:
    """Let a strict mutation of Person and Film lose to an update of Person, after its tables moved."""
    first = once(lambda: change(rival, "age", name="ann", age=99))
    with armed({PUBLISH_BEFORE_COMMIT: first, **(beside or {})}), pytest.raises(HeadMovedError):
        change(graph, query, age=1)


def test_a_strict_write_that_lost_puts_its_tables_back_at_once(graph: og.Graph, rival: og.Graph):
    with recorded() as reached:
        lose(graph, rival)
    # The rival wrote to Person after the loser, so that table shows the rival's version already.
    assert reached.count(REFUSAL_POST_PUT_BACK) == 1
    assert shown(graph) == dict.fromkeys(shown(graph), True)
    assert sidecars(graph) == []
    assert graph.recoveries.list() == []


def test_what_cannot_be_put_back_is_withdrawn_and_put_right_by_the_next_write(graph: og.Graph, rival: og.Graph):
    gone = StorageError("the store is gone", condition=StorageCondition.TRANSIENT)
    lose(graph, rival, beside={REFUSAL_PRE_PUT_BACK: Raise(gone)})
    assert not shown(graph)["node:Film"]
    (name,) = sidecars(graph)
    assert name.endswith(".withdrawn.json")
    change(graph, "add", name="bob")
    assert shown(graph) == dict.fromkeys(shown(graph), True)
    assert sidecars(graph) == []


def test_a_write_that_is_prepared_again_and_then_refused_puts_its_tables_back(graph: og.Graph, rival: og.Graph):
    """An insert steps over a lost race, and breaks a rule on the newest state."""
    first = once(lambda: change(rival, "film", code="theirs", title="one"))
    with armed({PUBLISH_BEFORE_COMMIT: first}), pytest.raises(ConstraintError):
        change(graph, "pair", code="ours", title="one")
    assert shown(graph) == dict.fromkeys(shown(graph), True)
    assert sidecars(graph) == []


def test_a_write_that_is_prepared_again_and_published_has_nothing_to_put_back(graph: og.Graph, rival: og.Graph):
    first = once(lambda: change(rival, "film", code="theirs", title="one"))
    with recorded() as reached, armed({PUBLISH_BEFORE_COMMIT: first}):
        change(graph, "film", code="ours", title="two")
    assert REFUSAL_PRE_PUT_BACK not in reached
    assert shown(graph) == dict.fromkeys(shown(graph), True)
    assert sidecars(graph) == []


def test_a_lost_attempt_is_told_of_by_a_sidecar_until_the_next_one_is_announced(graph: og.Graph, rival: og.Graph):
    """So a process that dies while it prepares again leaves something that tells which tables moved."""
    first = once(lambda: change(rival, "film", code="theirs", title="one"))
    before, after = list[list[str]](), list[list[str]]()
    looks = {
        RECOVERY_SIDECAR_WRITE: Call(lambda _name: before.append(sidecars(rival))),
        PUBLISH_BEFORE_COMMIT: Call(lambda name: (after.append(sidecars(rival)), first(name))),
    }
    with armed(looks):
        change(graph, "film", code="ours", title="two")
    # The rival's own publish lies between both attempts.
    assert [len(each) for each in before] == [0, 1, 1]
    assert before[2] == after[0]
    assert [len(each) for each in after] == [1, 2, 1]
    assert after[2] != after[0]


def test_a_version_that_others_made_meanwhile_is_not_hidden(graph: og.Graph, rival: og.Graph):
    """Between the look at the newest version and the restore, somebody else commits to the same table."""
    tables = graph._repository.tables
    genuine, meanwhile = type(tables).newest, [lambda: change(rival, "film", code="theirs", title="meanwhile")]

    def newest(self, pin):
        found = genuine(self, pin)
        if self is tables and pin.location == graph.snapshot().state.entries["node:Film"].pin.location and meanwhile:
            meanwhile.pop()()
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(tables), "newest", newest)
        lose(graph, rival)
    assert meanwhile == []
    assert shown(rival) == dict.fromkeys(shown(rival), True)
    assert [row["code"] for row in rival.table("Film").rows()] == ["theirs"]


def test_a_version_that_others_are_about_to_publish_is_shown_again(graph: og.Graph, rival: og.Graph):
    """It is committed between the look at the newest version and the restore, and published after both."""
    tables = graph._repository.tables
    genuine, others = type(tables).newest, list[Future]()
    arrived, go_on = threading.Event(), threading.Event()
    lost = once(lambda: change(rival, "age", name="ann", age=99))

    def stand_still(name: str) -> None:
        if threading.current_thread() is threading.main_thread():
            lost(name)
            return
        arrived.set()
        assert go_on.wait(60)

    def newest(self, pin):
        found = genuine(self, pin)
        if self is tables and pin.location == graph.snapshot().state.entries["node:Film"].pin.location and not others:
            others.append(pool.submit(change, rival, "film", code="theirs", title="meanwhile"))
            assert arrived.wait(60)
        return found

    with ThreadPoolExecutor(1) as pool, pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(tables), "newest", newest)
        lose(graph, rival, beside={PUBLISH_BEFORE_COMMIT: Call(stand_still)})
        go_on.set()
        others[0].result()
    assert shown(rival) == dict.fromkeys(shown(rival), True)


def test_an_interrupted_write_leaves_its_lost_attempt_withdrawn(graph: og.Graph, rival: og.Graph):
    first = once(lambda: change(rival, "film", code="theirs", title="one"))
    again = iter([lambda: None, lambda: None, KeyboardInterrupt])

    def interrupt(_name: str) -> None:
        act = next(again)
        if act is KeyboardInterrupt:
            raise KeyboardInterrupt

    stops = {PUBLISH_BEFORE_COMMIT: first, MUTATION_POST_STAGE_PRE_EFFECT_GATE: Call(interrupt)}
    with armed(stops), pytest.raises(KeyboardInterrupt):
        change(graph, "film", code="ours", title="two")
    (name,) = sidecars(graph)
    assert name.endswith(".withdrawn.json")
    graph.refresh()
    assert shown(graph) == dict.fromkeys(shown(graph), True)
    assert sidecars(graph) == []
