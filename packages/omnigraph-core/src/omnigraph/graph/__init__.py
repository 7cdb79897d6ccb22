"""The handle of an open graph, the two ways to get one, and what to do when there is a plan in the way.

    init(uri, schema=...) ──┐
                            ├──> Graph ── load, query, export, branches, diff, commits, changes, maintain, bulk
    open(uri, mode=...) ────┘

It is a context manager, it pickles, and threads may share it.
"""

from __future__ import annotations

from omnigraph.graph.changes import Changes
from omnigraph.graph.handle import Graph
from omnigraph.graph.opening import copy, discard_sidecar, init, open
from omnigraph.graph.schema import Schema
from omnigraph.history.commit_listing import Commits
from omnigraph.write.branches import Branches
from omnigraph.write.recovery.listing import Recoveries
from omnigraph.write.tags import Tags

__all__ = [
    "Branches",
    "Changes",
    "Commits",
    "Graph",
    "Recoveries",
    "Schema",
    "Tags",
    "copy",
    "discard_sidecar",
    "init",
    "open",
]
