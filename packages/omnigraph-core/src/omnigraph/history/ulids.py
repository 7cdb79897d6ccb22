"""ULIDs: ids of commits, operations and graphs that sort by the time at which they were made."""

from __future__ import annotations

import os
import threading
import time
from typing import Final

_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_RANDOM_BITS: Final = 80


class _Last:
    """The last id that this process made, so that the next one is greater even within a millisecond."""

    def __init__(self) -> None:
        self.renew_lock()
        self.value = 0

    def renew_lock(self) -> None:
        """A forked child does not have the thread that may hold the lock."""
        self.lock = threading.Lock()


_last: Final = _Last()
os.register_at_fork(after_in_child=_last.renew_lock)


def new_ulid() -> str:
    """A new id: 26 upper-case characters of Crockford's alphabet, greater than any that this process made before.

    A process that forked makes ids of its own: 80 bits are random anew in every millisecond.
    """
    now = time.time_ns() // 1_000_000
    fresh = (now << _RANDOM_BITS) | int.from_bytes(os.urandom(_RANDOM_BITS // 8))
    with _last.lock:
        # Within one millisecond count on, so that order is kept.
        if _last.value >> _RANDOM_BITS >= now:
            # A step of random size keeps two processes that forked apart.
            fresh = _last.value + 1 + int.from_bytes(os.urandom(4))
        _last.value = fresh
    return "".join(_ALPHABET[(fresh >> shift) & 31] for shift in range(125, -1, -5))
