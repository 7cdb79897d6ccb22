"""Turns: writers of one process that lost a race go one after the other, and newcomers let them go first.

A writer that has to prepare again waits for its turn; whoever begins a write meanwhile waits until nobody has one. So a
writer that lost once races only with those that were under way already, and with other processes. Politeness and no
more: nothing is wrong if somebody does not wait, and nobody waits for ever.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from weakref import WeakValueDictionary

LONGEST_WAIT_SECONDS: Final = 10.0
"""How long one waits before going on without a turn."""


class Turns:
    """Who of this process prepares again on one branch, in the order in which they came."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        # Threads; the first one has the turn.
        self._waiting: deque[int] = deque()

    def let_others_go_first(self, seconds: float = LONGEST_WAIT_SECONDS) -> None:
        """Wait while somebody else has a turn."""
        with self._changed:
            if threading.get_ident() not in self._waiting:
                self._changed.wait_for(lambda: not self._waiting, max(0.0, min(seconds, LONGEST_WAIT_SECONDS)))

    @contextmanager
    def turn(self, seconds: float = LONGEST_WAIT_SECONDS) -> Iterator[None]:
        """Have a turn during the block."""
        own = threading.get_ident()
        with self._changed:
            self._waiting.append(own)
        try:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting[0] == own, max(0.0, min(seconds, LONGEST_WAIT_SECONDS)))
            yield
        finally:
            with self._changed:
                self._waiting.remove(own)
                self._changed.notify_all()


class _Registry:
    """The turns of every branch that is being written to, shared by all handles of this process."""

    def __init__(self) -> None:
        self.start()
        # A child must not wait for threads that it does not have.
        os.register_at_fork(after_in_child=self.start)

    def start(self) -> None:
        self._lock = threading.Lock()
        self._turns: WeakValueDictionary[tuple[str, str], Turns] = WeakValueDictionary()

    def of(self, root: str, branch: str) -> Turns:
        with self._lock:
            found = self._turns.get((root, branch))
            if found is None:
                found = self._turns[root, branch] = Turns()
            return found


_registry: Final = _Registry()


def turns_of(root: str, branch: str) -> Turns:
    """The turns of a branch, for as long as somebody holds them."""
    return _registry.of(root, branch)
