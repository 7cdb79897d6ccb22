"""``omnigraph branch``: lines of work that share a graph."""

from __future__ import annotations

import click

from omnigraph.errors import FormatError, StorageCondition, StorageError
from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.graphs import GraphPlace, moment, storage_options
from omnigraph_cli.lazy_group import LazyGroup
from omnigraph_cli.output.branch_results import BranchesResult, BranchResult, DeletedBranchResult
from omnigraph_cli.session import Session, global_options, json_option

_GROUP_EXAMPLES = """\b
Examples:
  omnigraph branch create films.omni review/2026
  omnigraph mutate films.omni retag --query queries.gq --branch review/2026
  omnigraph branch merge films.omni review/2026 --delete-branch
"""
_CREATE_EXAMPLES = """\b
Examples:
  omnigraph branch create films.omni review/2026
  omnigraph branch create films.omni review/2026/b --from review/2026
  omnigraph branch create films.omni as-it-was --at 01KA7X3J8Q0000000000000000
"""
_LIST_EXAMPLES = """\b
Examples:
  omnigraph branch list films.omni
"""
_SHOW_EXAMPLES = """\b
Examples:
  omnigraph branch show films.omni review/2026
"""
_DELETE_EXAMPLES = """\b
Examples:
  omnigraph branch delete films.omni review/2026
  omnigraph branch delete s3://bucket/films review/2026 --yes
"""


@click.group(cls=LazyGroup, verbs={"merge": "omnigraph_cli.commands.branch_merge:merge"}, epilog=_GROUP_EXAMPLES)
@json_option
@global_options
def branch() -> None:
    """Make branches, work on them apart, and bring them together."""


@branch.command("create", epilog=_CREATE_EXAMPLES)
@click.argument("uri")
@click.argument("name", metavar="NAME")
@click.option("--from", "base", metavar="NAME", default="main", show_default=True, help="The branch that it begins as.")
@click.option("--at", metavar="MOMENT", help="As that branch was at a commit, a tag or a version of the manifest.")
@storage_options
@json_option
@global_options
@click.pass_obj
def create_branch(
    session: Session, uri: str, name: str, base: str, at: str | None, options: dict[str, str]
) -> ExitCode:
    """Make a branch. It shares everything with where it begins until one of the two is written to.

    Exit code 0 when it was made, 1 when there is one of this name or nothing to begin from, 3 when a branch cannot be
    called so.
    """
    place = GraphPlace.of(session, uri, options)
    place.announce(session, "branching")
    with place.open(session, "rw") as graph, session.working(f"branching {place.uri}"):
        made = graph.branches.create(name, base, at=None if at is None else moment(at))
    session.show(BranchResult(uri=graph.uri, branch=made, is_new=True))
    return ExitCode.DONE


@branch.command("list", epilog=_LIST_EXAMPLES)
@click.argument("uri")
@storage_options
@json_option
@global_options
@click.pass_obj
def list_branches(session: Session, uri: str, options: dict[str, str]) -> ExitCode:
    """List every branch with its newest commit: main first, then by name.

    A branch that cannot be read is listed with the reason in the place of its commit; `branch delete` deletes it.

    Exit code 0 when they are listed, 1 when there is no such graph.
    """
    place = GraphPlace.of(session, uri, options)
    with place.open(session) as graph, session.working(f"reading {place.uri}"):
        found = tuple(graph.branches.list())
    session.show(BranchesResult(uri=graph.uri, branches=found))
    return ExitCode.DONE


@branch.command("show", epilog=_SHOW_EXAMPLES)
@click.argument("uri")
@click.argument("name", metavar="NAME")
@storage_options
@json_option
@global_options
@click.pass_obj
def show_branch(session: Session, uri: str, name: str, options: dict[str, str]) -> ExitCode:
    """Show one branch: its newest commit, and what it began as.

    Exit code 0 when there is such a branch, 1 when there is none.
    """
    place = GraphPlace.of(session, uri, options)
    with place.open(session) as graph, session.working(f"reading {place.uri}"):
        found = graph.branches.show(name)
    session.show(BranchResult(uri=graph.uri, branch=found))
    return ExitCode.DONE


@branch.command("delete", epilog=_DELETE_EXAMPLES)
@click.argument("uri")
@click.argument("name", metavar="NAME")
@click.option("--yes", is_flag=True, help="Delete without asking.")
@storage_options
@json_option
@global_options
@click.pass_obj
def delete_branch(session: Session, uri: str, name: str, yes: bool, options: dict[str, str]) -> ExitCode:
    """Delete a branch at once. What was merged from it stays, and branches that began from it go on.

    Whoever writes to it at that moment is told that it is gone. Until they are reclaimed its commits are still there:
    `omnigraph branch create --at` with the id of the last one, which is printed, makes it anew.

    Deleting a branch of a graph that is not on a local disk asks first; --yes is the answer where nobody can be asked.

    Exit code 0 when it was deleted, 1 when there is no such branch, 3 when it is main.
    """
    place = GraphPlace.of(session, uri, options)
    if not yes and not place.may_take_away(session, f"Deleting a branch of {place.uri}", f'Delete "{name}"?'):
        session.narrate("Nothing was deleted.")
        return ExitCode.FAILED
    place.announce(session, "deleting a branch of")
    with place.open(session, "rw") as graph, session.working(f"deleting a branch of {place.uri}"):
        try:
            head = graph.branches.show(name).head
        except (FormatError, StorageError) as error:
            if isinstance(error, StorageError) and error.condition is StorageCondition.TRANSIENT:
                raise
            # A branch that cannot be read can be deleted; which commit was its newest is not known.
            head = None
        graph.branches.delete(name)
    session.show(DeletedBranchResult(uri=graph.uri, name=name, head=head))
    return ExitCode.DONE
