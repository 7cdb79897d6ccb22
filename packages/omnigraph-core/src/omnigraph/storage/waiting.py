"""How long a backend waits for its server, and what it says of the answers: so that a call ends by its deadline.

A backend that asks a server has a timeout; see ``StorageAdapter.timeout_seconds``. A request may have less time:

    seconds = seconds_to_wait(timeout)      before a request: how long it may take; a StoreSilentError when not at all
    note_answer()                           after one that was answered, be it by an error
    note_silence(seconds)                   after one that was given up

A call with a deadline ends one timeout after it at the latest, whatever it was doing; a call without one, a timeout
after the first request that was given up. Calls on a backend that does not ask here may take longer, and that is all.
"""

from __future__ import annotations

from typing import Final

from omnigraph.cancellation import patience

LEAST_SECONDS: Final = 0.005
"""With less time than this a request is not worth sending."""


class StoreSilentError(TimeoutError):
    """A request was not sent: the time of its call is over, or the store has been silent for a whole timeout."""


def seconds_to_wait(timeout: float) -> float | None:
    """How long a request may take; None when nobody bounds it but the timeout itself.

    Raises:
        StoreSilentError: it is not to be sent.
    """
    known = patience()
    left = None if known is None else known.seconds_left(timeout)
    if left is not None and left < LEAST_SECONDS:
        raise StoreSilentError
    return left


def note_answer() -> None:
    """Say that the store answered."""
    known = patience()
    if known is not None:
        known.waited = None


def note_silence(seconds: float) -> None:
    """Say that a request was given up after so many seconds, or that its connection broke."""
    known = patience()
    if known is not None:
        known.waited = 0.0 if known.waited is None else known.waited + seconds


def silence() -> float | None:
    """What was noted so far: for how long the store was asked in vain after the first time; None while it answers."""
    known = patience()
    return None if known is None else known.waited
