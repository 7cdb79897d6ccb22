"""What a merge compares with: the common commit that is nearest to both heads, and the newest of several.

Which commit it is shows in a value that one side set back: against one base that is a change, against the other none.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

import omnigraph as og
from omnigraph.errors import InvalidInputError, MergeConflictError, NotFoundError

SCHEMA = "node Count { name: String @key  value: I32 }"


@pytest.fixture
def graph() -> Iterator[og.Graph]:
    with og.init(f"memory://merge-bases-{secrets.token_hex(8)}/g", schema=SCHEMA) as graph:
        put(graph, "main", "x", 0)
        yield graph


def put(graph: og.Graph, branch: str, name: str, value: int) -> None:
    graph.load([{"type": "Count", "data": {"name": name, "value": value}}], "merge", branch=branch)


def values(graph: og.Graph, branch: str = "main") -> dict[str, int]:
    return {row["name"]: row["value"] for row in graph.table("Count", ["name", "value"], branch=branch)}


def head(graph: og.Graph, branch: str) -> str:
    return graph.snapshot(branch).commit.id


@pytest.mark.parametrize(("more_on_main", "more_on_side"), [(0, 2), (2, 0)])
def test_what_one_side_set_back_counts_whichever_of_two_bases_is_the_newer(
    graph: og.Graph, more_on_main: int, more_on_side: int
):
    """Both merged what the other was; then side sets back what only main had changed."""
    graph.branches.create("side")
    for number in range(more_on_side + 1):
        put(graph, "side", "y", number)
    for _ in range(more_on_main):
        put(graph, "main", "z", 5)
    put(graph, "main", "x", 1)
    graph.branches.create("main-before")
    graph.branches.merge("side")
    graph.branches.merge("main-before", "side")
    assert values(graph, "side")["x"] == values(graph, "main")["x"] == 1
    put(graph, "side", "x", 0)
    # Against the head of side before, where x was 0, side changed nothing; against what both had since, it did.
    assert graph.branches.merge("side").outcome == "merged"
    assert values(graph)["x"] == 0


def test_a_base_that_another_one_descends_from_does_not_count_however_near_it_is(graph: og.Graph):
    """A branch from the first commit takes all of side in one step; compared with that commit, x would come back."""
    graph.branches.create("old", at=graph.commits.list()[-1].id)
    graph.branches.create("side")
    for number in range(3):
        put(graph, "side", "y", number)
    assert graph.branches.merge("side", "old").outcome == "fast_forward"
    graph.mutate('query gone() { delete Count where name = "x" }')
    assert graph.branches.merge("old").outcome == "merged"
    assert values(graph) == {"y": 2}


def test_what_was_merged_before_is_not_merged_again(graph: og.Graph):
    graph.branches.create("side")
    put(graph, "side", "x", 1)
    put(graph, "main", "y", 1)
    graph.branches.merge("side")
    put(graph, "main", "x", 2)
    put(graph, "side", "z", 1)
    # Both changed x since the fork, but only main since the last merge.
    assert graph.branches.merge("side").outcome == "merged"
    assert values(graph) == {"x": 2, "y": 1, "z": 1}


def test_a_merge_into_the_branch_makes_the_way_back_a_fast_forward(graph: og.Graph):
    graph.branches.create("side")
    put(graph, "side", "y", 1)
    put(graph, "main", "z", 1)
    assert graph.branches.merge("main", "side").outcome == "merged"
    assert graph.branches.merge("side", "main").outcome == "fast_forward"
    assert values(graph) == values(graph, "side") == {"x": 0, "y": 1, "z": 1}
    # The fast-forward made a commit, which is new to side; it changes nothing there.
    assert graph.branches.merge("main", "side").outcome == "fast_forward"
    assert graph.branches.merge("side", "main").outcome == "fast_forward"


def test_branches_of_branches_meet_where_they_parted(graph: og.Graph):
    graph.branches.create("side")
    put(graph, "side", "x", 1)
    graph.branches.create("twig", base="side")
    put(graph, "twig", "x", 2)
    put(graph, "side", "y", 1)
    put(graph, "main", "z", 1)
    # Against the fork from main x changed twice; against that from side only the twig changed it.
    assert graph.branches.merge("twig", "side").outcome == "merged"
    assert graph.branches.merge("twig", "main").outcome == "merged"
    assert (values(graph, "side"), values(graph)) == ({"x": 2, "y": 1}, {"x": 2, "z": 1})


def test_what_came_by_a_third_branch_is_common_too(graph: og.Graph):
    for name in ("one", "two", "both"):
        graph.branches.create(name)
    put(graph, "both", "x", 7)
    for name in ("one", "two"):
        put(graph, name, name, 1)
        assert graph.branches.merge("both", name).outcome == "merged"
    put(graph, "one", "x", 8)
    graph.branches.delete("both")
    # Both have 7 from the branch that is gone, so only one of them changed it.
    assert graph.branches.merge("one", "two").outcome == "merged"
    assert values(graph, "two") == {"x": 8, "one": 1, "two": 1}


def test_a_branch_from_an_old_commit_is_compared_with_that_commit(graph: og.Graph):
    old = head(graph, "main")
    put(graph, "main", "x", 1)
    graph.branches.create("past", at=old)
    assert graph.branches.merge("past").outcome == "already_up_to_date"
    put(graph, "past", "y", 1)
    assert graph.branches.merge("past").outcome == "merged"
    assert values(graph) == {"x": 1, "y": 1}
    graph.branches.create("past-again", at=old)
    put(graph, "past-again", "x", 2)
    with pytest.raises(MergeConflictError):
        graph.branches.merge("past-again")


def test_a_branch_that_was_made_anew_has_nothing_of_the_one_before(graph: og.Graph):
    graph.branches.create("side")
    put(graph, "side", "x", 1)
    graph.branches.delete("side")
    graph.branches.create("side")
    assert graph.branches.merge("side").outcome == "already_up_to_date"
    put(graph, "side", "y", 1)
    assert graph.branches.merge("side").outcome == "fast_forward"
    assert values(graph) == {"x": 0, "y": 1}


def test_what_cannot_be_merged_is_refused(graph: og.Graph):
    before = head(graph, "main")
    with pytest.raises(InvalidInputError):
        graph.branches.merge("main", "main")
    with pytest.raises(NotFoundError):
        graph.branches.merge("nowhere")
    with pytest.raises(NotFoundError):
        graph.branches.merge("main", "nowhere")
    assert head(graph, "main") == before
