"""``omnigraph snapshot``: what is in a graph, now or at an earlier moment."""

from __future__ import annotations

import click

from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.graphs import GraphPlace, branch_option, moment, storage_options
from omnigraph_cli.output.graph_results import SnapshotResult
from omnigraph_cli.session import Session, global_options, json_option

_EXAMPLES = """\b
Examples:
  omnigraph snapshot films.omni
  omnigraph snapshot films.omni --at 2
  omnigraph snapshot s3://bucket/films --at 01KA7X3J8Q0000000000000000 --json
"""


@click.command(epilog=_EXAMPLES)
@click.argument("uri")
@branch_option
@click.option("--at", metavar="ID", help="As it was at a commit, or at a version of the manifest.")
@storage_options
@json_option
@global_options
@click.pass_obj
def snapshot(session: Session, uri: str, branch: str, at: str | None, options: dict[str, str]) -> ExitCode:
    """Show what is in a graph, now or earlier.

    Every type of the graph at URI with the number of its nodes or edges. Nothing but the manifest is read, however
    large the graph is.

    Exit code 0 when there is such a state, 1 when there is no such graph, branch, commit or version.
    """
    place = GraphPlace.of(session, uri, options)
    with place.open(session) as graph, session.working(f"reading {place.uri}"):
        found = graph.snapshot(branch, at=None if at is None else moment(at))
    session.show(SnapshotResult(uri=graph.uri, snapshot=found))
    return ExitCode.DONE
