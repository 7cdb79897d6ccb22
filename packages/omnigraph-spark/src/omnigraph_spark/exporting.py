"""``export``: a graph at one commit as Parquet or JSONL files, written by many tasks.

    snapshot ── scans ── tasks ── files of attempts ── those that tasks name are moved ── _export.json

One snapshot serves all types. Tasks may fail, be tried again and be run twice: the driver keeps one file for each, the
one that its result names. So the export has every row once, whatever happened on the way.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import omnigraph
from omnigraph.errors import InvalidInputError, StorageCondition, StorageError
from omnigraph.storage import StorageUri, parse_uri
from omnigraph_spark.export_target import ATTEMPTS, FOLDERS, MANIFEST, ExportTarget, OpenTarget
from omnigraph_spark.export_tasks import WRITTEN, ExportWork, Written, divide
from omnigraph_spark.task_errors import error_of_task

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, Row, SparkSession

    from omnigraph import Graph, Snapshot

FORMATS: Final = ("parquet", "jsonl")

LOOK_SECONDS: Final = 0.5
"""How often it is looked how far the tasks are, when somebody wants to know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportProgress:
    """How far an export is.

    Attributes:
        tasks: how many files there will be.
        bytes: that were written so far, by attempts that failed too.
    """

    tasks: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult:
    """What an export wrote.

    Attributes:
        target: the directory, as a URI.
        commit_id: the commit whose state it is.
        nodes: rows by node type.
        edges: rows by edge type.
        files: names below the target, in order.
        bytes: of all files together.
    """

    target: str
    format: str
    branch: str
    commit_id: str
    nodes: Mapping[str, int]
    edges: Mapping[str, int]
    total: int
    files: tuple[str, ...]
    bytes: int

    def to_dict(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "format": self.format,
            "branch": self.branch,
            "commit_id": self.commit_id,
            "nodes": dict(self.nodes),
            "edges": dict(self.edges),
            "total": self.total,
            "files": list(self.files),
            "bytes": self.bytes,
        }


def export(
    spark: SparkSession,
    graph: str | os.PathLike[str] | Graph,
    target: str | os.PathLike[str],
    *,
    format: str = "parquet",  # noqa: A002 - the word that users say
    branch: str = "main",
    snapshot: str | int | Snapshot | None = None,
    types: Sequence[str] | None = None,
    overwrite: bool = False,
    options: Mapping[str, Any] | None = None,
    target_options: Mapping[str, Any] | None = None,
    progress: Callable[[ExportProgress], None] | None = None,
) -> ExportResult:
    """Write a graph as it is at one commit to files, and say what was written.

    ``parquet`` makes a directory of files for each type, ``nodes/Film`` and ``edges/Rented``, with the columns of
    ``Graph.table``. ``jsonl`` makes files of the lines of ``Graph.export``. Both can be loaded; order is free.

    Args:
        spark: any session, one of Spark Connect too.
        graph: where the graph is, or an open one.
        target: a directory that all machines see, or one on ``s3://``.
        format: ``parquet`` or ``jsonl``.
        branch: the branch to read, as it is now.
        snapshot: a moment instead: a snapshot, the id of a commit or a version of the manifest.
        types: which node and edge types, as for ``Graph.export``; None is everything.
        overwrite: take the place of an earlier export.
        options: storage options of the graph, when it is named by where it is. They travel to the tasks; what the
            environment gives does not, there it has to be set.
        target_options: storage options of the target; by default ``options``, if both have one scheme.
        progress: called now and then, with an ``ExportProgress``.

    Raises:
        InvalidInputError: an argument is wrong.
        AlreadyExistsError: the target is there already.
        NotFoundError: there is no such graph, branch, commit or type.
        StorageError: something could not be read or written; the target is not whole then.
    """
    if format not in FORMATS:
        raise InvalidInputError(
            f"There is no export format {format!r}.",
            help=f"Use one of: {', '.join(FORMATS)}.",
            details={"format": str(format)},
        )
    with _opened(graph, options) as opened:
        place = _place(target, parse_uri(opened.uri), options, target_options)
        out = place.open()
        out.prepare(overwrite=overwrite)
        seen = opened.snapshot(branch, at=snapshot)
        scans = opened.scans(types, snapshot=seen)
    # A directory without a file would not say what its columns are.
    tasks = divide(scans, with_empty=format == "parquet")
    work = ExportWork(target=place, format=format, scans=scans, tasks=tasks)
    try:
        written = _run(spark, work, out, progress)
        out.clear()
        return _keep(work, out, written, branch=seen.branch.name, commit_id=seen.commit.id)
    finally:
        # They are in nobody's way; the error that came before them counts.
        with contextlib.suppress(StorageError):
            out.drop_attempts()


