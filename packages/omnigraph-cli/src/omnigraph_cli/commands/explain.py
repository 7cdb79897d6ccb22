"""``omnigraph explain``: how would this query be answered?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.graphs import GraphPlace, moment, refuse_branch_and_snapshot, storage_options
from omnigraph_cli.output.graph_results import ExplanationResult
from omnigraph_cli.output.language_results import ExplainResult
from omnigraph_cli.queries import read_params, read_query
from omnigraph_cli.session import Session, global_options, json_option
from omnigraph_cli.sources import FILE, read_input, refuse_two_dashes

if TYPE_CHECKING:
    from omnigraph.lang import SourceText

_EXAMPLES = """\b
Examples:
  omnigraph explain --schema library.pg --query loans.gq --name at_home
  omnigraph explain --schema library.pg --query loans.gq --name at_home --json
  omnigraph explain films.omni --query examples/films/queries.gq --name demand
  omnigraph explain films.omni --query examples/films/queries.gq --name demand \\
      --params '{"since": "2025-10-01"}' --analyze
"""


@click.command(options_metavar="[--schema FILE] [--query FILE | -e TEXT] [OPTIONS]", epilog=_EXAMPLES)
@click.argument("uri", required=False)
@click.option("--schema", metavar="FILE", type=FILE, help="The schema, a .pg file, when there is no graph.")
@click.option("--query", metavar="FILE", type=FILE, help="The query, in a .gq file.")
@click.option("-e", "--expression", "text", metavar="TEXT", help="The query itself.")
@click.option("--name", metavar="NAME", help="Which query; needed when there are several.")
@click.option("--analyze", is_flag=True, help="Run it, and tell what each step took.")
@click.option("--params", metavar="JSON", help="Values of parameters, an object: names without $; for --analyze.")
@click.option("--params-file", metavar="FILE", type=FILE, help="The same from a file.")
@click.option("--branch", metavar="NAME", help="Which branch.  [default: main]")
@click.option("--snapshot", "--at", metavar="ID", help="As it was at a commit, or at a version of the manifest.")
@storage_options
@json_option
@global_options
@click.pass_obj
def explain(
    session: Session,
    uri: str | None,
    schema: str | None,
    query: str | None,
    text: str | None,
    name: str | None,
    analyze: bool,
    params: str | None,
    params_file: str | None,
    branch: str | None,
    snapshot: str | None,
    options: dict[str, str],
) -> ExitCode:
    """Show the plan of a query, with or without a graph.

    One operator per line; what it reads from stands below it, further in. The first line has the parameters and the
    columns of the result. One of the files may be "-", standard input.

    For the graph at URI each line also tells how many rows are expected, how traversals are run and why; below the
    plan stand the indexes that it can use, and those that are declared and not built yet. With --analyze the query is
    run, and each line tells its rows, time and bytes.

    Exit code 0 when there is a plan, 3 when the schema, the query or a parameter is wrong.
    """
    if (uri is None) == (schema is None):
        raise click.UsageError("Give a graph, or --schema FILE without one.", click.get_current_context())
    if uri is None:
        _refuse_without_graph(
            {
                "--analyze": analyze or None,
                "--params": params,
                "--params-file": params_file,
                "--branch": branch,
                "--snapshot": snapshot,
            }
        )
    refuse_branch_and_snapshot(branch, snapshot)
    refuse_two_dashes(schema, query, params_file)
    source = read_query(query, text)
    if schema is not None:
        session.show(_without_graph(read_input(schema), source, name))
        return ExitCode.DONE
    values = read_params(params, params_file)
    place = GraphPlace.of(session, uri or "", options)
    at = None if snapshot is None else moment(snapshot)
    with place.open(session) as graph, session.working(f"reading {place.uri}"):
        found = graph.explain(source, name, params=values, branch=branch, snapshot=at, analyze=analyze)
    session.show(ExplanationResult(uri=graph.uri, query_path=source.name, explanation=found))
    return ExitCode.DONE


def _refuse_without_graph(options: Mapping[str, object]) -> None:
    """What is about the data of a graph says nothing about a schema."""
    for name, value in options.items():
        if value is not None:
            raise click.UsageError(f"{name} needs a graph.", click.get_current_context())


def _without_graph(schema: SourceText, source: SourceText, name: str | None) -> ExplainResult:
    import omnigraph
    from omnigraph.query import compile_query
    from omnigraph.schema import compile_schema

    catalog = compile_schema(schema)
    chosen = compile_query(source, catalog, name).name
    plan = omnigraph.explain(source, catalog, name=chosen)
    return ExplainResult(query_path=source.name, query_name=chosen, plan=plan)
