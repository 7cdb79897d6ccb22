"""``omnigraph storage``: is there a fault in this place that a graph would suffer from?

The check itself lives in ``omnigraph.testing``; here its steps are printed as they come. An interrupt ends the check,
never its clean-up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Final

import click

from omnigraph_cli.exit_codes import ExitCode
from omnigraph_cli.graphs import find_place, storage_options
from omnigraph_cli.lazy_group import LazyGroup
from omnigraph_cli.output.results import CheckResult, StepResult
from omnigraph_cli.session import Session, global_options, json_option

if TYPE_CHECKING:
    from omnigraph.storage import StorageBackend, StorageUri
    from omnigraph.testing.storage_check import CheckStep

_STEPS: Final = ("backend", "reach", "honesty", "round_trip", "create_race", "replace_race", "tables", "clean_up")

_EXAMPLES = """\b
Examples:
  omnigraph storage check graph.omni
  omnigraph storage check graph.omni --writers 16 --rounds 1000 --seconds 300
  omnigraph storage check s3://bucket/graph --option region=eu-west-1
  omnigraph storage check s3://bucket/graph --json
"""


def _number(
    kind: Callable[[str], float], name: str, least: float, most: float
) -> Callable[[click.Context, click.Parameter, str], float]:
    """Makes the words of an option a number within bounds, and says in words what is wrong about others."""

    def convert(ctx: click.Context, param: click.Parameter, word: str) -> float:
        try:
            number = kind(word)
        except ValueError:
            number = least - 1
        # Written so that "nan" is refused, which is neither above nor below anything.
        if not least <= number <= most:
            raise click.BadParameter(f'It must be {name} from {least:,} to {most:,}, and not "{word}".', ctx, param)
        return number

    return convert


@click.group(cls=LazyGroup, epilog="\b\nExamples:\n  omnigraph storage check graph.omni")
@json_option
@global_options
def storage() -> None:
    """Examine the storage that a graph lives on."""


@storage.command(epilog=_EXAMPLES)
@click.argument("uri")
@click.option(
    "--writers",
    callback=_number(int, "a whole number", 2, 256),
    metavar="N",
    default="8",
    show_default=True,
    help="How many writers race for one object, 2 to 256.",
)
@click.option(
    "--rounds",
    callback=_number(int, "a whole number", 1, 10_000),
    metavar="N",
    default="100",
    show_default=True,
    help="How many objects they race for, 1 to 10,000, one after the other, as far as the time allows.",
)
@click.option(
    "--seconds",
    callback=_number(float, "a number of seconds", 1, 86_400),
    metavar="N",
    default="20",
    show_default=True,
    help="After about this long a race ends with the rounds that it had.",
)
@click.option(
    "--threads",
    is_flag=True,
    help="Race threads of one process even where the store is shared between processes; faster.",
)
@storage_options
@json_option
@global_options
@click.pass_obj
def check(
    session: Session, uri: str, writers: int, rounds: int, seconds: float, threads: bool, options: dict[str, str]
) -> ExitCode:
    """Look for faults in the place behind URI, by using it as a graph would.

    URI is a path or scheme://name/path. The check writes below a fresh prefix of it, races writers for single
    objects, lets Lance create and commit a table, and removes everything again. It ends at the first step that fails.
    The writers are processes where the store is shared between processes.

    Only a check that was killed leaves something behind: what lies below __omnigraph_check_* may be deleted.

    It finds faults and proves nothing: a fault that shows in one race of many is found by more --rounds and --writers.

    With --quiet only the steps that failed and the verdict are printed.

    Exit code 0 when every step passed, 1 when one failed or the place could not be reached.
    """
    from omnigraph.testing.storage_check import check_storage

    root, backend = find_place(session, uri, options)
    session.narrate(f"storage check {root}")

    steps = check_storage(
        uri,
        options=options,
        writers=writers,
        rounds=rounds,
        seconds_per_race=seconds,
        place="threads" if threads else None,
    )
    found: list[StepResult] = []
    try:
        # Closed whatever happens: an interrupt or a closed pipe leaves nothing behind at the root.
        with closing(steps):
            for step in _watched(steps, found, session, root, backend):
                if not session.quiet or not step.passed:
                    session.show_part(step)
    except KeyboardInterrupt as error:
        _note_clean_up(error, root)
        raise
    result = CheckResult(uri=str(root), steps=tuple(found), limits=_limits(root, backend))
    session.show(result)
    return ExitCode.DONE if result.passed else ExitCode.FAILED


def _watched(
    steps: Iterator[CheckStep], found: list[StepResult], session: Session, root: StorageUri, backend: StorageBackend
) -> Iterator[StepResult]:
    """Each finding as it comes, kept in ``found``; a terminal shows the step that runs."""
    while True:
        with session.working(f"{_next_step(found, backend)}: checking {root}"):
            step = next(steps, None)
        if step is None:
            return
        if step.error is not None:
            session.show_traceback(step.error)
        # What could not be removed is named as it is.
        shorten = str if step.name == "clean_up" else _named_by(root)
        result = StepResult.of(step, session.clean, shorten=shorten, is_traced=session.debug)
        found.append(result)
        yield result


def _named_by(root: StorageUri) -> Callable[[str], str]:
    """Puts the place that was asked about where a sentence names an object that the check made for a minute."""
    place = str(root)
    own = re.compile(rf"{re.escape(place.rstrip('/'))}/__omnigraph_check_[0-9a-f]+(?:/[\w.-]*\w)*")
    return lambda text: own.sub(lambda _: place, text)


def _next_step(found: Sequence[StepResult], backend: StorageBackend) -> str:
    from omnigraph.storage import Capability

    if not found:
        return _STEPS[0]
    if not found[-1].passed or found[-1].name not in _STEPS[:-1]:
        return _STEPS[-1]
    following = _STEPS[_STEPS.index(found[-1].name) + 1]
    is_skipped = following == "replace_race" and Capability.WRITE_IF_MATCH not in backend.capabilities
    return "tables" if is_skipped else following


def _note_clean_up(error: BaseException, root: StorageUri) -> None:
    """Tell what is left behind, unless the check told it itself."""
    if getattr(error, "__notes__", ()):
        return
    earlier = error.__context__
    while earlier is not None and not isinstance(earlier, KeyboardInterrupt):
        earlier = earlier.__context__
    if earlier is None:
        error.add_note("What the check wrote is removed.")
    else:
        error.add_note(f"The clean-up was interrupted too: remove what is left at {root} below __omnigraph_check_*.")


def _limits(root: StorageUri, backend: StorageBackend) -> str | None:
    from omnigraph.storage import Capability

    if Capability.SHARED_BETWEEN_PROCESSES in backend.capabilities:
        return None
    return "in this process only" + ("; nothing is kept" if root.scheme == "memory" else "")
