"""``spell_mutation``: statements of the model as the text of a query and the parameters that go with it.

Values stand in the text or come as parameters, by the toss of a seeded coin; what the language cannot write (null, a
negative number, a value that is none of an enum) always comes as a parameter. So do tests reach both ways of giving a
value with the same statements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any, Final

from omnigraph.lang.types import Scalar, ValueType
from omnigraph.schema import Catalog, EdgeType, NodeType
from omnigraph.testing.mutation_model import (
    ENDS,
    STRING,
    DeleteEdges,
    DeleteNodes,
    InsertEdge,
    InsertNode,
    Statement,
    Update,
    Where,
)

QUERY_NAME: Final = "change"

_ESCAPES: Final = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def spell_mutation(catalog: Catalog, statements: Sequence[Statement], *, seed: int = 0) -> tuple[str, dict[str, Any]]:
    """The text of a query called ``change``, and its parameters by name."""
    writer = _Writer(Random(seed))  # noqa: S311 - tests want the same coin again
    lines = [_spell(catalog, each, writer) for each in statements]
    body = "".join(f"    {line}\n" for line in lines)
    return f"query {QUERY_NAME}({', '.join(writer.declared)}) {{\n{body}}}\n", writer.params


@dataclass
class _Writer:
    """Writes the values of one query, and keeps the parameters that it declared for them."""

    random: Random
    declared: list[str] = field(default_factory=list)
    params: dict[str, Any] = field(default_factory=dict)

    def value(self, value: Any, kind: ValueType) -> str:
        literal = _literal(value, kind)
        if literal is not None and self.random.random() < 0.5:
            return literal
        name = f"p{len(self.declared)}"
        is_nullable = value is None or self.random.random() < 0.3
        self.declared.append(f"${name}: {_declared(kind)}{'?' if is_nullable else ''}")
        # A nullable parameter that is left out is null.
        if value is not None or self.random.random() < 0.5:
            self.params[name] = value
        return f"${name}"


def _spell(catalog: Catalog, statement: Statement, writer: _Writer) -> str:
    match statement:
        case InsertNode():
            node = catalog.nodes[statement.type]
            return f"insert {statement.type} {{ {_assignments(node, statement.values, writer)} }}"
        case InsertEdge():
            edge = catalog.edges[statement.type]
            values = {"from": statement.source, "to": statement.target, **statement.values}
            return f"insert {statement.type} {{ {_assignments(edge, values, writer)} }}"
        case Update():
            node = catalog.nodes[statement.type]
            assigned = _assignments(node, statement.values, writer)
            where = _predicate(node, statement.where, writer)
            return f"update {statement.type} set {{ {assigned} }} where {where}"  # noqa: S608 - no SQL
        case DeleteNodes():
            owner: NodeType | EdgeType = catalog.nodes[statement.type]
        case DeleteEdges():
            owner = catalog.edges[statement.type]
    return f"delete {statement.type} where {_predicate(owner, statement.where, writer)}"


def _assignments(owner: NodeType | EdgeType, values: Mapping[str, Any], writer: _Writer) -> str:
    separator = writer.random.choice((", ", " "))
    return separator.join(f"{name}: {writer.value(value, _type(owner, name))}" for name, value in values.items())


def _predicate(owner: NodeType | EdgeType, where: Where, writer: _Writer) -> str:
    return f"{where.property} {where.operator} {writer.value(where.value, _type(owner, where.property))}"


def _type(owner: NodeType | EdgeType, name: str) -> ValueType:
    return STRING if isinstance(owner, EdgeType) and name in ENDS else owner.by_name[name].type


def _declared(kind: ValueType) -> str:
    """How a parameter of this type is declared, without whether it may be null: there are no enum parameters."""
    if kind.scalar is Scalar.VECTOR:
        return f"Vector({kind.dimension})"
    return f"[{kind.scalar}]" if kind.is_list else str(kind.scalar)


def _literal(value: Any, kind: ValueType) -> str | None:
    """A value as the language writes it; None when it cannot."""
    if value is None or (kind.enum_values is not None and value not in kind.enum_values):
        return None
    if kind.is_list or kind.scalar is Scalar.VECTOR:
        item = ValueType(Scalar.F32) if kind.scalar is Scalar.VECTOR else kind.item
        items = [_literal(each, item) for each in value]
        return None if None in items else f"[{', '.join(each for each in items if each is not None)}]"
    match kind.scalar:
        case Scalar.STRING | Scalar.BLOB:
            return f'"{value.translate(_ESCAPES)}"'
        case Scalar.BOOL:
            return "true" if value else "false"
        case Scalar.DATE:
            return f'date("{value}")'
        case Scalar.DATETIME:
            return f'datetime("{value}")'
    if value < 0 or str(value).startswith("-"):
        return None
    digits = f"{Decimal(repr(value)):f}"
    return digits if isinstance(value, int) or "." in digits else f"{digits}.0"
