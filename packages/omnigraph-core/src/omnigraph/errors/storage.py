"""A storage backend could not do what was asked, or there is none."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from omnigraph.errors.root import ErrorKind, OmnigraphError


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
