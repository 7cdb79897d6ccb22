"""``init`` and ``open``: from a URI to a ``Graph``; ``copy``; and ``discard_sidecar``, for what is in the way."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from omnigraph.cancellation import TimeLimit, patient
from omnigraph.graph.handle import Graph
from omnigraph.graph.inputs import read_schema
from omnigraph.plugins import open_adapter
from omnigraph.write.copying import CopyResult, check_source, copy_graph
from omnigraph.write.init import init_graph
from omnigraph.write.names import check_name
from omnigraph.write.opening import open_repository
from omnigraph.write.recovery.discarding import DiscardedSidecar, discard


def init(
    uri: str | Path,
    *,
    schema: str | Path,
    actor: str | None = None,
    options: Mapping[str, Any] | None = None,
    force: bool = False,
) -> Graph:
    """Make a graph at a place that has none, and open it for reading and writing.

    Args:
        uri: a directory, ``s3://bucket/prefix``, ``memory://name``, or what an installed plugin serves.
        schema: the text of a schema, or the path of its file; a text that ends in ``.pg`` is the name of one.
        actor: who makes it, and who writes through this handle unless a call says otherwise.
        options: what the backend needs beside the URI; see ``omnigraph plugins``.
        force: go on although an init that was cut off left its claim here.

    Raises:
        CompileError: the schema is wrong; every mistake is told, and nothing was written.
        AlreadyExistsError: there is a graph, or another init is under way.
        ForkedProcessError: this process was forked from one that had used a graph.
    """
    check_name(actor, "actor")
    text = read_schema(schema)
    adapter = open_adapter(uri, options=options)
    try:
        with patient():
            repository = init_graph(adapter, text, actor=actor, force=force)
    except BaseException:
        adapter.close()
        raise
    return Graph(repository, actor=actor)


def open(
    uri: str | Path,
    *,
    mode: Literal["r", "rw"] = "rw",
    actor: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Graph:
    """Open a graph; with mode ``"r"`` nothing is written, whatever happens.

    Raises:
        NotFoundError: there is no graph.
        FormatError: it is of another format, or damaged.
        RecoveryRequiredError: for writing, and the plan of a write that was cut off cannot be acted on.
        ForkedProcessError: this process was forked from one that had used a graph.
    """
    check_name(actor, "actor")
    with patient():
        return Graph(open_repository(uri, mode=mode, options=options), actor=actor)


def copy(
    source: str | Path,
    target: str | Path,
    *,
    options: Mapping[str, Any] | None = None,
    source_options: Mapping[str, Any] | None = None,
    verify: bool = True,
    force: bool = False,
    deadline: float | None = None,
) -> CopyResult:
    """Copy a graph to a place where nothing is: every branch, tag and commit, with its ids, versions and indexes.

    Others may write to the graph meanwhile; the copy has what was published when it began, or a little more. When the
    call fails, or is given up, nothing is left at the target.

    Args:
        source: the graph.
        target: a directory, ``s3://bucket/prefix``, or what an installed plugin serves; not in memory.
        options: what the backend of the target needs, as for ``init``.
        source_options: what the backend of the source needs, as for ``open``.
        verify: read every file of the copy again and compare it with what was sent.
        force: remove what a copy that was cut off left at the target, and begin anew.
        deadline: seconds that the call may take; None is no bound.

    Raises:
        NotFoundError: there is no graph at the source.
        AlreadyExistsError: something is at the target, or a copy to there is under way.
        InvalidInputError: one of the places is in memory, or inside of the other one.
        FormatError: the source is damaged where main needs it; what other branches miss is told by the result.
        OutcomeUnknownError: the store stopped answering when the copy was about to exist.
        DeadlineError: it took longer than ``deadline``.
    """
    with TimeLimit(deadline, "copy"), open_adapter(source, mode="r", options=source_options, verify=False) as here:
        check_source(here)
        with open_adapter(target, options=options, verify=False) as there:
            return copy_graph(here, there, force=force, verify=verify)


def discard_sidecar(
    uri: str | Path, operation_id: str, *, options: Mapping[str, Any] | None = None
) -> DiscardedSidecar:
    """Move the plan of a write aside that cannot be acted on and keeps the graph from being opened for writing.

    No table is touched. The plan goes to ``__quarantine/``; nothing is deleted.

    Args:
        uri: the graph.
        operation_id: as ``g.recoveries.pending()`` tells it of one whose state is ``refused``.
        options: as for ``open``.

    Raises:
        InvalidInputError: the plan is whole, so a recovery acts on it: open the graph for writing.
        NotFoundError: there is no graph, or no such plan.
        FormatError: the graph is of another format, or damaged.
    """
    # For reading: neither a recovery nor anything else is to happen on the way.
    with Graph(open_repository(uri, mode="r", options=options)) as graph:
        graph_id = graph.snapshot().schema.ir.domain
    with open_adapter(uri, options=options, verify=False) as adapter:
        return discard(adapter, operation_id, graph=graph_id)
