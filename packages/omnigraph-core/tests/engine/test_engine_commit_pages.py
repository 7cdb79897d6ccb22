"""The changes of one commit by itself: all of them once, in pages, and what they are compared with."""

from __future__ import annotations

import json
from typing import Any

import pytest
from feed_world import add, change_schema, film, new_graph, person, remove, saw, set_age, told

from omnigraph.engine.feed_pages import CommitPage
from omnigraph.errors import (
    ChangeCursorRejectedError,
    ChangeSchemaBoundaryError,
    InvalidInputError,
    NotFoundError,
)
from omnigraph.graph import Graph
from omnigraph.history.commits import Commit
from omnigraph.tables.counting import count_table_calls


@pytest.fixture(scope="module")
def graph() -> Graph:
    made = new_graph()
    rows = [person("ann", 3), person("bo"), film("Salt"), saw("s1", "ann", "Salt"), saw("s2", "bo", "Salt")]
    made.load(rows, "append", actor="x")
    set_age(made, "bo", 7)
    remove(made, "ann")
    made.maintain.ensure_indices()
    return made


def commit(graph: Graph, version: int) -> Commit:
    return graph.commits.list()[-version]


def every_page(graph: Graph, of: Commit, **arguments: Any) -> list[CommitPage]:
    pages = [graph.changes.of(of, **arguments)]
    while pages[-1].page_token is not None:
        pages.append(graph.changes.of(of, page_token=pages[-1].page_token, **arguments))
    return pages


FIRST = [
    ("insert", "Film", "Salt"),
    ("insert", "Person", "ann"),
    ("insert", "Person", "bo"),
    ("insert", "Saw", "s1"),
    ("insert", "Saw", "s2"),
]


def test_a_commit_is_told_against_the_one_before_it(graph: Graph) -> None:
    expected = {
        1: [],
        2: FIRST,
        3: [("update", "Person", "bo")],
        4: [("delete", "Person", "ann"), ("delete", "Saw", "s1")],
        5: [],
    }
    for version, changes in expected.items():
        page = graph.changes.of(commit(graph, version).id)
        assert [told(each) for each in page.changes] == changes
        assert (page.cause.commit_id, page.page_token) == (commit(graph, version).id, None)
    assert graph.changes.of(commit(graph, 2)).cause.actor == "x"


@pytest.mark.parametrize("limit", [1, 2, 4, 5, 6])
def test_pages_together_are_the_whole_once(graph: Graph, limit: int) -> None:
    pages = every_page(graph, commit(graph, 2), limit=limit)
    assert [told(each) for page in pages for each in page.changes] == FIRST
    assert [len(page.changes) for page in pages[:-1]] == [limit] * (len(pages) - 1)


def test_pages_end_at_a_number_of_bytes_too(graph: Graph) -> None:
    pages = every_page(graph, commit(graph, 2), max_bytes=1)
    assert [len(page.changes) for page in pages] == [1] * 5


def test_filters_leave_out_what_is_not_asked_for(graph: Graph) -> None:
    pages = every_page(graph, commit(graph, 2), limit=1, kinds=["edge"])
    assert [told(each) for page in pages for each in page.changes] == FIRST[3:]
    assert graph.changes.of(commit(graph, 2), ops=["delete"]).changes == ()
    assert len(graph.changes.of(commit(graph, 4), types=["Saw"]).changes) == 1


def reason(graph: Graph, of: Commit, **arguments: Any) -> str:
    with pytest.raises(ChangeCursorRejectedError) as caught:
        graph.changes.of(of, **arguments)
    return caught.value.reason


def test_a_page_token_is_for_its_commit_its_graph_and_its_filter(graph: Graph) -> None:
    token = graph.changes.of(commit(graph, 2), limit=1).page_token
    assert reason(graph, commit(graph, 3), page_token=token) == "commit"
    assert reason(graph, commit(graph, 2), page_token=token, kinds=["node"]) == "filter"
    other = new_graph()
    assert reason(other, commit(other, 1), page_token=token) == "graph"
    assert reason(graph, commit(graph, 2), page_token=graph.changes().cursor) == "kind"
    with pytest.raises(ChangeCursorRejectedError):
        graph.changes(page_token=token)


def test_what_cannot_be_asked_is_told(graph: Graph) -> None:
    with pytest.raises(NotFoundError):
        graph.changes.of("01KA7X3J8Q0000000000000000")
    with pytest.raises(InvalidInputError, match=r"^limit is 0"):
        graph.changes.of(commit(graph, 2), limit=0)
    with pytest.raises(NotFoundError):
        graph.changes.of(commit(graph, 2), types=["Flim"])


def test_a_commit_that_changed_the_schema_is_refused_whole() -> None:
    graph = new_graph()
    boundary = change_schema(graph)
    with pytest.raises(ChangeSchemaBoundaryError) as caught:
        graph.changes.of(boundary)
    assert caught.value.commit_id == boundary


def test_only_the_types_that_a_commit_changed_are_opened() -> None:
    graph = new_graph()
    add(graph, person("a"), film("x"))
    commit_id = add(graph, person("b"))
    add(graph, person("c"))
    with count_table_calls() as counts:
        graph.changes.of(commit_id)
    assert counts["open"] <= 2


def test_a_page_is_json_with_every_fact(graph: Graph) -> None:
    page = graph.changes.of(commit(graph, 2), limit=3)
    facts = json.loads(json.dumps(page.to_dict()))
    assert facts.keys() == {"cause", "changes", "page_token"}
    assert facts["cause"]["commit_id"] == page.cause.commit_id
    assert [each["id"] for each in facts["changes"]] == ["Salt", "ann", "bo"]
    assert facts["page_token"] == page.page_token
