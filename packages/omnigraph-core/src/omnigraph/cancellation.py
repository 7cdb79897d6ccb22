"""Cancellation: how a call that runs in a thread learns that nobody waits for it any more.

Whoever starts the call gives it a token; the call looks at it where it can stop and leave nothing behind:

    with cancellable(token):        the caller, in the thread of the call
        graph.load(...)
            check_cancelled()       the call, between two steps
            cancellable_wait(...)   the call, instead of a wait that nothing would end
            with uncancellable():   the call, from where on stopping would leave something behind
    token.cancel()                  the caller, from any thread

The token is carried by a context variable, so nothing hands it on and calls without one pay a look at a variable.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Final

_LONGEST_LOOK_AWAY_SECONDS: Final = 0.05


class CallCancelledError(BaseException):
    """Ends a call whose caller gave it up. Like KeyboardInterrupt it is no Exception, so that nothing holds it up."""


class CancellationToken:
    """Says whether a call was given up. Once it is, it stays so."""

    __slots__ = ("_given_up",)

    def __init__(self) -> None:
        self._given_up = threading.Event()

    @property
    def is_cancelled(self) -> bool:
        return self._given_up.is_set()

    def cancel(self) -> None:
        """Tell the call; it ends at the next place where it looks. From any thread, any number of times."""
        self._given_up.set()

    def wait(self, seconds: float | None) -> bool:
        """Wait to be told, for no longer than this; whether it was."""
        return self._given_up.wait(seconds)


_token: Final[ContextVar[CancellationToken | None]] = ContextVar("omnigraph_cancellation", default=None)


@contextmanager
def cancellable(token: CancellationToken | None) -> Iterator[None]:
    """Let the block be ended by this token, and by no other."""
    before = _token.set(token)
    try:
        yield
    finally:
        _token.reset(before)


def uncancellable() -> AbstractContextManager[None]:
    """Let the block go on to its end, whoever gives it up."""
    return cancellable(None)


def check_cancelled() -> None:
    """Raise if this call was given up.

    Raises:
        CallCancelledError: it was.
    """
    token = _token.get()
    if token is not None and token.is_cancelled:
        raise CallCancelledError


def cancellable_wait(seconds: float | None, wait: Callable[[float | None], bool] | None = None) -> bool:
    """Wait for as long as the call is not given up.

    Args:
        seconds: at most; None for as long as it takes.
        wait: waits for something, at most so many seconds, and says whether it came, such as ``event.wait``. Without
            it the time is all that is waited for.

    Returns:
        Whether what was waited for came.

    Raises:
        CallCancelledError: the call was given up.
    """
    token = _token.get()
    if token is None:
        if wait is not None:
            return wait(seconds)
        time.sleep(seconds or 0)
        return False
    check_cancelled()
    if wait is None:
        token.wait(seconds)
        check_cancelled()
        return False
    end = None if seconds is None else time.monotonic() + seconds
    while True:
        # What is waited for cannot be waited for together with the token, so both are looked at in turn.
        left = _LONGEST_LOOK_AWAY_SECONDS if end is None else max(0.0, end - time.monotonic())
        if wait(min(left, _LONGEST_LOOK_AWAY_SECONDS)):
            return True
        check_cancelled()
        if end is not None and time.monotonic() >= end:
            return False
