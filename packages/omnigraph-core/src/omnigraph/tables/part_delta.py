"""``PartsDelta``: how the parts of two versions of a table differ; so, what must be read to get from one to the other.

Parts are immutable but for their lists of deleted rows, so comparing names is enough and costs no request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from omnigraph.tables.facts import TablePart


@dataclass(frozen=True, slots=True, kw_only=True)
class PartsDelta:
    """What came, what went, and what has other deleted rows.

    Attributes:
        changed: pairs of a part as it was and as it is.
    """

    new: tuple[TablePart, ...]
    gone: tuple[TablePart, ...]
    changed: tuple[tuple[TablePart, TablePart], ...]

    @property
    def moved_rows(self) -> int:
        """At least so many rows differ."""
        moved = sum(each.live_count for each in (*self.new, *self.gone))
        return moved + sum(abs(before.live_count - after.live_count) for before, after in self.changed)


def compare_parts(before: Sequence[TablePart], after: Sequence[TablePart]) -> PartsDelta:
    """The difference between two versions, by what they are made of."""
    old = {(each.number, each.files): each for each in before}
    now = {(each.number, each.files): each for each in after}
    both = ((old[name], each) for name, each in now.items() if name in old)
    return PartsDelta(
        new=tuple(each for name, each in now.items() if name not in old),
        gone=tuple(each for name, each in old.items() if name not in now),
        changed=tuple((was, each) for was, each in both if was.deletions != each.deletions),
    )
