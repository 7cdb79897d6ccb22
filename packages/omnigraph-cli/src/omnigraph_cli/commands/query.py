"""``omnigraph query``: the answer to a read, in the form that the next tool takes."""

from __future__ import annotations

import json
from typing import Any

import click

from omnigraph.errors import InvalidInputError
from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.graphs import GraphPlace, moment, storage_options
from omnigraph_cli.output.rows import FORMATS, row_lines
from omnigraph_cli.session import Session, global_options, json_option
from omnigraph_cli.sources import FILE, read_input, read_query, refuse_two_dashes

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
@click.argument("name", required=False)
@click.option("--query", metavar="FILE", type=FILE, help='Queries, a .gq file; "-" for stdin.')
@click.option("-e", "--expression", "text", metavar="TEXT", help="The query itself.")
@click.option("--name", "named", metavar="NAME", help="The same as NAME.")
@click.option("--params", metavar="JSON", help="Values of parameters, an object: names without $.")
@click.option("--params-file", metavar="FILE", type=FILE, help='The same from a file; "-" for stdin.')
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
@storage_options
@json_option
@global_options
@click.pass_obj
def query(
    session: Session,
    uri: str,
    name: str | None,
    query: str | None,
    text: str | None,
    named: str | None,
    params: str | None,
    params_file: str | None,
    branch: str | None,
    snapshot: str | None,
    shape: str,
    options: dict[str, str],
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
    if None not in (name, named) and name != named:
        raise click.UsageError(f"NAME is {name} and --name is {named}: give one.", click.get_current_context())
    refuse_branch_and_snapshot(branch, snapshot)
    refuse_two_dashes(query, params_file)
    source = read_query(query, text)
    values = read_params(params, params_file)
    place = GraphPlace.of(session, uri, options)
    at = None if snapshot is None else moment(snapshot)
    with place.open(session) as graph, session.working(f"reading {place.uri}"):
        result = graph.query(source, name or named, params=values, branch=branch, snapshot=at)
    if session.as_json or shape == "json":
        session.as_json = True
        session.show(result)
    else:
        session.stream(row_lines(result, shape))
    return ExitCode.DONE


def refuse_branch_and_snapshot(branch: str | None, snapshot: str | None) -> None:
    """A commit is on its branch already."""
    if branch is not None and snapshot is not None:
        raise click.UsageError("Give --branch or --snapshot, not both.", click.get_current_context())


def read_params(given: str | None, path: str | None) -> dict[str, Any] | None:
    """The parameters that ``--params`` or ``--params-file`` gives.

    Raises:
        InvalidInputError: they are no JSON object.
        click.UsageError: both were given.
    """
    if given is not None and path is not None:
        raise click.UsageError("Give --params or --params-file, not both.", click.get_current_context())
    text = given if path is None else read_input(path).text
    if text is None:
        return None
    name = path or "--params"
    try:
        values = json.loads(text)
    except ValueError as error:
        raise InvalidInputError(
            f"{name} is no JSON: {error}.", help='Write an object, such as {"since": "2025-01-01"}.'
        ) from None
    if values is not None and not isinstance(values, dict):
        raise InvalidInputError(f"{name} is no JSON object.", help='Write one, such as {"since": "2025-01-01"}.')
    return values
