"""What a merge means, row by row: three images become one, or a set of conflicts. Written from the rules alone.

    base, source, target ── the row table ──> each row decided, or a row conflict
                         ── the rules of the schema ──> the merged image, or rule conflicts

A strategy decides rows that both sides changed: ``ours`` keeps the row of the target, ``theirs`` takes that of the
source, and no row may be as good as one. It decides nothing else: where the decided rows together break a rule of the
schema, the merge fails, whatever the strategy. Everything is told at once: while the rules are judged, an undecided row
is there as the target has it, or as the source has it where the target deleted it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, get_args

from omnigraph.errors import MergeConflictKind
from omnigraph.testing.model import ModelGraph, ModelRefusalError, ModelRow

Rows = Mapping[str, Mapping[str, ModelRow]]
"""An image: the rows of every type, by key of the type and id. Never changed once it is made."""

Side = Literal["ours", "theirs"]


class Conflict(NamedTuple):
    """One thing that a merge cannot decide.

    ``id`` is that of the row: of a row conflict, the one that both sides changed; of an orphan edge, the edge; of a
    unique or value rule, the row that the merge would write into the target. Too many or too few edges are nobody's own
    fault: there it is the node that they leave, while ``type`` is that of the edges.
    """

    kind: MergeConflictKind
    entity: str
    type: str
    id: str


Strategy = Literal["fail", "ours", "theirs"] | Callable[[Conflict], Side]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedRows:
    """What comes of three images.

    Attributes:
        image: the merged one; only worth something without conflicts.
        resolved: row conflicts that the strategy decided.
    """

    image: Rows
    conflicts: frozenset[Conflict] = field(default_factory=frozenset)
    resolved: frozenset[Conflict] = field(default_factory=frozenset)


def merge_rows(graph: ModelGraph, *, base: Rows, source: Rows, strategy: Strategy = "fail") -> MergedRows:
    """Merge the source into a graph, which is the target and stays as it is."""
    target: Rows = graph.rows
    image: dict[str, dict[str, ModelRow]] = {}
    open_, resolved = set[Conflict](), set[Conflict]()
    for key in target:
        rows = image[key] = {}
        for id_ in sorted({*base[key], *source[key], *target[key]}):
            of_base, of_source, of_target = base[key].get(id_), source[key].get(id_), target[key].get(id_)
            kind = row_conflict(of_base, of_source, of_target)
            row = of_target if is_same(of_source, of_base) else of_source
            if kind is not None:
                conflict = Conflict(kind, *_named(key), id_)
                side = _decide(strategy, conflict)
                (open_ if side is None else resolved).add(conflict)
                row = {"ours": of_target, "theirs": of_source, None: of_target or of_source}[side]
            if row is not None:
                rows[id_] = row
    conflicts = frozenset(open_) | frozenset(_broken_rules(graph, image))
    return MergedRows(image=image, conflicts=conflicts, resolved=frozenset(resolved))


def row_conflict(base: ModelRow | None, source: ModelRow | None, target: ModelRow | None) -> MergeConflictKind | None:
    """How the changes of two sides to one row contradict each other; None when they do not."""
    if is_same(source, base) or is_same(target, base) or is_same(source, target):
        return None
    if base is None:
        return MergeConflictKind.DIVERGENT_INSERT
    if source is None or target is None:
        return MergeConflictKind.DELETE_VS_UPDATE
    return MergeConflictKind.DIVERGENT_UPDATE


def is_same(one: ModelRow | None, other: ModelRow | None) -> bool:
    """Whether two rows of one type are equal, value by value: null, an empty text and an empty list differ.

    So do 0.0 and -0.0, which an export tells apart; a value that is no number equals itself.
    """
    if one is None or other is None:
        return one is other
    return _spelled(one) == _spelled(other)


def _spelled(row: ModelRow) -> str:
    return json.dumps([row.id, row.source, row.target, row.values], sort_keys=True)


def _decide(strategy: Strategy, conflict: Conflict) -> Side | None:
    side = strategy(conflict) if callable(strategy) else strategy
    if side == "fail":
        return None
    if side not in get_args(Side):
        raise ModelRefusalError(f"{side!r} decides nothing")
    return side


# ── the rules of the schema, where the merge touches them ────────────────────────────────────────────────────────────


def _broken_rules(graph: ModelGraph, image: Rows) -> Iterator[Conflict]:
    """What the merged image breaks by rows that the merge writes, and by nodes and edges that it takes away."""
    kinds: Final = MergeConflictKind
    written = {
        key: {id_ for id_, row in rows.items() if not is_same(row, graph.rows[key].get(id_))}
        for key, rows in image.items()
    }
    before = {(key, row.id) for key, row in graph.stranded(graph.rows)}
    for key, row in graph.stranded(image):
        if row.id in written[key] or (key, row.id) not in before:
            yield Conflict(kinds.ORPHAN_EDGE, *_named(key), row.id)
    for key, rows in image.items():
        for id_ in written[key]:
            if _is_refused(graph, key, rows[id_]):
                yield Conflict(kinds.VALUE_CONSTRAINT_VIOLATION, *_named(key), id_)
        for _, holders in graph.clashes(key, rows.values()):
            for row in holders:
                if row.id in written[key]:
                    yield Conflict(kinds.UNIQUE_VIOLATION, *_named(key), row.id)
        for node, _ in graph.miscounted(key, image):
            yield Conflict(kinds.CARDINALITY_VIOLATION, *_named(key), node)


def _is_refused(graph: ModelGraph, key: str, row: ModelRow) -> bool:
    try:
        graph.check_values(key, [row])
    except ModelRefusalError:
        return True
    return False


def _named(key: str) -> tuple[str, str]:
    """Entity and name of a type, by its key."""
    entity, _, name = key.partition(":")
    return entity, name
