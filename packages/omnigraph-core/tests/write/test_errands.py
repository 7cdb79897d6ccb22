"""A call in a thread of its own is over when its context is, and gives or raises what it should."""

from __future__ import annotations

import threading
import time
from contextvars import ContextVar

import pytest

from omnigraph.write.errands import Errand


def test_the_result_is_waited_for():
    def slow() -> int:
        time.sleep(0.05)
        return threading.get_ident()

    with Errand(slow) as errand:
        pass
    assert errand.result() != threading.get_ident()


def test_the_context_ends_when_the_call_has_whatever_else_goes_wrong():
    done: list[int] = []

    def slow() -> None:
        time.sleep(0.05)
        done.append(1)

    with pytest.raises(KeyError), Errand(slow):
        raise KeyError
    assert done == [1]


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt()])
def test_what_the_call_raises_is_raised_where_its_result_is_asked_for_and_not_before(error):
    def fail() -> None:
        raise error

    with Errand(fail) as errand:
        pass
    with pytest.raises(type(error)) as caught:
        errand.result()
    assert caught.value is error


def test_it_runs_in_the_context_of_who_began_it():
    name: ContextVar[str] = ContextVar("name", default="nobody")
    name.set("ann")
    assert Errand(name.get).result() == "ann"


def test_without_another_thread_it_is_done_at_once(monkeypatch):
    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    assert Errand(threading.get_ident).result() == threading.get_ident()
