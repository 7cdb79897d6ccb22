"""Values that are the same for every row: literals, parameters and ``now()``, and whether they fit where they stand.

Two questions are asked. *Comparing* (inline matches, predicates): the types must be compatible, and all numbers are.
*Storing* (assignments): the property must be able to hold the value, so ranges and dimensions count too, and an integer
for a float property becomes a float. A literal that does not fit is T3, a parameter or ``now()`` is T7.
"""

from __future__ import annotations

from typing import Final

from omnigraph.lang.codes import Code
from omnigraph.lang.dates import parse_date, parse_datetime
from omnigraph.lang.diagnostics import did_you_mean, listed
from omnigraph.lang.source import Span
from omnigraph.lang.tokens import MAX_INTEGER
from omnigraph.lang.types import Scalar, ValueType, are_compatible
from omnigraph.query import ast
from omnigraph.query.checked import (
    BOOL,
    COUNT,
    ID,
    TIME,
    Constant,
    ConstantValue,
    CurrentTime,
    EntityRef,
    Given,
    ParameterRef,
)
from omnigraph.query.scope import Scope, describe_node, find_value

INTEGER: Final = COUNT
UNSIGNED: Final = ValueType(Scalar.U64)
"""The type of an integer literal that is too large for I64."""

STRING: Final = ID
FLOAT: Final = ValueType(Scalar.F64)
DATE: Final = ValueType(Scalar.DATE)
NOW: Final = CurrentTime()

INTEGER_RANGES: Final = {
    Scalar.I32: (-(2**31), 2**31 - 1),
    Scalar.I64: (-(2**63), 2**63 - 1),
    Scalar.U32: (0, 2**32 - 1),
    Scalar.U64: (0, 2**64 - 1),
}
"""What integers of each type can be given."""

MAX_F32: Final = float.fromhex("0x1.fffffep+127")
_MAX_ROUNDED_F32: Final = float.fromhex("0x1.ffffffp+127")
"""From here on a number is rounded to infinity as F32."""

_LISTS: Final = {
    each.scalar: ValueType(each.scalar, is_list=True) for each in (STRING, INTEGER, UNSIGNED, FLOAT, BOOL, DATE, TIME)
}


def fits_f32(number: float) -> bool:
    """Whether a finite number stays finite as F32."""
    return -_MAX_ROUNDED_F32 < number < _MAX_ROUNDED_F32


def read_given(scope: Scope, value: ast.Value, *, unbound: Code = Code.NOT_BOUND) -> Given | None:
    """A value by itself, wherever it stands; None when it was refused.

    Args:
        scope: where it stands.
        value: the value.
        unbound: what a variable that is neither parameter nor bound is refused with.
    """
    if isinstance(value, ast.Variable):
        found = find_value(scope, value, unbound)
        if isinstance(found, EntityRef):
            what, advice = describe_node(scope, found)
            scope.refuse(Code.T7, value.span, f"{what}, and only a value can stand here", help=advice)
            return None
        return found
    if isinstance(value, ast.Now):
        return NOW
    return read_literal(scope, value)


def read_literal(scope: Scope, literal: ast.Literal) -> Constant | None:
    """A literal with the type that it has by itself; None when it was refused."""
    if isinstance(literal, ast.StringLiteral):
        return Constant(literal.value, STRING)
    if isinstance(literal, ast.IntegerLiteral):
        return Constant(literal.value, INTEGER if literal.value <= MAX_INTEGER else UNSIGNED)
    if isinstance(literal, ast.FloatLiteral):
        return Constant(literal.value, FLOAT)
    if isinstance(literal, ast.BoolLiteral):
        return Constant(literal.value, BOOL)
    if isinstance(literal, ast.ListLiteral):
        return _read_list(scope, literal)
    is_date = isinstance(literal, ast.DateLiteral)
    try:
        return Constant(parse_date(literal.text), DATE) if is_date else Constant(parse_datetime(literal.text), TIME)
    except ValueError as error:
        form = '"2024-05-01"' if is_date else '"2024-05-01T13:45:00Z"'
        scope.refuse(Code.BAD_DATE, literal.span, str(error), label=f"a text like {form} was expected")
        return None


