"""Feeds of branches: what led to them by first parents, merges as one block, and cursors of one branch for no other."""

from __future__ import annotations

import json

import pytest
from feed_world import Mirror, add, all_told, exported, film, new_graph, person, set_age, told

from omnigraph.engine.feed_pages import FeedPage
from omnigraph.errors import ChangeCursorRejectedError, InvalidInputError, NotFoundError
from omnigraph.graph import Graph
from omnigraph.tables.counting import count_table_calls


def commits_of(page: FeedPage) -> list[str]:
    return [block.cause.commit_id for block in page.blocks]


def mirrored(graph: Graph, branch: str, **bounds: int) -> Mirror:
    """What a consumer has who follows a branch from the beginning."""
    mirror = Mirror()
    for page in graph.changes.follow(branch, start="beginning", **bounds):
        for change in (each for block in page.blocks for each in block.changes):
            mirror.apply(change, is_strict=True)
    return mirror


@pytest.fixture
def forked() -> tuple[Graph, list[str], list[str]]:
    """A graph with a branch, commits of main, of which the branch has the first three, and its own."""
    graph = new_graph()
    shared = [graph.snapshot().commit.id, add(graph, person("ann"), film("Salt")), add(graph, person("bo"))]
    graph.branches.create("review")
    own = [add(graph, person("cy"), branch="review"), set_age(graph, "ann", 7, branch="review")]
    later = [add(graph, person("di"))]
    return graph, [*shared, *later], own


def test_a_branch_is_told_from_the_beginning_of_the_graph_and_without_what_others_did(
    forked: tuple[Graph, list[str], list[str]],
) -> None:
    graph, main, own = forked
    page = graph.changes("review", start="beginning")
    assert commits_of(page) == [*main[:3], *own]
    assert [block.cause.branch for block in page.blocks] == ["main"] * 3 + ["review"] * 2
    assert commits_of(graph.changes(start="beginning")) == main
    for limit, commits in ((1, 1), (2, 128), (100, 2)):
        assert mirrored(graph, "review", limit=limit, max_commits=commits).rows == exported(graph, branch="review")
    assert mirrored(graph, "main", limit=1).rows == exported(graph)


def test_a_feed_goes_on_across_the_point_where_its_branch_began(forked: tuple[Graph, list[str], list[str]]) -> None:
    graph, main, own = forked
    for place in range(3):
        expected = [*main[place + 1 : 3], *own]
        page = graph.changes("review", start=f"after:{main[place]}")
        assert commits_of(page) == expected
        step = graph.changes("review", start=f"after:{main[place]}", max_commits=1)
        assert commits_of(graph.changes("review", cursor=step.cursor)) == expected[1:]


def test_a_branch_that_was_just_made_is_followed_from_there() -> None:
    graph = new_graph()
    add(graph, person("ann"))
    graph.branches.create("review")
    page = graph.changes("review")
    assert (page.caught_up, page.head.branch) == (True, "main")
    commit = add(graph, person("bo"), branch="review")
    add(graph, person("cy"))
    after = graph.changes("review", cursor=page.cursor)
    assert (commits_of(after), all_told([after])) == ([commit], [("insert", "Person", "bo")])


def test_a_merge_is_one_block_of_what_it_changed_here(forked: tuple[Graph, list[str], list[str]]) -> None:
    graph, main, own = forked
    cursor = graph.changes().cursor
    merged = graph.branches.merge("review").commit
    assert merged is not None
    page = graph.changes(cursor=cursor)
    (block,) = page.blocks
    cause = block.cause
    assert (cause.commit_id, cause.kind, cause.parent_id, cause.merged_parent_id) == (
        merged.id,
        "merge",
        main[3],
        own[1],
    )
    assert [told(each) for each in block.changes] == [("update", "Person", "ann"), ("insert", "Person", "cy")]
    assert mirrored(graph, "main", limit=1).rows == exported(graph)
    assert graph.changes.of(merged).changes == block.changes
    # The other way round it is what main did meanwhile.
    back = graph.branches.merge("main", into="review").commit
    assert back is not None
    assert [told(each) for each in graph.changes.of(back).changes] == [("insert", "Person", "di")]


