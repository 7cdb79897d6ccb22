"""The line: writers of several processes that compete for one branch go one after the other, in the order they came.

    __waiting/<branch>/<ulid>    one object for each writer that waits or writes

A compare-and-swap has one winner and makes the others do their work again; the winner knows the newest state already
and wins again. So a process that has met a rival on a branch stands in line for its next writes: it puts its ticket
down, waits while an older one lies there, writes, and takes it away. Who has met nobody for a while does not.

Politeness and no more: nothing is wrong if somebody does not wait. A ticket at the head of the line that does not go
away within moments, because its owner is dead, stopped or very slow, is taken away by whoever waits behind it.
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
"""How long the head of the line may stay the same before it counts as gone."""

_STEP_SECONDS: Final = 0.004
_LONGEST_STEP_SECONDS: Final = 0.05

_log: Final = logging.getLogger(__name__)


@contextmanager
def stand_in_line(adapter: StorageAdapter, incarnation: str, deadline: Deadline) -> Iterator[bool]:
    """Hold a place in the line of a branch during the block, which begins when it is at the head, or patience ends.

    Yields whether anybody else was in line.
    """
    line = adapter.key(f"{WAITING_PREFIX}/{incarnation}")
    own = line / new_ulid()
    try:
        yield _line_up(adapter, line, own, deadline)
    finally:
        _take_away(adapter, own)


def _line_up(adapter: StorageAdapter, line: ObjectKey, own: ObjectKey, deadline: Deadline) -> bool:
    try:
        adapter.write(own, b"")
        return _wait(adapter, line, own, deadline)
    except StorageError as error:
        _log.debug("The line %s cannot be seen: %s", line, error)
        return False


def _wait(adapter: StorageAdapter, line: ObjectKey, own: ObjectKey, deadline: Deadline) -> bool:
    """Return when no older ticket lies there; whether there was one."""
    head: ObjectKey | None = None
    since = time.monotonic()
    has_company = False
    while deadline.seconds_left > 0:
        ahead = sorted(each for each in adapter.list_dir(line) if each.value < own.value)
        if not ahead:
            break
        has_company = True
        if ahead[0] != head:
            head, since = ahead[0], time.monotonic()
        elif time.monotonic() - since > PATIENCE_SECONDS:
            _take_away(adapter, head)
        # The further behind, the less there is to see.
        longest = min(_LONGEST_STEP_SECONDS, _STEP_SECONDS * len(ahead))
        cancellable_wait(random.uniform(longest / 2, longest))  # noqa: S311 - jitter
    return has_company


def _take_away(adapter: StorageAdapter, ticket: ObjectKey) -> None:
    try:
        adapter.delete(ticket)
    except StorageError as error:
        _log.debug("The ticket %s stays: %s", ticket, error)
