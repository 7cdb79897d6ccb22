"""A task that is cancelled in the middle of a call waits for the end of that call, and nothing is left behind."""

from __future__ import annotations

import asyncio
import gc
import threading
import uuid
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

import omnigraph as og
from omnigraph import aio, failpoints
from omnigraph.cancellation import CancellationToken, cancellable, check_cancelled
from omnigraph.engine.budget import Spending
from omnigraph.graph import Graph
from omnigraph.plugins import open_adapter
from omnigraph.storage import ROOT
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.tables.counting import count_table_calls
from omnigraph.testing.faults import Action, Call, armed
from omnigraph.testing.invariants import assert_graph_is_whole
from omnigraph.write import init as initializing

SCHEMA = "node Film { code: String @key  title: String? @index }\nedge Cites: Film -> Film\n"
CODES = "query codes() { match { $f: Film } return { $f.code } order { $f.code } }"
Write = Callable[[aio.AsyncGraph], Awaitable[Any]]
INSERT = 'query add() { insert Film { code: "f2" } insert Film { code: "f3" } }'
PUBLISH_POINTS = [
    name
    for name in failpoints.FAILPOINTS
    # The other one is reached only where a race is lost.
    if name.startswith("publish.") and name != failpoints.PUBLISH_LOAD_STATE_RETRYABLE_CONTENTION
]
ANNOUNCED = PUBLISH_POINTS[PUBLISH_POINTS.index(failpoints.PUBLISH_SIDECAR_WRITTEN) :]
LOAD: Write = lambda g: g.load(films("f2", "f3"), "append")  # noqa: E731
MUTATE: Write = lambda g: g.mutate(INSERT)  # noqa: E731
WRITES = [
    *((LOAD, name) for name in (failpoints.LOAD_STAGED, *PUBLISH_POINTS)),
    *((MUTATE, name) for name in (failpoints.MUTATION_POST_STAGE_PRE_EFFECT_GATE, *PUBLISH_POINTS)),
]


def place() -> str:
    return f"memory://aio-{uuid.uuid4().hex}"


def films(*codes: str) -> list[dict[str, Any]]:
    return [{"type": "Film", "data": {"code": code}} for code in codes]


class Gate:
    """Holds a thread at a point until the test lets it go on."""

    def __init__(self) -> None:
        self.is_reached = threading.Event()
        self.is_open = threading.Event()

    def __call__(self, *_: object) -> None:
        self.is_reached.set()
        assert self.is_open.wait(60), "nobody opened the gate"

    async def reached(self) -> None:
        assert await asyncio.to_thread(self.is_reached.wait, 60)


async def cancel_at(gate: Gate, call: Awaitable[Any]) -> None:
    """Cancel a call while it is at the gate; it ends with CancelledError, and not before the gate is open."""
    task = asyncio.ensure_future(call)
    await gate.reached()
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    assert not task.done()
    gate.is_open.set()
    with pytest.raises(asyncio.CancelledError):
        await task


def check(uri: str, codes: list[str]) -> None:
    """The graph holds just these, nothing was left, and the next write works."""
    graph = og.open(uri)
    assert sorted(row["code"] for row in graph.table("Film")) == codes
    assert_graph_is_whole(graph)
    graph.load(films("next"), "append")
    assert len(graph.query(CODES)) == len(codes) + 1
    assert_graph_is_whole(graph)


