"""What lies at a place is not what was asked for."""

from __future__ import annotations

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
