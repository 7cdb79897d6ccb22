"""Which properties a key, a uniqueness or an index can use.

The same rule holds for ``@key`` on a property and for ``@key(a, b)`` in a body; only lists may be named in the body
form of an index, where the mark on the property is refused.
"""

from __future__ import annotations

from typing import Final

from omnigraph.lang.codes import Code
from omnigraph.lang.diagnostics import Related, Report
from omnigraph.lang.source import Span
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.schema import ast

_CODES: Final = {
    "key": Code.BAD_KEY_COLUMN,
    "unique": Code.BAD_UNIQUE_COLUMN,
    "index": Code.BAD_INDEX_COLUMN,
}


def check_column(name: str, prop: ast.Property, place: Span, report: Report, *, is_mark: bool) -> bool:
    """Whether ``@key``, ``@unique`` or ``@index`` can use a property; what speaks against it is reported.

    Args:
        name: of the constraint.
        prop: the property, which was read whole.
        place: the word that asks for it.
        report: takes what is wrong.
        is_mark: whether it is written on the property itself.
    """
    problem = _problem(name, prop.type, is_mark=is_mark)
    if problem is None:
        return True
    report.add(
        _CODES[name],
        place,
        f'@{name} cannot use "{prop.name}", which is {prop.type}',
        label=problem,
        related=(Related(span=prop.type_span, label="the type"),),
    )
    return False


def _problem(name: str, column: ValueType, *, is_mark: bool) -> str | None:
    if column.scalar is Scalar.BLOB:
        return "a Blob cannot be compared"
    if name == "index":
        return "a list has no index" if is_mark and column.is_list else None
    if column.is_list or column.scalar is Scalar.VECTOR:
        return f"expected a single value, not a {'list' if column.is_list else 'Vector'}"
    if name == "key" and column.is_nullable:
        return f"a key is never missing: expected {column.with_nullable(False)}"
    return None
