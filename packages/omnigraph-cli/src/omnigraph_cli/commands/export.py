"""``omnigraph export``: a graph as JSONL, as it is or as it was."""

from __future__ import annotations

import click

from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.graphs import GraphPlace, branch_option, deadline_option, moment, storage_options
from omnigraph_cli.session import Session, global_options, json_option

_EXAMPLES = """\b
Examples:
  omnigraph export films.omni > films.jsonl
  omnigraph export films.omni --type Film --type edge:Rented
  omnigraph export films.omni --snapshot 01KA7X3J8Q0000000000000000 | gzip > old.jsonl.gz
"""


@click.command(epilog=_EXAMPLES)
@click.argument("uri")
@branch_option
@click.option("--snapshot", "--at", metavar="ID", help="As it was at a commit, or at a version of the manifest.")
@click.option(
    "--type",
    "types",
    metavar="NAME",
    multiple=True,
    help="Only this node type or edge type; node:NAME and edge:NAME tell two of one name apart. Repeatable.",
)
@deadline_option
@storage_options
@json_option
@global_options
@click.pass_obj
def export(
    session: Session,
    uri: str,
    branch: str,
    snapshot: str | None,
    types: tuple[str, ...],
    deadline: float | None,
    options: dict[str, str],
) -> ExitCode:
    """Print a graph as JSONL.

    Every edge and node of the graph at URI is one JSON object on a line of its own, in UTF-8; `omnigraph load` reads
    it back. Edge types come first, then node types, each by name; rows by ascending id. The
    same rows give the same text. Lines are printed as they are read, all of one commit.

    The lines are JSON already; with --json an error that comes before the first line is a document on stdout, and a
    later one a document on stderr.

    Exit code 0 when everything was printed, 1 when there is no such graph, branch, commit or type, or it
    took longer than --deadline.
    """
    place = GraphPlace.of(session, uri, options)
    at = None if snapshot is None else moment(snapshot)
    with place.open(session) as graph:
        session.stream(graph.export(branch=branch, snapshot=at, types=list(types) or None, deadline=deadline))
    return ExitCode.DONE
