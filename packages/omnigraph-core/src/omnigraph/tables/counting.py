"""Counting what is asked of Lance, so that tests hold a cost and not a time.

Each function that opens, reads, stages or commits calls ``note(name)``. A test installs a counter for a while:

    with count_table_calls() as counts:
        graph.load(rows)
    assert counts["open"] == 1

Without one, ``note`` looks at an empty tuple.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final


class TableCounts(Counter[str]):
    """Calls by name. Threads of the process share it: what they do meanwhile is counted too."""

    def __init__(self) -> None:
        super().__init__()
        self.renew_lock()

    def renew_lock(self) -> None:
        """A forked child does not have the thread that may hold the lock."""
        self._lock = threading.Lock()

    def add(self, name: str) -> None:
        """Count one call."""
        with self._lock:
            self[name] += 1


class _Installed:
    """The counters of this process, replaced as a whole, so that ``note`` needs no lock."""

    def __init__(self) -> None:
        self.counters: tuple[TableCounts, ...] = ()
        self.renew_locks()

    def renew_locks(self) -> None:
        self.lock = threading.Lock()
        for each in self.counters:
            each.renew_lock()


_installed: Final = _Installed()
os.register_at_fork(after_in_child=_installed.renew_locks)


def note(name: str) -> None:
    """Count one call by every installed counter."""
    for counts in _installed.counters:
        counts.add(name)


@contextmanager
def count_table_calls() -> Iterator[TableCounts]:
    """Count the calls of the whole process while the block runs; blocks may nest."""
    counts = TableCounts()
    with _installed.lock:
        _installed.counters = (*_installed.counters, counts)
    try:
        yield counts
    finally:
        with _installed.lock:
            _installed.counters = tuple(each for each in _installed.counters if each is not counts)
