"""``omnigraph tag``: names for commits."""

from __future__ import annotations

import click

from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.graphs import GraphPlace, actor_option, branch_option, moment, storage_options
from omnigraph_cli.lazy_group import LazyGroup
from omnigraph_cli.output.tag_results import DeletedTagResult, TagResult, TagsResult
from omnigraph_cli.session import Session, global_options, json_option

_GROUP_EXAMPLES = """\b
Examples:
  omnigraph tag create films.omni v1
  omnigraph tag list films.omni
  omnigraph query films.omni demand --query queries.gq --snapshot v1
"""
_CREATE_EXAMPLES = """\b
Examples:
  omnigraph tag create films.omni v1 --as ann
  omnigraph tag create films.omni before-import --at 01KA7X3J8Q0000000000000000
"""
_LIST_EXAMPLES = """\b
Examples:
  omnigraph tag list films.omni
"""
_DELETE_EXAMPLES = """\b
Examples:
  omnigraph tag delete films.omni v1
"""


@click.group(cls=LazyGroup, epilog=_GROUP_EXAMPLES)
@json_option
@global_options
def tag() -> None:
    """Give commits names, by which they can be read and which keep them from being reclaimed."""


@tag.command("create", epilog=_CREATE_EXAMPLES)
@click.argument("uri")
@click.argument("name", metavar="NAME")
@click.option(
    "--at", "at", metavar="MOMENT", help="The id of a commit or a version of the manifest; by default newest."
)
@branch_option
@actor_option
@storage_options
@json_option
@global_options
@click.pass_obj
def create_tag(
    session: Session,
    uri: str,
    name: str,
    at: str | None,
    branch: str,
    actor: str | None,
    options: dict[str, str],
) -> ExitCode:
    """Name a commit, by default the newest of a branch. A tag never moves.

    Exit code 0 when it was made, 1 when there is no such commit or one of this name.
    """
    place = GraphPlace.of(session, uri, options)
    place.announce(session, "tagging")
    with place.open(session, "rw", actor=actor) as graph, session.working(f"tagging {place.uri}"):
        made = graph.tags.create(name, None if at is None else moment(at), branch=branch)
    session.show(TagResult(uri=graph.uri, tag=made))
    return ExitCode.DONE


@tag.command("list", epilog=_LIST_EXAMPLES)
@click.argument("uri")
@storage_options
@json_option
@global_options
@click.pass_obj
def list_tags(session: Session, uri: str, options: dict[str, str]) -> ExitCode:
    """List every tag, by name.

    Exit code 0 also when there is none, 1 when there is no such graph.
    """
    place = GraphPlace.of(session, uri, options)
    with place.open(session) as graph, session.working(f"reading {place.uri}"):
        found = tuple(graph.tags.list())
    session.show(TagsResult(uri=graph.uri, tags=found))
    return ExitCode.DONE


@tag.command("delete", epilog=_DELETE_EXAMPLES)
@click.argument("uri")
@click.argument("name", metavar="NAME")
@storage_options
@json_option
@global_options
@click.pass_obj
def delete_tag(session: Session, uri: str, name: str, options: dict[str, str]) -> ExitCode:
    """Delete a tag. Its commit stays for as long as a branch or another tag leads to it.

    Exit code 0 when it was deleted, 1 when there is no such tag.
    """
    place = GraphPlace.of(session, uri, options)
    place.announce(session, "deleting a tag of")
    with place.open(session, "rw") as graph, session.working(f"deleting a tag of {place.uri}"):
        graph.tags.delete(name)
    session.show(DeletedTagResult(uri=graph.uri, name=name))
    return ExitCode.DONE
