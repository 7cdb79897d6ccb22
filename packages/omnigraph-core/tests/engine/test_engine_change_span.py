"""Spans: the commits that come next as a value, what they changed when they are read, and where they end."""

from __future__ import annotations

import json
from typing import Any

import pytest
from feed_world import add, change_schema, film, new_graph, person, remove, saw, set_age
from publish_world import publish_bare

from omnigraph.engine.change_span import ChangeSpan
from omnigraph.errors import (
    ChangeCursorRejectedError,
    ChangeSchemaBoundaryError,
    ErrorKind,
    InvalidInputError,
    OmnigraphError,
)
from omnigraph.graph import Graph
from omnigraph.history.commits import CommitKind
from omnigraph.tables.counting import count_table_calls

Told = dict[str, Any]


def rows_of(*spans: ChangeSpan) -> list[Told]:
    return [row for span in spans for batch in span.read() for row in batch.to_pylist()]


def fed(graph: Graph, branch: str = "main", **filters: Any) -> list[Told]:
    """What the feed tells of a branch, in the form of a span."""
    pages = graph.changes.follow(branch, start="beginning", **filters)
    return [
        {
            "commit_id": block.cause.commit_id,
            "commit_kind": str(block.cause.kind),
            "actor": block.cause.actor,
            "committed_at": block.cause.created_at,
            **change.to_dict(),
        }
        for page in pages
        for block in page.blocks
        for change in block.changes
    ]


def read(*spans: ChangeSpan) -> list[Told]:
    """The same of spans; versions must grow."""
    rows = rows_of(*spans)
    versions = [row.pop("commit_version") for row in rows]
    assert versions == sorted(versions)
    for row in rows:
        for side in ("before", "after"):
            row[side] = None if row[side] is None else json.loads(row[side])
    return rows


def busy_graph() -> Graph:
    graph = new_graph()
    add(graph, person("ann", 3), person("bo"), film("Salt"), saw("s1", "ann", "Salt", 4.5), mode="append")
    set_age(graph, "bo", 7)
    publish_bare(graph._repository.newest(), kind=CommitKind.MAINTENANCE)
    graph.branches.create("side")
    add(graph, person("cy"), saw("s2", "cy", "Salt"), branch="side")
    set_age(graph, "cy", 9, branch="side")
    add(graph, person("di"))
    graph.branches.merge("side")
    remove(graph, "ann")
    return graph


# ── what a span tells ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("commit_count", [1, 2, 100])
def test_the_parts_of_a_span_together_tell_what_the_feed_tells_in_its_order(commit_count: int) -> None:
    graph = busy_graph()
    for branch in ("main", "side"):
        span = graph.changes.span(branch, start="beginning")
        parts = span.split(commit_count)
        assert [each for part in parts for each in part.commits] == list(span.commits)
        assert all(len(part.telling) <= commit_count for part in parts)
        assert [part.caught_up for part in parts] == [False] * (len(parts) - 1) + [True]
        assert read(*parts) == read(span) == fed(graph, branch)


def test_filters_leave_out_of_a_span_what_they_leave_out_of_the_feed() -> None:
    graph = busy_graph()
    for filters in ({"kinds": ["edge"]}, {"types": ["Person"]}, {"ops": ["update", "delete"]}, {"types": []}):
        span = graph.changes.span(start="beginning", **filters)
        assert read(span) == fed(graph, **filters)
        assert span.cursor == graph.changes(start="now", **filters).cursor


def test_images_as_columns_are_the_rows_of_the_type_and_null_where_there_is_none() -> None:
    graph = new_graph()
    add(graph, person("ann", 3), film("Salt"), saw("s1", "ann", "Salt", 4.5))
    set_age(graph, "ann", 4)
    remove(graph, "ann")
    rows = [
        row
        for batch in graph.changes.span(start="beginning", types=["Person"]).read(images="columns")
        for row in batch.to_pylist()
    ]
    images = [(row["op"], row["before"], row["after"]) for row in rows]
    three, four = ({"id": "ann", "age": age, "name": "ann"} for age in (3, 4))
    assert images == [("insert", None, three), ("update", three, four), ("delete", four, None)]
    (edge,) = next(graph.changes.span(start="beginning", types=["Saw"]).read(images="columns")).to_pylist()
    assert edge["after"] == {"id": "s1", "src": "ann", "dst": "Salt", "stars": 4.5}


def test_columns_of_several_types_are_refused_with_the_way_out() -> None:
    span = busy_graph().changes.span(start="beginning", kinds=["node"])
    with pytest.raises(InvalidInputError, match=r"several types.*types="):
        span.read(images="columns")


