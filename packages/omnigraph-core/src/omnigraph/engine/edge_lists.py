"""``EdgeLists``: the edges of each node, with the node at their other end, for traversals that bind the edge.

    Image of an edge type, Images of two node types  ──>  EdgeEnds  ──>  EdgeLists, per direction

Unlike an adjacency it has parallel edges each and knows which edge is which: edges are positions in the image of their
type, so they ascend by id. It is made of images alone and reads nothing else. The ends of an older version are moved
along with their nodes; only those of edges that came or changed are looked up.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from omnigraph.engine.adjacency import FAMILY, edge_pins, end_keys, remember_version
from omnigraph.engine.adjacency_building import EdgePins
from omnigraph.engine.adjacency_keys import Pointers, gather_lists, left_of, list_pointers, pair_keys
from omnigraph.engine.entities import ABSENT, Positions, is_identity
from omnigraph.query.checked import Direction

if TYPE_CHECKING:
    from omnigraph.engine.frame import Indices
    from omnigraph.engine.images import Image
    from omnigraph.engine.memory import Memory
    from omnigraph.engine.source import Source

Places = npt.NDArray[np.int32]
"""Positions, half as wide."""

_ENDS: Final = "ends"
_LISTS: Final = "lists"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EdgeLists:
    """The edges of each node in one direction, ascending by edge. Immutable.

    UNDIRECTED an edge is in the lists of both its ends; from a node to itself, once.

    Attributes:
        edges: the edge entities.
        source_nodes: the nodes that edges are followed from; at their other end are the ``target_nodes``.
        indptr: the edges of node ``i`` are ``edge_positions[indptr[i]:indptr[i + 1]]``.
        targets: where each of these edges leads.
    """

    edges: Image
    source_nodes: Image
    target_nodes: Image
    indptr: Pointers
    targets: Places
    edge_positions: Places

    @property
    def nbytes(self) -> int:
        """What the arrays take; nodes and edges are not theirs."""
        return self.indptr.nbytes + self.targets.nbytes + self.edge_positions.nbytes

    def degrees(self, positions: Positions) -> npt.NDArray[np.int64]:
        """How many edges each of these nodes has."""
        return self.indptr[positions + 1] - self.indptr[positions]

    def edges_of(self, positions: Positions) -> tuple[Indices, Positions, Positions]:
        """The edges of each of these nodes, which may come repeatedly.

        Returns:
            For each edge the number in ``positions`` of its node, its own position, and where it leads; in the order
            of the first two.
        """
        owners, edges, targets = gather_lists(self.indptr, positions, self.edge_positions, self.targets)
        return owners, edges, targets


def edge_lists_of(source: Source, edge: str, direction: Direction) -> EdgeLists | None:
    """The edge lists of an edge type at the snapshot, with the entities that ``source.image`` gives.

    Args:
        source: what is read.
        edge: the name of the edge type.
        direction: FORWARD from start to end. UNDIRECTED only where both ends are of one node type.

    Returns:
        None when the edges or their nodes are too large to be held.
    """
    start_key, end_key = end_keys(source, edge)
    edges = source.image(f"edge:{edge}", columns=("src", "dst"))
    starts, ends = source.image(start_key), source.image(end_key)
    if edges is None or starts is None or ends is None:
        return None
    pins, memory = edge_pins(source, edge), source.memory
    parts = _Parts(edges=edges, starts=starts, ends=ends)
    name = (_LISTS, pins, direction)
    kept = memory.get_or_build(
        FAMILY, name, lambda: _list_edges(memory, pins, parts, direction), lambda each: each.nbytes
    )
    remember_version(memory, (_LISTS, direction), pins, name)
    is_backward = direction is Direction.BACKWARD
    return EdgeLists(
        edges=edges,
        source_nodes=ends if is_backward else starts,
        target_nodes=starts if is_backward else ends,
        indptr=kept.indptr,
        targets=kept.targets,
        edge_positions=kept.edge_positions,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Parts:
    """An edge type and the nodes at its two ends."""

    edges: Image
    starts: Image
    ends: Image


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EdgeEnds:
    """Where each edge starts and ends, by the position of the edge; -1 where there is no such node.

    Attributes:
        is_dangling: some edge misses an end.
        made_of: edges, nodes at their starts, nodes at their ends. Not held: memory bounds them by themselves.
    """

    starts: Places
    ends: Places
    is_dangling: bool
    pins: EdgePins
    made_of: tuple[weakref.ref[Image], weakref.ref[Image], weakref.ref[Image]]

    @property
    def nbytes(self) -> int:
        return self.starts.nbytes + self.ends.nbytes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _KeptLists:
    pins: EdgePins
    indptr: Pointers
    targets: Places
    edge_positions: Places

    @property
    def nbytes(self) -> int:
        return self.indptr.nbytes + self.targets.nbytes + self.edge_positions.nbytes


def _list_edges(memory: Memory, pins: EdgePins, parts: _Parts, direction: Direction) -> _KeptLists:
    name = (_ENDS, pins)
    found = memory.get_or_build(FAMILY, name, lambda: _make_ends(memory, pins, parts), lambda each: each.nbytes)
    remember_version(memory, _ENDS, pins, name)
    starts, ends = found.starts, found.ends
    whole = np.arange(len(starts), dtype=np.int64)
    if found.is_dangling:
        whole = whole[(starts != ABSENT) & (ends != ABSENT)]
    match direction:
        case Direction.FORWARD:
            keys, count = pair_keys(starts[whole].astype(np.int64), whole), len(parts.starts)
        case Direction.BACKWARD:
            keys, count = pair_keys(ends[whole].astype(np.int64), whole), len(parts.ends)
        case Direction.UNDIRECTED:
            once = whole[starts[whole] != ends[whole]]
            keys = pair_keys(
                np.concatenate([starts[whole], ends[once]]).astype(np.int64), np.concatenate([whole, once])
            )
            count = len(parts.starts)
    keys.sort()
    # The cast keeps the lower half of a key, which is a position and below 2**31.
    edge_positions = keys.astype(np.int32)
    match direction:
        case Direction.FORWARD:
            targets = ends.take(edge_positions)
        case Direction.BACKWARD:
            targets = starts.take(edge_positions)
        case Direction.UNDIRECTED:
            # Of the two ends of an edge, the one that the list is not of.
            targets = starts.take(edge_positions) + ends.take(edge_positions) - left_of(keys).astype(np.int32)
    return _KeptLists(pins=pins, indptr=list_pointers(keys, count), targets=targets, edge_positions=edge_positions)


def _make_ends(memory: Memory, pins: EdgePins, parts: _Parts) -> EdgeEnds:
    known = None
    for line in pins.lines:
        older = memory.newest(FAMILY, (_ENDS, line))
        known = None if older is None else _known_ends(older, parts)
        if known is not None:
            memory.note_extension(FAMILY)
            break
    if known is None:
        starts = parts.starts.find(parts.edges.column("src")).astype(np.int32)
        ends = parts.ends.find(parts.edges.column("dst")).astype(np.int32)
    else:
        starts, ends = known
        # Also those whose end did not exist: it may have come.
        unknown = np.flatnonzero((starts == ABSENT) | (ends == ABSENT))
        if len(unknown):
            starts, ends = starts.copy(), ends.copy()
            starts[unknown] = parts.starts.find(parts.edges.pick("src", unknown))
            ends[unknown] = parts.ends.find(parts.edges.pick("dst", unknown))
    return EdgeEnds(
        starts=starts,
        ends=ends,
        is_dangling=bool(((starts == ABSENT) | (ends == ABSENT)).any()),
        pins=pins,
        made_of=(weakref.ref(parts.edges), weakref.ref(parts.starts), weakref.ref(parts.ends)),
    )


def _known_ends(older: EdgeEnds, parts: _Parts) -> tuple[Places, Places] | None:
    """Where the ends of edges that did not change are now; -1 for all others. None when nothing is known."""
    edges, starts, ends = (each() for each in older.made_of)
    if edges is None or starts is None or ends is None:
        return None
    old_starts, old_ends = older.starts, older.ends
    if edges is not parts.edges:
        # Not by id: an edge that was written again may lead elsewhere.
        step = parts.edges.step
        if step is None or step.parent is not edges:
            return None
        unknown = np.full(step.added.num_rows, ABSENT, dtype=np.int32)
        old_starts, old_ends = (step.splice.apply_numbers(each, unknown) for each in (old_starts, old_ends))
    start_places, end_places = parts.starts.positions_from(starts), parts.ends.positions_from(ends)
    if start_places is None or end_places is None:
        return None
    return _move(old_starts, start_places), _move(old_ends, end_places)


def _move(positions: Places, places: Positions) -> Places:
    if is_identity(places):
        return positions
    # One place more, so that -1 stays -1.
    return np.append(places, ABSENT).astype(np.int32).take(positions)
