"""Where the notes of loads lie, of bulk loads and of large ones, and which form they have."""

from __future__ import annotations

from typing import Final

from omnigraph.storage import ObjectKey, StorageAdapter

LEASE_PREFIX: Final = "__loads"
LEASE_FORMAT: Final = 1


def lease_key(adapter: StorageAdapter, lease: str) -> ObjectKey:
    """Where a note lies."""
    return adapter.key(f"{LEASE_PREFIX}/{lease}.json")
