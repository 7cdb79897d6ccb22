"""Mutations that meet: every kind of conflict, provoked at a named point, with what its error says."""

from __future__ import annotations

import pickle
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace

import pytest

import omnigraph as og
from omnigraph.errors import ConstraintError, ContentionError, ErrorKind, HeadMovedError
from omnigraph.failpoints import (
    MUTATION_DELETE_NODE_PRE_PRIMARY_DELETE,
    MUTATION_POST_NO_EFFECT_PRE_GATE,
    MUTATION_POST_STAGE_PRE_EFFECT_GATE,
    PUBLISH_BEFORE_COMMIT,
    PUBLISH_TABLES_DURABLE,
)
from omnigraph.testing.faults import Barrier, Call, armed
from omnigraph.testing.invariants import assert_graph_is_whole
from omnigraph.write import mutate
from omnigraph.write.attempts import WriteRequest
from omnigraph.write.deadlines import Deadline

SCHEMA = """
node Person { name: String @key  age: I32?  mail: String? @unique }
node Film { code: String @key }
edge Knows: Person -> Person @card(0..2)
"""
QUERIES = """
query add($name: String, $age: I32?, $mail: String?) { insert Person { name: $name, age: $age, mail: $mail } }
query film($code: String) { insert Film { code: $code } }
query age($name: String, $age: I32) { update Person set { age: $age } where name = $name }
query know($from: String, $to: String) { insert Knows { from: $from, to: $to } }
query forget($name: String) { delete Person where name = $name }
query forget_edges($from: String) { delete Knows where from = $from }
"""


@pytest.fixture
def graph() -> Iterator[og.Graph]:
    with og.init(f"memory://conflicts-{secrets.token_hex(6)}", schema=SCHEMA) as graph:
        for name in ("ann", "bob", "cem"):
            change(graph, "add", name=name)
        yield graph


@pytest.fixture
def other(graph: og.Graph) -> Iterator[og.Graph]:
    with og.open(graph.uri, actor="rival") as other:
        yield other


def change(graph: og.Graph, query: str, /, *, if_commit: str | None = None, on_conflict="fail", **params):
    return graph.mutate(QUERIES, query, params=params, if_commit=if_commit, on_conflict=on_conflict)


class OpenGates:
    """Gates that nobody waits at."""

    def hold(self, **_gates):
        return nullcontext()


def once(act: Callable[[], object]) -> Call:
    """Does something the first time that a failpoint is reached; what it does may reach it too."""
    left = [act]

    def first(_name: str) -> None:
        if left:
            left.pop()()

    return Call(first)


def ages(graph: og.Graph) -> dict[str, int | None]:
    return {row["name"]: row["age"] for row in graph.table("Person").rows()}


def known(graph: og.Graph) -> list[tuple[str, str]]:
    return sorted((row["src"], row["dst"]) for row in graph.table("Knows").rows())


STRICT = {
    "update": lambda graph, **options: change(graph, "age", name="ann", age=1, **options),
    "delete": lambda graph, **options: change(graph, "forget", name="ann", **options),
}


# ── head_moved: data that a strict mutation is about ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize("what", STRICT)
def test_a_strict_mutation_loses_to_a_change_of_its_type(graph: og.Graph, other: og.Graph, what: str):
    seen = graph.snapshot().commit
    won = []
    rival = once(lambda: won.append(change(other, "age", name="ann", age=99).commit))
    with armed({MUTATION_POST_STAGE_PRE_EFFECT_GATE: rival}), pytest.raises(HeadMovedError) as lost:
        STRICT[what](graph)
    error = lost.value
    assert error.kind is ErrorKind.HEAD_MOVED
    assert (error.branch, error.expected, error.actual) == ("main", seen.id, won[0].id)
    assert error.members == ("pin:node:Person",)
    assert error.message == "Node type Person changed while this write to main was under way."
    again = pickle.loads(pickle.dumps(error))
    assert (again.to_dict(), again.members) == (error.to_dict(), error.members)
    assert ages(graph) == {"ann": 99, "bob": None, "cem": None}
    assert_graph_is_whole(graph)


@pytest.mark.parametrize("what", STRICT)
def test_a_strict_mutation_that_may_be_tried_again_is(graph: og.Graph, other: og.Graph, what: str):
    rival = once(lambda: change(other, "add", name="dee", age=4))
    with armed({MUTATION_POST_STAGE_PRE_EFFECT_GATE: rival}):
        done = STRICT[what](graph, on_conflict="retry")
    assert done.affected_nodes == 1
    expected = {"bob": None, "cem": None, "dee": 4} | ({"ann": 1} if what == "update" else {})
    assert ages(graph) == expected


@pytest.mark.parametrize("what", STRICT)
def test_a_strict_mutation_is_no_conflict_with_other_types(graph: og.Graph, other: og.Graph, what: str):
    """Nothing that it relied on moved, so the same commits of its types are published on the newer state."""
    rival = once(lambda: change(other, "film", code="F1"))
    with armed({PUBLISH_TABLES_DURABLE: rival}):
        done = STRICT[what](graph)
    assert done.commit is not None
    assert graph.commits.list()[1].actor == "rival"
    assert len(graph.table("Film")) == 1
    assert_graph_is_whole(graph)


