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
    from omnigraph.engine.change_span import ChangeSpan
    from omnigraph.engine.diff import Change, Diff, DiffSummary
    from omnigraph.engine.explanation import Explanation
    from omnigraph.engine.feed_pages import ChangeBlock, ChangeCause, CommitPage, FeedPage
    from omnigraph.engine.result import Result
    from omnigraph.engine.stats import GraphStats, MaintenanceStats
    from omnigraph.engine.type_scan import TypeScan
    from omnigraph.graph import Graph, copy, discard_sidecar, init, open
    from omnigraph.history.branches import Branch
    from omnigraph.history.commits import Commit
    from omnigraph.history.recoveries import Recovery
    from omnigraph.history.snapshot import Snapshot
    from omnigraph.history.tags import Tag
    from omnigraph.plan.compiler import explain_query as explain
    from omnigraph.write.bulk import BulkAttempt, BulkReceipt, BulkTicket
    from omnigraph.write.bulk.leases import LoadLease
    from omnigraph.write.copying import CopyResult, LostHistory
    from omnigraph.write.indices import IndexReport
    from omnigraph.write.load import LoadProgress, LoadResult
    from omnigraph.write.merge.result import MergeResult
    from omnigraph.write.mutate import MutationResult
    from omnigraph.write.records import TypedText
    from omnigraph.write.recovery.discarding import DiscardedSidecar
    from omnigraph.write.recovery.listing import PendingWrite
    from omnigraph.write.relocation import RepairReport
    from omnigraph.write.row_merging import BulkMerger, MergedRows, MergeWork, RowsToMerge
    from omnigraph.write.validation.row_sets import BulkJudge, Found, RowSet

__version__ = "0.1.0"
__all__ = [
    "Branch",
    "BulkAttempt",
    "BulkJudge",
    "BulkMerger",
    "BulkReceipt",
    "BulkTicket",
    "Change",
    "ChangeBlock",
    "ChangeCause",
    "ChangeSpan",
    "Commit",
    "CommitPage",
    "CopyResult",
    "Diff",
    "DiffSummary",
    "DiscardedSidecar",
    "Explanation",
    "FeedPage",
    "Found",
    "Graph",
    "GraphStats",
    "IndexReport",
    "LoadLease",
    "LoadProgress",
    "LoadResult",
    "LostHistory",
    "MaintenanceStats",
    "MergeResult",
    "MergeWork",
    "MergedRows",
    "MutationResult",
    "PendingWrite",
    "QueryBudget",
    "Recovery",
    "RepairReport",
    "Result",
    "RowSet",
    "RowsToMerge",
    "Snapshot",
    "Tag",
    "TypeScan",
    "TypedText",
    "__version__",
    "aio",
    "copy",
    "discard_sidecar",
    "explain",
    "init",
    "open",
]

_HOME = {
    "Branch": ("omnigraph.history.branches", "Branch"),
    "BulkAttempt": ("omnigraph.write.bulk", "BulkAttempt"),
    "BulkJudge": ("omnigraph.write.validation.row_sets", "BulkJudge"),
    "BulkMerger": ("omnigraph.write.row_merging", "BulkMerger"),
    "BulkReceipt": ("omnigraph.write.bulk", "BulkReceipt"),
    "BulkTicket": ("omnigraph.write.bulk", "BulkTicket"),
    "Change": ("omnigraph.engine.diff", "Change"),
    "ChangeBlock": ("omnigraph.engine.feed_pages", "ChangeBlock"),
    "ChangeCause": ("omnigraph.engine.feed_pages", "ChangeCause"),
    "ChangeSpan": ("omnigraph.engine.change_span", "ChangeSpan"),
    "Commit": ("omnigraph.history.commits", "Commit"),
    "CommitPage": ("omnigraph.engine.feed_pages", "CommitPage"),
    "CopyResult": ("omnigraph.write.copying", "CopyResult"),
    "Diff": ("omnigraph.engine.diff", "Diff"),
    "DiffSummary": ("omnigraph.engine.diff", "DiffSummary"),
    "DiscardedSidecar": ("omnigraph.write.recovery.discarding", "DiscardedSidecar"),
    "Explanation": ("omnigraph.engine.explanation", "Explanation"),
    "FeedPage": ("omnigraph.engine.feed_pages", "FeedPage"),
    "Found": ("omnigraph.write.validation.row_sets", "Found"),
    "Graph": ("omnigraph.graph", "Graph"),
    "GraphStats": ("omnigraph.engine.stats", "GraphStats"),
    "IndexReport": ("omnigraph.write.indices", "IndexReport"),
    "LoadLease": ("omnigraph.write.bulk.leases", "LoadLease"),
    "LoadProgress": ("omnigraph.write.load", "LoadProgress"),
    "LoadResult": ("omnigraph.write.load", "LoadResult"),
    "LostHistory": ("omnigraph.write.copying", "LostHistory"),
    "MaintenanceStats": ("omnigraph.engine.stats", "MaintenanceStats"),
    "MergeResult": ("omnigraph.write.merge.result", "MergeResult"),
    "MergeWork": ("omnigraph.write.row_merging", "MergeWork"),
    "MergedRows": ("omnigraph.write.row_merging", "MergedRows"),
    "MutationResult": ("omnigraph.write.mutate", "MutationResult"),
    "PendingWrite": ("omnigraph.write.recovery.listing", "PendingWrite"),
    "QueryBudget": ("omnigraph.engine.budget", "QueryBudget"),
    "Recovery": ("omnigraph.history.recoveries", "Recovery"),
    "RepairReport": ("omnigraph.write.relocation", "RepairReport"),
    "Result": ("omnigraph.engine.result", "Result"),
    "RowSet": ("omnigraph.write.validation.row_sets", "RowSet"),
    "RowsToMerge": ("omnigraph.write.row_merging", "RowsToMerge"),
    "Snapshot": ("omnigraph.history.snapshot", "Snapshot"),
    "Tag": ("omnigraph.history.tags", "Tag"),
    "TypeScan": ("omnigraph.engine.type_scan", "TypeScan"),
    "TypedText": ("omnigraph.write.records", "TypedText"),
    "copy": ("omnigraph.graph", "copy"),
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
