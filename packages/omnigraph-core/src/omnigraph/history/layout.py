"""How a manifest version is laid out in fragments, so that its cost does not grow with history.

    [ history, oldest … history, newest ][ state and the newest commits ]

A publish writes the whole live state as one small fragment; a cold open reads that fragment and nothing else. When more
than ``RECENT`` commits have gathered in it, they move to a history fragment of their own, and history fragments of one
size are merged four at a time: ten thousand commits lie in some fifteen of them, and each commit is rewritten a few
times in its life. Commits that a merge brings from another line go to the history at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

HISTORY_KEY: Final = "omnigraph:history_fragments"
"""Schema metadata: how many of the leading fragments are history."""

RECENT: Final = 32
"""How many commits the state fragment holds before they move."""

TIER: Final = 4
"""How many history fragments of one size become one of the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Which history fragments the next version keeps as they are, and which are merged with what moves.

    Attributes:
        keep: positions of fragments that stay, a prefix of the history.
        merge: positions of those right after them that are read and written anew, together with the moved commits.
        moves: whether commits move out of the state fragment.
        grows: whether the history gets a fragment, for commits that move or are merged.
    """

    keep: tuple[int, ...]
    merge: tuple[int, ...] = ()
    moves: bool = False
    grows: bool = False

    @property
    def history_fragments(self) -> int:
        """How many history fragments the next version has."""
        return len(self.keep) + (1 if self.grows else 0)


def next_layout(history_rows: Sequence[int], recent: int, *, merged: int = 0) -> Layout:
    """The layout after a publish.

    Args:
        history_rows: rows of each history fragment, in order.
        recent: commits in the state fragment, the one being published included.
        merged: commits of other lines that the publish brings.
    """
    everything = tuple(range(len(history_rows)))
    moves = recent > RECENT
    moving, keep = (recent - 1 if moves else 0) + merged, len(history_rows)
    if not moving:
        return Layout(keep=everything)
    while keep >= TIER - 1:
        group = history_rows[keep - (TIER - 1) : keep]
        if any(_tier(rows) != _tier(moving) for rows in group):
            break
        moving += sum(group)
        keep -= TIER - 1
    return Layout(keep=everything[:keep], merge=everything[keep:], moves=moves, grows=True)


def _tier(rows: int) -> int:
    tier = 0
    while rows >= RECENT * TIER ** (tier + 1):
        tier += 1
    return tier
