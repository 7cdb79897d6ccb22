"""A plan as text: one operator per line, what it reads from below it and further in.

    query top_genres($since: Date) -> f.genre: enum(docu, drama), rentals: I64
    Project f.genre, rentals
      Limit 5
        Sort rentals desc
          Aggregate by f.genre = $f.genre to rentals = count($p)
            Expand $p Rented -> $f: Film where $f.released >= $since columns $f.genre
              NodeScan $p: Person

Arrows are drawn as edges are stored: ``->`` leads along them, ``<-`` against them. Of two inputs the upper one is the
left one; for AntiJoin and RankJoin, the lower one is the inner plan. The text is for people and for tests; it is not
read back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from omnigraph.plan.changes import DeleteEdges, DeleteNodes, InsertEdge, InsertNode, Operation, UpdateNodes
from omnigraph.plan.ir import (
    Aggregate,
    AntiJoin,
    CrossJoin,
    EdgeExpand,
    Expand,
    Filter,
    Fuse,
    Join,
    Limit,
    NodeScan,
    OneRow,
    Operator,
    OuterRows,
    Plan,
    Predicate,
    Project,
    Rank,
    RankJoin,
    ReadPlan,
    Score,
    Sort,
    SortKey,
)
from omnigraph.plan.spell import spell, spell_measure, spell_predicates, spell_sort_keys
from omnigraph.plan.tree import inputs_of
from omnigraph.query.checked import Assignment, ColumnRef, Direction, Projection
from omnigraph.query.checked import Predicate as RowPredicate

_INDENT = "  "


def explain(plan: Plan) -> str:
    """The plan as text, without a line end behind it."""
    parameters = ", ".join(f"${each.name}: {each.type}" for each in plan.parameters)
    head = f"query {plan.name}({parameters})"
    if isinstance(plan, ReadPlan):
        columns = ", ".join(f"{each.name}: {each.type}" for each in plan.columns)
        return "\n".join([f"{head} -> {columns}", *_operator_lines(plan.root, 0)])
    return "\n".join([head, *(line for each in plan.operations for line in _operation_lines(each))])


def _operator_lines(operator: Operator, depth: int) -> Iterator[str]:
    yield _INDENT * depth + explain_operator(operator)
    for each in inputs_of(operator):
        yield from _operator_lines(each, depth + 1)


def explain_operator(operator: Operator) -> str:
    """One operator, without what is below it."""
    match operator:
        case NodeScan():
            scanned = f"NodeScan ${operator.variable}: {operator.type_name}"
            return scanned + _where(operator.predicates) + _columns((operator.variable, operator.columns))
        case OuterRows():
            return f"OuterRows {', '.join(f'${each.name}' for each in operator.variables)}"
        case Expand():
            return (
                f"Expand ${operator.source} {_edge(operator)} {_target(operator)}"
                + _where(operator.predicates)
                + _columns((operator.target, operator.columns))
            )
        case EdgeExpand():
            return (
                f"EdgeExpand ${operator.source} ${operator.edge_variable}:{_edge(operator)} {_target(operator)}"
                + _where((*operator.edge_predicates, *operator.predicates))
                + _columns((operator.edge_variable, operator.edge_columns), (operator.target, operator.columns))
            )
        case Filter():
            return f"Filter {spell_predicates(operator.predicates)}"
        case OneRow() | CrossJoin() | AntiJoin():
            return type(operator).__name__
        case Join():
            return "Join " + " and ".join(f"{spell(each.left)} = {spell(each.right)}" for each in operator.keys)
        case Rank():
            count = "" if operator.count is None else f" first {operator.count}"
            return f"Rank {spell(operator.ranking)}{count}{_ties(operator.ties)}"
        case RankJoin():
            return f"RankJoin ${operator.variable}"
        case Score():
            return f"Score {spell(operator.ranking)}"
        case Fuse():
            return f"Fuse {spell(operator.ranking)} first {operator.count}{_ties(operator.ties)}"
        case Aggregate():
            groups = f"by {_projections(operator.groups)} " if operator.groups else ""
            return f"Aggregate {groups}to {', '.join(spell_measure(each) for each in operator.measures)}"
        case Sort():
            return f"Sort {spell_sort_keys(operator.keys)}"
        case Limit():
            return f"Limit {operator.count}"
        case Project():
            return f"Project {_projections(operator.columns)}"


# ── parts of a line ──────────────────────────────────────────────────────────────────────────────────────────────────


def _edge(step: Expand | EdgeExpand) -> str:
    hops = ""
    if isinstance(step, Expand) and (step.minimum_hops, step.maximum_hops) != (1, 1):
        hops = f"{{{step.minimum_hops},{step.maximum_hops}}}"
    match step.direction:
        case Direction.FORWARD:
            return f"{step.edge}{hops} ->"
        case Direction.BACKWARD:
            return f"{step.edge}{hops} <-"
        case Direction.UNDIRECTED:
            return f"<{step.edge}>{hops}"


def _target(step: Expand | EdgeExpand) -> str:
    name = "_" if step.target is None else step.target
    return f"${name} (bound)" if step.is_bound else f"${name}: {step.target_type}"


def _where(predicates: tuple[Predicate, ...]) -> str:
    return f" where {spell_predicates(predicates)}" if predicates else ""


def _columns(*owners: tuple[str | None, tuple[str, ...]]) -> str:
    names = [f"${variable}.{name}" for variable, columns in owners for name in columns]
    return f" columns {', '.join(names)}" if names else ""


def _ties(keys: tuple[SortKey, ...]) -> str:
    return f", ties by {spell_sort_keys(keys)}" if keys else ""


def _projections(columns: Iterable[Projection]) -> str:
    return ", ".join(
        each.name if each.expression == ColumnRef(each.name, each.type) else f"{each.name} = {spell(each.expression)}"
        for each in columns
    )


# ── changes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _operation_lines(operation: Operation) -> Iterator[str]:
    match operation:
        case InsertNode():
            values = [*_assignments(operation.assignments), *(f"{name}: null" for name in operation.unset)]
            values += [f"{each.property}: embed({each.source})" for each in operation.embeddings]
            key = f" key {', '.join(operation.key)}" if operation.key else ""
            yield f"InsertNode {operation.type_name} {{ {', '.join(values)} }}{key}"
        case InsertEdge():
            ends = [f"from: {spell(operation.source)}", f"to: {spell(operation.target)}"]
            values = [*ends, *_assignments(operation.assignments), *(f"{name}: null" for name in operation.unset)]
            route = f"{operation.source_type} -> {operation.target_type}"
            yield f"InsertEdge {operation.type_name}: {route} {{ {', '.join(values)} }}"
        case UpdateNodes():
            values = list(_assignments(operation.assignments))
            where = _row_predicate(operation.predicate)
            yield f"UpdateNodes {operation.type_name} set {{ {', '.join(values)} }} where {where}"
        case DeleteNodes():
            yield f"DeleteNodes {operation.type_name} where {_row_predicate(operation.predicate)}"
            for each in operation.cascades:
                ends = [name for name, is_end in (("from", each.at_source), ("to", each.at_target)) if is_end]
                yield f"{_INDENT}cascade {each.edge} {' or '.join(ends)}"
        case DeleteEdges():
            yield f"DeleteEdges {operation.type_name} where {_row_predicate(operation.predicate)}"


def _assignments(assignments: Iterable[Assignment]) -> Iterator[str]:
    return (f"{each.property}: {spell(each.value)}" for each in assignments)


def _row_predicate(predicate: RowPredicate) -> str:
    column = {"src": "from", "dst": "to"}.get(predicate.column, predicate.column)
    return f"{column} {predicate.operator} {spell(predicate.value)}"