@contextlib.contextmanager
def _opened(graph: str | os.PathLike[str] | Graph, options: Mapping[str, Any] | None) -> Iterator[Graph]:
    if isinstance(graph, omnigraph.Graph):
        if options:
            raise InvalidInputError(
                "An open graph has its options already.", help="Leave options out, or name the graph by its URI."
            )
        yield graph
    else:
        with omnigraph.open(os.fspath(graph), mode="r", options=options) as opened:
            yield opened


def _place(
    target: str | os.PathLike[str],
    graph: StorageUri,
    options: Mapping[str, Any] | None,
    target_options: Mapping[str, Any] | None,
) -> ExportTarget:
    place = ExportTarget.of(target, target_options)
    if f"{place.uri}/".startswith(f"{graph}/"):
        raise InvalidInputError(
            f"{place.uri} is inside the graph.", help="Name another directory.", details={"uri": str(place.uri)}
        )
    if target_options is None and place.uri.scheme == graph.scheme:
        return ExportTarget.of(target, options)
    return place


def _run(
    spark: SparkSession, work: ExportWork, out: OpenTarget, progress: Callable[[ExportProgress], None] | None
) -> list[Written]:
    """Have the tasks done, each in a partition of its own; one result for each, however often it was tried."""
    if not work.tasks:
        return []
    numbers = spark.range(0, len(work.tasks), 1, numPartitions=len(work.tasks))
    results = numbers.mapInArrow(work.run, WRITTEN)
    try:
        rows = results.collect() if progress is None else _watched(spark, results, work, out, progress)
    except Exception as error:
        from pyspark.errors import PySparkException

        if not isinstance(error, PySparkException):
            raise
        found = error_of_task(error)
        if found is not None and not isinstance(found, StorageError):
            raise found from None
        again = "The target is not whole. See to the cause, and export again with overwrite=True."
        raise StorageError(
            f"A task of the export failed: {_told(error) if found is None else found.message}",
            condition=StorageCondition.UNKNOWN if found is None else found.condition,
            uri=str(work.target.uri) if found is None else found.uri,
            help=again if found is None or not found.help else f"{found.help} {again}",
        ) from (error if found is None else None)
    return sorted((Written(**row.asDict()) for row in rows), key=lambda each: each.task)


def _watched(
    spark: SparkSession,
    results: DataFrame,
    work: ExportWork,
    out: OpenTarget,
    progress: Callable[[ExportProgress], None],
) -> list[Row]:
    """``collect``, while it is looked now and then how much the attempts have written."""
    job: Future[list[Row]] = Future()
    seen = 0

    def collect() -> None:
        try:
            job.set_result(results.collect())
        # Whatever it is, it is raised where the result is asked for.
        except BaseException as error:  # noqa: BLE001
            job.set_exception(error)

    # Whoever interrupts does not wait for it.
    threading.Thread(target=collect, daemon=True).start()
    try:
        while not wait([job], LOOK_SECONDS).done:
            # That it cannot be looked at now does not keep the tasks from writing.
            with contextlib.suppress(StorageError):
                seen = sum(out.files(ATTEMPTS).values())
            progress(ExportProgress(tasks=len(work.tasks), bytes=seen))
    except BaseException:
        spark.interruptAll()
        raise
    return job.result()


def _told(error: PySparkException) -> str:
    """What the task said last, without the way it took."""
    lines = [line.strip() for line in str(error).splitlines() if re.match(r"[\w.]+(Error|Exception): ", line.strip())]
    return lines[-1].removeprefix("omnigraph.errors.") if lines else type(error).__name__


def _keep(
    work: ExportWork, out: OpenTarget, written: Sequence[Written], *, branch: str, commit_id: str
) -> ExportResult:
    """Make the files that the tasks named the export, and write down what it is."""
    counts: dict[str, int] = dict.fromkeys((scan.type_key for scan in work.scans), 0)
    names = []
    for done in written:
        type_key = work.scans[work.tasks[done.task].scan].type_key
        kind, _, type_name = type_key.partition(":")
        folder = f"{FOLDERS[kind]}/{type_name}/" if work.format == "parquet" else ""
        name = f"{folder}part-{done.task:05}.{work.format}"
        out.move(done.file, name)
        names.append(name)
        counts[type_key] += done.rows
    nodes, edges = (
        {key.partition(":")[2]: counts[key] for key in sorted(counts) if key.startswith(f"{kind}:")} for kind in FOLDERS
    )
    result = ExportResult(
        target=str(out.uri),
        format=work.format,
        branch=branch,
        commit_id=commit_id,
        nodes=nodes,
        edges=edges,
        total=sum(counts.values()),
        files=tuple(names),
        bytes=sum(done.bytes for done in written),
    )
    with out.writing(MANIFEST) as stream:
        stream.write(json.dumps(result.to_dict(), indent=2).encode() + b"\n")
    return result
