"""The handle of an open graph, and the two ways to get one.

    init(uri, schema=...) ──┐
                            ├──> Graph ── load, query, explain, export, table, snapshot, commits, maintain, bulk
    open(uri, mode=...) ────┘

It is a context manager, it pickles, and threads may share it.
"""

from __future__ import annotations

from omnigraph.graph.handle import Graph
from omnigraph.graph.opening import init, open
from omnigraph.graph.schema import Schema
from omnigraph.history.commit_listing import Commits

__all__ = ["Commits", "Graph", "Schema", "init", "open"]