def _read_list(scope: Scope, literal: ast.ListLiteral) -> Constant | None:
    """The type of a list is that of its first item; numbers take the type that holds all of them."""
    if not literal.items:
        scope.refuse(Code.BAD_LIST_LITERAL, literal.span, "an empty list has no type here", label="no items")
        return None
    found: list[Constant] = []
    for item in literal.items:
        if isinstance(item, ast.ListLiteral):
            _refuse_nested(scope, item)
            return None
        constant = read_literal(scope, item)
        if constant is None:
            return None
        if found and not are_compatible(found[0].type, constant.type):
            scope.refuse(
                Code.BAD_LIST_LITERAL,
                item.span,
                f"a list of {found[0].type} cannot also hold {constant.type}",
                label=f"expected {found[0].type}, as the first item",
            )
            return None
        found.append(constant)
    items: list[ConstantValue] = [each.value for each in found]
    scalar = found[0].type.scalar
    if scalar.is_numeric and any(each.type.scalar is Scalar.F64 for each in found):
        scalar = Scalar.F64
        items = [float(each) for each in items if isinstance(each, int | float)]
    elif any(each.type == UNSIGNED for each in found):
        # An integer literal has no sign, so the smaller ones are unsigned as well.
        scalar = Scalar.U64
    return Constant(tuple(items), _LISTS[scalar])


def _refuse_nested(scope: Scope, item: ast.ListLiteral) -> None:
    scope.refuse(Code.BAD_LIST_LITERAL, item.span, "a list cannot hold lists", label="nested list")


# ── comparing ────────────────────────────────────────────────────────────────────────────────────────────────────────


def fit_compared(
    scope: Scope, value: ast.Value, wanted: ValueType, subject: str, *, unbound: Code = Code.NOT_BOUND
) -> Given | None:
    """A value that is compared with something of a scalar type; None when it was refused.

    Args:
        scope: where it stands.
        value: the value.
        wanted: the type to compare with; for a list property that of its items.
        subject: what has this type, for messages.
        unbound: what a variable that is no parameter is refused with.
    """
    given = read_given(scope, value, unbound=unbound)
    if given is None:
        return None
    if given.type.scalar is Scalar.BLOB or not are_compatible(wanted, given.type):
        _refuse_misfit(scope, value, given, wanted, subject)
        return None
    if wanted.enum_values is not None and isinstance(given, Constant) and given.value not in wanted.enum_values:
        _refuse_member(scope, value.span, str(given.value), wanted.enum_values, subject)
        return None
    return given


def _refuse_misfit(scope: Scope, value: ast.Value, given: Given, wanted: ValueType, subject: str) -> None:
    """Say that a value has another type than the place where it stands: T3 for a literal, T7 for the others."""
    expected = wanted.with_nullable(False)
    if isinstance(given, Constant):
        shown = shown_text(scope, value.span)
        scope.refuse(
            Code.T3,
            value.span,
            f"{subject} expects {expected}, got {shown}",
            label=f"this is {given.type}",
            help=conversion_advice(given, wanted),
        )
        return
    name = f"${given.name}" if isinstance(given, ParameterRef) else "now()"
    advice = f"Declare the parameter as {name}: {_declarable(expected)}." if isinstance(given, ParameterRef) else None
    scope.refuse(
        Code.T7, value.span, f"{subject} expects {expected}, but {name} is {given.type}", label="of another type",
        help=advice,
    )  # fmt: skip


def _refuse_member(scope: Scope, span: Span, text: str, choices: tuple[str, ...], subject: str) -> None:
    scope.refuse(
        Code.T3,
        span,
        f'"{text}" is not a value of {subject}',
        label=did_you_mean(text, choices),
        help=f"{subject} takes: {listed(choices)}",
    )


def _declarable(wanted: ValueType) -> str:
    """How a parameter of this type is declared: there are no enum parameters."""
    return f"[{wanted.scalar}]" if wanted.is_list else str(wanted) if wanted.enum_values is None else "String"


def conversion_advice(given: Given, wanted: ValueType) -> str | None:
    """What to write instead of a literal of another type, where that is known."""
    if not isinstance(given, Constant) or given.type.is_list:
        return None
    if given.type.scalar is Scalar.STRING and not wanted.is_list:
        if wanted.scalar is Scalar.DATE:
            return f'Write date("{given.value}").'
        if wanted.scalar is Scalar.DATETIME:
            return f'Write datetime("{given.value}").'
        if wanted.scalar.is_numeric or wanted.scalar is Scalar.BOOL:
            return "Write it without quotes."
    if given.type.scalar is Scalar.DATE and wanted.scalar is Scalar.DATETIME:
        return "Write datetime(..) with the same text: midnight UTC is meant."
    if given.type.scalar is Scalar.DATETIME and wanted.scalar is Scalar.DATE:
        return "Write date(..) with the same text: the day in UTC is meant."
    if wanted.scalar is Scalar.STRING and given.type.scalar.is_numeric:
        return "Write it in quotes."
    return None


