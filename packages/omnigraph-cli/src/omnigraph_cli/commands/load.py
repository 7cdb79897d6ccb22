"""``omnigraph load``: records from a file to one commit."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.graphs import GraphPlace, deadline_option, storage_options
from omnigraph_cli.load_words import following_load, load_options, may_load
from omnigraph_cli.output.graph_results import LoadedResult
from omnigraph_cli.session import Session, global_options, json_option
from omnigraph_cli.sources import FILE, STANDARD_INPUT, refuse_unreadable

_EXAMPLES = """\b
Examples:
  omnigraph load films.omni --data seed.jsonl --mode append
  omnigraph load films.omni --data update.jsonl --mode merge --as ann
  omnigraph load films.omni --data draft.jsonl --mode append --branch review/2026 --from main
  omnigraph export old.omni | omnigraph load new.omni --data - --mode overwrite
"""


@click.command(options_metavar="--data FILE --mode MODE [OPTIONS]", epilog=_EXAMPLES)
@click.argument("uri")
@click.option("--data", required=True, metavar="FILE", type=FILE, help='Records, a JSONL file; "-" for stdin.')
@load_options
@deadline_option
@storage_options
@json_option
@global_options
@click.pass_obj
def load(
    session: Session,
    uri: str,
    data: str,
    mode: str,
    branch: str,
    base: str | None,
    load_id: str | None,
    yes: bool,
    actor: str | None,
    deadline: float | None,
    options: dict[str, str],
) -> ExitCode:
    """Load records into a graph, all or none.

    They become one commit of a branch of the graph at URI. Only types that occur in the records are touched, whatever
    the mode. Every record that is wrong is told with its line: 20 of them here, up to 100 of each reason
    with --json.

    Overwriting a graph that is not on a local disk asks first; --yes is the answer where nobody can be asked.

    Exit code 0 when it was loaded; 1 when it took longer than --deadline; 3 when records are wrong or break a rule of
    the schema, and nothing was written; 4 when an overwrite was overtaken by another writer; 5 when it may have
    happened.
    """
    place = GraphPlace.of(session, uri, options)
    refuse_unreadable(data)
    if not may_load(session, place, mode, yes=yes):
        return ExitCode.FAILED
    place.announce(session, "load")

    with following_load(place, mode) as course:
        with place.open(session, "rw", actor=actor) as graph, session.watching(f"loading {data}") as show:
            records = sys.stdin.buffer if data == STANDARD_INPUT and sys.stdin is not None else Path(data)
            report = course.reporting(show, data)
            course.done = graph.load(
                records, mode, branch=branch, base=base, load_id=load_id, progress=report, deadline=deadline
            )
        done = course.done
    session.show(LoadedResult(uri=graph.uri, load=done, repeated=course.repeated(load_id)))
    return ExitCode.DONE
