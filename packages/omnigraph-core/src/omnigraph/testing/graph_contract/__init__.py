"""The graph contract: what a whole graph keeps on every backend, as tests that a backend's author subclasses.

    GraphContract            required of every backend
    GraphProcessContract     with Capability.SHARED_BETWEEN_PROCESSES

``graph_contract_for(backend)`` puts together what a backend needs. It stands on the storage contract and finds what
that cannot see: that Lance and the adapter are at one place, and that a graph survives faults, races and new processes
there. Clauses may deviate as those of the storage contract may, and in no other way.
"""

from __future__ import annotations

from collections.abc import Callable

from omnigraph.storage import Capability, StorageBackend
from omnigraph.testing.graph_contract.branches import BranchClauses
from omnigraph.testing.graph_contract.clauses import GraphPlace
from omnigraph.testing.graph_contract.faults import FaultClauses
from omnigraph.testing.graph_contract.lifecycle import LifecycleClauses
from omnigraph.testing.graph_contract.loads import LoadClauses
from omnigraph.testing.graph_contract.races import GraphProcessContract, RaceClauses
from omnigraph.testing.graph_contract.reads import ReadClauses


class GraphContract(LifecycleClauses, LoadClauses, ReadClauses, RaceClauses, FaultClauses, BranchClauses):
    """Every clause that is required of every backend."""


def graph_contract_for(backend: StorageBackend) -> Callable[[type], type]:
    """Give a test class the whole graph contract of a backend.

    The class itself gives the ``place`` fixture, an empty place that the installed plugins can open::

        @graph_contract_for(MY_BACKEND)
        class TestMyGraph:
            @pytest.fixture
            def place(self, tmp_path):
                return GraphPlace(uri=f"mine://{tmp_path}/graph")
    """
    shared = Capability.SHARED_BETWEEN_PROCESSES in backend.capabilities
    contracts = (GraphContract, GraphProcessContract) if shared else (GraphContract,)

    def apply(cls: type) -> type:
        return type(cls.__name__, (cls, *contracts), {"__module__": cls.__module__})

    return apply


__all__ = ["GraphContract", "GraphPlace", "GraphProcessContract", "graph_contract_for"]
