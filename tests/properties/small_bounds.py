"""Bounds of the engine, made so small that graphs of ten nodes count as large.

The engine goes about few rows in one way and about many in another. Which one it is decided by numbers in its modules;
with these instead, the ways for many are taken.
"""

from __future__ import annotations

import importlib
import sys

import pytest

SMALL = {
    "engine.adjacency_pairs._MANY": 1,
    "engine.bfs.MAX_CELLS": 16,
    "engine.bfs._DENSE": 1,
    "engine.deltas._FEW": 1,
    "engine.distances._FEW": 2,
    "engine.distances._BLOCK": 2,
    "engine.expand.PART": 3,
    "engine.grouping._ROOM": 4,
    "engine.images.LARGE": 2,
    "engine.images.FEW": 1,
    "engine.images._ONE_BY_ONE": 1,
    "engine.pinned_rows.MAX_STEPS": 1,
    "engine.pinned_rows._MAX_HOPS": 1,
    "engine.postings._MAX_PIECES": 1,
    "engine.predicates._FEW_ROWS": 1,
    "engine.probes.PROBE_BATCH": 2,
    "engine.project.BATCH_ROWS": 3,
    "engine.relational.MOST_VALUES": 2,
    "engine.relational._BATCH_ROWS": 3,
    "engine.sort._FEW": 1,
    "engine.source.FEW_NODES": 2,
    "engine.splice._MAX_RUNS": 1,
    "engine.sums._EXACT_ROWS": 2,
    "engine.text_match.FEW_SHARE": 1,
    "engine.text_scores._FEW_IDS": 2,
    "engine.traversal.INDEXED_MAX_FRONTIER": 2,
    "engine.traversal.HELD_AFTER": 1,
    "engine.traversal._MANY_PAIRS": 1,
    "tables.parts.SCAN_SHARE": 1,
    "tables.parts.MAX_PARTS_IN_TURN": 1,
    "tables.parts.MAX_ADDRESSES_IN_FILTER": 2,
    "tables.reading.MAX_KEYS_IN_PREDICATE": 2,
    "tables.reading.BATCH_ROWS": 3,
}
"""By module of ``omnigraph`` and name."""


def make_bounds_small(patch: pytest.MonkeyPatch) -> None:
    """Put the small numbers where the engine looks, also where a module has taken a name from another."""
    for place, small in SMALL.items():
        home, _, name = place.rpartition(".")
        module = importlib.import_module(f"omnigraph.{home}")
        usual = getattr(module, name)
        patch.setattr(module, name, small)
        for other in [each for key, each in sys.modules.items() if key.startswith("omnigraph.") and each is not module]:
            if not name.startswith("_") and vars(other).get(name) is usual:
                patch.setattr(other, name, small)
