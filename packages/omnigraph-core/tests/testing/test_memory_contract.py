"""The reference backend keeps the whole contract."""

from __future__ import annotations

import itertools

import pytest

from omnigraph import testing
from omnigraph.storage import StorageAdapter, parse_uri
from omnigraph.storage.memory import MEMORY_BACKEND

_numbers = itertools.count()


class MemoryStore:
    capabilities = MEMORY_BACKEND.capabilities

    @pytest.fixture
    def adapter(self) -> StorageAdapter:
        return MEMORY_BACKEND.open(parse_uri(f"memory://contract-{next(_numbers)}/graph"))


class TestRequired(MemoryStore, testing.StorageAdapterContract):
    pass


class TestRaces(MemoryStore, testing.StorageRaceContract):
    pass


class TestWriteIfMatch(MemoryStore, testing.WriteIfMatchContract):
    pass


class TestWriteIfMatchRaces(MemoryStore, testing.WriteIfMatchRaceContract):
    pass


class TestAtomicRename(MemoryStore, testing.AtomicRenameContract):
    pass
