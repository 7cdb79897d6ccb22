"""OmniGraph: a typed property graph on Lance, versioned and branched like Git.

This module is the front door: what stands here is for everybody, and is loaded when it is first used.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph import aio
    from omnigraph.engine.budget import QueryBudget
    from omnigraph.engine.explanation import Explanation
    from omnigraph.engine.result import Result
    from omnigraph.engine.stats import GraphStats, MaintenanceStats
    from omnigraph.graph import Graph, discard_sidecar, init, open
    from omnigraph.history.branches import Branch
    from omnigraph.history.commits import Commit
    from omnigraph.history.recoveries import Recovery
    from omnigraph.history.snapshot import Snapshot
    from omnigraph.plan.compiler import explain_query as explain
    from omnigraph.write.bulk import BulkReceipt, BulkTicket
    from omnigraph.write.indices import IndexReport
    from omnigraph.write.load import LoadProgress, LoadResult
    from omnigraph.write.mutate import MutationResult
    from omnigraph.write.recovery.discarding import DiscardedSidecar
    from omnigraph.write.recovery.listing import PendingWrite

__version__ = "0.1.0"
__all__ = [
    "Branch",
    "BulkReceipt",
    "BulkTicket",
    "Commit",
    "DiscardedSidecar",
    "Explanation",
    "Graph",
    "GraphStats",
    "IndexReport",
    "LoadProgress",
    "LoadResult",
    "MaintenanceStats",
    "MutationResult",
    "PendingWrite",
    "QueryBudget",
    "Recovery",
    "Result",
    "Snapshot",
    "__version__",
    "aio",
    "discard_sidecar",
    "explain",
    "init",
    "open",
]

_HOME = {
    "Branch": ("omnigraph.history.branches", "Branch"),
    "BulkReceipt": ("omnigraph.write.bulk", "BulkReceipt"),
    "BulkTicket": ("omnigraph.write.bulk", "BulkTicket"),
    "Commit": ("omnigraph.history.commits", "Commit"),
    "DiscardedSidecar": ("omnigraph.write.recovery.discarding", "DiscardedSidecar"),
    "Explanation": ("omnigraph.engine.explanation", "Explanation"),
    "Graph": ("omnigraph.graph", "Graph"),
    "GraphStats": ("omnigraph.engine.stats", "GraphStats"),
    "IndexReport": ("omnigraph.write.indices", "IndexReport"),
    "LoadProgress": ("omnigraph.write.load", "LoadProgress"),
    "LoadResult": ("omnigraph.write.load", "LoadResult"),
    "MaintenanceStats": ("omnigraph.engine.stats", "MaintenanceStats"),
    "MutationResult": ("omnigraph.write.mutate", "MutationResult"),
    "PendingWrite": ("omnigraph.write.recovery.listing", "PendingWrite"),
    "QueryBudget": ("omnigraph.engine.budget", "QueryBudget"),
    "Recovery": ("omnigraph.history.recoveries", "Recovery"),
    "Result": ("omnigraph.engine.result", "Result"),
    "Snapshot": ("omnigraph.history.snapshot", "Snapshot"),
    "discard_sidecar": ("omnigraph.graph", "discard_sidecar"),
    "explain": ("omnigraph.plan.compiler", "explain_query"),
    "init": ("omnigraph.graph", "init"),
    "open": ("omnigraph.graph", "open"),
}


# What goes wrong is raised; what is logged besides is for applications that ask for it.
logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name == "aio":
        return importlib.import_module("omnigraph.aio")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = home
    return getattr(importlib.import_module(module), attribute)
