"""``omnigraph init``: make a graph from a schema."""

from __future__ import annotations

import click

from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.graphs import GraphPlace, actor_option, storage_options
from omnigraph_cli.output.graph_results import InitResult
from omnigraph_cli.session import Session, global_options, json_option
from omnigraph_cli.sources import FILE, read_input

_EXAMPLES = """\b
Examples:
  omnigraph init --schema films.pg films.omni
  omnigraph init --schema films.pg s3://bucket/films --as ann
"""


@click.command(options_metavar="--schema FILE [OPTIONS]", epilog=_EXAMPLES)
@click.argument("uri")
@click.option("--schema", required=True, metavar="FILE", type=FILE, help='The schema, a .pg file; "-" for stdin.')
@click.option(
    "--force",
    is_flag=True,
    help="Go on although an init that was cut off left its claim here. Never touches a graph.",
)
@actor_option
@storage_options
@json_option
@global_options
@click.pass_obj
def init(session: Session, uri: str, schema: str, force: bool, actor: str | None, options: dict[str, str]) -> ExitCode:
    """Make a graph where there is none.

    URI is a path or scheme://name/path. The graph exists when the command ends with 0, and not at all before: of
    several inits at one place exactly one wins.

    Exit code 0 when it was made, 1 when there is a graph already, 3 when the schema is wrong.
    """
    import omnigraph
    from omnigraph.schema import compile_schema

    place = GraphPlace.of(session, uri, options)
    source = read_input(schema)
    # Here its mistakes are told with the name of the file.
    compile_schema(source)
    place.announce(session, "init")
    try:
        with (
            session.working(f"making {place.uri}"),
            omnigraph.init(str(place.uri), schema=source.text, actor=actor, options=options, force=force) as graph,
        ):
            result = InitResult(uri=graph.uri, snapshot=graph.snapshot())
    except KeyboardInterrupt as error:
        # Its claim may lie there, which an init without --force respects.
        error.add_note(
            f"omnigraph snapshot {place.uri} shows whether the graph is there; if not, repeat it with --force."
        )
        raise
    session.show(result)
    return ExitCode.DONE
