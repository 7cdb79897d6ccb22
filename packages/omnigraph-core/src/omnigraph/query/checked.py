"""A query that means something: every name resolved against a catalog, every expression typed.

``check_query`` makes these from an AST; ``plan`` lowers them, ``describe`` reads them. Edges are named as the catalog
spells them, directions are settled, columns have their output names. Dates are days and points in time milliseconds
since 1970-01-01, as integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from omnigraph.lang.types import Scalar, ValueType
from omnigraph.query.ast import AggregateFunction, Operator, TextFunction

ConstantValue = str | int | float | bool | tuple["ConstantValue", ...] | None

BOOL = ValueType(Scalar.BOOL)
ID = ValueType(Scalar.STRING)
SCORE = ValueType(Scalar.F64, is_nullable=True)
COUNT = ValueType(Scalar.I64)
TIME = ValueType(Scalar.DATETIME)


# ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal. Dates and points in time are integers, lists are tuples."""

    value: ConstantValue
    type: ValueType


@dataclass(frozen=True, slots=True)
class ParameterRef:
    """A value that the caller gives."""

    name: str
    type: ValueType


@dataclass(frozen=True, slots=True)
class CurrentTime:
    """``now()``: one instant for the whole execution."""

    type: ValueType = TIME


Given = Constant | ParameterRef | CurrentTime
"""What is the same for every row."""


@dataclass(frozen=True, slots=True)
class PropertyRef:
    """A property of a bound node or edge."""

    variable: str
    property: str
    type: ValueType
    is_edge: bool = False


@dataclass(frozen=True, slots=True)
class EntityRef:
    """A bound node, of which the value is its id."""

    variable: str
    type_name: str
    type: ValueType = ID


@dataclass(frozen=True, slots=True)
class TextMatch:
    """``search``, ``fuzzy`` or ``match_text``: does the field match the query text?"""

    function: TextFunction
    field: PropertyRef
    query: Given
    max_edits: Given | None = None
    type: ValueType = BOOL


@dataclass(frozen=True, slots=True)
class Bm25:
    """How well the field matches the query text; the greater the better."""

    field: PropertyRef
    query: Given
    type: ValueType = SCORE


@dataclass(frozen=True, slots=True)
class Nearest:
    """The cosine distance of a vector; the smaller the better.

    Attributes:
        query: a vector (list of numbers) or a text that is embedded first.
        model: what ``@embed`` records for the property, which the embedder of a text must be.
    """

    field: PropertyRef
    query: Given
    model: str | None = None
    type: ValueType = SCORE


@dataclass(frozen=True, slots=True)
class Rrf:
    """Reciprocal rank fusion of two rankings; the greater the better. ``k`` is 60 when it is None."""

    first: Nearest | Bm25
    second: Nearest | Bm25
    k: Given | None = None
    type: ValueType = SCORE


Ranking = Nearest | Bm25 | Rrf


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One value of many rows."""

    function: AggregateFunction
    argument: Given | PropertyRef | EntityRef
    type: ValueType


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A result column, by its output name."""

    name: str
    type: ValueType


Expression = Given | PropertyRef | EntityRef | TextMatch | Ranking | Aggregate | ColumnRef


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Direction(StrEnum):
    """How the left side of a traversal stands to the stored edge."""

    FORWARD = "forward"
    """The left variable is where edges start."""
    BACKWARD = "backward"
    """The left variable is where edges end."""
    UNDIRECTED = "undirected"


@dataclass(frozen=True, slots=True)
class BoundVariable:
    """A variable of a match block. ``type_name`` is a node type, or an edge type for an edge binding."""

    name: str
    type_name: str
    is_edge: bool = False


@dataclass(frozen=True, slots=True)
class PropertyMatch:
    """An inline match: equality, or membership when the property is a list."""

    field: PropertyRef
    value: Given

    @property
    def is_membership(self) -> bool:
        return self.field.type.is_list


@dataclass(frozen=True, slots=True)
class Binding:
    """``variable`` is a node of ``type_name`` for which all matches hold."""

    variable: str
    type_name: str
    matches: tuple[PropertyMatch, ...] = ()