def shown_text(scope: Scope, span: Span) -> str:
    """What is written at a place, cut when it is long."""
    text = scope.report.source.text[span.start : span.end]
    return text if len(text) <= 40 else f"{text[:37]}..."


# ── storing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def fit_stored(scope: Scope, value: ast.Value, wanted: ValueType, subject: str) -> Given | None:
    """A value that is assigned to something of a type; None when it was refused.

    A constant comes back in the form in which it is stored, and with the type of what it is assigned to.
    """
    if not isinstance(value, ast.Variable | ast.Now):
        fitted = _fit_literal(scope, value, wanted, subject)
        return None if fitted is None else Constant(fitted, wanted.with_nullable(False))
    given = read_given(scope, value, unbound=Code.T14)
    if given is None:
        return None
    if wanted.scalar is Scalar.BLOB:
        is_fit = given.type.scalar in (Scalar.STRING, Scalar.BLOB) and not given.type.is_list
    else:
        is_fit = are_compatible(wanted, given.type)
    if not is_fit:
        _refuse_misfit(scope, value, given, wanted, subject)
        return None
    return given


def _fit_literal(scope: Scope, literal: ast.Literal, wanted: ValueType, subject: str) -> ConstantValue:
    """What is stored for a literal; None when it was refused."""
    if isinstance(literal, ast.ListLiteral):
        if wanted.scalar is Scalar.VECTOR:
            return fit_vector(scope, literal, wanted.dimension or 0, subject, Code.T3)
        if wanted.is_list:
            return _fit_list(scope, literal, wanted.item, subject)
    constant = read_literal(scope, literal)
    if constant is None:
        return None
    value = constant.value
    scalar = wanted.scalar
    if wanted.is_list or scalar is Scalar.VECTOR or constant.type.is_list:
        pass
    elif scalar in INTEGER_RANGES and isinstance(literal, ast.IntegerLiteral):
        low, high = INTEGER_RANGES[scalar]
        if low <= literal.value <= high:
            return value
        scope.refuse(
            Code.T3,
            literal.span,
            f"{subject} cannot hold {literal.value}, which exceeds {scalar} range",
            label=f"expected {low} to {high}",
        )
        return None
    elif scalar.is_float and isinstance(literal, ast.IntegerLiteral | ast.FloatLiteral):
        if scalar is Scalar.F64 or fits_f32(literal.value):
            return float(literal.value)
        scope.refuse(
            Code.T3, literal.span, f"{subject} cannot hold a number that exceeds F32 range", label=f"at most {MAX_F32}"
        )
        return None
    elif wanted.enum_values is not None and isinstance(value, str):
        if value in wanted.enum_values:
            return value
        _refuse_member(scope, literal.span, value, wanted.enum_values, subject)
        return None
    elif constant.type.scalar is scalar or (scalar is Scalar.BLOB and constant.type.scalar is Scalar.STRING):
        return value
    _refuse_misfit(scope, literal, constant, wanted, subject)
    return None


def _fit_list(scope: Scope, literal: ast.ListLiteral, item_type: ValueType, subject: str) -> ConstantValue:
    items: list[ConstantValue] = []
    for item in literal.items:
        if isinstance(item, ast.ListLiteral):
            _refuse_nested(scope, item)
        elif (fitted := _fit_literal(scope, item, item_type, f"an item of {subject}")) is not None:
            items.append(fitted)
    return tuple(items) if len(items) == len(literal.items) else None


def fit_vector(
    scope: Scope, literal: ast.ListLiteral, dimension: int, subject: str, code: Code
) -> tuple[float, ...] | None:
    """The numbers of a vector; None when it was refused with the code."""
    numbers: list[float] = []
    for item in literal.items:
        if not isinstance(item, ast.IntegerLiteral | ast.FloatLiteral):
            scope.refuse(code, item.span, f"{subject} is a vector and its elements must be numeric", label="no number")
            return None
        if not fits_f32(item.value):
            scope.refuse(code, item.span, f"an element of {subject} exceeds F32 range", label=f"at most {MAX_F32}")
            return None
        numbers.append(float(item.value))
    if len(numbers) != dimension:
        scope.refuse(
            code,
            literal.span,
            f"{subject} expects {dimension} dimensions, got {len(numbers)}",
            label=f"expected {dimension} numbers",
        )
        return None
    return tuple(numbers)
