"""``omnigraph lint``: is this schema right, and do these queries fit it?"""

from __future__ import annotations

import click

from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.output.language_results import LintResult
from omnigraph_cli.session import Session, global_options, json_option
from omnigraph_cli.sources import FILE, read_input, refuse_two_dashes

_EXAMPLES = """\b
Examples:
  omnigraph lint --schema library.pg
  omnigraph lint --schema library.pg --query loans.gq
  omnigraph lint --schema library.pg --query loans.gq --json
  generate-queries | omnigraph lint --schema library.pg --query -
"""


@click.command(options_metavar="--schema FILE [--query FILE] [OPTIONS]", epilog=_EXAMPLES)
@click.option("--schema", required=True, metavar="FILE", type=FILE, help="The schema, a .pg file.")
@click.option("--query", metavar="FILE", type=FILE, help="Queries to check against it, a .gq file.")
@json_option
@global_options
@click.pass_obj
def lint(session: Session, schema: str, query: str | None) -> ExitCode:
    """Check a schema, and queries against it, without a graph.

    Every mistake of the files is told in one run, with its place and a code; docs/reference/errors.md lists the codes.
    Queries are checked against the schema when both files can be read and the schema has no error. One of the files
    may be "-", standard input.

    With --json each query that is right also tells its operation: the columns it gives and the types it reads and
    writes.

    Exit code 0 when there is no error, warnings or not; 3 when there is one.
    """
    from omnigraph.query.lint import lint as examine

    refuse_two_dashes(schema, query)
    schema_source = read_input(schema)
    report = examine(schema_source, None if query is None else read_input(query))
    session.show(LintResult(report))
    return ExitCode.DONE if report.is_ok else ExitCode.INVALID_INPUT
