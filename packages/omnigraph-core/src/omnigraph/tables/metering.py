"""Counting what reads cost: requests and bytes, as Lance itself counts them.

Lance counts per object store, and all datasets of one session below one root share one store. A store, and its count,
ends with the last dataset that uses it. So one dataset of each store is held here, and the sum never shrinks.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from lance import LanceDataset

from omnigraph.tables.opening import Place
from omnigraph.tables.sessions import Session


@dataclass(slots=True)
class ReadMeter:
    """What was read through one session. Safe to share between threads.

    Attributes:
        session: reads through datasets of another session are not counted.
    """

    session: Session
    _held: dict[frozenset[tuple[str, str]], LanceDataset] = field(default_factory=dict)
    _before: tuple[int, int] = (0, 0)
    _was_closed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def watch(self, place: Place, dataset: LanceDataset) -> None:
        """Count what is read through this dataset and others of its store: those that are reached by equal options."""
        key = frozenset(place.options.items())
        if key in self._held:
            return
        # Any: Lance's own stubs do not know the method.
        session: Any = dataset.session()
        if not session.is_same_as(self.session):
            return
        with self._lock:
            if key not in self._held:
                if self._was_closed:
                    # Whoever still reads keeps the store alive, with what was counted before.
                    counted = dataset.io_stats_snapshot()
                    self._before = self._before[0] - counted.read_iops, self._before[1] - counted.read_bytes
                self._held[key] = dataset

    def counts(self) -> tuple[int, int]:
        """Requests and bytes since the beginning; what the same session did to commit is among them."""
        with self._lock:
            return self._sum()

    def close(self, session: Session) -> None:
        """Hold no dataset any more and count what is read through another session from now on; the counts stay."""
        with self._lock:
            self.session = session
            self._before = self._sum()
            self._held.clear()
            self._was_closed = True

    def _sum(self) -> tuple[int, int]:
        found = [each.io_stats_snapshot() for each in self._held.values()]
        requests, size = self._before
        return requests + sum(each.read_iops for each in found), size + sum(each.read_bytes for each in found)
