"""What can be asked of a merge: strategies, a head that is expected, the branch deleted afterwards; and what cannot."""

from __future__ import annotations

from typing import Any

import pytest
from merging_world import (
    again,
    age_of,
    check_history,
    content,
    counted_writes,
    drop,
    ids,
    log_of,
    meanwhile,
    new_graph,
    note,
    person,
    put,
    rated,
)

import omnigraph as og
from omnigraph import failpoints
from omnigraph.errors import HeadMovedError, InvalidInputError, MergeConflictError, MergeConflictKind, NotFoundError
from omnigraph.history.branches import REFS_PREFIX
from omnigraph.testing.faults import Fault, FaultyAdapter
from omnigraph.testing.graph_contract.clauses import GraphPlace
from omnigraph.testing.graph_contract.faults import opened_through
from omnigraph.testing.invariants import assert_graph_is_whole


@pytest.fixture
def graph() -> og.Graph:
    graph = new_graph()
    graph.branches.create("dev")
    return graph


@pytest.fixture
def torn(graph: og.Graph) -> og.Graph:
    """Both branches changed ann and bob, and deleted or changed the rating."""
    put(graph, "dev", person("ann", 31), person("bob", 41), rated("r1", "ann", "f1", 4))
    put(graph, "main", person("ann", 32), person("bob", 42))
    graph.mutate("query d() { delete Rated where stars = 3 }")
    return graph


# ── strategies ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_ours_keeps_what_the_target_has(torn: og.Graph):
    before = content(torn)
    result = torn.branches.merge("dev", strategy="ours")
    assert (result.outcome, result.resolved, result.conflicts) == ("merged", 3, ())
    assert content(torn) == before
    assert result.commit is not None
    assert dict(result.commit.properties) == {"merge_strategy": "ours", "merge_resolved": "3"}
    assert torn.branches.merge("dev").outcome == "already_up_to_date"


def test_theirs_takes_what_the_source_has(torn: og.Graph):
    result = torn.branches.merge("dev", strategy="theirs")
    assert content(torn) == content(torn, "dev")
    assert result.resolved == 3
    assert result.commit is not None
    assert dict(result.commit.properties) == {"merge_strategy": "theirs", "merge_resolved": "3"}
    assert_graph_is_whole(torn)


def test_a_callable_decides_each_and_sees_all_three_rows(torn: og.Graph):
    seen: list[og.MergeConflict] = []

    def newest_wins(conflict: og.MergeConflict) -> str:
        seen.append(conflict)
        if conflict.source is None or conflict.target is None:
            return "ours"
        return "theirs" if conflict.source["name"] == "ann" else "ours"

    result = torn.branches.merge("dev", strategy=newest_wins)  # type: ignore[arg-type]
    assert (age_of(torn, "ann"), age_of(torn, "bob"), ids(torn, "Rated")) == (31, 42, [])
    assert [(each.kind, each.id) for each in seen] == [
        (MergeConflictKind.DELETE_VS_UPDATE, "r1"),
        (MergeConflictKind.DIVERGENT_UPDATE, "ann"),
        (MergeConflictKind.DIVERGENT_UPDATE, "bob"),
    ]
    ann = seen[1]
    assert [each and each["age"] for each in (ann.base, ann.source, ann.target)] == [30, 31, 32]
    assert result.commit is not None
    assert dict(result.commit.properties) == {"merge_strategy": "callable:newest_wins", "merge_resolved": "3"}


def test_what_a_callable_leaves_open_stays_a_conflict_and_nothing_is_merged(torn: og.Graph):
    before = content(torn)
    with pytest.raises(MergeConflictError) as caught:
        torn.branches.merge("dev", strategy=lambda each: "theirs" if each.id == "ann" else None)
    assert [each.id for each in caught.value.conflicts] == ["r1", "bob"]
    assert content(torn) == before


@pytest.mark.parametrize("said", ["mine", "fail", "", 1, True, ["ours"]])
def test_a_callable_that_says_anything_else_is_told_what_it_may_say(torn: og.Graph, said: Any):
    with pytest.raises(InvalidInputError, match="says") as caught:
        torn.branches.merge("dev", strategy=lambda _conflict: said)
    assert caught.value.help is not None
    assert '"theirs"' in caught.value.help
    assert torn.branches.merge("dev", strategy="ours").resolved == 3


def test_what_a_callable_raises_comes_out_and_nothing_is_merged(torn: og.Graph):
    version = log_of(torn).version
    with pytest.raises(ZeroDivisionError):
        torn.branches.merge("dev", strategy=lambda _conflict: 1 / 0)  # type: ignore[arg-type,return-value]
    assert log_of(torn).version == version
    assert torn.branches.merge("dev", strategy="ours").outcome == "merged"