@pytest.fixture(autouse=True)
def _nothing_is_left_behind(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No thread of a call, and no complaint of asyncio about errors that nobody looked at."""
    yield
    gc.collect()
    assert [each for each in threading.enumerate() if each.name.startswith("omnigraph-aio")] == []
    assert [each for each in caplog.records if each.name == "asyncio" and each.levelname == "ERROR"] == []


# ── writes ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("write", "name"), WRITES, ids=lambda each: "" if callable(each) else each)
def test_a_cancelled_write_happened_whole_or_not_at_all_and_nothing_happens_later(write: Write, name: str):
    uri, gate = place(), Gate()

    async def work() -> None:
        async with await aio.init(uri, schema=SCHEMA) as g:
            await g.load(films("f1"), "append")
            with armed({name: Call(gate)}):
                await cancel_at(gate, write(g))
            # Had anything been left to do, it would be done by now or never: the thread of the call is free again.
            assert len(await g.table("Film")) == (3 if name in ANNOUNCED else 1)
            assert (await g.load(films("f4"), "append")).total == 1

    asyncio.run(work())
    check(uri, ["f1", "f2", "f3", "f4"] if name in ANNOUNCED else ["f1", "f4"])


def test_a_load_whose_records_do_not_end_ends_with_its_task():
    uri, made = place(), list[int]()

    def records() -> Iterator[dict[str, Any]]:
        number = 0
        while True:
            number += 1
            made[:] = [number]
            yield films(f"f{number}")[0]

    async def work() -> None:
        async with await aio.init(uri, schema=SCHEMA) as g:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await g.load(records(), "append")
            before = made[0]
            await g.refresh()
            assert made[0] == before > 0

    asyncio.run(work())
    check(uri, [])


def test_a_load_whose_records_are_slow_to_come_asks_for_no_more_of_them():
    uri, gate, asked = place(), Gate(), list[str]()

    def records() -> Iterator[dict[str, Any]]:
        yield from films("f1")
        gate()
        yield from films("f2")
        asked.append("for another")

    async def work() -> None:
        async with await aio.init(uri, schema=SCHEMA) as g:
            await cancel_at(gate, g.load(records(), "append"))

    asyncio.run(work())
    assert asked == []
    check(uri, [])


def test_a_load_that_is_given_up_while_it_is_judged_writes_no_file():
    uri, gate = place(), Gate()

    async def work() -> None:
        async with await aio.init(uri, schema=SCHEMA) as g:
            with count_table_calls() as counts:
                progress = lambda told: gate() if told.phase == "checking" else None  # noqa: E731
                await cancel_at(gate, g.load(films("f1"), "append", progress=progress))
            assert not counts["write_rows"] + counts["stage_append"]

    asyncio.run(work())
    check(uri, [])


def test_building_indexes_ends_between_two_types_and_builds_none():
    uri, gate, staged = place(), Gate(), list[int]()

    async def work() -> None:
        async with await aio.init(uri, schema=SCHEMA) as g:
            await g.load([*films("f1", "f2"), {"edge": "Cites", "from": "f1", "to": "f2"}], "append")
            with pytest.MonkeyPatch.context() as patch:
                tables = type(g._graph._repository.tables)
                genuine = tables.stage_indexes
                patch.setattr(tables, "stage_indexes", lambda *given: (staged.append(1), gate(), genuine(*given))[2])
                await cancel_at(gate, g.maintain.ensure_indices())
                assert staged == [1]
            assert not any(each.covered_rows for each in (await g.stats()).indexes)
            assert len(await g.commits.list()) == 2

    asyncio.run(work())
    check(uri, ["f1", "f2"])


def test_a_writer_that_waits_for_its_next_attempt_stops_waiting():
    """Overtaken for ever, it would go on until its deadline."""
    uri, overtaken = place(), threading.Event()

    async def work() -> None:
        async with await aio.init(uri, schema=SCHEMA) as g:
            other = og.open(uri)

            def overtake(_: str) -> None:
                disarmed: dict[str, Action] = {failpoints.LOAD_STAGED: Call(lambda _: None)}
                with armed(disarmed):
                    other.load(films("f1"), "merge")
                overtaken.set()

            with armed({failpoints.LOAD_STAGED: Call(overtake)}):
                task = asyncio.ensure_future(g.load(films("f1", "f2"), "merge"))
                assert await asyncio.to_thread(overtaken.wait, 60)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task

    asyncio.run(work())
    check(uri, ["f1"])


INIT_POINTS = [name for name in failpoints.FAILPOINTS if name.startswith("init.")]


@pytest.mark.parametrize("name", INIT_POINTS)
def test_an_init_that_is_cancelled_after_its_claim_makes_a_whole_graph(name: str):
    uri, gate = place(), Gate()
    with armed({name: Call(gate)}):
        asyncio.run(cancel_at(gate, aio.init(uri, schema=SCHEMA)))
    check(uri, [])


def test_an_init_that_has_its_claim_cannot_be_given_up():
    uri, token = place(), CancellationToken()

    def give_up(_: str) -> None:
        token.cancel()
        check_cancelled()

    with armed({failpoints.INIT_CLAIMED: Call(give_up)}), cancellable(token):
        og.init(uri, schema=SCHEMA)
    check(uri, [])


def test_an_init_that_is_cancelled_before_its_claim_leaves_nothing(monkeypatch: pytest.MonkeyPatch):
    uri, gate = place(), Gate()
    genuine = initializing.GraphSchema.new
    monkeypatch.setattr(initializing.GraphSchema, "new", lambda *given: (gate(), genuine(*given))[1])
    asyncio.run(cancel_at(gate, aio.init(uri, schema=SCHEMA)))
    assert not open_adapter(uri, mode="r").exists(ROOT)
    monkeypatch.undo()
    og.init(uri, schema=SCHEMA)
    check(uri, [])


# ── reads ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_cancelled_query_ends_at_the_next_look_at_the_clock(monkeypatch: pytest.MonkeyPatch):
    gate, looks, genuine = Gate(), list[str](), Spending.check_time

    def check_time(self: Spending, operator: str) -> None:
        looks.append(operator)
        gate()
        genuine(self, operator)

    async def work() -> None:
        async with await aio.init(place(), schema=SCHEMA) as g:
            await g.load(films("f1", "f2"), "append")
            monkeypatch.setattr(Spending, "check_time", check_time)
            await cancel_at(gate, g.query(CODES))
            # One look, and it was the last.
            assert len(looks) == 1
            monkeypatch.undo()
            assert len(await g.query(CODES)) == 2
            assert (await g.stats()).reads.failures == 1

    asyncio.run(work())


def test_reading_a_type_ends_between_two_batches():
    gate, made = Gate(), list[object]()

    async def work() -> None:
        async with await aio.init(place(), schema=SCHEMA) as g:
            await g.load(films("f1"), "append")
            with pytest.MonkeyPatch.context() as patch:
                tables = type(g._graph._repository.tables)
                genuine = tables.read
                patch.setattr(tables, "read", lambda *given, **named: (gate(), genuine(*given, **named))[1])
                patch.setattr("omnigraph.graph.reads.Result", lambda rows, **_: made.append(rows.read_all()))
                await cancel_at(gate, g.table("Film"))
            assert made == []
            assert len(await g.table("Film")) == 1

    asyncio.run(work())


def test_an_export_ends_with_its_task():
    gate, spelled = Gate(), list[object]()

    async def work() -> None:
        async with await aio.init(place(), schema=SCHEMA) as g:
            await g.load(films("f1", "f2"), "append")
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("omnigraph.engine.export._slices", lambda batch: (gate(), [batch])[1])
                patch.setattr("omnigraph.engine.export._joined", lambda *given: spelled.append(given))
                lines = g.export()
                await cancel_at(gate, anext(lines))
            assert spelled == []
            assert [line async for line in lines] == []
            async for line in g.export():
                assert "f1" in line
                break

    asyncio.run(work())


# ── tasks ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_call_that_waits_for_a_thread_is_cancelled_at_once_and_never_begins():
    uri, gate = place(), Gate()
    begun: list[str] = []

    def records() -> Iterator[dict[str, Any]]:
        begun.append("second")
        yield from films("f2")

    async def work() -> None:
        async with await aio.init(uri, schema=SCHEMA, threads=1) as g:
            with armed({failpoints.LOAD_STAGED: Call(gate)}):
                first = asyncio.ensure_future(g.load(films("f1"), "append"))
                await gate.reached()
                second = asyncio.ensure_future(g.load(records(), "append"))
                await asyncio.sleep(0)
                second.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await second
                gate.is_open.set()
                await first

    asyncio.run(work())
    assert begun == []
    check(uri, ["f1"])


def test_a_timeout_is_a_timeout_and_a_failure_meanwhile_is_not_told():
    uri, gate = place(), Gate()

    def fail(_: str) -> None:
        gate()
        raise OSError("too late to matter")

    async def work() -> None:
        async with await aio.init(uri, schema=SCHEMA) as g:
            asyncio.get_running_loop().call_later(0.04, gate.is_open.set)
            with armed({failpoints.LOAD_STAGED: Call(fail)}), pytest.raises(TimeoutError):
                await asyncio.wait_for(g.load(films("f1"), "append"), 0.02)

    asyncio.run(work())
    check(uri, [])


def test_one_of_a_group_that_fails_takes_the_others_with_it():
    uri, gate = place(), Gate()

    async def fail() -> None:
        await gate.reached()
        asyncio.get_running_loop().call_later(0.02, gate.is_open.set)
        raise KeyError

    async def work() -> None:
        async with await aio.init(uri, schema=SCHEMA) as g:
            with armed({failpoints.PUBLISH_BEFORE_SIDECAR: Call(gate)}), pytest.raises(ExceptionGroup):  # noqa: PT012
                async with asyncio.TaskGroup() as group:
                    group.create_task(g.load(films("f1"), "append"))
                    group.create_task(fail())

    asyncio.run(work())
    check(uri, [])


def test_a_graph_that_is_open_when_nobody_waits_for_it_any_more_is_closed_again(monkeypatch: pytest.MonkeyPatch):
    uri, gate, closed = place(), Gate(), list[str]()
    og.init(uri, schema=SCHEMA).close()
    genuine = Graph.__init__

    def begin(self: Graph, *given: Any, **named: Any) -> None:
        genuine(self, *given, **named)
        gate()

    monkeypatch.setattr(Graph, "__init__", begin)
    monkeypatch.setattr(MemoryAdapter, "close", lambda self: closed.append(str(self.root)))
    asyncio.run(cancel_at(gate, aio.open(uri)))
    assert closed == [uri]
