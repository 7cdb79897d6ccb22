"""``Lifetime``: whether a handle is open, and how many calls on it are under way.

Closing never takes anything away from a call that is under way in another thread: it goes on to its end, and whoever
leaves last lets go of connections. Calls that begin after the close are refused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TypeVar

from omnigraph.errors import ClosedError
from omnigraph.tables.processes import is_copy, refuse_copy

T = TypeVar("T")


class Lifetime:
    """The time in which a handle may be used; ``with`` it for the length of a call. Safe to share between threads.

    In a process that was forked from the one that opened the handle no call begins and none of what the parent holds
    is let go of. No lock is taken there either: a thread that does not exist may hold it.
    """

    def __init__(self, uri: str, *, on_failure: Callable[[BaseException], None] = lambda _error: None) -> None:
        """``on_failure`` is told of each call that failed, and may raise what tells more."""
        self._uri = uri
        self._on_failure = on_failure
        self._lock = threading.Lock()
        self._calls = 0
        self._is_closed = False
        self._release: Callable[[], None] | None = None

    def __enter__(self) -> None:
        refuse_copy(self._uri)
        with self._lock:
            self.check()
            self._calls += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if is_copy():
            return
        try:
            if error is not None:
                self._on_failure(error)
        finally:
            with self._lock:
                self._calls -= 1
                release = self._take_release()
            if release is not None:
                release()

    def check(self) -> None:
        """Raise where a call would be refused.

        Raises:
            ClosedError: the handle was closed.
            ForkedProcessError: it cannot be used in this process.
        """
        refuse_copy(self._uri)
        self.check_open()

    def check_open(self) -> None:
        """Raise if the handle was closed.

        Raises:
            ClosedError: it was.
        """
        if self._is_closed:
            raise ClosedError(
                f"The graph {self._uri} was closed.",
                help=f'Open it again: omnigraph.open("{self._uri}").',
                details={"uri": self._uri},
            )

    def close(self, release: Callable[[], None]) -> None:
        """Refuse every further call. ``release`` is called once, when no call is under way any more; maybe now."""
        if is_copy():
            self._is_closed = True
            return
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            self._release = release
            due = self._take_release()
        if due is not None:
            due()

    def each(self, values: Iterable[T]) -> Iterator[T]:
        """The values, each made in a call of its own: one that is asked for after the close is refused."""
        source = iter(values)
        while True:
            with self:
                try:
                    value = next(source)
                except StopIteration:
                    return
            yield value

    def each_of(self, parts: Iterable[Iterable[T]]) -> Iterator[T]:
        """The values of parts, each part made in a call of its own: after the close there are no more values."""
        for part in self.each(parts):
            for value in part:
                self.check()
                yield value

    def _take_release(self) -> Callable[[], None] | None:
        if self._calls or self._release is None:
            return None
        release, self._release = self._release, None
        return release
