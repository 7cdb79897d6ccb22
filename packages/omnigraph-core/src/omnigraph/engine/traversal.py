"""The choice between the two engines of traversal, and ``Ways``, the form in which both hand on what they found.

    csr        neighbours of all nodes of the type, held in memory as arrays: any number of rows, no reading
    indexed    probes of the stored edges by the index on their ends: little reading where few edges are touched

Both give equal answers, so the choice is one of cost. The bounds are those of engine.md, appendix A; beside them, an
edge type that is asked for repeatedly is held however selective each of the queries is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from omnigraph.engine.adjacency import is_adjacency_held
from omnigraph.engine.adjacency_keys import Pointers, pair_keys
from omnigraph.engine.adjacency_pairs import Pairs
from omnigraph.engine.entities import ABSENT, Entities, Positions, take_values
from omnigraph.engine.estimates import average_degree
from omnigraph.engine.execution import Execution
from omnigraph.engine.frame import Bound, Indices, Mask
from omnigraph.engine.source import Source
from omnigraph.plan.ir import EdgeExpand, Expand
from omnigraph.query.checked import Direction

INDEXED_MAX_FRONTIER: Final = 1024
INDEXED_MAX_HOPS: Final = 6
CSR_FACTOR: Final = 1.5

FEW_EDGES: Final = 10_000
"""So few edges are read at once with fewer requests than a probe of their index takes."""

HELD_AFTER: Final = 3
"""After so many traversals of an edge type in one direction it is worth its place in memory."""

_MANY_PAIRS: Final = 8_192
"""From so many pairs on, sorting them costs less than looking for them in any order."""

_PROBED: Final = {
    Direction.FORWARD: ("src",),
    Direction.BACKWARD: ("dst",),
    Direction.UNDIRECTED: ("src", "dst"),
}


@dataclass(frozen=True, slots=True)
class Choice:
    """How a traversal is run, and why, in words for ``explain``."""

    mode: Literal["csr", "indexed"]
    reason: str


def probed_columns(direction: Direction) -> tuple[str, ...]:
    """The columns of stored edges that a step in this direction asks by."""
    return _PROBED[direction]


def foresee_traversal(step: Expand | EdgeExpand, frontier: float, execution: Execution) -> Choice:
    """What would be chosen for so many nodes to start from; nothing is read or counted."""
    return _choose(step, frontier, execution, asked=1)


def choose_traversal(step: Expand | EdgeExpand, frontier: int, execution: Execution) -> Choice:
    """How to run a traversal from so many distinct nodes; counts it.

    ``csr`` is a wish: where the type turns out to be too large to be held, it is run by probes all the same.
    """
    source = execution.source
    line = source.entry(f"edge:{step.edge}").pin.location, step.direction, type(step).__name__
    return _choose(step, frontier, execution, asked=source.memory.count_asked(("traversal", *line)))


def _choose(step: Expand | EdgeExpand, frontier: float, execution: Execution, *, asked: int) -> Choice:
    source, wanted = execution.source, execution.settings.traversal_mode
    if wanted == "csr":
        return Choice("csr", "the setting says so")
    if wanted == "indexed":
        return Choice("indexed", "the setting says so" + _without_index(step, source))
    if _is_held(step, source):
        return Choice("csr", "held in memory")
    hops = step.maximum_hops if isinstance(step, Expand) else 1
    edges = source.row_count(f"edge:{step.edge}")
    if edges <= FEW_EDGES:
        return Choice("csr", f"{edges:,} edges are read at once")
    if frontier > INDEXED_MAX_FRONTIER:
        return Choice("csr", f"{frontier:,.0f} nodes to start from are more than {INDEXED_MAX_FRONTIER:,}")
    if hops > INDEXED_MAX_HOPS:
        return Choice("csr", f"{hops} hops are more than {INDEXED_MAX_HOPS}")
    missing = _without_index(step, source)
    if missing:
        return Choice("csr", missing.removeprefix(", "))
    # Rows that no index covers yet are read by every probe.
    tail = sum(_uncovered(step, column, source) for column in probed_columns(step.direction))
    touched = min(frontier * average_degree(step, source) ** hops + tail * hops, 2.0 * edges)
    if touched * CSR_FACTOR >= edges:
        return Choice("csr", f"about {touched:,.0f} of {edges:,} edges would be touched")
    if asked >= HELD_AFTER:
        return Choice("csr", f"asked for {asked} times, worth its place in memory")
    return Choice("indexed", f"about {touched:,.0f} of {edges:,} edges are touched")


def too_large(choice: Choice, step: Expand | EdgeExpand, source: Source) -> Choice:
    """What is done where a type that should be held cannot be."""
    reason = f"{choice.reason}, but {step.edge} and its nodes are too large to be held"
    return Choice("indexed", reason + _without_index(step, source))


def is_covered(step: Expand | EdgeExpand, column: str, source: Source) -> bool:
    """Whether an index finds edges by this column, all but the newest."""
    found = source.coverage(f"edge:{step.edge}", column, "btree")
    return found is not None and found.covered_rows > 0


def _without_index(step: Expand | EdgeExpand, source: Source) -> str:
    columns = [each for each in probed_columns(step.direction) if not is_covered(step, each, source)]
    return f", no index covers {' and '.join(columns)} of {step.edge}" if columns else ""


def _uncovered(step: Expand | EdgeExpand, column: str, source: Source) -> int:
    found = source.coverage(f"edge:{step.edge}", column, "btree")
    return 0 if found is None else found.uncovered_rows


def _is_held(step: Expand | EdgeExpand, source: Source) -> bool:
    if isinstance(step, Expand):
        return is_adjacency_held(source, step.edge, step.direction)
    declared = source.schema.catalog.edges[step.edge]
    # Lists of edges are made of these three without reading anything.
    return all(map(source.is_held, (f"edge:{step.edge}", f"node:{declared.source}", f"node:{declared.target}")))


# ── what both engines hand on ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ways:
    """The neighbours of numbered nodes.

    Attributes:
        pairs: of the number of a node and the number of a neighbour.
        targets: the nodes at the other ends. They all exist.
        places: the position in ``targets`` of each number, ascending; None where the number is the position.
    """

    pairs: Pairs
    targets: Entities
    places: Positions | None = None

    @property
    def pointers(self) -> Pointers:
        """The neighbours of number ``i`` are ``neighbours[pointers[i]:pointers[i + 1]]``."""
        return self.pairs.pointers

    @property
    def neighbours(self) -> npt.NDArray[np.int32]:
        """Numbers, ascending and distinct per list."""
        return self.pairs.rights

    @property
    def size(self) -> int:
        """How many nodes there are to start from."""
        return len(self.pairs.pointers) - 1

    def positions(self, numbers: Positions) -> Positions:
        """Where neighbours are among the targets."""
        return numbers if self.places is None else self.places[numbers]

    def numbers(self, bound: Bound) -> Positions:
        """The numbers of nodes that are bound already, -1 for those that no edge leads to."""
        found = positions_in(self.targets, bound)
        if self.places is None:
            return found
        numbers = np.searchsorted(self.places, found)
        is_there = numbers < len(self.places)
        is_there[is_there] = self.places[numbers[is_there]] == found[is_there]
        return np.where(is_there, numbers, ABSENT)

    def connects(self, starts: Positions, ends: Positions) -> Mask:
        """Whether an edge leads from each start to the end beside it; to -1 none does."""
        mask = np.asarray(ends != ABSENT)
        rows = np.flatnonzero(mask)
        keys = pair_keys(starts[rows], ends[rows])
        if len(rows) > _MANY_PAIRS:
            # Neighbouring pairs are looked for at neighbouring places, and memory is read in order.
            order = np.argsort(keys)
            rows, keys = rows[order], keys[order]
        mask[rows] = self.pairs.contains(keys)
        return mask


def positions_in(entities: Entities, bound: Bound) -> Positions:
    """Where the entities of a variable are among others of the same type, row by row; -1 where they are not."""
    if bound.entities is entities:
        return bound.positions
    distinct, numbers = distinct_positions(bound.positions, len(bound.entities))
    return entities.find(take_values(bound.entities.ids, distinct))[numbers]


def distinct_positions(positions: Positions, size: int) -> tuple[Positions, Indices]:
    """Each position once, ascending, and for each position its number among these.

    Args:
        positions: in any order, each below ``size``.
        size: how many entities there are.
    """
    if len(positions) == 1:
        return positions, np.zeros(1, dtype=np.int64)
    if len(positions) * 16 < size:
        distinct, numbers = np.unique(positions, return_inverse=True)
        return distinct, numbers
    marks = np.zeros(size, dtype=np.bool_)
    marks[positions] = True
    distinct = np.flatnonzero(marks)
    if len(distinct) == size:
        return distinct, positions
    places = np.empty(size, dtype=np.int64)
    places[distinct] = np.arange(len(distinct))
    return distinct, places[positions]
