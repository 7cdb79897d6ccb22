"""What a mutation means for a ``ModelGraph``: statements as plain facts, and one function that carries them out.

    statements ── mutate(model, …) ──> (affected nodes, affected edges) and the next state, or ModelRefusalError

Written from the rules of the language, row by row, and independent of the engine. Statements run in order, each on what
the ones before it left; integrity is judged once, on the final image. ``mutation_text`` spells statements as a query,
``mutation_strategies`` draws them at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from omnigraph.lang.types import Scalar, ValueType
from omnigraph.query.ast import Operator
from omnigraph.schema import EdgeType, NodeType
from omnigraph.testing.model import ModelGraph, ModelRefusalError, ModelRow, key_id
from omnigraph.testing.value_model import as_single, given_value, is_true, shown_value, stored_value

ENDS: Final = {"from": "src", "to": "dst"}
"""The ends of an edge as statements call them, and their columns."""

STRING: Final = ValueType(Scalar.STRING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """A predicate: one comparison. Of an edge, ``from`` and ``to`` are properties too."""

    property: str
    operator: str = "="
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertNode:
    """``insert Film { … }``. What is not assigned is null."""

    type: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertEdge:
    """``insert Rated { from: …, to: …, … }``, where the ends are ids of nodes."""

    type: str
    source: str
    target: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """``update Film set { … } where …``."""

    type: str
    values: Mapping[str, Any]
    where: Where


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteNodes:
    """``delete Film where …``, and every edge at what is deleted."""

    type: str
    where: Where


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteEdges:
    """``delete Rated where …``."""

    type: str
    where: Where


Statement = InsertNode | InsertEdge | Update | DeleteNodes | DeleteEdges
Image = dict[str, dict[str, ModelRow]]

_KINDS: Final[Mapping[str, Callable[..., Statement]]] = {
    each.__name__: each for each in (InsertNode, InsertEdge, Update, DeleteNodes, DeleteEdges)
}


def mutate(model: ModelGraph, statements: Sequence[Statement]) -> tuple[int, int]:
    """Carry out one query; how many nodes and edges it affected. (0, 0) where a real graph makes no commit.

    Values are given as an export spells them; an integer for a float becomes a float, as it does when it is stored.

    Raises:
        ModelRefusalError: it breaks a rule; the model is as it was.
    """
    if len({isinstance(each, DeleteNodes | DeleteEdges) for each in statements}) > 1:
        raise ModelRefusalError("inserts/updates and deletes in one query: split into separate mutations")
    after: Image = {key: dict(rows) for key, rows in model.rows.items()}
    nodes = edges = 0
    for statement in statements:
        match statement:
            case InsertNode():
                _insert_node(model, after, statement)
                nodes += 1
            case InsertEdge():
                _insert_edge(model, after, statement)
                edges += 1
            case Update():
                nodes += _update(model, after, statement)
            case DeleteNodes():
                gone = _take(model, after, f"node:{statement.type}", statement.where)
                nodes += len(gone)
                edges += _cascade(model, after, statement.type, gone)
            case DeleteEdges():
                edges += len(_take(model, after, f"edge:{statement.type}", statement.where))
    for key, rows in after.items():
        model.check_values(key, rows.values())
        model.check_unique(key, rows.values())
    model.check_endpoints(after)
    for key in after:
        model.check_cardinality(key, after)
    model.rows = after
    return nodes, edges


def statements_to_json(statements: Iterable[Statement]) -> list[dict[str, Any]]:
    """Statements as JSON values; ``statements_of_json`` reads them."""
    return [{"statement": type(each).__name__, **asdict(each)} for each in statements]


def statements_of_json(facts: Iterable[Mapping[str, Any]]) -> tuple[Statement, ...]:
    """The statements that ``statements_to_json`` wrote."""
    found: list[Statement] = []
    for each in facts:
        fields: dict[str, Any] = {name: Where(**value) if name == "where" else value for name, value in each.items()}
        found.append(_KINDS[fields.pop("statement")](**fields))
    return tuple(found)


# ── one statement ────────────────────────────────────────────────────────────────────────────────────────────────────


def _insert_node(model: ModelGraph, after: Image, insert: InsertNode) -> None:
    node = model.catalog.nodes[insert.type]
    values = _row_values(node, insert.values)
    derived = key_id(node, values)
    row = ModelRow(id=model.fresh_id() if derived is None else derived, values=values, is_named=derived is not None)
    after[f"node:{insert.type}"][row.id] = row


def _insert_edge(model: ModelGraph, after: Image, insert: InsertEdge) -> None:
    row = ModelRow(
        id=model.fresh_id(),
        values=_row_values(model.catalog.edges[insert.type], insert.values),
        source=insert.source,
        target=insert.target,
        is_named=False,
    )
    after[f"edge:{insert.type}"][row.id] = row


def _update(model: ModelGraph, after: Image, update: Update) -> int:
    node = model.catalog.nodes[update.type]
    if set(node.key) & set(update.values):
        raise ModelRefusalError(f"{update.type}.{node.key} is a @key and cannot be updated")
    rows = after[f"node:{update.type}"]
    matched = [row for row in rows.values() if _matches(node, row, update.where)]
    for row in matched:
        rows[row.id] = replace(row, values={**row.values, **_stored(node, update.values)})
    return len(matched)


def _take(model: ModelGraph, after: Image, key: str, where: Where) -> set[str]:
    """Remove the rows that match; their ids."""
    owner = model.type_of(key)
    gone = {row.id for row in after[key].values() if _matches(owner, row, where)}
    for each in gone:
        del after[key][each]
    return gone


def _cascade(model: ModelGraph, after: Image, node: str, gone: set[str]) -> int:
    """Remove the edges at nodes that are gone; how many there were."""
    count = 0
    for name, edge in model.catalog.edges.items():
        rows = after[f"edge:{name}"]
        for row in list(rows.values()):
            is_at_source = edge.source == node and row.source in gone
            if is_at_source or (edge.target == node and row.target in gone):
                del rows[row.id]
                count += 1
    return count


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _row_values(owner: NodeType | EdgeType, given: Mapping[str, Any]) -> dict[str, Any]:
    """Every property of a new row."""
    return dict.fromkeys(owner.by_name) | _stored(owner, given)


def _stored(owner: NodeType | EdgeType, given: Mapping[str, Any]) -> dict[str, Any]:
    """Assigned values as an export shows them once they are stored."""
    unknown = set(given) - set(owner.by_name)
    if unknown:
        raise ModelRefusalError(f"{owner.name} has no property {sorted(unknown)}")
    types = {name: owner.by_name[name].type for name in given}
    return {name: shown_value(stored_value(value, types[name]), types[name]) for name, value in given.items()}


def _matches(owner: NodeType | EdgeType, row: ModelRow, where: Where) -> bool:
    """Whether the predicate is true of a row; with null on either side it is not."""
    is_end = isinstance(owner, EdgeType) and where.property in ENDS
    kind = STRING if is_end else owner.by_name[where.property].type
    held = row.column(ENDS[where.property]) if is_end else stored_value(row.values[where.property], kind)
    asked = given_value(where.value, kind)
    if kind.scalar is Scalar.F32:
        asked = as_single(asked)
    return is_true(held, Operator(where.operator), asked)