@pytest.mark.parametrize("strategy", ["ours", "theirs"])
def test_a_strategy_that_decided_nothing_leaves_no_word(graph: og.Graph, strategy: Any):
    put(graph, "dev", person("eve"))
    put(graph, "main", person("fay"))
    result = graph.branches.merge("dev", strategy=strategy)
    assert result.commit is not None
    assert (result.resolved, dict(result.commit.properties)) == (0, {})


@pytest.mark.parametrize("strategy", ["ours", "theirs", lambda _conflict: "theirs"])
def test_no_strategy_breaks_a_rule_of_the_schema(graph: og.Graph, strategy: Any):
    put(graph, "dev", person("eve", mail="x@y.org"))
    put(graph, "main", person("fay", mail="x@y.org"))
    with pytest.raises(MergeConflictError) as caught:
        graph.branches.merge("dev", strategy=strategy)
    assert [(each.kind, each.id) for each in caught.value.conflicts] == [(MergeConflictKind.UNIQUE_VIOLATION, "eve")]


def test_the_row_of_the_source_may_break_a_rule_that_the_row_of_the_target_does_not(graph: og.Graph):
    put(graph, "dev", rated("r1", "bob", "f1"))
    put(graph, "main", rated("r1", "ann", "f1", 5))
    drop(graph, "main", "Person", "name", "bob")
    with pytest.raises(MergeConflictError) as caught:
        graph.branches.merge("dev", strategy="theirs")
    assert [each.kind for each in caught.value.conflicts] == [MergeConflictKind.ORPHAN_EDGE]
    assert graph.branches.merge("dev", strategy="ours").resolved == 1


# ── the head that is expected ────────────────────────────────────────────────────────────────────────────────────────


def test_a_merge_into_the_head_that_is_expected_is_made(graph: og.Graph):
    put(graph, "dev", person("eve"))
    head = graph.snapshot().commit
    assert graph.branches.merge("dev", expect_head=head).outcome == "fast_forward"
    with pytest.raises(HeadMovedError) as caught:
        graph.branches.merge("dev", expect_head=head.id)
    assert (caught.value.branch, caught.value.expected) == ("main", head.id)
    assert caught.value.actual == graph.snapshot().commit.id


def test_maintenance_after_the_head_that_is_expected_does_not_count(graph: og.Graph):
    put(graph, "dev", person("eve"))
    head = graph.snapshot().commit
    assert graph.maintain.ensure_indices().commit is not None
    result = graph.branches.merge("dev", expect_head=head)
    assert result.outcome == "merged"


def test_a_head_that_moves_while_the_merge_is_under_way_is_told(graph: og.Graph):
    put(graph, "dev", person("eve"))
    head = graph.snapshot().commit

    def write() -> None:
        with again(graph) as other:
            put(other, "main", note("n2"))

    with meanwhile(failpoints.BRANCH_MERGE_POST_CANDIDATE_VALIDATION, write), pytest.raises(HeadMovedError):
        graph.branches.merge("dev", expect_head=head)
    assert (ids(graph, "Person"), ids(graph, "Note")) == (["ann", "bob"], ["n1", "n2"])
    assert graph.branches.merge("dev").outcome == "merged"


# ── the branch afterwards ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("does_something", [True, False])
def test_the_branch_is_deleted_afterwards_also_when_there_was_nothing_to_merge(graph: og.Graph, does_something: bool):
    if does_something:
        put(graph, "dev", person("eve"))
    result = graph.branches.merge("dev", delete_branch=True)
    assert (result.branch_deleted, result.branch_delete_error) == (True, None)
    assert [each.name for each in graph.branches.list()] == ["main"]


def test_the_branch_stays_when_there_is_a_conflict(torn: og.Graph):
    with pytest.raises(MergeConflictError):
        torn.branches.merge("dev", delete_branch=True)
    assert torn.branches.show("dev").name == "dev"


def test_that_main_cannot_be_deleted_is_no_failure_of_a_merge(graph: og.Graph):
    put(graph, "main", person("eve"))
    result = graph.branches.merge("main", "dev", delete_branch=True)
    assert (result.outcome, result.branch_deleted) == ("fast_forward", False)
    assert "main cannot be deleted" in str(result.branch_delete_error)
    assert ids(graph, "Person", "dev") == ["ann", "bob", "eve"]


def test_that_the_store_does_not_delete_the_branch_is_no_failure_of_a_merge(graph: og.Graph):
    put(graph, "dev", person("eve"))
    with opened_through(FaultyAdapter, GraphPlace(uri=graph.uri, options={})) as (opened, store):
        store.strike(Fault(verb="delete", error=ConnectionResetError("injected"), name_contains=REFS_PREFIX))
        result = opened.branches.merge("dev", delete_branch=True)
    assert (result.outcome, result.branch_deleted) == ("fast_forward", False)
    assert result.branch_delete_error is not None
    assert result.to_dict()["branch_delete_error"] == result.branch_delete_error
    assert ids(graph, "Person") == ["ann", "bob", "eve"]
    assert graph.branches.merge("dev", delete_branch=True).branch_deleted


