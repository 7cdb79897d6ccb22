"""How few rows a scan gives, guessed from what the schema says about the properties that its conditions use.

Nothing is known of the data here. A class is a claim about kinds of conditions: one that names a whole key gives at
most one row, one on an indexed property is cheap to answer, and so on. Rules compare classes; smaller is better.
"""

from __future__ import annotations

from enum import IntEnum
from typing import assert_never

from omnigraph.plan.ir import NodeScan, OneRow, Operator, OuterRows, Predicate, Rank
from omnigraph.plan.tree import inputs_of
from omnigraph.query.ast import Operator as Comparator
from omnigraph.query.checked import (
    Bm25,
    Comparison,
    Constant,
    CurrentTime,
    ParameterRef,
    PropertyMatch,
    PropertyRef,
    TextMatch,
)
from omnigraph.schema.catalog import Catalog, Index, Key, NodeType, Unique


class Selectivity(IntEnum):
    """Kinds of scans, the most selective first."""

    OUTER_ROWS = 0
    KEY = 1
    UNIQUE = 2
    NEAREST = 3
    INDEXED = 4
    EQUALITY = 5
    TEXT = 6
    RANGE = 7
    ALL = 8


_RANGES = frozenset(
    {Comparator.LT, Comparator.LE, Comparator.GT, Comparator.GE, Comparator.CONTAINS, Comparator.STARTS_WITH}
)
_GIVEN = (Constant, ParameterRef, CurrentTime)


def selectivity_of(operator: Operator, catalog: Catalog) -> Selectivity:
    """The class of what rows start from: the leftmost leaf below ``operator``, its Rank included."""
    match operator:
        case OuterRows() | OneRow():
            return Selectivity.OUTER_ROWS
        case NodeScan():
            return selectivity_of_conditions(operator.predicates, catalog.nodes[operator.type_name])
        case Rank():
            ranked = Selectivity.TEXT if isinstance(operator.ranking, Bm25) else Selectivity.NEAREST
            return min(ranked, selectivity_of(operator.input, catalog))
        case _:
            return selectivity_of(inputs_of(operator)[0], catalog)


def selectivity_of_conditions(predicates: tuple[Predicate, ...], node: NodeType) -> Selectivity:
    """The class of a scan of this node type under these conditions."""
    fixed = {name for each in predicates if (name := _fixed_property(each)) is not None}
    best = min((_class_of(each) for each in predicates), default=Selectivity.ALL)
    for constraint in node.constraints:
        match constraint:
            case Key() if fixed.issuperset(constraint.columns):
                return Selectivity.KEY
            case Unique() if fixed.issuperset(constraint.columns):
                best = min(best, Selectivity.UNIQUE)
            case Index() | Key() if not fixed.isdisjoint(constraint.columns):
                best = min(best, Selectivity.INDEXED)
            case _:
                pass
    return best


def _fixed_property(predicate: Predicate) -> str | None:
    """The property that a condition says the whole value of."""
    match predicate:
        case PropertyMatch() if not predicate.is_membership:
            return predicate.field.property
        case Comparison(PropertyRef() as field, Comparator.EQ, right) if isinstance(right, _GIVEN):
            return field.property
        case Comparison(left, Comparator.EQ, PropertyRef() as field) if isinstance(left, _GIVEN):
            return field.property
        case _:
            return None


def _class_of(predicate: Predicate) -> Selectivity:
    match predicate:
        case PropertyMatch():
            return Selectivity.EQUALITY
        case TextMatch():
            return Selectivity.TEXT
        case Comparison():
            if _fixed_property(predicate) is not None:
                return Selectivity.EQUALITY
            return Selectivity.RANGE if predicate.operator in _RANGES else Selectivity.ALL
        case _:
            assert_never(predicate)
