"""What lies at a place is not what was asked for."""

from __future__ import annotations

import shlex

from omnigraph.errors.root import ErrorKind, OmnigraphError


class NotFoundError(OmnigraphError, LookupError):
    """There is no such graph, branch, commit or type."""

    kind = ErrorKind.NOT_FOUND


class AlreadyExistsError(OmnigraphError):
    """There is one already, and it was not touched."""

    kind = ErrorKind.ALREADY_EXISTS


class ReadOnlyError(OmnigraphError):
    """A change was asked of something that was opened for reading; nothing was done."""

    kind = ErrorKind.READ_ONLY

    def __init__(self, message: str, *, uri: str, help: str) -> None:
        super().__init__(message, help=help, details={"uri": uri})
        self.uri = uri


class FormatError(OmnigraphError):
    """What lies there was written by another release, or is damaged; it was not touched."""

    kind = ErrorKind.FORMAT


class RelocationRequiredError(FormatError):
    """A line names files at another place than its graph: they were moved or copied there with other tools.

    Attributes:
        uri: where the graph is.
        found: the place that the line names. It may hold what the graph had, another graph, or nothing.
        branch: what was asked for, where it is known.
    """

    kind = ErrorKind.RELOCATION_REQUIRED

    def __init__(self, subject: str, *, uri: str, found: str, branch: str | None = None) -> None:
        super().__init__(
            f"{subject} cannot be read: it names files at {found}, and the graph is at {uri}. It was moved or copied "
            "with a tool that does not know of branches.",
            help=f"Let its branches name their files here: omnigraph repair {shlex.quote(uri)} --relocate.",
            details={"uri": uri, "found": found, "branch": branch},
        )
        self.uri = uri
        self.found = found
        self.branch = branch
