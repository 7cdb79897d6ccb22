"""``omnigraph explain``: how would this query be answered?"""

from __future__ import annotations

import click

from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.output.language_results import ExplainResult
from omnigraph_cli.session import Session, global_options, json_option
from omnigraph_cli.sources import FILE, read_input, refuse_two_dashes

_EXAMPLES = """\b
Examples:
  omnigraph explain --schema library.pg --query loans.gq --name at_home
  omnigraph explain --schema library.pg --query loans.gq --name at_home --json
"""


@click.command(options_metavar="--schema FILE --query FILE [--name NAME] [OPTIONS]", epilog=_EXAMPLES)
@click.option("--schema", required=True, metavar="FILE", type=FILE, help="The schema, a .pg file.")
@click.option("--query", required=True, metavar="FILE", type=FILE, help="The query, in a .gq file.")
@click.option("--name", metavar="NAME", help="Which query of the file; needed when there are several.")
@json_option
@global_options
@click.pass_obj
def explain(session: Session, schema: str, query: str, name: str | None) -> ExitCode:
    """Show the plan of a query, without a graph.

    One operator per line; what it reads from stands below it, further in. The first line has the parameters and the
    columns of the result. One of the files may be "-", standard input.

    Exit code 0 when there is a plan, 3 when the schema or the query is wrong.
    """
    import omnigraph
    from omnigraph.query import compile_query
    from omnigraph.schema import compile_schema

    refuse_two_dashes(schema, query)
    catalog = compile_schema(read_input(schema))
    source = read_input(query)
    chosen = compile_query(source, catalog, name).name
    session.show(
        ExplainResult(query_path=source.name, query_name=chosen, plan=omnigraph.explain(source, catalog, name=chosen))
    )
    return ExitCode.DONE
