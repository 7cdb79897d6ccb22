"""``omnigraph branch merge``: one branch into another."""

from __future__ import annotations

from typing import Literal

import click

from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.graphs import GraphPlace, actor_option, deadline_option, storage_options
from omnigraph_cli.output.merge_results import MergedResult
from omnigraph_cli.session import Session, global_options, json_option

_EXAMPLES = """\b
Examples:
  omnigraph branch merge films.omni review/2026 --dry-run
  omnigraph branch merge films.omni review/2026 --as ann --delete-branch
  omnigraph branch merge films.omni main --into review/2026
  omnigraph branch merge films.omni review/2026 --strategy theirs --expect-head 01KA7X3J8Q0000000000000000
"""


@click.command("merge", epilog=_EXAMPLES)
@click.argument("uri")
@click.argument("source", metavar="SOURCE")
@click.option("--into", metavar="NAME", default="main", show_default=True, help="The branch that takes it in.")
@click.option("--dry-run", is_flag=True, help="Write nothing; show what would change and what speaks against it.")
@click.option(
    "--strategy",
    type=click.Choice(["fail", "ours", "theirs"]),
    default="fail",
    show_default=True,
    help="What becomes of nodes and edges that both changed: ours keeps those of --into, theirs takes those of SOURCE.",
)
@click.option("--expect-head", metavar="ID", help="Merge only if this is the newest commit of --into.")
@click.option("--delete-branch", is_flag=True, help="Delete SOURCE afterwards.")
@actor_option
@deadline_option
@storage_options
@json_option
@global_options
@click.pass_obj
def merge(
    session: Session,
    uri: str,
    source: str,
    into: str,
    dry_run: bool,
    strategy: Literal["fail", "ours", "theirs"],
    expect_head: str | None,
    delete_branch: bool,
    actor: str | None,
    deadline: float | None,
    options: dict[str, str],
) -> ExitCode:
    """Do to a branch what SOURCE did since the two parted, as one commit with two parents; or nothing.

    A node or edge that both changed otherwise is a conflict, and so is what breaks a rule of the schema afterwards. All
    conflicts are told, and nothing is merged while there is one.

    Exit code 0 when it is merged, was already, or a dry run found no conflict; 4 when there are conflicts, or the
    newest commit is not the expected one; 1 when there is no such branch, or it took longer than
    --deadline.
    """
    place = GraphPlace.of(session, uri, options)
    if not dry_run:
        place.announce(session, f"merging {source} into {into} of")
    with (
        place.open(session, "r" if dry_run else "rw", actor=actor) as graph,
        session.working(f"merging {source} into {into}"),
    ):
        done = graph.branches.merge(
            source,
            into,
            strategy=strategy,
            dry_run=dry_run,
            expect_head=expect_head,
            delete_branch=delete_branch,
            deadline=deadline,
        )
    session.show(MergedResult(uri=graph.uri, merge=done, is_dry_run=dry_run))
    return ExitCode.CONFLICT if done.conflicts else ExitCode.DONE
