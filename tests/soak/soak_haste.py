"""Called by each writer of a soak: what takes long otherwise happens soon, so that it has its share."""

from __future__ import annotations

import os

from small_tails import fold_soon


def hurry() -> None:
    """Fold few parts already, and take a writer for dead that shows no sign of life for half a second."""
    fold_soon()
    os.environ["OMNIGRAPH_RECOVERY_PATIENCE"] = "0.5"
