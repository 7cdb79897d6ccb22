"""``Expand``: from the node of a variable to the nodes at the other end of its edges, each once per row.

    Frame  ──>  Ways (from adjacency or by probes)  ──>  numbers of rows and targets  ──>  Frame

One hop gives the set of neighbours, so parallel edges make one row; hop bounds are a search (``bfs``), made once per
distinct start and joined back to the rows. Rows keep their order; within one, targets ascend by id. What a hop needs is
counted and held against the budget before it is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from omnigraph.engine.adjacency import adjacency_of
from omnigraph.engine.adjacency_keys import pair_keys
from omnigraph.engine.bfs import Reached, list_places, search
from omnigraph.engine.entities import ABSENT, Entities, HeldRows, Positions, is_identity, take_values
from omnigraph.engine.execution import Execution, label
from omnigraph.engine.frame import Bound, Frame, Indices, Mask
from omnigraph.engine.predicates import holds
from omnigraph.engine.probes import probe_ways
from omnigraph.engine.traversal import Choice, Ways, choose_traversal, distinct_positions, positions_in, too_large
from omnigraph.errors import InternalError
from omnigraph.plan.ir import EdgeExpand, Expand, Predicate

PART: Final = 4 << 20
"""About how many pairs of a row and a target are looked at together where conditions drop some of them."""


def expand(op: Expand, frame: Frame, execution: Execution) -> Frame:
    """The rows of ``frame``, each once per target.

    Raises:
        ResourceLimitError: a hop would reach too many nodes, or there would be too many rows.
        DeadlineError: the time was over.
    """
    if frame.row_count == 0 or op.minimum_hops > op.maximum_hops:
        return without_rows(op, frame, execution)
    ways, starts = _open_ways(op, frame.bound[op.source], execution)
    if op.target is None and frame.origin is not None and op.minimum_hops == 1:
        # Whoever negates asks only which rows have a target; a search that begins at one hop has what one hop has.
        return frame.filter(ways.pointers[starts + 1] > ways.pointers[starts])
    if op.maximum_hops == 1:
        return _take_hop(op, frame, ways, starts, execution)
    return _take_search(op, frame, ways, starts, execution)


def without_rows(op: Expand | EdgeExpand, frame: Frame, execution: Execution) -> Frame:
    """No rows, with all variables bound that the operator binds; nothing is read for it."""
    empty = frame.take(np.empty(0, dtype=np.int64))
    binds: list[tuple[str, str, Sequence[str]]] = []
    if op.target is not None and not op.is_bound:
        binds.append((op.target, f"node:{op.target_type}", op.columns))
    if isinstance(op, EdgeExpand):
        binds.append((op.edge_variable, f"edge:{op.edge}", op.edge_columns))
    for variable, key, columns in binds:
        schema = execution.source.schema.tables[key].schema
        rows = schema.empty_table().select(["id", *columns])
        empty = empty.binding(variable, HeldRows(key, rows), np.empty(0, dtype=np.int64))
    return empty


def _open_ways(op: Expand, bound: Bound, execution: Execution) -> tuple[Ways, Positions]:
    """Who can be reached, and the number that the start of each row has there."""
    distinct, numbers = distinct_positions(bound.positions, len(bound.entities))
    choice = choose_traversal(op, len(distinct), execution)
    if choice.mode == "csr":
        adjacency = adjacency_of(execution.source, op.edge, op.direction)
        if adjacency is not None:
            note_choice(op, choice, execution)
            ways = Ways(pairs=adjacency.pairs, targets=adjacency.targets)
            return ways, checked(positions_in(adjacency.sources, bound), bound)
        choice = too_large(choice, op, execution.source)
    note_choice(op, choice, execution)
    ways, starts = probe_ways(op, take_values(bound.entities.ids, distinct), execution)
    return ways, checked(starts, bound)[numbers]


def note_choice(op: Expand | EdgeExpand, choice: Choice, execution: Execution) -> None:
    """Keep which engine ran a traversal, for ``explain``."""
    execution.note(op, traversal=choice.mode, reason=choice.reason)


def checked(starts: Positions, bound: Bound) -> Positions:
    """The starts, all of which are there.

    Raises:
        InternalError: a row begins at a node that the snapshot does not have.
    """
    if len(starts) and int(starts.min()) == ABSENT:
        raise InternalError(f"A query reached a {bound.entities.key} that is not in its own snapshot.")
    return starts


# ── one hop ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _take_hop(op: Expand, frame: Frame, ways: Ways, starts: Positions, execution: Execution) -> Frame:
    name, spending = label(op), execution.spending
    if op.is_bound:
        assert op.target is not None  # noqa: S101 - what is bound has a name
        return frame.filter(ways.connects(starts, ways.numbers(frame.bound[op.target])))
    begins = ways.pointers[starts]
    counts = ways.pointers[starts + 1] - begins
    total = int(counts.sum())
    spending.check_frontier(name, total)
    if not op.predicates:
        check_output(op, frame, total, execution)
    if op.target is None:
        return frame.take(np.repeat(np.arange(len(starts)), counts))
    conditions = Conditions(op.predicates, op.target, ways.targets, execution)
    rows: list[Indices] = []
    targets: list[Positions] = []
    found = 0
    for part in parts_of(counts):
        spending.check_time(name)
        owners, places = places_of(begins, counts, part)
        ends = ways.neighbours.take(places).astype(np.int64)
        if conditions.predicates:
            mask = conditions.mask(ends, total)
            owners, ends = owners[mask], ends[mask]
        found += len(ends)
        check_output(op, frame, found, execution)
        rows.append(owners)
        targets.append(ends)
    return frame.take(join_parts(rows)).binding(op.target, ways.targets, join_parts(targets))


def check_output(op: Expand | EdgeExpand, frame: Frame, rows: int, execution: Execution) -> None:
    """Hold so many rows, and what they will take, against the budget.

    Raises:
        ResourceLimitError: they are too many.
        DeadlineError: the time was over.
    """
    name = label(op)
    execution.spending.check_rows(name, rows)
    # A row is a number per variable, of which an operator adds two at the most.
    execution.spending.check_bytes(name, rows * 8 * (len(frame.bound) + 2))


def parts_of(counts: npt.NDArray[np.int64]) -> Iterator[slice]:
    """The rows in parts that have about ``PART`` items together, and one row at least."""
    ends = np.cumsum(counts)
    first = 0
    while first < len(counts):
        done = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, done + PART, side="right")))
        yield slice(first, last)
        first = last


def places_of(begins: Positions, counts: npt.NDArray[np.int64], part: slice) -> tuple[Indices, Positions]:
    """For each item of the lists of some rows, the number of the row and where the item is."""
    some = counts[part]
    owners = np.repeat(np.arange(part.start, part.stop), some)
    return owners, list_places(begins[part], some, len(owners))


def join_parts(parts: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """Arrays one after the other."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


