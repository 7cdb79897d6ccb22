"""OmniGraph and Spark: bulk loads as one commit, graphs as DataFrames, changes as a stream.

This module is the front door: what stands here is for everybody, and is loaded when it is first used. No module of the
package is called as anything here: once imported, it would stand in its place.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph_spark.exporting import ExportProgress, ExportResult, export
    from omnigraph_spark.frames import edges, nodes, query, read
    from omnigraph_spark.loading import load, write
    from omnigraph_spark.sessions import session
    from omnigraph_spark.sinks import by_column, sink

__all__ = [
    "ExportProgress",
    "ExportResult",
    "by_column",
    "edges",
    "export",
    "load",
    "nodes",
    "query",
    "read",
    "session",
    "sink",
    "write",
]

_HOME = {
    "ExportProgress": "omnigraph_spark.exporting",
    "ExportResult": "omnigraph_spark.exporting",
    "by_column": "omnigraph_spark.sinks",
    "edges": "omnigraph_spark.frames",
    "export": "omnigraph_spark.exporting",
    "load": "omnigraph_spark.loading",
    "nodes": "omnigraph_spark.frames",
    "query": "omnigraph_spark.frames",
    "read": "omnigraph_spark.frames",
    "session": "omnigraph_spark.sessions",
    "sink": "omnigraph_spark.sinks",
    "write": "omnigraph_spark.loading",
}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)
