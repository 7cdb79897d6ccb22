"""``omnigraph branch``: make, look at and delete branches of a graph."""

from __future__ import annotations

import click

from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.graphs import GraphPlace, moment, storage_options
from omnigraph_cli.lazy_group import LazyGroup
from omnigraph_cli.output.graph_results import BranchDeletedResult, BranchesResult, BranchResult
from omnigraph_cli.session import Session, global_options, json_option

_GROUP_EXAMPLES = """\b
Examples:
  omnigraph branch create films.omni review/2026
  omnigraph branch list films.omni
  omnigraph branch delete films.omni review/2026
"""
_CREATE_EXAMPLES = """\b
Examples:
  omnigraph branch create films.omni review/2026
  omnigraph branch create films.omni second-try --from review/2026
  omnigraph branch create films.omni as-it-was --at 01KA7X3J8Q0000000000000000 --json
"""
_LIST_EXAMPLES = """\b
Examples:
  omnigraph branch list films.omni
  omnigraph branch list s3://bucket/films --json
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


@click.group(cls=LazyGroup, epilog=_GROUP_EXAMPLES)
@json_option
@global_options
def branch() -> None:
    """Make, look at and delete branches.

    A branch is a line of commits of its own, with a name. It shares everything with the branch that it was made from
    until one of the two is changed, so making one copies nothing. Verbs that read or write take --branch NAME.
    """


@branch.command("create", epilog=_CREATE_EXAMPLES)
@click.argument("uri")
@click.argument("name")
@click.option("--from", "base", metavar="NAME", default="main", show_default=True, help="The branch that it begins as.")
@click.option("--at", metavar="ID", help="As that one was at a commit, or at a version of the manifest.")
@storage_options
@json_option
@global_options
@click.pass_obj
def create_branch(
    session: Session, uri: str, name: str, base: str, at: str | None, options: dict[str, str]
) -> ExitCode:
    """Make a branch of the graph at URI.

    It begins as another one is now, or was at a moment; that takes as long for any graph. Slashes may part the NAME,
    and "review" may stand beside "review/2026".

    Exit code 0 when it was made; 1 when there is one of this name already, or no such base, commit or version; 3 when
    no branch can be called so.
    """
    place = GraphPlace.of(session, uri, options)
    place.announce(session, "branch create")
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
    """List the branches of a graph: main first, then by name.

    Each line has the name, the id of the newest commit, and when the branch was made, by the clock of who made it.

    Exit code 0; there is always main.
    """
    place = GraphPlace.of(session, uri, options)
    with place.open(session) as graph, session.working(f"reading {place.uri}"):
        found = tuple(graph.branches.list())
    session.show(BranchesResult(uri=graph.uri, branches=found))
    return ExitCode.DONE


@branch.command("show", epilog=_SHOW_EXAMPLES)
@click.argument("uri")
@click.argument("name")
@storage_options
@json_option
@global_options
@click.pass_obj
def show_branch(session: Session, uri: str, name: str, options: dict[str, str]) -> ExitCode:
    """Show one branch.

    Exit code 0 when there is such a branch, 1 when there is none.
    """
    place = GraphPlace.of(session, uri, options)
    with place.open(session) as graph, session.working(f"reading {place.uri}"):
        found = graph.branches.show(name)
    session.show(BranchResult(uri=graph.uri, branch=found))
    return ExitCode.DONE


@branch.command("delete", epilog=_DELETE_EXAMPLES)
@click.argument("uri")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Delete without asking.")
@storage_options
@json_option
@global_options
@click.pass_obj
def delete_branch(session: Session, uri: str, name: str, yes: bool, options: dict[str, str]) -> ExitCode:
    """Delete a branch of the graph at URI, at once.

    Branches that were made from it stay, and so does what was merged. Whoever writes to it at that moment is told that
    it is gone. Until garbage collection its commits are still there: `omnigraph branch create --at` with the id of the
    last one, which is printed, makes it anew.

    Deleting a branch of a graph that is not on a local disk asks first; --yes is the answer where nobody can be asked.

    Exit code 0 when it was deleted, 1 when there is no such branch, 3 for main, which stays.
    """
    place = GraphPlace.of(session, uri, options)
    if not yes and not place.may_take_away(session, f"Deleting a branch of {place.uri}", f'Delete "{name}"?'):
        session.narrate("Nothing was deleted.")
        return ExitCode.FAILED
    place.announce(session, "branch delete")
    with place.open(session, "rw") as graph, session.working(f"deleting a branch of {place.uri}"):
        head = graph.branches.show(name).head
        graph.branches.delete(name)
    session.show(BranchDeletedResult(uri=graph.uri, name=name, head=head))
    return ExitCode.DONE
