"""Where something stands: a source text, a span in it, and the way back from offsets to lines and columns.

Both languages start here. A byte order mark in front of a text is skipped.
Offsets and columns count code points, lines and columns start at 1, and only LF ends a line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

BYTE_ORDER_MARK = "\ufeff"


class Span(NamedTuple):
    """A half-open range of offsets in a source text."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The range from the start of this one to the end of the other."""
        return Span(self.start, other.end)


class Position(NamedTuple):
    """A place as people say it; both count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class SourceText:
    """A text in one of the two languages.

    Attributes:
        name: what messages call it, usually a path.
        text: all of it, without a byte order mark.
    """

    name: str
    text: str = field(repr=False)

    @classmethod
    def of(cls, text: str, name: str = "<text>") -> SourceText:
        """A text that is in memory already."""
        return cls(name, text.removeprefix(BYTE_ORDER_MARK))

    def position(self, offset: int) -> Position:
        """The line and column of an offset. The end of the text has a position too."""
        starts = _line_starts(self.text)
        line = bisect_right(starts, offset)
        return Position(line, offset - starts[line - 1] + 1)

    def line_at(self, offset: int) -> tuple[int, str]:
        """The offset at which the line of ``offset`` starts, and the line without its end."""
        start = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", offset)
        return start, self.text[start : len(self.text) if end < 0 else end].removesuffix("\r")


# Of the texts in hand, so that a file with thousands of warnings is not counted through for each of them.
@lru_cache(maxsize=4)
def _line_starts(text: str) -> tuple[int, ...]:
    return (0, *(match.end() for match in re.finditer("\n", text)))


@dataclass(frozen=True, slots=True)
class Name:
    """A word that names something, with its place. Two names are equal when they are spelled alike."""

    text: str
    span: Span = field(compare=False)

    def __str__(self) -> str:
        return self.text
