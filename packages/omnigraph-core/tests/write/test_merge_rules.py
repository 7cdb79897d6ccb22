"""What two branches may each do, and not together: every kind of conflict about rules of the schema.

A rule about the values of one row cannot be broken by a merge alone: rows are taken whole, and each was judged when it
was written. So there the way from the evaluator to the conflict is tested with rows that came past it.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import omnigraph as og
from omnigraph.errors import ConstraintError, MergeConflictError
from omnigraph.write import stage

SCHEMA = """
node Person {
    name: String @key
    mail: String? @unique
    age: I32?
    mood: enum(good, bad)?
    @range(age, 0..99)
    @check(name, "^[a-z0-9-]+$")
}
node Note { code: String @key }
edge Knows: Person -> Person { since: I32?  how: enum(well, badly)? }
edge Rated: Person -> Note { stars: I32?  @unique(src, dst) }
edge Sits: Person -> Note @card(0..1)
edge Cites: Note -> Note @card(2..)
"""
SIDES = {"main": "feature", "feature": "main"}
"""By target: the source."""

Told = tuple[str, str, str, str | None]


def person(name: str, **values: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, **values}}


def note(code: str) -> dict[str, Any]:
    return {"type": "Note", "data": {"code": code}}


def edge(kind: str, id_: str, source: str, target: str, **values: Any) -> dict[str, Any]:
    return {"edge": kind, "from": source, "to": target, "data": {"id": id_, **values}}


CITES = [edge("Cites", f"c{number}", "n1", "n2") for number in range(3)]


@pytest.fixture
def graph() -> Iterator[og.Graph]:
    """Main, and a branch ``feature`` of the same content."""
    with og.init(f"memory://merge-rules-{secrets.token_hex(8)}/g", schema=SCHEMA) as graph:
        people = [person(name) for name in ("ann", "bo", "cy", "dee")]
        graph.load([*people, note("n1"), note("n2"), edge("Knows", "k1", "ann", "bo"), *CITES], "append")
        graph.branches.create("feature")
        yield graph


def do(graph: og.Graph, branch: str, *statements: str) -> None:
    for each in statements:
        graph.mutate(f"query change() {{ {each} }}", branch=branch)


def update(graph: og.Graph, branch: str, name: str, **values: Any) -> None:
    """Set properties of one person; null where a value is None."""
    assigned = ", ".join(f"{each}: ${each}" for each in values)
    declared = ", ".join(f"${each}: {'I32' if each == 'age' else 'String'}?" for each in values)
    source = f'query change({declared}) {{ update Person set {{ {assigned} }} where name = "{name}" }}'
    graph.mutate(source, params=values, branch=branch)


def conflicts_of(graph: og.Graph, into: str = "main", strategy: Any = "fail") -> set[Told]:
    """Conflicts of a merge: kind, entity, type and id. Nothing was changed by it, and a dry run tells the same.

    The number of edges is about no single one of them, so there it is the node that the message names.
    """
    before = {each: (graph.snapshot(each).commit.id, list(graph.export(branch=each))) for each in SIDES}
    with pytest.raises(MergeConflictError) as raised:
        graph.branches.merge(SIDES[into], into, strategy=strategy)
    assert {each: (graph.snapshot(each).commit.id, list(graph.export(branch=each))) for each in SIDES} == before
    told = graph.branches.merge(SIDES[into], into, strategy=strategy, dry_run=True)
    assert tuple(told.conflicts) == raised.value.conflicts
    assert len({str(each) for each in told.conflicts}) == len(told.conflicts)
    return {(str(each.kind), each.entity, each.type, told_of(each)) for each in told.conflicts}


def told_of(conflict: Any) -> str | None:
    counted = re.search("source '(.*)' has", conflict.message)
    return counted[1] if counted and conflict.kind == "cardinality_violation" else conflict.id


def merged(graph: og.Graph, into: str = "main", strategy: Any = "fail") -> dict[str, dict[str, Any]]:
    """Rows after a merge, by id."""
    assert graph.branches.merge(SIDES[into], into, strategy=strategy).outcome == "merged"
    return rows(graph, into)


def rows(graph: og.Graph, branch: str) -> dict[str, dict[str, Any]]:
    records = [json.loads(line) for line in graph.export(branch=branch)]
    return {each["data"]["id"]: {**each, **each["data"]} for each in records}


# ── orphan edges ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("strategy", ["fail", "ours", "theirs"])
@pytest.mark.parametrize("into", SIDES)
@pytest.mark.parametrize("deleter", SIDES)
@pytest.mark.parametrize("ends", [("cy", "bo"), ("bo", "cy"), ("bo", "bo")])
def test_an_edge_to_a_node_that_the_other_branch_deleted(
    graph: og.Graph, ends: tuple[str, str], deleter: str, into: str, strategy: str
):
    do(graph, deleter, 'delete Person where name = "bo"')
    graph.load([edge("Knows", "k2", *ends)], "append", branch=SIDES[deleter])
    assert conflicts_of(graph, into, strategy) == {("orphan_edge", "edge", "Knows", "k2")}


@pytest.mark.parametrize("into", SIDES)
def test_an_edge_that_moved_to_a_node_that_the_other_branch_deleted(graph: og.Graph, into: str):
    do(graph, SIDES[into], 'delete Person where name = "cy"')
    graph.load([edge("Knows", "k1", "ann", "cy")], "merge", branch=into)
    assert conflicts_of(graph, into) == {("orphan_edge", "edge", "Knows", "k1")}


@pytest.mark.parametrize("into", SIDES)
def test_a_node_and_an_edge_to_it_that_are_both_deleted_or_both_kept_are_no_conflict(graph: og.Graph, into: str):
    do(graph, SIDES[into], 'delete Person where name = "bo"')
    do(graph, into, 'delete Knows where from = "ann"', 'insert Person { name: "eve" }')
    after = merged(graph, into)
    assert ("bo" in after, "k1" in after, "eve" in after) == (False, False, True)


@pytest.mark.parametrize("into", SIDES)
def test_a_changed_edge_of_a_deleted_node_is_a_conflict_of_its_row_and_an_orphan_if_it_is_kept(
    graph: og.Graph, into: str
):
    do(graph, SIDES[into], 'delete Person where name = "bo"')
    graph.load([edge("Knows", "k1", "ann", "bo", since=7)], "merge", branch=into)
    orphan = ("orphan_edge", "edge", "Knows", "k1")
    assert conflicts_of(graph, into) == {("delete_vs_update", "edge", "Knows", "k1"), orphan}
    assert conflicts_of(graph, into, "ours") == {orphan}
    after = merged(graph, into, "theirs")
    assert ("bo" in after, "k1" in after) == (False, False)


# ── unique values ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("strategy", ["fail", "ours", "theirs"])
@pytest.mark.parametrize("into", SIDES)
def test_one_unique_value_on_two_rows_is_told_of_the_row_that_would_be_written(
    graph: og.Graph, into: str, strategy: str
):
    update(graph, SIDES[into], "ann", mail="m")
    update(graph, into, "bo", mail="m")
    assert conflicts_of(graph, into, strategy) == {("unique_violation", "node", "Person", "ann")}


@pytest.mark.parametrize("into", SIDES)
def test_two_edges_with_the_same_unique_ends(graph: og.Graph, into: str):
    graph.load([edge("Rated", "r1", "ann", "n1")], "append", branch=SIDES[into])
    graph.load([edge("Rated", "r2", "ann", "n1")], "append", branch=into)
    assert conflicts_of(graph, into) == {("unique_violation", "edge", "Rated", "r1")}


def test_parallel_edges_are_both_kept_where_no_rule_is_about_them(graph: og.Graph):
    for branch in SIDES:
        do(graph, branch, 'insert Knows { from: "cy", to: "dee" }')
    assert len([each for each in merged(graph).values() if each.get("from") == "cy"]) == 2


def test_a_value_that_one_branch_freed_and_gave_on_is_held_once(graph: og.Graph):
    update(graph, "main", "ann", mail="m")
    graph.branches.merge("main", "feature")
    update(graph, "feature", "ann", mail=None)
    update(graph, "feature", "bo", mail="m")
    update(graph, "main", "cy", mail="other")
    after = merged(graph)
    assert [after[name]["mail"] for name in ("ann", "bo", "cy")] == [None, "m", "other"]


def test_a_strategy_decides_rows_and_no_rules(graph: og.Graph):
    """Theirs frees the value that it gives away; ours keeps it where it was."""
    update(graph, "main", "ann", mail="m")
    graph.branches.merge("main", "feature")
    update(graph, "feature", "ann", mail=None)
    update(graph, "feature", "bo", mail="m")
    update(graph, "main", "ann", age=5)
    held_twice = ("unique_violation", "node", "Person", "bo")
    assert conflicts_of(graph) == {("divergent_update", "node", "Person", "ann"), held_twice}
    assert conflicts_of(graph, strategy="ours") == {held_twice}
    after = merged(graph, strategy="theirs")
    assert (after["ann"]["mail"], after["ann"]["age"], after["bo"]["mail"]) == (None, None, "m")


# ── numbers of edges ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("into", SIDES)
def test_more_edges_than_a_node_may_have(graph: og.Graph, into: str):
    graph.load([edge("Sits", "s1", "ann", "n1")], "append", branch=SIDES[into])
    graph.load([edge("Sits", "s2", "ann", "n2"), edge("Sits", "s3", "bo", "n2")], "append", branch=into)
    assert conflicts_of(graph, into) == {("cardinality_violation", "edge", "Sits", "ann")}


@pytest.mark.parametrize("into", SIDES)
def test_fewer_edges_than_a_node_must_have(graph: og.Graph, into: str):
    graph.load(CITES[1:], "overwrite", branch=SIDES[into])
    graph.load(CITES[:2], "overwrite", branch=into)
    assert conflicts_of(graph, into) == {("cardinality_violation", "edge", "Cites", "n1")}


def test_edges_that_leave_a_deleted_node_are_not_counted(graph: og.Graph):
    do(graph, "feature", 'delete Note where code = "n1"')
    graph.load(CITES[:2], "overwrite", branch="main")
    after = merged(graph)
    assert {"n1", "c0", "c1", "c2"} & set(after) == set()


def test_an_edge_that_one_branch_moved_away_makes_room(graph: og.Graph):
    graph.load([edge("Sits", "s1", "ann", "n1")], "append", branch="main")
    graph.branches.merge("main", "feature")
    graph.load([edge("Sits", "s1", "bo", "n1")], "merge", branch="feature")
    graph.load([edge("Sits", "s4", "dee", "n2")], "append", branch="feature")
    graph.load([edge("Sits", "s2", "cy", "n2")], "append", branch="main")
    assert {each: row["from"] for each, row in merged(graph).items() if each[0] == "s"} == {
        "s1": "bo",
        "s2": "cy",
        "s4": "dee",
    }


# ── values of one row ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def smuggle(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Loads records that nobody judges, as a writer with a fault would."""

    def load(branch: str, *records: dict[str, Any]) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(stage, "validate_changes", lambda *_args, **_options: None)
            graph.load(list(records), "merge", branch=branch)

    with pytest.raises(ConstraintError):
        graph.load([person("ann", age=100)], "merge")
    return load


