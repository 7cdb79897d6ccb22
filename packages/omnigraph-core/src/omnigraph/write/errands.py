"""``Errand``: a call in a thread of its own, for a step of a write that need not wait for the one beside it.

Whoever begins an errand waits for it, whatever else goes wrong: nothing of a write goes on when the write is over.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Generic, Self, TypeVar

T = TypeVar("T")


class Errand(Generic[T]):
    """Runs a call from now on; the context ends when it has."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._future: Future[T] = Future()
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(self._run,), name="omnigraph-errand", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # No more threads for this process: it is done here, and the other step waits.
            self._run()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._future.exception()

    def result(self) -> T:
        """What the call gave, or raise what it raised; waits for it."""
        return self._future.result()

    def _run(self) -> None:
        try:
            found = self._call()
        # Whoever asks for the result gets it, whatever it is.
        except BaseException as error:  # noqa: BLE001
            self._future.set_exception(error)
        else:
            self._future.set_result(found)
