"""Parts that no traversal connects are joined on equal properties where the query asks for that, smallest first.

    Filter $a.city = $b.town                Join $b.town = $a.city
      CrossJoin                      =>       NodeScan $b: Shop where $b.code = $code
        NodeScan $a: Person                   NodeScan $a: Person
        NodeScan $b: Shop where $b.code = $code

Parts that equalities connect form a group and are joined with each other first; groups are then combined by cross
product. The order is by how few rows a part is expected to start from, then by the text. The rows are the same: a join
on equal keys is the cross product filtered by that equality, and null is equal to nothing in both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import itemgetter

from omnigraph.cancellation import check_cancelled
from omnigraph.plan.ir import CrossJoin, Filter, Join, JoinKey, Operator, Predicate, ReadPlan
from omnigraph.plan.rules.push_filters import push_down
from omnigraph.plan.selectivity import selectivity_of
from omnigraph.plan.tree import bound_variables, filtered, inputs_of, with_inputs, with_rows
from omnigraph.query.ast import Operator as Comparator
from omnigraph.query.checked import Comparison, PropertyRef
from omnigraph.schema.catalog import Catalog


def join_components(plan: ReadPlan, catalog: Catalog) -> ReadPlan:
    """The plan with cross products replaced by joins where there are keys, and ordered."""
    return with_rows(plan, _rewrite(plan.root.input, catalog))


def _rewrite(operator: Operator, catalog: Catalog) -> Operator:
    parts: list[Operator] = []
    predicates: list[Predicate] = []
    if not _flatten(operator, parts, predicates):
        return with_inputs(operator, tuple(_rewrite(each, catalog) for each in inputs_of(operator)))
    parts = [_rewrite(each, catalog) for each in parts]
    parts.sort(key=lambda each: selectivity_of(each, catalog))
    part_of = {name: number for number, each in enumerate(parts) for name in bound_variables(each)}
    equalities: _Equalities = {}
    others: list[Predicate] = []
    for number, each in enumerate(predicates):
        check_cancelled()
        found = _equality(each, part_of)
        if found is None:
            others.append(each)
        else:
            between = found.left.variable, found.right.variable
            equalities.setdefault(between, []).append((number, found))
    groups: list[Operator] = []
    while parts:
        group, parts = _join_group(parts, equalities)
        groups.append(group)
    return push_down(filtered(reduce(CrossJoin, groups), others))


def _flatten(operator: Operator, parts: list[Operator], predicates: list[Predicate]) -> bool:
    """Whether this is a cross product, filtered or not; its parts and the conditions on them go into the lists."""
    match operator:
        case CrossJoin():
            for side in (operator.left, operator.right):
                if not _flatten(side, parts, predicates):
                    parts.append(side)
            return True
        case Filter() if _flatten(operator.input, parts, predicates):
            predicates.extend(operator.predicates)
            return True
        case _:
            return False


@dataclass(frozen=True, slots=True)
class _Equality:
    """Two properties of different parts that must be equal."""

    left: PropertyRef
    right: PropertyRef

    def key(self, joined: frozenset[str]) -> JoinKey:
        """The key that this makes between what is joined already and one more part."""
        is_forward = self.left.variable in joined
        return JoinKey(self.left, self.right) if is_forward else JoinKey(self.right, self.left)


_Equalities = dict[tuple[str, str], list[tuple[int, _Equality]]]
"""Equalities by the two variables that they compare, numbered in their order: few pairs, however many conditions."""


def _equality(predicate: Predicate, part_of: dict[str, int]) -> _Equality | None:
    match predicate:
        case Comparison(PropertyRef() as left, Comparator.EQ, PropertyRef() as right):
            own = part_of.get(left.variable)
            is_apart = own is None or own != part_of.get(right.variable)
            return _Equality(left, right) if is_apart else None
        case _:
            return None


def _join_group(parts: list[Operator], equalities: _Equalities) -> tuple[Operator, list[Operator]]:
    """The first part joined with all that equalities connect it to, one by one; and the parts that are left."""
    joined, *rest = parts
    while True:
        check_cancelled()
        bound = bound_variables(joined)
        for part in rest:
            keys = _keys(equalities, bound, bound_variables(part))
            if keys:
                joined = Join(joined, part, keys)
                rest.remove(part)
                break
        else:
            return joined, rest


def _keys(equalities: _Equalities, joined: frozenset[str], part: frozenset[str]) -> tuple[JoinKey, ...]:
    found: list[tuple[int, _Equality]] = []
    for (left, right), each in equalities.items():
        if (left in joined and right in part) or (right in joined and left in part):
            found += each
    return tuple(each.key(joined) for _, each in sorted(found, key=itemgetter(0)))
