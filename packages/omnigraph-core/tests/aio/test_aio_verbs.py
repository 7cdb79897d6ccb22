"""``omnigraph.aio``: every verb there is, awaited, with the parameters and the outcome of the one that blocks."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

import omnigraph as og
from omnigraph import aio
from omnigraph.errors import ClosedError, InvalidInputError, NotFoundError, ReadOnlyError
from omnigraph.graph import Branches, Changes, Commits, Graph, Recoveries, Schema, Tags
from omnigraph.graph import init as init_graph
from omnigraph.graph import open as open_graph
from omnigraph.write.maintenance import Maintenance

SCHEMA = "node Film { code: String @key  title: String? }\nedge Cites: Film -> Film\n"
CODES = "query codes() { match { $f: Film } return { $f.code } order { $f.code } }"

COUNTERPARTS = [
    (Graph, aio.AsyncGraph),
    (Branches, aio.AsyncBranches),
    (Changes, aio.AsyncChanges),
    (Tags, aio.AsyncTags),
    (Commits, aio.AsyncCommits),
    (Maintenance, aio.AsyncMaintenance),
    (Recoveries, aio.AsyncRecoveries),
    (Schema, aio.AsyncSchema),
]


def place() -> str:
    return f"memory://aio-{uuid.uuid4().hex}"


def films(*codes: str) -> list[dict[str, Any]]:
    return [{"type": "Film", "data": {"code": code}} for code in codes]


def parameters(function: Callable[..., Any]) -> list[tuple[str, Any, Any]]:
    return [(each.name, each.kind, each.default) for each in inspect.signature(function).parameters.values()]


def public(owner: type, predicate: Callable[[Any], bool]) -> dict[str, Any]:
    return {name: each for name, each in inspect.getmembers(owner, predicate) if name[0] != "_"}


# ── the same verbs ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("blocking", "awaited"), COUNTERPARTS, ids=lambda each: each.__name__)
def test_every_method_has_a_counterpart_with_the_same_parameters(blocking: type, awaited: type):
    for name, method in public(blocking, inspect.isfunction).items():
        counterpart = getattr(awaited, name)
        assert parameters(counterpart) == parameters(method), name
        # A context manager is made of an asynchronous generator.
        plain = inspect.unwrap(counterpart)
        assert inspect.iscoroutinefunction(plain) or inspect.isasyncgenfunction(plain), name


def test_a_page_of_changes_is_asked_for_with_the_same_parameters():
    assert parameters(aio.AsyncChanges.__call__) == parameters(Changes.__call__)
    assert inspect.iscoroutinefunction(aio.AsyncChanges.__call__)


def test_every_property_of_a_graph_has_a_counterpart():
    """What can be told at once is a property there as well; what the store is asked for is awaited."""
    for name in public(Graph, lambda each: isinstance(each, property)):
        assert isinstance(getattr(aio.AsyncGraph, name), property), name
    for name in public(Schema, lambda each: isinstance(each, property)):
        assert inspect.iscoroutinefunction(getattr(aio.AsyncSchema, name)), name


@pytest.mark.parametrize(("blocking", "awaited"), [(open_graph, aio.open), (init_graph, aio.init)])
def test_a_graph_is_opened_with_the_same_parameters_and_a_bound_of_threads(blocking: Any, awaited: Any):
    assert inspect.iscoroutinefunction(awaited)
    assert parameters(awaited)[:-1] == parameters(blocking)
    assert parameters(awaited)[-1][0] == "threads"


# ── the same outcome ─────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_done_here_is_what_is_done_there():
    async def work() -> None:
        uri = place()
        async with await aio.init(uri, schema=SCHEMA, actor="ann") as g:
            assert (g.uri, g.mode, g.actor, repr(g)) == (uri, "rw", "ann", f"<AsyncGraph {uri} mode='rw'>")
            assert og.aio is aio
            loaded = await g.load(films("f1", "f2"), "append")
            assert (loaded.nodes, loaded.commit.actor) == ({"Film": 2}, "ann")
            renamed = await g.mutate('query q() { update Film set { title: "Salt" } where code = "f2" }')
            assert (renamed.affected_nodes, renamed.commit.actor) == (1, "ann")
            blocking = og.open(uri)
            assert (await g.query(CODES)).rows() == blocking.query(CODES).rows()
            assert (await g.explain(CODES)).to_dict() == blocking.explain(CODES).to_dict()
            assert (await g.table("Film", ["code"])).rows() == [{"code": "f1"}, {"code": "f2"}]
            assert (await g.snapshot(at=loaded.commit)).commit == loaded.commit
            assert [line async for line in g.export()] == [*blocking.export()]
            assert await g.refresh() == renamed.commit
            assert await g.commits.list(limit=1) == [renamed.commit]
            assert await g.commits.show(loaded.commit.id) == loaded.commit
            made = await g.branches.create("dev", at=loaded.commit)
            assert (made, await g.branches.show("dev")) == (blocking.branches.show("dev"), made)
            on_dev = await g.load(films("f3"), "append", branch="late", base="dev")
            assert (on_dev.base_branch, on_dev.branch_created) == ("dev", True)
            assert [each.name for each in await g.branches.list()] == ["main", "dev", "late"]
            compared = await g.diff("dev", "late")
            assert [each async for each in compared] == [*blocking.diff("dev", "late")]
            assert (await compared.summary()).inserts == (await compared.to_arrow()).num_rows == 1
            assert await compared.to_dict() == blocking.diff("dev", "late").to_dict()
            assert await g.entity_at("Film", "f3", "late") == blocking.entity_at("Film", "f3", "late")
            merged = await g.branches.merge("late", "dev")
            assert (merged.outcome, await g.commits.list("dev", limit=1)) == ("fast_forward", [merged.commit])
            assert await g.commits.graph() == blocking.commits.graph()
            tag = await g.tags.create("v1", branch="dev")
            assert (await g.tags.list(), await g.tags.show("v1")) == ([tag], tag)
            await g.tags.delete("v1")
            await g.branches.delete("dev")
            assert await g.branches.list() == blocking.branches.list()
            assert len(await g.table("Film", branch="late")) == 3
            assert (await g.schema.text(), await g.schema.digest()) == (SCHEMA, blocking.schema.digest)
            assert await g.changes(start="beginning") == blocking.changes(start="beginning")
            assert await g.changes.of(loaded.commit) == blocking.changes.of(loaded.commit)
            followed = [page async for page in g.changes.follow(start="beginning", limit=1)]
            assert followed == [*blocking.changes.follow(start="beginning", limit=1)]
            assert [line async for line in g.changes.baseline()] == [*blocking.changes.baseline()]
            assert (await g.maintain.ensure_indices()).commit is not None
            assert (await g.stats()).reads.queries == 1
            assert await g.recoveries.list() == await g.recoveries.pending() == await g.recoveries.settled() == []
            ticket = await g.bulk(["Film"])
            receipt = ticket.write("Film", blocking.table("Film").to_arrow().drop(["id"]).slice(0, 1))
            async with g.bulk_lease(ticket):
                assert [each.load_id for each in await g.recoveries.loads()] == [ticket.load_id]
            assert await g.recoveries.loads() == []
            assert (await g.bulk_publish([receipt], "merge")).total == 1
        with pytest.raises(ClosedError, match=uri):
            await g.refresh()
        async with await aio.open(uri, mode="r") as reader:
            with pytest.raises(ReadOnlyError):
                await reader.load(films("f3"), "append")
            with pytest.raises(NotFoundError):
                await reader.table("Nope")

    asyncio.run(work())


def test_what_cannot_be_opened_is_told_and_leaves_no_thread():
    async def work() -> None:
        with pytest.raises(NotFoundError):
            await aio.open(place())
        with pytest.raises(InvalidInputError, match="0 is no number of threads"):
            await aio.open(place(), threads=0)

    asyncio.run(work())
    assert [each for each in threading.enumerate() if each.name.startswith("omnigraph-aio")] == []


def test_an_export_is_read_as_it_is_asked_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("omnigraph.aio.handle.EXPORTED_LINES", 2)

    async def work() -> None:
        async with await aio.init(place(), schema=SCHEMA) as g:
            await g.load(films(*(f"f{number}" for number in range(5))), "append")
            lines = g.export(types=["Film"])
            assert isinstance(lines, AsyncIterator)
            assert "f0" in await anext(lines)
            assert [line.count("f") for line in [each async for each in lines]] == [2, 2, 2, 2]
            # What is wrong is told with the first line, and not by the call.
            wrong = g.export(types=["Nope"])
            with pytest.raises(NotFoundError):
                await anext(wrong)
            begun = g.export()
            await anext(begun)
        with pytest.raises(ClosedError):
            await anext(begun)

    asyncio.run(work())


def test_a_graph_outlives_the_loop_that_opened_it():
    g = asyncio.run(aio.init(place(), schema=SCHEMA))
    assert asyncio.run(g.load(films("f1"), "append")).total == 1
    asyncio.run(g.close())


# ── how calls run ────────────────────────────────────────────────────────────────────────────────────────────────


def test_calls_run_beside_each_other_and_beside_the_loop():
    """Three loads meet in their threads, while the loop goes on: nobody of them is waited for."""
    meet = threading.Barrier(4, timeout=60)

    def records(code: str) -> Any:
        meet.wait()
        yield from films(code)

    async def work() -> None:
        async with await aio.init(place(), schema=SCHEMA) as g:
            loads = [asyncio.ensure_future(g.load(records(f"f{number}"), "append")) for number in range(3)]
            for _ in range(100):
                await asyncio.sleep(0)
            assert not any(each.done() for each in loads)
            await asyncio.to_thread(meet.wait)
            await asyncio.gather(*loads)
            assert len(await g.table("Film")) == 3

    asyncio.run(work())


def test_no_more_calls_run_at_a_time_than_were_asked_for():
    running, most = 0, 0
    lock = threading.Lock()

    def records(code: str) -> Any:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        yield from films(code)
        with lock:
            running -= 1

    async def work() -> None:
        async with await aio.init(place(), schema=SCHEMA, threads=2) as g:
            await asyncio.gather(*(g.load(records(f"f{number}"), "append") for number in range(6)))

    asyncio.run(work())
    assert most <= 2


def test_a_call_sees_the_context_variables_of_its_task():
    request: contextvars.ContextVar[str] = contextvars.ContextVar("request")
    seen: list[str] = []

    async def work() -> None:
        request.set("r-17")
        async with await aio.init(place(), schema=SCHEMA) as g:
            await g.load([], "append", progress=lambda _: seen.append(request.get()))

    asyncio.run(work())
    assert set(seen) == {"r-17"}


def test_an_end_of_iteration_that_escapes_a_call_is_an_error_and_no_hang():
    def stop(_: object) -> None:
        raise StopIteration

    async def work() -> None:
        async with await aio.init(place(), schema=SCHEMA) as g:
            with pytest.raises(RuntimeError, match="StopIteration"):
                await g.load([], "append", progress=stop)

    asyncio.run(work())


# ── closing ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_closing_waits_for_calls_that_were_begun_and_refuses_others():
    is_under_way, may_go_on = threading.Event(), threading.Event()

    def records(code: str) -> Any:
        is_under_way.set()
        assert may_go_on.wait(60)
        yield from films(code)

    async def work() -> str:
        g = await aio.init(place(), schema=SCHEMA, threads=1)
        loads = [asyncio.ensure_future(g.load(records(f"f{number}"), "append")) for number in range(2)]
        await asyncio.to_thread(is_under_way.wait, 60)
        closing = asyncio.ensure_future(g.close())
        await asyncio.sleep(0)
        with pytest.raises(ClosedError):
            await g.refresh()
        assert not closing.done()
        may_go_on.set()
        await closing
        assert all(each.done() for each in loads)
        assert [each.result().total for each in loads] == [1, 1]
        await g.close()
        return g.uri

    uri = asyncio.run(work())
    assert len(og.open(uri).table("Film")) == 2


def test_a_close_that_is_cancelled_has_closed_when_it_ends():
    is_under_way, may_go_on = threading.Event(), threading.Event()

    def records() -> Any:
        is_under_way.set()
        assert may_go_on.wait(60)
        yield from films("f1")

    async def work() -> None:
        g = await aio.init(place(), schema=SCHEMA)
        load = asyncio.ensure_future(g.load(records(), "append"))
        await asyncio.to_thread(is_under_way.wait, 60)
        closing = asyncio.ensure_future(g.close())
        for _ in range(3):
            await asyncio.sleep(0)
            closing.cancel()
        assert not closing.done()
        may_go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await closing
        assert (await load).total == 1
        with pytest.raises(ClosedError):
            g._graph.refresh()

    asyncio.run(work())