@pytest.mark.parametrize("is_fast_forward", [True, False])
def test_rows_that_break_rules_about_their_values_are_not_let_in(
    graph: og.Graph, smuggle: Callable[..., None], is_fast_forward: bool
):
    smuggle("feature", person("ann", age=100), person("bo", mood="so-so"), person("NO"), person("eve", age=99))
    smuggle("feature", edge("Knows", "k9", "ann", "bo", how="hardly"))
    if not is_fast_forward:
        update(graph, "main", "cy", age=3)
    assert conflicts_of(graph) == {
        ("value_constraint_violation", "node", "Person", "ann"),
        ("value_constraint_violation", "node", "Person", "bo"),
        ("value_constraint_violation", "node", "Person", "NO"),
        ("value_constraint_violation", "edge", "Knows", "k9"),
    }


def test_what_was_wrong_before_and_is_not_touched_is_no_conflict(graph: og.Graph, smuggle: Callable[..., None]):
    smuggle("main", person("ann", age=100, mail="m"), person("bo", mail="m"), edge("Knows", "k9", "ann", "nobody"))
    smuggle("main", *(edge("Sits", f"s{number}", "ann", "n1") for number in range(2)))
    update(graph, "feature", "cy", age=3)
    graph.load([edge("Sits", "s9", "cy", "n1")], "append", branch="feature")
    after = merged(graph)
    assert (after["cy"]["age"], after["ann"]["age"], after["s9"]["from"]) == (3, 100, "cy")


