"""What a checked query gives, reads and writes, as plain facts for tools: a ``CheckedQuery`` in, an ``Operation`` out.

Lint prints it, so that whoever calls a query knows the columns without running it. Columns are named as people think
of them here, ``title`` and not ``f.title``; the rows of a result have their own names. Kinds are words of JSON clients,
not of storage: an enum is a ``string``, every number of 64 bits a ``bigint``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, assert_never

from omnigraph.lang.types import Scalar, ValueType
from omnigraph.query.ast import AggregateFunction
from omnigraph.query.checked import (
    Aggregate,
    Binding,
    Bm25,
    CheckedMutation,
    CheckedQuery,
    Clause,
    ColumnRef,
    Constant,
    CurrentTime,
    DeleteEdges,
    DeleteNodes,
    EntityRef,
    InsertEdge,
    InsertNode,
    Nearest,
    Negation,
    ParameterRef,
    Projection,
    PropertyRef,
    Rrf,
    Statement,
    TextMatch,
    Traversal,
    UpdateNodes,
)
from omnigraph.schema.catalog import Catalog

_KINDS: Final = {
    Scalar.STRING: "string",
    Scalar.BLOB: "blob",
    Scalar.BOOL: "bool",
    Scalar.I32: "int",
    Scalar.U32: "int",
    Scalar.I64: "bigint",
    Scalar.U64: "bigint",
    Scalar.F32: "float",
    Scalar.F64: "float",
    Scalar.DATE: "date",
    Scalar.DATETIME: "datetime",
    Scalar.VECTOR: "vector",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultColumn:
    """A column of the result.

    Attributes:
        kind: ``string``, ``bool``, ``int``, ``bigint``, ``float``, ``date``, ``datetime``, ``blob``, ``vector``,
            ``list`` or, for a whole node, ``object``.
        item_kind: of a list, else None.
        vector_dim: of a vector, else None.
    """

    name: str
    kind: str
    item_kind: str | None = None
    vector_dim: int | None = None
    is_nullable: bool

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; what does not apply is left out."""
        facts: dict[str, Any] = {"name": self.name, "kind": self.kind}
        if self.item_kind is not None:
            facts["item_kind"] = self.item_kind
        if self.vector_dim is not None:
            facts["vector_dim"] = self.vector_dim
        return facts | {"nullable": self.is_nullable}


@dataclass(frozen=True, slots=True)
class TypeUse:
    """A type that a query touches; ``kind`` is ``node`` or ``edge``."""

    kind: str
    type_name: str

    def to_dict(self) -> dict[str, str]:
        """The JSON form."""
        return {"kind": self.kind, "type_name": self.type_name}


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What a query does.

    Attributes:
        result: in the order of the projections; empty for a mutation.
        reads: nodes before edges, then by name; so ``writes``, which is empty for a read.
    """

    result: tuple[ResultColumn, ...]
    reads: tuple[TypeUse, ...]
    writes: tuple[TypeUse, ...]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "result": [each.to_dict() for each in self.result],
            "reads": [each.to_dict() for each in self.reads],
            "writes": [each.to_dict() for each in self.writes],
        }


def describe_query(query: CheckedQuery, catalog: Catalog) -> Operation:
    """The operation of a query that was checked against this catalog."""
    if isinstance(query, CheckedMutation):
        uses = [use for statement in query.statements for use in _uses_of_statement(statement, catalog)]
        return Operation(
            result=(),
            reads=_in_order(use for use, _ in uses),
            writes=_in_order(use for use, is_written in uses if is_written),
        )
    return Operation(
        result=tuple(_column(each) for each in query.projections),
        reads=_in_order(_uses_of_clauses(query.clauses)),
        writes=(),
    )


# ── columns ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _column(projection: Projection) -> ResultColumn:
    name, expression = _name(projection), projection.expression
    if isinstance(expression, Aggregate):
        return _aggregate_column(name, expression)
    if isinstance(expression, EntityRef):
        return ResultColumn(name=name, kind="object", is_nullable=False)
    return _typed_column(name, expression.type, is_nullable=expression.type.is_nullable)


def _aggregate_column(name: str, expression: Aggregate) -> ResultColumn:
    """Every aggregate may be null: that is what most of them are without rows."""
    match expression.function:
        case AggregateFunction.COUNT:
            return ResultColumn(name=name, kind="bigint", is_nullable=True)
        case AggregateFunction.SUM | AggregateFunction.AVG:
            return ResultColumn(name=name, kind="float", is_nullable=True)
        case AggregateFunction.MIN | AggregateFunction.MAX:
            if isinstance(expression.argument, EntityRef):
                return ResultColumn(name=name, kind="object", is_nullable=True)
            return _typed_column(name, expression.argument.type, is_nullable=True)
        case _:
            assert_never(expression.function)


def _typed_column(name: str, type_: ValueType, *, is_nullable: bool) -> ResultColumn:
    kind = _KINDS[type_.scalar]
    if type_.is_list:
        return ResultColumn(name=name, kind="list", item_kind=kind, is_nullable=is_nullable)
    return ResultColumn(name=name, kind=kind, vector_dim=type_.dimension, is_nullable=is_nullable)


def _name(projection: Projection) -> str:
    """The alias; else the property, the variable, or the function."""
    if projection.is_aliased:
        return projection.name
    match projection.expression:
        case PropertyRef(property=name) | EntityRef(variable=name) | ParameterRef(name=name) | ColumnRef(name=name):
            return name
        case Aggregate(function=function) | TextMatch(function=function):
            return str(function)
        case Bm25():
            return "bm25"
        case Nearest():
            return "nearest"
        case Rrf():
            return "rrf"
        case CurrentTime():
            return "now"
        case Constant():
            return "literal"
        case _ as unreachable:
            assert_never(unreachable)


# ── types ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _uses_of_clauses(clauses: tuple[Clause, ...]) -> Iterator[TypeUse]:
    for clause in clauses:
        if isinstance(clause, Binding):
            yield _node(clause.type_name)
        elif isinstance(clause, Traversal):
            yield _edge(clause.edge)
            yield _node(clause.left_type)
            yield _node(clause.right_type)
        elif isinstance(clause, Negation):
            yield from _uses_of_clauses(clause.clauses)


def _uses_of_statement(statement: Statement, catalog: Catalog) -> Iterator[tuple[TypeUse, bool]]:
    """Types that are read, each with whether it is written too: a change reads what it changes."""
    match statement:
        case InsertNode() | UpdateNodes():
            yield _node(statement.type_name), True
        case InsertEdge():
            yield _edge(statement.type_name), True
            edge = catalog.edges[statement.type_name]
            yield _node(edge.source), False
            yield _node(edge.target), False
        case DeleteNodes():
            yield _node(statement.type_name), True
            # Edges at a deleted node go with it.
            for edge in catalog.edges_of(statement.type_name):
                yield _edge(edge.name), True
        case DeleteEdges():
            yield _edge(statement.type_name), True
        case _:
            assert_never(statement)


def _node(type_name: str) -> TypeUse:
    return TypeUse("node", type_name)


def _edge(type_name: str) -> TypeUse:
    return TypeUse("edge", type_name)


def _in_order(uses: Iterable[TypeUse]) -> tuple[TypeUse, ...]:
    return tuple(sorted(set(uses), key=lambda use: (use.kind == "edge", use.type_name)))
