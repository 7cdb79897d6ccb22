"""Calls of Lance on a store with a server are waited for, and no longer than their caller may wait."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from omnigraph.cancellation import TimeLimit, patience, patient, uncancellable
from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import (
    StoreSilentError,
    note_answer,
    note_silence,
    parse_uri,
    seconds_to_wait,
)
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.tables.native_calls import each_waited_for, wait_for

TIMEOUT = 0.1


class WithServer(MemoryAdapter):
    """A store of which it is said that it has a server."""

    timeout_seconds = TIMEOUT


@pytest.fixture
def adapter() -> WithServer:
    return WithServer(parse_uri("memory://native-calls"))


@pytest.fixture
def stuck() -> Iterator[threading.Event]:
    """Waits until the test is over, as a server does that never answers."""
    event = threading.Event()
    yield event
    event.set()


def ask(adapter: MemoryAdapter, stuck: threading.Event, *, is_brief: bool = False) -> None:
    wait_for(adapter, "read", stuck.wait, is_brief=is_brief)


def test_a_call_is_given_up_one_timeout_after_the_deadline(adapter: WithServer, stuck: threading.Event):
    with TimeLimit(0.05, "query"), pytest.raises(StorageError, match="did not answer in time") as caught:
        ask(adapter, stuck)
    assert caught.value.condition is StorageCondition.TRANSIENT
    assert caught.value.details["verb"] == "read"


def test_what_may_not_be_cancelled_is_given_up_as_well(adapter: WithServer, stuck: threading.Event):
    with TimeLimit(0.05, "load"), uncancellable(), pytest.raises(StorageError):
        ask(adapter, stuck)


def test_a_brief_call_is_given_up_without_a_deadline(adapter: WithServer, stuck: threading.Event):
    with pytest.raises(StorageError):
        ask(adapter, stuck, is_brief=True)


def test_after_one_call_was_given_up_the_others_share_a_timeout(adapter: WithServer, stuck: threading.Event):
    with patient():
        with pytest.raises(StorageError):
            ask(adapter, stuck, is_brief=True)
        with pytest.raises(StorageError):
            ask(adapter, stuck)
        asked: list[int] = []
        with pytest.raises(StorageError):
            wait_for(adapter, "read", lambda: asked.append(1))
        assert asked == []


def test_an_answer_ends_the_silence(adapter: WithServer, stuck: threading.Event):
    with patient():
        with pytest.raises(StorageError):
            ask(adapter, stuck, is_brief=True)
        assert wait_for(adapter, "read", lambda: "an answer") == "an answer"
        known = patience()
        assert known is not None
        assert known.waited is None


def test_an_error_of_the_call_is_raised_as_it_is(adapter: WithServer):
    class OwnError(Exception):
        pass

    def fail() -> None:
        raise OwnError

    with TimeLimit(5, "query"), pytest.raises(OwnError):
        wait_for(adapter, "read", fail)


def test_without_a_server_a_call_runs_in_the_thread_of_its_caller():
    with TimeLimit(5, "query"):
        found = wait_for(MemoryAdapter(parse_uri("memory://here")), "read", threading.current_thread, is_brief=True)
    assert found is threading.current_thread()


def test_threads_are_used_again(adapter: WithServer):
    with TimeLimit(5, "query"):
        found = {wait_for(adapter, "read", threading.get_ident, is_brief=True) for _ in range(50)}
    assert len(found) < 5
    assert threading.get_ident() not in found


def test_a_call_within_a_call_stays_in_its_thread(adapter: WithServer):
    def outer() -> bool:
        return wait_for(adapter, "read", threading.get_ident) == threading.get_ident()

    with TimeLimit(5, "query"):
        assert wait_for(adapter, "read", outer)


def test_each_value_of_a_stream_is_waited_for(adapter: WithServer, stuck: threading.Event):
    def values() -> Iterator[int]:
        yield 1
        stuck.wait()
        yield 2

    with TimeLimit(0.05, "query"):
        stream = wait_for(adapter, "read", lambda: each_waited_for(values()))
        assert next(stream) == 1
        with pytest.raises(StorageError):
            next(stream)


def test_nothing_is_sent_when_the_time_is_over():
    with patient():
        note_silence(0.05)
        assert seconds_to_wait(TIMEOUT) == pytest.approx(TIMEOUT)
        note_silence(0.06)
        assert seconds_to_wait(TIMEOUT) == pytest.approx(TIMEOUT - 0.06)
        note_silence(TIMEOUT)
        with pytest.raises(StoreSilentError):
            seconds_to_wait(TIMEOUT)
        note_answer()
        assert seconds_to_wait(TIMEOUT) is None


def test_an_inner_limit_does_not_lengthen_an_outer_one():
    with TimeLimit(1, "load"), TimeLimit(1000, "query"):
        left = seconds_to_wait(TIMEOUT)
        assert left is not None
        assert left <= 1 + TIMEOUT
    assert patience() is None