# ── all of them ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_conflicts_of_rows_are_told_for_all_types_at_once(graph: og.Graph):
    for branch, value in (("main", 1), ("feature", 2)):
        update(graph, branch, "ann", age=value)
        update(graph, branch, "bo", age=value)
        changed = edge("Knows", "k1", "ann", "bo", since=value)
        graph.load([changed, edge("Rated", "r1", "cy", "n1", stars=value)], "merge", branch=branch)
    do(graph, "main", 'delete Person where name = "dee"')
    update(graph, "feature", "dee", age=4)
    assert conflicts_of(graph) == {
        ("divergent_update", "node", "Person", "ann"),
        ("divergent_update", "node", "Person", "bo"),
        ("delete_vs_update", "node", "Person", "dee"),
        ("divergent_update", "edge", "Knows", "k1"),
        ("divergent_insert", "edge", "Rated", "r1"),
    }


def test_conflicts_about_rules_are_told_for_all_rules_at_once(graph: og.Graph):
    update(graph, "feature", "ann", mail="m")
    update(graph, "main", "bo", mail="m")
    graph.load([edge("Sits", "s1", "cy", "n1"), edge("Rated", "r1", "cy", "n1")], "append", branch="feature")
    graph.load([edge("Sits", "s2", "cy", "n2"), edge("Rated", "r2", "cy", "n1")], "append", branch="main")
    graph.load(CITES[1:], "overwrite", branch="feature")
    graph.load(CITES[:2], "overwrite", branch="main")
    do(graph, "feature", 'delete Person where name = "dee"')
    graph.load([edge("Knows", "k2", "ann", "dee")], "append", branch="main")
    assert conflicts_of(graph) == {
        ("unique_violation", "node", "Person", "ann"),
        ("orphan_edge", "edge", "Knows", "k2"),
        ("unique_violation", "edge", "Rated", "r1"),
        ("cardinality_violation", "edge", "Sits", "cy"),
        ("cardinality_violation", "edge", "Cites", "n1"),
    }


