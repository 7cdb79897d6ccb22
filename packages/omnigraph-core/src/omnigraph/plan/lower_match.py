"""A match block to operators that produce its rows, plain and in a canonical form.

Variables that traversals connect form a part. In each part the first binding of the text is scanned; a part without
any is seeded where its first edge starts. Traversals follow in sweeps over the text, each from an end that is bound by
then, and the inline matches of other bindings are conditions where their variable gets bound. Parts are joined by cross
product in the order of the text; then come all filters, then all negations.

Inside a negation the variables of outer blocks are bound from the start. A variable that is ranked by gets a Rank with
all conditions on it below.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import chain

from omnigraph.cancellation import check_cancelled
from omnigraph.lang.types import Scalar
from omnigraph.plan.ir import (
    AntiJoin,
    CrossJoin,
    EdgeExpand,
    Expand,
    NodeScan,
    OneRow,
    Operator,
    OuterRows,
    Rank,
    RankJoin,
    SortKey,
)
from omnigraph.plan.tree import fields_of, filtered, reverse, variables_of
from omnigraph.query.ast import ANONYMOUS
from omnigraph.query.checked import (
    Binding,
    BoundVariable,
    Clause,
    Comparison,
    Negation,
    PropertyMatch,
    Ranking,
    TextMatch,
    Traversal,
)
from omnigraph.schema.catalog import Catalog, Property


@dataclass(frozen=True, slots=True)
class Ranked:
    """The ranking that chooses rows, which is the first sort key of a query."""

    ranking: Ranking
    count: int | None
    ties: tuple[SortKey, ...]

    @property
    def variable(self) -> str:
        return fields_of(self.ranking)[0].variable


def lower_match(
    clauses: tuple[Clause, ...], variables: Mapping[str, BoundVariable], catalog: Catalog, ranked: Ranked | None
) -> Operator:
    """The rows of an outermost match block, before anything of the result."""
    return _Block(clauses, variables, catalog, ranked).lower(None)


class _Block:
    """One match block or negation while it is lowered. ``scope`` holds its own variables and those of outer blocks."""

    def __init__(
        self,
        clauses: tuple[Clause, ...],
        scope: Mapping[str, BoundVariable],
        catalog: Catalog,
        ranked: Ranked | None = None,
    ) -> None:
        self.clauses = clauses
        self.scope = scope
        self.catalog = catalog
        self.ranked = ranked
        self.traversals = [each for each in clauses if isinstance(each, Traversal)]
        self.filters = [each for each in clauses if isinstance(each, Comparison | TextMatch)]
        self.matches: dict[str, list[PropertyMatch]] = {}
        for each in clauses:
            check_cancelled()
            if isinstance(each, Binding):
                self.matches.setdefault(each.variable, []).extend(each.matches)

    def lower(self, outer: OuterRows | None) -> Operator:
        fixed = frozenset(each.name for each in outer.variables) if outer is not None else frozenset[str]()
        parts: list[Operator] = []
        for part in _parts(self.clauses, fixed):
            if outer is not None and part & fixed:
                parts.append(self._lower_outer_part(outer, fixed, part))
            else:
                parts.append(self._lower_part(part))
        parts.extend(self._nameless_parts())
        rows = reduce(CrossJoin, parts) if parts else OneRow()
        rows = filtered(rows, self.filters)
        for each in self.clauses:
            if isinstance(each, Negation):
                rows = AntiJoin(rows, self._lower_negation(each))
        return rows

    # ── parts ──

    def _lower_outer_part(self, outer: OuterRows, fixed: frozenset[str], part: set[str]) -> Operator:
        """The part around the outer row, in which bindings of outer variables are conditions."""
        again = chain.from_iterable(self.matches.get(each.name, ()) for each in outer.variables)
        return self._traverse(filtered(outer, again), set(fixed), part)

    def _lower_part(self, part: set[str]) -> Operator:
        root = self._root(part)
        if self.ranked is None or self.ranked.variable not in part:
            return self._traverse(self._scan(root), {root}, part)
        if self.ranked.variable == root:
            return self._traverse(self._rank(self.ranked), {root}, part)
        rows = self._traverse(self._scan(root), {root}, part)
        return RankJoin(rows, self.ranked.variable, self._rank(self.ranked))

    def _root(self, part: set[str]) -> str:
        for each in self.clauses:
            if isinstance(each, Binding) and each.variable in part:
                return each.variable
        # Where nothing was bound before it, a traversal starts on the left.
        first = next(each for each in self.traversals if {each.left, each.right} & part)
        return first.right if first.left == ANONYMOUS else first.left

    def _nameless_parts(self) -> Iterator[Operator]:
        """Traversals with ``$_`` at both ends: rows that bind nothing, or only an edge."""
        for number, each in enumerate(self.traversals):
            if each.left == each.right == ANONYMOUS:
                # A hash can not be part of the name of a variable.
                source = f"#{number}"
                yield self._step(NodeScan(source, each.left_type), each, source, None)

    def _scan(self, variable: str) -> NodeScan:
        type_name = self.scope[variable].type_name
        return NodeScan(variable, type_name, tuple(self.matches.get(variable, ())), self._columns(type_name))

    def _columns(self, type_name: str) -> tuple[str, ...]:
        return _readable(self.catalog.nodes[type_name].properties)

    def _rank(self, ranked: Ranked) -> Rank:
        """The ranked variable with all conditions on it, which then stand nowhere else."""
        own: list[Comparison | TextMatch] = []
        others: list[Comparison | TextMatch] = []
        for each in self.filters:
            check_cancelled()
            (own if variables_of(each) == {ranked.variable} else others).append(each)
        self.filters = others
        return Rank(filtered(self._scan(ranked.variable), own), ranked.ranking, ranked.count, ranked.ties)

    # ── traversals ──

    def _traverse(self, rows: Operator, bound: set[str], part: set[str]) -> Operator:
        """Apply every traversal of a part, in sweeps over the text."""
        waiting = [each for each in self.traversals if {each.left, each.right} & part]
        while waiting:
            too_early = []
            for each in waiting:
                check_cancelled()
                if each.left in bound:
                    rows = self._step(rows, each, each.left, each.right, is_bound=each.right in bound)
                elif each.right in bound:
                    rows = self._step(rows, each, each.right, each.left, is_reversed=True)
                else:
                    too_early.append(each)
                    continue
                bound |= {each.left, each.right} - {ANONYMOUS}
            waiting = too_early
        return rows

    def _step(
        self,
        rows: Operator,
        traversal: Traversal,
        source: str,
        target: str | None,
        *,
        is_bound: bool = False,
        is_reversed: bool = False,
    ) -> Operator:
        direction = reverse(traversal.direction) if is_reversed else traversal.direction
        target_type = traversal.left_type if is_reversed else traversal.right_type
        if target == ANONYMOUS:
            target = None
        predicates: tuple[PropertyMatch, ...] = ()
        columns: tuple[str, ...] = ()
        if target is not None and not is_bound:
            columns = self._columns(target_type)
            # The conditions of a ranked variable stand below its Rank, which the rows are joined with.
            if self.ranked is None or self.ranked.variable != target:
                predicates = tuple(self.matches.get(target, ()))
        edge = self.catalog.edges[traversal.edge]
        if traversal.edge_variable is not None:
            return EdgeExpand(
                rows,
                source,
                target,
                traversal.edge_variable,
                traversal.edge,
                direction,
                target_type,
                is_bound=is_bound,
                predicates=predicates,
                columns=columns,
                edge_columns=_readable(edge.properties),
            )
        return Expand(
            rows,
            source,
            target,
            traversal.edge,
            direction,
            target_type,
            traversal.minimum_hops,
            # Between different types there is no second hop.
            traversal.maximum_hops if edge.source == edge.target else 1,
            is_bound=is_bound,
            predicates=predicates,
            columns=columns,
        )

    # ── negations ──

    def _lower_negation(self, negation: Negation) -> Operator:
        outside = {name: self.scope[name] for name in negation.correlated}
        scope = {**negation.variables, **outside}
        return _Block(negation.clauses, scope, self.catalog).lower(OuterRows(tuple(outside.values())))


def _readable(properties: tuple[Property, ...]) -> tuple[str, ...]:
    """The properties that a query can read."""
    return tuple(each.name for each in properties if each.type.scalar is not Scalar.BLOB)


def _parts(clauses: tuple[Clause, ...], fixed: frozenset[str]) -> list[set[str]]:
    """The variables by connection, parts in the order of first mention; fixed variables are one part, the first."""
    parts: list[set[str]] = [set(fixed)] if fixed else []
    for each in clauses:
        match each:
            case Binding():
                together = {each.variable}
            case Traversal():
                together = {each.left, each.right} - {ANONYMOUS}
            case _:
                continue
        if not together:
            continue
        touched = [part for part in parts if part & together]
        if not touched:
            parts.append(together)
            continue
        for part in touched[1:]:
            touched[0].update(part)
            parts.remove(part)
        touched[0].update(together)
    return parts
