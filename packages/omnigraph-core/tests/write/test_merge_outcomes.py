"""What a merge says of itself and leaves in the history: outcomes, parents, who and how, and all that was merged."""

from __future__ import annotations

import json

import pytest
from merging_world import (
    NOTE,
    PERSON,
    SEED,
    again,
    age_of,
    check_history,
    content,
    counted_writes,
    drop,
    film,
    ids,
    log_of,
    new_graph,
    note,
    person,
    pin_of,
    put,
    rated,
)

import omnigraph as og
from omnigraph.errors import MergeConflictKind, NotFoundError
from omnigraph.history.commits import CommitKind
from omnigraph.testing.invariants import assert_graph_is_whole
from omnigraph.write import fold_policy
from omnigraph.write.merge.tables import CONFLICT_SCHEMA
from omnigraph.write.tail import fold_type


@pytest.fixture
def graph() -> og.Graph:
    """A graph with some rows, and a branch "dev" that is the same."""
    graph = new_graph()
    graph.branches.create("dev")
    return graph


# ── outcomes ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_branch_that_did_nothing_is_merged_already_and_nothing_is_written(graph: og.Graph):
    before = graph.snapshot().commit
    with counted_writes() as writes:
        result = graph.branches.merge("dev")
    assert (result.outcome, result.commit) == ("already_up_to_date", None)
    assert (result.source_commit, result.base_commit) == (before.id, before.id)
    assert not writes
    assert graph.snapshot().commit == before


def test_a_branch_that_main_went_past_is_merged_already(graph: og.Graph):
    base = graph.snapshot().commit
    put(graph, "main", person("eve"))
    with counted_writes() as writes:
        result = graph.branches.merge("dev")
    assert (result.outcome, result.base_commit) == ("already_up_to_date", base.id)
    assert not writes


def test_a_branch_that_was_merged_is_merged_already_until_it_moves_on(graph: og.Graph):
    put(graph, "dev", person("eve"))
    assert graph.branches.merge("dev").outcome == "fast_forward"
    assert graph.branches.merge("dev").outcome == "already_up_to_date"
    put(graph, "dev", person("fay"))
    assert graph.branches.merge("dev").outcome == "merged"
    assert ids(graph, "Person") == ["ann", "bob", "eve", "fay"]


def test_where_the_target_did_nothing_a_merge_is_a_fast_forward_with_a_commit_of_its_own(graph: og.Graph):
    base, source = graph.snapshot().commit, put(graph, "dev", person("eve"), film("f2"))
    result = graph.branches.merge("dev")
    assert result.outcome == "fast_forward"
    assert result.commit is not None
    assert (result.commit.parent_id, result.commit.merged_parent_id) == (base.id, source.id)
    assert graph.snapshot().commit == result.commit
    assert content(graph) == content(graph, "dev")
    assert_graph_is_whole(graph)


def test_where_both_did_something_both_is_there_afterwards(graph: og.Graph):
    base = graph.snapshot().commit
    source = put(graph, "dev", person("ann", 31), person("eve"), rated("r2", "eve", "f1"))
    target = put(graph, "main", person("bob", 41), film("f2"))
    result = graph.branches.merge("dev")
    assert (result.outcome, result.source, result.into) == ("merged", "dev", "main")
    assert (result.source_commit, result.base_commit) == (source.id, base.id)
    assert result.commit is not None
    assert (result.commit.parent_id, result.commit.merged_parent_id) == (target.id, source.id)
    assert (age_of(graph, "ann"), age_of(graph, "bob")) == (31, 41)
    assert (ids(graph, "Person"), ids(graph, "Film"), ids(graph, "Rated")) == (
        ["ann", "bob", "eve"],
        ["f1", "f2"],
        ["r1", "r2"],
    )
    assert content(graph, "dev").keys() - content(graph).keys() == set()
    assert content(graph, source)[("Person", "bob")]["data"]["age"] == 40
    assert_graph_is_whole(graph)


def test_main_is_merged_into_a_branch_as_well(graph: og.Graph):
    put(graph, "dev", person("eve"))
    put(graph, "main", person("bob", 41))
    result = graph.branches.merge("main", "dev")
    assert result.outcome == "merged"
    assert result.commit is not None
    assert (result.commit.branch, result.commit.merged_parent_id) == ("dev", graph.snapshot().commit.id)
    assert age_of(graph, "bob", "dev") == 41
    assert ids(graph, "Person") == ["ann", "bob"]
    assert graph.branches.merge("dev").outcome == "fast_forward"
    assert content(graph) == content(graph, "dev")


