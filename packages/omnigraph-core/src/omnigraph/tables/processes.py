"""Which processes may use Lance: those that did not inherit its threads' unfinished business.

Lance works with threads that it starts at its first request and keeps. A fork copies none of them, but all that they
left in memory: among it a table of who waits for what, into the stacks of threads that the child does not have. A child
that goes on with it works, hangs or crashes, as it happens (measured with pylance 14.0.2: one write in three crashed
after an idle parent had opened one table; see tests/substrate/test_substrate_forks.py). So nothing is asked of Lance in
a process that was forked from one that had used it. A process that only imported it may fork as it likes.
"""

from __future__ import annotations

import os
from typing import Final

from omnigraph.errors import ForkedProcessError


class _Process:
    """What this process knows of itself.

    Attributes:
        uses_lance: something was asked of Lance here.
        is_copy: it was in the process that this one was forked from, or further up.
    """

    uses_lance: bool = False
    is_copy: bool = False

    def begin_as_child(self) -> None:
        self.is_copy = self.is_copy or self.uses_lance
        self.uses_lance = False


_process: Final = _Process()
os.register_at_fork(after_in_child=_process.begin_as_child)


def enter_lance(uri: str) -> None:
    """Say that Lance is about to be asked for something.

    Raises:
        ForkedProcessError: it cannot be, here.
    """
    refuse_copy(uri)
    _process.uses_lance = True


def is_copy() -> bool:
    """Whether this process was forked from one that had used Lance."""
    return _process.is_copy


def refuse_copy(uri: str) -> None:
    """Raise where Lance cannot be asked for anything.

    Raises:
        ForkedProcessError: it is so.
    """
    if _process.is_copy:
        raise ForkedProcessError(
            f"{uri} cannot be used in this process: it was forked from one that had used a graph, and Lance does not "
            "survive that.",
            help='Start processes by "spawn" or "forkserver" (multiprocessing.get_context("spawn")) and hand them the '
            "graph, or fork before the first graph is opened.",
            details={"uri": uri},
        )
