"""The order of the rows of a read query, and what it asks of the limit.

An ordering is by a property, by a column or by a ranking; the name of a column that is a ranking means the ranking.
Properties behind a ranking break its ties. ``nearest`` and ``rrf`` need a limit, because they rank the best rows only.
"""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.cancellation import check_cancelled
from omnigraph.lang.codes import Code
from omnigraph.lang.diagnostics import did_you_mean, listed
from omnigraph.lang.source import Span
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.query import ast
from omnigraph.query.check_results import property_guess
from omnigraph.query.check_search import check_ranking, is_ranking
from omnigraph.query.checked import (
    Bm25,
    ColumnRef,
    Expression,
    Nearest,
    Ordering,
    ParameterRef,
    Projection,
    PropertyRef,
    Rrf,
)
from omnigraph.query.scope import Scope, describe_node, find_property, find_value

Columns = Mapping[str, Projection | None]
"""By name; None for one whose expression was refused."""


def check_orderings(scope: Scope, read: ast.Read, columns: Columns, *, is_aggregate: bool) -> tuple[Ordering, ...]:
    """The sort keys that were not refused, in the order of the text."""
    checked: list[Ordering] = []
    by_column: list[Span] = []
    by_ranking: list[tuple[Span, Expression]] = []
    for ordering in read.orderings:
        check_cancelled()
        expression = ordering.expression
        found: Expression | None
        if isinstance(expression, ast.PropertyAccess):
            found = _order_by_property(scope, expression, columns, is_aggregate=is_aggregate)
        elif isinstance(expression, ast.Identifier):
            found = _order_by_column(scope, expression, columns)
            if isinstance(found, ColumnRef):
                by_column.append(expression.span)
        elif isinstance(expression, ast.Nearest | ast.TextCall | ast.Rrf) and is_ranking(expression):
            found = check_ranking(scope, expression)
            if found is not None and is_aggregate:
                _refuse(scope, expression, "rows are grouped before they are ordered, so they cannot be ranked", None)
                continue
        else:
            _refuse_order(scope, expression, read.projections, columns)
            continue
        if found is None:
            continue
        if isinstance(found, Nearest) and ordering.is_descending:
            # Behind the call itself this is a mistake of syntax; only an alias comes here.
            scope.refuse(
                Code.BAD_ORDERING,
                ordering.span,
                "nearest takes no desc",
                label="leave desc out",
                help="nearest(..) always puts the smallest distance first.",
            )
        if isinstance(found, Nearest | Rrf):
            by_ranking.append((expression.span, found))
        checked.append(Ordering(found, ordering.is_descending))
    if by_ranking:
        _check_limit(scope, read, by_ranking, by_column)
    return tuple(checked)


def _check_limit(
    scope: Scope, read: ast.Read, by_ranking: list[tuple[Span, Expression]], by_column: list[Span]
) -> None:
    if read.limit is None:
        for span, ranking in by_ranking:
            code, name = (Code.T21, "rrf") if isinstance(ranking, Rrf) else (Code.T17, "nearest")
            scope.refuse(
                code,
                span,
                f"an ordering by {name} needs a limit",
                label="how many of the best?",
                help="Add limit 10, or any other number, behind the order block.",
            )
    if by_column and any(isinstance(ranking, Nearest) for _, ranking in by_ranking):
        for span in by_column:
            scope.refuse(
                Code.T18,
                span,
                "an ordering by a column cannot be combined with one by nearest",
                label="a column name",
                help="Order by a property ($film.title) to break ties.",
            )


def _order_by_property(
    scope: Scope, access: ast.PropertyAccess, columns: Columns, *, is_aggregate: bool
) -> PropertyRef | ColumnRef | None:
    found = find_property(scope, access.variable, access.property)
    if found is None:
        return None
    if not is_aggregate:
        return found if _is_ordered(scope, found.type, access.span) else None
    name = f"{found.variable}.{found.property}"
    if name in columns:
        column = columns[name]
        if column is None or not _is_ordered(scope, column.type, access.span):
            return None
        return ColumnRef(name, column.type)
    aliases = [each.name for each in columns.values() if each is not None and each.expression == found]
    _refuse(
        scope,
        access,
        f"rows are grouped, and ${name} is no column of the result",
        f"Order by its column: {aliases[0]}." if aliases else f"Order by a column: {listed(columns)}.",
    )
    return None


def _order_by_column(scope: Scope, word: ast.Identifier, columns: Columns) -> Expression | None:
    name = word.name
    if name not in columns:
        scope.refuse(
            Code.UNKNOWN_COLUMN,
            word.span,
            f'there is no column "{name}" in the result',
            label=did_you_mean(name, columns) or property_guess(scope, name),
            help=f"Columns: {listed(columns)}",
        )
        return None
    column = columns[name]
    if column is None:
        return None
    if isinstance(column.expression, Nearest | Bm25 | Rrf):
        return column.expression
    return ColumnRef(name, column.type) if _is_ordered(scope, column.type, word.span) else None


def _is_ordered(scope: Scope, found: ValueType, span: Span) -> bool:
    if not found.is_list and found.scalar is not Scalar.VECTOR:
        return True
    advice = "Order by nearest(..) ranks vectors." if found.scalar is Scalar.VECTOR else None
    scope.refuse(Code.BAD_ORDERING, span, f"{found} has no order", label="cannot be ordered by", help=advice)
    return False


def _refuse_order(
    scope: Scope, expression: ast.Expression, projections: tuple[ast.Projection, ...], columns: Columns
) -> None:
    """Say what to write instead of something that is no sort key."""
    if isinstance(expression, ast.Aggregate):
        alias = next((each.alias for each in projections if each.expression == expression and each.alias), None)
        if alias is not None:
            advice = f"Order by its column: {alias}."
        else:
            advice = f"Give it a name where it is returned ({expression.function}(..) as n) and order by n."
        _refuse(scope, expression, "an aggregate is ordered by through the name of its column", advice)
    elif isinstance(expression, ast.TextCall):
        function = expression.function
        _refuse(scope, expression, f"{function} is a condition and has no order", "Order by bm25(..) for a ranking.")
    elif isinstance(expression, ast.Variable):
        found = find_value(scope, expression, Code.NOT_BOUND)
        if isinstance(found, ParameterRef):
            _refuse(scope, expression, f"${found.name} is the same for every row", "Order by a property.")
        elif found is not None:
            what, advice = describe_node(scope, found)
            if expression.name in columns:
                advice = f"Order by one of its properties, or by the column: {expression.name}."
            _refuse(scope, expression, f"{what}, and has no order by itself", advice)
    else:
        _refuse(scope, expression, "this is the same for every row", "Order by a property or a column.")


def _refuse(scope: Scope, expression: ast.Expression, message: str, advice: str | None) -> None:
    scope.refuse(Code.BAD_ORDERING, expression.span, message, label="cannot be ordered by", help=advice)
