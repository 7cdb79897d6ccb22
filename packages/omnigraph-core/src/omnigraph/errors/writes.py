"""Why a write is not done, or not known to be: the graph moved on, the answer was lost, or another write comes first.

    ConflictError              nothing of the write is visible; the caller decides whether it is repeated
    OutcomeUnknownError        all of it may be visible
    RecoveryRequiredError      nothing was begun

The conflicts word their own messages, so that one thing is told in one way, whoever finds it out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal

from omnigraph.errors.root import ErrorKind, OmnigraphError

_CONFLICTS_SHOWN: Final = 3
"""Conflicts of a merge that its message shows; the others are counted."""


class ConflictError(OmnigraphError):
    """What this write was built on is not what the graph is any more; nothing of it is visible.

    Attributes:
        expected: what the write was built on; None where there is no one thing to name.
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


class HeadMovedError(ConflictError):
    """A branch moved on under a write that may not be built anew by itself, or is not where the caller says.

    Attributes:
        branch: where the write should have gone.
        expected: the id of the commit that the write was built on, where it is known, or that the caller gave.
        actual: the id of the newest commit.
        members: what moved, such as ``pin:node:Film`` or ``schema``; empty when only the commits were compared.
    """

    kind = ErrorKind.HEAD_MOVED

    def __init__(
        self,
        *,
        branch: str,
        expected: str | None,
        actual: str,
        members: tuple[str, ...] = (),
        help: str | None = None,
    ) -> None:
        if members:
            told = ", ".join(map(_told, members))
            message = f"{told[0].upper()}{told[1:]} changed while this write to {branch} was under way."
            next_move = "Look at what changed, then repeat the write if it is still what you want."
        else:
            message = f"The newest commit of {branch} is {actual}, and this write asks for {expected}."
            next_move = "Look at what changed since, then repeat the write for the newest commit if you still want it."
        super().__init__(
            message,
            expected=expected,
            actual=actual,
            help=help or next_move,
            details={"branch": branch, "members": list(members)},
        )
        self.branch = branch
        self.members = members


def _told(member: str) -> str:
    """A member of a read set in the words of users: ``pin:node:Film`` is the node type Film."""
    kind, _, name = member.removeprefix("pin:").partition(":")
    if name:
        return f"{kind} type {name}"
    return "the schema" if member == "schema" else member


class BranchReplacedError(ConflictError):
    """A branch was deleted and made anew while a write to it was under way; the new one is another branch.

    Of main: the graph was removed and made anew at the same place, since this handle opened it.

    Attributes:
        branch: the name that both have.
        expected: the incarnation that the write was built on, or that the handle opened.
        actual: the incarnation that is there now.
    """

    kind = ErrorKind.BRANCH_REPLACED

    def __init__(self, *, branch: str, expected: str, actual: str) -> None:
        message, advice = (
            (
                "The graph was removed, and another one was made at the same place, since it was opened.",
                "Open it again; what this handle knows is of the graph that was removed.",
            )
            if branch == "main"
            else (
                f"The branch {branch} was deleted and made anew while this write was under way.",
                "Repeat the write on the new branch if that is what you want.",
            )
        )
        super().__init__(message, expected=expected, actual=actual, help=advice, details={"branch": branch})
        self.branch = branch


class ContentionError(ConflictError):
    """Others kept publishing first until the deadline passed.

    Attributes:
        branch: where the write should have gone, where it is known.
        attempts: how often it was tried.
        deadline_seconds: the time that it had.
    """

    kind = ErrorKind.CONTENTION

    def __init__(self, *, purpose: str, attempts: int, deadline_seconds: float, branch: str | None = None) -> None:
        super().__init__(
            f"Others kept publishing first: could not {purpose} in {deadline_seconds:g} seconds and "
            f"{attempts} attempts.",
            help="Repeat the write when the graph is less busy, or let one writer batch what several send.",
            details={"branch": branch, "attempts": attempts, "deadline_seconds": deadline_seconds},
        )
        self.branch = branch
        self.attempts = attempts
        self.deadline_seconds = deadline_seconds


class MergeConflictKind(StrEnum):
    """How two branches contradict each other. Append-only."""

    DIVERGENT_INSERT = "divergent_insert"
    DIVERGENT_UPDATE = "divergent_update"
    DELETE_VS_UPDATE = "delete_vs_update"
    ORPHAN_EDGE = "orphan_edge"
    UNIQUE_VIOLATION = "unique_violation"
    CARDINALITY_VIOLATION = "cardinality_violation"
    VALUE_CONSTRAINT_VIOLATION = "value_constraint_violation"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeConflict:
    """One thing that a merge cannot decide.

    Attributes:
        type: the name of the node type or edge type.
        id: of the node or edge; None where the conflict is about no single one.
        message: what is wrong, without type and id.
        base: the row in the common ancestor, as JSON values by property; None where there is none. So are ``source``
            and ``target``, the rows of the two branches.
    """

    kind: MergeConflictKind
    entity: Literal["node", "edge"]
    type: str
    id: str | None
    message: str
    base: Mapping[str, Any] | None = None
    source: Mapping[str, Any] | None = None
    target: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        which = "" if self.id is None else f" '{self.id}'"
        return f"{self.entity} {self.type}{which}: {self.message}"

    def to_dict(self) -> dict[str, Any]:
        rows = {"base": self.base, "source": self.source, "target": self.target}
        return {
            "kind": str(self.kind),
            "entity": self.entity,
            "type": self.type,
            "id": self.id,
            "message": self.message,
            **{name: None if row is None else dict(row) for name, row in rows.items()},
        }


class MergeConflictError(ConflictError):
    """Two branches contradict each other; nothing was merged.

    Attributes:
        branch: the branch that was to take the changes.
        source: the branch that they come from.
        conflicts: all of them, at least one.
    """

    kind = ErrorKind.MERGE_CONFLICT

    def __init__(self, conflicts: tuple[MergeConflict, ...], *, source: str, branch: str) -> None:
        count = len(conflicts)
        lines = [f"{count} conflict{'s' if count > 1 else ''} between {source} and {branch}, so nothing was merged:"]
        lines += [f"  {each}" for each in conflicts[:_CONFLICTS_SHOWN]]
        if count > _CONFLICTS_SHOWN:
            lines.append(f"  and {count - _CONFLICTS_SHOWN} more")
        super().__init__(
            "\n".join(lines),
            help="Make the two agree on one of the branches, then merge again; or let one side decide where both "
            "changed the same: strategy ours or theirs.",
            details={"source": source, "branch": branch, "conflicts": [each.to_dict() for each in conflicts]},
        )
        self.source = source
        self.branch = branch
        self.conflicts = conflicts


class OutcomeUnknownError(OmnigraphError):
    """A change may have happened: the answer was lost, and so was the look for it.

    Attributes:
        commit_id: the commit to look for when the store answers again.
    """

    kind = ErrorKind.OUTCOME_UNKNOWN

    def __init__(self, message: str, *, commit_id: str, help: str) -> None:
        super().__init__(message, help=help, details={"commit_id": commit_id})
        self.commit_id = commit_id


class RecoveryRequiredError(OmnigraphError):
    """A write was cut off, and a recovery can neither finish it nor take it back; nothing was begun.

    Attributes:
        operation_id: names the write that was cut off.
    """

    kind = ErrorKind.RECOVERY_REQUIRED

    def __init__(self, message: str, *, operation_id: str, help: str) -> None:
        super().__init__(message, help=help, details={"operation_id": operation_id})
        self.operation_id = operation_id
