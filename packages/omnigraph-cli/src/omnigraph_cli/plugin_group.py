"""``PluginGroup``: a group whose verbs are its own, and beside them those that plugins bring.

Plugins are looked at when a word is none of its own verbs, for the help and for completion; so a verb of its own starts
as fast as without any. A verb of its own cannot be taken by a plugin. What a plugin prints while it is imported goes to
stderr, where it is not taken for a result.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from omnigraph.errors import PluginError
from omnigraph_cli.lazy_group import LazyGroup

if TYPE_CHECKING:
    from omnigraph.plugins import LoadedPlugins

_BROUGHT_BY: Final = {"spark": "omnigraph-spark"}
"""Verbs that people read about, and the distributions to install for them."""


class PluginGroup(LazyGroup):
    """A ``LazyGroup`` that is open to plugins, by the hook ``omnigraph_cli_verbs``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every verb, sorted."""
        return sorted({*super().list_commands(ctx), *self._verbs_of_plugins()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb, imported now; None when there is no such verb.

        Raises:
            PluginError: it is a plugin's, and cannot be had. To a shell that completes words it is not there.
        """
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        try:
            return _command_of_plugin(cmd_name)
        except PluginError:
            if ctx.resilient_parsing:
                return None
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As ``LazyGroup``; a verb whose plugin is broken is told as that, and not as missing."""
        if args[0] not in self.verbs and not ctx.resilient_parsing:
            self.get_command(ctx, args[0])
        return super().resolve_command(ctx, args)

    def next_move(self, word: str, verbs: Sequence[str]) -> str:
        """What to install, where it is known."""
        brought_by = _BROUGHT_BY.get(word)
        return super().next_move(word, verbs) if brought_by is None else f"Install it: pip install {brought_by}."

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Its own verbs, and those of plugins in a section below them, by what their records say."""
        LazyGroup(self.name, verbs=self.verbs).format_commands(ctx, formatter)
        brought = self._verbs_of_plugins()
        if brought:
            with formatter.section("Commands of plugins"):
                formatter.write_dl(sorted(brought.items()))

    def _verbs_of_plugins(self) -> dict[str, str]:
        """What plugins offer, with its line of help. That two claim one name is told when it is used."""
        return {verb.name: verb.help for _, verb in _plugins().verbs() if verb.name not in self.verbs}


def _plugins() -> LoadedPlugins:
    from omnigraph.plugins import installed_plugins

    with contextlib.redirect_stdout(sys.stderr):
        return installed_plugins()


def _command_of_plugin(name: str) -> click.Command | None:
    from omnigraph.plugins import find_verb, import_command

    found = find_verb(name, _plugins())
    if found is None:
        return None
    with contextlib.redirect_stdout(sys.stderr):
        command = import_command(*found)
    if not isinstance(command, click.Command):
        info, verb = found
        raise PluginError(
            f'The verb "{name}" of {info.provider} is no click command: {verb.command} is a {type(command).__name__}.',
            plugins=(info.provider,),
            help="If it is yours, correct it; otherwise report it to its author.",
        )
    return command
