"""What a read query gives back: its columns and their names.

Every column has a name of its own. When any column is an aggregate, the others are the group key. Scores of rankings
are columns like any other.
"""

from __future__ import annotations

from typing import Final

from omnigraph.cancellation import check_cancelled
from omnigraph.lang.codes import Code
from omnigraph.lang.diagnostics import Related
from omnigraph.lang.source import Span
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.query import ast
from omnigraph.query.ast import AggregateFunction
from omnigraph.query.check_search import check_ranking, check_text_match
from omnigraph.query.checked import (
    COUNT,
    Aggregate,
    Constant,
    CurrentTime,
    EntityRef,
    Expression,
    Given,
    ParameterRef,
    Projection,
    PropertyRef,
)
from omnigraph.query.scope import UNKNOWN, Scope, find_property, find_value, owner_of
from omnigraph.query.values import NOW, read_literal, shown_text

_AGGREGATED: Final = (PropertyRef, EntityRef, ParameterRef, Constant, CurrentTime)
_GROUPED: Final = (ast.Aggregate, ast.PropertyAccess, ast.Variable)
"""What can stand in a query with an aggregate: besides aggregates, the parts of the group key."""

_TIMES: Final = (Scalar.DATE, Scalar.DATETIME)
_DIRECTIONS: Final = {AggregateFunction.MIN: "asc", AggregateFunction.MAX: "desc"}
_TOTAL: Final = ValueType(Scalar.F64, is_nullable=True)


def check_projections(
    scope: Scope, projections: tuple[ast.Projection, ...], *, is_aggregate: bool
) -> dict[str, Projection | None]:
    """The columns by their names, None for one whose expression was refused."""
    columns: dict[str, Projection | None] = {}
    places: dict[str, Span] = {}
    for projection in projections:
        check_cancelled()
        alias = projection.alias
        name = column_name(projection.expression) if alias is None else alias.text
        if is_aggregate and not isinstance(projection.expression, _GROUPED):
            _refuse_group_key(scope, projection.expression)
            columns.setdefault(name, None)
            continue
        expression = _check_value(scope, projection.expression)
        if name in places:
            _refuse_duplicate(scope, name, projection, places[name])
            continue
        places[name] = projection.span
        columns[name] = None if expression is None else Projection(name, expression, alias is not None)
    return columns


def column_name(expression: ast.Expression) -> str:
    """What a column is called when it has no alias."""
    if isinstance(expression, ast.PropertyAccess):
        return f"{expression.variable}.{expression.property}"
    if isinstance(expression, ast.Variable | ast.Identifier):
        return expression.name
    if isinstance(expression, ast.Aggregate):
        return column_name(expression.argument)
    if isinstance(expression, ast.TextCall):
        return str(expression.function)
    if isinstance(expression, ast.Nearest):
        return "nearest"
    if isinstance(expression, ast.Rrf):
        return "rrf"
    return "now" if isinstance(expression, ast.Now) else "literal"


def _refuse_duplicate(scope: Scope, name: str, projection: ast.Projection, first: Span) -> None:
    text = scope.report.source.text
    span = projection.span
    place = span if projection.alias is None else projection.alias.span
    scope.refuse(
        Code.DUPLICATE_OUTPUT,
        place,
        f'two columns are called "{name}": {text[first.start : first.end]} and {text[span.start : span.end]}',
        label="the second",
        help="Give one of them another name with as.",
        related=(Related(span=first, label="the first"),),
    )


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _check_value(scope: Scope, expression: ast.Expression) -> Expression | None:
    """What a column holds; None when it was refused."""
    if isinstance(expression, ast.PropertyAccess):
        return find_property(scope, expression.variable, expression.property)
    if isinstance(expression, ast.Variable):
        return _check_variable(scope, expression)
    if isinstance(expression, ast.Aggregate):
        return _check_aggregate(scope, expression)
    if isinstance(expression, ast.Nearest | ast.Rrf):
        return check_ranking(scope, expression)
    if isinstance(expression, ast.TextCall):
        if expression.function is ast.TextFunction.BM25:
            return check_ranking(scope, expression)
        check_text_match(scope, expression)
        scope.refuse(
            Code.BAD_PROJECTION,
            expression.span,
            f"{expression.function} is a condition, which rows meet or not, and is no column",
            label="not a value",
            help=f"Write {expression.function}(..) in the match block; return bm25(..) for a score.",
        )
        return None
    if isinstance(expression, ast.Identifier):
        scope.refuse(
            Code.BAD_PROJECTION,
            expression.span,
            f'"{expression.name}" is no value',
            label=property_guess(scope, expression.name) or "expected a property such as $film.title",
        )
        return None
    return NOW if isinstance(expression, ast.Now) else read_literal(scope, expression)


def _check_variable(scope: Scope, variable: ast.Variable) -> Given | EntityRef | None:
    found = find_value(scope, variable, Code.NOT_BOUND)
    if found is not None and found.type.scalar is Scalar.BLOB:
        scope.refuse(Code.T24, variable.span, f"${variable.name} is a Blob, which a query cannot read", label="a Blob")
        return None
    return found


def _check_aggregate(scope: Scope, call: ast.Aggregate) -> Aggregate | None:
    argument = call.argument
    if isinstance(argument, ast.Nearest | ast.TextCall | ast.Rrf | ast.Aggregate | ast.Identifier):
        scope.refuse(
            Code.T8,
            argument.span,
            f"{call.function} takes a property, a variable, a parameter or a literal",
            label=(property_guess(scope, argument.name) if isinstance(argument, ast.Identifier) else None)
            or "cannot be aggregated",
        )
        return None
    found = _check_value(scope, argument)
    if found is None or not isinstance(found, _AGGREGATED):
        return None
    function = call.function
    if function is AggregateFunction.COUNT:
        return Aggregate(function, found, COUNT)
    is_node = isinstance(found, EntityRef)
    if function is AggregateFunction.SUM or function is AggregateFunction.AVG:
        if is_node or found.type.is_numeric:
            return Aggregate(function, found, _TOTAL)
        wanted = "numbers"
    else:
        if is_node or found.type.is_numeric or found.type.is_plain_string:
            return Aggregate(function, found, found.type.with_nullable(True))
        wanted = "numbers or Strings"
    advice = None
    if found.type.scalar in _TIMES and not found.type.is_list and function in _DIRECTIONS:
        subject = shown_text(scope, argument.span)
        advice = f"Find it by an ordering: order {{ {subject} {_DIRECTIONS[function]} }} limit 1"
        if function is AggregateFunction.MIN and found.type.is_nullable:
            advice += f". Null comes first; {subject} = {subject} in the match block leaves it out."
    scope.refuse(
        Code.T8,
        argument.span,
        f"{function} takes {wanted}, but this is {found.type}",
        label=f"expected {wanted}",
        help=advice,
    )
    return None


def _refuse_group_key(scope: Scope, expression: ast.Expression) -> None:
    guess = property_guess(scope, expression.name) if isinstance(expression, ast.Identifier) else None
    scope.refuse(
        Code.T9,
        expression.span,
        "only properties, variables and parameters can stand beside an aggregate",
        label=guess or "cannot be a group key",
        help="Leave it out, or return it by a query of its own.",
    )


def property_guess(scope: Scope, name: str) -> str | None:
    """The variable, the parameter or the property that a bare word was probably meant to be."""
    if name in scope.parameters or f"${name}" in scope.visible_names():
        return f'did you mean "${name}"?'
    for each in scope.variables.values():
        if each is not UNKNOWN and name in owner_of(scope, each).by_name:
            return f'did you mean "${each.name}.{name}"?'
    return None
