"""``omnigraph version``: what is installed."""

from __future__ import annotations

import click

from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.output.results import VersionResult
from omnigraph_cli.session import Session, global_options, json_option

_EXAMPLES = """\b
Examples:
  omnigraph version
  omnigraph version --json
"""


@click.command(epilog=_EXAMPLES)
@json_option
@global_options
@click.pass_obj
def version(session: Session) -> ExitCode:
    """Show the release and the storage interface.

    A storage plugin works with this release when it was written for the same storage interface.
    """
    session.show(VersionResult.current())
    return ExitCode.DONE
