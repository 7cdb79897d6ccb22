"""``CallThreads``: calls that block, awaited; each in a thread, and none left behind by whoever stops waiting for it.

    await run(call) ──> a thread makes the call ──> its result, or what it raised
         │ cancelled
         └──> the call is told ──> it ends at its next safe place ──> CancelledError

The await ends when the call has ended and not before, so nothing happens behind the back of a task that was cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Final, TypeVar

from omnigraph.cancellation import CancellationToken, cancellable
from omnigraph.errors import InvalidInputError

T = TypeVar("T")

THREADS: Final = 8
"""How many calls of one graph run at a time, where the caller does not say."""


class CallThreads:
    """A bounded number of threads, started as they are needed.

    Each graph has its own: calls on one that is slow are in the way of no other, and closing has only its own calls to
    wait for.
    """

    def __init__(self, count: int = THREADS) -> None:
        if count < 1:
            raise InvalidInputError(f"{count} is no number of threads.", help="Give 1 or more, or leave it out.")
        self._executor = ThreadPoolExecutor(count, thread_name_prefix="omnigraph-aio")

    async def run(self, call: Callable[[], T], *, undo: Callable[[T], None] | None = None) -> T:
        """What the call returns; it runs in a thread, with the context variables of the task.

        A call for which no thread is free waits, and never begins if it is given up meanwhile. ``undo`` is called with
        the result of a call that was given up too late to stop.

        Raises:
            CancelledError: the task was cancelled; the call has ended.
            Exception: what the call raised.
        """
        token = CancellationToken()
        begun = self._executor.submit(copy_context().run, _under, token, call)
        made = asyncio.wrap_future(begun)
        try:
            await asyncio.wait([made])
        except asyncio.CancelledError:
            token.cancel()
            begun.cancel()
            await _ended(made)
            is_too_late = not made.cancelled() and made.exception() is None
            if undo is not None and is_too_late:
                await _ended(asyncio.wrap_future(self._executor.submit(undo, made.result())))
            raise
        return made.result()

    async def close(self, last: Callable[[], None] = lambda: None) -> None:
        """Wait for every call that was begun, then for ``last``; whoever stops waiting waits nevertheless."""

        def end() -> None:
            self._executor.shutdown(wait=True)
            last()

        ending = asyncio.ensure_future(asyncio.to_thread(end))
        try:
            await asyncio.wait([ending])
        except asyncio.CancelledError:
            await _ended(ending)
            raise
        ending.result()


def _under(token: CancellationToken, call: Callable[[], T]) -> T:
    with cancellable(token):
        try:
            return call()
        except StopIteration as error:
            # No future takes one: whoever awaited it would wait for ever.
            raise RuntimeError("the call raised StopIteration") from error


async def _ended(future: asyncio.Future[T]) -> None:
    """Wait until it has ended, however often the task is cancelled meanwhile; what it gives is not looked at."""
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:
            continue
