"""For whoever tests against OmniGraph: the storage contract, fault adapters, races, and real S3 servers.

Names are loaded when first used: pytest imports this package in every run of every environment that has core.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph.testing.faults import CountingAdapter, DelayingAdapter, Fault, FaultyAdapter
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
    "CountingAdapter": "faults",
    "DelayingAdapter": "faults",
    "Fault": "faults",
    "FaultyAdapter": "faults",
    "SharedBetweenProcessesContract": "storage_contract",
    "StorageAdapterContract": "storage_contract",
    "StorageRaceContract": "storage_contract",
    "WriteIfMatchContract": "storage_contract",
    "WriteIfMatchRaceContract": "storage_contract",
    "contract_for": "storage_contract",
}

__all__ = [
    "AtomicRenameContract",
    "CountingAdapter",
    "DelayingAdapter",
    "Fault",
    "FaultyAdapter",
    "SharedBetweenProcessesContract",
    "StorageAdapterContract",
    "StorageRaceContract",
    "WriteIfMatchContract",
    "WriteIfMatchRaceContract",
    "contract_for",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