def test_branches_are_merged_into_branches_of_branches(graph: og.Graph):
    put(graph, "dev", person("eve"))
    graph.branches.create("deep", "dev")
    put(graph, "deep", person("fay"))
    put(graph, "dev", person("gus"))
    assert graph.branches.merge("deep", "dev").outcome == "merged"
    assert graph.branches.merge("deep").outcome == "fast_forward"
    assert graph.branches.merge("dev").outcome == "merged"
    assert ids(graph, "Person") == ["ann", "bob", "eve", "fay", "gus"]
    check_history(graph, "main", "dev", "deep")
    assert_graph_is_whole(graph)


def test_rows_that_went_away_go_away(graph: og.Graph):
    drop(graph, "dev", "Person", "name", "ann")
    put(graph, "main", person("eve"))
    graph.branches.merge("dev")
    assert ids(graph, "Person") == ["bob", "eve"]
    assert ids(graph, "Rated") == []


# ── nothing to write ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_branch_that_took_back_all_it_did_writes_no_table_and_is_part_of_the_history(graph: og.Graph):
    put(graph, "dev", person("eve"), rated("r2", "eve", "f1"))
    drop(graph, "dev", "Person", "name", "eve")
    source = graph.snapshot("dev").commit
    pins = log_of(graph).state.entries
    with counted_writes() as writes:
        result = graph.branches.merge("dev")
    assert (result.outcome, result.commit is None) == ("fast_forward", False)
    assert writes == {"log.stage": 1, "log.publish": 1}
    assert {key: each.pin for key, each in log_of(graph).state.entries.items()} == {
        key: each.pin for key, each in pins.items()
    }
    assert source.id in [each.id for each in graph.commits.list()]
    assert graph.branches.merge("dev").outcome == "already_up_to_date"


def test_branches_that_did_the_same_write_no_table(graph: og.Graph):
    for branch in ("dev", "main"):
        put(graph, branch, person("ann", 31), person("eve"))
    with counted_writes() as writes:
        assert graph.branches.merge("dev").outcome == "merged"
    assert writes == {"log.stage": 1, "log.publish": 1}
    assert ids(graph, "Person") == ["ann", "bob", "eve"]


@pytest.mark.parametrize("maintained", ["dev", "main"])
def test_maintenance_is_no_change(graph: og.Graph, maintained: str):
    put(graph, "dev", person("eve"))
    put(graph, "main", person("fay"))
    graph.branches.merge("dev")
    assert graph.maintain.ensure_indices(branch=maintained).commit is not None
    put(graph, "dev", note("n2"))
    planned = graph.branches.merge("dev", dry_run=True)
    assert planned.changes is not None
    assert planned.changes["id"].to_pylist() == ["n2"]
    pin = pin_of(graph, PERSON)
    graph.branches.merge("dev")
    assert pin_of(graph, PERSON) == pin
    assert ids(graph, "Note") == ["n1", "n2"]
    assert_graph_is_whole(graph)


def test_rows_that_were_only_folded_together_are_no_change(graph: og.Graph):
    for number in range(3):
        put(graph, "dev", note(f"m{number}"))
    graph.branches.merge("dev")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fold_policy, "TAIL_PARTS", 2)
        commit, parts = fold_type(graph._repository, "dev", NOTE)
    assert (commit is None, parts) == (False, 4)
    put(graph, "main", note("last"))
    with counted_writes() as writes:
        assert graph.branches.merge("dev").outcome == "merged"
    assert writes == {"log.stage": 1, "log.publish": 1}
    assert ids(graph, "Note") == ["last", "m0", "m1", "m2", "n1"]


# ── who and how ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_commit_says_that_it_is_a_merge_and_who_made_it(graph: og.Graph):
    put(graph, "dev", person("eve"))
    made = graph.branches.merge("dev", actor="reviewer").commit
    assert made is not None
    assert (made.kind, made.actor, dict(made.properties)) == (CommitKind.MERGE, "reviewer", {})
    assert graph.commits.show(made.id) == made


def test_who_opened_the_graph_merges_unless_it_is_said_otherwise(graph: og.Graph):
    put(graph, "dev", person("eve"))
    with og.open(graph.uri, actor="bot") as opened:
        made = opened.branches.merge("dev").commit
    assert made is not None
    assert made.actor == "bot"


# ── history ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_all_that_was_merged_is_part_of_the_history_and_stays_readable_when_its_branch_is_gone(graph: og.Graph):
    states = {}
    for number in range(3):
        commit = put(graph, "dev", person("ann", number))
        states[commit.id] = content(graph, commit)
    put(graph, "main", film("f2"))
    merged = graph.branches.merge("dev", delete_branch=True)
    assert merged.branch_deleted
    with again(graph) as fresh:
        listed = [each.id for each in fresh.commits.list()]
        assert {*states} <= {*listed}
        assert len(listed) == len({*listed})
        for commit_id, rows in states.items():
            assert fresh.commits.show(commit_id).branch == "dev"
            assert content(fresh, commit_id) == rows
        with pytest.raises(NotFoundError):
            fresh.branches.show("dev")
        check_history(fresh, "main")
        assert_graph_is_whole(fresh)


