"""``Rivals``: where this process has met other writers lately, and how long writes take. Hints for politeness only."""

from __future__ import annotations

import threading
from typing import Final

REMEMBERED_WRITES: Final = 16
"""For so many writes after the last meeting rivals count as near."""


class Rivals:
    """Meetings by branch incarnation. Safe to share between threads.

    Attributes:
        write_seconds: how long publishing a write took lately, with the last ones counting most; None before the first.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left: dict[str, int] = {}
        self.write_seconds: float | None = None

    def note_write(self, seconds: float) -> None:
        """A write was published, in so many seconds from its preparation on."""
        with self._lock:
            before = self.write_seconds
            self.write_seconds = seconds if before is None else before + (seconds - before) / 4

    def meet(self, incarnation: str) -> None:
        """Another process writes to this branch: it came first, or left something on a table."""
        with self._lock:
            self._left[incarnation] = REMEMBERED_WRITES

    def forget(self, incarnation: str) -> None:
        """The branch is gone."""
        with self._lock:
            self._left.pop(incarnation, None)

    def are_near(self, incarnation: str) -> bool:
        """Whether one was met lately."""
        return incarnation in self._left

    def pass_by(self, incarnation: str) -> None:
        """Another write to this branch; after so many of them without a meeting, nobody counts as near."""
        with self._lock:
            left = self._left.pop(incarnation, 0)
            if left > 1:
                self._left[incarnation] = left - 1
