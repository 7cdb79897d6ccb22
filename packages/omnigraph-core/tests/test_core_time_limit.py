"""A call with a time limit ends where it looks, with an error that names the limit; what may not be cut off goes on."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest

from omnigraph.cancellation import (
    CallCancelledError,
    CancellationToken,
    TimeIsOverError,
    TimeLimit,
    cancellable,
    cancellable_wait,
    check_cancelled,
    checker,
    uncancellable,
)
from omnigraph.errors import DeadlineError, ErrorKind, InvalidInputError
from omnigraph.write.gates import GateRoom

FOR_EVER = 3_600.0


def counting() -> Callable[[], float]:
    ticks = count()
    return lambda: float(next(ticks))


def test_a_call_ends_at_the_first_look_after_its_time():
    reached: list[int] = []

    def load() -> None:
        for each in range(10):
            check_cancelled()
            reached.append(each)

    with pytest.raises(DeadlineError) as told, TimeLimit(3, "load", clock=counting()):
        load()
    error = told.value
    assert reached == [0, 1]
    assert (error.kind, error.deadline, error.operator) == (ErrorKind.DEADLINE, 3, "load")
    assert "load" in error.message
    assert "deadline=" in str(error.help)


def test_no_limit_is_never_reached():
    with TimeLimit(None, "load", clock=lambda: math.inf):
        check_cancelled()


@pytest.mark.parametrize("seconds", [-1, math.nan, "5", True])
def test_what_is_not_a_number_of_seconds_is_refused(seconds: Any):
    with pytest.raises(InvalidInputError, match="not a deadline"):
        TimeLimit(seconds, "load")


def test_no_handler_of_errors_holds_it_up():
    def stubborn() -> None:
        try:
            check_cancelled()
        except Exception:  # noqa: BLE001
            pytest.fail("it was taken for an error")

    with pytest.raises(DeadlineError), TimeLimit(0, "load"):
        stubborn()


def test_the_limit_ends_with_its_block():
    with pytest.raises(DeadlineError), TimeLimit(0, "load"):
        check_cancelled()
    check_cancelled()


def test_of_two_limits_the_one_that_is_reached_first_ends_the_call_and_is_named():
    with TimeLimit(FOR_EVER, "merge"), pytest.raises(DeadlineError) as told, TimeLimit(0, "query"):
        check_cancelled()
    assert told.value.operator == "query"
    with pytest.raises(DeadlineError) as told, TimeLimit(0, "merge"), TimeLimit(FOR_EVER, "query"):
        check_cancelled()
    assert told.value.operator == "merge"
    with pytest.raises(DeadlineError), TimeLimit(0, "merge"), TimeLimit(None, "query"):
        check_cancelled()


def test_what_may_not_be_cut_off_goes_on_to_its_end():
    def publish() -> None:
        with uncancellable():
            check_cancelled()
            assert cancellable_wait(0) is False
            checker()()
        check_cancelled()
        pytest.fail("it went on after the block")

    with pytest.raises(DeadlineError), TimeLimit(0, "load"):
        publish()


def test_a_call_that_is_given_up_before_its_time_is_cancelled():
    token = CancellationToken()
    token.cancel()
    with cancellable(token), pytest.raises(CallCancelledError) as told, TimeLimit(FOR_EVER, "load"):
        check_cancelled()
    assert not isinstance(told.value, TimeIsOverError)


@pytest.mark.parametrize(
    ("seconds", "wait"),
    [(FOR_EVER, None), (FOR_EVER, threading.Event().wait), (None, threading.Event().wait)],
    ids=["time", "event", "event without bound"],
)
def test_a_wait_ends_with_the_time_of_the_call(seconds: float | None, wait: Any):
    with pytest.raises(DeadlineError), TimeLimit(0.02, "load"):
        cancellable_wait(seconds, wait)


def test_who_waits_for_a_gate_leaves_it_when_the_time_is_over():
    room, is_held, may_go = GateRoom(), threading.Event(), threading.Event()

    def hold() -> None:
        with room.hold(exclusive=["a"]):
            is_held.set()
            assert may_go.wait(60)

    with ThreadPoolExecutor(1) as threads:
        holding = threads.submit(hold)
        assert is_held.wait(60)
        with pytest.raises(DeadlineError), TimeLimit(0.02, "load"), room.hold(exclusive=["a"], seconds=FOR_EVER):
            pytest.fail("it was let through")
        assert room.waiting() == 0
        may_go.set()
        holding.result()


def test_a_thread_of_a_library_looks_at_the_limit_of_the_call_that_it_works_for():
    with ThreadPoolExecutor(1) as threads, TimeLimit(0, "load") as limit:
        with pytest.raises(TimeIsOverError) as told:
            threads.submit(checker()).result()
        assert told.value.limit is limit
        threads.submit(check_cancelled).result()


def test_values_are_made_within_the_limit_and_used_outside_of_it():
    limit = TimeLimit(3, "export", clock=counting())
    values = limit.each(range(10))
    assert [next(values), next(values)] == [0, 1]
    with pytest.raises(DeadlineError):
        next(values)
    assert [*TimeLimit(None, "export").each("ab")] == ["a", "b"]