def test_each_commit_is_listed_before_its_parents(graph: og.Graph):
    put(graph, "dev", person("eve"))
    put(graph, "main", person("fay"))
    graph.branches.merge("dev")
    seen: set[str] = set()
    for commit in graph.commits.list():
        assert {commit.parent_id, commit.merged_parent_id}.isdisjoint(seen)
        seen.add(commit.id)


def test_a_branch_of_a_merge_knows_what_was_merged(graph: og.Graph):
    source = put(graph, "dev", person("eve"))
    graph.branches.merge("dev")
    graph.branches.create("next")
    graph.branches.delete("dev")
    assert source.id in [each.id for each in graph.commits.list("next")]
    put(graph, "next", person("fay"))
    assert graph.branches.merge("next").outcome == "fast_forward"
    check_history(graph, "main", "next")


def test_branches_that_parted_at_a_commit_of_a_branch_that_is_gone_are_compared_with_it(graph: og.Graph):
    graph.branches.create("helper")
    put(graph, "helper", person("ann", 99), person("eve"))
    for branch in ("dev", "main"):
        graph.branches.merge("helper", branch)
    base = graph.snapshot("helper").commit
    graph.branches.delete("helper")
    # What the helper did is no difference between the two any more, so it can be taken back.
    drop(graph, "dev", "Person", "name", "eve")
    put(graph, "main", note("n2"))
    with again(graph) as fresh:
        result = fresh.branches.merge("dev")
        assert (result.outcome, result.base_commit) == ("merged", base.id)
        assert (ids(fresh, "Person"), age_of(fresh, "ann")) == (["ann", "bob"], 99)
        check_history(fresh, "main", "dev")


# ── what a result is ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_result_as_json_says_all_that_there_is(graph: og.Graph):
    put(graph, "dev", person("eve"))
    result = graph.branches.merge("dev", delete_branch=True)
    assert result.commit is not None
    assert result.to_dict() == {
        "outcome": "fast_forward",
        "source": "dev",
        "into": "main",
        "source_commit": result.commit.merged_parent_id,
        "base_commit": result.commit.parent_id,
        "commit": result.commit.to_dict(),
        "branch_deleted": True,
        "branch_delete_error": None,
        "changes": None,
        "conflicts": [],
        "resolved": 0,
    }
    assert json.loads(json.dumps(result.to_dict())) == result.to_dict()


def test_conflicts_of_a_dry_run_are_a_table_too(graph: og.Graph):
    put(graph, "dev", person("ann", 31), rated("r1", "ann", "f1", 4))
    put(graph, "main", person("ann", 32))
    drop(graph, "main", "Film", "code", "f1")
    result = graph.branches.merge("dev", dry_run=True)
    table = result.conflict_table()
    assert table.schema == CONFLICT_SCHEMA
    assert [
        (each["kind"], each["entity"], each["type"], each["id"], each["base"], each["source"], each["target"])
        for each in table.to_pylist()
    ] == [
        (
            MergeConflictKind.DELETE_VS_UPDATE,
            "edge",
            "Rated",
            "r1",
            '{"src": "ann", "dst": "f1", "stars": 3}',
            '{"src": "ann", "dst": "f1", "stars": 4}',
            None,
        ),
        (
            MergeConflictKind.DIVERGENT_UPDATE,
            "node",
            "Person",
            "ann",
            '{"age": 30, "mail": null, "name": "ann"}',
            '{"age": 31, "mail": null, "name": "ann"}',
            '{"age": 32, "mail": null, "name": "ann"}',
        ),
        (MergeConflictKind.ORPHAN_EDGE, "edge", "Rated", "r1", None, None, None),
    ]
    assert [each.to_dict() for each in result.conflicts] == result.to_dict()["conflicts"]
    assert result.to_dict()["conflicts"][1]["source"] == {"age": 31, "mail": None, "name": "ann"}


def test_without_conflicts_the_table_of_conflicts_is_empty(graph: og.Graph):
    assert graph.branches.merge("dev").conflict_table() == CONFLICT_SCHEMA.empty_table()


def test_merging_all_of_a_graph_into_an_empty_one_gives_the_same_graph():
    graph = new_graph(seed=())
    graph.branches.create("import")
    graph.load(SEED, "append", branch="import")
    assert graph.branches.merge("import").outcome == "fast_forward"
    assert content(graph) == content(graph, "import")
    assert len(content(graph)) == len(SEED)
    assert_graph_is_whole(graph)
