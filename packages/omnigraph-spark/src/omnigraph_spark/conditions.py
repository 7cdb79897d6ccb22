"""Conditions on the rows of a type as users write them, to be judged where the rows lie.

    [("year", ">=", 1990), ("genre", "in", ["drama", "comedy"])]        a keyword in Python
    [["year", ">=", 1990], ["genre", "in", ["drama", "comedy"]]]        an option, in JSON

All must hold. They are those of ``TypeScan``; one that storage cannot judge exactly is refused, because nobody would
judge it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from omnigraph.errors import InvalidInputError

if TYPE_CHECKING:
    from omnigraph import TypeScan

Condition = tuple[str, str, object]


def check_taken(scan: TypeScan, conditions: Sequence[Any]) -> None:
    """Raise unless storage judges all of these exactly.

    Raises:
        InvalidInputError: it does not, there is no such column or operator, or one is no condition.
    """
    for each in conditions:
        if not isinstance(each, tuple) or len(each) != 3 or not all(isinstance(word, str) for word in each[:2]):
            raise InvalidInputError(
                f"{each!r} is no condition.", help='Write a column, an operator and a value: ("year", ">=", 1990).'
            )
        if not scan.takes(each):
            column, operator, value = each
            raise InvalidInputError(
                f"{column} {operator} {value!r} cannot be judged where the rows lie.",
                help="Leave it to Spark: filter the DataFrame with .where(...).",
                details={"type": scan.type_key, "column": column},
            )


def conditions_of(items: Sequence[Any]) -> tuple[Condition, ...]:
    """What was read from the text of an option, as conditions; whether they are any is told by ``check_taken``."""
    return tuple(tuple(each) if isinstance(each, list) else each for each in items)
