"""The root of the tree and the words that programs rely on.

Every error pickles as its arguments and all that it holds, notes included, so a subclass may word its own message.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, ClassVar


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
    HEAD_MOVED = "head_moved"
    BRANCH_REPLACED = "branch_replaced"
    CONTENTION = "contention"
    MERGE_CONFLICT = "merge_conflict"
    RECOVERY_REQUIRED = "recovery_required"
    CLOSED = "closed"
    FORKED_PROCESS = "forked_process"
    CHANGE_CURSOR_REJECTED = "change_cursor_rejected"
    CHANGE_FEED_GAP = "change_feed_gap"
    CHANGE_SCHEMA_BOUNDARY = "change_schema_boundary"
    PLUGIN = "plugin"
    LOAD_ID_REUSED = "load_id_reused"
    RELOCATION_REQUIRED = "relocation_required"


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


class InternalError(OmnigraphError):
    """Something that cannot be has happened: a mistake of ours."""

    kind = ErrorKind.INTERNAL
