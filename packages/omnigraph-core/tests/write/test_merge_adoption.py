"""Types that a merge only points to: a branch shows the source's version as it is, and each goes its own way after."""

from __future__ import annotations

import pytest
from merging_world import (
    FILM,
    NOTE,
    PERSON,
    RATED,
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
from omnigraph.errors import MergeConflictError, MergeConflictKind

PUBLISHED = {"log.stage": 1, "log.publish": 1}
"""What a merge writes that writes to no table."""


@pytest.fixture
def graph() -> og.Graph:
    """A graph with two branches that are the same as main: "dev" is merged into "release"."""
    graph = new_graph()
    graph.branches.create("dev")
    graph.branches.create("release")
    return graph


def is_of(graph: og.Graph, key: str, branch: str) -> bool:
    """Whether a branch shows a version of its own line of a type."""
    return log_of(graph, branch).branch.owns(pin_of(graph, key, branch))


def test_a_branch_takes_over_what_it_did_not_touch_without_a_write_to_any_table(graph: og.Graph):
    put(graph, "dev", person("eve", 20), film("f2"), rated("r2", "eve", "f2"))
    drop(graph, "dev", "Person", "name", "bob")
    with counted_writes() as writes:
        assert graph.branches.merge("dev", "release").outcome == "fast_forward"
    assert writes == PUBLISHED
    for key in (PERSON, FILM, RATED):
        assert pin_of(graph, key, "release") == pin_of(graph, key, "dev")
        assert (
            log_of(graph, "release").state.entries[key].row_count == log_of(graph, "dev").state.entries[key].row_count
        )
    assert content(graph, "release") == content(graph, "dev")
    with again(graph) as fresh:
        assert content(fresh, "release") == content(fresh, "dev")


def test_types_that_both_touched_are_written_beside_those_that_are_taken_over(graph: og.Graph):
    put(graph, "dev", person("ann", 31), film("f2"))
    put(graph, "release", person("bob", 41))
    with counted_writes() as writes:
        assert graph.branches.merge("dev", "release").outcome == "merged"
    assert writes["commit"] == 1
    assert is_of(graph, PERSON, "release")
    assert pin_of(graph, FILM, "release") == pin_of(graph, FILM, "dev")
    assert (age_of(graph, "ann", "release"), age_of(graph, "bob", "release")) == (31, 41)
    assert ids(graph, "Film", "release") == ["f1", "f2"]


def test_the_next_write_to_what_was_taken_over_is_on_a_line_of_its_own(graph: og.Graph):
    put(graph, "dev", person("eve", 20))
    graph.branches.merge("dev", "release")
    source = pin_of(graph, PERSON, "dev")
    with counted_writes() as writes:
        put(graph, "release", person("eve", 21), person("fay"))
    assert writes["fork"] == 1
    assert is_of(graph, PERSON, "release")
    assert pin_of(graph, PERSON, "dev") == source
    assert (age_of(graph, "eve", "release"), age_of(graph, "eve", "dev")) == (21, 20)
    assert ids(graph, "Person", "dev") == ["ann", "bob", "eve"]


def test_the_source_goes_on_where_it_was_and_the_other_does_not_see_it(graph: og.Graph):
    put(graph, "dev", person("eve", 20))
    graph.branches.merge("dev", "release")
    before = content(graph, "release")
    with counted_writes() as writes:
        put(graph, "dev", person("eve", 22))
        drop(graph, "dev", "Person", "name", "bob")
    assert "fork" not in writes
    assert content(graph, "release") == before
    put(graph, "release", person("gus"))
    assert (age_of(graph, "eve", "dev"), age_of(graph, "eve", "release")) == (22, 20)
    # Both moved on from the same version, and come together again.
    assert graph.branches.merge("dev", "release").outcome == "merged"
    assert ids(graph, "Person", "release") == ["ann", "eve", "gus"]
    assert age_of(graph, "eve", "release") == 22
    check_history(graph, "dev", "release")


def test_what_was_taken_over_stays_when_its_branch_is_gone(graph: og.Graph):
    put(graph, "dev", person("eve", 20))
    graph.branches.merge("dev", "release", delete_branch=True)
    with again(graph) as fresh:
        assert age_of(fresh, "eve", "release") == 20
        put(fresh, "release", person("eve", 21))
        assert age_of(fresh, "eve", "release") == 21
        fresh.branches.merge("release")
        assert age_of(fresh, "eve") == 21


def test_what_was_taken_over_can_be_taken_over_again(graph: og.Graph):
    put(graph, "dev", person("eve", 20))
    graph.branches.create("third")
    graph.branches.merge("dev", "release")
    with counted_writes() as writes:
        graph.branches.merge("release", "third")
    assert writes == PUBLISHED
    assert pin_of(graph, PERSON, "third") == pin_of(graph, PERSON, "dev")
    for name in ("dev", "release"):
        graph.branches.delete(name)
    put(graph, "third", person("fay"))
    assert ids(graph, "Person", "third") == ["ann", "bob", "eve", "fay"]
    assert is_of(graph, PERSON, "third")


def test_what_main_did_is_taken_over_by_branches(graph: og.Graph):
    put(graph, "main", person("eve"))
    with counted_writes() as writes:
        graph.branches.merge("main", "dev")
    assert writes == PUBLISHED
    assert pin_of(graph, PERSON, "dev") == pin_of(graph, PERSON)
    put(graph, "dev", person("fay"))
    put(graph, "main", person("gus"))
    assert ids(graph, "Person", "dev") == ["ann", "bob", "eve", "fay"]
    assert ids(graph, "Person") == ["ann", "bob", "eve", "gus"]


def test_main_is_never_pointed_to_the_line_of_a_branch(graph: og.Graph):
    put(graph, "dev", person("eve"), note("n2"))
    graph.branches.merge("dev", "release")
    for source in ("release", "dev"):
        graph.branches.merge(source)
        assert {each.pin.branch for each in log_of(graph).state.entries.values()} == {None}
    assert ids(graph, "Person") == ["ann", "bob", "eve"]


def test_what_is_taken_over_is_judged_like_what_is_written(graph: og.Graph):
    drop(graph, "dev", "Person", "name", "bob")
    put(graph, "release", rated("r2", "bob", "f1"))
    before = log_of(graph, "release").version
    with pytest.raises(MergeConflictError) as caught:
        graph.branches.merge("dev", "release")
    assert [(each.kind, each.type, each.id) for each in caught.value.conflicts] == [
        (MergeConflictKind.ORPHAN_EDGE, "Rated", "r2")
    ]
    assert log_of(graph, "release").version == before
    assert ids(graph, "Person", "release") == ["ann", "bob"]


def test_a_type_that_comes_back_to_what_it_was_is_not_pointed_elsewhere(graph: og.Graph):
    put(graph, "dev", note("n2"))
    drop(graph, "dev", "Note", "text", "n2")
    put(graph, "dev", person("eve"))
    pin = pin_of(graph, NOTE, "release")
    graph.branches.merge("dev", "release")
    assert pin_of(graph, NOTE, "release") == pin
    assert pin_of(graph, PERSON, "release") == pin_of(graph, PERSON, "dev")


def test_a_handle_that_knew_the_old_version_by_heart_finds_the_new_one(graph: og.Graph):
    """Small types are kept in memory by version; so are neighbours of nodes."""
    neighbours = "query q() { match { $p: Person  $p rated $f } return { $p.name, $f.code } }"
    put(graph, "release", note("n2"))
    graph.query(neighbours, branch="release").rows()
    put(graph, "dev", person("eve", 20), rated("r2", "eve", "f1"))
    graph.branches.merge("dev", "release")
    assert len(graph.query(neighbours, branch="release").rows()) == 2
    # A row that only the adopted version has is replaced, and one that it has not is appended.
    put(graph, "release", person("eve", 21), person("fay"))
    assert [age_of(graph, each, "release") for each in ("eve", "fay")] == [21, None]
    drop(graph, "release", "Person", "name", "eve")
    assert ids(graph, "Rated", "release") == ["r1"]
    assert ids(graph, "Rated", "dev") == ["r1", "r2"]


def test_maintenance_of_what_was_taken_over_forks_it_and_leaves_the_source_alone(graph: og.Graph):
    put(graph, "dev", person("eve"))
    graph.branches.merge("dev", "release")
    pin = pin_of(graph, PERSON, "dev")
    assert graph.maintain.ensure_indices(branch="release").commit is not None
    assert is_of(graph, PERSON, "release")
    assert pin_of(graph, PERSON, "dev") == pin
    assert content(graph, "release") == content(graph, "dev")
