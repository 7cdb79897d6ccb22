"""``omnigraph diff``: what differs between two states of a graph."""

from __future__ import annotations

import click

from omnigraph_cli.change_words import change_filters
from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.graphs import GraphPlace, deadline_option, storage_options
from omnigraph_cli.output.changes import change_lines, json_lines
from omnigraph_cli.output.graph_results import DiffResult, DiffSummaryResult
from omnigraph_cli.output.results import Result
from omnigraph_cli.session import Session, global_options, json_option

_EXAMPLES = """\b
Examples:
  omnigraph diff films.omni 01KA7X3J8Q0000000000000000 main
  omnigraph diff films.omni main review --type Film --op update
  omnigraph diff films.omni main review --summary --json
  omnigraph diff films.omni main review --format jsonl > changes.jsonl
"""


@click.command(epilog=_EXAMPLES)
@click.argument("uri")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@change_filters
@click.option("--summary", is_flag=True, help="Count the changes instead of showing them.")
@click.option(
    "--format",
    "shape",
    type=click.Choice(("text", "json", "jsonl")),
    default="text",
    show_default=True,
    help="How changes are printed; --json is the same as --format json.",
)
@deadline_option
@storage_options
@json_option
@global_options
@click.pass_obj
def diff(
    session: Session,
    uri: str,
    before: str,
    after: str,
    kinds: tuple[str, ...],
    types: tuple[str, ...],
    ops: tuple[str, ...],
    summary: bool,
    shape: str,
    deadline: float | None,
    options: dict[str, str],
) -> ExitCode:
    """Show what has to happen to A so that it is B.

    A and B are branches, as they are now, tags, or commits by their ids. Nodes come first, then edges; each type by
    ascending id. A type that was renamed is no change.

    \b
    json    one document with every change: entity, type, id, op, before, after, from_id, to_id
    jsonl   a line of metadata, then one change per line, printed as they are read
    text    the same for the eye: + inserted, ~ updated with what is new, - deleted; long values are cut

    Exit code 0 also when nothing differs, 1 when there is no such graph, branch, commit or type, or it took
    longer than --deadline.
    """  # noqa: D301 - click looks for the character \b itself, which a raw string cannot hold
    if summary and shape == "jsonl":
        raise click.UsageError("A summary is no list of changes: use --json.", click.get_current_context())
    place = GraphPlace.of(session, uri, options)
    with place.open(session) as graph:
        with session.working(f"comparing {before} with {after}"):
            found = graph.diff(
                before, after, kinds=kinds or None, types=types or None, ops=ops or None, deadline=deadline
            )
            session.as_json = session.as_json or shape == "json"
            if summary:
                result: Result | None = DiffSummaryResult(uri=graph.uri, diff=found, summary=found.summary())
            else:
                result = DiffResult(uri=graph.uri, facts=found.to_dict()) if session.as_json else None
        if result is None:
            session.stream(json_lines(found) if shape == "jsonl" else change_lines(found))
        else:
            session.show(result)
    return ExitCode.DONE
