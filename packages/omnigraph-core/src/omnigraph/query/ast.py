"""What a query file says, as it is written: frozen nodes, each with its place in the text.

The parser makes these and judges nothing beyond syntax; ``check`` gives them meaning against a catalog. Two nodes are
equal when they say the same, wherever they stand. Names of variables are without their ``$``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from omnigraph.lang.source import Name, Span
from omnigraph.lang.types import ValueType

ANONYMOUS: Final = "_"
"""The variable ``$_`` binds nothing."""


class Operator(StrEnum):
    """How two values are compared."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    CONTAINS = "contains"
    STARTS_WITH = "starts_with"


class TextFunction(StrEnum):
    """A call that takes a text field and a query text."""

    SEARCH = "search"
    FUZZY = "fuzzy"
    MATCH_TEXT = "match_text"
    BM25 = "bm25"


class AggregateFunction(StrEnum):
    """A call that turns many rows into one value."""

    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"


# ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class StringLiteral:
    """``"text"``, escapes resolved."""

    value: str
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class IntegerLiteral:
    """``12``."""

    value: int
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class FloatLiteral:
    """``1.5``."""

    value: float
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class BoolLiteral:
    """``true`` or ``false``."""

    value: bool
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class DateLiteral:
    """``date("text")``; whether the text is a date is checked later."""

    text: str
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class DateTimeLiteral:
    """``datetime("text")``."""

    text: str
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """``[a, b]``."""

    items: tuple[Literal, ...]
    span: Span = field(compare=False)


Literal = StringLiteral | IntegerLiteral | FloatLiteral | BoolLiteral | DateLiteral | DateTimeLiteral | ListLiteral


@dataclass(frozen=True, slots=True)
class Variable:
    """``$name``: a parameter, or an entity that the match block binds."""

    name: str
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Now:
    """``now()``."""

    span: Span = field(compare=False)


Value = Literal | Variable | Now
"""What may stand in inline matches, assignments and predicates."""


@dataclass(frozen=True, slots=True)
class PropertyAccess:
    """``$variable.property``."""

    variable: Name
    property: Name
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Identifier:
    """A bare word: the name of a result column in ``order``."""

    name: str
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Nearest:
    """``nearest($variable.property, query)``."""

    variable: Name
    property: Name
    query: Expression
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class TextCall:
    """``search``, ``fuzzy``, ``match_text`` or ``bm25`` of a subject and a query; only ``fuzzy`` has ``max_edits``."""

    function: TextFunction
    subject: Expression
    query: Expression
    max_edits: Expression | None
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Rrf:
    """``rrf(first, second, k)``; each arm is ``nearest`` or ``bm25``."""

    first: Nearest | TextCall
    second: Nearest | TextCall
    k: Expression | None
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """``count(..)``, ``sum(..)``, ``avg(..)``, ``min(..)`` or ``max(..)``."""

    function: AggregateFunction
    argument: Expression
    span: Span = field(compare=False)


Expression = Value | PropertyAccess | Identifier | Nearest | TextCall | Rrf | Aggregate


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class PropertyMatch:
    """``property: value`` in the braces of a binding."""

    property: Name
    value: Value
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Binding:
    """``$variable: Type { property: value }``."""

    variable: Name
    type_name: Name
    matches: tuple[PropertyMatch, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Hops:
    """``{minimum, maximum}``; the maximum is None where it was left out."""

    minimum: int
    maximum: int | None
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Traversal:
    """``$left edge $right``, ``$left $edge_variable:edge $right``, ``$left <edge> $right``, each with hops or not."""

    left: Name
    edge_variable: Name | None
    edge: Name
    is_undirected: bool
    hops: Hops | None
    right: Name
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Filter:
    """``left operator right``."""

    left: Expression
    operator: Operator
    right: Expression
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class TextClause:
    """``search(..)``, ``fuzzy(..)`` or ``match_text(..)`` by itself: this call is true."""

    call: TextCall
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Negation:
    """``not { clauses }``."""

    clauses: tuple[Clause, ...]
    span: Span = field(compare=False)


Clause = Negation | Binding | Traversal | Filter | TextClause


@dataclass(frozen=True, slots=True)
class Projection:
    """``expression as alias``."""

    expression: Expression
    alias: Name | None
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Ordering:
    """``expression desc``; ascending without a word."""

    expression: Expression
    is_descending: bool
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Limit:
    """``limit count``."""

    count: int
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Read:
    """``match { } return { } order { } limit n``."""

    clauses: tuple[Clause, ...]
    projections: tuple[Projection, ...]
    orderings: tuple[Ordering, ...]
    limit: Limit | None
    span: Span = field(compare=False)


# ── changing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Assignment:
    """``property: value``."""

    property: Name
    value: Value
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Predicate:
    """``property operator value``; never ``contains`` or ``starts_with``."""

    property: Name
    operator: Operator
    value: Value
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Insert:
    """``insert Type { assignments }``."""

    type_name: Name
    assignments: tuple[Assignment, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Update:
    """``update Type set { assignments } where predicate``."""

    type_name: Name
    assignments: tuple[Assignment, ...]
    predicate: Predicate
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Delete:
    """``delete Type where predicate``."""

    type_name: Name
    predicate: Predicate
    span: Span = field(compare=False)


Statement = Insert | Update | Delete


@dataclass(frozen=True, slots=True)
class Mutation:
    """Statements that become one commit."""

    statements: tuple[Statement, ...]
    span: Span = field(compare=False)


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Parameter:
    """``$name: Type``; the type may be nullable and is never an enum."""

    name: Name
    type: ValueType
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Query:
    """``query name($parameters) @description("..") @instruction("..") { body }``."""

    name: Name
    parameters: tuple[Parameter, ...]
    description: str | None
    instruction: str | None
    body: Read | Mutation
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class QueryFile:
    """A whole query text, in the order of the text."""

    queries: tuple[Query, ...]
