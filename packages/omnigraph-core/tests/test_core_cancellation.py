"""A call that is given up ends where it looks, and goes on where it may not end; one without a token is as ever."""

from __future__ import annotations

import socket
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import pytest

from omnigraph.cancellation import (
    CallCancelledError,
    CancellationToken,
    cancellable,
    cancellable_wait,
    check_cancelled,
    uncancellable,
)
from omnigraph.embedding.exchange import exchange
from omnigraph.engine.budget import QueryBudget, Spending
from omnigraph.engine.memory import Memory
from omnigraph.plugins import open_adapter
from omnigraph.write.deadlines import Deadline, pause
from omnigraph.write.gates import GateRoom
from omnigraph.write.line import WAITING_PREFIX, stand_in_line

FOR_EVER = 3_600.0


@pytest.fixture
def token() -> CancellationToken:
    return CancellationToken()


def given_up_soon(token: CancellationToken) -> None:
    threading.Timer(0.02, token.cancel).start()


def test_nothing_is_given_up_without_a_token():
    check_cancelled()
    assert cancellable_wait(0) is False
    assert cancellable_wait(FOR_EVER, lambda seconds: seconds == FOR_EVER) is True
    assert cancellable_wait(0.001, threading.Event().wait) is False


def test_a_call_goes_on_until_it_is_given_up(token: CancellationToken):
    with cancellable(token):
        check_cancelled()
        assert not token.is_cancelled
        token.cancel()
        token.cancel()
        with pytest.raises(CallCancelledError):
            check_cancelled()
    check_cancelled()


def test_no_handler_of_errors_holds_it_up(token: CancellationToken):
    token.cancel()

    def stubborn() -> None:
        try:
            check_cancelled()
        except Exception:  # noqa: BLE001
            pytest.fail("it was taken for an error")

    with cancellable(token), pytest.raises(CallCancelledError):
        stubborn()


def test_what_may_not_be_cut_off_goes_on_to_its_end(token: CancellationToken):
    token.cancel()
    with cancellable(token):
        with uncancellable():
            check_cancelled()
            assert cancellable_wait(0) is False
        with pytest.raises(CallCancelledError):
            check_cancelled()


def test_a_token_belongs_to_one_call_and_not_to_its_neighbours(token: CancellationToken):
    token.cancel()
    with cancellable(token), ThreadPoolExecutor(1) as threads:
        threads.submit(check_cancelled).result()
        with pytest.raises(CallCancelledError):
            threads.submit(copy_context().run, check_cancelled).result()


# ── waiting ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("seconds", "wait"),
    [(FOR_EVER, None), (FOR_EVER, threading.Event().wait), (None, threading.Event().wait)],
    ids=["time", "event", "event without bound"],
)
def test_a_wait_ends_when_the_call_is_given_up(token: CancellationToken, seconds: float | None, wait: Any):
    given_up_soon(token)
    with cancellable(token), pytest.raises(CallCancelledError):
        cancellable_wait(seconds, wait)


def test_a_wait_of_a_call_that_goes_on_ends_with_what_it_is_for_or_with_its_time(token: CancellationToken):
    came = threading.Event()
    came.set()
    with cancellable(token):
        assert cancellable_wait(FOR_EVER, came.wait) is True
        assert cancellable_wait(None, came.wait) is True
        assert cancellable_wait(0.001, threading.Event().wait) is False
        assert cancellable_wait(0.001) is False


def test_a_wait_of_a_call_that_was_given_up_before_does_not_begin(token: CancellationToken):
    token.cancel()
    asked: list[object] = []
    with cancellable(token), pytest.raises(CallCancelledError):
        cancellable_wait(FOR_EVER, lambda seconds: bool(asked.append(seconds)))
    assert asked == []


# ── who looks ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_query_looks_wherever_it_looks_at_the_clock(token: CancellationToken):
    spending = Spending(QueryBudget(deadline=None))
    token.cancel()
    with cancellable(token):
        for look in (
            lambda: spending.check_time("Sort"),
            lambda: spending.check_rows("Sort", 1),
            lambda: spending.check_bytes("Sort", 1),
            lambda: spending.check_frontier("Expand", 1),
        ):
            with pytest.raises(CallCancelledError):
                look()


def test_a_writer_looks_before_each_attempt(token: CancellationToken):
    token.cancel()
    with cancellable(token):
        with pytest.raises(CallCancelledError):
            pause(1)
        with pytest.raises(CallCancelledError):
            Deadline().wait("finish")


def test_who_waits_for_a_gate_need_not_wait_and_is_in_nobodys_way(token: CancellationToken):
    room, is_held, may_go = GateRoom(), threading.Event(), threading.Event()

    def hold() -> None:
        with room.hold(exclusive=["a"]):
            is_held.set()
            assert may_go.wait(60)

    with ThreadPoolExecutor(1) as threads:
        holding = threads.submit(hold)
        assert is_held.wait(60)
        given_up_soon(token)
        with cancellable(token), pytest.raises(CallCancelledError), room.hold(exclusive=["a"]):
            pytest.fail("it was let through")
        assert room.waiting() == 0
        may_go.set()
        holding.result()


def test_who_stands_in_line_leaves_it_with_the_ticket(token: CancellationToken, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("omnigraph.write.line.PATIENCE_SECONDS", FOR_EVER)
    adapter = open_adapter(f"memory://line-{uuid.uuid4().hex}")
    line = adapter.key(f"{WAITING_PREFIX}/main")
    with stand_in_line(adapter, "main", Deadline()):
        first = adapter.list_dir(line)
        given_up_soon(token)
        with cancellable(token), pytest.raises(CallCancelledError), stand_in_line(adapter, "main", Deadline()):
            pytest.fail("it was let through")
        assert adapter.list_dir(line) == first
    assert adapter.list_dir(line) == ()


def test_who_waits_for_what_another_query_builds_need_not_wait(token: CancellationToken):
    memory, is_building, is_built = Memory(1_000), threading.Event(), threading.Event()

    def build() -> int:
        is_building.set()
        assert is_built.wait(60)
        return 7

    with ThreadPoolExecutor(1) as threads:
        building = threads.submit(memory.get_or_build, "types", "a", build, lambda _: 1)
        assert is_building.wait(60)
        given_up_soon(token)
        with cancellable(token), pytest.raises(CallCancelledError):
            memory.get_or_build("types", "a", lambda: 8, lambda _: 1)
        is_built.set()
        assert building.result() == 7


def test_who_waits_for_an_embedder_need_not_wait(token: CancellationToken):
    with socket.create_server(("127.0.0.1", 0)) as silent, cancellable(token):
        given_up_soon(token)
        with pytest.raises(CallCancelledError):
            exchange(f"http://127.0.0.1:{silent.getsockname()[1]}/", headers={}, body=b"", seconds=FOR_EVER)
