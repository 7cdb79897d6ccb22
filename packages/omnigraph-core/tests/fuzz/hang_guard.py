"""Tells a hang from work. Speed is measured in benchmarks/, not here.

What takes time in proportion to its size is done in a second or two at these sizes; what does not takes minutes. The
bound lies far from both, and counts processor time, so that a busy machine does not matter.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

HANG_SECONDS = 20


@contextmanager
def no_hang() -> Iterator[None]:
    """Fails when what it surrounds took longer than anything but a hang can."""
    started = time.process_time()
    yield
    spent = time.process_time() - started
    assert spent < HANG_SECONDS, f"{spent:.0f} s of processor time"
