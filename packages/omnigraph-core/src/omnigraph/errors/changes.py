"""Why a consumer of changes cannot go on from where it stands.

    ChangeCursorRejectedError      what it came with does not belong here
    ChangeSchemaBoundaryError      the schema changed at the next commit: rows before and after do not compare
    ChangeFeedGapError             the next commit is there and what it changed is not readable any more

Each words its own message, and the way on: another start, or a baseline.
"""

from __future__ import annotations

from typing import Final

from omnigraph.errors.inputs import InvalidInputError
from omnigraph.errors.root import ErrorKind, OmnigraphError

_REASONS: Final = {
    "form": "it is no token of this release, or was cut short",
    "checksum": "it was altered on its way",
    "kind": "it is a token of another kind",
    "graph": "it is of another graph",
    "branch": "it is of another branch",
    "incarnation": "its branch was deleted, and this one of the same name is another",
    "commit": "it is of another commit",
    "filter": "it was made with other filters",
    "position": "the history has no such place",
}


class ChangeCursorRejectedError(InvalidInputError):
    """A cursor or page token does not belong to what it was given for; nothing was read.

    Attributes:
        reason: what does not fit, as a stable word: ``form``, ``checksum``, ``kind``, ``graph``, ``branch``,
            ``incarnation``, ``commit``, ``filter`` or ``position``.
    """

    kind = ErrorKind.CHANGE_CURSOR_REJECTED

    def __init__(self, reason: str, *, help: str | None = None) -> None:
        super().__init__(
            f"The change cursor was rejected: {_REASONS[reason]}.",
            help=help or "Give it to the call that it came from, unchanged, or begin anew with a baseline.",
            details={"reason": reason},
        )
        self.reason = reason


class ChangeSchemaBoundaryError(OmnigraphError):
    """A commit changed the schema, so it is not told row by row; nothing was delivered.

    Attributes:
        commit_id: the commit.
    """

    kind = ErrorKind.CHANGE_SCHEMA_BOUNDARY

    def __init__(self, *, commit_id: str) -> None:
        super().__init__(
            f"The schema changed at commit {commit_id}: its rows do not compare with those before it.",
            help="Take a baseline of the graph as it is now and go on from its cursor; or, if you need no rows of that "
            f"commit, start behind it: after:{commit_id}.",
            details={"commit_id": commit_id},
        )
        self.commit_id = commit_id


class ChangeFeedGapError(OmnigraphError):
    """What a commit changed is not readable any more, because history was reclaimed; nothing was delivered.

    Attributes:
        cursor: where the consumer stood, if it came with a cursor.
        first_unreadable_commit_id: the commit.
    """

    kind = ErrorKind.CHANGE_FEED_GAP

    def __init__(self, *, first_unreadable_commit_id: str, cursor: str | None = None) -> None:
        super().__init__(
            f"What commit {first_unreadable_commit_id} changed is not readable any more: history was reclaimed.",
            help="Take a baseline of the graph as it is now, put it in the place of what you have, and go on from its "
            "cursor.",
            details={"first_unreadable_commit_id": first_unreadable_commit_id, "cursor": cursor},
        )
        self.cursor = cursor
        self.first_unreadable_commit_id = first_unreadable_commit_id
