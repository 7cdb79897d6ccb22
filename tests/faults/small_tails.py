"""Called by writers of a history: so few small parts are a tail that maintenance has its share in every history."""

from __future__ import annotations

from omnigraph.write import fold_policy


def fold_soon() -> None:
    fold_policy.TAIL_PARTS = 4
    fold_policy._ASK_AGAIN = 2
