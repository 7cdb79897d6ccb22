"""``omnigraph load``: records from a file to one commit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omnigraph.errors import ConstraintError
from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.graphs import GraphPlace, actor_option, branch_option, storage_options
from omnigraph_cli.output.graph_results import LoadedResult
from omnigraph_cli.session import Session, global_options, json_option
from omnigraph_cli.sources import FILE, STANDARD_INPUT, refuse_unreadable

if TYPE_CHECKING:
    from omnigraph import LoadProgress, LoadResult

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
@click.option(
    "--mode",
    required=True,
    type=click.Choice(["append", "merge", "overwrite"]),
    help="append: ids must be new. merge: rows of the same id are replaced. overwrite: what is loaded is all there is "
    "of its types.",
)
@branch_option
@click.option(
    "--from", "base", metavar="NAME", help="Make the branch from this one if it is missing; it stays if the load fails."
)
@click.option("--load-id", metavar="NAME", help="Names this load; repeating it under the same name does nothing.")
@click.option("--yes", is_flag=True, help="Overwrite without asking.")
@actor_option
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
    options: dict[str, str],
) -> ExitCode:
    """Load records into a graph, all or none.

    They become one commit of a branch of the graph at URI. Only types that occur in the records are touched, whatever
    the mode. Every record that is wrong is told with its line: the first 20 here, up to 100 with --json.

    Overwriting a graph that is not on a local disk asks first; --yes is the answer where nobody can be asked.

    Exit code 0 when it was loaded; 3 when records are wrong or break a rule of the schema, and nothing was written;
    4 when an overwrite was overtaken by another writer; 5 when it may have happened.
    """
    place = GraphPlace.of(session, uri, options)
    refuse_unreadable(data)
    if mode == "overwrite" and not yes:
        question = f"Overwrite what {place.uri} has of the types in the file?"
        if not place.may_take_away(session, f"Overwriting {place.uri}", question):
            session.narrate("Nothing was loaded.")
            return ExitCode.FAILED
    place.announce(session, "load")

    seen: LoadProgress | None = None
    done: LoadResult | None = None
    try:
        with place.open(session, "rw", actor=actor) as graph, session.watching(f"loading {data}") as show:

            def report(progress: LoadProgress) -> None:
                nonlocal seen
                seen = progress
                show(f"{progress.phase} {data}: {progress.records:,} records")

            records = sys.stdin.buffer if data == STANDARD_INPUT and sys.stdin is not None else Path(data)
            done = graph.load(records, mode, branch=branch, base=base, load_id=load_id, progress=report)
    except KeyboardInterrupt as error:
        error.add_note(_state_left(place, seen, done))
        raise
    except ConstraintError as error:
        if mode == "append" and "key_conflict" in error.details.get("counts", ()):
            error.add_note("With --mode merge, what is there already is replaced.")
        raise
    # A load that was there before counts nothing, whether its records were read or not.
    is_repeated = load_id is not None and not done.total and (seen is None or seen.records > 0)
    session.show(LoadedResult(uri=graph.uri, load=done, repeated=load_id if is_repeated else None))
    return ExitCode.DONE


def _state_left(place: GraphPlace, seen: LoadProgress | None, done: LoadResult | None) -> str:
    """What is known of a load that was interrupted: nothing is visible before it publishes."""
    if done is not None:
        return f"It was loaded, as commit {done.commit.id}."
    if seen is None or seen.phase != "publishing":
        return "Nothing was loaded."
    return f"It may have been loaded: omnigraph commit list {place.uri} shows whether it was."
