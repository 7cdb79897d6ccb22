"""``Adjacency``: who the neighbours of a node are, along one edge type in one direction, as arrays of positions.

    edge type at a pin, two node types at pins  ──>  KeptPairs (in memory)  ──>  Adjacency (with the nodes at hand)

Asked for by traversals. Kept by the pins of the three types, so every branch that pins the same versions shares one.
After a commit the newest one kept is extended by what changed; nothing else is read. Where a type is too large to be
held there is no adjacency, and traversals ask the stored edges instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from omnigraph.engine.adjacency_building import EdgeParts, EdgePins, KeptPairs, build_pairs, extend_pairs, turn_pairs
from omnigraph.engine.adjacency_keys import Pointers, gather_lists, pair_keys
from omnigraph.engine.adjacency_pairs import Pairs
from omnigraph.engine.source import BRANCH_VERSIONS, TYPE_VERSIONS
from omnigraph.query.checked import Direction

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from omnigraph.engine.entities import Positions
    from omnigraph.engine.frame import Indices, Mask
    from omnigraph.engine.images import Image
    from omnigraph.engine.memory import Memory
    from omnigraph.engine.source import Source

FAMILY: Final = "adjacency"
"""What memory calls adjacency and edge lists."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Adjacency:
    """One direction of one edge type: the distinct neighbours of each node, ascending. Immutable.

    Attributes:
        sources: the nodes that edges are followed from; at their other end are the ``targets``.
        pairs: of a source and a target, one per edge; UNDIRECTED one each way.
        edge_count: of edges with both ends, parallel ones counted each.
    """

    sources: Image
    targets: Image
    pairs: Pairs
    edge_count: int

    @property
    def indptr(self) -> Pointers:
        """The neighbours of node ``i`` are ``neighbours[indptr[i]:indptr[i + 1]]``."""
        return self.pairs.pointers

    @property
    def neighbours(self) -> npt.NDArray[np.int32]:
        """Positions among the targets, ascending per source."""
        return self.pairs.rights

    @property
    def nbytes(self) -> int:
        """What the arrays take; nodes are not theirs."""
        return self.pairs.nbytes

    def degrees(self, positions: Positions) -> npt.NDArray[np.int64]:
        """How many distinct neighbours each of these sources has."""
        return self.indptr[positions + 1] - self.indptr[positions]

    def neighbours_of(self, positions: Positions) -> tuple[Indices, Positions]:
        """The neighbours of each of these sources, which may come repeatedly.

        Returns:
            For each neighbour the number in ``positions`` of its source, and its own position; in this order.
        """
        owners, targets = gather_lists(self.indptr, positions, self.neighbours)
        return owners, targets

    def connects(self, sources: Positions, targets: Positions) -> Mask:
        """Whether an edge leads from each source to the target beside it."""
        return self.pairs.contains(pair_keys(sources, targets))


def adjacency_of(source: Source, edge: str, direction: Direction) -> Adjacency | None:
    """The adjacency of an edge type at the snapshot; the nodes of it are those that ``source.image`` gives.

    Args:
        source: what is read.
        edge: the name of the edge type.
        direction: FORWARD from start to end. UNDIRECTED only where both ends are of one node type.

    Returns:
        None when the edges or their nodes are too large to be held.
    """
    start_key, end_key = end_keys(source, edge)
    starts, ends = source.image(start_key), source.image(end_key)
    if starts is None or ends is None:
        return None
    pins = edge_pins(source, edge)
    memory, name = source.memory, (pins, direction)
    kept = memory.get(FAMILY, name) if memory.holds(FAMILY, name) else None
    if kept is None:
        rows = source.endpoints(f"edge:{edge}")
        if rows is None:
            return None
        parts = EdgeParts(rows=rows, starts=starts, ends=ends)
        kept = memory.get_or_build(FAMILY, name, lambda: _make(memory, pins, parts, direction), _nbytes)
    remember_version(memory, direction, pins, name)
    sources, targets = (ends, starts) if direction is Direction.BACKWARD else (starts, ends)
    return Adjacency(sources=sources, targets=targets, pairs=kept.pairs, edge_count=kept.edge_count)


def is_adjacency_held(source: Source, edge: str, direction: Direction) -> bool:
    """Whether the adjacency, or an older one that it is made of by reading what changed, is in memory. No load."""
    pins = edge_pins(source, edge)
    if source.memory.holds(FAMILY, (pins, direction)):
        return True
    return any(each.made_of.alive() is not None for each in _older(source.memory, pins, direction))


def end_keys(source: Source, edge: str) -> tuple[str, str]:
    """The keys of the node types at the two ends of an edge type."""
    declared = source.schema.catalog.edges[edge]
    return f"node:{declared.source}", f"node:{declared.target}"


def edge_pins(source: Source, edge: str) -> EdgePins:
    """The versions that the snapshot has of an edge type and of the nodes at its ends."""
    start_key, end_key = end_keys(source, edge)
    return EdgePins(source.entry(f"edge:{edge}").pin, source.entry(start_key).pin, source.entry(end_key).pin)


def remember_version(memory: Memory, what: Hashable, pins: EdgePins, name: Hashable) -> None:
    """Say what was just used, so that later versions are made of it and those before it leave.

    Args:
        memory: that keeps it.
        what: stands for all versions of it, of whatever edge type; values under that have ``pins``.
        pins: its own.
        name: under which it is kept.
    """
    branch, tables = pins.lines
    newest = memory.newest(FAMILY, (what, branch))
    # A read of an old commit takes no part in what the next commit is made of.
    if newest is None or not pins.is_before(newest.pins):
        memory.remember(FAMILY, (what, branch), name, keep=BRANCH_VERSIONS)
    memory.remember(FAMILY, (what, tables), name, keep=TYPE_VERSIONS)


def _make(memory: Memory, pins: EdgePins, parts: EdgeParts, direction: Direction) -> KeptPairs:
    """The pairs, by the cheapest way there is.

    These are, in this order: what the last commit changed, the same edges in another direction, what several commits
    changed, all edges.
    """
    older = [*_older(memory, pins, direction)]
    extended = _extended(memory, (each for each in older if each.is_near(parts)), parts)
    if extended is not None:
        return extended
    for name in ((pins, Direction.FORWARD), (pins, Direction.BACKWARD)):
        other = memory.get(FAMILY, name) if memory.holds(FAMILY, name) else None
        if other is not None:
            return turn_pairs(other, parts, direction)
    return _extended(memory, older, parts) or build_pairs(parts, direction)


def _extended(memory: Memory, older: Iterable[KeptPairs], parts: EdgeParts) -> KeptPairs | None:
    for each in older:
        extended = extend_pairs(each, parts)
        if extended is not None:
            memory.note_extension(FAMILY)
            return extended
    return None


def _older(memory: Memory, pins: EdgePins, direction: Direction) -> Iterator[KeptPairs]:
    """What could be extended, the nearest first."""
    for line in pins.lines:
        found = memory.newest(FAMILY, (direction, line))
        if found is not None:
            yield found


def _nbytes(kept: KeptPairs) -> int:
    return kept.nbytes
