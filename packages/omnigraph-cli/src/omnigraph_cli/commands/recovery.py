"""``omnigraph recovery``: writes that were cut off, and what is done about them."""

from __future__ import annotations

import click

from omnigraph.errors import RecoveryRequiredError
from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.graphs import GraphPlace, storage_options
from omnigraph_cli.lazy_group import LazyGroup
from omnigraph_cli.output.recovery_results import DiscardedResult, RecoveriesResult
from omnigraph_cli.session import Session, global_options, json_option

_GROUP_EXAMPLES = """\b
Examples:
  omnigraph recovery list films.omni
  omnigraph recovery run films.omni
"""
_LIST_EXAMPLES = """\b
Examples:
  omnigraph recovery list films.omni
  omnigraph recovery list films.omni --commit 01KA7X3J8Q0000000000000000 --json
"""
_RUN_EXAMPLES = """\b
Examples:
  omnigraph recovery run films.omni
  omnigraph recovery run s3://bucket/films --json
"""
_DISCARD_EXAMPLES = """\b
Examples:
  omnigraph recovery discard films.omni 01KA7X3J8Q0000000000000000
"""


@click.group(cls=LazyGroup, epilog=_GROUP_EXAMPLES)
@json_option
@global_options
def recovery() -> None:
    """Look at writes that were cut off, and settle them.

    Nobody has to: whoever opens the graph for writing settles them first.
    """


@recovery.command("list", epilog=_LIST_EXAMPLES)
@click.argument("uri")
@click.option("--commit", metavar="ID", help="Only what is about this commit.")
@storage_options
@json_option
@global_options
@click.pass_obj
def list_recoveries(session: Session, uri: str, commit: str | None, options: dict[str, str]) -> ExitCode:
    """List writes that were cut off: pending ones, then settled ones.

    A pending one is "cut off" when its process is gone or gave it up, "unknown" when it may live, and "refused" when
    its plan cannot be acted on, with the reason. A settled one was "rolled forward": its commit is there; or "rolled
    back": nothing of it is, unless the line says that its writer published it afterwards; or its branch is gone. The
    id behind it names the write. Bulk loads that take long come last, "under way", "cut off" or "unknown", with their
    names. Nothing is written.

    Exit code 0 also when there is none.
    """
    place = GraphPlace.of(session, uri, options)
    with place.open(session) as graph, session.working(f"reading {place.uri}"):
        pending = tuple(each for each in graph.recoveries.pending() if commit in (None, each.graph_commit_id))
        settled = tuple(graph.recoveries.list(commit=commit))
        loads = tuple(graph.recoveries.loads()) if commit is None else ()
    none = f"no write to {graph.uri} was cut off{'' if commit is None else f' that was to make commit {commit}'}"
    session.show(RecoveriesResult(uri=graph.uri, pending=pending, recoveries=settled, loads=loads, none=none))
    return ExitCode.DONE


@recovery.command("run", epilog=_RUN_EXAMPLES)
@click.argument("uri")
@storage_options
@json_option
@global_options
@click.pass_obj
def run_recovery(session: Session, uri: str, options: dict[str, str]) -> ExitCode:
    """Finish or take back every write of the graph at URI that was cut off.

    It is what opening for writing does, with a report. A writer that may live is waited for until it shows no life for
    as long as OMNIGRAPH_RECOVERY_PATIENCE says; one that lives is left alone, and listed.

    Exit code 0 when nothing is left that could be settled, 1 when a plan cannot be acted on; all others are settled
    then.
    """
    place = GraphPlace.of(session, uri, options)
    place.announce(session, "recovery run")
    try:
        with place.open(session, "rw") as graph:
            settled, pending = tuple(graph.recoveries.settled()), tuple(graph.recoveries.pending())
    except RecoveryRequiredError as error:
        error.add_note(f"All that can be acted on are settled: omnigraph recovery list {place.uri}")
        raise
    none = f"no write to {graph.uri} is left that was cut off"
    session.show(RecoveriesResult(uri=graph.uri, pending=pending, recoveries=settled, none=none))
    return ExitCode.DONE


@recovery.command("discard", epilog=_DISCARD_EXAMPLES)
@click.argument("uri")
@click.argument("operation_id")
@storage_options
@json_option
@global_options
@click.pass_obj
def discard(session: Session, uri: str, operation_id: str, options: dict[str, str]) -> ExitCode:
    """Move the plan of a write aside that cannot be acted on.

    Only for one that `omnigraph recovery list` shows as "refused": it is damaged or of a newer release, and keeps the
    graph at URI from being opened for writing; or it is of another graph, and in nobody's way. It goes to
    __quarantine/, and no table is touched. Do not discard the plan of a newer release whose writer may still be at
    work.

    Exit code 0 when it was moved, 1 when there is no such plan, 3 when it is whole and therefore for a recovery.
    """
    import omnigraph

    place = GraphPlace.of(session, uri, options)
    place.announce(session, "recovery discard")
    with session.working(f"opening {place.uri}"):
        discarded = omnigraph.discard_sidecar(str(place.uri), operation_id, options=place.options)
    session.show(DiscardedResult(uri=str(place.uri), discarded=discarded))
    return ExitCode.DONE
