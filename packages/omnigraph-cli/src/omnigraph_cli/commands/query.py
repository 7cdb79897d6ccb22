"""``omnigraph query``: the answer to a read, in the form that the next tool takes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.graphs import GraphPlace, deadline_option, moment, refuse_branch_and_snapshot, storage_options
from omnigraph_cli.output.rows import FORMATS, row_lines
from omnigraph_cli.queries import GivenQuery, query_options
from omnigraph_cli.session import Session, global_options, json_option

if TYPE_CHECKING:
    from omnigraph import QueryBudget

_EXAMPLES = """\b
Examples:
  omnigraph query films.omni demand --query examples/films/queries.gq --params '{"since": "2025-10-01"}'
  omnigraph query films.omni -e 'query all() { match { $f: Film } return { $f.title } }'
  omnigraph query films.omni overlooked --query examples/films/queries.gq \\
      --params '{"stars": 4.0}' --format csv > overlooked.csv
  omnigraph query films.omni directed_by --query examples/films/queries.gq \\
      --params '{"who": "jakub.dvorak"}' --snapshot 2 --json
"""


@click.command(options_metavar="[--query FILE | -e TEXT] [OPTIONS]", epilog=_EXAMPLES)
@click.argument("uri")
@query_options
@click.option("--branch", metavar="NAME", help="Which branch.  [default: main]")
@click.option("--snapshot", "--at", metavar="ID", help="As it was at a commit, or at a version of the manifest.")
@click.option(
    "--format",
    "shape",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="How rows are printed; --json is the same as --format json.",
)
@deadline_option
@storage_options
@json_option
@global_options
@click.pass_obj
def query(
    session: Session,
    /,
    uri: str,
    branch: str | None,
    snapshot: str | None,
    shape: str,
    deadline: float | None,
    options: dict[str, str],
    **words: str | None,
) -> ExitCode:
    """Run a read of the graph at URI, on one snapshot.

    NAME says which query, when there are several. Rows come in the order that the query asks for.

    \b
    json    one document: query_name, target, row_count, columns, rows, graph_commit_id
    jsonl   a line of metadata, then one row per line
    csv     a header, then one row per line; null is bare, the text "null" quoted, a list JSON
    kv      one block per row, one column per line; control characters shown as \\n, \\x1b
    table   the same in columns; long cells are cut

    Exit code 0 also when no row matches; 1 when there is no such graph, branch or commit, or the query passed a limit;
    3 when the query or a parameter is wrong.
    """  # noqa: D301 - click looks for the character \b itself, which a raw string cannot hold
    refuse_branch_and_snapshot(branch, snapshot)
    given = GivenQuery.of(**words)
    place = GraphPlace.of(session, uri, options)
    at = None if snapshot is None else moment(snapshot)
    with place.open(session) as graph, session.working(f"reading {place.uri}"):
        result = graph.query(
            given.source, given.name, params=given.params, branch=branch, snapshot=at, budget=_budget(deadline)
        )
    if session.as_json or shape == "json":
        session.as_json = True
        session.show(result)
    else:
        session.stream(row_lines(result, shape))
    return ExitCode.DONE


def _budget(deadline: float | None) -> QueryBudget | None:
    """The budget of the environment with another deadline."""
    if deadline is None:
        return None
    from omnigraph import QueryBudget
    from omnigraph.config import Settings

    return replace(QueryBudget.of(Settings.from_environment()), deadline=deadline)
