"""``omnigraph repair``: put right what other tools did to the files of a graph."""

from __future__ import annotations

import click

from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.graphs import GraphPlace, deadline_option, storage_options
from omnigraph_cli.output.copy_results import RepairedResult
from omnigraph_cli.session import Session, global_options, json_option

_EXAMPLES = """\b
Examples:
  omnigraph repair films.omni --relocate
  omnigraph repair s3://bucket/films --relocate --json
"""


@click.command(epilog=_EXAMPLES)
@click.argument("uri")
@click.option("--relocate", is_flag=True, help="Its files were moved or copied: let its branches name the new place.")
@deadline_option
@storage_options
@json_option
@global_options
@click.pass_obj
def repair(session: Session, uri: str, relocate: bool, deadline: float | None, options: dict[str, str]) -> ExitCode:
    """Put right what other tools did to the files of a graph.

    With --relocate: the files of the graph at URI were moved or copied by mv, cp, aws s3 sync or another tool that does
    not know of branches, and each branch says so when it is read. They are let name their files where these are now.
    Nothing else changes: rows, commits, tags and indexes are what they were. Repeating it does no harm.

    Exit code 0 when every branch names its files here; 1 when it took longer than --deadline, or a version of a branch
    is damaged; what was done by then stays.
    """
    if not relocate:
        raise click.UsageError("Say what is to be put right: --relocate.", click.get_current_context())
    place = GraphPlace.of(session, uri, options)
    place.announce(session, "repair")
    with place.open(session, "rw") as graph, session.working(f"repairing {place.uri}"):
        report = graph.maintain.repair(relocate=relocate, deadline=deadline)
    session.show(RepairedResult(uri=graph.uri, report=report))
    return ExitCode.DONE