def test_a_branch_that_moved_on_is_not_deleted_with_what_was_not_merged(graph: og.Graph):
    put(graph, "dev", person("eve"))
    with meanwhile(failpoints.PUBLISH_ACKNOWLEDGED, lambda: put(graph, "dev", person("fay"))):
        result = graph.branches.merge("dev", delete_branch=True)
    assert (result.outcome, result.branch_deleted) == ("fast_forward", False)
    assert result.branch_delete_error == "dev has commits that were not merged."
    assert ids(graph, "Person", "dev") == ["ann", "bob", "eve", "fay"]
    assert ids(graph, "Person") == ["ann", "bob", "eve"]
    assert graph.branches.merge("dev", delete_branch=True).branch_deleted
    assert ids(graph, "Person") == ["ann", "bob", "eve", "fay"]


def test_maintenance_of_the_branch_does_not_keep_it(graph: og.Graph):
    put(graph, "dev", person("eve"))
    with meanwhile(failpoints.PUBLISH_ACKNOWLEDGED, lambda: graph.maintain.ensure_indices(branch="dev")):
        assert graph.branches.merge("dev", delete_branch=True).branch_deleted


def test_a_branch_made_anew_under_the_name_is_not_deleted(graph: og.Graph):
    put(graph, "dev", person("eve"))

    def make_anew() -> None:
        graph.branches.delete("dev")
        graph.branches.create("dev")
        put(graph, "dev", person("gus"))

    with meanwhile(failpoints.PUBLISH_ACKNOWLEDGED, make_anew):
        result = graph.branches.merge("dev", delete_branch=True)
    assert not result.branch_deleted
    assert "made anew" in str(result.branch_delete_error)
    assert ids(graph, "Person", "dev") == ["ann", "bob", "eve", "gus"]


def test_a_branch_that_somebody_else_deleted_is_told(graph: og.Graph):
    put(graph, "dev", person("eve"))
    with meanwhile(failpoints.PUBLISH_ACKNOWLEDGED, lambda: graph.branches.delete("dev")):
        result = graph.branches.merge("dev", delete_branch=True)
    assert (result.outcome, result.branch_deleted) == ("fast_forward", False)
    assert "no branch" in str(result.branch_delete_error)


# ── what cannot be asked ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"source": "dev", "into": "dev"}, InvalidInputError, "itself"),
        ({"source": "main"}, InvalidInputError, "itself"),
        ({"source": "nowhere"}, NotFoundError, "nowhere"),
        ({"source": "dev", "into": "nowhere"}, NotFoundError, "nowhere"),
        ({"source": ""}, InvalidInputError, "no branch name"),
        ({"source": None}, InvalidInputError, "no branch name"),
        ({"source": "dev", "into": 7}, InvalidInputError, "no branch name"),
        ({"source": "dev", "strategy": "mine"}, InvalidInputError, "no merge strategy"),
        ({"source": "dev", "strategy": None}, InvalidInputError, "no merge strategy"),
        ({"source": "dev", "strategy": ["ours"]}, InvalidInputError, "no merge strategy"),
        ({"source": "dev", "actor": ""}, InvalidInputError, "actor"),
        ({"source": "dev", "expect_head": "nothing"}, HeadMovedError, "nothing"),
    ],
)
def test_bad_input_is_told_and_nothing_is_written(graph: og.Graph, arguments: Any, error: Any, said: str):
    put(graph, "dev", person("eve"))
    with counted_writes() as writes, pytest.raises(error, match=said) as caught:
        graph.branches.merge(**arguments)
    assert caught.value.help
    assert not writes
    assert graph.branches.merge("dev").outcome == "fast_forward"
    check_history(graph, "main", "dev")


def test_a_strategy_that_does_not_exist_is_told_also_when_there_is_nothing_to_merge(graph: og.Graph):
    with pytest.raises(InvalidInputError, match="no merge strategy 'mine'"):
        graph.branches.merge("dev", strategy="mine")  # type: ignore[arg-type]


def test_a_conflict_leaves_nothing_behind_and_the_merge_works_when_it_is_settled(torn: og.Graph):
    with counted_writes() as writes, pytest.raises(MergeConflictError) as caught:
        torn.branches.merge("dev")
    assert not writes
    assert (caught.value.source, caught.value.branch) == ("dev", "main")
    assert len(caught.value.conflicts) == 3
    put(torn, "dev", person("ann", 32), person("bob", 42))
    torn.mutate("query d() { delete Rated where stars = 4 }", branch="dev")
    assert torn.branches.merge("dev").outcome == "merged"
    assert_graph_is_whole(torn)
