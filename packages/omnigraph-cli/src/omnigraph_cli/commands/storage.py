"""``omnigraph storage``: can this place be trusted with a graph?

The check itself lives in ``omnigraph.testing``; here its steps are printed as they come. Option values may be secrets:
they are handed to the session for hiding before anything is opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING

import click

from omnigraph.errors import InvalidInputError
from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.lazy_group import LazyGroup
from omnigraph_cli.output.results import CheckResult, StepResult
from omnigraph_cli.session import Session, global_options, json_option

if TYPE_CHECKING:
    from omnigraph.storage import StorageBackend


_EXAMPLES = """\b
Examples:
  omnigraph storage check graph.omni
  omnigraph storage check graph.omni --processes --writers 16 --rounds 200
  omnigraph storage check s3://bucket/graph --option region=eu-west-1
  omnigraph storage check s3://bucket/graph --json
"""


def _key_values(ctx: click.Context, param: click.Parameter, words: tuple[str, ...]) -> dict[str, str]:
    """The words as a mapping. A malformed one is not repeated in the error: it may be a secret."""
    options: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise click.BadParameter("It must have the form KEY=VALUE, such as region=eu-west-1.", ctx, param)
        if key in options:
            raise click.BadParameter(f'"{key}" is given twice.', ctx, param)
        options[key] = value
    return options


@click.group(cls=LazyGroup, epilog="\b\nExamples:\n  omnigraph storage check graph.omni")
def storage() -> None:
    """Examine the storage that a graph lives on."""


@storage.command(epilog=_EXAMPLES)
@click.argument("uri")
@click.option(
    "--writers",
    type=click.IntRange(2, 256),
    metavar="N",
    default=8,
    show_default=True,
    help="How many writers race for one object.",
)
@click.option(
    "--rounds",
    type=click.IntRange(1, 10_000),
    metavar="N",
    default=10,
    show_default=True,
    help="How many objects they race for, one after the other.",
)
@click.option(
    "--processes", is_flag=True, help="Race in processes instead of threads; only where processes share the store."
)
@click.option(
    "--option",
    "options",
    metavar="KEY=VALUE",
    multiple=True,
    callback=_key_values,
    help="A storage option, see `omnigraph plugins`. Repeatable. Other users of this machine may see the command "
    "line: give secrets by environment variable.",
)
@json_option
@global_options
@click.pass_obj
def check(session: Session, uri: str, writers: int, rounds: int, processes: bool, options: dict[str, str]) -> ExitCode:
    """Check whether the place behind URI can be trusted with a graph.

    URI is a path or scheme://name/path. The check writes below a fresh prefix of it, races writers for single
    objects, lets Lance create and commit a table, and removes everything again. It ends at the first step that fails.

    Exit code 0 when every step passed, 1 when one failed.
    """
    from omnigraph.plugins import find_backend, installed_plugins
    from omnigraph.storage import parse_uri
    from omnigraph.testing.storage_check import check_storage

    root = parse_uri(uri)
    with session.working("loading plugins"):
        _, backend = find_backend(root, installed_plugins())
    session.hide(_secret_values(backend, options))
    if processes:
        _require_shared(backend)
    session.narrate(f"storage check {root} (direct, {'local' if root.scheme == 'file' else 'remote'})")

    found: list[StepResult] = []
    steps = check_storage(
        uri, options=options, writers=writers, rounds=rounds, place="processes" if processes else "threads"
    )
    # Closed whatever happens: an interrupt or a closed pipe leaves nothing behind at the root.
    with closing(steps):
        while True:
            with session.working(f"checking {root}"):
                step = next(steps, None)
            if step is None:
                break
            found.append(StepResult.of(step, session.clean))
            session.show_part(found[-1])
            if step.error is not None:
                session.show_traceback(step.error)
    result = CheckResult(uri=str(root), steps=tuple(found))
    session.show(result)
    return ExitCode.DONE if result.passed else ExitCode.FAILED


def _secret_values(backend: StorageBackend, given: Mapping[str, str]) -> Iterator[str]:
    """What must not be shown. Undeclared names are refused before anybody sees their values."""
    for option in backend.options:
        if option.is_secret:
            yield given.get(option.name, "")
            yield from (os.environ.get(variable, "") for variable in option.environment)


def _require_shared(backend: StorageBackend) -> None:
    from omnigraph.storage import Capability

    if Capability.SHARED_BETWEEN_PROCESSES not in backend.capabilities:
        raise InvalidInputError(
            f'The backend "{backend.name}" does not share its objects between processes, so none can race there.',
            help="Leave out --processes: the writers are threads then.",
            details={"option": "processes"},
        )
