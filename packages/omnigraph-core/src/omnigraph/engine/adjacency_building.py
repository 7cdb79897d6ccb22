"""The pairs of an adjacency: made of stored edges, of those of another direction, or of those of an older version.

    StoredRows (src, dst), two Images  ──>  KeptPairs

After a commit nothing is sorted anew (DESIGN 14): old pairs lose the removed edges, move with their nodes and take up
the added edges, and only ids of what changed are looked up. An edge that misses an end makes no pair; it is remembered
as *dangling* and looked up again at every extension, since its end may have come meanwhile.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from omnigraph.cancellation import check_cancelled
from omnigraph.engine.adjacency_keys import Keys, flip_keys, pair_keys
from omnigraph.engine.adjacency_pairs import Pairs
from omnigraph.engine.entities import ABSENT, Positions, contiguous
from omnigraph.query.checked import Direction

if TYPE_CHECKING:
    from collections.abc import Hashable

    from omnigraph.engine.frame import Mask
    from omnigraph.engine.images import Image
    from omnigraph.engine.stored_rows import StoredRows
    from omnigraph.tables.interface import TablePin

_NO_IDS: Final = pa.array([], pa.string())


@dataclass(frozen=True, slots=True)
class EdgePins:
    """An edge type and the node types at its ends, at one version each."""

    rows: TablePin
    starts: TablePin
    ends: TablePin

    @property
    def lines(self) -> tuple[Hashable, ...]:
        """The lines of versions that these belong to, the narrower first: of the same branches, and of the types."""
        pins = (self.rows, self.starts, self.ends)
        return tuple((each.location, each.branch) for each in pins), tuple(each.location for each in pins)

    def is_before(self, other: EdgePins) -> bool:
        """Whether no version is newer than the other has it, and some are older; both are of the same branches."""
        mine, theirs = ((each.rows.version, each.starts.version, each.ends.version) for each in (self, other))
        return mine != theirs and all(one <= another for one, another in zip(mine, theirs, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EdgeParts:
    """What the adjacency of an edge type is made of: its stored edges, and the nodes at the two ends."""

    rows: StoredRows
    starts: Image
    ends: Image

    @property
    def pins(self) -> EdgePins:
        return EdgePins(self.rows.pin, self.starts.pin, self.ends.pin)


@dataclass(frozen=True, slots=True)
class PartRefs:
    """Parts that are not held: memory bounds them by themselves, and may have dropped them."""

    rows: weakref.ref[StoredRows]
    starts: weakref.ref[Image]
    ends: weakref.ref[Image]

    @classmethod
    def to(cls, parts: EdgeParts) -> PartRefs:
        return cls(weakref.ref(parts.rows), weakref.ref(parts.starts), weakref.ref(parts.ends))

    def alive(self) -> EdgeParts | None:
        """The parts, if all of them are still in memory."""
        rows, starts, ends = self.rows(), self.starts(), self.ends()
        if rows is None or starts is None or ends is None:
            return None
        return EdgeParts(rows=rows, starts=starts, ends=ends)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeptPairs:
    """The edges of one type in one direction.

    Attributes:
        pairs: one per edge with both ends; UNDIRECTED one each way, so two for an edge from a node to itself.
        dangling: numbers of the stored edges that miss an end, ascending.
    """

    direction: Direction
    pairs: Pairs
    dangling: Positions
    pins: EdgePins
    made_of: PartRefs

    @property
    def edge_count(self) -> int:
        """How many edges have both ends."""
        return len(self.pairs) // 2 if self.direction is Direction.UNDIRECTED else len(self.pairs)

    @property
    def nbytes(self) -> int:
        return self.pairs.nbytes + self.dangling.nbytes

    def is_near(self, parts: EdgeParts) -> bool:
        """Whether the stored edges of these parts are the same, or were made of them in one step."""
        rows, step = self.made_of.rows(), parts.rows.step
        return rows is not None and (rows is parts.rows or (step is not None and step.parent is rows))


def build_pairs(parts: EdgeParts, direction: Direction) -> KeptPairs:
    """Look up both ends of every edge."""
    keys, is_whole = _find_pairs(parts, parts.rows.column("src"), parts.rows.column("dst"))
    dangling = np.flatnonzero(~is_whole)
    check_cancelled()
    return _keep(Pairs.of(_directed(keys, direction), _left_count(parts, direction)), parts, direction, dangling)


def turn_pairs(other: KeptPairs, parts: EdgeParts, direction: Direction) -> KeptPairs:
    """The edges of directed pairs that are made of the same parts, in another direction."""
    keys = other.pairs.keys()
    forward = flip_keys(keys) if other.direction is Direction.BACKWARD else keys
    pairs = Pairs.of(_directed(forward, direction), _left_count(parts, direction))
    return _keep(pairs, parts, direction, other.dangling)


def extend_pairs(older: KeptPairs, parts: EdgeParts) -> KeptPairs | None:
    """Older pairs brought to other versions of their parts; equal, array by array, to what ``build_pairs`` makes.

    Returns:
        None when that is to be called instead: the older versions are no longer in memory, most edges changed, or one
        stayed and lost an end.
    """
    old, direction = older.made_of.alive(), older.direction
    changes = None if old is None else _find_changes(old.rows, parts.rows)
    if old is None or changes is None or 2 * changes.size > len(old.rows):
        return None
    starts = parts.starts.positions_from(old.starts)
    ends = starts if old.ends is old.starts else parts.ends.positions_from(old.ends)
    if starts is None or ends is None:
        return None
    removed, _ = _find_pairs(old, *_ends_at(old.rows, changes.removed))
    left, right = (ends, starts) if direction is Direction.BACKWARD else (starts, ends)
    moved = older.pairs.removing(_directed(removed, direction)).moving(
        left, right, left_count=_left_count(parts, direction)
    )
    if moved is None:
        return None
    dangling = older.dangling
    added, is_whole = _find_pairs(parts, changes.sources, changes.targets)
    if len(dangling) or not is_whole.all():
        unseen = _unseen(older.dangling, old.rows, parts.rows)
        added, is_whole = _find_pairs(parts, *_ends_at(parts.rows, unseen))
        dangling = unseen[~is_whole]
    return _keep(moved.inserting(_directed(added, direction)), parts, direction, dangling)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Changes:
    """What differs between the stored edges of two versions.

    Attributes:
        removed: old numbers of the edges that are gone.
        sources: ids of the starts of those that came; ``targets`` of their ends.
    """

    removed: Positions
    sources: pa.Array
    targets: pa.Array

    @property
    def size(self) -> int:
        """How many edges came or went."""
        return len(self.removed) + len(self.sources)


def _find_changes(old: StoredRows, new: StoredRows) -> _Changes | None:
    """None when it would take reading an old version, which may not even be stored any more."""
    step = None if old is new else new.step
    if step is not None and step.parent is old and {"src", "dst"} <= {*step.added.column_names}:
        # No array as long as the edges are many, and their columns need not follow either.
        removed = step.splice.removed
        sources, targets = contiguous(step.added["src"]), contiguous(step.added["dst"])
    else:
        places = new.positions_from(old)
        if places is None:
            return None
        removed = np.flatnonzero(places == ABSENT)
        sources, targets = _ends_at(new, _numbers_added(places, len(new)))
    if len(removed) and not (old.is_loaded("src") and old.is_loaded("dst")):
        return None
    return _Changes(removed=removed, sources=sources, targets=targets)


def _unseen(dangling: Positions, old: StoredRows, new: StoredRows) -> Positions:
    """The new numbers of edges that are not among the pairs: those that missed an end, and those that came."""
    places = new.positions_from(old)
    assert places is not None  # noqa: S101 - the changes between the two were found
    still = places[dangling]
    return np.sort(np.concatenate([still[still != ABSENT], _numbers_added(places, len(new))]))


def _numbers_added(places: Positions, count: int) -> Positions:
    is_added = np.ones(count, dtype=np.bool_)
    is_added[places[places != ABSENT]] = False
    return np.flatnonzero(is_added)


def _ends_at(rows: StoredRows, numbers: Positions) -> tuple[pa.Array, pa.Array]:
    """The ids of the starts and ends of the edges with these numbers."""
    if len(numbers) == 0:
        return _NO_IDS, _NO_IDS
    return rows.pick("src", numbers), rows.pick("dst", numbers)


def _find_pairs(parts: EdgeParts, sources: pa.Array, targets: pa.Array) -> tuple[Keys, Mask]:
    """The pairs from start to end of those edges that have both, and which these are."""
    # Each of these goes over all edges in one call of a library, so the only places to stop are between them.
    check_cancelled()
    starts = parts.starts.find(sources)
    check_cancelled()
    ends = parts.ends.find(targets)
    check_cancelled()
    is_whole = (starts != ABSENT) & (ends != ABSENT)
    if not is_whole.all():
        starts, ends = starts[is_whole], ends[is_whole]
    return pair_keys(starts, ends), is_whole


def _directed(forward: Keys, direction: Direction) -> Keys:
    """Pairs from start to end as a direction has them."""
    match direction:
        case Direction.FORWARD:
            return forward
        case Direction.BACKWARD:
            return flip_keys(forward)
        case Direction.UNDIRECTED:
            return np.concatenate([forward, flip_keys(forward)])


def _left_count(parts: EdgeParts, direction: Direction) -> int:
    return len(parts.ends) if direction is Direction.BACKWARD else len(parts.starts)


def _keep(pairs: Pairs, parts: EdgeParts, direction: Direction, dangling: Positions) -> KeptPairs:
    return KeptPairs(direction=direction, pairs=pairs, dangling=dangling, pins=parts.pins, made_of=PartRefs.to(parts))
