"""How long a write goes on against others that publish first: until a deadline, with pauses of random length."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from omnigraph.cancellation import cancellable_wait
from omnigraph.config import DEFAULT_WRITE_SECONDS
from omnigraph.errors import ContentionError

_FIRST_PAUSE_SECONDS: Final = 0.005
_LONGEST_PAUSE_SECONDS: Final = 0.5


@dataclass(slots=True)
class Deadline:
    """A moment on the monotonic clock; it bounds effort and decides nothing about safety.

    Attributes:
        attempts: how often a wait was begun.
    """

    seconds: float = DEFAULT_WRITE_SECONDS
    ends: float = field(init=False)
    attempts: int = 0

    def __post_init__(self) -> None:
        self.ends = time.monotonic() + self.seconds

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """The time that the block takes does not count: it is no effort against others."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.ends += time.monotonic() - began

    @property
    def seconds_left(self) -> float:
        """How much effort is left; not below zero."""
        return max(0.0, self.ends - time.monotonic())

    def wait(self, purpose: str, *, branch: str | None = None) -> None:
        """Pause before another attempt; longer each time, and never the same as another writer's.

        Raises:
            ContentionError: the deadline has passed.
        """
        self.attempts += 1
        if time.monotonic() >= self.ends:
            raise ContentionError(purpose=purpose, attempts=self.attempts, deadline_seconds=self.seconds, branch=branch)
        pause(self.attempts)


def pause(attempts: int) -> None:
    """Wait before the next attempt: for a random time, twice as long on average after each, at most half a second."""
    longest = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2 ** min(attempts, 10))
    cancellable_wait(random.uniform(0, longest))  # noqa: S311 - jitter
