"""The rows of a match block to the result: scores, groups, order, limit, columns.

Only a ranking that is the first sort key chooses rows, and that happens below, in the match block; every other one
is a score that rows are given. Sort keys are about rows, so aliases are replaced by what they stand for; in an
aggregate query they are about groups, and name columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from omnigraph.cancellation import check_cancelled
from omnigraph.plan.ir import (
    Aggregate,
    Fuse,
    Limit,
    Measure,
    Operator,
    Place,
    Project,
    Score,
    Sort,
    SortKey,
    Value,
)
from omnigraph.plan.lower_match import Ranked
from omnigraph.plan.tree import fields_of
from omnigraph.query import checked
from omnigraph.query.checked import (
    CheckedRead,
    ColumnRef,
    EntityRef,
    Expression,
    Nearest,
    Ordering,
    Projection,
    PropertyRef,
    Ranking,
    Rrf,
    TextMatch,
)


def ranked_by(read: CheckedRead) -> Ranked | None:
    """The ranking that chooses rows, if the query has one."""
    if not read.orderings or read.is_aggregate:
        return None
    ranking = _resolve(read.orderings[0].expression, _expressions(read))
    if not isinstance(ranking, Ranking):
        return None
    return Ranked(ranking, read.limit, _ties(read, fields_of(ranking)[0].variable))


def lower_result(read: CheckedRead, rows: Operator, ranked: Ranked | None) -> Project:
    """Everything that a query does with the rows of its match block."""
    if ranked is not None and isinstance(ranked.ranking, Rrf) and ranked.count is not None:
        rows = Fuse(rows, ranked.ranking, ranked.count, ranked.ties)
    for each in _scores(read, ranked):
        rows = Score(rows, each)
    result = _lower_groups(read, rows) if read.is_aggregate else _lower_rows(read, rows, ranked)
    if read.limit is not None:
        result = Limit(result, read.limit)
    return Project(result, _columns(read))


def _columns(read: CheckedRead) -> tuple[Projection, ...]:
    if not read.is_aggregate:
        return read.projections
    return tuple(Projection(each.name, ColumnRef(each.name, each.type)) for each in read.projections)


def _scores(read: CheckedRead, ranked: Ranked | None) -> Iterable[Ranking]:
    """Rankings that are shown or sorted by and that no operator below gives a value, each once."""
    given = None if ranked is None else ranked.ranking
    expressions = [*(each.expression for each in read.projections), *(each.expression for each in read.orderings)]
    return dict.fromkeys(each for each in expressions if isinstance(each, Ranking) and each != given)


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _lower_rows(read: CheckedRead, rows: Operator, ranked: Ranked | None) -> Operator:
    if not read.orderings:
        return rows
    columns = _expressions(read)
    keys = [_sort_key(each, columns) for each in read.orderings]
    if ranked is not None and isinstance(ranked.ranking, Rrf):
        keys.append(SortKey(Place(ranked.ranking)))
    keys += [SortKey(EntityRef(name, each.type_name)) for name, each in sorted(read.variables.items())]
    return Sort(rows, tuple(keys))


def _sort_key(ordering: Ordering, columns: Mapping[str, Expression]) -> SortKey:
    check_cancelled()
    value = _resolve(ordering.expression, columns)
    if isinstance(value, Ranking):
        # Small distances and great scores are good; none at all is worst.
        return SortKey(value, is_descending=not isinstance(value, Nearest), nulls_first=False)
    return SortKey(_as_value(value), ordering.is_descending, nulls_first=not ordering.is_descending)


def _ties(read: CheckedRead, variable: str) -> tuple[SortKey, ...]:
    """The sort keys after the ranking, as far as they are about the ranked variable alone."""
    keys: list[SortKey] = []
    columns = _expressions(read)
    for each in read.orderings[1:]:
        key = _sort_key(each, columns)
        if not isinstance(key.value, PropertyRef) or key.value.variable != variable:
            break
        keys.append(key)
    return tuple(keys)


def _expressions(read: CheckedRead) -> dict[str, Expression]:
    """What each column of the result is, by its name."""
    return {each.name: each.expression for each in read.projections}


def _resolve(expression: Expression, columns: Mapping[str, Expression]) -> Expression:
    """What an alias stands for; anything else is itself."""
    if isinstance(expression, ColumnRef):
        return columns[expression.name]
    return expression


def _as_value(expression: Expression) -> Value:
    match expression:
        case checked.Aggregate() | TextMatch():
            raise AssertionError(f"the check lets no {type(expression).__name__} be sorted by")
        case _:
            return expression


# ── groups ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _lower_groups(read: CheckedRead, rows: Operator) -> Operator:
    groups: list[Projection] = []
    measures: list[Measure] = []
    for each in read.projections:
        expression = each.expression
        if isinstance(expression, checked.Aggregate):
            measures.append(Measure(each.name, expression.function, expression.argument, expression.type))
        else:
            groups.append(each)
    result: Operator = Aggregate(rows, tuple(groups), tuple(measures))
    if not read.orderings:
        return result
    keys = (
        SortKey(_as_value(each.expression), each.is_descending, nulls_first=not each.is_descending)
        for each in read.orderings
    )
    return Sort(result, tuple(keys))