def test_of_two_strict_mutations_of_one_type_exactly_one_succeeds(graph: og.Graph, other: og.Graph, monkeypatch):
    def attempt(handle: og.Graph, name: str) -> bool:
        try:
            change(handle, "age", name=name, age=7)
        except HeadMovedError:
            return False
        return True

    # As if they were two processes: gates would let one wait for the other.
    monkeypatch.setattr("omnigraph.write.attempts.gates_of", lambda _root: OpenGates())
    with armed({PUBLISH_BEFORE_COMMIT: Barrier(2, seconds=20)}), ThreadPoolExecutor(2) as threads:
        won = list(threads.map(attempt, (graph, other), ("ann", "bob")))
    assert sorted(won) == [False, True]
    assert sorted(each for each in ages(graph).values() if each) == [7]


def test_a_strict_mutation_that_breaks_a_rule_on_an_old_state_is_a_conflict_too(graph: og.Graph, other: og.Graph):
    """Else it would be built anew on what its caller has not seen."""
    change(graph, "add", name="dee", mail="x@x.org")
    source = 'query mail() { update Person set { mail: "x@x.org" } where name = "ann" }'
    rivals = [lambda: change(other, "add", name="dee", age=99)]
    real = mutate.validate_changes

    def judged(*arguments):
        real(*arguments)
        if rivals:
            rivals.pop()()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mutate, "validate_changes", judged)
        with pytest.raises(HeadMovedError) as lost:
            graph.mutate(source)
    assert lost.value.members == ("pin:node:Person",)
    # On what is there now it breaks nothing.
    assert graph.mutate(source).affected_nodes == 1


def test_a_delete_of_edges_is_no_conflict_with_new_nodes(graph: og.Graph, other: og.Graph):
    change(graph, "know", **{"from": "ann", "to": "bob"})
    rival = once(lambda: change(other, "add", name="dee"))
    with armed({MUTATION_POST_STAGE_PRE_EFFECT_GATE: rival}):
        assert change(graph, "forget_edges", **{"from": "ann"}).affected_edges == 1


def test_a_cascading_delete_that_is_parked_loses_to_an_update(graph: og.Graph, other: og.Graph):
    change(graph, "know", **{"from": "ann", "to": "bob"})
    rival = once(lambda: change(other, "age", name="ann", age=5))
    with armed({MUTATION_DELETE_NODE_PRE_PRIMARY_DELETE: rival}), pytest.raises(HeadMovedError):
        change(graph, "forget", name="ann")
    assert ages(graph)["ann"] == 5
    assert known(graph) == [("ann", "bob")]


# ── write skew: an edge, and the node that it needs ──────────────────────────────────────────────────────────────


def test_an_edge_that_is_inserted_while_its_node_is_deleted_is_refused(graph: og.Graph, other: og.Graph):
    rival = once(lambda: change(other, "forget", name="bob"))
    with armed({MUTATION_POST_STAGE_PRE_EFFECT_GATE: rival}), pytest.raises(ConstraintError) as refused:
        change(graph, "know", **{"from": "ann", "to": "bob"})
    assert "dst 'bob' not found in Person" in refused.value.message
    assert (refused.value.type_key, refused.value.constraint) == ("edge:Knows", "endpoint dst")
    assert "bob" in refused.value.holders
    assert known(graph) == []
    assert "bob" not in ages(graph)
    assert_graph_is_whole(graph)


def test_a_node_that_is_deleted_while_an_edge_to_it_is_inserted_stays(graph: og.Graph, other: og.Graph):
    rival = once(lambda: change(other, "know", **{"from": "ann", "to": "bob"}))
    with armed({MUTATION_POST_STAGE_PRE_EFFECT_GATE: rival}), pytest.raises(HeadMovedError) as lost:
        change(graph, "forget", name="bob")
    assert lost.value.members == ("pin:edge:Knows",)
    assert known(graph) == [("ann", "bob")]
    assert "bob" in ages(graph)
    assert_graph_is_whole(graph)


# ── constraints that only the newest state breaks ────────────────────────────────────────────────────────────────


def test_of_two_inserts_of_one_unique_value_the_second_names_both_holders(graph: og.Graph, other: og.Graph):
    rival = once(lambda: change(other, "add", name="dee", mail="x@x.org"))
    with armed({MUTATION_POST_STAGE_PRE_EFFECT_GATE: rival}), pytest.raises(ConstraintError) as refused:
        change(graph, "add", name="eve", mail="x@x.org")
    error = refused.value
    assert (error.type_key, error.id, error.constraint) == ("node:Person", "eve", "@unique(mail)")
    assert error.holders == ("dee", "eve")
    assert error.message == "statement 1: @unique violation on Person.mail: value 'x@x.org' held by 'dee' and 'eve'"
    assert "eve" not in ages(graph)


