"""Match blocks over a ``ModelGraph``, row by row: what sections 7 to 9 of the language reference say, in their words.

    clauses ── solutions ──> a bag of rows {variable: node or edge}

A block starts with one row: what is fixed from outside. Traversals are taken in sweeps over the text, each as soon as
one of its ends is bound; when none is, the first binding of the text that is left is scanned. Then come all conditions,
then all negations. There is no plan, and no line that the engine has too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from omnigraph.lang.types import Scalar
from omnigraph.query.ast import ANONYMOUS, Operator, TextFunction
from omnigraph.query.checked import (
    Binding,
    BoundVariable,
    Clause,
    Comparison,
    Direction,
    EntityRef,
    Given,
    Negation,
    PropertyRef,
    TextMatch,
    Traversal,
)
from omnigraph.testing.model import ModelGraph, ModelRow
from omnigraph.testing.text_model import is_found, is_nearly_found
from omnigraph.testing.value_model import GivenValues, as_single, is_true, stored_value

Row = Mapping[str, ModelRow]
"""Nodes and edges by variable."""

_BACK: Final = {
    Direction.FORWARD: Direction.BACKWARD,
    Direction.BACKWARD: Direction.FORWARD,
    Direction.UNDIRECTED: Direction.UNDIRECTED,
}


class GraphFacts:
    """One state of a graph, with values as queries have them; later loads of the ``ModelGraph`` are not seen."""

    def __init__(self, graph: ModelGraph) -> None:
        self.catalog = graph.catalog
        self.nodes: dict[str, dict[str, ModelRow]] = {}
        self.edges: dict[str, list[ModelRow]] = {}
        for name, node in graph.catalog.nodes.items():
            types = {each.name: each.type for each in node.properties}
            rows = graph.rows[f"node:{name}"].values()
            self.nodes[name] = {row.id: _with_stored_values(row, types) for row in rows}
        for name, edge in graph.catalog.edges.items():
            types = {each.name: each.type for each in edge.properties}
            rows = graph.rows[f"edge:{name}"].values()
            self.edges[name] = sorted((_with_stored_values(row, types) for row in rows), key=lambda row: row.id)

    def near(self, edge: str, node: str, direction: Direction) -> set[str]:
        """The other ends of the edges at a node."""
        return {other for _, other in self.edges_at(edge, node, direction)}

    def edges_at(self, edge: str, node: str, direction: Direction) -> Iterator[tuple[ModelRow, str]]:
        """Each edge at a node with its other end; an edge from the node to itself once."""
        for row in self.edges[edge]:
            starts = row.source == node and direction is not Direction.BACKWARD
            ends = row.target == node and direction is not Direction.FORWARD
            if starts:
                yield row, str(row.target)
            elif ends:
                yield row, str(row.source)

    def reached(self, step: Traversal, start: str, direction: Direction) -> set[str]:
        """The nodes that a traversal leads to from a node of the side that it is taken from."""
        minimum, maximum = step.minimum_hops, step.maximum_hops
        if step.left_type != step.right_type:
            return self.near(step.edge, start, direction) if minimum == 1 else set()
        visited, emitted, frontier = {start}, set[str](), [start]
        for hop in range(1, maximum + 1):
            following = []
            for node in frontier:
                for other in sorted(self.near(step.edge, node, direction)):
                    if other in visited and other != node:
                        continue
                    if hop >= minimum:
                        emitted.add(other)
                    if other not in visited:
                        visited.add(other)
                        following.append(other)
            frontier = following
        return emitted


class MatchModel:
    """The match blocks of one execution of one query."""

    def __init__(self, facts: GraphFacts, given: GivenValues) -> None:
        self.facts = facts
        self.given = given

    # ── match ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def solutions(
        self, clauses: Sequence[Clause], variables: Mapping[str, BoundVariable], fixed: Row
    ) -> list[dict[str, ModelRow]]:
        """Every way to bind the variables of a block, as often as edges and nameless nodes allow."""
        rows = [dict(fixed)] if all(self.fits(clauses, name, fixed) for name in fixed) else []
        bound = set(fixed)
        waiting = [each for each in clauses if isinstance(each, Traversal)]
        while True:
            rows, waiting = self.sweep(rows, bound, waiting, clauses)
            root = _next_root(clauses, waiting, bound)
            if root is None:
                break
            nodes = self.facts.nodes[variables[root].type_name].values()
            rows = [row | {root: node} for row in rows for node in nodes if self.fits(clauses, root, {root: node})]
            bound.add(root)
        for each in waiting:
            starts = list(self.facts.nodes[each.left_type])
            rows = [found for row in rows for start in starts for found in self.steps(each, row, start, clauses)]
        for clause in clauses:
            match clause:
                case Comparison() | TextMatch():
                    rows = [row for row in rows if self.holds(clause, row)]
        for clause in clauses:
            if isinstance(clause, Negation):
                rows = [row for row in rows if not self.is_solved(clause, row)]
        return rows

    def sweep(
        self,
        rows: list[dict[str, ModelRow]],
        bound: set[str],
        waiting: list[Traversal],
        clauses: Sequence[Clause],
    ) -> tuple[list[dict[str, ModelRow]], list[Traversal]]:
        """Take every traversal that can be reached; the rows, and the traversals that cannot."""
        while True:
            too_early = []
            for each in waiting:
                if each.left in bound:
                    rows = [new for row in rows for new in self.steps(each, row, row[each.left].id, clauses)]
                elif each.right in bound:
                    back = replace(
                        each,
                        left=each.right, right=each.left, left_type=each.right_type, right_type=each.left_type,
                        direction=_BACK[each.direction],
                    )  # fmt: skip
                    rows = [new for row in rows for new in self.steps(back, row, row[each.right].id, clauses)]
                else:
                    too_early.append(each)
                    continue
                bound |= {each.left, each.right} - {ANONYMOUS}
            if len(too_early) == len(waiting):
                return rows, waiting
            waiting = too_early

    def steps(
        self, step: Traversal, row: dict[str, ModelRow], start: str, clauses: Sequence[Clause]
    ) -> Iterator[dict[str, ModelRow]]:
        """A row once for each node that the traversal leads to from its left side, or for each edge it binds."""
        arrivals: Iterable[tuple[dict[str, ModelRow], str]]
        if step.edge_variable is None:
            arrivals = ((row, other) for other in sorted(self.facts.reached(step, start, step.direction)))
        else:
            name = step.edge_variable
            found = self.facts.edges_at(step.edge, start, step.direction)
            arrivals = ((row | {name: edge}, other) for edge, other in found)
        for arrived, other in arrivals:
            node = self.facts.nodes[step.right_type][other]
            if step.right == ANONYMOUS:
                yield arrived
            elif step.right in row:
                if row[step.right].id == other:
                    yield arrived
            elif self.fits(clauses, step.right, {step.right: node}):
                yield arrived | {step.right: node}

    def is_solved(self, negation: Negation, row: Row) -> bool:
        fixed = {name: row[name] for name in negation.correlated}
        return bool(self.solutions(negation.clauses, negation.variables, fixed))

    # ── conditions ───────────────────────────────────────────────────────────────────────────────────────────────────

    def fits(self, clauses: Iterable[Clause], name: str, row: Row) -> bool:
        """Whether all inline matches of a variable hold."""
        for clause in clauses:
            if isinstance(clause, Binding) and clause.variable == name:
                for match in clause.matches:
                    operator = Operator.CONTAINS if match.is_membership else Operator.EQ
                    if not self.holds(Comparison(match.field, operator, match.value), row):
                        return False
        return True

    def holds(self, condition: Comparison | TextMatch, row: Row) -> bool:
        if isinstance(condition, Comparison):
            left, right = condition.left, condition.right
            return is_true(self.operand(left, right, row), condition.operator, self.operand(right, left, row))
        text, query = self.value(condition.field, row), self.given[condition.query]
        if text is None or query is None:
            return False
        if condition.function is not TextFunction.FUZZY:
            return is_found(text, query)
        most = None if condition.max_edits is None else self.given[condition.max_edits]
        return is_nearly_found(text, query, 2 if most is None else most)

    def operand(self, side: Any, other: Any, row: Row) -> Any:
        """A side of a comparison; what is given has the precision of the property that it is compared with."""
        value = self.value(side, row)
        is_given = not isinstance(side, PropertyRef)
        return as_single(value) if is_given and other.type.scalar is Scalar.F32 else value

    def value(self, expression: Given | PropertyRef | EntityRef, row: Row) -> Any:
        match expression:
            case PropertyRef():
                return row[expression.variable].values[expression.property]
            case EntityRef():
                return row[expression.variable].id
            case _:
                return self.given[expression]


def _with_stored_values(row: ModelRow, types: Mapping[str, Any]) -> ModelRow:
    return replace(row, values={name: stored_value(value, types[name]) for name, value in row.values.items()})


def _next_root(clauses: Sequence[Clause], waiting: Sequence[Traversal], bound: set[str]) -> str | None:
    """The variable to scan next: of the first binding that is left, else where the first traversal starts."""
    names = [each.variable for each in clauses if isinstance(each, Binding)]
    names += [each.right if each.left == ANONYMOUS else each.left for each in waiting]
    return next((name for name in names if name not in bound and name != ANONYMOUS), None)
