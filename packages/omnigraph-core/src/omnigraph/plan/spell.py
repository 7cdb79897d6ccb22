"""Values, conditions and sort keys in the spelling of the query language; what ``explain`` prints between operators.

Text that was given as a literal is quoted and escaped, so that a plan never breaks its lines. Long lists are cut.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from omnigraph.lang.dates import format_date, format_datetime
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.plan.ir import Measure, Place, Predicate, SortKey, Value
from omnigraph.query import checked
from omnigraph.query.checked import (
    Bm25,
    ColumnRef,
    Comparison,
    Constant,
    ConstantValue,
    CurrentTime,
    EntityRef,
    Expression,
    Nearest,
    ParameterRef,
    PropertyMatch,
    PropertyRef,
    Rrf,
    TextMatch,
)
from omnigraph.query.printer import positional, quoted

_LONG: Final = 8


def spell(value: Expression | Value) -> str:
    """An expression as one would write it. A column of the result is its name."""
    match value:
        case Constant():
            return _literal(value.value, value.type)
        case ParameterRef():
            return f"${value.name}"
        case CurrentTime():
            return "now()"
        case PropertyRef():
            return f"${value.variable}.{value.property}"
        case EntityRef():
            return f"${value.variable}"
        case TextMatch():
            edits = "" if value.max_edits is None else f", {spell(value.max_edits)}"
            return f"{value.function}({spell(value.field)}, {spell(value.query)}{edits})"
        case Bm25():
            return f"bm25({spell(value.field)}, {spell(value.query)})"
        case Nearest():
            return f"nearest({spell(value.field)}, {spell(value.query)})"
        case Rrf():
            k = "" if value.k is None else f", {spell(value.k)}"
            return f"rrf({spell(value.first)}, {spell(value.second)}{k})"
        case Place():
            return "place" if value.arm is None else f"place in arm {value.arm}"
        case ColumnRef():
            return value.name
        case checked.Aggregate():
            return f"{value.function}({spell(value.argument)})"


def spell_predicate(predicate: Predicate) -> str:
    """A condition; an inline match as the comparison that it means."""
    match predicate:
        case Comparison():
            return f"{spell(predicate.left)} {predicate.operator} {spell(predicate.right)}"
        case PropertyMatch():
            return f"{spell(predicate.field)} {'contains' if predicate.is_membership else '='} {spell(predicate.value)}"
        case TextMatch():
            return spell(predicate)


def spell_predicates(predicates: Iterable[Predicate]) -> str:
    """Conditions that must all hold."""
    return " and ".join(spell_predicate(each) for each in predicates)


def spell_sort_keys(keys: Iterable[SortKey]) -> str:
    """Sort keys; where nulls go is said when it is not where they go by default."""
    return ", ".join(_sort_key(each) for each in keys)


def spell_measure(measure: Measure) -> str:
    """A value of a group, with its name."""
    return f"{measure.name} = {measure.function}({spell(measure.argument)})"


def _sort_key(key: SortKey) -> str:
    text = spell(key.value)
    if key.is_descending:
        text += " desc"
    if key.nulls_first is key.is_descending:
        text += " nulls first" if key.nulls_first else " nulls last"
    return text


def _literal(value: ConstantValue, declared: ValueType) -> str:
    match value:
        case None:
            return "null"
        case tuple():
            items = [_literal(each, declared.item) for each in value[:_LONG]]
            more = len(value) - _LONG
            return f"[{', '.join(items)}{f', {more} more' if more > 0 else ''}]"
        case bool():
            return "true" if value else "false"
        case str():
            return _on_one_line(quoted(value))
        case float():
            return positional(value)
        case int() if declared.scalar is Scalar.DATE:
            return f'date("{format_date(value)}")'
        case int() if declared.scalar is Scalar.DATETIME:
            return f'datetime("{format_datetime(value)}")'
        case _:
            return repr(value)


def _on_one_line(literal: str) -> str:
    if literal.isprintable():
        return literal
    return "".join(each if each.isprintable() else f"\\u{{{ord(each):x}}}" for each in literal)
