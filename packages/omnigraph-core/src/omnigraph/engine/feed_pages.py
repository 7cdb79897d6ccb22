"""What a consumer of changes gets: pages of blocks, one block per commit; and how much goes on a page.

    FeedPage    blocks of a branch, and where to go on: a cursor at a boundary between commits, or else a page token
    CommitPage  changes of one commit, and the token of the next page

A page ends at a number of changes or of bytes, whichever comes first. A single change that is larger than a page is
delivered alone, so that nothing is ever stuck.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from omnigraph.engine.diff import Change
from omnigraph.engine.feed_bounds import MAX_BYTES, MAX_CHANGES, check_bound
from omnigraph.history.commits import Commit, CommitKind, to_micros
from omnigraph.history.cursors import RowMark


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeCause:
    """The commit behind a block of changes; see ``Commit``."""

    commit_id: str
    parent_id: str | None
    merged_parent_id: str | None
    branch: str
    actor: str | None
    kind: CommitKind
    created_at: datetime

    @classmethod
    def of(cls, commit: Commit) -> Self:
        return cls(
            commit_id=commit.id,
            parent_id=commit.parent_id,
            merged_parent_id=commit.merged_parent_id,
            branch=commit.branch,
            actor=commit.actor,
            kind=commit.kind,
            created_at=commit.created_at,
        )

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; ``created_at`` in microseconds since 1970."""
        return {
            "commit_id": self.commit_id,
            "parent_id": self.parent_id,
            "merged_parent_id": self.merged_parent_id,
            "branch": self.branch,
            "actor": self.actor,
            "kind": str(self.kind),
            "created_at": to_micros(self.created_at),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeBlock:
    """What one commit changed, against its first parent: nodes, then edges, each type by itself, rows by id.

    Attributes:
        changes: none where the commit changed no row, or none that was asked for.
        is_complete: False when the block goes on on the next page.
    """

    cause: ChangeCause
    changes: tuple[Change, ...]
    is_complete: bool

    def to_dict(self) -> dict[str, Any]:
        return {
            "cause": self.cause.to_dict(),
            "changes": [each.to_dict() for each in self.changes],
            "is_complete": self.is_complete,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedPage:
    """Some commits of a branch, oldest first.

    Attributes:
        head: the newest commit of the branch when it was asked; the feed goes that far.
        cursor: where to go on, to be stored; None inside a block, where only ``page_token`` goes on.
        page_token: gives the rest of the last block and what follows; None at a boundary between blocks.
        caught_up: whether ``head`` was reached.
    """

    branch: str
    head: Commit
    blocks: tuple[ChangeBlock, ...]
    cursor: str | None
    page_token: str | None
    caught_up: bool

    def to_dict(self) -> dict[str, Any]:
        return {
            "branch": self.branch,
            "head": self.head.id,
            "blocks": [each.to_dict() for each in self.blocks],
            "cursor": self.cursor,
            "page_token": self.page_token,
            "caught_up": self.caught_up,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitPage:
    """Some changes of one commit.

    Attributes:
        page_token: gives the rest; None when there is no more.
    """

    cause: ChangeCause
    changes: tuple[Change, ...]
    page_token: str | None

    def to_dict(self) -> dict[str, Any]:
        return {
            "cause": self.cause.to_dict(),
            "changes": [each.to_dict() for each in self.changes],
            "page_token": self.page_token,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Changes that went on a page.

    Attributes:
        mark: of the last of them.
        is_all: False when one more did not fit.
    """

    changes: tuple[Change, ...]
    mark: RowMark | None
    is_all: bool


class PageRoom:
    """What is left of a page while it fills."""

    def __init__(self, *, limit: int, max_bytes: int) -> None:
        """Begin a page.

        Raises:
            InvalidInputError: a bound is no number, or beyond what a page may hold.
        """
        self._changes = check_bound("limit", limit, MAX_CHANGES)
        self._bytes = check_bound("max_bytes", max_bytes, MAX_BYTES)
        self._is_empty = True

    @property
    def is_full(self) -> bool:
        return self._changes == 0 or self._bytes <= 0

    def fill(self, changes: Iterable[tuple[Change, RowMark]]) -> Taken:
        """Take changes as long as there is room; no more is asked for than one that does not fit."""
        taken: list[Change] = []
        last = None
        for change, mark in changes:
            if not self._takes(change):
                return Taken(changes=tuple(taken), mark=last, is_all=False)
            taken.append(change)
            last = mark
        return Taken(changes=tuple(taken), mark=last, is_all=True)

    def _takes(self, change: Change) -> bool:
        size = len(json.dumps(change.to_dict(), ensure_ascii=False, separators=(",", ":")).encode())
        if not self._is_empty and (self._changes == 0 or size > self._bytes):
            return False
        self._is_empty = False
        self._changes -= 1
        self._bytes -= size
        return True
