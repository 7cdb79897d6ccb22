"""Which graph a verb is about: URI and storage options from the command line to an open graph.

    omnigraph VERB URI [--option KEY=VALUE]... [--as ACTOR]

Option values may be secrets: they are handed to the session for hiding before anything is opened. A verb that writes
says on stderr what it is about to do, and to which place, before it does it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from omnigraph.errors import InvalidInputError
from omnigraph_cli.session import Session

if TYPE_CHECKING:
    import omnigraph
    from omnigraph.storage import StorageBackend, StorageUri

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPlace:
    """A place that a command line named; it was parsed, and its secrets are hidden from now on.

    Attributes:
        uri: in canonical form.
        options: as given; nothing that the backend does not know.
    """

    uri: StorageUri
    options: Mapping[str, str]

    @classmethod
    def of(cls, session: Session, uri: str, options: Mapping[str, str]) -> GraphPlace:
        """The place behind the words.

        Raises:
            InvalidInputError: the URI is malformed, or its backend has no such option.
            BackendNotInstalledError, BackendFailedToLoadError, BackendConflictError: nothing serves it.
        """
        root, _ = find_place(session, uri, options)
        return cls(uri=root, options=options)

    @property
    def is_local(self) -> bool:
        return self.uri.scheme == "file"

    def open(self, session: Session, mode: Literal["r", "rw"] = "r", *, actor: str | None = None) -> omnigraph.Graph:
        """The graph at this place, to be closed by the caller. Raises as ``omnigraph.open``."""
        import omnigraph

        with session.working(f"opening {self.uri}"):
            return omnigraph.open(str(self.uri), mode=mode, actor=actor, options=self.options)

    def may_take_away(self, session: Session, doing: str, question: str) -> bool:
        """Whether taking something away here needs no leave, or gets it from the person at the terminal.

        Args:
            session: the run.
            doing: what needs leave, as the beginning of a sentence: ``Overwriting s3://bucket/films``.
            question: what the person is asked.

        Raises:
            click.UsageError: nobody is there to be asked.
        """
        if self.is_local:
            return True
        can_ask = all(each is not None and each.isatty() for each in (sys.stdin, sys.stderr))
        if session.as_json or not can_ask:
            raise click.UsageError(
                f"{doing} needs --yes: it is not on a local disk, and nobody can be asked.", click.get_current_context()
            )
        return click.confirm(question, err=True)

    def announce(self, session: Session, verb: str) -> None:
        """Say what is about to be written, and where."""
        session.narrate(f"{verb} {self.uri} (direct, {'local' if self.is_local else 'remote'})")


def find_place(session: Session, uri: str, options: Mapping[str, str]) -> tuple[StorageUri, StorageBackend]:
    """The canonical URI and the backend that serves it; from here on the session hides its secrets. Raises as above."""
    from omnigraph.plugins import find_backend, installed_plugins
    from omnigraph.storage import parse_uri

    root = parse_uri(uri)
    with session.working("loading plugins"):
        _, backend = find_backend(root, installed_plugins())
    session.hide(_secret_values(backend, options), keep=str(root))
    if options and not backend.options:
        raise InvalidInputError(
            f'The backend "{backend.name}" takes no options.',
            help="Leave out --option.",
            details={"option": next(iter(options))},
        )
    return root, backend


def _secret_values(backend: StorageBackend, given: Mapping[str, str]) -> Iterator[str]:
    """What must not be shown. Undeclared names are refused before anybody sees their values."""
    for option in backend.options:
        if option.is_secret:
            yield given.get(option.name, "")
            yield from (os.environ.get(variable, "") for variable in option.environment)


# ── words of the command line ────────────────────────────────────────────────────────────────────────────────────────


def key_values(ctx: click.Context, param: click.Parameter, words: tuple[str, ...]) -> dict[str, str]:
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


def storage_options(command: Decorated) -> Decorated:
    """Add ``--option KEY=VALUE``, which comes to the verb as the mapping ``options``."""
    return click.option(
        "--option",
        "options",
        metavar="KEY=VALUE",
        multiple=True,
        callback=key_values,
        help="A storage option, see `omnigraph plugins`. Repeatable. Other users of this machine may see the command "
        "line: give secrets by environment variable.",
    )(command)


def actor_option(command: Decorated) -> Decorated:
    """Add ``--as ACTOR``, which comes to the verb as ``actor``."""
    return click.option(
        "--as", "actor", metavar="ACTOR", callback=_not_blank, help="Who does it; kept with the commit."
    )(command)


def deadline_option(command: Decorated) -> Decorated:
    """Add ``--deadline SECONDS``."""
    words = "End with an error when it takes longer; nothing is written then."
    return click.option("--deadline", metavar="SECONDS", type=click.FloatRange(min=0), help=words)(command)


def branch_option(command: Decorated) -> Decorated:
    """Add ``--branch NAME``, by default main."""
    return click.option("--branch", metavar="NAME", default="main", show_default=True, help="Which branch.")(command)


def moment(word: str) -> str | int:
    """A moment of a graph: a number is a version of the manifest, anything else the id of a commit."""
    # The id of a commit has 26 characters, which may all be digits; a version never gets as long.
    return int(word) if word.isascii() and word.isdigit() and len(word) <= 19 else word


def refuse_branch_and_snapshot(branch: str | None, snapshot: str | None) -> None:
    """A commit is on its branch already."""
    if branch is not None and snapshot is not None:
        raise click.UsageError("Give --branch or --snapshot, not both.", click.get_current_context())


def _not_blank(ctx: click.Context, param: click.Parameter, word: str | None) -> str | None:
    if word is not None and not word.strip():
        raise click.BadParameter("It must not be blank.", ctx, param)
    return word
