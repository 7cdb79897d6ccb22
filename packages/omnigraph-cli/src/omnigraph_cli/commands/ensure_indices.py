"""``omnigraph ensure-indices``: every declared index exists and covers every row."""

from __future__ import annotations

import click

from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.graphs import GraphPlace, actor_option, branch_option, deadline_option, storage_options
from omnigraph_cli.output.graph_results import IndexedResult
from omnigraph_cli.session import Session, global_options, json_option

_EXAMPLES = """\b
Examples:
  omnigraph ensure-indices films.omni
  omnigraph ensure-indices s3://bucket/films --json
"""


@click.command("ensure-indices", epilog=_EXAMPLES)
@click.argument("uri")
@branch_option
@actor_option
@deadline_option
@storage_options
@json_option
@global_options
@click.pass_obj
def ensure_indices(
    session: Session, uri: str, branch: str, actor: str | None, deadline: float | None, options: dict[str, str]
) -> ExitCode:
    """Build the indexes that the schema declares.

    Those that are missing are built, and those that do not cover every row are extended, in one commit of the graph
    at URI; when there is nothing to do, nothing is written. Reads are right without indexes, and slower. What cannot
    be built yet is told with the reason.

    Exit code 0 when every index that can be built covers every row; 1 when it took longer than --deadline. The
    building of one index is not cut off.
    """
    place = GraphPlace.of(session, uri, options)
    place.announce(session, "ensure-indices")
    with place.open(session, "rw", actor=actor) as graph, session.working(f"indexing {place.uri}"):
        report = graph.maintain.ensure_indices(branch, deadline=deadline)
    session.show(IndexedResult(uri=graph.uri, report=report))
    return ExitCode.DONE
