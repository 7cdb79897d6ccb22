"""Which publishes are under way in this process, so that nobody here cleans up after one that lives."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_operations: Final[set[str]] = set()
# A child does not have the threads that its parent's writes run in.
os.register_at_fork(after_in_child=_operations.clear)


@contextmanager
def under_way(operation_id: str) -> Iterator[None]:
    """Count as under way during the block."""
    _operations.add(operation_id)
    try:
        yield
    finally:
        _operations.discard(operation_id)


def is_under_way(operation_id: str) -> bool:
    """Whether a thread of this process is carrying the operation out."""
    return operation_id in _operations
