"""Columns of Arrow to JSON, the form that results, exports and the command line share.

    pa.Array ──┬── cells ───────> Python values that ``json`` can spell: what ``Result.rows`` shows
               └── json_texts ──> one JSON text per cell: what an export joins into lines

    String, enum   string                        Date        "YYYY-MM-DD"
    Bool           true, false                   DateTime    "YYYY-MM-DDTHH:MM:SS.mmmZ"
    integers       number, full width            Vector, [T] array of the same
    F32, F64       number; F32 widened to F64    Blob        "base64:..."

The two forms agree for every cell, and both go column by column: an export has millions of cells, and a decision per
cell would cost more than the cell. The Arrow type says all that is needed; a Blob is the only binary one.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from json.encoder import encode_basestring
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import InternalError
from omnigraph.lang.dates import format_date, format_datetime, parse_date, parse_datetime

BLOB_PREFIX: Final = "base64:"

_TEXT: Final = pa.large_string()
_JOINABLE: Final = pa.string()
"""Arrow joins lists of this type of text only."""
_ESCAPED: Final = r'[\x00-\x1f"\\\x{85}\x{2028}\x{2029}]'
"""What cannot stand in a JSON string as it is, and what some tools take for the end of a line."""
_LINE_ENDS: Final = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})
# Arrow spells years of four digits as we do, and others in its own way.
_PLAIN_DAYS: Final = (parse_date("0000-01-01"), parse_date("9999-12-31"))
_PLAIN_MILLISECONDS: Final = (
    parse_datetime("0000-01-01T00:00:00.000Z"),
    parse_datetime("9999-12-31T23:59:59.999Z"),
)


def cells(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of a column as JSON values; NaN and the infinities as these words.

    Raises:
        InternalError: no property and no result has this type.
    """
    if isinstance(column, pa.ChunkedArray):
        return [cell for chunk in column.chunks for cell in cells(chunk)]
    kind = column.type
    if _is_list(kind):
        return _list_cells(column)
    if pa.types.is_floating(kind):
        return _float_cells(column)
    if _is_text(kind) or pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return list(column.to_pylist())
    return list(_plain_texts(column).to_pylist())


def json_texts(column: pa.Array) -> pa.Array:
    """Each cell of a column as compact JSON text, never null: a null is the text ``null``.

    Raises:
        InternalError: no property and no result has this type.
    """
    kind = column.type
    if _is_list(kind):
        texts = _list_texts(column)
    elif _is_text(kind):
        texts = _quoted(_escaped(column.cast(_TEXT)))
    elif pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        texts = column.cast(_TEXT)
    elif pa.types.is_floating(kind):
        texts = _float_texts(column.cast(pa.float64()))
    else:
        texts = _quoted(_plain_texts(column))
    return texts.fill_null("null")


def json_objects(columns: Mapping[str, pa.Array], count: int) -> pa.Array:
    """Each row of these columns, of so many rows, as compact JSON text: an object with their names, in their order.

    Raises:
        InternalError: no property and no result has the type of a column.
    """
    if not columns:
        return pa.array(["{}"] * count, _TEXT)
    parts: list[str | pa.Array] = []
    for name, column in columns.items():
        parts += [f"{',' if parts else '{'}{json_text(name)}:", json_texts(column)]
    return join_texts([*parts, "}"])


def json_text(text: str) -> str:
    """One text as JSON, in the form of ``json_texts``."""
    return json.dumps(text, ensure_ascii=False)


def join_texts(parts: Sequence[str | pa.Array]) -> pa.Array:
    """One text per row: the parts one after the other, of which a text is the same in every row."""
    columns = [pa.scalar(each, _TEXT) if isinstance(each, str) else each for each in (*parts, "")]
    return pc.binary_join_element_wise(*columns)


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


# ── dates and blobs: texts in both forms, without anything to escape ─────────────────────────────────────────────────


