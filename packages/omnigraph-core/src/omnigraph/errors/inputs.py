"""What a caller wrote is wrong: a text, an option, a row."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from omnigraph.errors.root import ErrorKind, OmnigraphError

if TYPE_CHECKING:
    from omnigraph.lang.diagnostics import Diagnostic


class InvalidInputError(OmnigraphError, ValueError):
    """Something the caller wrote is wrong; nothing was done."""

    kind = ErrorKind.INVALID_INPUT


class LoadIdReusedError(InvalidInputError):
    """A load has the name of an earlier one on its branch and other content; nothing was written.

    Attributes:
        load_id: the name.
        branch: where both were sent.
        commit_id: the commit of the earlier one.
        expected: the digest of what the earlier one was given.
        actual: the digest of what was given now.
    """

    kind = ErrorKind.LOAD_ID_REUSED

    def __init__(self, *, load_id: str, branch: str, commit_id: str, expected: str, actual: str) -> None:
        super().__init__(
            f'The load "{load_id}" is on branch {branch} already, as commit {commit_id}, with other content: '
            f"that was {expected}, and this is {actual}.",
            help="Give this load another name, or send what the earlier one was given.",
            details={
                "load_id": load_id,
                "branch": branch,
                "commit_id": commit_id,
                "expected": expected,
                "actual": actual,
            },
        )
        self.load_id = load_id
        self.branch = branch
        self.commit_id = commit_id
        self.expected = expected
        self.actual = actual


class CompileError(OmnigraphError, ValueError):
    """A schema or a query is wrong; nothing was done.

    Attributes:
        diagnostics: everything that was found, in the order of the text; at least one.
    """

    kind = ErrorKind.COMPILE

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        # A warning may stand further up in the text; the message is about what stopped the work.
        first = min(diagnostics, key=lambda each: each.severity != "error")
        more = len(diagnostics) - 1
        place = f"{first.position.line}:{first.position.column}"
        message = f"{first.headline} ({first.source.name}:{place})"
        if more:
            message += f", and {more} more"
        super().__init__(
            message,
            help=first.help or first.label,
            details={"diagnostics": [each.to_dict() for each in diagnostics]},
        )
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        """The message and, below it, every diagnostic with its line and carets: what a traceback should show."""
        return "\n\n".join((self.message, *map(str, self.diagnostics)))


class ParseError(CompileError):
    """The text does not follow the grammar of its language, or the rules that the grammar cannot say."""


class CheckError(CompileError):
    """The text can be read, and speaks of things that do not exist or do not go together."""


class ConstraintError(OmnigraphError):
    """Rows break a rule of the schema: a key, a unique tuple, an endpoint, a cardinality, a value; nothing was done.

    ``details["problems"]`` has each violation that was found, up to a bound, and ``violations`` is the same. The other
    properties are about the first of them; None where it is not known.
    """

    kind = ErrorKind.CONSTRAINT

    @property
    def violations(self) -> tuple[Mapping[str, Any], ...]:
        """What was found, in the order of the input: ``reason``, ``message``, and what is known of the rest."""
        return tuple(MappingProxyType(each) for each in self.details.get("problems", ()))

    @property
    def type_key(self) -> str | None:
        """The type of the row, such as ``node:Film``."""
        return self._fact("type_key")

    @property
    def id(self) -> str | None:
        """The id of the row."""
        return self._fact("id")

    @property
    def constraint(self) -> str | None:
        """The rule, nearly as the schema writes it, such as ``@unique(mail)``, ``@card(0..2)``, ``endpoint dst``."""
        return self._fact("constraint")

    @property
    def holders(self) -> tuple[str, ...]:
        """The ids that collide.

        Of a key or a unique tuple, the row that had it first and the row that wants it; of an endpoint, the node that
        is not there; of a cardinality, the node that the edges leave; of a value, none.
        """
        return tuple(self._first.get("holders", ()))

    @property
    def _first(self) -> Mapping[str, Any]:
        return next(iter(self.violations), {})

    def _fact(self, name: str) -> str | None:
        found: str | None = self._first.get(name)
        return found
