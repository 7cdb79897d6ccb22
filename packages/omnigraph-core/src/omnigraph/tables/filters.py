"""Filters that Lance can run, and what is done about those that it cannot.

A structured filter (a pyarrow Expression) travels to Lance as Substrait, which has no unsigned integers and no date64.
A filter *on* such a column is refused, and so is any filter on a table that has a *list* of them, whatever the filter
is about. For look-ups by key there is another way that uses indexes as well: SQL, with literals written by the one
encoder below. Every other filter that is refused is judged here, batch by batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from lance import LanceDataset

ROW_ADDRESS: Final = "_rowaddr"

_REFUSALS: Final = (
    "Unsupported Substrait user defined type",
    "not yet supported by Substrait conversion",
    "Substrait is only capable of representing unsafe casts",
)


def keys_filter(schema: pa.Schema, column: str, keys: pa.Array) -> pc.Expression | str:
    """The filter for rows whose column has one of these values, in the form that suits the table."""
    kind = schema.field(column).type
    is_foreign = _is_foreign(kind) or any(_is_foreign(each.type.value_type) for each in schema if _is_list(each.type))
    if is_foreign and (pa.types.is_string(kind) or pa.types.is_integer(kind)):
        literals = ", ".join(_literal(value) for value in keys.to_pylist() if value is not None)
        return f"{quoted(column)} IN ({literals})" if literals else "false"
    return pc.field(column).isin(keys)


def addresses_filter(addresses: Sequence[int]) -> str:
    """The filter for rows at these addresses, which Lance answers by fetching them and not by a scan."""
    return f"{ROW_ADDRESS} IN ({', '.join(map(str, addresses))})" if addresses else "false"


def scan_batches(
    dataset: LanceDataset,
    columns: Sequence[str],
    predicate: pc.Expression | str | None,
    *,
    instead: str | None = None,
    **options: Any,
) -> Iterator[pa.RecordBatch]:
    """The batches of a scan; a filter that Lance refuses is applied here.

    ``instead`` is a wider filter in SQL that Lance gets in the place of a refused one.
    """
    try:
        return iter(dataset.scanner(columns=list(columns), filter=predicate, **options).to_reader())
    except (ValueError, OSError) as error:
        if not isinstance(predicate, pc.Expression) or not is_refusal(error):
            raise
    wanted = [*columns, *(name for name in columns_of(predicate, dataset.schema) if name not in columns)]
    # A scan of no column is a scan of addresses or nothing; a predicate without columns is as good on any one.
    everything = dataset.scanner(columns=wanted or dataset.schema.names[:1], filter=instead, **options).to_reader()
    return _judged(everything, columns, predicate, with_address=bool(options.get("with_row_address")))


def is_refusal(error: BaseException) -> bool:
    """Whether Lance says that it cannot take a filter, and not that it failed."""
    return any(each in str(error) for each in _REFUSALS)


def columns_of(predicate: pc.Expression, schema: pa.Schema) -> list[str]:
    """The columns that a predicate is about. Arrow does not tell, but misses those that are not there."""
    plain = [each for each in schema if not isinstance(each.type, pa.BaseExtensionType)]
    named = []
    for each in plain:
        try:
            pa.schema([other for other in plain if other is not each]).empty_table().filter(predicate)
        except (pa.ArrowInvalid, KeyError):
            named.append(each.name)
    return named


def quoted(column: str) -> str:
    """The name of a column in SQL."""
    return "`" + column.replace("`", "``") + "`"


def ids_between(low: str | None, high: str | None) -> tuple[pc.Expression | None, str | None]:
    """The filter for ``low <= id < high`` in both forms; None where there is no bound."""
    bounds = [("id >= ", low, pc.field("id") >= low)] if low is not None else []
    bounds += [("id < ", high, pc.field("id") < high)] if high is not None else []
    expression: pc.Expression | None = None
    for _, _, each in bounds:
        expression = each if expression is None else expression & each
    return expression, " AND ".join(text + _literal(value) for text, value, _ in bounds) or None


def _judged(
    batches: pa.RecordBatchReader, columns: Sequence[str], predicate: pc.Expression, *, with_address: bool
) -> Iterator[pa.RecordBatch]:
    names = [*columns, ROW_ADDRESS] if with_address else [*columns]
    for batch in batches:
        found = pa.Table.from_batches([batch]).filter(predicate).select(names)
        yield from found.to_batches()


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind))


def _is_foreign(kind: pa.DataType) -> bool:
    return bool(pa.types.is_unsigned_integer(kind) or pa.types.is_date64(kind))


def _literal(value: str | int) -> str:
    """A literal of SQL. Only strings and integers come here, so doubling quotes is all there is to escape."""
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
