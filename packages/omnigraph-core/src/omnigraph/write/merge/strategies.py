"""How conflicts between rows are decided: not at all, for one side, or one by one by who asks for the merge.

A strategy decides whose row counts where both branches changed it. What breaks a rule of the schema afterwards is a
conflict whatever the strategy is, because no choice of rows is known that would not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from omnigraph.errors import InvalidInputError, MergeConflict
from omnigraph.write.merge.three_way import Resolve, Side

Strategy = Literal["fail", "ours", "theirs"] | Callable[[MergeConflict], Side | None]
"""``fail`` decides nothing; ``ours`` keeps the target's row, ``theirs`` takes the source's; a callable decides each."""

STRATEGIES: Final = ("fail", "ours", "theirs")

STRATEGY_PROPERTY: Final = "merge_strategy"
"""Commit property: how conflicts were decided; only where some were."""

RESOLVED_PROPERTY: Final = "merge_resolved"
"""Commit property: how many were."""


def resolver(strategy: Strategy) -> Resolve:
    """Decides conflicts as a strategy says.

    Raises:
        InvalidInputError: there is no such strategy, or a callable decides for neither side.
    """
    if callable(strategy):
        return _checked(strategy)
    if strategy not in STRATEGIES:
        raise InvalidInputError(
            f"There is no merge strategy {strategy!r}.",
            help='Use "fail", "ours" or "theirs", or a callable that gives one of the last two, or None.',
        )
    side: Side | None = None if strategy == "fail" else strategy
    return lambda _conflict: side


def strategy_name(strategy: Strategy) -> str:
    """What a commit records of it."""
    if not callable(strategy):
        return str(strategy)
    return f"callable:{getattr(strategy, '__name__', type(strategy).__name__)}"


def _checked(decide: Callable[[MergeConflict], Side | None]) -> Resolve:
    def resolve(conflict: MergeConflict) -> Side | None:
        side = decide(conflict)
        if side not in ("ours", "theirs", None):
            raise InvalidInputError(
                f"The merge strategy says {side!r} of {conflict.entity} {conflict.type} {conflict.id!r}.",
                help='Let it give "ours" for the row of the target, "theirs" for that of the source, or None.',
            )
        return side

    return resolve
