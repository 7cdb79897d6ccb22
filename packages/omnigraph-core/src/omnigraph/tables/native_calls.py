"""The door to calls of Lance that wait for a server: how long a call waits for them, and what it says when it stops.

Lance gives up a request after the timeouts of its storage options, and then asks again: a listing six times, a body
four times. No option ends that, and nothing ends a call of Lance from outside. So where a store has a server, a call of
Lance runs in a thread of its own, and whoever asked for it waits no longer than it may:

    @waits("open")      until one timeout after the deadline, or after the store fell silent

A call that nobody waits for any more goes on until Lance ends it. What it asks for through the adapter meanwhile is
refused. What it still does is what a request does whose answer was lost, and it is told in the same way: as a transient
failure, of which nobody knows whether it had an effect. The protocol of writes holds for both.
"""

from __future__ import annotations

import contextvars
import functools
import math
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotDoneError
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import StorageAdapter, StoreSilentError, note_answer, note_silence, seconds_to_wait, silence
from omnigraph.tables.processes import is_copy

BRIEF_TIMEOUTS: Final = 2
"""A call that sends few small requests is given up after so many timeouts, also where nobody set a deadline."""

_IDLE_SECONDS: Final = 10.0
_END: Final = object()

P = ParamSpec("P")
T = TypeVar("T")


S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class _Store:
    """The store that calls of this context ask.

    Attributes:
        timeout: of its requests.
        is_inside: this is the thread that somebody waits for.
    """

    uri: str
    timeout: float
    is_inside: bool


_store: Final[ContextVar[_Store | None]] = ContextVar("omnigraph_native_store", default=None)


def waits(
    doing: str, *, is_brief: bool = False
) -> Callable[[Callable[Concatenate[S, P], T]], Callable[Concatenate[S, P], T]]:
    """Let a method be waited for no longer than its caller may wait for the store of ``self.adapter``.

    Args:
        doing: a verb such as ``"read"``, for the message.
        is_brief: it sends few small requests.
    """

    def decorate(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
        @functools.wraps(method)
        def bounded(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
            call = functools.partial(method, self, *args, **kwargs)
            return wait_for(_adapter_of(self), doing, call, is_brief=is_brief)

        return bounded

    return decorate


def wait_for(adapter: StorageAdapter, doing: str, call: Callable[[], T], *, is_brief: bool = False) -> T:
    """What a call gives that asks a store through Lance; waits no longer than the caller may. See ``waits``.

    Raises:
        StorageError: condition ``transient``: the store did not answer in time; nobody knows what the call still does.
    """
    timeout = adapter.timeout_seconds
    before = _store.get()
    if timeout is None or (before is not None and before.is_inside):
        return call()
    store = _Store(str(adapter.root), timeout, is_inside=True)
    _store.set(store)
    try:
        return _wait(call, store, doing, is_brief=is_brief)
    finally:
        _store.set(before)


def _adapter_of(holder: Any) -> StorageAdapter:
    found: StorageAdapter = holder.adapter if hasattr(holder, "adapter") else holder._adapter  # noqa: SLF001
    return found


def each_waited_for(values: Iterable[T]) -> Iterator[T]:
    """The values, each waited for as long as whoever asks for it may wait; for what a ``waits`` method gives out."""
    store = _store.get()
    return iter(values) if store is None else _each(iter(values), store)


def _each(source: Iterator[T], store: _Store) -> Iterator[T]:
    while True:
        known = _store.get()
        if known is not None and known.is_inside:
            value = next(source, _END)
        else:
            value = _wait(lambda: next(source, _END), store, "read", is_brief=False)
        if value is _END:
            return
        yield value  # type: ignore[misc]


def _wait(call: Callable[[], T], store: _Store, doing: str, *, is_brief: bool) -> T:
    try:
        left = seconds_to_wait(store.timeout)
    except StoreSilentError as error:
        raise _silent(store, doing) from error
    if is_brief:
        left = min(math.inf if left is None else left, BRIEF_TIMEOUTS * store.timeout)
    if left is None:
        return _judged(call)
    future: Future[T] = Future()
    context = contextvars.copy_context()
    _workers.give(lambda: context.run(_fulfil, future, call))
    try:
        return _judged(lambda: future.result(left))
    except NotDoneError as error:
        if future.done():
            return _judged(future.result)
        note_silence(left)
        raise _silent(store, doing) from error


def _judged(call: Callable[[], T]) -> T:
    """What the call gives; how it ends says whether the store answers."""
    began, noted = time.monotonic(), silence()
    try:
        found = call()
    except StorageError as error:
        if error.condition is StorageCondition.TRANSIENT:
            # A request that the adapter sent meanwhile may have said it already.
            if silence() == noted:
                note_silence(time.monotonic() - began)
        else:
            note_answer()
        raise
    note_answer()
    return found


def _fulfil(future: Future[T], call: Callable[[], T]) -> None:
    try:
        found = call()
    # Whoever waits for it gets it, whatever it is.
    except BaseException as error:  # noqa: BLE001
        future.set_exception(error)
    else:
        future.set_result(found)


def _silent(store: _Store, doing: str) -> StorageError:
    return StorageError(
        f"Could not {doing} {store.uri}: the store did not answer in time.",
        condition=StorageCondition.TRANSIENT,
        uri=store.uri,
        help="Check that the store is up and reachable, then repeat the operation, or give it more time.",
        details={"verb": doing, "timeout_seconds": store.timeout},
    )


class _Workers:
    """Threads that run one call at a time, each kept for a while after it. Safe to share between threads.

    They are no part of a process that was forked from this one, where nothing is asked of Lance anyway.
    """

    def __init__(self) -> None:
        self._idle: deque[queue.SimpleQueue[Callable[[], Any]]] = deque()

    def give(self, call: Callable[[], object]) -> None:
        """Run a call in a thread that is free, or in a new one; here, if there are no more threads."""
        with suppress(IndexError):
            if not is_copy():
                self._idle.pop().put(call)
                return
        calls: queue.SimpleQueue[Callable[[], Any]] = queue.SimpleQueue()
        thread = threading.Thread(target=self._work, args=(calls,), name="omnigraph-lance", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            call()
            return
        calls.put(call)

    def _work(self, calls: queue.SimpleQueue[Callable[[], Any]]) -> None:
        while True:
            try:
                call = calls.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                try:
                    self._idle.remove(calls)
                except ValueError:
                    # It was just taken, and a call is on its way.
                    call = calls.get()
                else:
                    return
            call()
            # What was asked for, and what it holds, ends here and not with the next call.
            del call
            self._idle.append(calls)


_workers: Final = _Workers()
