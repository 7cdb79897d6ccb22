"""``QueryBudget``: what one query may use; ``Spending``: what it has used so far.

Steps ask before they make something large, where the size is known, and between batches where it is not. So a query
that would need too much is refused with the name of the limit and of the step, and what it held is simply dropped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

from omnigraph.cancellation import TimeLimit, check_cancelled
from omnigraph.config import Settings
from omnigraph.errors import InvalidInputError, ResourceLimitError

_ADVICE: Final = "Narrow the query, or give more: {call}{variable} in the environment."
_CALL: Final = "g.query(..., budget=QueryBudget({name}=...)), or by "


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryBudget:
    """Bounds of one query; None is no bound.

    Attributes:
        deadline: seconds from the call on.
        max_rows: of any intermediate or final result.
        max_bytes: that an intermediate or final result takes in memory.
        max_frontier: nodes that one hop of a traversal may reach, over all rows.
    """

    deadline: float | None = 300.0
    max_rows: int | None = 20_000_000
    max_bytes: int | None = 4 * 1024**3
    max_frontier: int | None = 50_000_000

    def __post_init__(self) -> None:
        for name in ("deadline", "max_rows", "max_bytes", "max_frontier"):
            value = getattr(self, name)
            is_number = isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)
            if value is not None and not (is_number and value >= 0):
                raise InvalidInputError(
                    f"{value!r} is no bound for {name}.", help="Give a number that is not negative, or None."
                )

    @classmethod
    def of(cls, settings: Settings) -> QueryBudget:
        """The bounds that the environment gives; the defaults where it gives none."""
        given = {
            "deadline": settings.query_deadline,
            "max_rows": settings.query_max_rows,
            "max_bytes": settings.query_max_bytes,
            "max_frontier": settings.query_max_frontier,
        }
        return cls(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]


def advice(name: str, *, is_given: bool = True) -> str:
    """The next move of who reached a bound; ``is_given`` says that the call takes a budget."""
    call = _CALL.format(name=name) if is_given else ""
    return _ADVICE.format(call=call, variable=f"OMNIGRAPH_QUERY_{name.upper()}")


@dataclass(slots=True)
class Spending:
    """One execution's use of its budget. Belongs to one thread.

    Attributes:
        is_given: whether the caller can give a budget; only the environment can otherwise.
        limit: the time of the query, from when this was made; whoever runs the query does so within it.
    """

    budget: QueryBudget
    is_given: bool = True
    limit: TimeLimit = field(init=False)

    def __post_init__(self) -> None:
        help = advice("deadline", is_given=self.is_given)
        self.limit = TimeLimit(self.budget.deadline, "query", step="compiling", help=help)

    @property
    def seconds_left(self) -> float | None:
        """The time until the deadline, not below zero; None without one."""
        return self.limit.seconds_left

    def check_time(self, operator: str) -> None:
        """Raise when the time is over, or the query was given up; call it between batches, hops and operators.

        Raises:
            DeadlineError: the time is over.
        """
        self.limit.step = operator
        if self.limit.is_over:
            raise self.limit.error()
        check_cancelled()

    def check_rows(self, operator: str, rows: int) -> None:
        """Raise when so many rows are too many; call it before they are made.

        Raises:
            ResourceLimitError: they are.
        """
        self._check("max_rows", "rows", operator, rows, self.budget.max_rows)

    def check_bytes(self, operator: str, size: int) -> None:
        """Raise when so many bytes are too many; call it before they are taken.

        Raises:
            ResourceLimitError: they are.
        """
        self._check("max_bytes", "bytes", operator, size, self.budget.max_bytes)

    def check_frontier(self, operator: str, nodes: int) -> None:
        """Raise when a hop would reach so many nodes, each counted once per row.

        Raises:
            ResourceLimitError: it would, and these are too many.
        """
        self._check("max_frontier", "nodes in one hop", operator, nodes, self.budget.max_frontier)

    def _check(self, name: str, what: str, operator: str, actual: int, limit: int | None) -> None:
        self.check_time(operator)
        if limit is not None and actual > limit:
            raise ResourceLimitError(
                f"{operator} needs {actual:,} {what}, and the query may use {limit:,} ({name}).",
                resource=name,
                limit=limit,
                actual=actual,
                operator=operator,
                help=advice(name, is_given=self.is_given),
            )