class Conditions:
    """Conditions on a variable that is about to be bound, judged once per entity."""

    def __init__(
        self, predicates: Sequence[Predicate], variable: str, entities: Entities, execution: Execution
    ) -> None:
        self.predicates = predicates
        self._variable = variable
        self._entities = entities
        self._execution = execution
        self._whole: Mask | None = None

    def mask(self, positions: Positions, expected: int) -> Mask:
        """Whether they hold, for each position; ``expected`` is how many positions there are over all calls."""
        size = len(self._entities)
        if self._whole is None and expected * 4 >= size:
            self._whole = self._judge(np.arange(size))
        if self._whole is not None:
            return self._whole[positions]
        distinct, numbers = distinct_positions(positions, size)
        return self._judge(distinct)[numbers]

    def _judge(self, positions: Positions) -> Mask:
        bound = {self._variable: Bound(self._entities, positions)}
        return holds(self.predicates, Frame(row_count=len(positions), bound=bound), self._execution)


# ── hop bounds ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _take_search(op: Expand, frame: Frame, ways: Ways, starts: Positions, execution: Execution) -> Frame:
    distinct, numbers = distinct_positions(starts, ways.size)
    found = search(
        ways.pointers,
        ways.neighbours,
        distinct,
        minimum=op.minimum_hops,
        maximum=op.maximum_hops,
        spending=execution.spending,
        operator=label(op),
    )
    if op.is_bound:
        assert op.target is not None  # noqa: S101 - what is bound has a name
        return frame.filter(_is_reached(found, numbers, ways.numbers(frame.bound[op.target])))
    per_start, nodes = _found(op, frame, found, ways, np.bincount(numbers, minlength=len(distinct)), execution)
    counts = per_start[numbers]
    if op.target is None:
        return frame.take(np.repeat(np.arange(len(counts)), counts))
    if is_identity(numbers):
        rows, ends = np.repeat(numbers, counts), nodes
    else:
        rows, places = places_of((np.cumsum(per_start) - per_start)[numbers], counts, slice(0, len(counts)))
        ends = nodes[places]
    return frame.take(rows).binding(op.target, ways.targets, ends)


def _found(
    op: Expand,
    frame: Frame,
    found: Iterable[Reached],
    ways: Ways,
    weights: npt.NDArray[np.int64],
    execution: Execution,
) -> tuple[npt.NDArray[np.int64], Positions]:
    """For each start how many targets it has, and the targets one after the other.

    ``weights`` says how many rows begin at each start, so that the rows are counted before they are made.
    """
    conditions = None if op.target is None else Conditions(op.predicates, op.target, ways.targets, execution)
    per_start: list[npt.NDArray[np.int64]] = []
    nodes: list[Positions] = []
    rows = 0
    for each in found:
        owners, ends = each.owners - each.first, ways.positions(each.nodes)
        if conditions is not None and conditions.predicates:
            mask = conditions.mask(ends, len(ends))
            owners, ends = owners[mask], ends[mask]
        counts = np.bincount(owners, minlength=each.start_count)
        rows += int(counts @ weights[each.first : each.first + each.start_count])
        check_output(op, frame, rows, execution)
        per_start.append(counts)
        if op.target is not None:
            nodes.append(ends)
    return join_parts(per_start), join_parts(nodes) if nodes else np.empty(0, dtype=np.int64)


def _is_reached(found: Iterable[Reached], numbers: Indices, ends: Positions) -> Mask:
    """Whether the search from the start of each row came upon the end of the row."""
    order = np.argsort(numbers, kind="stable")
    ascending = numbers[order]
    mask = np.zeros(len(numbers), dtype=np.bool_)
    for each in found:
        first, last = np.searchsorted(ascending, [each.first, each.first + each.start_count])
        rows = order[first:last]
        wanted, reached = pair_keys(numbers[rows], ends[rows]), pair_keys(each.owners, each.nodes)
        places = np.searchsorted(reached, wanted)
        is_there = places < len(reached)
        is_there[is_there] = reached[places[is_there]] == wanted[is_there]
        mask[rows] = is_there
    return mask
