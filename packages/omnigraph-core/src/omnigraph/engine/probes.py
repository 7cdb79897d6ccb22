"""Traversal by probes: the stored edges of some nodes, found by the index on their ends, hop by hop.

    ids of nodes  ──>  src and dst of their edges  ──>  ids of the next hop  ...  ──>  Ways, or StoredEdges

What is found is numbered and sorted into the same arrays that adjacency is made of, so the rules of traversal are
written once, elsewhere. An edge type is read from end to end only where no index covers the column that is asked by:
then once per hop, however many nodes ask. Where many nodes ask and the step has a condition on the edge that an index
answers, the edges are found by that condition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.adjacency_keys import Pointers, list_pointers, pair_keys, right_of
from omnigraph.engine.adjacency_pairs import Pairs
from omnigraph.engine.entities import ABSENT, Entities, HeldRows, Positions, contiguous, index_in
from omnigraph.engine.execution import Execution, label
from omnigraph.engine.pushdown import Pushed, as_fixed, describe_sieve, push_down
from omnigraph.engine.source import Source
from omnigraph.engine.traversal import Ways, is_covered, probed_columns
from omnigraph.plan.ir import EdgeExpand, Expand, Predicate
from omnigraph.plan.tree import properties_of
from omnigraph.query.ast import Operator

PROBE_BATCH: Final = 1024
"""How many ids one probe asks for."""

_OTHER: Final = {"src": "dst", "dst": "src"}
_NOTHING: Final = Pushed(sieve=None, residual=())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoredEdges:
    """The edges of numbered nodes.

    Attributes:
        pointers: where the edges of each number begin.
        edges: the edge entities.
        edge_positions: ascending per list.
        targets: the nodes at the other ends.
        target_positions: where each edge leads.
    """

    pointers: Pointers
    edges: Entities
    edge_positions: Positions
    targets: Entities
    target_positions: Positions


def probe_ways(step: Expand, ids: pa.Array, execution: Execution) -> tuple[Ways, Positions]:
    """The neighbours of these nodes, and of all that are fewer hops away from them than the maximum.

    Args:
        step: what is traversed.
        ids: of the nodes to start from, each once.
        execution: the source and the budget.

    Returns:
        The ways, and the number that each of ``ids`` has in them.

    Raises:
        ResourceLimitError: a hop reached too many nodes, or the edges take too many bytes.
        DeadlineError: the time was over.
    """
    near, far = _discover(step, ids, execution)
    is_search = step.maximum_hops > 1
    reached = execution.source.nodes(
        f"node:{step.target_type}",
        pc.unique(pa.chunked_array([ids, *far.chunks]) if is_search else far),
        _columns(step.columns, step.predicates),
    )
    rights = reached.find(far)
    if not is_search:
        return _ways(index_in(near, ids), rights, len(ids), reached, None), np.arange(len(ids))
    # A search goes on from what it found, so that starts and ends are numbered together: by rank among all of them.
    lefts, starts = reached.find(near), reached.find(ids)
    places = np.unique(np.concatenate([starts, rights]))
    places = places[places != ABSENT]
    lefts, rights, starts = (_ranks(each, places) for each in (lefts, rights, starts))
    return _ways(lefts, rights, len(places), reached, places), starts


def probe_edges(step: EdgeExpand, ids: pa.Array, execution: Execution) -> StoredEdges:
    """The edges of these nodes, each of which is there once; they are numbered by their places.

    Raises:
        ResourceLimitError: there are too many edges, or they take too many bytes.
        DeadlineError: the time was over.
    """
    columns = probed_columns(step.direction)
    wanted = _columns(("src", "dst", *step.edge_columns), step.edge_predicates)
    pushed = push_down(step.edge_predicates if len(ids) > PROBE_BATCH else (), execution)
    hop = _hop(step, ids, wanted, execution, pushed=pushed)
    edges = HeldRows(f"edge:{step.edge}", pa.concat_tables([rows for _, rows in hop]))
    near = pa.chunked_array([edges.column(each) for each in columns])
    far = pa.chunked_array([edges.column(_OTHER[each]) for each in columns])
    targets = execution.source.nodes(
        f"node:{step.target_type}", pc.unique(far), _columns(step.columns, step.predicates)
    )
    numbers, positions = index_in(near, ids), targets.find(far)
    if len(columns) > 1:
        # An edge from a node to itself is met from both sides and taken from one.
        is_loop = pc.equal(edges.column("src"), edges.column("dst")).to_numpy(zero_copy_only=False)
        numbers[len(edges) :][is_loop] = ABSENT
    exists = (numbers != ABSENT) & (positions != ABSENT)
    keys = pair_keys(numbers[exists], np.tile(np.arange(len(edges)), len(columns))[exists])
    order = np.argsort(keys)
    keys = keys[order]
    return StoredEdges(
        pointers=list_pointers(keys, len(ids)),
        edges=edges,
        edge_positions=right_of(keys),
        targets=targets,
        target_positions=positions[exists][order],
    )


def _discover(step: Expand, ids: pa.Array, execution: Execution) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Both ends of all edges that lead from these nodes and from those that are reached before the last hop."""
    near: list[pa.Array] = []
    far: list[pa.Array] = []
    known = frontier = ids
    size = 0
    for _ in range(step.maximum_hops):
        hop = _hop(step, frontier, ("src", "dst"), execution)
        size += sum(rows.nbytes for _, rows in hop)
        execution.spending.check_bytes(label(step), size)
        near += [contiguous(rows[column]) for column, rows in hop]
        far += [contiguous(rows[_OTHER[column]]) for column, rows in hop]
        found = pc.unique(pa.chunked_array(far[-len(hop) :]))
        frontier = found.filter(pc.invert(pc.is_in(found, value_set=known)))
        if not len(frontier):
            break
        known = pa.concat_arrays([known, frontier])
    return pa.chunked_array(near), pa.chunked_array(far)


