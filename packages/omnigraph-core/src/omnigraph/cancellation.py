"""Cancellation and time limits: how a call learns that it is to stop.

The caller gives a token, or a time limit, or both; the call looks at them where it can stop and leave nothing behind:

    with cancellable(token):        the caller, in the thread of the call
        graph.load(...)
            check_cancelled()       the call, between two steps
            cancellable_wait(...)   the call, instead of a wait that nothing would end
            with uncancellable():   the call, from where on stopping would leave something behind
    token.cancel()                  the caller, from any thread

    with TimeLimit(5.0, "load"):    the same for a call that may take five seconds; it ends with a DeadlineError

Both are carried by context variables, so nothing hands them on and calls without them pay a look at two variables.

A time limit also bounds how long its call asks a store that does not answer, and also in a part that is to go on to its
end: there the store gets one timeout more, and then the call ends. See ``Patience``.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Final, Self, TypeVar

from omnigraph.errors import DeadlineError, InvalidInputError

T = TypeVar("T")

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


class TimeIsOverError(CallCancelledError):
    """Ends a call whose time is over, by the same way as one that was given up.

    Attributes:
        limit: the limit that was reached; its block raises the DeadlineError.
    """

    def __init__(self, limit: TimeLimit) -> None:
        super().__init__()
        self.limit = limit


class TimeLimit:
    """How long a call may take, from when this was made; ``with`` it around the call, or around each part of it.

    A limit inside of another one does not replace it: the call ends by the one that is reached first.

    Attributes:
        seconds: None is no limit.
        step: what is under way, for the message; whoever looks may set it.
    """

    __slots__ = ("_before", "_clock", "_ends", "_help", "_started", "_verb", "outer", "seconds", "step")

    def __init__(
        self,
        seconds: float | None,
        verb: str,
        *,
        step: str | None = None,
        help: str | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """Start the time.

        Args:
            seconds: how long the call may take.
            verb: what users call it.
            step: what is under way at first.
            help: the next move of the caller, where it is not the usual one.
            clock: gives the time in seconds; for tests.

        Raises:
            InvalidInputError: the number is negative or not a number.
        """
        is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool) and not math.isnan(seconds)
        if seconds is not None and not (is_number and seconds >= 0):
            raise InvalidInputError(
                f"{seconds!r} is not a deadline.", help="Give a number of seconds that is not negative, or None."
            )
        self.seconds = seconds
        self.step = step or verb
        self.outer: TimeLimit | None = None
        self._verb = verb
        self._help = help or f"Give the {verb} more time: deadline=SECONDS, or --deadline SECONDS on the command line."
        self._clock = clock
        self._started = self._now()
        self._ends = None if seconds is None else time.monotonic() + seconds
        self._before: list[tuple[TimeLimit | None, Patience | None]] = []

    def __enter__(self) -> Self:
        before = _limit.get()
        self._before.append((before, _patience.get()))
        if self.seconds is not None and before is not self:
            self.outer = before
            _limit.set(self)
        _patience.set(Patience.until(self._ends))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        limit, patience = self._before.pop()
        _limit.set(limit)
        _patience.set(patience)
        if isinstance(error, TimeIsOverError) and error.limit is self:
            raise self.error() from None

    @property
    def seconds_left(self) -> float | None:
        """The time until the deadline, not below zero; None without one."""
        return None if self.seconds is None else max(0.0, self.seconds - (self._now() - self._started))

    @property
    def is_over(self) -> bool:
        return self.seconds is not None and self._now() - self._started >= self.seconds

    def error(self) -> DeadlineError:
        """What the caller gets when the time is over."""
        seconds = self.seconds or 0.0
        step = "" if self.step == self._verb else f", in {self.step}"
        return DeadlineError(
            f"The {self._verb} took longer than its deadline of {seconds:g} s{step}.",
            deadline=seconds,
            operator=self.step,
            help=self._help,
        )

    def each(self, values: Iterable[T]) -> Iterator[T]:
        """The values, each made within the limit; the time in between counts too.

        Raises:
            DeadlineError: while iterating, when the time is over.
        """
        source = iter(values)
        while True:
            with self:
                check_cancelled()
                try:
                    value = next(source)
                except StopIteration:
                    return
            yield value

    def _now(self) -> float:
        return time.monotonic() if self._clock is None else self._clock()


class Patience:
    """How long a call goes on asking a store; threads that work for the call share it.

    A request may last until one timeout after the end of the call's time. Once a request was given up, those after it
    may take one timeout together, until one of them is answered. What comes later is not asked at all.

    Attributes:
        ends: when the time of the call is over, on the monotonic clock; None is no bound.
        waited: for how many seconds requests were waited for in vain since the first that was given up; None while the
            store answers.
    """

    __slots__ = ("ends", "waited")

    def __init__(self, ends: float | None = None, waited: float | None = None) -> None:
        self.ends = ends
        self.waited = waited

    @classmethod
    def until(cls, ends: float | None) -> Patience:
        """The patience of a call that may take until then, inside of the one that is under way."""
        outer = _patience.get()
        if outer is None:
            return cls(ends)
        if ends is None or (outer.ends is not None and outer.ends <= ends):
            return outer
        return cls(ends, outer.waited)

    def seconds_left(self, timeout: float) -> float | None:
        """How long a request of a store with this timeout may take; zero when it is not to be sent, None: no bound."""
        bounds = []
        if self.ends is not None:
            bounds.append(self.ends + timeout - time.monotonic())
        if self.waited is not None:
            bounds.append(timeout - self.waited)
        return max(0.0, min(bounds)) if bounds else None


_token: Final[ContextVar[CancellationToken | None]] = ContextVar("omnigraph_cancellation", default=None)
_limit: Final[ContextVar[TimeLimit | None]] = ContextVar("omnigraph_time_limit", default=None)
_patience: Final[ContextVar[Patience | None]] = ContextVar("omnigraph_patience", default=None)


@contextmanager
def patient() -> Iterator[None]:
    """Let the block end soon once a store is silent, also where nobody set a time limit."""
    before = _patience.get()
    _patience.set(Patience.until(None))
    try:
        yield
    finally:
        _patience.set(before)


def patience() -> Patience | None:
    """The patience of this call; None where nobody waits for it."""
    return _patience.get()


@contextmanager
def cancellable(token: CancellationToken | None) -> Iterator[None]:
    """Let the block be ended by this token, and by no other."""
    before = _token.set(token)
    try:
        yield
    finally:
        _token.reset(before)


@contextmanager
def uncancellable() -> Iterator[None]:
    """Let the block go on to its end, whoever gives it up and however long it takes."""
    before = _limit.set(None)
    try:
        with cancellable(None):
            yield
    finally:
        _limit.reset(before)


def check_cancelled() -> None:
    """Raise if this call was given up, or its time is over.

    Raises:
        CallCancelledError: it was.
        TimeIsOverError: it is.
    """
    token = _token.get()
    if token is not None and token.is_cancelled:
        raise CallCancelledError
    limit = _limit.get()
    if limit is not None:
        _check_limits(limit)


def _check_limits(innermost: TimeLimit) -> None:
    limit: TimeLimit | None = innermost
    while limit is not None:
        if limit.is_over:
            raise TimeIsOverError(limit)
        limit = limit.outer


def checker() -> Callable[[], None]:
    """``check_cancelled`` of this call, for code of it that a thread of a library runs, where no context arrives."""
    token, limit = _token.get(), _limit.get()

    def check() -> None:
        if token is not None and token.is_cancelled:
            raise CallCancelledError
        if limit is not None:
            _check_limits(limit)

    return check


def cancellable_wait(seconds: float | None, wait: Callable[[float | None], bool] | None = None) -> bool:
    """Wait for as long as the call is not given up and has time.

    Args:
        seconds: at most; None for as long as it takes.
        wait: waits for something, at most so many seconds, and says whether it came, such as ``event.wait``. Without
            it the time is all that is waited for.

    Returns:
        Whether what was waited for came.

    Raises:
        CallCancelledError: the call was given up, or its time is over.
    """
    token, limit = _token.get(), _limit.get()
    if token is None and limit is None:
        if wait is not None:
            return wait(seconds)
        time.sleep(seconds or 0)
        return False
    check_cancelled()
    end = None if seconds is None else time.monotonic() + seconds
    ask = wait or _sleep
    while True:
        # What is waited for cannot be waited for together with the token, so both are looked at in turn.
        left = _LONGEST_LOOK_AWAY_SECONDS if end is None else max(0.0, end - time.monotonic())
        if ask(min(left, _LONGEST_LOOK_AWAY_SECONDS)):
            return True
        check_cancelled()
        if end is not None and time.monotonic() >= end:
            return False


def _sleep(seconds: float | None) -> bool:
    time.sleep(seconds or 0)
    return False
