"""``omnigraph schema``: what would it take to get from one schema to another?"""

from __future__ import annotations

from typing import Final

import click

from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.lazy_group import LazyGroup
from omnigraph_cli.output.language_results import MigrationResult
from omnigraph_cli.session import Session, global_options, json_option
from omnigraph_cli.sources import FILE, read_input, refuse_two_dashes

_NO_GRAPH: Final = "0" * 26
"""The identity domain of a comparison without a graph; it is stored nowhere."""

_EXAMPLES = """\b
Examples:
  omnigraph schema plan --from library.pg --schema library-next.pg
  git show HEAD:library.pg | omnigraph schema plan --from - --schema library.pg --json
"""


@click.group(cls=LazyGroup, epilog="\b\nExamples:\n  omnigraph schema plan --from library.pg --schema library-next.pg")
@json_option
@global_options
def schema() -> None:
    """Compare schemas."""


@schema.command(options_metavar="--from FILE --schema FILE [OPTIONS]", epilog=_EXAMPLES)
@click.option("--from", "accepted", required=True, metavar="FILE", type=FILE, help="The schema as it is, a .pg file.")
@click.option("--schema", "desired", required=True, metavar="FILE", type=FILE, help="The schema as it shall be.")
@click.option(
    "--allow-data-loss",
    is_flag=True,
    help="Plan drops as hard ones, which also take what is dropped out of older versions.",
)
@json_option
@global_options
@click.pass_obj
def plan(session: Session, accepted: str, desired: str, allow_data_loss: bool) -> ExitCode:
    """List the steps from one schema to another, without a graph.

    Nothing is written. A type or property that changed its name is recognised by @rename_from("OldName"); without it
    the old one is dropped and a new one added. One of the files may be "-", standard input.

    Exit code 0 when every step is supported, also when there is none; 3 when one is not, or a schema has errors.
    """
    from omnigraph.lang import Report
    from omnigraph.schema import compile_schema
    from omnigraph.schema.diff import plan_migration
    from omnigraph.schema.identity import assign_identities, resolve_identities

    refuse_two_dashes(accepted, desired)
    before_source, after_source = read_input(accepted), read_input(desired)
    before = assign_identities(compile_schema(before_source), _NO_GRAPH)
    report = Report(after_source)
    after = resolve_identities(compile_schema(after_source), before, report)
    report.raise_if_errors()
    found = plan_migration(before, after, allow_data_loss=allow_data_loss)
    session.show(
        MigrationResult(
            accepted_path=before_source.name,
            desired_path=after_source.name,
            plan=found,
            diagnostics=report.in_order(),
        )
    )
    return ExitCode.DONE if found.supported else ExitCode.INVALID_INPUT
