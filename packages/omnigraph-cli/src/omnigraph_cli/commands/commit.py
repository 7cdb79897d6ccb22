"""``omnigraph commit``: the history of a graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import click

from omnigraph.errors import NotFoundError
from omnigraph_cli.change_words import change_filters, page_limit
from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.graphs import GraphPlace, branch_option, storage_options
from omnigraph_cli.lazy_group import LazyGroup
from omnigraph_cli.output.graph_results import CommitChangesResult, CommitResult, CommitsResult, DrawingResult
from omnigraph_cli.session import Session, global_options, json_option

if TYPE_CHECKING:
    import omnigraph

_GROUP_EXAMPLES = """\b
Examples:
  omnigraph commit list films.omni
  omnigraph commit show films.omni 01KA7X3J8Q0000000000000000
  omnigraph commit graph films.omni
  omnigraph commit changes films.omni 01KA7X3J8Q0000000000000000
"""
_LIST_EXAMPLES = """\b
Examples:
  omnigraph commit list films.omni
  omnigraph commit list films.omni --limit 5 --actor ann --json
  omnigraph commit list films.omni --limit 5 --before 01KA7X3J8Q0000000000000000
  omnigraph commit list films.omni --actor omnigraph:recovery
"""
_GRAPH_EXAMPLES = """\b
Examples:
  omnigraph commit graph films.omni
  omnigraph commit graph films.omni --branch main --branch review/2026 --limit 20
  omnigraph commit graph films.omni --format mermaid > history.mmd
  omnigraph commit graph films.omni --format dot | dot -Tsvg > history.svg
"""
_SHOW_EXAMPLES = """\b
Examples:
  omnigraph commit show films.omni 01KA7X3J8Q0000000000000000
"""
_CHANGES_EXAMPLES = """\b
Examples:
  omnigraph commit changes films.omni 01KA7X3J8Q0000000000000000
  omnigraph commit changes films.omni 01KA7X3J8Q0000000000000000 --type Film --op update --json
"""


@click.group(cls=LazyGroup, epilog=_GROUP_EXAMPLES)
@json_option
@global_options
def commit() -> None:
    """Look at the history of a graph."""


@commit.command("list", epilog=_LIST_EXAMPLES)
@click.argument("uri")
@branch_option
@click.option("--limit", metavar="N", type=click.IntRange(min=0), help="At most so many, the newest.")
@click.option("--before", metavar="ID", help="Go on after this one: the last commit of the page before.")
@click.option(
    "--actor",
    metavar="ACTOR",
    help="Only those of this actor; omnigraph:recovery gives those that a recovery finished for others.",
)
@storage_options
@json_option
@global_options
@click.pass_obj
def list_commits(
    session: Session,
    uri: str,
    branch: str,
    limit: int | None,
    before: str | None,
    actor: str | None,
    options: dict[str, str],
) -> ExitCode:
    """List what led to the newest state of a branch, merged commits too: each before its parents, else newest first.

    Each line has the id, which --snapshot and --at take, the version of the manifest, which they take as well, what
    kind of commit it is, when it was begun, by the clock of its writer, and by whom.

    Exit code 0 also when no commit matches, 1 when there is no such graph or branch.
    """
    place = GraphPlace.of(session, uri, options)
    with place.open(session) as graph, session.working(f"reading {place.uri}"):
        found = tuple(graph.commits.list(branch, actor=actor, limit=limit, before=before))
    session.show(CommitsResult(uri=graph.uri, branch=branch, commits=found))
    return ExitCode.DONE


@commit.command("show", epilog=_SHOW_EXAMPLES)
@click.argument("uri")
@click.argument("commit_id", metavar="ID")
@storage_options
@json_option
@global_options
@click.pass_obj
def show_commit(session: Session, uri: str, commit_id: str, options: dict[str, str]) -> ExitCode:
    """Show one commit, and how a recovery finished it, if its writer was cut off.

    Exit code 0 when there is such a commit, 1 when there is none.
    """
    place = GraphPlace.of(session, uri, options)
    with place.open(session) as graph, session.working(f"reading {place.uri}"):
        try:
            found = graph.commits.show(commit_id)
        except NotFoundError as error:
            for each in _fates(graph, commit_id):
                error.add_note(each)
            raise
        recoveries = tuple(graph.recoveries.list(commit=commit_id))
    session.show(CommitResult(uri=graph.uri, commit=found, recoveries=recoveries))
    return ExitCode.DONE


@commit.command("graph", epilog=_GRAPH_EXAMPLES)
@click.argument("uri")
@click.option("--branch", "branches", metavar="NAME", multiple=True, help="Whose history; repeatable, by default all.")
@click.option("--limit", metavar="N", type=click.IntRange(min=0), help="At most so many commits, the newest.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "mermaid", "dot"]),
    default="text",
    show_default=True,
    help="Text for a terminal, a Mermaid chart, or the language of Graphviz.",
)
@storage_options
@json_option
@global_options
@click.pass_obj
def draw_commits(
    session: Session,
    uri: str,
    branches: tuple[str, ...],
    limit: int | None,
    form: Literal["text", "mermaid", "dot"],
    options: dict[str, str],
) -> ExitCode:
    """Draw how the commits of branches descend from each other, with the heads of branches and tags.

    Exit code 0 when it is drawn, 1 when there is no such graph or branch.
    """
    place = GraphPlace.of(session, uri, options)
    with place.open(session) as graph, session.working(f"reading {place.uri}"):
        drawing = graph.commits.graph(branches or None, form=form, limit=limit)
    session.show(DrawingResult(uri=graph.uri, form=form, drawing=drawing))
    return ExitCode.DONE


@commit.command("changes", epilog=_CHANGES_EXAMPLES)
@click.argument("uri")
@click.argument("commit_id", metavar="ID")
@change_filters
@page_limit
@click.option("--page-token", metavar="TOKEN", help="The next page: what the one before it printed.")
@storage_options
@json_option
@global_options
@click.pass_obj
def show_changes(
    session: Session,
    uri: str,
    commit_id: str,
    kinds: tuple[str, ...],
    types: tuple[str, ...],
    ops: tuple[str, ...],
    limit: int,
    page_token: str | None,
    options: dict[str, str],
) -> ExitCode:
    """Show what a commit changed, against the commit before it on its branch.

    Nodes come first, then edges; each type by ascending id: + inserted, ~ updated with what is new, - deleted. Where
    there is more than fits on a page, a page token follows, for the next call with the same filters.

    Exit code 0 also when it changed no row, 1 when there is no such graph, commit or type, or the commit changed the
    schema or was reclaimed, 3 when the page token belongs elsewhere.
    """
    place = GraphPlace.of(session, uri, options)
    with place.open(session) as graph, session.working(f"reading {place.uri}"):
        page = graph.changes.of(
            commit_id, page_token=page_token, kinds=kinds or None, types=types or None, ops=ops or None, limit=limit
        )
    session.show(CommitChangesResult(uri=graph.uri, page=page))
    return ExitCode.DONE


def _fates(graph: omnigraph.Graph, commit_id: str) -> Iterator[str]:
    """What is known of a commit that is not there."""
    shown = f"omnigraph recovery list {graph.uri} --commit {commit_id}"
    if any(each.kind != "RolledForward" for each in graph.recoveries.list(commit=commit_id)):
        yield f"The write that was to make it was cut off and taken back: {shown}"
    elif any(each.graph_commit_id == commit_id for each in graph.recoveries.pending()):
        yield f"The write that is to make it is not over: {shown}"
