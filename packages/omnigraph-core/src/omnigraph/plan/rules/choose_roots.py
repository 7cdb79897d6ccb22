"""Each connected part starts at its most selective variable, whatever the text binds first.

    Expand $p Rented -> $f: Film where $f.code = "SF-1"        Expand $f Rented <- $p: Person
      NodeScan $p: Person                                 =>     NodeScan $f: Film where $f.code = "SF-1"

Steps are taken again from the new root, each from an end that is bound by then, along the same edges in the opposite
direction. That changes no row: one hop is a set of pairs, an edge is an edge, and a search from 1 hop on is the same
seen from both ends. A search with a greater minimum is not (an edge from a node to itself counts where the search
arrives), so such a step keeps its direction, and a root from which it cannot be reached that way is not chosen.

Parts that hang on an outer row, or that are ranked at their root, stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from omnigraph.plan.ir import EdgeExpand, Expand, Filter, NodeScan, Operator, Predicate, RankJoin, ReadPlan
from omnigraph.plan.rules.push_filters import push_down
from omnigraph.plan.selectivity import Selectivity, selectivity_of, selectivity_of_conditions
from omnigraph.plan.tree import filtered, inputs_of, reverse, with_inputs, with_rows
from omnigraph.schema.catalog import Catalog

Step = Expand | EdgeExpand


def choose_roots(plan: ReadPlan, catalog: Catalog) -> ReadPlan:
    """The plan with every part rooted where fewest rows are expected; the first of the text among equals."""
    return with_rows(plan, _rewrite(plan.root.input, catalog))


@dataclass(frozen=True, slots=True)
class _Node:
    """What is known of a variable wherever it gets bound."""

    type_name: str
    predicates: tuple[Predicate, ...]
    columns: tuple[str, ...]


@dataclass(slots=True)
class _Part:
    """A connected part taken apart; steps and nodes are in the order of the plan, the root is the first node."""

    nodes: dict[str, _Node] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    filters: list[Predicate] = field(default_factory=list)
    rank_join: RankJoin | None = None


def _rewrite(operator: Operator, catalog: Catalog) -> Operator:
    part = _Part()
    if not _take_apart(operator, part):
        return with_inputs(operator, tuple(_rewrite(each, catalog) for each in inputs_of(operator)))
    first = next(iter(part.nodes))
    for root in sorted(part.nodes, key=lambda name: _selectivity(part, name, catalog)):
        if root == first:
            return operator
        found = _start_at(root, part)
        if found is not None:
            return found
    return operator


def _take_apart(operator: Operator, part: _Part) -> bool:
    """Whether this is a part that starts at a scan, which ``part`` then holds."""
    match operator:
        case NodeScan():
            part.nodes[operator.variable] = _Node(operator.type_name, operator.predicates, operator.columns)
            return True
        case Expand() | EdgeExpand():
            if not _take_apart(operator.input, part):
                return False
            part.steps.append(operator)
            if operator.target is not None and not operator.is_bound:
                part.nodes[operator.target] = _Node(operator.target_type, operator.predicates, operator.columns)
            return True
        case Filter():
            if not _take_apart(operator.input, part):
                return False
            part.filters.extend(operator.predicates)
            return True
        case RankJoin():
            part.rank_join = operator
            return _take_apart(operator.input, part)
        case _:
            return False


def _selectivity(part: _Part, variable: str, catalog: Catalog) -> Selectivity:
    join = part.rank_join
    if join is not None and join.variable == variable:
        return selectivity_of(join.ranked, catalog)
    node = part.nodes[variable]
    return selectivity_of_conditions(node.predicates, catalog.nodes[node.type_name])


def _start_at(root: str, part: _Part) -> Operator | None:
    """The same part from another root; None when a step with a fixed direction cannot be reached."""
    join, node = part.rank_join, part.nodes[root]
    is_ranked_root = join is not None and join.variable == root
    rows: Operator = NodeScan(root, node.type_name, node.predicates, node.columns)
    if join is not None and is_ranked_root:
        rows = join.ranked
    bound = {root}
    waiting = part.steps
    while waiting:
        too_early: list[Step] = []
        for step in waiting:
            taken = _take(step, rows, bound, part.nodes)
            if taken is None:
                too_early.append(step)
                continue
            rows = taken
            bound |= {step.source} if step.target is None else {step.source, step.target}
        if len(too_early) == len(waiting):
            return None
        waiting = too_early
    if join is not None and not is_ranked_root:
        rows = RankJoin(rows, join.variable, join.ranked)
    return push_down(filtered(rows, part.filters))


def _take(step: Step, rows: Operator, bound: set[str], nodes: dict[str, _Node]) -> Step | None:
    """The step from whichever end is bound, as long as it may be taken from there."""
    if step.source in bound:
        if step.target is None or step.target in bound:
            return replace(step, input=rows, is_bound=step.target is not None, predicates=(), columns=())
        node = nodes[step.target]
        return replace(step, input=rows, is_bound=False, predicates=node.predicates, columns=node.columns)
    if step.target not in bound or not _is_symmetric(step):
        return None
    node = nodes[step.source]
    return replace(
        step,
        input=rows,
        source=step.target,
        target=step.source,
        direction=reverse(step.direction),
        target_type=node.type_name,
        is_bound=False,
        predicates=node.predicates,
        columns=node.columns,
    )


def _is_symmetric(step: Step) -> bool:
    return isinstance(step, EdgeExpand) or step.minimum_hops == 1
