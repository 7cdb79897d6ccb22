"""``Answer``: all that the rules say about the result of a query, and whether a result keeps to it.

A result is a sequence only where the language gives its rows a total order. Groups that compare equal may come in
either order, rows without an order in any; so an answer keeps what comes before the limit, and ``disagreement`` accepts
every result that the rules allow, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class About:
    """A number that depends on the order of additions, and how far off it may be."""

    value: float
    slack: float


Cells = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The rows of a query, from which its limit takes some.

    Attributes:
        rows: cells as JSON values, or ``About``; in an order that the query allows.
        limit: how many of them the result has at most.
        sorted_by: the columns that the rows are sorted by where ties are open; None when no order is asked for.
        is_total: whether the order of ``rows`` is the only one.
    """

    columns: tuple[str, ...]
    rows: tuple[Cells, ...]
    limit: int | None
    sorted_by: tuple[int, ...] | None
    is_total: bool

    @property
    def row_count(self) -> int:
        """How many rows the result has."""
        return len(self.rows) if self.limit is None else min(self.limit, len(self.rows))


def disagreement(answer: Answer, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str | None:
    """What is wrong with a result, in a few words; None when nothing is."""
    if tuple(columns) != answer.columns:
        return f"the columns are {tuple(columns)} and not {answer.columns}"
    if len(rows) != answer.row_count:
        return f"there are {len(rows)} rows and not {answer.row_count}"
    found = [tuple(row[name] for name in columns) for row in rows]
    if answer.is_total:
        for number, (row, expected) in enumerate(zip(found, answer.rows, strict=False)):
            if not _agree(row, expected):
                return f"row {number} is {row} and not {expected}"
        return None
    left_over = _not_among(found, answer.rows)
    if left_over is not None:
        return f"the row {left_over} is not expected, or not so often"
    for number, (row, expected) in enumerate(zip(found, answer.rows, strict=False)):
        for column in answer.sorted_by or ():
            if not _is_same(row[column], expected[column]):
                return f"row {number}, {row}, is not in order"
    return None


def _not_among(found: Sequence[Cells], expected: Sequence[Cells]) -> Cells | None:
    """A row that is not there, or more often than expected."""
    waiting: dict[str, list[Cells]] = {}
    inexact = {number for row in expected for number, cell in enumerate(row) if isinstance(cell, About)}
    for row in expected:
        waiting.setdefault(_exact_part(row, inexact), []).append(row)
    for row in found:
        candidates = waiting.get(_exact_part(row, inexact), [])
        match = next((number for number, each in enumerate(candidates) if _agree(row, each)), None)
        if match is None:
            return row
        del candidates[match]
    return None


def _exact_part(row: Cells, inexact: set[int]) -> str:
    cells = [_without_sign_of_zero(cell) for number, cell in enumerate(row) if number not in inexact]
    return repr(cells)


def _without_sign_of_zero(cell: Any) -> Any:
    return 0.0 if isinstance(cell, float) and cell == 0 else cell


def _agree(row: Cells, expected: Cells) -> bool:
    return all(_is_same(*pair) for pair in zip(row, expected, strict=True))


def _is_same(cell: Any, expected: Any) -> bool:
    if isinstance(expected, About):
        return isinstance(cell, float) and math.isclose(cell, expected.value, rel_tol=0, abs_tol=expected.slack)
    return type(cell) is type(expected) and bool(cell == expected)
