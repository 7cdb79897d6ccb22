"""For whoever tests against OmniGraph: contracts, faults, races, histories, models of graphs and branches, S3 servers.

Names are loaded when first used: pytest imports this package in every run of every environment that has core.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph.testing.branch_model import BranchedModel
    from omnigraph.testing.faults import CountingAdapter, DelayingAdapter, DiedError, DyingAdapter, Fault, FaultyAdapter
    from omnigraph.testing.graph_contract import GraphContract, GraphPlace, GraphProcessContract, graph_contract_for
    from omnigraph.testing.histories import check_history
    from omnigraph.testing.history_writers import run_writers
    from omnigraph.testing.invariants import assert_graph_is_whole
    from omnigraph.testing.model import ModelGraph
    from omnigraph.testing.query_model import QueryModel
    from omnigraph.testing.storage_contract import (
        AtomicRenameContract,
        SharedBetweenProcessesContract,
        StorageAdapterContract,
        StorageRaceContract,
        WriteIfMatchContract,
        WriteIfMatchRaceContract,
        contract_for,
    )

_HOME = {
    "AtomicRenameContract": "storage_contract",
    "BranchedModel": "branch_model",
    "CountingAdapter": "faults",
    "DelayingAdapter": "faults",
    "DiedError": "faults",
    "DyingAdapter": "faults",
    "Fault": "faults",
    "FaultyAdapter": "faults",
    "GraphContract": "graph_contract",
    "GraphPlace": "graph_contract",
    "GraphProcessContract": "graph_contract",
    "ModelGraph": "model",
    "QueryModel": "query_model",
    "SharedBetweenProcessesContract": "storage_contract",
    "StorageAdapterContract": "storage_contract",
    "StorageRaceContract": "storage_contract",
    "WriteIfMatchContract": "storage_contract",
    "WriteIfMatchRaceContract": "storage_contract",
    "assert_graph_is_whole": "invariants",
    "check_history": "histories",
    "contract_for": "storage_contract",
    "graph_contract_for": "graph_contract",
    "run_writers": "history_writers",
}

__all__ = [
    "AtomicRenameContract",
    "BranchedModel",
    "CountingAdapter",
    "DelayingAdapter",
    "DiedError",
    "DyingAdapter",
    "Fault",
    "FaultyAdapter",
    "GraphContract",
    "GraphPlace",
    "GraphProcessContract",
    "ModelGraph",
    "QueryModel",
    "SharedBetweenProcessesContract",
    "StorageAdapterContract",
    "StorageRaceContract",
    "WriteIfMatchContract",
    "WriteIfMatchRaceContract",
    "assert_graph_is_whole",
    "check_history",
    "contract_for",
    "graph_contract_for",
    "run_writers",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