def _plain_texts(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_date32(kind):
        return _dates(column)
    if pa.types.is_date64(kind):
        return _datetimes(column)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return pa.array([None if each is None else _blob(each) for each in column.to_pylist()], _TEXT)
    if pa.types.is_null(kind):
        return column.cast(_TEXT)
    raise InternalError(f"A column of the Arrow type {kind} has no JSON form.")


def _blob(data: bytes) -> str:
    return BLOB_PREFIX + b64encode(data).decode("ascii")


def _dates(column: pa.Array) -> pa.Array:
    return _with_odd_ones(column.cast(_TEXT), column.cast(pa.int32()), bounds=_PLAIN_DAYS, spell=format_date)


def _datetimes(column: pa.Array) -> pa.Array:
    counts = column.cast(pa.int64())
    # Arrow writes a blank between the day and the time, and no zone.
    texts = pc.binary_replace_slice(counts.cast(pa.timestamp("ms")).cast(_TEXT), 10, 11, "T")
    texts = pc.binary_join_element_wise(texts, pa.scalar("Z", _TEXT), pa.scalar("", _TEXT))
    return _with_odd_ones(texts, counts, bounds=_PLAIN_MILLISECONDS, spell=format_datetime)


def _with_odd_ones(
    texts: pa.Array, counts: pa.Array, *, bounds: tuple[int, int], spell: Callable[[int], str]
) -> pa.Array:
    """The texts with those of counts outside the bounds spelled by ourselves."""
    is_odd = pc.or_(pc.less(counts, bounds[0]), pc.greater(counts, bounds[1])).fill_null(False)
    odd = counts.filter(is_odd).to_pylist()
    return pc.replace_with_mask(texts, is_odd, pa.array(map(spell, odd), _TEXT)) if odd else texts


# ── texts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _escaped(texts: pa.Array) -> pa.Array:
    """What stands between the quotes of a JSON string; most texts stand there as they are."""
    needs_it = pc.match_substring_regex(texts, _ESCAPED).fill_null(False)
    found = texts.filter(needs_it).to_pylist()
    if not found:
        return texts
    spelled = [encode_basestring(each)[1:-1].translate(_LINE_ENDS) for each in found]
    return pc.replace_with_mask(texts, needs_it, pa.array(spelled, _TEXT))


def _quoted(texts: pa.Array) -> pa.Array:
    quote = pa.scalar('"', _TEXT)
    return pc.binary_join_element_wise(quote, texts, quote, pa.scalar("", _TEXT))


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _float_cells(column: pa.Array) -> list[Any]:
    values = list(column.cast(pa.float64()).to_pylist())
    if _is_finite(column):
        return values
    return [each if each is None or each - each == 0 else _non_finite(each) for each in values]


def _float_texts(column: pa.Array) -> pa.Array:
    """The shortest digits that read back as the same bits; a whole number keeps its point, for -0.0 has a sign."""
    texts = column.cast(_TEXT)
    is_whole = pc.invert(pc.match_substring_regex(texts, "[.e]"))
    with_point = pc.binary_join_element_wise(texts, pa.scalar(".0", _TEXT), pa.scalar("", _TEXT))
    texts = pc.if_else(is_whole, with_point, texts)
    if _is_finite(column):
        return texts
    is_odd = pc.invert(pc.is_finite(column)).fill_null(False)
    words = [f'"{_non_finite(each)}"' for each in column.filter(is_odd).to_pylist()]
    return pc.replace_with_mask(texts, is_odd, pa.array(words, _TEXT))


def _is_finite(column: pa.Array) -> bool:
    return bool(pc.all(pc.is_finite(column), min_count=0).as_py())


def _non_finite(value: float) -> str:
    if value != value:
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


# ── lists and vectors ────────────────────────────────────────────────────────────────────────────────────────────────


def _list_cells(column: pa.Array) -> list[Any]:
    items = cells(column.flatten())
    found: list[Any] = []
    place = 0
    for length in pc.list_value_length(column).to_pylist():
        found.append(None if length is None else items[place : place + length])
        place += length or 0
    return found


def _list_texts(column: pa.Array) -> pa.Array:
    items = json_texts(column.flatten()).cast(_JOINABLE)
    ends = pc.cumulative_sum(pc.list_value_length(column).fill_null(0).cast(pa.int32()))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    joined = pc.binary_join(pa.ListArray.from_arrays(offsets, items), ",").cast(_TEXT)
    begin, end = pa.scalar("[", _TEXT), pa.scalar("]", _TEXT)
    texts = pc.binary_join_element_wise(begin, joined, end, pa.scalar("", _TEXT))
    return pc.if_else(column.is_valid(), texts, pa.scalar(None, _TEXT))
