"""A verb whose time is over ends with one kind of error, leaves nothing behind, and the next call works.

The clock of most tests goes on by one with each look, so that a verb is ended at every place where it looks.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

import omnigraph as og
from omnigraph import aio
from omnigraph.cancellation import TimeLimit
from omnigraph.errors import DeadlineError, ErrorKind, InvalidInputError
from omnigraph.storage import ObjectKey
from omnigraph.testing.invariants import assert_graph_is_whole

SCHEMA = "node Film { code: String @key  title: String? @index }\nedge Cites: Film -> Film\n"
Verb = Callable[..., Any]

WRITES: dict[str, Verb] = {
    "load": lambda g, **limit: g.load(films("x", 30), "append", **limit),
    "load that merges": lambda g, **limit: g.load(films("a", 10), "merge", **limit),
    "load that overwrites": lambda g, **limit: g.load(films("y", 5), "overwrite", **limit),
    "mutate": lambda g, **limit: g.mutate('query q() { insert Film { code: "z" } }', **limit),
    "merge": lambda g, **limit: g.branches.merge("review", **limit),
    "ensure_indices": lambda g, **limit: g.maintain.ensure_indices(**limit),
}
READS: dict[str, Verb] = {
    "dry merge": lambda g, **limit: g.branches.merge("review", dry_run=True, **limit),
    "diff": lambda g, **limit: [*g.diff("main", "review", **limit)],
    "summary": lambda g, **limit: g.diff("main", "review", **limit).summary(),
    "table of a diff": lambda g, **limit: g.diff("main", "review", **limit).to_arrow(),
    "export": lambda g, **limit: [*g.export(**limit)],
    "changes": lambda g, **limit: g.changes(start="beginning", **limit),
    "follow": lambda g, **limit: [*g.changes.follow(start="beginning", **limit)],
    "span": lambda g, **limit: g.changes.span(start="beginning", **limit),
    "changes of a commit": lambda g, **limit: g.changes.of(g.commits.list()[0], **limit),
    "baseline": lambda g, **limit: [*g.changes.baseline(**limit)],
}


def films(prefix: str, number: int) -> list[dict[str, Any]]:
    nodes = [{"type": "Film", "data": {"code": f"{prefix}{each}", "title": prefix}} for each in range(number)]
    edges = [{"edge": "Cites", "from": f"{prefix}{each}", "to": f"{prefix}0"} for each in range(1, number)]
    return [*nodes, *edges]


@pytest.fixture
def graph() -> Iterator[og.Graph]:
    with og.init(f"memory://deadline-{uuid.uuid4().hex}", schema=SCHEMA) as g:
        g.load(films("a", 10), "append")
        g.branches.create("review")
        g.load(films("b", 10), "append", branch="review")
        g.load(films("c", 3), "append")
        yield g


def what_is_there(g: og.Graph) -> tuple[object, ...]:
    heads = tuple((each.name, each.head) for each in g.branches.list())
    return heads, tuple(g.export()), tuple(g.export(branch="review"))


def announced(g: og.Graph) -> tuple[ObjectKey, ...]:
    adapter = g._repository.adapter
    return tuple(adapter.list(adapter.key("__recovery")))


@pytest.mark.parametrize("name", WRITES | READS)
def test_a_verb_without_time_ends_with_the_error_of_a_deadline_and_changes_nothing(name: str, graph: og.Graph):
    verb, before = (WRITES | READS)[name], what_is_there(graph)
    with pytest.raises(DeadlineError) as told:
        verb(graph, deadline=0)
    assert (told.value.kind, told.value.deadline) == (ErrorKind.DEADLINE, 0)
    assert told.value.help
    assert what_is_there(graph) == before
    assert announced(graph) == ()
    verb(graph, deadline=3600)


@pytest.mark.parametrize("name", WRITES | READS)
@pytest.mark.parametrize("deadline", [-1, float("nan"), "soon", False])
def test_a_deadline_that_is_not_a_number_of_seconds_is_refused(name: str, deadline: Any, graph: og.Graph):
    with pytest.raises(InvalidInputError, match="is not a deadline"):
        (WRITES | READS)[name](graph, deadline=deadline)


@pytest.mark.parametrize("name", WRITES)
def test_a_write_that_is_ended_wherever_it_looks_leaves_nothing_behind(name: str, graph: og.Graph):
    before = what_is_there(graph)
    for looks in count(1):
        ticks = count()
        try:
            with TimeLimit(looks, "test", clock=lambda ticks=ticks: float(next(ticks))):  # type: ignore[misc]
                WRITES[name](graph)
            break
        except DeadlineError:
            assert what_is_there(graph) == before
            assert announced(graph) == ()
    assert looks > 2
    assert what_is_there(graph)[0] != before[0]
    assert_graph_is_whole(graph)


@pytest.mark.parametrize("name", READS)
def test_a_read_that_is_ended_wherever_it_looks_can_be_asked_again(name: str, graph: og.Graph):
    for looks in count(1):
        ticks = count()
        try:
            with TimeLimit(looks, "test", clock=lambda ticks=ticks: float(next(ticks))):  # type: ignore[misc]
                READS[name](graph)
            break
        except DeadlineError:
            continue
    assert looks > 1


def test_the_time_of_an_export_goes_on_between_its_lines(graph: og.Graph):
    lines = graph.export(deadline=3600)
    assert next(lines)
    assert len([*lines]) == 13 + 11 - 1


def test_a_merge_whose_commit_is_made_deletes_its_branch_however_little_time_is_left(graph: og.Graph):
    before = graph.branches.list()
    for looks in count(1):
        ticks = count()
        try:
            with TimeLimit(looks, "test", clock=lambda ticks=ticks: float(next(ticks))):  # type: ignore[misc]
                graph.branches.merge("review", delete_branch=True)
            break
        except DeadlineError:
            assert graph.branches.list() == before
    assert [each.name for each in graph.branches.list()] == ["main"]


def test_awaited_verbs_have_the_same_deadlines(graph: og.Graph):
    async def ask() -> None:
        async with await aio.open(graph.uri) as g:
            calls: list[Any] = [
                g.load(films("x", 3), "append", deadline=0),
                g.mutate(WRITE_ONE, deadline=0),
                g.branches.merge("review", deadline=0),
                g.maintain.ensure_indices(deadline=0),
                g.diff("main", "review", deadline=0),
                g.changes(start="beginning", deadline=0),
                g.changes.span(start="beginning", deadline=0),
                _all(g.export(deadline=0)),
                _all(g.changes.follow(start="beginning", deadline=0)),
                _all(g.changes.baseline(deadline=0)),
            ]
            for call in calls:
                with pytest.raises(DeadlineError):
                    await call
            assert (await g.load(films("x", 3), "append", deadline=3600)).total == 5

    asyncio.run(ask())


WRITE_ONE = 'query q() { insert Film { code: "z" } }'


async def _all(values: Any) -> list[Any]:
    return [each async for each in values]
