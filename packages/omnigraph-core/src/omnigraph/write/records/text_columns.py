"""A column of texts, as CSV has nothing else, becomes the column of a property: each cell converted or told.

    String, enum   the text as it is            integers   digits, with or without a sign, in range
    Bool           true, false, in any case     F32, F64   decimal, with or without an exponent, finite
    Date           as ``omnigraph.lang.dates``  DateTime   the same
    Vector(n)      a JSON array of n numbers    [T]        a JSON array
    Blob           standard base64, with or without ``base64:`` before it

A cell without anything is null; so is one that is empty in quotes, but for a String, whose empty text it is. Nothing is
trimmed. Arrow converts whole columns of the usual spelling; where it does not, or takes more than we do, the cells are
read one by one, once per distinct text. Tests compare the two ways.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from omnigraph.lang.types import Scalar, ValueType
from omnigraph.write.records.columns import FittedColumn, Misfits, fit_column
from omnigraph.write.records.json_blocks import fit_json, json_type
from omnigraph.write.records.numpy_views import true_rows
from omnigraph.write.records.reasons import Misfit, Reason
from omnigraph.write.records.typed_rows import stored_column
from omnigraph.write.records.values import (
    BLOB_PREFIX,
    INTEGER_RANGES,
    converter_of,
    decode_base64,
    out_of_range,
    shown,
    wrong_type,
)

_TEXT: Final = ValueType(Scalar.STRING)
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE: Final = frozenset({"nan", "inf", "infinity"})
_BEYOND: Final = 10**20
"""No property holds an integer of as many digits."""


def fit_text_column(values: pa.StringArray, wanted: pa.DataType, of: ValueType) -> FittedColumn:
    """A column of a property.

    Args:
        values: the texts; null where there was nothing. What is not UTF-8 is told.
        wanted: the Arrow type of the property.
        of: the type of the property.
    """
    texts = fit_column(values, pa.string(), _TEXT)
    if of.is_plain_string and of.enum_values is None:
        return FittedColumn(texts.values, texts.misfits)
    cells = _without_empty(texts.values)
    if of.is_plain_string:
        return FittedColumn(cells, texts.misfits)
    if of.scalar in _DATES and not of.is_list:
        fitted = fit_column(cells, wanted, of)
        return FittedColumn(fitted.values, texts.misfits + fitted.misfits)
    quick = _convert(cells, wanted, of)
    if quick is not None:
        return FittedColumn(quick, texts.misfits)
    fitted = fit_one_by_one(cells, wanted, of)
    return FittedColumn(fitted.values, texts.misfits + fitted.misfits)


def fit_one_by_one(cells: pa.StringArray, wanted: pa.DataType, of: ValueType) -> FittedColumn:
    """The exact way: each distinct text by itself. The texts are UTF-8, and none is empty."""
    read = _reader_of(of)
    encoded = cells.dictionary_encode()
    stored: list[Any] = []
    wrong: dict[int, Misfit] = {}
    for number, text in enumerate(encoded.dictionary.to_pylist()):
        try:
            stored.append(read(text))
        except Misfit as misfit:
            stored.append(None)
            wrong[number] = misfit
    values = stored_column(stored, wanted, of).take(encoded.indices)
    if not wrong:
        return FittedColumn(values)
    return FittedColumn(values, _told(encoded.indices, wrong))


def _told(indices: pa.Array, wrong: Mapping[int, Misfit]) -> tuple[Misfits, ...]:
    """What is wrong with rows, by reason."""
    by_reason: dict[Reason, list[int]] = {}
    for number, misfit in wrong.items():
        by_reason.setdefault(misfit.reason, []).append(number)

    def tell(row: int) -> str:
        return wrong[indices[row].as_py()].text

    return tuple(
        Misfits(true_rows(pc.is_in(indices, pa.array(numbers, indices.type))), reason, tell)
        for reason, numbers in by_reason.items()
    )


def _without_empty(texts: pa.StringArray) -> pa.StringArray:
    is_empty = pc.equal(pc.binary_length(texts), 0)
    return pc.if_else(is_empty, pa.scalar(None, pa.string()), texts) if pc.any(is_empty).as_py() else texts


# ── whole columns ────────────────────────────────────────────────────────────────────────────────────────────────────


def _convert(cells: pa.StringArray, wanted: pa.DataType, of: ValueType) -> pa.Array | None:
    """The column, when every cell has the usual spelling; else None, and somebody has to look at each."""
    if cells.null_count == len(cells):
        return pa.nulls(len(cells), wanted)
    if of.is_list or of.scalar is Scalar.VECTOR:
        return _convert_arrays(cells, wanted, of)
    if of.scalar is Scalar.BOOL:
        return _convert_bools(cells)
    if of.scalar.is_integer:
        return _convert_integers(cells, wanted)
    if of.scalar.is_float:
        return _convert_floats(cells, wanted, of)
    return None


def _convert_bools(cells: pa.StringArray) -> pa.Array | None:
    words = pc.ascii_lower(cells)
    is_true = pc.equal(words, "true")
    return is_true if pc.all(pc.or_(is_true, pc.equal(words, "false"))).as_py() else None


def _convert_integers(cells: pa.StringArray, wanted: pa.DataType) -> pa.Array | None:
    # Arrow takes hexadecimal numbers too; letters stand behind digits in ASCII.
    if (_bytes_of(cells) > ord("9")).any():
        return None
    try:
        return cells.cast(wanted)
    except pa.ArrowInvalid:
        return None


def _convert_floats(cells: pa.StringArray, wanted: pa.DataType, of: ValueType) -> pa.Array | None:
    try:
        fitted = fit_column(cells.cast(pa.float64()), wanted, of)
    except pa.ArrowInvalid:
        return None
    return None if fitted.misfits else fitted.values


def _convert_arrays(cells: pa.StringArray, wanted: pa.DataType, of: ValueType) -> pa.Array | None:
    """Arrow's JSON reader takes all cells as one text, each as the only member of an object on a line of its own.

    A closing brace, a line end and an opening brace cannot follow one another within an object, so that none goes over
    two of these lines: as many objects as cells mean one for each. Members that are repeated or unknown are refused.
    """
    lines = pc.binary_join_element_wise('{"cell":', cells.fill_null("null"), "}", "")
    together = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
    text = pc.binary_join(together, "\n")[0].as_buffer()
    schema = pa.schema({"cell": json_type(of)})
    try:
        table = pa_json.read_json(
            pa.BufferReader(text),
            read_options=pa_json.ReadOptions(use_threads=False, block_size=text.size + 1),
            parse_options=pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
        )
    except pa.ArrowException:
        return None
    read = table["cell"].combine_chunks()
    # What says null is no array.
    if len(read) != len(cells) or read.null_count != cells.null_count:
        return None
    return fit_json(read, wanted, of)


def _bytes_of(cells: pa.StringArray) -> npt.NDArray[np.uint8]:
    """The bytes of all cells; what lies under a null is nothing or what was there."""
    _, offsets, data = cells.buffers()
    if data is None:
        return np.zeros(0, np.uint8)
    ends = np.frombuffer(offsets, np.int32)[cells.offset : cells.offset + len(cells) + 1]
    return np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]


# ── one by one ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _reader_of(of: ValueType) -> Callable[[str], Any]:
    """What makes of a text what the property stores.

    Raises:
        Misfit: the text is none of the type.
    """
    if of.is_list or of.scalar is Scalar.VECTOR:
        convert = converter_of(of)
        return lambda text: convert(_read_array(text, of))
    read = _READERS[of.scalar]
    return lambda text: read(text, of)


def _read_bool(text: str, of: ValueType) -> bool:
    word = text.lower()
    if not text.isascii() or word not in ("true", "false"):
        raise wrong_type(text, of, "write true or false")
    return word == "true"


def _read_integer(text: str, of: ValueType) -> int:
    if not _INTEGER.fullmatch(text):
        is_whole = _NUMBER.fullmatch(text) and float(text).is_integer()
        raise wrong_type(text, of, "write it without a fraction" if is_whole else "an integer is digits only")
    low, high = INTEGER_RANGES[of.scalar]
    digits = text.lstrip("+-").lstrip("0")
    # Python refuses integers of thousands of digits.
    size = int(digits or "0") if len(digits) < len(str(_BEYOND)) else _BEYOND
    number = -size if text.startswith("-") else size
    if not low <= number <= high:
        raise out_of_range(number, of, seen=_bare(text))
    return number


def _read_float(text: str, of: ValueType) -> float:
    if not _NUMBER.fullmatch(text):
        if text.lstrip("+-").lower() in _NOT_FINITE:
            raise out_of_range(float("nan"), of, seen=shown(text))
        raise wrong_type(text, of, "a number has a point, no comma, and no blanks")
    try:
        number: float = converter_of(of)(float(text))
    except Misfit:
        raise Misfit(Reason.OUT_OF_RANGE, f"expects {of}, got {_bare(text)}: too large for {of.scalar}") from None
    return number


def _read_blob(text: str, of: ValueType) -> bytes:
    return decode_base64(text.removeprefix(BLOB_PREFIX), of)


def _read_array(text: str, of: ValueType) -> Any:
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, list):
        raise wrong_type(text, of, "a list is written as a JSON array")
    return value


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


def _bare(text: str) -> str:
    """A number as it is written, cut when it is long."""
    return shown(text).replace('"', "")


_DATES: Final = frozenset({Scalar.DATE, Scalar.DATETIME})
_READERS: Final[Mapping[Scalar, Callable[[str, ValueType], Any]]] = {
    Scalar.BLOB: _read_blob,
    Scalar.BOOL: _read_bool,
    Scalar.I32: _read_integer,
    Scalar.I64: _read_integer,
    Scalar.U32: _read_integer,
    Scalar.U64: _read_integer,
    Scalar.F32: _read_float,
    Scalar.F64: _read_float,
}
