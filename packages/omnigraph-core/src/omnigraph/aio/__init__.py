"""Graphs in asynchronous code: the verbs of ``omnigraph.Graph``, awaited.

    async with await aio.open(uri) as g:
        found = await g.query(source)

A thin front: each call runs in a thread of its graph, and the event loop never waits. A call whose task is cancelled is
told so, and the await ends when it has ended: nothing happens afterwards, and a write happened whole or not at all.
"""

from __future__ import annotations

from omnigraph.aio.changes import AsyncChanges
from omnigraph.aio.comparing import AsyncDiff
from omnigraph.aio.handle import AsyncGraph, AsyncMaintenance, AsyncRecoveries, AsyncSchema
from omnigraph.aio.history import AsyncBranches, AsyncCommits, AsyncTags
from omnigraph.aio.opening import copy, init, open

__all__ = [
    "AsyncBranches",
    "AsyncChanges",
    "AsyncCommits",
    "AsyncDiff",
    "AsyncGraph",
    "AsyncMaintenance",
    "AsyncRecoveries",
    "AsyncSchema",
    "AsyncTags",
    "copy",
    "init",
    "open",
]
