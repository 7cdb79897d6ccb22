"""Runs read plans over a toy graph of dictionaries, operator by operator, as their docstrings say and no faster.

A row holds only the columns that were asked for, so that a plan which reads a column it did not fetch fails here. Words
are what remains after splitting at anything that is no letter or digit; a text that is searched for by vector is
embedded by a fixed function.
"""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from omnigraph.lang.types import Scalar
from omnigraph.plan import ir
from omnigraph.query.ast import AggregateFunction, Operator, TextFunction
from omnigraph.query.checked import (
    Bm25,
    ColumnRef,
    Comparison,
    Constant,
    CurrentTime,
    Direction,
    EntityRef,
    Nearest,
    ParameterRef,
    PropertyMatch,
    PropertyRef,
    Rrf,
    TextMatch,
)


@dataclass(frozen=True)
class Edge:
    id: str
    source: str
    target: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Graph:
    """Nodes by type and id, edges by type; a property that is not there is null."""

    nodes: dict[str, dict[str, dict[str, Any]]]
    edges: dict[str, list[Edge]]

    def near(self, edge: str, node: str, direction: Direction) -> set[str]:
        """The other ends of the edges of a node."""
        found = set()
        for each in self.edges.get(edge, ()):
            if direction is not Direction.BACKWARD and each.source == node:
                found.add(each.target)
            if direction is not Direction.FORWARD and each.target == node:
                found.add(each.source)
        return found

    def reached(self, edge: str, start: str, direction: Direction, minimum: int, maximum: int) -> set[str]:
        """The nodes that a traversal leads to; ids of different types may be spelled alike when the maximum is 1."""
        if maximum == 1:
            return self.near(edge, start, direction) if minimum == 1 else set()
        visited, frontier, emitted = {start}, [start], set()
        for hop in range(1, maximum + 1):
            following = []
            for node in frontier:
                for other in self.near(edge, node, direction):
                    is_new = other not in visited
                    if is_new:
                        visited.add(other)
                        following.append(other)
                    if minimum <= hop and (is_new or other == node):
                        emitted.add(other)
            frontier = following
        return emitted


@dataclass(frozen=True)
class Entity:
    type_name: str
    id: str
    columns: Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """Entities by variable; scores and places by what they are the value of; columns of groups by name."""

    bound: Mapping[str, Entity] = field(default_factory=dict)
    values: Mapping[Any, Any] = field(default_factory=dict)

    def with_entity(self, name: str, entity: Entity) -> Row:
        return replace(self, bound={**self.bound, name: entity})

    def with_values(self, more: Mapping[Any, Any]) -> Row:
        return replace(self, values={**self.values, **more})

    def joined(self, other: Row) -> Row:
        return Row({**self.bound, **other.bound}, {**self.values, **other.values})


NOW = 1_767_225_600_000
"""2026-01-01, the time of every execution."""


