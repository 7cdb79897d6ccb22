"""A handle that cannot be used any more, or not here."""

from __future__ import annotations

from omnigraph.errors.root import ErrorKind, OmnigraphError


class ClosedError(OmnigraphError):
    """Something was asked of a graph that was closed; nothing was done."""

    kind = ErrorKind.CLOSED


class ForkedProcessError(OmnigraphError):
    """A graph was used in a process that was forked from one that had used a graph; nothing was done."""

    kind = ErrorKind.FORKED_PROCESS
