"""Conditions go to where their variables are bound: into scans and expansions, below joins and negations.

    Filter $f.genre = "docu" and $p.age > $f.stars        Filter $p.age > $f.stars
      Expand $p Rented -> $f: Film                   =>     Expand $p Rented -> $f: Film where $f.genre = "docu"
        NodeScan $p: Person                                   NodeScan $p: Person

A condition keeps or drops a row by that row alone, so it may be asked as soon as its variables are there. It never
passes a Rank, which counts rows: lowering has put below it what belongs there. Inner plans of negations are rewritten
for themselves; nothing enters or leaves them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from operator import itemgetter
from typing import Final

from omnigraph.cancellation import check_cancelled
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


def push_down(operator: Operator) -> Operator:
    """The same rows, with all conditions as low as they can stand."""
    return _push(operator, _NOTHING)


_Variables = frozenset[str]
_Conditions = dict[_Variables, list[tuple[int, Predicate]]]
"""Conditions by the variables that they mention, numbered in their order.

A plan has few sets of variables, however many conditions there are, so each operator looks at the sets only.
"""

_NOTHING: Final[_Conditions] = {}


def _push(operator: Operator, conditions: _Conditions) -> Operator:
    check_cancelled()
    match operator:
        case Filter():
            return _push(operator.input, _and_before(operator.predicates, conditions))
        case NodeScan():
            own, others = _split(conditions, operator.variable)
            return _filtered(replace(operator, predicates=operator.predicates + _in_order(own)), others)
        case Expand():
            own, others = _split(conditions, None if operator.is_bound else operator.target)
            below, above = _split_by_bound(others, operator.input)
            rows = _push(operator.input, below)
            return _filtered(replace(operator, input=rows, predicates=operator.predicates + _in_order(own)), above)
        case EdgeExpand():
            of_edge, others = _split(conditions, operator.edge_variable)
            own, others = _split(others, None if operator.is_bound else operator.target)
            below, above = _split_by_bound(others, operator.input)
            found = replace(
                operator,
                input=_push(operator.input, below),
                predicates=operator.predicates + _in_order(own),
                edge_predicates=operator.edge_predicates + _in_order(of_edge),
            )
            return _filtered(found, above)
        case CrossJoin() | Join():
            left, others = _split_by_bound(conditions, operator.left)
            right, above = _split_by_bound(others, operator.right)
            sides = (_push(operator.left, left), _push(operator.right, right))
            return _filtered(with_inputs(operator, sides), above)
        case AntiJoin():
            return AntiJoin(_push(operator.input, conditions), push_down(operator.inner))
        case RankJoin():
            rows, ranked = _push(operator.input, conditions), push_down(operator.ranked)
            return RankJoin(rows, operator.variable, ranked)
        case Score():
            return Score(_push(operator.input, conditions), operator.ranking)
        case _:
            below_all = tuple(push_down(each) for each in inputs_of(operator))
            return _filtered(with_inputs(operator, below_all), conditions)


def _and_before(predicates: tuple[Predicate, ...], conditions: _Conditions) -> _Conditions:
    """Conditions with these before them."""
    first = min((numbered[0][0] for numbered in conditions.values()), default=0) - len(predicates)
    found: _Conditions = {}
    for number, each in enumerate(predicates, first):
        check_cancelled()
        found.setdefault(variables_of(each), []).append((number, each))
    for variables, numbered in conditions.items():
        found[variables] = found.get(variables, []) + numbered
    return found


def _in_order(conditions: _Conditions) -> tuple[Predicate, ...]:
    numbered: Iterable[tuple[int, Predicate]] = chain.from_iterable(conditions.values())
    return tuple(each for _, each in sorted(numbered, key=itemgetter(0)))


def _filtered(operator: Operator, conditions: _Conditions) -> Operator:
    return filtered(operator, _in_order(conditions))


_Split = tuple[_Conditions, _Conditions]


def _split(conditions: _Conditions, variable: str | None) -> _Split:
    """Those on this variable alone, and the others."""
    own = {key: each for key, each in conditions.items() if key == {variable}}
    return own, {key: each for key, each in conditions.items() if key not in own}


def _split_by_bound(conditions: _Conditions, operator: Operator) -> _Split:
    """Those that the rows of this operator suffice for, and the others."""
    bound = bound_variables(operator)
    below = {key: each for key, each in conditions.items() if key <= bound}
    return below, {key: each for key, each in conditions.items() if key not in below}
