"""What every contract class stands on: the adapter under test, a back door, and the sizes of the long clauses.

A backend's author gives the ``adapter`` fixture and the ``capabilities`` value. ``plant`` and ``peek`` go behind the
adapter's back, so that reads are not tested by the writes of the same code; by default they use a second adapter of
the same place, and an author who can reach the store directly overrides them.
"""

from __future__ import annotations

import os
import pickle
from typing import ClassVar

import pytest

from omnigraph.storage import Capability, StorageAdapter, StorageUri
from omnigraph.testing.races import Contest, Place, RaceReport, run_race


class ContractClauses:
    """Base of the contract classes; holds no clause itself."""

    __omnigraph_contract__: ClassVar[bool] = True

    capabilities: ClassVar[frozenset[Capability]]
    """What the backend declares, as in its ``StorageBackend`` record."""

    race_place: ClassVar[Place | None] = None
    """Whether racing writers are threads, each with an adapter of its own, or processes; None for processes where the
    backend declares ``SHARED_BETWEEN_PROCESSES``."""

    race_writers: ClassVar[int] = int(os.environ.get("OMNIGRAPH_RACE_WRITERS", "8"))
    race_rounds: ClassVar[int] = int(os.environ.get("OMNIGRAPH_RACE_ROUNDS", "10"))

    many_objects: ClassVar[int] = int(os.environ.get("OMNIGRAPH_MANY_OBJECTS", "25"))
    """How many objects the clauses about completeness use. A full run takes more than one page of a listing."""

    @pytest.fixture
    def adapter(self) -> StorageAdapter:
        """An adapter on an empty root of its own. Every backend gives this one."""
        raise pytest.UsageError(f"{type(self).__name__} gives no `adapter` fixture: see docs/reference/contract.md")

    def race(self, adapter: StorageAdapter, contest: Contest) -> RaceReport:
        """Race as this class has it, at the sizes of this run."""
        shared = Capability.SHARED_BETWEEN_PROCESSES in self.capabilities
        place = self.race_place or ("processes" if shared else "threads")
        assert self.race_writers > 1, "a race needs two writers"
        assert self.race_rounds > 0, "a race needs a round"
        return run_race(adapter, contest, writers=self.race_writers, rounds=self.race_rounds, place=place)

    def at_root(self, adapter: StorageAdapter, root: StorageUri) -> StorageAdapter:
        """An adapter of the same backend and options at another root."""
        return type(adapter)(root, adapter.options)

    def plant(self, adapter: StorageAdapter, name: str, data: bytes) -> None:
        """Store bytes behind the adapter's back."""
        reopened(adapter).write(adapter.key(name), data)

    def peek(self, adapter: StorageAdapter, name: str) -> bytes | None:
        """The bytes in the store, seen behind the adapter's back; None when there are none."""
        return reopened(adapter).read_if_exists(adapter.key(name))


def reopened(adapter: StorageAdapter) -> StorageAdapter:
    """A second adapter of the same place that shares nothing with the first."""
    again: StorageAdapter = pickle.loads(pickle.dumps(adapter))  # bytes of our own making
    return again
