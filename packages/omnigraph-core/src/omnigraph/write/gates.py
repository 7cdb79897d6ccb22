"""Gates: writers of one process that would collide go one after the other, in the order in which they came.

    a data write     shared: the schema       exclusive: each type that it writes, on its branch
    a schema change  exclusive: the schema

Whoever asks gets all its gates at once, or waits; so there is no order in which two writers could wait for each other.
Nobody overtakes whom it collides with, so nobody starves. A thread does not wait for itself.

Gates save work and decide nothing about safety: the compare-and-swap does. So waiting has an end after which one simply
goes on, and gates of other processes do not exist.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakValueDictionary

from omnigraph.cancellation import cancellable_wait
from omnigraph.storage import StorageAdapter, queue_identity
from omnigraph.tables.processes import is_copy

LONGEST_WAIT_SECONDS: Final = 10.0
"""How long one waits for gates before going on without them."""

SCHEMA_GATE: Final = "schema"


@dataclass(frozen=True, slots=True, eq=False)
class _Request:
    """Gates that are held, or waited for."""

    shared: frozenset[str]
    exclusive: frozenset[str]
    thread: int = field(default_factory=threading.get_ident)

    def collides(self, other: _Request) -> bool:
        if self.thread == other.thread:
            return False
        return not (
            self.exclusive.isdisjoint(other.exclusive)
            and self.exclusive.isdisjoint(other.shared)
            and self.shared.isdisjoint(other.exclusive)
        )


class GateRoom:
    """The gates of one graph in this process."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        # In the order of arrival; those that collide with none before them are through.
        self._requests: list[_Request] = []

    @contextmanager
    def hold(
        self,
        *,
        exclusive: Iterable[str] = (),
        shared: Iterable[str] = (),
        seconds: float = LONGEST_WAIT_SECONDS,
    ) -> Iterator[bool]:
        """Hold gates during the block; False when they did not open within ``seconds`` and the block goes on anyway."""
        own = _Request(frozenset(shared), frozenset(exclusive))
        try:
            with self._changed:
                self._requests.append(own)
                patience = max(0.0, min(seconds, LONGEST_WAIT_SECONDS))
                is_open = cancellable_wait(patience, self._waiting_for(own))
            yield is_open
        finally:
            # A write that finds itself in a forked child is alone there, and others may have held the lock.
            if not is_copy():
                with self._changed:
                    if own in self._requests:
                        self._requests.remove(own)
                    self._changed.notify_all()

    def _waiting_for(self, own: _Request) -> Callable[[float | None], bool]:
        return lambda seconds: self._changed.wait_for(lambda: self._is_through(own), seconds)

    def waiting(self) -> int:
        """How many wait; for tests and statistics."""
        with self._changed:
            return sum(not self._is_through(each) for each in self._requests)

    def _is_through(self, own: _Request) -> bool:
        for each in self._requests:
            if each is own:
                return True
            if each.collides(own):
                return False
        return True


def type_gate(incarnation: str, table_key: str) -> str:
    """The gate of one type on one branch."""
    return f"{incarnation}/{table_key}"


class _Registry:
    """The rooms of every graph that is being written to, shared by all handles of this process."""

    def __init__(self) -> None:
        self.start()
        # A child must not wait for threads that it does not have.
        os.register_at_fork(after_in_child=self.start)

    def start(self) -> None:
        self._lock = threading.Lock()
        self._rooms: WeakValueDictionary[str, GateRoom] = WeakValueDictionary()

    def of(self, root: str) -> GateRoom:
        with self._lock:
            found = self._rooms.get(root)
            if found is None:
                found = self._rooms[root] = GateRoom()
            return found


_registry: Final = _Registry()


def gates_of(adapter: StorageAdapter) -> GateRoom:
    """The gates of a graph, for as long as somebody holds the room."""
    return _registry.of(f"{adapter.endpoint} {queue_identity(adapter.root)}")
