r"""The lines of a commit graph in columns of text, as they run beside the commits of a listing.

    *        a merge: its own line goes on below, the line that it merged begins at the foot of the backslash
    |\
    | *
    * |
    |/       two lines have the same parent: they become one, the left one
    *

A line leads from a commit to a parent that is still to come. It keeps its column for life, so lines never cross by
moving; one that has to reach a column further off runs behind those in between: ``|-|-/``. A row holds one such turn at
most, which is why a drawing can be read back without a doubt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from omnigraph.history.commits import Commit
from omnigraph.history.lineage import parents_of


@dataclass(frozen=True, slots=True)
class LaneRow:
    """One row of lines.

    Attributes:
        lanes: the row as text, without spaces at its end.
        commit: the commit whose row it is; None between commits, where lines turn.
    """

    lanes: str
    commit: Commit | None = None


def lane_rows(commits: Iterable[Commit]) -> Iterator[LaneRow]:
    """The rows of commits, which come each before its parents.

    Lines to parents that are not among them run on to the last row.
    """
    lanes = _Lanes()
    for commit in commits:
        column = lanes.column_for(commit.id)
        yield LaneRow(lanes.row({2 * column: "*"}), commit)
        for row in lanes.follow(column, parents_of(commit)):
            yield LaneRow(row)


class _Lanes:
    """The columns, each with the id of the commit that its line leads to; None for one that is free."""

    def __init__(self) -> None:
        self._wanted: list[str | None] = []
        self._last_end: int | None = None

    def column_for(self, commit_id: str) -> int:
        """The column whose line leads to a commit, or a new one for a commit that no line leads to."""
        if commit_id in self._wanted:
            return self._wanted.index(commit_id)
        # Right below a commit without parents it would look like its parent.
        return self._take(commit_id, [each for each in self._free() if each != self._last_end])

    def follow(self, column: int, parents: tuple[str, ...]) -> Iterator[str]:
        """Lead the line of a commit on to its parents; the rows in which lines turn."""
        self._last_end = None
        if not parents:
            self._wanted[column] = None
            self._last_end = column
            return
        first, *merged = parents
        meeting = self._wanted.index(first) if first in self._wanted else None
        self._wanted[column] = first
        for each in merged:
            there = each in self._wanted
            to = self._wanted.index(each) if there else self._take(each, [at for at in self._free() if at > column])
            yield self._turn(column, to, begins=not there)
        if meeting is not None:
            left, right = sorted((column, meeting))
            self._wanted[right] = None
            yield self._turn(right, left)

    def row(self, marks: dict[int, str]) -> str:
        """The lines as they run straight down, with marks by position: column ``n`` stands at ``2 * n``."""
        straight = {2 * column: "|" for column, each in enumerate(self._wanted) if each is not None}
        shown = straight | marks
        return "".join(shown.get(each, " ") for each in range(max(shown, default=-1) + 1))

    def _turn(self, start: int, end: int, *, begins: bool = False) -> str:
        """A row in which a line goes from one column to another; one that begins at the end has no line there yet."""
        slope = 2 * end - 1 if end > start else 2 * start - 1
        low, high = sorted((start, end))
        marks = {each: "-" for each in range(2 * low + 1, 2 * high) if each % 2 or self._wanted[each // 2] is None}
        marks[slope] = "\\" if end > start else "/"
        if begins:
            marks[2 * end] = " "
        return self.row(marks).rstrip()

    def _free(self) -> list[int]:
        return [each for each, wanted in enumerate(self._wanted) if wanted is None] + [len(self._wanted)]

    def _take(self, commit_id: str, free: list[int]) -> int:
        column = free[0]
        self._wanted += [None] * (column + 1 - len(self._wanted))
        self._wanted[column] = commit_id
        return column