def test_edges_that_together_are_too_many_are_refused(graph: og.Graph, other: og.Graph):
    change(graph, "know", **{"from": "ann", "to": "bob"})
    rival = once(lambda: change(other, "know", **{"from": "ann", "to": "cem"}))
    with armed({MUTATION_POST_STAGE_PRE_EFFECT_GATE: rival}), pytest.raises(ConstraintError) as refused:
        change(graph, "know", **{"from": "ann", "to": "ann"})
    assert "source 'ann' has 3 edges (max 2)" in refused.value.message
    assert len(known(graph)) == 2


def test_two_inserts_of_one_key_both_land_and_the_later_one_stays(graph: og.Graph, other: og.Graph):
    rival = once(lambda: change(other, "add", name="dee", age=1))
    with armed({MUTATION_POST_STAGE_PRE_EFFECT_GATE: rival}):
        change(graph, "add", name="dee", age=2)
    assert ages(graph)["dee"] == 2
    assert_graph_is_whole(graph)


# ── if_commit ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_mutation_on_a_commit_that_is_not_the_newest_is_refused(graph: og.Graph, other: og.Graph):
    seen = graph.snapshot().commit.id
    newest = change(other, "film", code="F1").commit.id
    with pytest.raises(HeadMovedError) as lost:
        change(graph, "add", name="dee", if_commit=seen)
    error = lost.value
    assert (error.branch, error.expected, error.actual, error.members) == ("main", seen, newest, ())
    assert seen in error.message
    assert newest in error.message
    assert "dee" not in ages(graph)


@pytest.mark.parametrize("what", ["insert", "update"])
def test_a_mutation_on_a_commit_loses_to_whatever_lands_first_and_is_never_tried_again(
    graph: og.Graph, other: og.Graph, what: str
):
    seen = graph.snapshot().commit.id
    rival = once(lambda: change(other, "film", code="F1"))
    params = {"name": "dee"} if what == "insert" else {"name": "ann", "age": 3}
    with armed({PUBLISH_TABLES_DURABLE: rival}), pytest.raises(HeadMovedError):
        change(graph, "add" if what == "insert" else "age", if_commit=seen, on_conflict="retry", **params)
    assert ages(graph) == {"ann": None, "bob": None, "cem": None}
    assert_graph_is_whole(graph)


@pytest.mark.parametrize("before", range(24, 36))
def test_a_commit_is_the_newest_wherever_maintenance_moved_it_to(graph: og.Graph, before: int):
    """Every 33rd commit moves those before it to the history, and may be maintenance itself."""
    for number in range(before - len(graph.commits.list())):
        seen = change(graph, "film", code=f"F{number}").commit
    graph.maintain.ensure_indices()
    assert graph.snapshot().commit.kind == "maintenance"
    assert change(graph, "age", name="ann", age=1, if_commit=seen).affected_nodes == 1


def test_a_mutation_that_matches_nothing_still_answers_for_its_commit(graph: og.Graph, other: og.Graph):
    seen = graph.snapshot().commit.id
    rival = once(lambda: change(other, "film", code="F1"))
    with armed({MUTATION_POST_NO_EFFECT_PRE_GATE: rival}), pytest.raises(HeadMovedError):
        change(graph, "age", name="nobody", age=1, if_commit=seen)
    assert change(graph, "age", name="nobody", age=1, if_commit=graph.snapshot().commit.id).commit is None


def test_a_read_and_a_write_on_what_was_read_lose_no_update(graph: og.Graph):
    """Eight threads count up by reading, and writing if nothing changed since."""
    change(graph, "age", name="ann", age=0)
    read = 'query age() { match { $p: Person { name: "ann" } } return { $p.age } }'

    def count_up(_number: int) -> None:
        with og.open(graph.uri) as handle:
            while True:
                found = handle.query(read)
                [row] = found.rows()
                try:
                    change(handle, "age", name="ann", age=row["p.age"] + 1, if_commit=found.commit_id)
                except HeadMovedError:
                    continue
                return

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(count_up, range(16)))
    assert ages(graph)["ann"] == 16


# ── contention ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_mutation_ends_at_its_deadline_when_others_always_come_first(graph: og.Graph, other: og.Graph, monkeypatch):
    numbers = iter(range(1_000_000))
    inside = []
    deadline = Deadline()

    def rival(_name: str) -> None:
        if not inside:
            inside.append(True)
            number = next(numbers)
            change(other, "add", name=f"r{number}")
            inside.clear()
            if number == 2:
                deadline.ends = 0

    monkeypatch.setattr(mutate, "WriteRequest", lambda **facts: replace(WriteRequest(**facts), deadline=deadline))
    with armed({MUTATION_POST_STAGE_PRE_EFFECT_GATE: Call(rival)}), pytest.raises(ContentionError) as ended:
        change(graph, "add", name="dee")
    error = ended.value
    assert (error.kind, error.branch) == (ErrorKind.CONTENTION, "main")
    assert error.attempts > 1
    assert "dee" not in ages(graph)
    assert_graph_is_whole(graph)