def run(plan: ir.ReadPlan, graph: Graph, parameters: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """The rows of the result, by column name."""
    given = dict.fromkeys((each.name for each in plan.parameters), None) | dict(parameters or {})
    engine = ToyEngine(graph, given)
    rows = engine.rows(plan.root.input, None)
    result = [{each.name: engine.value(each.expression, row) for each in plan.root.columns} for row in rows]
    assert all(list(row) == [each.name for each in plan.columns] for row in result)
    return result


class ToyEngine:
    def __init__(self, graph: Graph, parameters: Mapping[str, Any]) -> None:
        self.graph = graph
        self.parameters = parameters

    # ── values ──

    def value(self, expression: Any, row: Row) -> Any:
        match expression:
            case Constant():
                return expression.value
            case ParameterRef():
                return self.parameters[expression.name]
            case CurrentTime():
                return NOW
            case PropertyRef():
                return row.bound[expression.variable].columns[expression.property]
            case EntityRef():
                return row.bound[expression.variable].id
            case ColumnRef():
                return row.values[expression.name]
            case _:
                return row.values[expression]

    def holds(self, predicate: ir.Predicate, row: Row) -> bool:
        match predicate:
            case Comparison():
                left, right = (
                    self.operand(predicate.left, predicate.right, row),
                    self.operand(predicate.right, predicate.left, row),
                )
                return compare(left, predicate.operator, right)
            case PropertyMatch():
                wanted, found = self.value(predicate.value, row), self.value(predicate.field, row)
                if predicate.is_membership:
                    return compare(found, Operator.CONTAINS, wanted)
                return compare(found, Operator.EQ, self.operand(predicate.value, predicate.field, row))
            case TextMatch():
                return self.text_matches(predicate, self.value(predicate.field, row))

    def operand(self, side: Any, other: Any, row: Row) -> Any:
        """What is given is rounded like the F32 property that it is compared with."""
        value = self.value(side, row)
        is_given = not isinstance(side, PropertyRef)
        if is_given and isinstance(value, float) and isinstance(other, PropertyRef) and other.type.scalar is Scalar.F32:
            return struct.unpack("f", struct.pack("f", value))[0]
        return value

    def text_matches(self, match: TextMatch, text: str | None) -> bool:
        query = self.value(match.query, Row())
        if text is None or query is None:
            return False
        edits = 0
        if match.function is TextFunction.FUZZY:
            edits = 2 if match.max_edits is None else self.value(match.max_edits, Row())
        return any(distance(a, b) <= edits for a in words(query) for b in words(text))

    # ── rows ──

    def rows(self, operator: ir.Operator, outer: Row | None) -> list[Row]:
        return list(self._rows(operator, outer))

    def _rows(self, operator: ir.Operator, outer: Row | None) -> Iterable[Row]:
        match operator:
            case ir.NodeScan():
                return self.scan(operator)
            case ir.OneRow():
                return [Row()]
            case ir.OuterRows():
                assert outer is not None
                return [Row({each.name: outer.bound[each.name] for each in operator.variables})]
            case ir.CrossJoin():
                rights = self.rows(operator.right, outer)
                return [left.joined(right) for left in self.rows(operator.left, outer) for right in rights]
            case ir.Join():
                rights = self.rows(operator.right, outer)
                pairs = ((left, right) for left in self.rows(operator.left, outer) for right in rights)
                return [left.joined(right) for left, right in pairs if self.keys_match(operator.keys, left, right)]
            case ir.AntiJoin():
                return [each for each in self.rows(operator.input, outer) if not self.rows(operator.inner, each)]
            case ir.RankJoin():
                ranked = {each.bound[operator.variable].id: each for each in self.rows(operator.ranked, outer)}
                return [
                    each.with_values(ranked[each.bound[operator.variable].id].values)
                    for each in self.rows(operator.input, outer)
                    if each.bound[operator.variable].id in ranked
                ]
            case _:
                return self.unary(operator, self.rows(operator.input, outer))

    def unary(self, operator: Any, rows: list[Row]) -> Iterable[Row]:
        match operator:
            case ir.Expand():
                return [found for row in rows for found in self.expand(operator, row)]
            case ir.EdgeExpand():
                return [found for row in rows for found in self.edge_expand(operator, row)]
            case ir.Filter():
                return [row for row in rows if all(self.holds(each, row) for each in operator.predicates)]
            case ir.Rank():
                return self.rank(operator, rows)
            case ir.Score():
                return self.score(operator.ranking, rows)
            case ir.Fuse():
                return self.fuse(operator, rows)
            case ir.Aggregate():
                return self.aggregate(operator, rows)
            case ir.Sort():
                return self.sorted(rows, operator.keys)
            case ir.Limit():
                return rows[: operator.count]
        raise AssertionError(operator)

    def keys_match(self, keys: Iterable[ir.JoinKey], left: Row, right: Row) -> bool:
        return all(compare(self.value(k.left, left), Operator.EQ, self.value(k.right, right)) for k in keys)

    def node(self, type_name: str, node: str, columns: Iterable[str]) -> Entity:
        values = self.graph.nodes[type_name][node]
        return Entity(type_name, node, {name: values.get(name) for name in columns})

    def scan(self, operator: ir.NodeScan) -> Iterator[Row]:
        for node in self.graph.nodes.get(operator.type_name, {}):
            if self.fulfils(operator.variable, operator.type_name, node, operator.predicates):
                yield Row({operator.variable: self.node(operator.type_name, node, operator.columns)})

    def fulfils(self, variable: str, type_name: str, node: str, predicates: Iterable[ir.Predicate]) -> bool:
        values = self.graph.nodes[type_name][node]
        whole = Row({variable: Entity(type_name, node, Nulls(values))})
        return all(self.holds(each, whole) for each in predicates)

    def expand(self, step: ir.Expand, row: Row) -> Iterator[Row]:
        start = row.bound[step.source].id
        found = self.graph.reached(step.edge, start, step.direction, step.minimum_hops, step.maximum_hops)
        for node in sorted(found):
            if node in self.graph.nodes.get(step.target_type, {}):
                yield from self.arrive(step, row, node)

    def edge_expand(self, step: ir.EdgeExpand, row: Row) -> Iterator[Row]:
        start = row.bound[step.source].id
        for edge in sorted(self.graph.edges.get(step.edge, ()), key=lambda each: each.id):
            ends = []
            if step.direction is not Direction.BACKWARD and edge.source == start:
                ends.append(edge.target)
            if step.direction is not Direction.FORWARD and edge.target == start:
                ends.append(edge.source)
            name = step.edge_variable
            whole = Row({name: Entity(step.edge, edge.id, Nulls(edge.values))})
            if not all(self.holds(each, whole) for each in step.edge_predicates):
                continue
            columns = {each: edge.values.get(each) for each in step.edge_columns}
            for node in dict.fromkeys(ends):
                if node in self.graph.nodes.get(step.target_type, {}):
                    with_edge = row.with_entity(name, Entity(step.edge, edge.id, columns))
                    yield from self.arrive(step, with_edge, node)

    def arrive(self, step: ir.Expand | ir.EdgeExpand, row: Row, node: str) -> Iterator[Row]:
        if step.target is None:
            yield row
        elif step.is_bound:
            if row.bound[step.target].id == node:
                yield row
        elif self.fulfils(step.target, step.target_type, node, step.predicates):
            yield row.with_entity(step.target, self.node(step.target_type, node, step.columns))

    # ── ranking ──

    def score_of(self, ranking: Nearest | Bm25, entity: Entity) -> float | None:
        return score_of(self.graph, ranking, self.value(ranking.query, Row()), entity.type_name, entity.id)

    def ordered(self, ranking: Nearest | Bm25, rows: list[Row], ties: Iterable[ir.SortKey] = ()) -> list[Row]:
        """The rows that have a score, best first, with it."""
        name = ranking.field.variable
        scored = [row.with_values({ranking: self.score_of(ranking, row.bound[name])}) for row in rows]
        best_first = ir.SortKey(ranking, is_descending=isinstance(ranking, Bm25))
        keys = (best_first, *ties, ir.SortKey(EntityRef(name, "")))
        return self.sorted([each for each in scored if each.values[ranking] is not None], keys)

    def rank(self, operator: ir.Rank, rows: list[Row]) -> list[Row]:
        match operator.ranking:
            case Nearest():
                return self.ordered(operator.ranking, rows, operator.ties)[: operator.count]
            case Bm25():
                return self.ordered(operator.ranking, rows, operator.ties)
            case Rrf() as fused:
                variable = fused.first.field.variable
                places: list[dict[str, int]] = []
                for arm in (fused.first, fused.second):
                    best = self.rank(replace(operator, ranking=arm), rows)
                    places.append({each.bound[variable].id: place for place, each in enumerate(best, 1)})
                found = []
                for row in rows:
                    first, second = (each.get(row.bound[variable].id) for each in places)
                    if first is not None or second is not None:
                        found.append(row.with_values({ir.Place(fused, 1): first, ir.Place(fused, 2): second}))
                return found
        raise AssertionError(operator)

    def score(self, ranking: Any, rows: list[Row]) -> list[Row]:
        if not isinstance(ranking, Rrf):
            name = ranking.field.variable
            return [row.with_values({ranking: self.score_of(ranking, row.bound[name])}) for row in rows]
        name = ranking.first.field.variable
        once = list({row.bound[name].id: row for row in rows}.values())
        ranks = [
            {row.bound[name].id: place for place, row in enumerate(self.ordered(arm, once), 1)}
            for arm in (ranking.first, ranking.second)
        ]
        k = 60 if ranking.k is None else self.value(ranking.k, Row())
        return [row.with_values({ranking: fused_score(row.bound[name].id, ranks, k)}) for row in rows]

    def fuse(self, operator: ir.Fuse, rows: list[Row]) -> list[Row]:
        ranking = operator.ranking
        name = ranking.first.field.variable
        once = list({row.bound[name].id: row for row in rows}.values())
        ranks = []
        for arm in (1, 2):
            place = ir.Place(ranking, arm)
            in_arm = sorted((each for each in once if each.values[place] is not None), key=lambda r: r.values[place])
            ranks.append({row.bound[name].id: rank for rank, row in enumerate(in_arm, 1)})
        k = 60 if ranking.k is None else self.value(ranking.k, Row())
        last = len(once) + 1
        by_arm = sorted(once, key=lambda row: tuple(each.get(row.bound[name].id, last) for each in ranks))
        scored = [row.with_values({ranking: fused_score(row.bound[name].id, ranks, k)}) for row in by_arm]
        best = self.sorted(scored, (ir.SortKey(ranking, is_descending=True), *operator.ties))[: operator.count]
        winners = {row.bound[name].id: (place, row.values[ranking]) for place, row in enumerate(best, 1)}
        found = []
        for row in rows:
            if row.bound[name].id in winners:
                place, score = winners[row.bound[name].id]
                found.append(row.with_values({ir.Place(ranking): place, ranking: score}))
        return found

    # ── results ──

    def sorted(self, rows: list[Row], keys: Iterable[ir.SortKey]) -> list[Row]:
        for key in reversed(tuple(keys)):
            valued = [each for each in rows if self.value(key.value, each) is not None]
            nulls = [each for each in rows if self.value(key.value, each) is None]
            by_value: Callable[[Row], Any] = lambda row, key=key: self.value(key.value, row)  # noqa: E731
            valued.sort(key=by_value, reverse=key.is_descending)
            rows = nulls + valued if key.nulls_first else valued + nulls
        return rows

    def aggregate(self, operator: ir.Aggregate, rows: list[Row]) -> list[Row]:
        groups: dict[Any, list[Row]] = {} if operator.groups else {(): []}
        for row in rows:
            groups.setdefault(tuple(self.value(each.expression, row) for each in operator.groups), []).append(row)
        found = []
        for key, members in groups.items():
            values = dict(zip((each.name for each in operator.groups), key, strict=True))
            found.append(Row(values=values | {each.name: self.measure(each, members) for each in operator.measures}))
        return found

    def measure(self, measure: ir.Measure, rows: list[Row]) -> Any:
        values = [each for each in (self.value(measure.argument, row) for row in rows) if each is not None]
        if measure.function is AggregateFunction.COUNT:
            return len(values)
        if not values:
            return None
        match measure.function:
            case AggregateFunction.SUM:
                return float(sum(values))
            case AggregateFunction.AVG:
                return sum(values) / len(values)
            case AggregateFunction.MIN:
                return min(values)
            case _:
                return max(values)


class Nulls(dict):
    """A property that is not there is null."""

    def __missing__(self, key: str) -> None:
        return None


def compare(left: Any, operator: Operator, right: Any) -> bool:
    if left is None or right is None:
        return False
    match operator:
        case Operator.EQ:
            return left == right
        case Operator.NE:
            return left != right
        case Operator.LT:
            return left < right
        case Operator.LE:
            return left <= right
        case Operator.GT:
            return left > right
        case Operator.GE:
            return left >= right
        case Operator.CONTAINS:
            return right in left
        case Operator.STARTS_WITH:
            return left.startswith(right)


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def distance(a: str, b: str) -> int:
    """How many letters must be put in, taken out or changed."""
    line = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, line[0] = line[0], i
        for j, y in enumerate(b, 1):
            previous, line[j] = line[j], min(line[j] + 1, line[j - 1] + 1, previous + (x != y))
    return line[-1]


def score_of(graph: Graph, ranking: Nearest | Bm25, query: Any, type_name: str, node: str) -> float | None:
    """The score of one node; nothing but the graph and the query matters."""
    value = graph.nodes[type_name][node].get(ranking.field.property)
    if value is None or query is None:
        return None
    if isinstance(ranking, Nearest):
        return cosine_distance(value, embed(query, len(value)) if isinstance(query, str) else query)
    texts = [words(each.get(ranking.field.property) or "") for each in graph.nodes[type_name].values()]
    return bm25(words(value), words(query), texts)


def cosine_distance(a: Iterable[float], b: Iterable[float]) -> float:
    a, b = list(a), list(b)
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return 1 - dot / (math.hypot(*a) * math.hypot(*b))


def bm25(text: list[str], query: list[str], texts: list[list[str]]) -> float | None:
    counts, total = Counter(text), 0.0
    average = sum(len(each) for each in texts) / len(texts)
    for word in dict.fromkeys(query):
        if counts[word]:
            holders = sum(word in each for each in texts)
            rarity = math.log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
            length = 1.2 * (0.25 + 0.75 * len(text) / average)
            total += rarity * counts[word] * 2.2 / (counts[word] + length)
    return total or None


def fused_score(node: str, ranks: Iterable[Mapping[str, int]], k: int) -> float | None:
    found = [1 / (k + each[node]) for each in ranks if node in each]
    return sum(found) if found else None


def embed(text: str, dimension: int) -> list[float]:
    """The mock vector of a text: FNV-1a, then xorshift for each number, then unit length."""
    mask = 2**64 - 1
    state = 0xCBF29CE484222325
    for byte in text.encode():
        state = ((state ^ byte) * 0x100000001B3) & mask
    numbers = []
    for _ in range(dimension):
        state ^= (state << 13) & mask
        state ^= state >> 7
        state ^= (state << 17) & mask
        numbers.append(state / mask * 2 - 1)
    length = math.hypot(*numbers)
    return [each / length for each in numbers]
