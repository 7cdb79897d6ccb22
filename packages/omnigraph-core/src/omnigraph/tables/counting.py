"""Counting what is asked of Lance, so that tests hold a cost and not a time.

Each function that opens, reads, stages or commits calls ``note(name)``. A test installs a counter for a while:

    with count_table_calls() as counts:
        graph.load(rows)
    assert counts["open"] == 1

Without one, ``note`` looks at an empty tuple.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class TableCounts(Counter[str]):
    """Calls by name. Threads of the process share it: what they do meanwhile is counted too."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def add(self, name: str) -> None:
        """Count one call."""
        with self._lock:
            self[name] += 1


_installed: tuple[TableCounts, ...] = ()
_change = threading.Lock()


def note(name: str) -> None:
    """Count one call by every installed counter."""
    for counts in _installed:
        counts.add(name)


@contextmanager
def count_table_calls() -> Iterator[TableCounts]:
    """Count the calls of the whole process while the block runs; blocks may nest."""
    # Replaced as a whole, so that note() needs no lock.
    global _installed
    counts = TableCounts()
    with _change:
        _installed = (*_installed, counts)
    try:
        yield counts
    finally:
        with _change:
            _installed = tuple(each for each in _installed if each is not counts)
