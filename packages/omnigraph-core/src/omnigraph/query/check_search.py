"""Search functions: ``search``, ``fuzzy``, ``match_text``, ``bm25``, ``nearest`` and ``rrf``.

Each takes a property of a bound node, and values that are the same for every row. A wrong argument of ``search`` or
``fuzzy`` is T19, of ``match_text`` or ``bm25`` T20, of ``nearest`` T15, of ``rrf`` T21; an edge binding is T23 in all.
"""

from __future__ import annotations

from typing import Final

from omnigraph.lang.codes import Code
from omnigraph.lang.source import Name
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.query import ast
from omnigraph.query.ast import TextFunction
from omnigraph.query.checked import (
    Bm25,
    Constant,
    EntityRef,
    Given,
    Nearest,
    ParameterRef,
    PropertyRef,
    Ranking,
    Rrf,
    TextMatch,
)
from omnigraph.query.scope import Scope, describe_node, find_property, find_value, owner_of
from omnigraph.query.values import NOW, fit_vector, read_literal, shown_text

_CODES: Final = {
    TextFunction.SEARCH: Code.T19,
    TextFunction.FUZZY: Code.T19,
    TextFunction.MATCH_TEXT: Code.T20,
    TextFunction.BM25: Code.T20,
}
_LITERALS: Final = (
    ast.StringLiteral, ast.IntegerLiteral, ast.FloatLiteral, ast.BoolLiteral, ast.DateLiteral, ast.DateTimeLiteral,
    ast.ListLiteral,
)  # fmt: skip


def check_text_match(scope: Scope, call: ast.TextCall) -> TextMatch | None:
    """``search``, ``fuzzy`` or ``match_text``; None when it was refused."""
    field, query = _check_text_arguments(scope, call)
    max_edits = None
    if call.max_edits is not None:
        max_edits = _check_argument(scope, call.max_edits, Code.T19, "max_edits of fuzzy")
        if max_edits is None:
            return None
        if not _is_integer(max_edits):
            _refuse_argument(scope, call.max_edits, Code.T19, "max_edits of fuzzy expects an integer", max_edits)
            return None
    if field is None or query is None:
        return None
    return TextMatch(call.function, field, query, max_edits)


def check_ranking(scope: Scope, call: ast.Nearest | ast.TextCall | ast.Rrf) -> Ranking | None:
    """``nearest``, ``bm25`` or ``rrf``; None when it was refused."""
    if isinstance(call, ast.Nearest):
        return _check_nearest(scope, call)
    if isinstance(call, ast.Rrf):
        return _check_rrf(scope, call)
    field, query = _check_text_arguments(scope, call)
    return None if field is None or query is None else Bm25(field, query)


def is_ranking(expression: ast.Expression) -> bool:
    """Whether an expression is one of the three calls that rank rows."""
    if isinstance(expression, ast.TextCall):
        return expression.function is TextFunction.BM25
    return isinstance(expression, ast.Nearest | ast.Rrf)


def _check_text_arguments(scope: Scope, call: ast.TextCall) -> tuple[PropertyRef | None, Given | None]:
    """The field and the query text, each None when it was refused."""
    code = _CODES[call.function]
    field = None
    subject = call.subject
    if isinstance(subject, ast.PropertyAccess):
        field = find_property(scope, subject.variable, subject.property, is_searched=True)
        if field is not None and not field.type.is_plain_string:
            scope.refuse(
                code,
                subject.property.span,
                f"{call.function} searches a String, but ${field.variable}.{field.property} is {field.type}",
                label="not a String",
            )
            field = None
    else:
        scope.refuse(
            code,
            subject.span,
            f"{call.function} searches a property of a node",
            label='expected something like "$film.title"',
        )
    query = _check_argument(scope, call.query, code, f"the query text of {call.function}")
    if query is not None and not query.type.is_plain_string:
        _refuse_argument(scope, call.query, code, f"the query text of {call.function} expects String", query)
        query = None
    return field, query


