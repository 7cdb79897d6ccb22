"""``omnigraph changes``: what happened to a branch, for those who follow it."""

from __future__ import annotations

import click

from omnigraph_cli.change_words import change_filters, page_limit
from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.graphs import GraphPlace, branch_option, deadline_option, storage_options
from omnigraph_cli.lazy_group import LazyGroup
from omnigraph_cli.output.graph_results import PolledResult
from omnigraph_cli.session import Session, global_options, json_option

_GROUP_EXAMPLES = """\b
Examples:
  omnigraph changes poll films.omni --start beginning
  omnigraph changes baseline films.omni > films.jsonl
"""
_POLL_EXAMPLES = """\b
Examples:
  omnigraph changes poll films.omni --json
  omnigraph changes poll films.omni --cursor "$CURSOR" --json
  omnigraph changes poll films.omni --start after:01KA7X3J8Q0000000000000000 --type Film
"""
_BASELINE_EXAMPLES = """\b
Examples:
  omnigraph changes baseline films.omni > films.jsonl
  omnigraph changes baseline films.omni --type Film --type edge:Rented
"""


@click.group(cls=LazyGroup, epilog=_GROUP_EXAMPLES)
@json_option
@global_options
def changes() -> None:
    """Follow what happens to a graph, commit by commit."""


@changes.command("poll", epilog=_POLL_EXAMPLES)
@click.argument("uri")
@branch_option
@click.option("--start", metavar="WHERE", help="now, beginning, or after:ID of a commit.  [default: now]")
@click.option("--cursor", metavar="CURSOR", help="Instead: where an earlier page ended.")
@click.option("--page-token", metavar="TOKEN", help="Instead: the rest of a commit that an earlier page began.")
@change_filters
@page_limit
@click.option(
    "--max-commits",
    metavar="N",
    type=click.IntRange(1, 512),
    default=128,
    show_default=True,
    help="At most so many commits, up to 512.",
)
@deadline_option
@storage_options
@json_option
@global_options
@click.pass_obj
def poll(
    session: Session,
    uri: str,
    branch: str,
    start: str | None,
    cursor: str | None,
    page_token: str | None,
    kinds: tuple[str, ...],
    types: tuple[str, ...],
    ops: tuple[str, ...],
    limit: int,
    max_commits: int,
    deadline: float | None,
    options: dict[str, str],
) -> ExitCode:
    """Print one page of what happened to a branch, oldest first.

    Each commit is told against the one before it: + inserted, ~ updated with what is new, - deleted. Behind them comes
    the cursor: store it when what you made of the page is stored, and give it to the next call, with the same filters.
    A page that ends inside a commit has a page token instead, which is for the next call only.

    Exit code 0 also when nothing happened; 1 when there is no such graph, branch, type or commit, or when the next
    commit changed the schema or was reclaimed, or it took longer than --deadline; 3 when the cursor belongs elsewhere.
    """
    if sum(each is not None for each in (start, cursor, page_token)) > 1:
        raise click.UsageError("Give one of --start, --cursor and --page-token.", click.get_current_context())
    place = GraphPlace.of(session, uri, options)
    with place.open(session) as graph, session.working(f"reading {place.uri}"):
        page = graph.changes(
            branch,
            start=start,
            cursor=cursor,
            page_token=page_token,
            kinds=kinds or None,
            types=types or None,
            ops=ops or None,
            limit=limit,
            max_commits=max_commits,
            deadline=deadline,
        )
    session.show(PolledResult(uri=graph.uri, page=page))
    return ExitCode.DONE


@changes.command("baseline", epilog=_BASELINE_EXAMPLES)
@click.argument("uri")
@branch_option
@click.option(
    "--type",
    "types",
    metavar="NAME",
    multiple=True,
    help="Only this node type or edge type; node:NAME and edge:NAME tell two of one name apart. Repeatable.",
)
@deadline_option
@storage_options
@json_option
@global_options
@click.pass_obj
def baseline(
    session: Session,
    uri: str,
    branch: str,
    types: tuple[str, ...],
    deadline: float | None,
    options: dict[str, str],
) -> ExitCode:
    """Print everything that a branch holds, and where to go on from there.

    The lines are those of `omnigraph export`. One more comes last, when all of them were printed:
    {"baseline":{"snapshot_commit_id":...,"resume_cursor":...}}. Its cursor is for `omnigraph changes poll` with the
    same --type. Output without that line was cut short.

    Exit code 0 when everything was printed, 1 when there is no such graph, branch or type, or it took longer
    than --deadline.
    """
    place = GraphPlace.of(session, uri, options)
    with place.open(session) as graph:
        session.stream(graph.changes.baseline(branch, types=list(types) or None, deadline=deadline))
    return ExitCode.DONE