def _hop(
    step: Expand | EdgeExpand,
    ids: pa.Array,
    wanted: Sequence[str],
    execution: Execution,
    *,
    pushed: Pushed = _NOTHING,
) -> list[tuple[str, pa.Table]]:
    """The edges of these nodes, each part beside the column that it was asked by."""
    found: list[tuple[str, pa.Table]] = []
    count = size = 0
    for column in probed_columns(step.direction):
        for rows in _probe(step, column, ids, wanted, execution, pushed=pushed):
            count, size = count + rows.num_rows, size + rows.nbytes
            execution.spending.check_frontier(label(step), count)
            execution.spending.check_bytes(label(step), size)
            found.append((column, rows))
    return found


def _probe(
    step: Expand | EdgeExpand,
    column: str,
    ids: pa.Array,
    wanted: Sequence[str],
    execution: Execution,
    *,
    pushed: Pushed,
) -> Iterator[pa.Table]:
    """The edges that have one of these ids in a column, some at a time; one table at least."""
    source = execution.source
    key = f"edge:{step.edge}"
    tables, handle = source.tables, source.handle(key)
    is_probed = len(ids) <= PROBE_BATCH or is_covered(step, column, source)
    if is_probed and not _is_found_by_condition(step, pushed, source):
        for first in range(0, max(len(ids), 1), PROBE_BATCH):
            yield tables.lookup(handle, ids.slice(first, PROBE_BATCH), key=column, columns=wanted)
        return
    execution.note(step, filter=describe_sieve(key, pushed, execution) or "reads every edge")
    with tables.read(handle, columns=wanted, predicate=pushed.sieve) as reader:
        yield reader.schema.empty_table()
        for batch in reader:
            yield pa.Table.from_batches([batch]).filter(pc.is_in(batch[column], value_set=ids))


def _is_found_by_condition(step: Expand | EdgeExpand, pushed: Pushed, source: Source) -> bool:
    """Whether a pushed condition says the whole value of a property that an index covers, all but the newest edges."""
    if not isinstance(step, EdgeExpand):
        return False
    fixed = (each for each in map(as_fixed, step.edge_predicates) if each is not None and each.operator is Operator.EQ)
    names = {each.field.property for each in fixed} & {*pushed.columns}
    coverages = [source.coverage(f"edge:{step.edge}", name, "btree") for name in names]
    return any(each is not None and each.uncovered_rows <= each.covered_rows for each in coverages)


def _ways(lefts: Positions, rights: Positions, size: int, targets: Entities, places: Positions | None) -> Ways:
    exists = (lefts != ABSENT) & (rights != ABSENT)
    pairs = Pairs.of(pair_keys(lefts[exists], rights[exists]), size)
    return Ways(pairs=pairs, targets=targets, places=places)


def _ranks(positions: Positions, places: Positions) -> Positions:
    """The place of each position among ascending ones that hold it; -1 stays."""
    return np.where(positions == ABSENT, ABSENT, np.searchsorted(places, positions))


def _columns(read: Sequence[str], predicates: Sequence[Predicate]) -> list[str]:
    judged = (ref.property for each in predicates for ref in properties_of(each))
    return list(dict.fromkeys(("id", *read, *judged)))
