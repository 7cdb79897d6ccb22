"""What a call gathers in memory where it cannot stream is bounded; what streams is not held against the bound."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.config import MAX_HELD_BYTES
from omnigraph.engine.held_bytes import HeldBytes
from omnigraph.errors import MergeConflictError, ResourceLimitError
from omnigraph.write.load import LoadMode, LoadRequest, load

SCHEMA = "node Film { code: String @key  title: String? }\nedge Cites: Film -> Film\n"
BOUND = 20_000


def films(number: int, title: str) -> list[dict[str, Any]]:
    return [{"type": "Film", "data": {"code": f"f{each:03}", "title": title}} for each in range(number)]


@pytest.fixture
def graph(monkeypatch: pytest.MonkeyPatch) -> Iterator[og.Graph]:
    monkeypatch.setenv(MAX_HELD_BYTES, str(BOUND))
    with og.init(f"memory://held-{uuid.uuid4().hex}", schema=SCHEMA) as g:
        g.load(films(10, "x"), "append")
        g.branches.create("small")
        g.load(films(5, "small"), "merge", branch="small")
        g.branches.create("large")
        g.load(films(200, "large" * 20), "merge", branch="large")
        g.load(films(200, "main" * 20), "merge")
        yield g


SMALL_AND_LARGE: dict[str, tuple[Callable[[og.Graph, str], Any], type[Exception] | None]] = {
    "a diff as a table": (lambda g, name: g.diff(g.commits.list()[-1], name).to_arrow(), None),
    "a diff as a document": (lambda g, name: g.diff(g.commits.list()[-1], name).to_dict(), None),
    "conflicts of a merge": (lambda g, name: g.branches.merge(name), MergeConflictError),
    "changes of a dry run": (lambda g, name: g.branches.merge(name, dry_run=True, strategy="theirs"), None),
}


@pytest.mark.parametrize("name", SMALL_AND_LARGE)
def test_what_does_not_stream_is_refused_when_it_takes_more_than_a_call_may_hold(name: str, graph: og.Graph):
    ask, usual = SMALL_AND_LARGE[name]
    if usual is None:
        ask(graph, "small")
    else:
        with pytest.raises(usual):
            ask(graph, "small")
    before = graph.commits.list()
    with pytest.raises(ResourceLimitError) as told:
        ask(graph, "large")
    assert (told.value.resource, told.value.limit) == ("held_bytes", BOUND)
    assert told.value.actual > BOUND
    assert MAX_HELD_BYTES in str(told.value.help)
    assert graph.commits.list() == before


def test_rows_that_repeat_ids_are_refused_when_they_take_more_than_a_call_may_hold(graph: og.Graph):
    before = [*graph.export()]
    ends = [(each, f"f{each % 200:03}", f"f{each // 200:03}") for each in range(2_000)]
    edges = [{"edge": "Cites", "from": start, "to": end, "data": {"id": f"e{n % 1999}"}} for n, start, end in ends]
    request = LoadRequest(mode=LoadMode.MERGE, spill_bytes=1, max_held_bytes=BOUND)
    with pytest.raises(ResourceLimitError, match="edge:Cites") as told:
        load(graph._repository, edges, request)
    assert told.value.resource == "held_bytes"
    assert [*graph.export()] == before
    assert load(graph._repository, edges, replace(request, max_held_bytes=10**9)).total == 2_000


def test_what_streams_is_not_bounded_by_what_a_call_may_hold(graph: og.Graph):
    first = graph.commits.list()[-1]
    assert len([*graph.diff(first, "large")]) == 200
    assert graph.diff(first, "large").summary().inserts == 200
    assert sum(map(len, graph.export(branch="large"))) > BOUND
    assert graph.branches.merge("large", strategy="theirs").outcome == "merged"


def test_bytes_are_counted_before_they_are_kept():
    batch = pa.record_batch({"a": [1, 2, 3]})
    held = HeldBytes("It", 2 * batch.nbytes)
    kept = []
    with pytest.raises(ResourceLimitError, match="It takes more than"):
        kept.extend(held.each([batch] * 3))
    assert held.held == 3 * batch.nbytes
