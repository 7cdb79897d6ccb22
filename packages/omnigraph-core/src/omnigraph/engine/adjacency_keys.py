"""Pairs of positions as integers, and lists one after the other: the arithmetic of ``adjacency`` and ``edge_lists``.

A pair is ``left << 32 | right``. Ascending keys are ascending pairs, so one sort of integers brings the neighbours of
all nodes into their lists. Nothing here knows of nodes, edges or storage.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from omnigraph.engine.entities import Positions

Keys = npt.NDArray[np.int64]
"""Pairs of positions, ``left << 32 | right``."""

Pointers = npt.NDArray[np.int64]
"""Where lists begin in an array of all of them: list ``i`` is ``values[pointers[i]:pointers[i + 1]]``."""

_SHIFT: Final = 32
_RIGHT: Final = (1 << _SHIFT) - 1


def pair_keys(left: Positions, right: Positions | npt.NDArray[np.int32]) -> Keys:
    """The key of each pair, in the order of the pairs."""
    return (left << _SHIFT) | right


def left_of(keys: Keys) -> Positions:
    """The first position of each pair."""
    return keys >> _SHIFT


def right_of(keys: Keys) -> Positions:
    """The second position of each pair."""
    return keys & _RIGHT


def flip_keys(keys: Keys) -> Keys:
    """Each pair the other way round, in the order of the input; so ascending keys do not ascend any more."""
    return pair_keys(right_of(keys), left_of(keys))


def list_pointers(keys: Keys, count: int) -> Pointers:
    """Where the pairs of each of ``count`` left positions begin among ascending keys."""
    return pointers_of(np.bincount(left_of(keys), minlength=count))


def pointers_of(lengths: npt.NDArray[np.int64]) -> Pointers:
    """Where lists of these lengths begin; and where the last one ends."""
    pointers = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=pointers[1:])
    return pointers


def gather_lists(
    pointers: Pointers, positions: Positions, *values: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int64], ...]:
    """The lists at these positions one after the other.

    Returns:
        For each item the number in ``positions`` of its list; then the item of each of the arrays of values.
    """
    starts = pointers[positions]
    lengths = pointers[positions + 1] - starts
    ends = np.cumsum(lengths)
    # A list begins at ends - lengths in the output and at starts in the values.
    places = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(starts - (ends - lengths), lengths)
    owners = np.repeat(np.arange(len(positions)), lengths)
    return owners, *(each[places].astype(np.int64) for each in values)