def test_a_commit_that_came_by_a_merge_is_no_start(forked: tuple[Graph, list[str], list[str]]) -> None:
    graph, main, own = forked
    with pytest.raises(NotFoundError):
        graph.changes(start=f"after:{own[0]}")
    graph.branches.merge("review")
    with pytest.raises(InvalidInputError, match="by a merge"):
        graph.changes(start=f"after:{own[0]}")
    graph.branches.merge("main", into="review")
    with pytest.raises(InvalidInputError, match="by a merge"):
        graph.changes("review", start=f"after:{main[3]}")
    assert len(graph.changes("review", start=f"after:{own[1]}").blocks) == 1


def test_the_changes_of_a_commit_are_found_on_whatever_branch_it_is(forked: tuple[Graph, list[str], list[str]]) -> None:
    graph, _, own = forked
    assert [told(each) for each in graph.changes.of(own[0]).changes] == [("insert", "Person", "cy")]
    assert [told(each) for each in graph.changes.of(own[1]).changes] == [("update", "Person", "ann")]


def test_a_cursor_is_for_its_branch_and_for_no_later_one_of_the_same_name(
    forked: tuple[Graph, list[str], list[str]],
) -> None:
    graph, _, _ = forked

    def reason(branch: str, cursor: str | None) -> str:
        with pytest.raises(ChangeCursorRejectedError) as caught:
            graph.changes(branch, cursor=cursor)
        return caught.value.reason

    cursor = graph.changes("review").cursor
    assert reason("main", cursor) == "branch"
    graph.branches.delete("review")
    graph.branches.create("review")
    assert reason("review", cursor) == "incarnation"
    with pytest.raises(NotFoundError, match="no branch"):
        graph.changes("gone", cursor=cursor)


def test_a_branch_of_a_branch_is_told_over_all_its_lines_also_when_one_of_them_is_gone() -> None:
    graph = new_graph()
    commits = [graph.snapshot().commit.id, add(graph, person("a"))]
    graph.branches.create("one")
    commits.append(add(graph, person("b"), branch="one"))
    graph.branches.create("two", "one")
    add(graph, person("x"), branch="one")
    commits.append(add(graph, person("c"), branch="two"))
    step = graph.changes("two", start="beginning", max_commits=2)
    graph.branches.delete("one")
    assert commits_of(graph.changes("two", start="beginning")) == commits
    assert commits_of(graph.changes("two", cursor=step.cursor)) == commits[2:]
    assert mirrored(graph, "two", limit=1).rows == exported(graph, branch="two")


def test_a_baseline_of_a_branch_is_continued_by_its_feed(forked: tuple[Graph, list[str], list[str]]) -> None:
    graph, _, own = forked
    *lines, last = graph.changes.baseline("review")
    assert lines == [*graph.export(branch="review")]
    facts = json.loads(last)["baseline"]
    assert facts["snapshot_commit_id"] == own[1]
    commit = add(graph, person("ed"), branch="review")
    assert commits_of(graph.changes("review", cursor=facts["resume_cursor"])) == [commit]


def test_on_its_own_line_a_poll_of_one_commit_costs_the_same_whatever_the_backlog() -> None:
    graph = new_graph()
    add(graph, person("a"))
    graph.branches.create("review")
    cursors = []
    for number in range(50):
        add(graph, film(str(number)), branch="review")
        cursors.append(graph.changes("review").cursor)
    costs = []
    for cursor in (cursors[0], cursors[20], cursors[48]):
        with count_table_calls() as counts:
            assert len(graph.changes("review", cursor=cursor, max_commits=1).blocks) == 1
        costs.append((counts["log.probe"], counts["log.open"], counts["log.read"]))
    # The last one ends at the head, which is known.
    assert costs == [(1, 2, 2), (1, 2, 2), (1, 1, 1)]
    with count_table_calls() as counts:
        assert graph.changes("review", cursor=cursors[-1]).caught_up
    assert counts == {"log.probe": 1}
