"""Which of many problems a message shows, where it has room for few."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def share(reasons: Sequence[str], room: int) -> list[int]:
    """Indices of examples, in order: of every reason as many as of the others, and of its own the first.

    A reason with fewer leaves its share to those that have more.
    """
    seen: Counter[str] = Counter()
    turns: list[tuple[int, int]] = []
    for index, reason in enumerate(reasons):
        turns.append((seen[reason], index))
        seen[reason] += 1
    return sorted(index for _, index in sorted(turns)[:room])
