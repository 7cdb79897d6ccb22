"""Which small parts of a type are to be folded into one, and when: by tiers of size, so that no row moves often.

    tier   rows of a part       folded when there are
    0      up to 63             64
    1      up to 255            4
    2      up to 1,023          4
    3      up to 4,095          4
    4      up to 16,383         4
    5      up to 131,071        16
    -      more                 never: that is for optimize

A thousand commits of one row leave less than 64 parts of one row, 3 of 64 rows and 3 of 256. What is folded lands in a
higher tier and fills that, so a row moves at most once per tier. Every commit describes every part and what its
indexes have for it, so small parts, which are cheap to move, are kept few; large ones are dear and come seldom.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from omnigraph.tables.interface import TablePart

TAIL_PARTS: Final = 64
"""So many parts of the lowest tier are a tail that is folded."""

TIER_PARTS: Final = (4, 4, 4, 4, 16)
"""So many parts of a higher tier are, from the lowest of these on."""

TIER_ROWS: Final = (64, 256, 1_024, 4_096, 16_384, 131_072)
"""Rows from which on a part is in the next tier; the last is half a file of a load, which may lose rows and stay."""

MAX_PART_BYTES: Final = 64 * 1024 * 1024
"""A part of more bytes is left to optimize, however few rows it has."""

MAX_FOLD_BYTES: Final = 256 * 1024 * 1024
"""What one fold reads and writes at most; what does not fit waits for the next one."""

_ASK_AGAIN: Final = 16
"""A tail that was not folded at its bound is tried again when it has grown by so many parts."""


def choose_parts(parts: Sequence[TablePart]) -> tuple[int, ...]:
    """The numbers of the parts to fold now, ascending; none when no tier is full."""
    tiers = _by_tier(parts)
    chosen: list[TablePart] = []
    for tier, held in enumerate(tiers):
        # What the tiers below fold to may be what this one lacked.
        coming = bool(chosen) and _tier_of(sum(each.live_count for each in chosen)) == tier
        if held and len(held) + coming >= _bound(tier):
            chosen += held
    chosen.sort(key=lambda each: each.number)
    total, kept = 0, []
    for each in chosen:
        total += each.byte_count
        if total > MAX_FOLD_BYTES:
            break
        kept.append(each.number)
    return tuple(kept)


def is_due(before: Sequence[TablePart], after: Sequence[TablePart]) -> bool:
    """Whether the commit that led from one version to the next is the one after which parts are to be folded.

    Many processes see the same tail. Each number of parts is reached by one commit, so one of them acts.
    """
    if len(after) < min(TAIL_PARTS, *TIER_PARTS):
        return False
    for tier, (was, now) in enumerate(zip(_by_tier(before), _by_tier(after), strict=True)):
        bound = _bound(tier)
        if len(now) < bound:
            continue
        if len(was) < bound or (len(was) - bound) // _ASK_AGAIN < (len(now) - bound) // _ASK_AGAIN:
            return True
    return False


def _by_tier(parts: Sequence[TablePart]) -> list[list[TablePart]]:
    tiers: list[list[TablePart]] = [[] for _ in TIER_ROWS]
    for each in parts:
        tier = _tier_of(each.live_count)
        if tier is not None and each.byte_count <= MAX_PART_BYTES:
            tiers[tier].append(each)
    return tiers


def _tier_of(rows: int) -> int | None:
    tier = bisect_right(TIER_ROWS, rows)
    return tier if tier < len(TIER_ROWS) else None


def _bound(tier: int) -> int:
    return TIER_PARTS[tier - 1] if tier else TAIL_PARTS
