"""The line: writers of several processes that compete for one branch go one after the other, in the order they came.

    __waiting/<branch>/<ulid>    one object for each writer that waits or writes

A compare-and-swap has one winner and makes the others do their work again; the winner knows the newest state already
and wins again. So a process that has met a rival on a branch stands in line for its next writes: it puts its ticket
down, waits while an older one lies there, writes, and takes it away. Who has met nobody for a while does not.

Politeness and no more: nothing is wrong if somebody does not wait. A ticket at the head of the line that stays for
several times as long as a write takes, because its owner is dead, stopped or very slow, is taken away by whoever waits
behind it.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from omnigraph.cancellation import cancellable_wait
from omnigraph.errors import StorageError
from omnigraph.history.ulids import new_ulid
from omnigraph.storage import ObjectKey, StorageAdapter
from omnigraph.write.deadlines import Deadline

WAITING_PREFIX: Final = "__waiting"

PATIENCE_SECONDS: Final = 0.5
"""How long the head of the line may stay the same, at least, before it counts as gone."""

PATIENCE_WRITES: Final = 5
"""The same in writes, by how long this process took for its last ones."""

LONGEST_PATIENCE_SECONDS: Final = 10.0
"""How long it may stay at most: a large merge takes long, and says nothing about the next write."""

FIRST_WRITE_SECONDS: Final = 0.1
"""How long a write takes, as long as none is known."""

MAX_GONE: Final = 2
"""After so many owners that were gone one does not wait for the others of the line."""

_STEP_SECONDS: Final = 0.002
_LONGEST_STEP_SECONDS: Final = 0.25

_log: Final = logging.getLogger(__name__)


@contextmanager
def stand_in_line(
    adapter: StorageAdapter, incarnation: str, deadline: Deadline, *, write_seconds: float | None = None
) -> Iterator[bool]:
    """Hold a place in the line of a branch during the block, which begins when it is at the head, or patience ends.

    ``write_seconds`` is how long a write takes here, as far as that is known. Yields whether anybody else was in line.
    """
    line = adapter.key(f"{WAITING_PREFIX}/{incarnation}")
    own = line / new_ulid()
    try:
        yield _line_up(adapter, line, own, deadline, FIRST_WRITE_SECONDS if write_seconds is None else write_seconds)
    finally:
        _take_away(adapter, own)


def _line_up(adapter: StorageAdapter, line: ObjectKey, own: ObjectKey, deadline: Deadline, usual: float) -> bool:
    try:
        adapter.write(own, b"")
        return _wait(adapter, line, own, deadline, usual)
    except StorageError as error:
        _log.debug("The line %s cannot be seen: %s", line, error)
        return False


def _wait(adapter: StorageAdapter, line: ObjectKey, own: ObjectKey, deadline: Deadline, usual: float) -> bool:
    """Return when none of the older tickets lies there that lay there at the first look; whether there was one.

    Whoever comes later is not waited for, whatever the clock of its machine says.
    """
    patience = min(LONGEST_PATIENCE_SECONDS, max(PATIENCE_SECONDS, PATIENCE_WRITES * usual))
    ahead = sorted(each for each in adapter.list_dir(line) if each.value < own.value)
    has_company = bool(ahead)
    since, gone = time.monotonic(), 0
    while ahead and gone < MAX_GONE and deadline.seconds_left > 0:
        # The further behind, the less there is to see.
        step = min(_LONGEST_STEP_SECONDS, max(_STEP_SECONDS, usual / 8) * len(ahead))
        cancellable_wait(random.uniform(step / 2, step))  # noqa: S311 - jitter
        there = set(adapter.list_dir(line))
        left = [each for each in ahead if each in there]
        if left and left[0] == ahead[0] and time.monotonic() - since > patience:
            _take_away(adapter, left.pop(0))
            gone += 1
        if not left or left[0] != ahead[0]:
            since = time.monotonic()
        ahead = left
    return has_company


def _take_away(adapter: StorageAdapter, ticket: ObjectKey) -> None:
    try:
        adapter.delete(ticket)
    except StorageError as error:
        _log.debug("The ticket %s stays: %s", ticket, error)
