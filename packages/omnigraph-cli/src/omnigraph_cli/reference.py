"""The reference page of the command line, made from the help texts themselves.

    python -m omnigraph_cli.reference > docs/reference/cli.md

A test compares the page with what this prints, so the two cannot drift apart.
"""

from __future__ import annotations

from collections.abc import Iterator

import click

from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.main import PROGRAM, cli

_WIDTH = 88

_INTRODUCTION = """\
# The command line

<!-- Made by `python -m omnigraph_cli.reference > docs/reference/cli.md`. Change the help texts, not this page. -->

Install it: `pip install omnigraph-cli omnigraph-storage-local`. Results go to stdout, narration and errors to stderr.
Colour is used on a terminal only, and not at all when `NO_COLOR` is set.

With `--json` a verb prints one JSON document on stdout. When it fails, the document is

```json
{"error": {"kind": "...", "message": "...", "help": "...", "details": {}}}
```

where `kind` is one of the kinds in [errors](errors.md), or `usage` (the command line is wrong) or `internal` (a fault
in OmniGraph or in a plugin). `help` is the next move, or null.
"""


def reference_page() -> str:
    """The whole page, as Markdown."""
    rows = "\n".join(f"| {code} | {code.meaning} |" for code in ExitCode)
    codes = f"## Exit codes\n\n| code | meaning |\n|---|---|\n{rows}\n"
    return "\n".join([_INTRODUCTION, codes, *_sections(cli, None, PROGRAM)])


def _sections(command: click.Command, parent: click.Context | None, name: str) -> Iterator[str]:
    """A section for the command, then those of the commands below it."""
    settings = {**command.context_settings, "terminal_width": _WIDTH, "max_content_width": _WIDTH}
    ctx = click.Context(command, parent=parent, info_name=name, **settings)
    yield f"## {ctx.command_path}\n\n```text\n{command.get_help(ctx)}\n```\n"
    if isinstance(command, click.Group):
        for verb in command.list_commands(ctx):
            below = command.get_command(ctx, verb)
            if below is not None and not below.hidden:
                yield from _sections(below, ctx, verb)


if __name__ == "__main__":
    click.echo(reference_page(), nl=False)