def _check_nearest(scope: Scope, call: ast.Nearest) -> Nearest | None:
    field = find_property(scope, call.variable, call.property, code=Code.T15, is_searched=True)
    if field is None:
        # The query can be wrong on its own account, but its dimension cannot be judged.
        if not isinstance(call.query, ast.ListLiteral):
            _check_argument(scope, call.query, Code.T15, "the query of nearest")
        return None
    if field.type.scalar is not Scalar.VECTOR:
        scope.refuse(
            Code.T15,
            call.property.span,
            f"nearest compares a Vector, but ${field.variable}.{field.property} is {field.type}",
            label="not a Vector",
            help=_vectors_of(scope, call.variable),
        )
        return None
    dimension = field.type.dimension or 0
    query: Given | None
    if isinstance(call.query, ast.ListLiteral):
        subject = f"${field.variable}.{field.property}"
        numbers = fit_vector(scope, call.query, dimension, subject, Code.T15)
        query = None if numbers is None else Constant(numbers, field.type.with_nullable(False))
    else:
        query = _check_argument(scope, call.query, Code.T15, "the query of nearest")
        if query is not None and not _is_vector_query(query.type, dimension):
            _refuse_argument(
                scope, call.query, Code.T15, f"the query of nearest expects Vector({dimension}) or String", query
            )
            query = None
    if query is None:
        return None
    bound = scope.find(field.variable)
    embed = None if bound is None else owner_of(scope, bound).by_name[field.property].embed
    return Nearest(field, query, None if embed is None else embed.model)


def _is_vector_query(given: ValueType, dimension: int) -> bool:
    return given.is_plain_string or (given.scalar is Scalar.VECTOR and given.dimension == dimension)


def _check_rrf(scope: Scope, call: ast.Rrf) -> Rrf | None:
    arms = [_check_arm(scope, arm) for arm in (call.first, call.second)]
    k: Given | None = None
    is_sound = True
    if call.k is not None:
        k = _check_argument(scope, call.k, Code.T21, "k of rrf")
        if k is None:
            is_sound = False
        elif not _is_integer(k):
            _refuse_argument(scope, call.k, Code.T21, "k of rrf expects an integer", k)
            is_sound = False
        elif isinstance(k, Constant) and k.value == 0:
            scope.refuse(Code.T21, call.k.span, "k of rrf must be above 0", label="0", help="60 is usual.")
            is_sound = False
    first, second = arms
    if first is None or second is None:
        return None
    if first.field.variable != second.field.variable:
        scope.refuse(
            Code.T21,
            call.second.span,
            f"rrf fuses two rankings of one variable, not of ${first.field.variable} and ${second.field.variable}",
            label=f"expected a ranking of ${first.field.variable}",
        )
        return None
    return Rrf(first, second, k) if is_sound else None


def _check_arm(scope: Scope, arm: ast.Nearest | ast.TextCall) -> Nearest | Bm25 | None:
    if isinstance(arm, ast.TextCall) and arm.function is not TextFunction.BM25:
        scope.refuse(
            Code.T21, arm.span, f"rrf fuses nearest and bm25, and {arm.function} does not rank", label="no ranking"
        )
        return None
    ranking = check_ranking(scope, arm)
    return None if isinstance(ranking, Rrf) else ranking


def _check_argument(scope: Scope, argument: ast.Expression, code: Code, subject: str) -> Given | None:
    """A literal, a parameter or ``now()``; None when it was refused."""
    if isinstance(argument, _LITERALS):
        return read_literal(scope, argument)
    if isinstance(argument, ast.Variable):
        found = find_value(scope, argument, Code.NOT_BOUND)
        if isinstance(found, EntityRef):
            what, _ = describe_node(scope, found)
            scope.refuse(code, argument.span, f"{what}, and {subject} must be a literal or a parameter")
            return None
        return found
    if isinstance(argument, ast.Now):
        return NOW
    scope.refuse(
        code,
        argument.span,
        f"{subject} must be the same for every row",
        label="expected a literal or a parameter",
    )
    return None


def _refuse_argument(scope: Scope, argument: ast.Expression, code: Code, expectation: str, given: Given) -> None:
    if isinstance(given, ParameterRef):
        scope.refuse(code, argument.span, f"{expectation}, but ${given.name} is {given.type}", label="of another type")
    else:
        shown = shown_text(scope, argument.span)
        scope.refuse(code, argument.span, f"{expectation}, got {shown}", label=f"this is {given.type}")


def _is_integer(given: Given) -> bool:
    return given.type.scalar.is_integer and not given.type.is_list


def _vectors_of(scope: Scope, variable: Name) -> str | None:
    bound = scope.find(variable.text)
    if bound is None:
        return None
    names = [each.name for each in scope.catalog.nodes[bound.type_name].properties if each.type.dimension is not None]
    return f"Vectors of {bound.type_name}: {', '.join(names)}" if names else f"{bound.type_name} has no Vector."
