"""How many rows an operator will give, guessed from row counts and the schema: for ``explain``, and nothing else.

No data is looked at. A condition on a whole key leaves one row; others leave a share that is the same for every
property, except that an enum says how many values it has. Edges are spread evenly over the nodes they start or end at.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, assert_never

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
    Predicate,
    Project,
    Rank,
    RankJoin,
    Score,
    Sort,
)
from omnigraph.plan.selectivity import Selectivity, selectivity_of_conditions
from omnigraph.query.ast import Operator as Comparator
from omnigraph.query.checked import Comparison, Direction, Nearest, PropertyMatch, PropertyRef, TextMatch
from omnigraph.schema.catalog import Catalog

if TYPE_CHECKING:
    from omnigraph.engine.source import Source

_EQUAL: Final = 0.1
_UNEQUAL: Final = 0.9
_RANGE: Final = 0.3
_TEXT: Final = 0.05
_NEGATED: Final = 0.5
_GROUPED: Final = 0.1


def estimate_rows(operator: Operator, source: Source, catalog: Catalog) -> float:
    """About how many rows; inside a negation, for one outer row."""
    match operator:
        case OneRow() | OuterRows():
            return 1.0
        case NodeScan():
            return _scanned(operator, source, catalog)
        case Expand() | EdgeExpand():
            return estimate_rows(operator.input, source, catalog) * _per_row(operator, source)
        case Filter():
            return estimate_rows(operator.input, source, catalog) * _share(operator.predicates)
        case CrossJoin() | Join():
            left, right = (estimate_rows(each, source, catalog) for each in (operator.left, operator.right))
            # A key of the larger side is taken to be met by each row of the smaller one once.
            return left * right if isinstance(operator, CrossJoin) else min(left, right)
        case AntiJoin():
            return estimate_rows(operator.input, source, catalog) * _NEGATED
        case Rank():
            below = estimate_rows(operator.input, source, catalog)
            found = below if isinstance(operator.ranking, Nearest) else below * _TEXT
            return found if operator.count is None else min(found, operator.count)
        case RankJoin():
            return min(estimate_rows(each, source, catalog) for each in (operator.input, operator.ranked))
        case Fuse() | Limit():
            return min(estimate_rows(operator.input, source, catalog), float(operator.count))
        case Aggregate():
            return _grouped(operator, estimate_rows(operator.input, source, catalog))
        case Score() | Sort() | Project():
            return estimate_rows(operator.input, source, catalog)
        case _:
            assert_never(operator)


def average_degree(step: Expand | EdgeExpand, source: Source) -> float:
    """How many edges lead from a node, on the average of its node type, in the direction of the step."""
    declared = source.schema.catalog.edges[step.edge]
    edges = source.row_count(f"edge:{step.edge}")
    start = declared.target if step.direction is Direction.BACKWARD else declared.source
    nodes = source.row_count(f"node:{start}")
    return edges * (2 if step.direction is Direction.UNDIRECTED else 1) / max(nodes, 1)


def _scanned(scan: NodeScan, source: Source, catalog: Catalog) -> float:
    count = source.row_count(f"node:{scan.type_name}")
    kind = selectivity_of_conditions(scan.predicates, catalog.nodes[scan.type_name])
    if kind in (Selectivity.KEY, Selectivity.UNIQUE):
        return float(min(count, 1))
    return count * _share(scan.predicates)


def _per_row(step: Expand | EdgeExpand, source: Source) -> float:
    degree = average_degree(step, source)
    nodes = source.row_count(f"node:{step.target_type}")
    if isinstance(step, Expand):
        hops = range(step.minimum_hops, min(step.maximum_hops, step.minimum_hops + 32) + 1)
        reached = min(sum(_power(degree, hop) for hop in hops), float(nodes))
    else:
        reached = degree * _share(step.edge_predicates)
    if step.is_bound:
        return reached / max(nodes, 1)
    return reached * _share(step.predicates)


def _power(degree: float, hops: int) -> float:
    """The power, or infinity where it is too large for a float."""
    try:
        return degree**hops
    except OverflowError:
        return math.inf


def _share(predicates: Iterable[Predicate]) -> float:
    """The part of all rows that fulfil conditions, taken to be independent."""
    return math.prod(map(_share_of, predicates))


def _share_of(predicate: Predicate) -> float:
    match predicate:
        case TextMatch():
            return _TEXT
        case PropertyMatch():
            return _EQUAL if predicate.is_membership else _share_of_value(predicate.field)
        case Comparison(operator=Comparator.EQ):
            fields = [each for each in (predicate.left, predicate.right) if isinstance(each, PropertyRef)]
            return min((_share_of_value(each) for each in fields), default=1.0)
        case Comparison(operator=Comparator.NE):
            return _UNEQUAL
        case Comparison():
            return _RANGE
        case _:
            assert_never(predicate)


def _share_of_value(field: PropertyRef) -> float:
    values = field.type.enum_values
    return 1 / len(values) if values else _EQUAL


def _grouped(operator: Aggregate, rows: float) -> float:
    if not operator.groups:
        return 1.0
    enums = [each.type.enum_values for each in operator.groups]
    if all(enums):
        return min(rows, float(math.prod(len(each) for each in enums if each)))
    return max(min(rows, 1.0), rows * _GROUPED)
