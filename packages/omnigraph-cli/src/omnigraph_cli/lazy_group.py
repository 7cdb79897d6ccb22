"""``LazyGroup``: a click group whose verbs are named, and imported when they are asked for.

Start-up pays for the one verb that runs. A command module in turn imports only what describes the verb; what does the
work is imported inside it, because ``--help`` imports every module to show its first line.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import click

from omnigraph_cli.exit_codes import ExitCode


class LazyGroup(click.Group):
    """A group over ``{verb: "module:command"}``. Called without a verb it shows its help and fails as wrong usage."""

    def __init__(self, *args: Any, verbs: Mapping[str, str] | None = None, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.verbs = dict(verbs or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every verb, sorted."""
        return sorted({*super().list_commands(ctx), *self.verbs})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb, imported now; None when there is no such verb."""
        place = self.verbs.get(cmd_name)
        if place is None:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = place.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click, except that no words at all show the help on every version of click."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(ExitCode.USAGE)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click, with the nearest verb when there is none of that name."""
        # A verb that is there is not looked for among all: others may have to be searched for.
        if args[0] not in self.verbs and not ctx.resilient_parsing:
            verbs = self.list_commands(ctx)
            if args[0] not in verbs:
                raise click.UsageError(f'There is no command "{args[0]}". {self.next_move(args[0], verbs)}', ctx)
        return super().resolve_command(ctx, args)

    def next_move(self, word: str, verbs: Sequence[str]) -> str:
        """What to do about a word that is no verb."""
        near = difflib.get_close_matches(word, verbs, n=1)
        return f'Did you mean "{near[0]}"?' if near else f"There are: {', '.join(verbs)}."
