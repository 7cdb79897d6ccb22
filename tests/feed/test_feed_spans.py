"""Spans of commits that are read by other processes than the one that made them, and later."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from feed_world import add, new_graph, person

from omnigraph import ChangeSpan
from omnigraph.errors import ChangeFeedGapError
from omnigraph.graph import Graph


def rows_of(span: ChangeSpan) -> list[dict[str, Any]]:
    return [row for batch in span.read() for row in batch.to_pylist()]


def test_a_span_read_elsewhere_and_later_is_the_same_whatever_became_of_its_branch(tmp_path: Path) -> None:
    graph = new_graph(tmp_path / "graph")
    graph.branches.create("side")
    add(graph, person("ann"), branch="side")
    sent = pickle.dumps(graph.changes.span("side", start="beginning"))
    before = rows_of(pickle.loads(sent))
    add(graph, person("bo"), branch="side")
    graph.branches.delete("side")
    graph.close()
    assert rows_of(pickle.loads(sent)) == before != []


def test_history_that_was_reclaimed_is_told_when_a_span_is_made_and_when_it_is_read(tmp_path: Path) -> None:
    place = tmp_path / "graph"
    with new_graph(place) as graph:
        commits = [add(graph, person(name)) for name in "abcd"]
        span = graph.changes.span(start=f"after:{commits[0]}")
    # Lance counts the names of versions down.
    for each in sorted(place.glob("__manifest/*/_versions/*.manifest"), reverse=True)[:3]:
        each.unlink()
    with pytest.raises(ChangeFeedGapError) as caught:
        rows_of(span)
    assert caught.value.first_unreadable_commit_id == commits[1]
    with Graph._reopen(str(place), "r", None, {}) as graph:
        cursor = span.split(1)[0].cursor
        with pytest.raises(ChangeFeedGapError) as caught:
            graph.changes.span(cursor=cursor)
        assert (caught.value.first_unreadable_commit_id, caught.value.cursor) == (commits[2], cursor)
        assert [each.id for each in graph.changes.span(start=f"after:{commits[2]}").commits] == [commits[3]]
