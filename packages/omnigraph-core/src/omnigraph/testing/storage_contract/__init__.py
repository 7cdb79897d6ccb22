"""The storage contract: what every backend must keep, as tests that a backend's author subclasses.

    StorageAdapterContract            required of every backend
    StorageRaceContract               required of every store that is trusted with a graph
    WriteIfMatchContract              with Capability.WRITE_IF_MATCH
    WriteIfMatchRaceContract          idem, raced
    AtomicRenameContract              with Capability.ATOMIC_RENAME
    SharedBetweenProcessesContract    with Capability.SHARED_BETWEEN_PROCESSES

A clause may not be overridden, skipped or removed. A backend that cannot keep one says so with
``@pytest.mark.deviates("reason", raises=TheError)``, which turns red when the deviation is gone. New required clauses
come only with minor releases and stand in the changelog under "Contract".
"""

from __future__ import annotations

from omnigraph.testing.storage_contract.optional import (
    AtomicRenameContract,
    SharedBetweenProcessesContract,
    WriteIfMatchContract,
    WriteIfMatchRaceContract,
)
from omnigraph.testing.storage_contract.required_list import ListClauses
from omnigraph.testing.storage_contract.required_promises import PromiseClauses
from omnigraph.testing.storage_contract.required_races import StorageRaceContract
from omnigraph.testing.storage_contract.required_read import ReadClauses
from omnigraph.testing.storage_contract.required_write import WriteClauses


class StorageAdapterContract(ReadClauses, WriteClauses, ListClauses, PromiseClauses):
    """Every clause that is required of every backend, races aside."""


__all__ = [
    "AtomicRenameContract",
    "SharedBetweenProcessesContract",
    "StorageAdapterContract",
    "StorageRaceContract",
    "WriteIfMatchContract",
    "WriteIfMatchRaceContract",
]