def test_rules_are_judged_beside_rows_that_are_open(graph: og.Graph):
    for branch, name, age in (("feature", "ann", 1), ("main", "bo", 2)):
        update(graph, branch, name, mail="m")
        update(graph, branch, "cy", age=age)
    broken = ("unique_violation", "node", "Person", "ann")
    assert conflicts_of(graph) == {("divergent_update", "node", "Person", "cy"), broken}
    assert conflicts_of(graph, strategy="theirs") == {broken}


@pytest.mark.parametrize("into", SIDES)
def test_a_row_that_is_open_is_there_while_rules_are_judged(graph: og.Graph, into: str):
    """The target deleted a node that the source changed and hung an edge on: only the node is to be decided."""
    graph.load([person("bo", age=5), edge("Knows", "k2", "cy", "bo")], "merge", branch=SIDES[into])
    do(graph, into, 'delete Person where name = "bo"')
    assert conflicts_of(graph, into) == {("delete_vs_update", "node", "Person", "bo")}
    assert conflicts_of(graph, into, "ours") == {("orphan_edge", "edge", "Knows", "k2")}
    after = merged(graph, into, "theirs")
    assert (after["bo"]["age"], "k2" in after, "k1" in after) == (5, True, False)


MANY = 150


def test_however_many_conflicts_there_are_none_is_left_out(graph: og.Graph):
    people = [f"p{number}" for number in range(MANY)]
    graph.load([person(name) for name in people], "append", branch="feature")
    graph.load([person(name, age=1) for name in people], "append", branch="main")
    assert conflicts_of(graph) == {("divergent_insert", "node", "Person", name) for name in people}


def test_however_many_broken_rules_there_are_none_is_left_out(graph: og.Graph):
    graph.load([person(f"p{number}", mail=f"m{number}") for number in range(MANY)], "append", branch="main")
    graph.load([person(f"q{number}", mail=f"m{number}") for number in range(MANY)], "append", branch="feature")
    do(graph, "feature", 'delete Person where name = "dee"')
    graph.load([edge("Knows", f"e{number}", "ann", "dee") for number in range(MANY)], "append", branch="main")
    assert conflicts_of(graph) == {
        *{("unique_violation", "node", "Person", f"q{number}") for number in range(MANY)},
        *{("orphan_edge", "edge", "Knows", f"e{number}") for number in range(MANY)},
    }