@dataclass(frozen=True, slots=True)
class Traversal:
    """An edge between two variables; a side that is ``_`` is any node.

    Attributes:
        edge: as the catalog spells it.
        left_type: the node type of the left side, also where it is ``_``; so ``right_type``.
        edge_variable: bound to the edge, one row per edge; None without a binding, and for ``$_:edge``.
        minimum_hops: 1 to ``maximum_hops``; both are 1 without hop bounds, which is then also what ``has_bounds`` says.
    """

    left: str
    right: str
    edge: str
    left_type: str
    right_type: str
    direction: Direction
    edge_variable: str | None = None
    minimum_hops: int = 1
    maximum_hops: int = 1
    has_bounds: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """``left operator right``, true or false or null; only true keeps a row."""

    left: Given | PropertyRef
    operator: Operator
    right: Given | PropertyRef


@dataclass(frozen=True, slots=True)
class Negation:
    """Removes a row when the inner clauses have a solution with the row's variables fixed.

    Attributes:
        variables: bound by the inner clauses themselves, by name.
        correlated: variables of outer blocks that are mentioned inside, sorted.
    """

    clauses: tuple[Clause, ...]
    variables: Mapping[str, BoundVariable]
    correlated: tuple[str, ...]


Clause = Binding | Traversal | Comparison | TextMatch | Negation


@dataclass(frozen=True, slots=True)
class Projection:
    """A result column.

    Attributes:
        is_aliased: whether the name is the one behind ``as``.
    """

    name: str
    expression: Expression
    is_aliased: bool = False

    @property
    def type(self) -> ValueType:
        return self.expression.type


@dataclass(frozen=True, slots=True)
class Ordering:
    """A sort key. A ranking sorts best first, whatever ``is_descending`` says."""

    expression: Expression
    is_descending: bool = False


@dataclass(frozen=True, slots=True)
class CheckedParameter:
    """A declared parameter."""

    name: str
    type: ValueType


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRead:
    """A query that reads.

    Attributes:
        variables: bound by the outermost match block, by name.
        orderings: aliases of rankings are resolved to the rankings.
        is_aggregate: whether any projection is an aggregate, so that the others are the group key.
    """

    name: str
    parameters: tuple[CheckedParameter, ...]
    clauses: tuple[Clause, ...]
    variables: Mapping[str, BoundVariable]
    projections: tuple[Projection, ...]
    orderings: tuple[Ordering, ...]
    limit: int | None
    is_aggregate: bool
    description: str | None = None
    instruction: str | None = None


# ── changing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Assignment:
    """A property and what it becomes."""

    property: str
    type: ValueType
    value: Given


@dataclass(frozen=True, slots=True)
class Predicate:
    """``column operator value``; ``src`` and ``dst`` are the columns of ``from`` and ``to``."""

    column: str
    type: ValueType
    operator: Operator
    value: Given


@dataclass(frozen=True, slots=True)
class InsertNode:
    """One node. ``embedded`` names required vectors that are left out, to be made from their source text."""

    type_name: str
    assignments: tuple[Assignment, ...]
    embedded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InsertEdge:
    """One edge between the nodes with these ids."""

    type_name: str
    source: Given
    target: Given
    assignments: tuple[Assignment, ...] = ()


@dataclass(frozen=True, slots=True)
class UpdateNodes:
    """Every node for which the predicate is true."""

    type_name: str
    assignments: tuple[Assignment, ...]
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class DeleteNodes:
    """Every node for which the predicate is true, with the edges at it."""

    type_name: str
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class DeleteEdges:
    """Every edge for which the predicate is true."""

    type_name: str
    predicate: Predicate


Statement = InsertNode | InsertEdge | UpdateNodes | DeleteNodes | DeleteEdges


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedMutation:
    """A query that changes; its statements become one commit or none."""

    name: str
    parameters: tuple[CheckedParameter, ...]
    statements: tuple[Statement, ...]
    description: str | None = None
    instruction: str | None = None


CheckedQuery = CheckedRead | CheckedMutation
