"""``omnigraph plugins``: what is installed, what it offers, and why something does not load."""

from __future__ import annotations

import click

from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.lazy_group import LazyGroup
from omnigraph_cli.output.results import PluginsResult
from omnigraph_cli.session import Session, global_options, json_option

_EXAMPLES = """\b
Examples:
  omnigraph plugins
  omnigraph plugins --json
  OMNIGRAPH_DISABLE_PLUGINS=s3 omnigraph plugins
"""


@click.command(epilog=_EXAMPLES)
@json_option
@global_options
@click.pass_context
def plugins(ctx: click.Context) -> ExitCode:
    """List the installed plugins and whether they load.

    For each plugin: the distribution that brings it, the URI schemes it serves, its capabilities, its options with
    the environment variables that set them, its embedders, and the verbs that it adds to this command. Values
    are never shown. A backend's adapter is imported on first use, so `omnigraph storage check URI` is what tells
    whether it works.

    A plugin that failed to load, or that claims what another one claims or what is built in, is listed with the
    reason; the others work all the same, so the exit code is 0.

    OMNIGRAPH_DISABLE_PLUGINS=NAME,NAME keeps plugins from loading; "*" stands for all that are not built in. A name
    that no plugin has is noted.
    """
    from omnigraph.config import Settings
    from omnigraph.plugins import installed_plugins

    session = ctx.ensure_object(Session)
    program = ctx.find_root().command
    built_in = frozenset(program.verbs) if isinstance(program, LazyGroup) else frozenset()
    with session.working("loading plugins"):
        found = installed_plugins()
    session.show(PluginsResult.of(found, Settings.from_environment().disabled_plugins, built_in))
    return ExitCode.DONE
