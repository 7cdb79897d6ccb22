"""What the verbs that load records share: their options, the question before an overwrite, what is told at the end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from omnigraph.errors import ConstraintError
from omnigraph_cli.graphs import GraphPlace, actor_option, branch_option
from omnigraph_cli.session import Session

if TYPE_CHECKING:
    from omnigraph import LoadProgress, LoadResult

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def load_options(command: Decorated) -> Decorated:
    """Add ``--mode``, ``--branch``, ``--from`` as ``base``, ``--load-id``, ``--yes`` and ``--as`` as ``actor``."""
    for option in (
        actor_option,
        click.option("--yes", is_flag=True, help="Overwrite without asking."),
        click.option(
            "--load-id", metavar="NAME", help="Names this load; repeating it under the same name does nothing."
        ),
        click.option(
            "--from",
            "base",
            metavar="NAME",
            help="Make the branch from this one if it is missing; it stays if the load fails.",
        ),
        branch_option,
        click.option(
            "--mode",
            required=True,
            type=click.Choice(["append", "merge", "overwrite"]),
            help="append: ids must be new. merge: rows of the same id are replaced. overwrite: what is loaded is all "
            "there is of its types.",
        ),
    ):
        command = option(command)
    return command


def may_load(session: Session, place: GraphPlace, mode: str, *, yes: bool) -> bool:
    """Whether a load may go on; one that overwrites elsewhere than on a local disk is asked about, unless ``yes``.

    Raises:
        click.UsageError: nobody is there to be asked.
    """
    if mode != "overwrite" or yes:
        return True
    question = f"Overwrite what {place.uri} has of the types in the file?"
    if place.may_take_away(session, f"Overwriting {place.uri}", question):
        return True
    session.narrate("Nothing was loaded.")
    return False


class LoadCourse:
    """How far a load came; ``done`` is its result, once there is one."""

    def __init__(self) -> None:
        self.seen: LoadProgress | None = None
        self.done: LoadResult | None = None

    def reporting(self, show: Callable[[str], None], what: str) -> Callable[[LoadProgress], None]:
        """What a load is to call as it goes on, so that a line of the terminal tells of it."""

        def report(progress: LoadProgress) -> None:
            self.seen = progress
            show(f"{progress.phase} {what}: {progress.records:,} records")

        return report

    def repeated(self, load_id: str | None) -> str | None:
        """The name of the load when one of this name was there before: it counts nothing, read or not."""
        was_empty = self.seen is not None and self.seen.records == 0
        return None if self.done is None or self.done.total or was_empty else load_id

    def state_left(self, place: GraphPlace) -> str:
        """What is known of a load that was interrupted: nothing is visible before it publishes."""
        if self.done is not None:
            return f"It was loaded, as commit {self.done.commit.id}."
        if self.seen is None or self.seen.phase != "publishing":
            return "Nothing was loaded."
        return f"It may have been loaded: omnigraph commit list {place.uri} shows whether it was."


@contextlib.contextmanager
def following_load(place: GraphPlace, mode: str) -> Iterator[LoadCourse]:
    """Around a load: an interrupt says what is left of it, and a refusal how it might be taken."""
    course = LoadCourse()
    try:
        yield course
    except KeyboardInterrupt as error:
        error.add_note(course.state_left(place))
        raise
    except ConstraintError as error:
        if mode == "append" and "key_conflict" in error.details.get("counts", ()):
            error.add_note("With --mode merge, what is there already is replaced.")
        raise
