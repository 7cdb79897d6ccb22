"""The error tree: one base, a stable ``kind`` for programs, a next move for people.

    OmnigraphError
    ├── CompileError (ValueError)              .diagnostics: everything wrong with a schema or query, not the first only
    │   ├── ParseError                              it cannot be read
    │   └── CheckError                              it can be read and means nothing
    ├── InvalidInputError (ValueError)         a URI, option, row or parameter is wrong
    ├── ConstraintError                        rows that are well formed break a rule of the schema
    ├── NotFoundError (LookupError)            there is no such graph, branch, commit or type
    ├── AlreadyExistsError                     there is one already
    ├── ResourceLimitError                     a bound was reached before anything was done
    ├── DeadlineError (TimeoutError)           a query took longer than its budget allows
    ├── EmbeddingError                         a text could not be turned into a vector
    ├── ReadOnlyError                          it was opened for reading
    ├── ConflictError                          the graph moved on meanwhile; .expected and .actual
    ├── OutcomeUnknownError                    it may have happened; says how to find out
    ├── FormatError                            a graph of another format, or a damaged one
    ├── InternalError                          a mistake of ours
    └── StorageError                           .condition says what the evidence is
        ├── BackendNotInstalledError (ImportError)  no installed plugin serves this scheme
        ├── BackendFailedToLoadError                the plugin is there and broken, see __cause__
        ├── BackendConflictError                    two plugins claim the same name or scheme
        └── UnsupportedCapabilityError              the backend does not offer this verb

``ErrorKind`` is append-only. Every error pickles, notes included, because Spark workers and process pools
send errors across process boundaries.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from omnigraph.lang.diagnostics import Diagnostic


class ErrorKind(StrEnum):
    """What went wrong, as a word that programs may rely on. Append-only."""

    INVALID_INPUT = "invalid_input"
    RESOURCE_LIMIT = "resource_limit"
    STORAGE = "storage"
    BACKEND_NOT_INSTALLED = "backend_not_installed"
    BACKEND_FAILED_TO_LOAD = "backend_failed_to_load"
    BACKEND_CONFLICT = "backend_conflict"
    UNSUPPORTED_CAPABILITY = "unsupported_capability"
    READ_ONLY = "read_only"
    COMPILE = "compile"
    CONSTRAINT = "constraint"
    NOT_FOUND = "not_found"
    ALREADY_EXISTS = "already_exists"
    CONFLICT = "conflict"
    OUTCOME_UNKNOWN = "outcome_unknown"
    FORMAT = "format"
    INTERNAL = "internal"
    DEADLINE = "deadline"
    EMBEDDING = "embedding"


class StorageCondition(StrEnum):
    """What the evidence says about a storage failure.

    ``TRANSIENT`` describes the evidence; it is not leave to try again. Only code that knows that the
    failed request had no effect may repeat it.
    """

    TRANSIENT = "transient"
    CONFIGURATION = "configuration"
    NOT_FOUND = "not_found"
    PRECONDITION = "precondition"
    PERMANENT = "permanent"
    UNKNOWN = "unknown"


class OmnigraphError(Exception):
    """Base of every error that OmniGraph raises on purpose.

    Attributes:
        message: what happened, and to which thing.
        help: the next move, or None when the message says it already.
        details: facts for programs; JSON-compatible and free of secrets.
    """

    kind: ClassVar[ErrorKind]

    def __init__(self, message: str, *, help: str | None = None, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.help = help
        self._details = dict(details or {})

    @property
    def details(self) -> Mapping[str, Any]:
        return MappingProxyType(self._details)

    def __str__(self) -> str:
        if not self.help:
            return self.message
        if "\n" in self.message:
            return f"{self.message}\n{self.help}"
        # A message may be a phrase, such as "$since expects DateTime, got 12".
        stop = "" if self.message.endswith((".", "?", "!")) else "."
        return f"{self.message}{stop} {self.help}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__.copy())

    def to_dict(self) -> dict[str, Any]:
        """The JSON form that the command line prints under ``--json``."""
        return {
            "kind": str(self.kind),
            "message": self.message,
            "help": self.help,
            "details": dict(self._details),
        }


def _rebuild(cls: type[OmnigraphError], args: tuple[Any, ...], state: dict[str, Any]) -> OmnigraphError:
    error = cls.__new__(cls, *args)
    # ImportError keeps its message in a slot that only its own __init__ fills.
    super(OmnigraphError, error).__init__(*args)
    error.__dict__.update(state)
    return error


class InvalidInputError(OmnigraphError, ValueError):
    """Something the caller wrote is wrong; nothing was done."""

    kind = ErrorKind.INVALID_INPUT


class ConstraintError(OmnigraphError):
    """Rows break a rule of the schema: a key, a unique tuple, an endpoint, a cardinality, a value; nothing was done.

    ``details["violations"]`` has each one found, up to a bound, with the type, the id and the place it came from.
    """

    kind = ErrorKind.CONSTRAINT


class NotFoundError(OmnigraphError, LookupError):
    """There is no such graph, branch, commit or type."""

    kind = ErrorKind.NOT_FOUND


class AlreadyExistsError(OmnigraphError):
    """There is one already, and it was not touched."""

    kind = ErrorKind.ALREADY_EXISTS


class ConflictError(OmnigraphError):
    """What this write was built on is not what the graph is any more; nothing of it is visible.

    Attributes:
        expected: what the write was built on.
        actual: what the graph is now.
    """

    kind = ErrorKind.CONFLICT

    def __init__(
        self,
        message: str,
        *,
        expected: str | None = None,
        actual: str | None = None,
        help: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message, help=help, details={"expected": expected, "actual": actual} | dict(details or {}))
        self.expected = expected
        self.actual = actual


class OutcomeUnknownError(OmnigraphError):
    """A change may have happened: the answer was lost, and so was the look for it.

    Attributes:
        commit_id: the commit to look for when the store answers again.
    """

    kind = ErrorKind.OUTCOME_UNKNOWN

    def __init__(self, message: str, *, commit_id: str, help: str) -> None:
        super().__init__(message, help=help, details={"commit_id": commit_id})
        self.commit_id = commit_id


class FormatError(OmnigraphError):
    """What lies there was written by another release, or is damaged; it was not touched."""

    kind = ErrorKind.FORMAT


class InternalError(OmnigraphError):
    """Something that cannot be has happened: a mistake of ours."""

    kind = ErrorKind.INTERNAL


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


class ResourceLimitError(OmnigraphError):
    """A bound was reached, before anything was done.

    Attributes:
        resource: the stable name of what is bounded, such as ``storage_object_bytes``.
        limit: the bound.
        actual: what was seen when counting stopped; one over the limit where counting stops there.
        operator: of a query, the step of the plan that would have passed the bound.
    """

    kind = ErrorKind.RESOURCE_LIMIT

    def __init__(
        self,
        message: str,
        *,
        resource: str,
        limit: int,
        actual: int,
        help: str | None = None,
        uri: str | None = None,
        operator: str | None = None,
    ) -> None:
        details: dict[str, Any] = {"resource": resource, "limit": limit, "actual": actual}
        if uri is not None:
            details["uri"] = uri
        if operator is not None:
            details["operator"] = operator
        super().__init__(message, help=help, details=details)
        self.resource = resource
        self.limit = limit
        self.actual = actual
        self.uri = uri
        self.operator = operator


class DeadlineError(OmnigraphError, TimeoutError):
    """A query was stopped because its time was over; nothing of it remains.

    Attributes:
        deadline: the time it had, in seconds.
        operator: the step of the plan that was under way.
    """

    kind = ErrorKind.DEADLINE

    def __init__(self, message: str, *, deadline: float, operator: str, help: str | None = None) -> None:
        super().__init__(message, help=help, details={"deadline": deadline, "operator": operator})
        self.deadline = deadline
        self.operator = operator


class EmbeddingError(OmnigraphError):
    """A text could not be turned into a vector: the embedder is broken, did not answer, or answered wrongly.

    Attributes:
        provider: the name of the embedder.
        model: the model that was asked; None when it did not come to that.
        status: what its server answered, as a number of HTTP; None without an answer.
    """

    kind = ErrorKind.EMBEDDING

    def __init__(
        self, message: str, *, provider: str, help: str, model: str | None = None, status: int | None = None
    ) -> None:
        super().__init__(message, help=help, details={"provider": provider, "model": model, "status": status})
        self.provider = provider
        self.model = model
        self.status = status


class ReadOnlyError(OmnigraphError):
    """A change was asked of something that was opened for reading; nothing was done."""

    kind = ErrorKind.READ_ONLY

    def __init__(self, message: str, *, uri: str, help: str) -> None:
        super().__init__(message, help=help, details={"uri": uri})
        self.uri = uri


class StorageError(OmnigraphError):
    """A storage backend could not do what was asked.

    Attributes:
        condition: what the evidence says, see ``StorageCondition``.
        uri: the object or root concerned, without credentials.
    """

    kind = ErrorKind.STORAGE

    def __init__(
        self,
        message: str,
        *,
        condition: StorageCondition,
        uri: str | None = None,
        help: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        facts: dict[str, Any] = {"condition": str(condition)}
        if uri is not None:
            facts["uri"] = uri
        super().__init__(message, help=help, details=facts | dict(details or {}))
        self.condition = condition
        self.uri = uri


class BackendNotInstalledError(StorageError, ImportError):
    """No installed plugin serves the scheme of a URI."""

    kind = ErrorKind.BACKEND_NOT_INSTALLED

    def __init__(self, message: str, *, uri: str, help: str) -> None:
        super().__init__(message, condition=StorageCondition.CONFIGURATION, uri=uri, help=help)


class BackendFailedToLoadError(StorageError):
    """A plugin that should serve this URI is installed and could not be loaded."""

    kind = ErrorKind.BACKEND_FAILED_TO_LOAD

    def __init__(self, message: str, *, plugin: str, help: str, uri: str | None = None) -> None:
        super().__init__(
            message, condition=StorageCondition.CONFIGURATION, uri=uri, help=help, details={"plugin": plugin}
        )
        self.plugin = plugin


class BackendConflictError(StorageError):
    """Two plugins claim the same backend name or the same URI scheme."""

    kind = ErrorKind.BACKEND_CONFLICT

    def __init__(self, message: str, *, providers: tuple[str, ...], help: str) -> None:
        super().__init__(
            message, condition=StorageCondition.CONFIGURATION, help=help, details={"providers": list(providers)}
        )
        self.providers = providers


class UnsupportedCapabilityError(StorageError):
    """The backend of this URI does not declare the capability that a verb needs."""

    kind = ErrorKind.UNSUPPORTED_CAPABILITY

    def __init__(self, message: str, *, capability: str, uri: str, help: str | None = None) -> None:
        super().__init__(
            message, condition=StorageCondition.CONFIGURATION, uri=uri, help=help, details={"capability": capability}
        )
        self.capability = capability
