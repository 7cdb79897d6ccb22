"""The in-memory backend: the reference adapter, to be read first by whoever writes another one.

Objects live in this process, one store per authority and path: ``memory://scratch`` in two places of a program is one
store. Lance keeps the tables of the same root at ``shared-memory://``, which has the same life and the same reach.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

from omnigraph.storage.adapter import StorageAdapter
from omnigraph.storage.backend import StorageBackend
from omnigraph.storage.capabilities import Capability
from omnigraph.storage.keys import ObjectKey
from omnigraph.storage.objects import LanceLocation, VersionedObject

MEMORY_BACKEND: Final = StorageBackend(
    name="memory",
    schemes=("memory",),
    adapter="omnigraph.storage.memory:MemoryAdapter",
    lance_scheme="shared-memory",
    spi_version=1,
    capabilities=frozenset({Capability.WRITE_IF_MATCH, Capability.ATOMIC_RENAME}),
)


class _Process:
    """Every in-memory object of this process, by full URI. Values are bytes with a generation number."""

    def __init__(self) -> None:
        self.renew_lock()
        self.objects: dict[str, tuple[bytes, int]] = {}
        self.generation = 0

    def renew_lock(self) -> None:
        """A forked child has a copy of every object, and not the thread that may hold the lock."""
        self.lock = threading.Lock()

    def put(self, uri: str, data: bytes) -> str:
        """Store under the lock that the caller holds; the new token."""
        self.generation += 1
        self.objects[uri] = (data, self.generation)
        return str(self.generation)


_PROCESS: Final = _Process()
os.register_at_fork(after_in_child=_PROCESS.renew_lock)


class MemoryAdapter(StorageAdapter):
    """Control objects in the memory of this process."""

    def _read(self, key: ObjectKey, limit: int) -> bytes:
        return self._read_versioned(key, limit).data

    def _read_versioned(self, key: ObjectKey, limit: int) -> VersionedObject:
        found = _PROCESS.objects.get(self.uri(key))
        if found is None:
            raise FileNotFoundError
        data, generation = found
        return VersionedObject(data[:limit], str(generation))

    def _write(self, key: ObjectKey, data: bytes) -> None:
        with _PROCESS.lock:
            _PROCESS.put(self.uri(key), data)

    def _write_if_absent(self, key: ObjectKey, data: bytes) -> bool:
        with _PROCESS.lock:
            if self.uri(key) in _PROCESS.objects:
                return False
            _PROCESS.put(self.uri(key), data)
            return True

    def _write_if_match(self, key: ObjectKey, data: bytes, token: str) -> str | None:
        with _PROCESS.lock:
            found = _PROCESS.objects.get(self.uri(key))
            if found is None or str(found[1]) != token:
                return None
            return _PROCESS.put(self.uri(key), data)

    def _list(self, prefix: ObjectKey) -> Iterator[ObjectKey]:
        start = self.uri(prefix) + "/"
        top = len(str(self.root)) + 1
        with _PROCESS.lock:
            uris = [uri for uri in _PROCESS.objects if uri.startswith(start)]
        yield from (ObjectKey(uri[top:]) for uri in uris)

    def _rename(self, source: ObjectKey, target: ObjectKey) -> None:
        with _PROCESS.lock:
            found = _PROCESS.objects.get(self.uri(source))
            if found is None:
                raise FileNotFoundError
            if source != target:
                _PROCESS.put(self.uri(target), found[0])
                del _PROCESS.objects[self.uri(source)]

    def _delete(self, key: ObjectKey) -> None:
        with _PROCESS.lock:
            _PROCESS.objects.pop(self.uri(key), None)

    def lance_location(self, key: ObjectKey) -> LanceLocation:
        # Lance parses this as a URL: an unquoted "#" or "?" would silently end the path.
        place = self.uri(key).removeprefix("memory://")
        return LanceLocation("shared-memory://" + quote(place))
