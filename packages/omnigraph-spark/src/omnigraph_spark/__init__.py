"""OmniGraph and Spark: bulk loads as one commit, graphs as DataFrames, changes as a stream.

This module is the front door: what stands here is for everybody, and is loaded when it is first used. No module of the
package is called as anything here: once imported, it would stand in its place.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph_spark.frames import edges, nodes, query, read
    from omnigraph_spark.loading import load
    from omnigraph_spark.sessions import session
    from omnigraph_spark.sinks import by_column, sink

__all__ = ["by_column", "edges", "load", "nodes", "query", "read", "session", "sink"]

_HOME = {
    "by_column": "omnigraph_spark.sinks",
    "edges": "omnigraph_spark.frames",
    "load": "omnigraph_spark.loading",
    "nodes": "omnigraph_spark.frames",
    "query": "omnigraph_spark.frames",
    "read": "omnigraph_spark.frames",
    "session": "omnigraph_spark.sessions",
    "sink": "omnigraph_spark.sinks",
}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)
