"""A bound was reached: of size or number, or of time."""

from __future__ import annotations

from typing import Any

from omnigraph.errors.root import ErrorKind, OmnigraphError


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
