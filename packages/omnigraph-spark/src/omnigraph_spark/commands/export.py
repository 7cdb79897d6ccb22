"""``omnigraph spark export``: a graph as Parquet or JSONL files, written by many tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from omnigraph_cli.verbs import (
    ExitCode,
    GraphPlace,
    Session,
    VerbResult,
    branch_option,
    global_options,
    json_option,
    key_values,
    moment,
    storage_options,
)
from omnigraph_spark.commands.running import running_spark, spark_options

if TYPE_CHECKING:
    from omnigraph_spark import ExportProgress, ExportResult

_EXAMPLES = """\b
Examples:
  omnigraph spark export films.omni films-parquet
  omnigraph spark export films.omni films-jsonl --format jsonl --type Film --type edge:Rented
  omnigraph spark export s3://graphs/films s3://lake/films --overwrite --master 'local[4]'
"""


@click.command(epilog=_EXAMPLES)
@click.argument("uri")
@click.argument("target")
@click.option(
    "--format",
    "form",
    type=click.Choice(["parquet", "jsonl"]),
    default="parquet",
    show_default=True,
    help="parquet: a directory of files for each type. jsonl: lines as `omnigraph export` prints them.",
)
@branch_option
@click.option("--snapshot", "--at", metavar="ID", help="As it was at a commit, or at a version of the manifest.")
@click.option(
    "--type",
    "types",
    metavar="NAME",
    multiple=True,
    help="Only this node type or edge type; node:NAME and edge:NAME tell two of one name apart. Repeatable.",
)
@click.option("--overwrite", is_flag=True, help="Take the place of an earlier export.")
@storage_options
@click.option(
    "--target-option",
    "target_options",
    metavar="KEY=VALUE",
    multiple=True,
    callback=key_values,
    help="A storage option of TARGET; without any, those of the graph count if both have one scheme. Repeatable.",
)
@spark_options
@json_option
@global_options
@click.pass_obj
def export(
    session: Session,
    uri: str,
    target: str,
    form: str,
    branch: str,
    snapshot: str | None,
    types: tuple[str, ...],
    overwrite: bool,
    options: dict[str, str],
    target_options: dict[str, str],
    master: str,
    conf: dict[str, str],
) -> ExitCode:
    """Write a graph to files with Spark.

    All of it is the graph at URI as it is at one commit. TARGET is a directory that all machines of the cluster see, or
    one on s3://. Parquet goes to nodes/NAME and edges/NAME in it, JSONL to part-NUMBER.jsonl; rows are in no order.
    `omnigraph spark load` reads both back. The file _export.json is written last: with it, TARGET is whole.

    Tasks that fail are tried again, and leave every row once. Storage options go with the tasks; what the environment
    gives has to be set on all machines.

    Exit code 0 when everything was written; 1 when there is no such graph, branch, commit or type, TARGET is there
    already, or something could not be read or written.
    """
    import omnigraph_spark

    place = GraphPlace.of(session, uri, options)
    goal = GraphPlace.of(session, target, target_options or _shared(place, target, options))
    at = None if snapshot is None else moment(snapshot)
    # Spark takes many times as long to start as it takes to see whether all of it is there.
    with place.open(session) as graph:
        graph.scans(list(types) or None, branch=branch, snapshot=at)
    session.narrate(f"export {place.uri} to {goal.uri} (Spark, {master})")
    try:
        with running_spark(session, master, conf) as spark, session.watching(f"exporting {place.uri}") as show:

            def report(progress: ExportProgress) -> None:
                show(f"exporting {place.uri}: {progress.bytes / 1e6:,.1f} MB, {progress.tasks:,} files in all")

            done = omnigraph_spark.export(
                spark,
                str(place.uri),
                str(goal.uri),
                format=form,
                branch=branch,
                snapshot=at,
                types=list(types) or None,
                overwrite=overwrite,
                options=place.options,
                target_options=goal.options,
                progress=report,
            )
    except KeyboardInterrupt as error:
        error.add_note(f"{goal.uri} is whole only if it has _export.json.")
        raise
    session.show(VerbResult(facts={"uri": str(place.uri), **done.to_dict()}, lines=_lines(place, done)))
    return ExitCode.DONE


def _shared(place: GraphPlace, target: str, options: Mapping[str, str]) -> Mapping[str, str]:
    """The options of the graph, for a target that the same backend serves."""
    from omnigraph.storage import parse_uri

    return options if parse_uri(target).scheme == place.uri.scheme else {}


def _lines(place: GraphPlace, done: ExportResult) -> tuple[tuple[str, str], ...]:
    counts = f"{_counted(sum(done.nodes.values()), 'node')} and {_counted(sum(done.edges.values()), 'edge')}"
    files = f"{_counted(len(done.files), 'file')} of {_counted(done.bytes, 'byte')}"
    return (
        ("exported", f"{place.uri} on branch {done.branch} to {done.target}: {counts}"),
        ("files", files),
        ("commit", done.commit_id),
    )


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
