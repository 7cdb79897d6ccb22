"""Heartbeats: a writer that takes long shows that it lives, so that whoever would clean up after it waits.

    __heartbeats/<writer>.json    put again every few seconds by its only owner, while it has a write under way

A sidecar names its writer. Whoever finds one that lies there watches: if neither the sidecar went away nor the
heartbeat changed for the whole of a time that the *observer* measures, the writer counts as dead. No clock of another
machine is read, and nothing about safety rests on the verdict: a writer that was only stopped finds, when it goes on,
that its commit was made for it or that its swap is lost.

A write that takes less than a beat puts no heartbeat, so small writes cost nothing more. Data writers wait for nobody.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from omnigraph.cancellation import patient
from omnigraph.config import DEFAULT_RECOVERY_PATIENCE
from omnigraph.errors import ResourceLimitError, StorageError
from omnigraph.history.ulids import new_ulid
from omnigraph.history.whereabouts import whereabouts
from omnigraph.storage import ObjectKey, StorageAdapter
from omnigraph.tables.processes import is_copy

HEARTBEAT_PREFIX: Final = "__heartbeats"

BEAT_SECONDS: Final = 5.0
"""How often a writer shows that it lives."""

LOOK_SECONDS: Final = 1.0
"""How often an observer looks for one heartbeat, at most."""

_MAX_BEAT_BYTES: Final = 4 * 1024

_log: Final = logging.getLogger(__name__)


class Heart:
    """The heartbeat of one open graph: beats while a write is under way, however many there are at once.

    Attributes:
        writer: the name by which sidecars tell whose they are.
    """

    def __init__(self, adapter: StorageAdapter, *, beat_seconds: float = BEAT_SECONDS) -> None:
        self.writer = new_ulid()
        self._adapter = adapter
        self._beat_seconds = beat_seconds
        self._lock = threading.Condition()
        self._writes = 0
        self._is_closed = False
        self._thread: threading.Thread | None = None

    def close(self) -> None:
        """Take the heartbeat away now, and not when no write came for a beat; right when none is under way."""
        with self._lock:
            self._is_closed = True
            self._lock.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Beat during the block, if it takes longer than a beat."""
        with self._lock:
            self._writes += 1
            if self._thread is None:
                self._thread = self._started()
        try:
            yield
        finally:
            # A write that finds itself in a forked child has no thread there, which may have held the lock.
            if not is_copy():
                with self._lock:
                    self._writes -= 1
                    self._lock.notify_all()

    def _started(self) -> threading.Thread | None:
        thread = threading.Thread(target=self._beat, name="omnigraph-heartbeat", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            # No more threads for this process: the write goes on without, and the next one tries again.
            _log.debug("A heartbeat cannot beat: %s", error)
            return None
        return thread

    def _beat(self) -> None:
        """Put the object every beat until no write is under way, then take it away; without a write for a beat, end."""
        key = heartbeat_key(self._adapter, self.writer)
        beats = 0
        while True:
            with self._lock:
                if self._lock.wait_for(lambda: self._writes == 0, self._beat_seconds):
                    self._lock.wait_for(lambda: self._writes > 0 or self._is_closed, self._beat_seconds)
                    if self._writes == 0:
                        # Under the lock, so that a write that begins now starts another thread.
                        self._thread = None
                        break
                    continue
            beats += 1
            self._put(key, beats)
        if beats:
            self._take_away(key)

    @patient()
    def _put(self, key: ObjectKey, beats: int) -> None:
        try:
            # The name is new with each beat: an observer may look at the first of one write and the first of another.
            facts = {"writer": self.writer, "beat": beats, "name": new_ulid(), **whereabouts().to_dict()}
            self._adapter.write(key, json.dumps(facts).encode())
        except StorageError as error:
            _log.debug("A heartbeat could not be put: %s", error)

    @patient()
    def _take_away(self, key: ObjectKey) -> None:
        try:
            self._adapter.delete(key)
        except StorageError as error:
            _log.debug("A heartbeat could not be taken away: %s", error)


def heartbeat_key(adapter: StorageAdapter, writer: str) -> ObjectKey:
    """The object that a writer puts."""
    return adapter.key(f"{HEARTBEAT_PREFIX}/{writer}.json")


class Observer:
    """Judges the writers of sidecars by what one process sees of them. Safe to share between threads.

    Attributes:
        patience: for how many seconds nothing may change.
    """

    def __init__(
        self,
        adapter: StorageAdapter,
        *,
        patience: float = DEFAULT_RECOVERY_PATIENCE,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.patience = patience
        self._adapter = adapter
        self._now = now
        self._lock = threading.Lock()
        self._seen: dict[str, _Sight] = {}

    def is_alive(self, operation_id: str, writer: str) -> bool | None:
        """Look at the heartbeat of the writer of an operation, unless that was done a moment ago.

        Returns True when its heart beat since the look before, False when it was still, or missing, at every look for
        long enough, and None when that cannot be told yet. The first time costs no request: most writes are over
        before the second.

        Raises:
            StorageError: it could not be looked for.
        """
        with self._lock:
            before = self._seen.get(operation_id)
            now = self._now()
            if before is None:
                self._seen[operation_id] = _Sight(None, None, now)
                return None
            if now - before.looked < min(LOOK_SECONDS, self.patience / 2):
                return None
        beat = self._beat_of(writer)
        with self._lock:
            now = self._now()
            if before.since is None or before.beat != beat:
                self._seen[operation_id] = _Sight(beat, now, now)
                return None if before.since is None or beat is None else True
            self._seen[operation_id] = replace(before, looked=now)
            return False if now - before.since >= self.patience else None

    def _beat_of(self, writer: str) -> bytes | None:
        try:
            return self._adapter.read_if_exists(heartbeat_key(self._adapter, writer), max_bytes=_MAX_BEAT_BYTES)
        except ResourceLimitError:
            # No writer wrote that. It stays the same, so the writer counts as dead when the patience is over.
            return b""

    def keep(self, operations: Container[str]) -> None:
        """Forget all that was seen of others than these operations."""
        with self._lock:
            self._seen = {each: sight for each, sight in self._seen.items() if each in operations}


@dataclass(frozen=True, slots=True)
class _Sight:
    """What was seen of a heartbeat.

    Attributes:
        beat: the object; None when there was none.
        since: when it was seen for the first time; None when nobody looked yet.
        looked: when it was last looked for.
    """

    beat: bytes | None
    since: float | None
    looked: float
