"""Conditions go to where their variables are bound: into scans and expansions, below joins and negations.

    Filter $f.genre = "docu" and $p.age > $f.stars        Filter $p.age > $f.stars
      Expand $p Rented -> $f: Film                   =>     Expand $p Rented -> $f: Film where $f.genre = "docu"
        NodeScan $p: Person                                   NodeScan $p: Person

A condition keeps or drops a row by that row alone, so it may be asked as soon as its variables are there. It never
passes a Rank, which counts rows: lowering has put below it what belongs there. Inner plans of negations are rewritten
for themselves; nothing enters or leaves them.
"""

from __future__ import annotations

from dataclasses import replace

from omnigraph.plan.ir import (
    AntiJoin,
    CrossJoin,
    EdgeExpand,
    Expand,
    Filter,
    Join,
    NodeScan,
    Operator,
    Predicate,
    RankJoin,
    ReadPlan,
    Score,
)
from omnigraph.plan.tree import bound_variables, filtered, inputs_of, variables_of, with_inputs, with_rows
from omnigraph.schema.catalog import Catalog


def push_filters(plan: ReadPlan, catalog: Catalog) -> ReadPlan:
    """The plan with every condition as low as it can stand."""
    del catalog
    return with_rows(plan, push_down(plan.root.input))


def push_down(operator: Operator, predicates: tuple[Predicate, ...] = ()) -> Operator:
    """The rows of ``operator`` that fulfil ``predicates``, with all conditions as low as they can stand."""
    match operator:
        case Filter():
            return push_down(operator.input, (*operator.predicates, *predicates))
        case NodeScan():
            own, others = _split(predicates, operator.variable)
            return filtered(replace(operator, predicates=operator.predicates + own), others)
        case Expand():
            own, others = _split(predicates, None if operator.is_bound else operator.target)
            below, above = _split_by_bound(others, operator.input)
            rows = push_down(operator.input, below)
            return filtered(replace(operator, input=rows, predicates=operator.predicates + own), above)
        case EdgeExpand():
            of_edge, others = _split(predicates, operator.edge_variable)
            own, others = _split(others, None if operator.is_bound else operator.target)
            below, above = _split_by_bound(others, operator.input)
            found = replace(
                operator,
                input=push_down(operator.input, below),
                predicates=operator.predicates + own,
                edge_predicates=operator.edge_predicates + of_edge,
            )
            return filtered(found, above)
        case CrossJoin() | Join():
            left, others = _split_by_bound(predicates, operator.left)
            right, above = _split_by_bound(others, operator.right)
            sides = (push_down(operator.left, left), push_down(operator.right, right))
            return filtered(with_inputs(operator, sides), above)
        case AntiJoin():
            return AntiJoin(push_down(operator.input, predicates), push_down(operator.inner))
        case RankJoin():
            rows, ranked = push_down(operator.input, predicates), push_down(operator.ranked)
            return RankJoin(rows, operator.variable, ranked)
        case Score():
            return Score(push_down(operator.input, predicates), operator.ranking)
        case _:
            below_all = tuple(push_down(each) for each in inputs_of(operator))
            return filtered(with_inputs(operator, below_all), predicates)


Split = tuple[tuple[Predicate, ...], tuple[Predicate, ...]]


def _split(predicates: tuple[Predicate, ...], variable: str | None) -> Split:
    """Those on this variable alone, and the others."""
    own = tuple(each for each in predicates if variables_of(each) == {variable})
    return own, tuple(each for each in predicates if variables_of(each) != {variable})


def _split_by_bound(predicates: tuple[Predicate, ...], operator: Operator) -> Split:
    """Those that the rows of this operator suffice for, and the others."""
    bound = bound_variables(operator)
    below = tuple(each for each in predicates if variables_of(each) <= bound)
    return below, tuple(each for each in predicates if not variables_of(each) <= bound)
