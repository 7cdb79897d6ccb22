"""``omnigraph copy``: a whole graph at another place."""

from __future__ import annotations

import click

from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.graphs import GraphPlace, deadline_option, key_values, storage_options
from omnigraph_cli.output.copy_results import CopiedResult
from omnigraph_cli.session import Session, global_options, json_option

_EXAMPLES = """\b
Examples:
  omnigraph copy films.omni backup/films.omni
  omnigraph copy films.omni s3://bucket/films
  omnigraph copy s3://bucket/films s3://other/films --source-option region=eu-west-1 --option region=us-east-1
"""


@click.command(epilog=_EXAMPLES)
@click.argument("source")
@click.argument("target")
@click.option(
    "--source-option",
    "source_options",
    metavar="KEY=VALUE",
    multiple=True,
    callback=key_values,
    help="A storage option of SOURCE; --option is for TARGET. Repeatable.",
)
@click.option("--no-verify", is_flag=True, help="Do not read the files of the copy again to compare them.")
@click.option(
    "--force",
    is_flag=True,
    help="Remove what a copy that was cut off left at TARGET, and begin anew. Never touches a graph.",
)
@deadline_option
@storage_options
@json_option
@global_options
@click.pass_obj
def copy(
    session: Session,
    source: str,
    target: str,
    source_options: dict[str, str],
    no_verify: bool,
    force: bool,
    deadline: float | None,
    options: dict[str, str],
) -> ExitCode:
    """Copy a graph to a place where nothing is.

    SOURCE and TARGET are paths or scheme://name/path. The copy has every branch, tag and commit of the graph, with the
    same ids and the same indexes, and needs nothing of it. Others may write to the graph meanwhile. Every file is read
    again and compared. The copy is a graph when the command ends with 0, and not at all before.

    A branch or tag that cannot be read in the graph cannot be read in the copy either, and is told.

    Exit code 0 when it was copied; 1 when there is no graph, something is at TARGET, or it took longer than --deadline.
    """
    import omnigraph

    here = GraphPlace.of(session, source, source_options)
    there = GraphPlace.of(session, target, options)
    there.announce(session, "copy")
    try:
        with session.working(f"copying {here.uri}"):
            done = omnigraph.copy(
                str(here.uri),
                str(there.uri),
                options=options,
                source_options=source_options,
                verify=not no_verify,
                force=force,
                deadline=deadline,
            )
    except KeyboardInterrupt as error:
        error.add_note(f"Nothing is left at {there.uri}; if its claim is, repeat with --force.")
        raise
    session.show(CopiedResult(done))
    return ExitCode.DONE
