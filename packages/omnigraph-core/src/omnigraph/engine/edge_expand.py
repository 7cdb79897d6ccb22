"""``EdgeExpand``: from the node of a variable along its edges, one row per edge, so that parallel edges are told apart.

    Frame  ──>  lists of edges (from memory or by probes)  ──>  numbers of rows, edges and targets  ──>  Frame

Rows keep their order; within one, edges ascend by id. An edge from a node to itself is one row also where edges are
followed both ways. Conditions on the edge are judged before those on its other end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from omnigraph.engine.adjacency_keys import Pointers
from omnigraph.engine.edge_lists import edge_lists_of
from omnigraph.engine.entities import Entities, Positions, take_values
from omnigraph.engine.execution import Execution, label
from omnigraph.engine.expand import (
    Conditions,
    check_output,
    checked,
    join_parts,
    note_choice,
    parts_of,
    places_of,
    without_rows,
)
from omnigraph.engine.frame import Bound, Frame, Indices
from omnigraph.engine.probes import probe_edges
from omnigraph.engine.traversal import choose_traversal, distinct_positions, positions_in, too_large
from omnigraph.plan.ir import EdgeExpand


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Lists:
    """The edges of numbered nodes, whichever engine found them."""

    pointers: Pointers
    edges: Entities
    edge_positions: npt.NDArray[np.integer[Any]]
    targets: Entities
    target_positions: npt.NDArray[np.integer[Any]]


def expand_edges(op: EdgeExpand, frame: Frame, execution: Execution) -> Frame:
    """The rows of ``frame``, each once per edge.

    Raises:
        ResourceLimitError: there would be too many edges or rows.
        DeadlineError: the time was over.
    """
    if frame.row_count == 0:
        return without_rows(op, frame, execution)
    lists, starts = _open_lists(op, frame.bound[op.source], execution)
    name, spending = label(op), execution.spending
    begins = lists.pointers[starts]
    counts = lists.pointers[starts + 1] - begins
    total = int(counts.sum())
    spending.check_frontier(name, total)
    if not (op.is_bound or op.predicates or op.edge_predicates):
        check_output(op, frame, total, execution)
    bound_ends = None
    if op.is_bound and op.target is not None:
        bound_ends = positions_in(lists.targets, frame.bound[op.target])
    edge_conditions = Conditions(op.edge_predicates, op.edge_variable, lists.edges, execution)
    conditions = Conditions(op.predicates, op.target or "", lists.targets, execution)
    found: list[tuple[Indices, Positions, Positions]] = []
    rows = 0
    for part in parts_of(counts):
        spending.check_time(name)
        owners, places = places_of(begins, counts, part)
        expected = total
        if bound_ends is not None:
            is_met = bound_ends[owners] == lists.target_positions.take(places)
            owners, places = owners[is_met], places[is_met]
            expected = len(places)
        if edge_conditions.predicates:
            mask = edge_conditions.mask(lists.edge_positions.take(places).astype(np.int64), expected)
            owners, places = owners[mask], places[mask]
        if conditions.predicates:
            mask = conditions.mask(lists.target_positions.take(places).astype(np.int64), expected)
            owners, places = owners[mask], places[mask]
        rows += len(owners)
        check_output(op, frame, rows, execution)
        edges, ends = (each.take(places).astype(np.int64) for each in (lists.edge_positions, lists.target_positions))
        found.append((owners, edges, ends))
    owners, edges, ends = (join_parts(each) for each in zip(*found, strict=True))
    expanded = frame.take(owners).binding(op.edge_variable, lists.edges, edges)
    if op.target is None or op.is_bound:
        return expanded
    return expanded.binding(op.target, lists.targets, ends)


def _open_lists(op: EdgeExpand, bound: Bound, execution: Execution) -> tuple[_Lists, Positions]:
    """The edges, and the number that the start of each row has there."""
    distinct, numbers = distinct_positions(bound.positions, len(bound.entities))
    choice = choose_traversal(op, len(distinct), execution)
    if choice.mode == "csr":
        held = edge_lists_of(execution.source, op.edge, op.direction)
        if held is not None:
            note_choice(op, choice, execution)
            lists = _Lists(
                pointers=held.indptr,
                edges=held.edges,
                edge_positions=held.edge_positions,
                targets=held.target_nodes,
                target_positions=held.targets,
            )
            return lists, checked(positions_in(held.source_nodes, bound), bound)
        choice = too_large(choice, op, execution.source)
    note_choice(op, choice, execution)
    probed = probe_edges(op, take_values(bound.entities.ids, distinct), execution)
    lists = _Lists(
        pointers=probed.pointers,
        edges=probed.edges,
        edge_positions=probed.edge_positions,
        targets=probed.targets,
        target_positions=probed.target_positions,
    )
    return lists, numbers
