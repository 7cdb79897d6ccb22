"""Breadth-first searches from many nodes at once: which nodes lie within how many hops of each.

    lists of neighbours, starts, bounds  ──>  Reached, a part of the starts at a time

This is the visiting rule of hop bounds. A node is visited once per search, at its distance; the start is visited from
the outset. Emitted are nodes whose distance lies within the bounds, and a node with an edge to itself at the hop that
follows its own distance. The second says something new only where that hop is the minimum: at any later one the
node was emitted before, by its distance. So one look at one hop is enough for the whole rule.

What is visited is marked in an array of truths, one row of nodes per start, and as many starts are searched together
as fit into ``MAX_CELLS``. The pair of a start and a node is one integer, its cell in that array.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from omnigraph.engine.adjacency_keys import Pointers
from omnigraph.engine.budget import Spending
from omnigraph.engine.entities import Positions
from omnigraph.engine.frame import Indices, Mask

MAX_CELLS: Final = 8 << 20
"""How many pairs of a start and a node are marked at a time, in bytes; one start is searched whatever it takes."""

_DENSE: Final = 24
"""From one item in so many cells on, marking all cells and collecting the marks is faster than sorting the items."""


@dataclass(frozen=True, slots=True)
class Reached:
    """The outcome of the searches from some of the starts, which follow one another.

    Attributes:
        first: the number of the first of these starts.
        owners: for each node found the number of its start, ascending.
        nodes: ascending per start.
    """

    first: int
    start_count: int
    owners: Indices
    nodes: Positions


def search(
    pointers: Pointers,
    neighbours: npt.NDArray[np.int32],
    starts: Positions,
    *,
    minimum: int,
    maximum: int,
    spending: Spending,
    operator: str,
) -> Iterator[Reached]:
    """The nodes within bounds of each start, by parts that cover the starts in their order.

    The budget is asked before the neighbours of a hop are collected, with all that this hop collects for all starts.

    Args:
        pointers: where the neighbours of each node begin.
        neighbours: of each node, ascending and distinct.
        starts: distinct nodes; nothing else is asked of them.
        minimum: of hops, 1 or more; so is ``maximum``, and not less than ``minimum``.
        maximum: of hops.
        spending: the budget.
        operator: its name, for errors.

    Raises:
        ResourceLimitError: a hop would reach too many nodes.
        DeadlineError: the time was over.
    """
    size = len(pointers) - 1
    step = max(1, MAX_CELLS // max(size, 1))
    visited = np.zeros(min(step, len(starts)) * size, dtype=np.bool_)
    collected: dict[int, int] = {}
    for first in range(0, len(starts), step):
        part = starts[first : first + step]
        cells = part + np.arange(len(part)) * size
        levels: list[Positions] = [cells]
        emitted: list[Positions] = []
        visited[cells] = True
        for hop in range(1, maximum + 1):
            offsets, nodes = _split(levels[-1], size)
            begins = pointers[nodes]
            counts = pointers[nodes + 1] - begins
            total = int(counts.sum())
            collected[hop] = collected.get(hop, 0) + total
            spending.check_frontier(operator, collected[hop])
            if not total:
                break
            found = neighbours.take(list_places(begins, counts, total)).astype(np.int64)
            if offsets is not None:
                found += np.repeat(offsets, counts)
            if hop == minimum:
                emitted.append(found[found == np.repeat(levels[-1], counts)])
            fresh = _unvisited(found, visited)
            levels.append(fresh)
            if hop >= minimum:
                emitted.append(fresh)
        yield _reached(first, len(part), emitted, size)
        if first + step < len(starts):
            for level in levels:
                visited[level] = False


def list_places(begins: Positions, counts: npt.NDArray[np.int64], total: int) -> Positions:
    """Where the items of lists are, list by list: ``begins[0]``, the places that follow it, ``begins[1]``, and so on.

    Args:
        begins: the place of the first item of each list.
        counts: how many items each has, possibly none.
        total: the sum of ``counts``.
    """
    if len(begins) == 1:
        return np.arange(begins[0], begins[0] + total)
    if not total:
        return np.empty(0, dtype=np.int64)
    if not counts.all():
        has_items = counts > 0
        begins, counts = begins[has_items], counts[has_items]
    # Each place is one behind the last, except where a list begins: steps that are summed up.
    steps = np.ones(total, dtype=np.int64)
    steps[0] = begins[0]
    steps[np.cumsum(counts[:-1])] = begins[1:] - (begins[:-1] + counts[:-1] - 1)
    return np.cumsum(steps, out=steps)


def _split(cells: Positions, size: int) -> tuple[Positions | None, Positions]:
    """The first cell of the row of each cell, and the node; no offsets where there is one start only."""
    if not len(cells) or int(cells[-1]) < size:
        return None, cells
    offsets = cells // size * size
    return offsets, cells - offsets


def _unvisited(found: Positions, visited: Mask) -> Positions:
    """The cells that were not visited before, ascending, each once; they are visited now."""
    if len(found) * _DENSE > len(visited):
        marks = np.zeros(len(visited), dtype=np.bool_)
        marks[found] = True
        fresh = np.flatnonzero(np.greater(marks, visited, out=marks))
    else:
        fresh = _distinct(found[~visited[found]])
    visited[fresh] = True
    return fresh


def _distinct(cells: Positions) -> Positions:
    """These cells, ascending and each once."""
    if len(cells) < 2:
        return cells
    cells = np.sort(cells)
    is_first = np.empty(len(cells), dtype=np.bool_)
    is_first[0] = True
    np.not_equal(cells[1:], cells[:-1], out=is_first[1:])
    return cells[is_first]


def _reached(first: int, start_count: int, emitted: list[Positions], size: int) -> Reached:
    parts = [each for each in emitted if len(each)]
    total = sum(map(len, parts))
    if len(parts) < 2:
        cells = parts[0] if parts else np.empty(0, dtype=np.int64)
    elif total * _DENSE > start_count * size:
        marks = np.zeros(start_count * size, dtype=np.bool_)
        for each in parts:
            marks[each] = True
        cells = np.flatnonzero(marks)
    else:
        cells = np.sort(np.concatenate(parts))
    if start_count == 1:
        return Reached(first, 1, np.full(len(cells), first, dtype=np.int64), cells)
    owners = cells // size
    return Reached(first, start_count, owners + first, cells - owners * size)
