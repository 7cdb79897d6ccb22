"""Questions about operator trees that lowering and rules share: inputs, bound variables, what a value mentions.

All are plain functions of frozen values; nothing here decides how a query is run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from omnigraph.plan.ir import (
    Aggregate,
    AntiJoin,
    CrossJoin,
    EdgeExpand,
    Expand,
    Filter,
    Fuse,
    Join,
    Measure,
    NodeScan,
    OneRow,
    Operator,
    OuterRows,
    Predicate,
    Project,
    Rank,
    RankJoin,
    ReadPlan,
    Score,
    Sort,
)
from omnigraph.query.checked import (
    Bm25,
    Comparison,
    Direction,
    Expression,
    Nearest,
    PropertyMatch,
    PropertyRef,
    Ranking,
    Rrf,
    TextMatch,
)


def inputs_of(operator: Operator) -> tuple[Operator, ...]:
    """The operators right below, inner plans included."""
    match operator:
        case NodeScan() | OuterRows() | OneRow():
            return ()
        case CrossJoin() | Join():
            return (operator.left, operator.right)
        case AntiJoin():
            return (operator.input, operator.inner)
        case RankJoin():
            return (operator.input, operator.ranked)
        case _:
            return (operator.input,)


def with_inputs(operator: Operator, inputs: tuple[Operator, ...]) -> Operator:
    """The same operator over other inputs, in the order of ``inputs_of``."""
    if all(new is old for new, old in zip(inputs, inputs_of(operator), strict=True)):
        return operator
    match operator:
        case NodeScan() | OuterRows() | OneRow():
            return operator
        case CrossJoin() | Join():
            return replace(operator, left=inputs[0], right=inputs[1])
        case AntiJoin():
            return replace(operator, input=inputs[0], inner=inputs[1])
        case RankJoin():
            return replace(operator, input=inputs[0], ranked=inputs[1])
        case _:
            return replace(operator, input=inputs[0])


def with_rows(plan: ReadPlan, rows: Operator) -> ReadPlan:
    """The same plan with other operators below its columns."""
    return replace(plan, root=replace(plan.root, input=rows))


def walk(operator: Operator) -> Iterator[Operator]:
    """The operator and all below it, inputs in order, inner plans included."""
    yield operator
    for each in inputs_of(operator):
        yield from walk(each)


def bound_variables(operator: Operator) -> frozenset[str]:
    """The variables that output rows bind."""
    match operator:
        case NodeScan():
            return frozenset({operator.variable})
        case OuterRows():
            return frozenset(each.name for each in operator.variables)
        case Expand():
            names = bound_variables(operator.input)
            return names if operator.target is None else names | {operator.target}
        case EdgeExpand():
            names = bound_variables(operator.input) | {operator.edge_variable}
            return names if operator.target is None else names | {operator.target}
        case CrossJoin() | Join():
            return bound_variables(operator.left) | bound_variables(operator.right)
        case OneRow() | Aggregate() | Project():
            return frozenset()
        case _:
            return bound_variables(operator.input)


_REVERSED = {
    Direction.FORWARD: Direction.BACKWARD,
    Direction.BACKWARD: Direction.FORWARD,
    Direction.UNDIRECTED: Direction.UNDIRECTED,
}


def reverse(direction: Direction) -> Direction:
    """The direction seen from the other end."""
    return _REVERSED[direction]


def filtered(operator: Operator, predicates: Iterable[Predicate]) -> Operator:
    """The operator with a Filter above it, if there is anything to filter by; two Filters become one."""
    wanted = tuple(predicates)
    if not wanted:
        return operator
    if isinstance(operator, Filter):
        return Filter(operator.input, (*operator.predicates, *wanted))
    return Filter(operator, wanted)


def properties_of(value: Predicate | Expression | object) -> Iterator[PropertyRef]:
    """The properties that must be columns of a row for this to be evaluated on it."""
    match value:
        case PropertyRef():
            yield value
        case Comparison():
            yield from properties_of(value.left)
            yield from properties_of(value.right)
        case PropertyMatch() | TextMatch():
            yield value.field
        case Measure():
            yield from properties_of(value.argument)


def variables_of(predicate: Predicate) -> frozenset[str]:
    """The variables that a condition mentions; none when it compares what is given."""
    return frozenset(each.variable for each in properties_of(predicate))


def fields_of(ranking: Ranking) -> tuple[PropertyRef, ...]:
    """What a ranking reads: one field, or one per arm."""
    match ranking:
        case Nearest() | Bm25():
            return (ranking.field,)
        case Rrf():
            return (ranking.first.field, ranking.second.field)


def properties_read_by(operator: Operator) -> Iterator[PropertyRef]:
    """What this one operator reads from the rows of its input; Rank and scans look up for themselves what they need."""
    match operator:
        case Filter():
            for predicate in operator.predicates:
                yield from properties_of(predicate)
        case Join():
            for key in operator.keys:
                yield key.left
                yield key.right
        case Sort():
            for each in operator.keys:
                yield from properties_of(each.value)
        case Aggregate():
            for column in operator.groups:
                yield from properties_of(column.expression)
            for measure in operator.measures:
                yield from properties_of(measure)
        case Project():
            for column in operator.columns:
                yield from properties_of(column.expression)
        case Score():
            yield from fields_of(operator.ranking)
        case Rank() | Fuse():
            for each in operator.ties:
                yield from properties_of(each.value)
        case _:
            return
