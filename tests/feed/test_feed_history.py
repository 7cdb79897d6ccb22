"""The feed over a history that is not all there any more: gaps, copies that were put back, and who need not care."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from feed_world import Mirror, add, all_told, exported, film, new_graph, person, told
from publish_world import publish_bare

from omnigraph.engine.feed_pages import FeedPage
from omnigraph.errors import ChangeCursorRejectedError, ChangeFeedGapError
from omnigraph.graph import Graph
from omnigraph.history.commits import CommitKind


def commits_of(page: FeedPage) -> list[str]:
    return [block.cause.commit_id for block in page.blocks]


def reason(graph: Graph, **arguments: Any) -> str:
    with pytest.raises(ChangeCursorRejectedError) as caught:
        graph.changes(**arguments)
    return caught.value.reason


def test_a_cursor_ahead_of_the_branch_is_told(tmp_path: Path) -> None:
    graph = new_graph(tmp_path / "graph")
    add(graph, person("ann"))
    graph.changes()
    add(graph, person("bo"), person("cy"))
    ahead = graph.changes().cursor
    page = graph.changes(start="beginning", limit=2)
    graph.close()
    # The graph is put back to an earlier copy.
    newest = min((tmp_path / "graph").glob("__manifest/*/_versions/*"))
    newest.unlink()
    with Graph._reopen(str(tmp_path / "graph"), "r", None, {}) as restored:
        assert reason(restored, cursor=ahead) == "position"
        assert reason(restored, page_token=page.page_token) == "position"


def versions(graph: Path, table: str) -> list[Path]:
    """The files of the versions of the only table of a kind, oldest first; Lance counts their names down."""
    return sorted((graph / table).glob("**/_versions/*.manifest"), reverse=True)


@pytest.fixture
def reclaimed(tmp_path: Path) -> tuple[Graph, list[str], str]:
    """A graph whose first two commits with rows are not readable any more, its commits, and a cursor at the first."""
    place = tmp_path / "graph"
    with new_graph(place) as graph:
        commits = [add(graph, person("a")), add(graph, person("b")), add(graph, person("c")), add(graph, person("d"))]
        cursor = graph.changes(start="beginning", max_commits=2).cursor
    for each in versions(place, "__manifest")[:3]:
        each.unlink()
    assert cursor is not None
    return Graph._reopen(str(place), "r", None, {}), commits, cursor


def test_history_that_was_reclaimed_is_a_gap_that_names_the_first_commit_that_is_lost(
    reclaimed: tuple[Graph, list[str], str],
) -> None:
    graph, commits, cursor = reclaimed
    with pytest.raises(ChangeFeedGapError) as caught:
        graph.changes(cursor=cursor)
    assert (caught.value.cursor, caught.value.first_unreadable_commit_id) == (cursor, commits[1])
    with pytest.raises(ChangeFeedGapError) as caught:
        graph.changes(start="beginning")
    assert caught.value.cursor is None
    assert caught.value.first_unreadable_commit_id == graph.commits.list()[-1].id
    # Of the third commit the state is there, and what it is compared with is not.
    with pytest.raises(ChangeFeedGapError) as caught:
        graph.changes(start=f"after:{commits[1]}")
    assert caught.value.first_unreadable_commit_id == commits[2]
    assert commits_of(graph.changes(start=f"after:{commits[2]}")) == [commits[3]]


def test_a_baseline_is_the_way_on_after_a_gap(reclaimed: tuple[Graph, list[str], str]) -> None:
    graph, commits, _ = reclaimed
    *lines, last = graph.changes.baseline()
    mirror = Mirror()
    mirror.load(lines)
    assert mirror.rows == exported(graph)
    facts = json.loads(last)["baseline"]
    assert facts["snapshot_commit_id"] == commits[3]
    assert graph.changes(cursor=facts["resume_cursor"]).caught_up


def test_rows_that_were_reclaimed_are_a_gap_as_well(tmp_path: Path) -> None:
    place = tmp_path / "graph"
    with new_graph(place) as graph:
        commits = [add(graph, person("a")), add(graph, film("x")), add(graph, person("b")), add(graph, person("c"))]
        (location,) = {each["location"] for each in graph.snapshot().to_dict()["types"] if each["name"] == "Person"}
    # What the first commit made of Person; the third one is compared with it.
    versions(place, location)[1].unlink()
    with Graph._reopen(str(place), "r", None, {}) as graph:
        page = graph.changes(start=f"after:{commits[0]}")
        assert commits_of(page) == [commits[1]]
        assert not page.caught_up
        with pytest.raises(ChangeFeedGapError) as caught:
            graph.changes(cursor=page.cursor)
        assert (caught.value.first_unreadable_commit_id, caught.value.cursor) == (commits[2], page.cursor)


def test_who_stood_at_the_head_when_history_was_reclaimed_goes_on_without_a_gap(tmp_path: Path) -> None:
    place = tmp_path / "graph"
    with new_graph(place) as graph:
        add(graph, person("a"))
        cursor = graph.changes().cursor
        log = publish_bare(graph._repository.newest(), kind=CommitKind.MAINTENANCE)
        publish_bare(log, kind=CommitKind.FENCE)
        commit = add(graph, person("b"))
    # Everything before the fence goes, also what the cursor stands on.
    for each in versions(place, "__manifest")[:3]:
        each.unlink()
    with Graph._reopen(str(place), "r", None, {}) as graph:
        page = graph.changes(cursor=cursor)
    assert [block.cause.kind for block in page.blocks] == ["maintenance", "fence", "data"]
    assert (commits_of(page)[-1], all_told([page])) == (commit, [("insert", "Person", "b")])


def test_a_commit_that_was_reclaimed_is_a_gap(tmp_path: Path) -> None:
    place = tmp_path / "graph"
    with new_graph(place) as graph:
        commits = [add(graph, person("a")), add(graph, person("b")), add(graph, person("c"))]
    max(place.glob("__manifest/*/_versions/*.manifest")).unlink()
    with Graph._reopen(str(place), "r", None, {}) as graph:
        with pytest.raises(ChangeFeedGapError) as caught:
            graph.changes.of(commits[0])
        assert caught.value.first_unreadable_commit_id == commits[0]
        assert [told(each) for each in graph.changes.of(commits[1]).changes] == [("insert", "Person", "b")]
