"""``Rivals``: on which branches this process has met other writers lately. Hints for politeness, and no more."""

from __future__ import annotations

import threading
from typing import Final

REMEMBERED_WRITES: Final = 16
"""For so many writes after the last meeting rivals count as near."""


class Rivals:
    """Meetings by branch incarnation. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left: dict[str, int] = {}

    def meet(self, incarnation: str) -> None:
        """Another process writes to this branch: it came first, or left something on a table."""
        with self._lock:
            self._left[incarnation] = REMEMBERED_WRITES

    def are_near(self, incarnation: str) -> bool:
        """Whether one was met lately; each time this is asked is a write."""
        with self._lock:
            left = self._left.pop(incarnation, 0)
            if left > 1:
                self._left[incarnation] = left - 1
            return left > 0
