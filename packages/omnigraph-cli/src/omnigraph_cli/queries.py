"""Which query a verb runs: file, text and name from the command line, and the values of its parameters.

omnigraph VERB URI [NAME] [--query FILE | -e TEXT] [--params JSON | --params-file FILE]

Which graph it is run on is not known here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from omnigraph.errors import InvalidInputError
from omnigraph_cli.sources import FILE, read_input, refuse_two_dashes

if TYPE_CHECKING:
    from omnigraph.lang import SourceText

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenQuery:
    """A query that a command line named, and what it is to be run with.

    Attributes:
        name: which query of the source; None where it has only one.
        params: by name, not yet judged; None when none were given.
    """

    source: SourceText
    name: str | None
    params: Mapping[str, Any] | None

    @classmethod
    def of(
        cls,
        *,
        path: str | None,
        text: str | None,
        name: str | None,
        named: str | None,
        params: str | None,
        params_file: str | None,
    ) -> GivenQuery:
        """What the words of ``query_options`` say.

        Raises:
            click.UsageError: they contradict each other, or name no query.
            InvalidInputError: a file cannot be read, or the parameters are no JSON object.
            ParseError: a file is not UTF-8.
        """
        if None not in (name, named) and name != named:
            raise click.UsageError(f"NAME is {name} and --name is {named}: give one.", click.get_current_context())
        refuse_two_dashes(path, params_file)
        return cls(source=read_query(path, text), name=name or named, params=read_params(params, params_file))


def query_options(command: Decorated) -> Decorated:
    """Add ``NAME`` and the options of a query, which come to the verb as the arguments of ``GivenQuery.of``."""
    for each in (
        click.option("--params-file", metavar="FILE", type=FILE, help='The same from a file; "-" for stdin.'),
        click.option("--params", metavar="JSON", help="Values of parameters, an object: names without $."),
        click.option("--name", "named", metavar="NAME", help="The same as NAME."),
        click.option("-e", "--expression", "text", metavar="TEXT", help="The query itself."),
        click.option("--query", "path", metavar="FILE", type=FILE, help='Queries, a .gq file; "-" for stdin.'),
        click.argument("name", required=False),
    ):
        command = each(command)
    return command


def read_query(path: str | None, text: str | None) -> SourceText:
    """The queries that ``--query FILE`` or ``-e TEXT`` gives.

    Raises:
        click.UsageError: neither was given, or both.
        InvalidInputError: the file cannot be read.
        ParseError: it is not UTF-8.
    """
    if path is None and text is None:
        raise click.UsageError("Give the query by --query FILE or by -e TEXT.", click.get_current_context())
    if path is None:
        from omnigraph.lang import SourceText

        return SourceText.of(text or "", "<query>")
    if text is not None:
        raise click.UsageError("Give the query by --query FILE or by -e TEXT, not both.", click.get_current_context())
    return read_input(path)


def read_params(given: str | None, path: str | None) -> dict[str, Any] | None:
    """The parameters that ``--params`` or ``--params-file`` gives.

    Raises:
        InvalidInputError: they are no JSON object.
        click.UsageError: both were given.
    """
    if given is not None and path is not None:
        raise click.UsageError("Give --params or --params-file, not both.", click.get_current_context())
    text = given if path is None else read_input(path).text
    if text is None:
        return None
    name = path or "--params"
    try:
        values = json.loads(text)
    except ValueError as error:
        raise InvalidInputError(
            f"{name} is no JSON: {error}.", help='Write an object, such as {"since": "2025-01-01"}.'
        ) from None
    if values is not None and not isinstance(values, dict):
        raise InvalidInputError(f"{name} is no JSON object.", help='Write one, such as {"since": "2025-01-01"}.')
    return values
