"""The storage contract: what every backend must keep, as tests that a backend's author subclasses.

    StorageAdapterContract            required of every backend
    StorageRaceContract               required of every store that is trusted with a graph
    WriteIfMatchContract              with Capability.WRITE_IF_MATCH
    WriteIfMatchRaceContract          idem, raced
    AtomicRenameContract              with Capability.ATOMIC_RENAME
    SharedBetweenProcessesContract    with Capability.SHARED_BETWEEN_PROCESSES

``contract_for(backend)`` puts together what a backend needs. A clause may not be overridden, skipped or removed. A
backend that cannot keep one says so with ``@pytest.mark.deviates("reason", raises=TheError)``, which turns red when the
deviation is gone. New required clauses
come only with minor releases and stand in the changelog under "Contract".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from omnigraph.storage import Capability, StorageBackend
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


_OF_CAPABILITY: Final[dict[Capability, tuple[type, ...]]] = {
    Capability.WRITE_IF_MATCH: (WriteIfMatchContract, WriteIfMatchRaceContract),
    Capability.ATOMIC_RENAME: (AtomicRenameContract,),
    Capability.SHARED_BETWEEN_PROCESSES: (SharedBetweenProcessesContract,),
}


def contract_for(backend: StorageBackend) -> Callable[[type], type]:
    """Give a test class the whole contract of a backend: what is required, its races, and all that it declares.

    The class itself gives the ``adapter`` fixture::

        @contract_for(MY_BACKEND)
        class TestMyBackend:
            @pytest.fixture
            def adapter(self, tmp_path):
                return MY_BACKEND.open(parse_uri(f"mine://{tmp_path}"))
    """
    optional = [contract for capability in sorted(backend.capabilities) for contract in _OF_CAPABILITY[capability]]

    def apply(cls: type) -> type:
        bases = (cls, StorageAdapterContract, StorageRaceContract, *optional)
        return type(cls.__name__, bases, {"__module__": cls.__module__, "capabilities": backend.capabilities})

    return apply


__all__ = [
    "AtomicRenameContract",
    "SharedBetweenProcessesContract",
    "StorageAdapterContract",
    "StorageRaceContract",
    "WriteIfMatchContract",
    "WriteIfMatchRaceContract",
    "contract_for",
]
