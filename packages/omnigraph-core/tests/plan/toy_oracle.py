"""Answers checked reads by trying every assignment of nodes and edges to variables; it knows no plan.

Scores and reachability are those of ``toy_engine``; everything else is said again in another way: a row is an
assignment for which all clauses hold, counted as often as ``$_`` and edges allow. Hop minima above 1 are left out,
because what they mean depends on the end that a search starts from.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from omnigraph.query.ast import ANONYMOUS
from omnigraph.query.checked import (
    Binding,
    Bm25,
    BoundVariable,
    CheckedRead,
    Clause,
    ColumnRef,
    Comparison,
    Direction,
    Nearest,
    Negation,
    PropertyRef,
    Rrf,
    TextMatch,
    Traversal,
)

Assignment = dict[str, Any]
"""Ids of nodes, and edges, by variable."""


class Oracle:
    def __init__(self, toy: Any, graph: Any, parameters: Mapping[str, Any]) -> None:
        self.toy = toy
        self.graph = graph
        self.engine = toy.ToyEngine(graph, parameters)
        self.types: dict[str, str] = {}

    # ── match ──

    def solutions(
        self, clauses: tuple[Clause, ...], variables: Mapping[str, BoundVariable], fixed: Assignment
    ) -> Iterator[Assignment]:
        own = {name: each for name, each in variables.items() if name not in fixed}
        saved = dict(self.types)
        self.types |= {name: each.type_name for name, each in own.items()}
        nodes = [name for name, each in own.items() if not each.is_edge]
        choices = [list(self.graph.nodes.get(own[name].type_name, {})) for name in nodes]
        for chosen in itertools.product(*choices):
            assignment = fixed | dict(zip(nodes, chosen, strict=True))
            simple = (each for each in clauses if not isinstance(each, Traversal | Negation))
            if not all(self.holds(each, assignment) for each in simple):
                continue
            for full in self.along_edges([each for each in clauses if isinstance(each, Traversal)], assignment):
                edges_hold = all(
                    self.holds(each, full) for each in clauses if not isinstance(each, Traversal | Negation)
                )
                if edges_hold and not any(
                    self.has_solution(each, full) for each in clauses if isinstance(each, Negation)
                ):
                    yield full
        self.types = saved

    def has_solution(self, negation: Negation, assignment: Assignment) -> bool:
        saved = dict(self.types)
        seen = {
            name: assignment[name]
            for name in assignment
            if name not in set(negation.variables) - set(negation.correlated)
        }
        found = next(self.solutions(negation.clauses, negation.variables, seen), None) is not None
        self.types = saved
        return found

    def along_edges(self, traversals: list[Traversal], assignment: Assignment) -> Iterator[Assignment]:
        """The assignment once per way to choose edges and nameless nodes."""
        if not traversals:
            yield assignment
            return
        first, rest = traversals[0], traversals[1:]
        for more in self.ways(first, assignment):
            yield from self.along_edges(rest, assignment | more)

    def ways(self, step: Traversal, assignment: Assignment) -> Iterator[Assignment]:
        lefts = [assignment[step.left]] if step.left != ANONYMOUS else list(self.graph.nodes.get(step.left_type, {}))
        rights = (
            [assignment[step.right]] if step.right != ANONYMOUS else list(self.graph.nodes.get(step.right_type, {}))
        )
        maximum = step.maximum_hops if step.left_type == step.right_type else 1
        for left, right in itertools.product(lefts, rights):
            if step.edge_variable is None:
                assert step.minimum_hops == 1
                if right in self.graph.reached(step.edge, left, step.direction, 1, maximum):
                    yield {}
                continue
            for edge in self.graph.edges.get(step.edge, ()):
                pairs = set()
                if step.direction is not Direction.BACKWARD:
                    pairs.add((edge.source, edge.target))
                if step.direction is not Direction.FORWARD:
                    pairs.add((edge.target, edge.source))
                if (left, right) in pairs:
                    yield {step.edge_variable: edge}

    def holds(self, clause: Clause, assignment: Assignment) -> bool:
        """Whether a condition is true; one that needs an edge not chosen yet may still become true."""
        match clause:
            case Binding():
                return all(self.engine.holds(each, self.row(assignment)) for each in clause.matches)
            case Comparison():
                sides = (clause.left, clause.right)
                mentioned = {each.variable for each in sides if isinstance(each, PropertyRef)}
                return not mentioned <= set(assignment) or self.engine.holds(clause, self.row(assignment))
            case TextMatch():
                return self.engine.holds(clause, self.row(assignment))
        raise AssertionError(clause)

    def row(self, assignment: Assignment) -> Any:
        toy = self.toy
        bound = {}
        for name, each in assignment.items():
            if isinstance(each, str):
                values = self.graph.nodes[self.types[name]][each]
                bound[name] = toy.Entity(self.types[name], each, toy.Nulls(values))
            else:
                bound[name] = toy.Entity(self.types[name], each.id, toy.Nulls(each.values))
        return toy.Row(bound)

    # ── results ──

    def rows(self, read: CheckedRead) -> list[dict[str, Any]]:
        """The result of a read without aggregates; in order when it has one, and cut."""
        self.types = {name: each.type_name for name, each in read.variables.items()}
        found = list(self.solutions(read.clauses, read.variables, {}))
        ranking = read.orderings[0].expression if read.orderings else None
        scores: dict[Any, Mapping[str, float | None]] = {}
        if isinstance(ranking, Nearest | Bm25):
            chosen = self.candidates(read, ranking)
            found = [each for each in found if each[ranking.field.variable] in chosen]
        elif isinstance(ranking, Rrf):
            found, scores[ranking] = self.fused(read, ranking, found)
        if read.orderings:
            found.sort(key=lambda each: self.sort_key(read, each, scores))
        if read.limit is not None:
            found = found[: read.limit]
        return [{each.name: self.value(each.expression, one, scores) for each in read.projections} for one in found]

    def value(self, expression: Any, assignment: Assignment, scores: Mapping[Any, Mapping[str, float | None]]) -> Any:
        match expression:
            case Nearest() | Bm25():
                name = expression.field.variable
                query = self.engine.value(expression.query, self.toy.Row())
                return self.toy.score_of(self.graph, expression, query, self.types[name], assignment[name])
            case Rrf():
                return scores[expression][assignment[expression.first.field.variable]]
            case _:
                return self.engine.value(expression, self.row(assignment))

    def sort_key(self, read: CheckedRead, assignment: Assignment, scores: Any) -> tuple[Any, ...]:
        keys: list[Any] = []
        for each in read.orderings:
            expression = each.expression
            if isinstance(expression, ColumnRef):
                expression = next(one.expression for one in read.projections if one.name == expression.name)
            value = self.value(expression, assignment, scores)
            if isinstance(expression, Nearest | Bm25 | Rrf):
                is_up = isinstance(expression, Nearest)
                keys.append((value is None, Reverse(value) if value is not None and not is_up else value or 0))
            elif each.is_descending:
                keys.append((value is None, Reverse(value) if value is not None else 0))
            else:
                keys.append((value is not None, 0 if value is None else value))
        if read.orderings and isinstance(read.orderings[0].expression, Rrf):
            keys.append(self.places[assignment[read.orderings[0].expression.first.field.variable]])
        for name in sorted(assignment):
            one = assignment[name]
            keys.append(one if isinstance(one, str) else one.id)
        return tuple(keys)

    # ── ranking ──

    def candidates(self, read: CheckedRead, ranking: Nearest | Bm25) -> list[str]:
        """The nodes that a ranking chooses among those that fulfil every condition on them alone, best first."""
        name = ranking.field.variable
        own = [each for each in read.clauses if self.is_only_about(each, name)]
        query = self.engine.value(ranking.query, self.toy.Row())
        scored = []
        for node in self.graph.nodes.get(self.types[name], {}):
            score = self.toy.score_of(self.graph, ranking, query, self.types[name], node)
            if score is not None and all(self.holds(each, {name: node}) for each in own):
                better = score if isinstance(ranking, Nearest) else Reverse(score)
                scored.append(((better, *self.tie_key(read, name, node), node), node))
        best = [node for _, node in sorted(scored)]
        return best[: read.limit] if isinstance(ranking, Nearest) else best

    def tie_key(self, read: CheckedRead, name: str, node: str) -> list[Any]:
        keys: list[Any] = []
        for each in read.orderings[1:]:
            expression = each.expression
            if not isinstance(expression, PropertyRef) or expression.variable != name:
                break
            value = self.graph.nodes[self.types[name]][node].get(expression.property)
            if each.is_descending:
                keys.append((value is None, Reverse(value) if value is not None else 0))
            else:
                keys.append((value is not None, 0 if value is None else value))
        return keys

    def is_only_about(self, clause: Clause, name: str) -> bool:
        match clause:
            case Binding():
                return clause.variable == name
            case Comparison():
                return {each.variable for each in (clause.left, clause.right) if isinstance(each, PropertyRef)} == {
                    name
                }
            case TextMatch():
                return clause.field.variable == name
            case _:
                return False

    def fused(self, read: CheckedRead, ranking: Rrf, found: list[Assignment]) -> Any:
        """The pipeline once per arm, entities ranked in each, and the rows of the best."""
        name = ranking.first.field.variable
        present = {each[name] for each in found}
        arms = [[n for n in self.candidates(read, arm) if n in present] for arm in (ranking.first, ranking.second)]
        k = 60 if ranking.k is None else self.engine.value(ranking.k, self.toy.Row())
        scores: dict[str, float] = {}
        for arm in arms:
            for rank, node in enumerate(arm, 1):
                scores[node] = scores.get(node, 0) + 1 / (k + rank)
        in_order = list(dict.fromkeys([*arms[0], *arms[1]]))
        best = sorted(
            in_order, key=lambda node: (Reverse(scores[node]), *self.tie_key(read, name, node), in_order.index(node))
        )[: read.limit]
        self.places = {node: place for place, node in enumerate(best)}
        return [each for each in found if each[name] in best], scores


class Reverse:
    """Sorts the other way round."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: Reverse) -> bool:
        return other.value < self.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reverse) and other.value == self.value

    __hash__ = None  # type: ignore[assignment]
