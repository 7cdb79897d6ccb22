"""What is to be done: the operators of a read, as a tree of frozen values.

``lower`` makes a tree from a checked query, ``rules`` rewrite it, ``explain`` prints it and an engine runs it. A tree
needs no catalog, pickles, and is equal to another when both say the same.

A *row* gives each variable that is bound so far an entity: its id, always, and those of its properties that the
operator which bound it lists under ``columns``. Rows form a bag. Where a docstring says nothing of order, output is in
the order of the input. Predicates keep a row only when they are true; null is not true.

    Project                       names and values of the result
      Limit, Sort                 of rows, or of groups
        Aggregate                 rows to groups
          Score, Fuse             numbers that rank rows
            AntiJoin              one per negation
              Filter              conditions, where no scan or expansion could take them
                CrossJoin, Join   of parts that no traversal connects
                  Expand, EdgeExpand, RankJoin
                    NodeScan, Rank, OuterRows, OneRow
"""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.lang.types import ValueType
from omnigraph.plan.changes import MutationPlan
from omnigraph.query.ast import AggregateFunction
from omnigraph.query.checked import (
    BoundVariable,
    CheckedParameter,
    ColumnRef,
    Comparison,
    Direction,
    EntityRef,
    Given,
    Projection,
    PropertyMatch,
    PropertyRef,
    Ranking,
    Rrf,
    TextMatch,
)

Predicate = Comparison | PropertyMatch | TextMatch
"""A condition on one row. A text match is a condition like any other; those on one variable must all hold."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an entity stands in a fused ranking, from 1; or in one of its arms, null when it is not in that arm.

    Attributes:
        arm: 1 or 2; None for the fused ranking.
    """

    ranking: Rrf
    arm: int | None = None


Value = Given | PropertyRef | EntityRef | Ranking | Place | ColumnRef
"""What a sort key or a result column can be. A ranking is the score that a Rank, Score or Fuse below gave the row."""


# ── where rows come from ─────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class NodeScan:
    """One row per node of a type for which all predicates hold; the order is the engine's, and always the same.

    Attributes:
        predicates: on ``variable`` alone. They may use properties that are not in ``columns``.
        columns: properties that operators above read, in ascending order; the id is there anyway.
    """

    variable: str
    type_name: str
    predicates: tuple[Predicate, ...] = ()
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OuterRows:
    """The row of the surrounding plan that an AntiJoin asks about: exactly one row, with these variables only.

    An engine that asks about many rows at once hands all of them in and keeps them apart by number.
    """

    variables: tuple[BoundVariable, ...]


@dataclass(frozen=True, slots=True)
class OneRow:
    """One row that binds nothing: where a match block without variables starts."""


# ── along edges ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Expand:
    """From a bound node to the nodes at the other end of its edges, each once per input row.

    One hop: the *set* of nodes that an edge of type ``edge`` leads to, so parallel edges make one row. ``UNDIRECTED``
    follows edges both ways and unites the two sets.

    More hops, or a range: a breadth-first search from the source. Each node is visited once, at its shortest distance;
    the source counts as visited from the start. A node is emitted when its distance lies within the bounds. Where a
    node has an edge to itself, expanding that node at hop *h* (its distance + 1) emits it too, when *h* lies within
    the bounds and it was not emitted before; the search does not go on from there. So for a minimum of 1 the relation
    is the same seen from both ends, and for a greater minimum it is not. A maximum below the minimum gives no rows.

    For each input row, one row per such node that exists in ``target_type`` and fulfils ``predicates``. When the
    target ``is_bound`` already, the row is kept once if its target is among those nodes. When ``target`` is None there
    is one row per node all the same, and nothing is bound.

    Attributes:
        source: a variable that the input binds.
        direction: FORWARD when edges start at the source.
        predicates: on the target alone; none when it is bound already or None. So ``columns``.
    """

    input: Operator
    source: str
    target: str | None
    edge: str
    direction: Direction
    target_type: str
    minimum_hops: int = 1
    maximum_hops: int = 1
    is_bound: bool = False
    predicates: tuple[Predicate, ...] = ()
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EdgeExpand:
    """From a bound node along its edges: one row per *edge*, so parallel edges make several rows.

    The edge and the node at its other end are bound. ``UNDIRECTED`` takes edges both ways; an edge from a node to
    itself is taken once. A bound target must be the other end; a target of None binds nothing. Edges whose other end
    does not exist in ``target_type`` give no row. Within one input row, output ascends by edge id.

    Attributes:
        predicates: on the target alone; so ``columns``.
        edge_predicates: on the edge variable alone; so ``edge_columns``.
    """

    input: Operator
    source: str
    target: str | None
    edge_variable: str
    edge: str
    direction: Direction
    target_type: str
    is_bound: bool = False
    predicates: tuple[Predicate, ...] = ()
    columns: tuple[str, ...] = ()
    edge_predicates: tuple[Predicate, ...] = ()
    edge_columns: tuple[str, ...] = ()


# ── conditions and combinations ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Filter:
    """The rows for which all predicates hold. What a predicate reads is among the columns of the rows."""

    input: Operator
    predicates: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class CrossJoin:
    """Every row of the left with every row of the right; in the order of the left, then of the right."""

    left: Operator
    right: Operator


