"""Words of the command line that say which changes somebody wants: ``--kind``, ``--type``, ``--op``, ``--limit``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def change_filters(command: Decorated) -> Decorated:
    """Add ``--kind``, ``--type`` and ``--op``, which come to the verb as ``kinds``, ``types`` and ``ops``."""
    for option in (
        click.option(
            "--op",
            "ops",
            type=click.Choice(("insert", "update", "delete")),
            multiple=True,
            help="Only what was inserted, updated or deleted. Repeatable.",
        ),
        click.option(
            "--type",
            "types",
            metavar="NAME",
            multiple=True,
            help="Only this node type or edge type; node:NAME and edge:NAME tell two of one name apart. Repeatable.",
        ),
        click.option(
            "--kind", "kinds", type=click.Choice(("node", "edge")), multiple=True, help="Only nodes or only edges."
        ),
    ):
        command = option(command)
    return command


def page_limit(command: Decorated) -> Decorated:
    """Add ``--limit N``: of changes on a page."""
    return click.option(
        "--limit",
        metavar="N",
        type=click.IntRange(1, 8_192),
        default=1_000,
        show_default=True,
        help="At most so many changes, up to 8,192.",
    )(command)