def test_a_large_commit_is_read_in_batches_of_at_most_8192_rows() -> None:
    graph = new_graph()
    add(graph, *(film(f"f{number:05}") for number in range(9_000)), mode="append")
    assert [batch.num_rows for batch in graph.changes.span(start="beginning").read()] == [8_192, 808]


# ── where it begins and ends ─────────────────────────────────────────────────────────────────────────────────────


def test_the_cursor_of_a_span_goes_on_in_the_feed_and_the_other_way_round() -> None:
    graph = busy_graph()
    first = graph.changes.span(start="beginning", max_commits=2)
    assert (len(first.commits), first.caught_up) == (2, False)
    page = graph.changes(cursor=first.cursor, max_commits=1)
    rest = graph.changes.span(cursor=page.cursor)
    assert rest.caught_up
    told = read(first) + [{"id": each.id} for block in page.blocks for each in block.changes] + read(rest)
    assert [each["id"] for each in told] == [each["id"] for each in fed(graph)]


def test_a_span_through_a_cursor_ends_there_however_the_branch_went_on() -> None:
    graph = busy_graph()
    start = graph.changes.span(start="beginning", max_commits=1).cursor
    end = graph.changes.span(cursor=start, max_commits=3).cursor
    before = graph.changes.span(cursor=start, through=end)
    add(graph, person("ed"))
    after = graph.changes.span(cursor=start, through=end)
    assert (after.commits, after.cursor, after.caught_up) == (before.commits, end, False)
    assert graph.changes.span(cursor=end, through=end).commits == ()
    with pytest.raises(ChangeCursorRejectedError) as caught:
        graph.changes.span(cursor=end, through=start)
    assert caught.value.reason == "position"


def test_nothing_new_is_an_empty_span_with_the_same_cursor() -> None:
    graph = busy_graph()
    span = graph.changes.span()
    assert (span.commits, span.caught_up, span.split(1), rows_of(span)) == ((), True, (), [])
    assert graph.changes.span(cursor=span.cursor).cursor == span.cursor


def test_a_cursor_of_a_branch_that_was_made_anew_of_another_graph_or_filter_is_refused() -> None:
    graph = new_graph()
    graph.branches.create("side")
    cursor = graph.changes.span("side").cursor

    def reasons(other: Graph, **filters: Any) -> set[str]:
        """Why the cursor is refused, be it a beginning or an end."""
        found = set()
        for where in ({"cursor": cursor}, {"start": "beginning", "through": cursor}):
            with pytest.raises(ChangeCursorRejectedError) as caught:
                other.changes.span("side", **where, **filters)
            found.add(caught.value.reason)
        return found

    assert reasons(graph, types=["Film"]) == {"filter"}
    assert reasons(busy_graph()) == {"graph"}
    graph.branches.delete("side")
    graph.branches.create("side")
    assert reasons(graph) == {"incarnation"}


def test_a_change_of_the_schema_ends_a_span_before_it_and_is_an_error_where_it_comes_first() -> None:
    graph = new_graph()
    last = add(graph, person("ann"))
    changed = change_schema(graph)
    span = graph.changes.span(start="beginning")
    assert (span.commits[-1].id, span.caught_up) == (last, False)
    with pytest.raises(ChangeSchemaBoundaryError) as caught:
        graph.changes.span(cursor=span.cursor)
    assert caught.value.commit_id == changed
    assert graph.changes.span(start=f"after:{changed}").caught_up


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"max_commits": 0}, ErrorKind.INVALID_INPUT),
        ({"start": "yesterday"}, ErrorKind.INVALID_INPUT),
        ({"start": "now", "cursor": "x"}, ErrorKind.INVALID_INPUT),
        ({"ops": ["upsert"]}, ErrorKind.INVALID_INPUT),
        ({"types": ["Nobody"]}, ErrorKind.NOT_FOUND),
        ({"branch": "nowhere"}, ErrorKind.NOT_FOUND),
        ({"start": "after:nothing"}, ErrorKind.NOT_FOUND),
        ({"cursor": "x"}, ErrorKind.CHANGE_CURSOR_REJECTED),
        ({"through": "x"}, ErrorKind.CHANGE_CURSOR_REJECTED),
    ],
)
def test_what_is_wrong_is_told_when_a_span_is_asked_for(arguments: dict[str, Any], kind: ErrorKind) -> None:
    with pytest.raises(OmnigraphError) as caught:
        new_graph().changes.span(**arguments)
    assert caught.value.kind is kind


def test_to_make_a_span_reads_no_rows() -> None:
    graph = busy_graph()
    with count_table_calls() as counts:
        graph.changes.span(start="beginning")
    assert "open" not in counts
    assert "read" not in counts