@dataclass(frozen=True, slots=True)
class JoinKey:
    """Two properties that must be equal, by value whatever their widths; null is equal to nothing."""

    left: PropertyRef
    right: PropertyRef


@dataclass(frozen=True, slots=True)
class Join:
    """The rows of the cross product for which all keys are equal; in the order of the left, then of the right."""

    left: Operator
    right: Operator
    keys: tuple[JoinKey, ...]


@dataclass(frozen=True, slots=True)
class AntiJoin:
    """The input rows for which ``inner`` has no row.

    ``inner`` is evaluated with its OuterRows standing for the input row; what it binds is not seen outside. Negations
    in negations are AntiJoins in ``inner``: their OuterRows may name variables of this row too, which ``inner`` then
    passes on.
    """

    input: Operator
    inner: Operator


# ── ranking ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class SortKey:
    """A value to sort by. Strings compare by code point, false before true, numbers by value."""

    value: Value
    is_descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True, slots=True)
class Rank:
    """The best of the input, which binds the ranked variable and nothing else, each entity once.

    Nearest: the ``count`` rows with the smallest cosine distance, ascending; nodes without a vector are not ranked.
    Bm25: all rows in which at least one word of the query occurs, by descending score; word statistics are those of
    the whole node type. Both add their score, as the value of ``ranking``. Rrf: the rows that either arm ranks by
    these rules, with the ``Place`` in each arm and no score yet; in no particular order.

    All conditions on the variable stand below, all others above; so above there may be fewer than ``count``.
    The ranked field need not be among the columns of the input.

    Attributes:
        count: the limit of the query; None when there is none, which only Bm25 allows.
        ties: decide between equal scores; then the smaller id is better.
    """

    input: Operator
    ranking: Ranking
    count: int | None
    ties: tuple[SortKey, ...] = ()


@dataclass(frozen=True, slots=True)
class RankJoin:
    """The input rows whose entity of ``variable`` is among ``ranked``, with the scores or places that it has there.

    ``ranked`` is a Rank of that variable, so no input row is doubled. This is for a ranked variable that a traversal
    binds; a scanned one has its Rank right above the scan. Columns of the variable are those of the input.
    """

    input: Operator
    variable: str
    ranked: Operator


@dataclass(frozen=True, slots=True)
class Score:
    """Adds a score to every row and drops none: for a ranking that is shown, or sorted by, without choosing rows.

    Nearest: the cosine distance, null without a vector. Bm25: the score, null when no word of the query occurs. Rrf:
    in each arm, the distinct entities of the input that have that score are ranked from 1 (equal scores by id), and
    the score is the sum over the arms of 1 / (k + rank), null when the entity is in no arm.
    """

    input: Operator
    ranking: Ranking


@dataclass(frozen=True, slots=True)
class Fuse:
    """Reciprocal rank fusion of what a Rank below ranked in two arms: the rows of the best ``count`` entities.

    In each arm the distinct entities of the input that have a place there are ranked from 1 in the order of their
    places. The score is the sum over the arms of 1 / (k + rank); ``k`` of None is 60. Greater is better; equal scores
    are decided by ``ties``, then by the rank in the first arm, entities without one coming after, then by the rank in
    the second. All rows of the chosen entities are kept and get the score (the value of ``ranking``) and the ``Place``.
    """

    input: Operator
    ranking: Rrf
    count: int
    ties: tuple[SortKey, ...] = ()


# ── the result ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Measure:
    """A value of a group.

    ``count`` counts values that are not null (an I64); of an entity, rows. ``sum`` and ``avg`` are F64, ``min`` and
    ``max`` have the type of the argument (of an entity: its id); all four leave nulls out and are null without values.
    """

    name: str
    function: AggregateFunction
    argument: Given | PropertyRef | EntityRef
    type: ValueType


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One row per group, with a result column per group key and per measure; variables end here.

    Rows with equal keys are a group, null being equal to null; groups come in the order of their first rows. Without
    keys there is exactly one group, also of no rows at all.
    """

    input: Operator
    groups: tuple[Projection, ...]
    measures: tuple[Measure, ...]


@dataclass(frozen=True, slots=True)
class Sort:
    """All rows, sorted by the first key, where that is equal by the second, and so on; stable.

    The keys of rows end with the ids of all bound entities by name of variable, so that the order is total. Groups
    have no such keys.
    """

    input: Operator
    keys: tuple[SortKey, ...]


@dataclass(frozen=True, slots=True)
class Limit:
    """The first ``count`` rows."""

    input: Operator
    count: int


@dataclass(frozen=True, slots=True)
class Project:
    """The columns of the result, in this order; the root of every read.

    The value of a node variable is its id. A ``ColumnRef`` names a column of an Aggregate below.
    """

    input: Operator
    columns: tuple[Projection, ...]


Operator = (
    NodeScan
    | OuterRows
    | OneRow
    | Expand
    | EdgeExpand
    | Filter
    | CrossJoin
    | Join
    | AntiJoin
    | Rank
    | RankJoin
    | Score
    | Fuse
    | Aggregate
    | Sort
    | Limit
    | Project
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the result."""

    name: str
    type: ValueType


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan:
    """A read, ready to run. ``columns`` is the shape of the result, also of an empty one."""

    name: str
    parameters: tuple[CheckedParameter, ...]
    root: Project
    columns: tuple[Column, ...]


Plan = ReadPlan | MutationPlan
