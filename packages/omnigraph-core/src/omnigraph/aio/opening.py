"""``init`` and ``open``, awaited: from a URI to an ``AsyncGraph``; and ``copy``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from omnigraph.aio.calls import THREADS, CallThreads
from omnigraph.aio.handle import AsyncGraph

if TYPE_CHECKING:
    from omnigraph.graph import Graph
    from omnigraph.write.copying import CopyResult


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


async def copy(
    source: str | Path,
    target: str | Path,
    *,
    options: Mapping[str, Any] | None = None,
    source_options: Mapping[str, Any] | None = None,
    verify: bool = True,
    force: bool = False,
    deadline: float | None = None,
) -> CopyResult:
    """Copy a graph, as ``omnigraph.copy``. When it is cancelled nothing is left at the target."""

    def make() -> CopyResult:
        from omnigraph import graph

        return graph.copy(
            source,
            target,
            options=options,
            source_options=source_options,
            verify=verify,
            force=force,
            deadline=deadline,
        )

    threads = CallThreads(1)
    try:
        return await threads.run(make)
    finally:
        await threads.close()


async def _open(make: Callable[[], Graph], count: int) -> AsyncGraph:
    threads = CallThreads(count)
    try:
        graph = await threads.run(make, undo=lambda made: made.close())
    except BaseException:
        await threads.close()
        raise
    return AsyncGraph(graph, threads)
