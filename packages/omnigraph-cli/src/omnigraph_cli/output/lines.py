"""``Line`` and ``lines_of``: what the text of every result is made of.

``lines_of`` is open to new results: the modules beside this one register how each kind reads.
"""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from rich.text import Text

GOOD, BAD, DIM = "green", "bold red", "dim"
_NARROWEST: Final = 24
"""Columns below which wrapping makes text harder to read, not easier."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line whose body, when it has to be broken, goes on below its own beginning."""

    head: Text
    body: str = ""
    style: str = ""

    def wrapped(self, width: int | None) -> Text:
        """At most ``width`` columns where words allow it; None for any number."""
        indent = self.head.cell_len
        pieces = self.body.splitlines() or [""]
        if width is not None and width - indent >= _NARROWEST:
            pieces = [
                piece
                for each in pieces
                for piece in textwrap.wrap(each, width - indent, break_long_words=False, break_on_hyphens=False) or [""]
            ]
        return Text.assemble(self.head, (f"\n{' ' * indent}".join(pieces), self.style))


@functools.singledispatch
def lines_of(result: object) -> Iterator[Line]:
    """What a person reads."""
    raise TypeError(f"There is no text for a {type(result).__name__}")


def row(label: str, body: str, *, name: str = "", style: str = "", indent: int = 4, width: int = 14) -> Line:
    """``    label         name  body``."""
    return Line(Text.assemble((f"{' ' * indent}{label:<{width}}", DIM), name), body, style)


def moment_of(moment: datetime) -> str:
    """``2026-02-01 10:30:00Z``."""
    return f"{moment:%Y-%m-%d %H:%M:%S}Z"


def counted(number: int, word: str, plural: str | None = None) -> str:
    """``1 type``, ``2 types``."""
    return f"{number:,} {word if number == 1 else plural or word + 's'}"
