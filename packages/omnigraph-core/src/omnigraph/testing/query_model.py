"""``QueryModel``: answers read queries over a ``ModelGraph``, row by row; the oracle of random tests.

    CheckedRead ── match_model ──> a bag of rows ── order, groups, columns ──> Answer

It says sections 10 and 11 of the language reference again, in the words that they use, without any plan and without a
line that the engine has too. It is slow and meant to be read.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from omnigraph.query import compile_query
from omnigraph.query.ast import AggregateFunction
from omnigraph.query.checked import (
    Aggregate,
    Bm25,
    CheckedRead,
    ColumnRef,
    Comparison,
    Expression,
    Nearest,
    Ordering,
    PropertyRef,
    Ranking,
    Rrf,
    TextMatch,
)
from omnigraph.testing.answers import About, Answer, Cells
from omnigraph.testing.match_model import GraphFacts, MatchModel, Row
from omnigraph.testing.model import ModelGraph, ModelRow
from omnigraph.testing.ranking_model import RankingModel, variable_of
from omnigraph.testing.value_model import GivenValues, shown_value

_SCORE_SLACK: Final = 1e-5
_SUM_SLACK: Final = 1e-9
"""How far off a score may be, and a sum beside the sizes of what is added."""


class QueryModel:
    """The queries of one state of a graph; later loads of the ``ModelGraph`` are not seen."""

    def __init__(self, graph: ModelGraph) -> None:
        self.catalog = graph.catalog
        self.facts = GraphFacts(graph)

    def answer(self, text: str, parameters: Mapping[str, Any] | None = None, name: str | None = None) -> Answer:
        """What the rules say about the result of a query.

        Args:
            text: one or more queries.
            parameters: as a caller gives them.
            name: which query, if there are several.

        Raises:
            CompileError: the text is no such query.
        """
        read = compile_query(text, self.catalog, name)
        if not isinstance(read, CheckedRead):
            raise TypeError(f"{read.name} does not read")
        return Reading(self.facts, read, GivenValues(parameters or {}, time.time_ns() // 1_000_000)).answer()


class Reading:
    """One execution of one query."""

    def __init__(self, facts: GraphFacts, read: CheckedRead, given: GivenValues) -> None:
        self.facts = facts
        self.read = read
        self.matching = MatchModel(facts, given)
        self.rankings = RankingModel(self.nodes, given)

    def nodes(self, name: str) -> list[ModelRow]:
        """All nodes of the type of a variable."""
        return list(self.facts.nodes[self.read.variables[name].type_name].values())

    def value(self, expression: Expression, row: Row) -> Any:
        match expression:
            case Nearest() | Bm25() | Rrf():
                return self.rankings.score(expression, row[variable_of(expression)])
            case ColumnRef() | Aggregate() | TextMatch():
                raise AssertionError(expression)
            case _:
                return self.matching.value(expression, row)

    # ── the result ───────────────────────────────────────────────────────────────────────────────────────────────────

    def answer(self) -> Answer:
        read = self.read
        rows: list[Row] = [*self.matching.solutions(read.clauses, read.variables, {})]
        if read.is_aggregate:
            return self.grouped(rows)
        chooser = self.meant(read.orderings[0].expression) if read.orderings else None
        if isinstance(chooser, Ranking):
            rows = self.chosen(chooser, rows)
        shown = (*(each.expression for each in read.projections), *(each.expression for each in read.orderings))
        for expression in shown:
            if isinstance(expression, Rrf) and expression != chooser:
                self.rankings.give_fused_scores(expression, rows)
        if read.orderings:
            rows = self.sorted(rows, chooser)[: read.limit]
        cells = tuple(tuple(self.cell(each.expression, row) for each in read.projections) for row in rows)
        return self._answer(cells, is_total=bool(read.orderings), sorted_by=None)

    def _answer(self, cells: tuple[Cells, ...], *, is_total: bool, sorted_by: tuple[int, ...] | None) -> Answer:
        columns = tuple(each.name for each in self.read.projections)
        return Answer(columns=columns, rows=cells, limit=self.read.limit, sorted_by=sorted_by, is_total=is_total)

    def meant(self, expression: Expression) -> Expression:
        """What the name of a column stands for; anything else is itself."""
        if not isinstance(expression, ColumnRef):
            return expression
        return next(each.expression for each in self.read.projections if each.name == expression.name)

    def cell(self, expression: Expression, row: Row) -> Any:
        value = self.value(expression, row)
        if isinstance(expression, Ranking) and value is not None:
            return About(value, _SCORE_SLACK * max(1.0, abs(value)))
        return shown_value(value, expression.type)

    def sorted(self, rows: Sequence[Row], chooser: Expression | None) -> list[Row]:
        """By the keys of the query, then by place in a fused ranking, then by the ids of all variables by name."""
        found = list(rows)
        for name in sorted(self.read.variables, reverse=True):
            found.sort(key=lambda row, name=name: row[name].id)  # type: ignore[misc]
        if isinstance(chooser, Rrf):
            found.sort(key=lambda row: self.rankings.place(chooser, row[variable_of(chooser)]))
        for ordering in reversed(self.read.orderings):
            expression = self.meant(ordering.expression)
            found = _ordered(found, [self.value(expression, row) for row in found], ordering, expression)
        return found

    # ── ranking ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def chosen(self, ranking: Ranking, rows: Sequence[Row]) -> list[Row]:
        """The rows that a ranking keeps; conditions on the ranked variable alone count before it, all others after."""
        name = variable_of(ranking)
        own = [each for each in self.read.clauses if isinstance(each, Comparison | TextMatch) and _is_about(each, name)]
        candidates = [
            node
            for node in self.nodes(name)
            if self.matching.fits(self.read.clauses, name, {name: node})
            and all(self.matching.holds(each, {name: node}) for each in own)
        ]
        return self.rankings.choose(ranking, rows, candidates, self.read.limit, self.before(name))

    def before(self, name: str) -> Any:
        """What the sort keys behind a ranking say about two nodes, as far as they are about these alone."""
        keys = []
        for ordering in self.read.orderings[1:]:
            expression = self.meant(ordering.expression)
            if not isinstance(expression, PropertyRef) or expression.variable != name:
                break
            keys.append((expression, ordering))
        nodes = self.nodes(name)
        places: list[dict[str, int]] = []
        for expression, ordering in keys:
            values = [node.values[expression.property] for node in nodes]
            distinct = _ordered(list(dict.fromkeys(values)), list(dict.fromkeys(values)), ordering, expression)
            places.append({node.id: distinct.index(value) for node, value in zip(nodes, values, strict=True)})
        return lambda node: tuple(each[node.id] for each in places)

    # ── groups ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def grouped(self, rows: Sequence[Row]) -> Answer:
        projections = self.read.projections
        keys = [each.expression for each in projections if not isinstance(each.expression, Aggregate)]
        groups: dict[tuple[Any, ...], list[Row]] = {} if keys else {(): []}
        for row in rows:
            groups.setdefault(tuple(self.value(each, row) for each in keys), []).append(row)
        found: list[tuple[list[Any], Cells]] = []
        for key, members in groups.items():
            parts = iter(key)
            values: list[Any] = []
            cells: list[Any] = []
            for each in projections:
                if isinstance(each.expression, Aggregate):
                    value, cell = self.measure(each.expression, members)
                else:
                    value = next(parts)
                    cell = shown_value(value, each.expression.type)
                values.append(value)
                cells.append(cell)
            found.append((values, tuple(cells)))
        places = [next(n for n, each in enumerate(projections) if each.name == _column(o)) for o in self.read.orderings]
        for ordering, place in reversed(list(zip(self.read.orderings, places, strict=True))):
            found = _ordered(found, [values[place] for values, _ in found], ordering, ordering.expression)
        return self._answer(tuple(cells for _, cells in found), is_total=False, sorted_by=tuple(places) or None)

    def measure(self, aggregate: Aggregate, rows: Sequence[Row]) -> tuple[Any, Any]:
        """The value of a group, and its cell."""
        values = [value for row in rows if (value := self.value(aggregate.argument, row)) is not None]
        match aggregate.function:
            case AggregateFunction.COUNT:
                return len(values), len(values)
            case _ if not values:
                return None, None
            case AggregateFunction.MIN:
                return min(values), shown_value(min(values), aggregate.argument.type)
            case AggregateFunction.MAX:
                return max(values), shown_value(max(values), aggregate.argument.type)
        share = len(values) if aggregate.function is AggregateFunction.AVG else 1
        total = sum(values) / share
        return total, About(total, _SUM_SLACK * sum(map(abs, values)) / share)


def _is_about(condition: Comparison | TextMatch, name: str) -> bool:
    """Whether a condition is about this variable alone."""
    if isinstance(condition, TextMatch):
        return condition.field.variable == name
    sides = (condition.left, condition.right)
    return {each.variable for each in sides if isinstance(each, PropertyRef)} == {name}


def _column(ordering: Ordering) -> str:
    if not isinstance(ordering.expression, ColumnRef):
        raise TypeError(f"groups are sorted by columns, not by {ordering.expression}")
    return ordering.expression.name


def _ordered(rows: list[Any], values: Sequence[Any], ordering: Ordering, expression: Expression) -> list[Any]:
    """The rows by their values, equal ones as they were. Null is smallest; without a score a row is worst."""
    is_ranking = isinstance(expression, Ranking)
    is_descending = not isinstance(expression, Nearest) if is_ranking else ordering.is_descending
    pairs = list(zip(values, rows, strict=True))
    nulls = [row for value, row in pairs if value is None]
    valued = sorted((pair for pair in pairs if pair[0] is not None), key=lambda pair: pair[0], reverse=is_descending)
    others = [row for _, row in valued]
    return others + nulls if is_ranking or is_descending else nulls + others
