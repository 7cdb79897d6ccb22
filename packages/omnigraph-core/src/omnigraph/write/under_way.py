"""Which publishes are under way in this process, so that nobody here cleans up after one that lives."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final


class _Operations:
    """How often each operation was begun and not ended."""

    def __init__(self) -> None:
        self.begin_as_child()

    def begin_as_child(self) -> None:
        """A child does not have the threads that its parent's writes run in, nor the one that may hold the lock."""
        self.counts: Counter[str] = Counter()
        self.lock = threading.Lock()


_operations: Final = _Operations()
os.register_at_fork(after_in_child=_operations.begin_as_child)


def begin_under_way(operation_id: str) -> None:
    """Count as under way until ``end_under_way`` is called as often as this."""
    with _operations.lock:
        _operations.counts[operation_id] += 1


def end_under_way(operation_id: str) -> None:
    """Take back one ``begin_under_way``."""
    with _operations.lock:
        _operations.counts[operation_id] -= 1
        if _operations.counts[operation_id] <= 0:
            del _operations.counts[operation_id]


@contextmanager
def under_way(operation_id: str) -> Iterator[None]:
    """Count as under way during the block."""
    begin_under_way(operation_id)
    try:
        yield
    finally:
        end_under_way(operation_id)


def is_under_way(operation_id: str) -> bool:
    """Whether a thread of this process is carrying the operation out."""
    return operation_id in _operations.counts
