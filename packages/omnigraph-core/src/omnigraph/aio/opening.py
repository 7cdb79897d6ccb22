"""``init`` and ``open``, awaited: from a URI to an ``AsyncGraph``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from omnigraph.aio.calls import THREADS, CallThreads
from omnigraph.aio.handle import AsyncGraph

if TYPE_CHECKING:
    from omnigraph.graph import Graph


async def init(
    uri: str | Path,
    *,
    schema: str | Path,
    actor: str | None = None,
    options: Mapping[str, Any] | None = None,
    force: bool = False,
    threads: int = THREADS,
) -> AsyncGraph:
    """Make a graph and open it, as ``omnigraph.init``; ``threads`` bounds how many of its calls run at a time.

    When it is cancelled there is no graph, or a whole one.
    """

    def make() -> Graph:
        # Arrow and Lance are imported with it, which takes long and is done in the thread for that reason.
        from omnigraph import graph

        return graph.init(uri, schema=schema, actor=actor, options=options, force=force)

    return await _open(make, threads)


async def open(
    uri: str | Path,
    *,
    mode: Literal["r", "rw"] = "rw",
    actor: str | None = None,
    options: Mapping[str, Any] | None = None,
    threads: int = THREADS,
) -> AsyncGraph:
    """Open a graph, as ``omnigraph.open``; ``threads`` bounds how many of its calls run at a time."""

    def make() -> Graph:
        from omnigraph import graph

        return graph.open(uri, mode=mode, actor=actor, options=options)

    return await _open(make, threads)


async def _open(make: Callable[[], Graph], count: int) -> AsyncGraph:
    threads = CallThreads(count)
    try:
        graph = await threads.run(make, undo=lambda made: made.close())
    except BaseException:
        await threads.close()
        raise
    return AsyncGraph(graph, threads)
