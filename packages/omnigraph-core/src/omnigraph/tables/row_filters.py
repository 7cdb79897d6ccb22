"""Conditions on the rows of a table, as values: what callers say, in the two forms that Lance takes.

    RowFilter ──> an Expression of pyarrow      travels as Substrait, which has no unsigned integers and no date64
              └─> SQL, each literal with its type      for those, and for a table with a list of them

Both use the same indexes. Lance refuses an Expression on a column of these types, and every Expression on a table that
has a *list* of them, whatever it is about. So the form is chosen by the schema of the table, in one place, and nothing
above this module knows of it. A literal has the type of its column already; SQL is written from typed literals only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import InternalError

Comparator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]

_COMPARE: Final = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
_SMALLEST: Final = -(2**63)


@dataclass(frozen=True, slots=True)
class Compared:
    """``column operator value``; never true of null."""

    column: str
    operator: Comparator
    value: pa.Scalar


@dataclass(frozen=True, slots=True)
class OneOf:
    """The column has one of these values."""

    column: str
    values: pa.Array


@dataclass(frozen=True, slots=True)
class NullTest:
    """The column is null, or is not."""

    column: str
    is_null: bool


@dataclass(frozen=True, slots=True)
class AllOf:
    """All of these hold; there is at least one."""

    parts: tuple[RowFilter, ...]


RowFilter: TypeAlias = Compared | OneOf | NullTest | AllOf


def all_of(parts: Sequence[RowFilter]) -> RowFilter | None:
    """All of these conditions; None when there are none."""
    return parts[0] if len(parts) == 1 else AllOf(tuple(parts)) if parts else None


def for_lance(wanted: RowFilter, schema: pa.Schema) -> pc.Expression | str:
    """A filter in the form that Lance takes for a table of this physical schema."""
    needs_sql = any(_is_foreign(each.type.value_type) for each in schema if pa.types.is_list(each.type))
    if needs_sql or any(_is_foreign(schema.field(each).type) for each in columns_of(wanted)):
        return as_sql(wanted)
    return as_expression(wanted)


def columns_of(wanted: RowFilter) -> tuple[str, ...]:
    """The columns that a filter is about, each once."""
    if isinstance(wanted, AllOf):
        return tuple(dict.fromkeys(name for each in wanted.parts for name in columns_of(each)))
    return (wanted.column,)


def as_expression(wanted: RowFilter) -> pc.Expression:
    """A filter as an Expression of pyarrow."""
    match wanted:
        case Compared(column, operator, value):
            return _COMPARE[operator](pc.field(column), value)
        case OneOf(column, values):
            return pc.field(column).isin(values)
        case NullTest(column, is_null):
            return pc.field(column).is_null() if is_null else pc.field(column).is_valid()
        case AllOf(parts):
            return _conjunction([as_expression(each) for each in parts])


def as_sql(wanted: RowFilter) -> str:
    """A filter as SQL, with its literals written by their types."""
    match wanted:
        case Compared(column, operator, value):
            return f"{_quoted(column)} {operator} {_literal(value)}"
        case OneOf(column, values):
            literals = ", ".join(_literal(each) for each in values if each.is_valid)
            return f"{_quoted(column)} IN ({literals})" if literals else "false"
        case NullTest(column, is_null):
            return f"{_quoted(column)} IS {'' if is_null else 'NOT '}NULL"
        case AllOf(parts):
            return " AND ".join(as_sql(each) for each in parts)


def _conjunction(parts: Sequence[pc.Expression]) -> pc.Expression:
    """All of these, as a tree of little depth: what Arrow writes of one doubles with every level."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return _conjunction(parts[:half]) & _conjunction(parts[half:])


def _is_foreign(kind: pa.DataType) -> bool:
    """Whether Substrait cannot say this type."""
    return bool(pa.types.is_unsigned_integer(kind) or pa.types.is_date64(kind))


def _quoted(column: str) -> str:
    return "`" + column.replace("`", "``") + "`"


def _literal(value: pa.Scalar) -> str:
    """A literal of SQL with the value and the type of a scalar. In a text doubling quotes is all there is to escape."""
    kind = value.type
    if pa.types.is_string(kind):
        return "'" + str(value.as_py()).replace("'", "''") + "'"
    if pa.types.is_boolean(kind):
        return "true" if value.as_py() else "false"
    if pa.types.is_date64(kind):
        return _cast(value.cast(pa.int64()).as_py(), "Date64")
    if pa.types.is_date32(kind):
        return _cast(_cast(value.cast(pa.int32()).as_py(), "Int32"), "Date32")
    if pa.types.is_integer(kind):
        number = value.as_py()
        # The parser reads a sign by itself, and there is no 2**63 to put it before.
        return str(number) if number != _SMALLEST else _cast(number, "Int64")
    if pa.types.is_float32(kind) or pa.types.is_float64(kind):
        return _cast(repr(value.as_py()), "Float32" if pa.types.is_float32(kind) else "Float64")
    raise InternalError(f"There is no literal of SQL for {kind}.")


def _cast(number: Any, kind: str) -> str:
    return f"arrow_cast({number}, '{kind}')"
