"""One JSON value becomes what a property stores, or a ``Misfit`` that says why it cannot.

    Date -> days, DateTime -> milliseconds, F32/F64 -> float, Blob -> bytes, Vector -> floats, [T] -> a list of these

This is the judge: ``json_blocks`` and ``columns`` do the same for whole columns, and tests hold them to what is said
here. Records that come as Python dicts may also hold dates, points in time, bytes, tuples and arrays of numbers.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from functools import lru_cache, partial
from typing import Any, Final

from omnigraph.lang.dates import (
    MAX_DAYS,
    MAX_MILLISECONDS,
    MAX_YEAR,
    MIN_DAYS,
    MIN_MILLISECONDS,
    MIN_YEAR,
    parse_date,
    parse_datetime,
)
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.query.values import fits_f32
from omnigraph.write.records.reasons import Misfit, Reason

Converter = Callable[[Any], Any]
"""From a value that is not null to what is stored.

Raises:
    Misfit: it does not fit.
"""

BLOB_PREFIX: Final = "base64:"

INTEGER_RANGES: Final[Mapping[Scalar, tuple[int, int]]] = {
    Scalar.I32: (-(2**31), 2**31 - 1),
    Scalar.I64: (-(2**63), 2**63 - 1),
    Scalar.U32: (0, 2**32 - 1),
    Scalar.U64: (0, 2**64 - 1),
}
"""What integers of each type hold; all that the columns can."""

DATE_RANGES: Final[Mapping[Scalar, tuple[int, int]]] = {
    Scalar.DATE: (MIN_DAYS, MAX_DAYS),
    Scalar.DATETIME: (MIN_MILLISECONDS, MAX_MILLISECONDS),
}

_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_SHOWN: Final = 40
_PLAIN: Final = (str, int, float, list, tuple, bytes, date, dict, type(None))


def converter_of(of: ValueType) -> Converter:
    """What turns the values of a property of this type into what is stored."""
    if of.scalar is Scalar.VECTOR:
        return partial(_to_vector, of)
    if of.is_list:
        return partial(_to_list, of, converter_of(of.item))
    return partial(_CONVERTERS[of.scalar], of)


def shown(value: Any) -> str:
    """A value as JSON has it, cut when it is long; the type of what JSON cannot say."""
    if isinstance(value, list | tuple):
        # Lists inside are not shown: they may be nested a thousand levels deep.
        items = ["[...]" if isinstance(each, list | tuple) else shown(each) for each in value[:4]]
        text = f"[{', '.join(items)}{', ...' if len(value) > 4 else ''}]"
    elif isinstance(value, str):
        # Half of a surrogate pair cannot be printed; as an escape it can.
        text = json.dumps(value[: _MAX_SHOWN + 1], ensure_ascii=not is_text(value))
    elif isinstance(value, bool | float | type(None)):
        text = json.dumps(value)
    elif isinstance(value, int):
        text = str(value) if abs(value) < 10**_MAX_SHOWN else "a very large integer"
    elif isinstance(value, Mapping):
        text = "an object"
    elif isinstance(value, date):
        text = value.isoformat()
    else:
        text = f"a Python {type(value).__name__}"
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."


def is_text(value: str) -> bool:
    """Whether every character is one: half of a surrogate pair is none."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def wrong_type(value: Any, of: ValueType, why: str = "") -> Misfit:
    """A value of another type, as JSON or Python have types."""
    return Misfit(Reason.WRONG_TYPE, f"expects {of}, got {shown(value)}{why and f': {why}'}")


def out_of_range(value: Any, of: ValueType, *, seen: str | None = None) -> Misfit:
    """A number, date or point in time that the type cannot hold; ``seen`` is what it looks like in the input."""
    if of.scalar.is_float:
        is_finite = isinstance(value, int) or math.isfinite(value)
        why = f"too large for {of.scalar}" if is_finite else "only finite numbers can be stored"
    elif of.scalar in DATE_RANGES:
        why = f"the year must be between {MIN_YEAR} and {MAX_YEAR}"
    else:
        low, high = INTEGER_RANGES[of.scalar]
        why = f"outside {low} to {high}"
    return Misfit(Reason.OUT_OF_RANGE, f"expects {of}, got {seen or shown(value)}: {why}")


# ── scalars ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _to_string(of: ValueType, value: Any) -> str:
    if type(value) is not str:
        if not isinstance(value, str):
            raise wrong_type(value, of)
        value = str.__str__(value)
    text: str = value
    if not is_text(text):
        raise Misfit(Reason.BAD_TEXT, f"expects {of}, got {shown(text)}: half of a surrogate pair is no character")
    return text


def _to_bool(of: ValueType, value: Any) -> bool:
    value = _plain(value)
    if not isinstance(value, bool):
        raise wrong_type(value, of)
    return value


def _to_integer(of: ValueType, value: Any) -> int:
    number = _integer(value)
    if number is None:
        is_whole = isinstance(value, float) and value.is_integer()
        raise wrong_type(value, of, "write it without a fraction" if is_whole else "")
    low, high = INTEGER_RANGES[of.scalar]
    if not low <= number <= high:
        raise out_of_range(number, of)
    return number


def _integer(value: Any) -> int | None:
    """The value as an exact ``int`` if it is one; neither true nor 3.0 is."""
    value = _plain(value)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _to_float(of: ValueType, value: Any) -> float:
    value = value if type(value) is float else _plain(value)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise wrong_type(value, of)
    try:
        number = float(value)
    except OverflowError:
        raise out_of_range(value, of) from None
    if not math.isfinite(number) or (of.scalar is Scalar.F32 and not fits_f32(number)):
        raise out_of_range(value, of)
    return number


def _to_date(of: ValueType, value: Any) -> int:
    if isinstance(value, str):
        return _parse(of, value, _parse_date)
    if isinstance(value, datetime):
        return _in_utc(value, of).toordinal() - _EPOCH_DAY
    if isinstance(value, date):
        return value.toordinal() - _EPOCH_DAY
    return _to_count(of, value)


def _to_datetime(of: ValueType, value: Any) -> int:
    if isinstance(value, str):
        return _parse(of, value, parse_datetime)
    if isinstance(value, datetime):
        since = _in_utc(value, of) - _EPOCH
        return since.days * 86_400_000 + since.seconds * 1_000 + since.microseconds // 1_000
    if isinstance(value, date):
        return (value.toordinal() - _EPOCH_DAY) * 86_400_000
    return _to_count(of, value)


def _to_count(of: ValueType, value: Any) -> int:
    """A date that is given as days, or a point in time as milliseconds, since 1970."""
    number = _integer(value)
    if number is None:
        raise wrong_type(value, of)
    low, high = DATE_RANGES[of.scalar]
    if not low <= number <= high:
        raise out_of_range(number, of)
    return number


def _parse(of: ValueType, text: str, parse: Callable[[str], int]) -> int:
    try:
        return parse(text)
    except ValueError as error:
        raise Misfit(Reason.BAD_DATE, f"expects {of}: {error}") from None


def _in_utc(value: datetime, of: ValueType) -> datetime:
    """A point in time without a zone is in UTC."""
    # What pandas calls "not a time" is a datetime that equals nothing, itself included.
    if value != value:
        raise wrong_type(None, of)
    if value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        text = f"expects {of}, got {shown(value)}: outside the years 1 to 9999 in UTC"
        raise Misfit(Reason.OUT_OF_RANGE, text) from None


def _to_blob(of: ValueType, value: Any) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if not isinstance(value, str):
        raise wrong_type(value, of)
    if not value.startswith(BLOB_PREFIX):
        raise Misfit(
            Reason.EXTERNAL_URI,
            f'expects {of}, got {shown(value)}: URIs are not followed; give the bytes as "base64:..."',
        )
    return decode_base64(value[len(BLOB_PREFIX) :], of)


def decode_base64(payload: str, of: ValueType) -> bytes:
    """The bytes of the one standard spelling: padded, without blanks, without bits that mean nothing.

    Raises:
        Misfit: the text is another.
    """
    try:
        content = base64.b64decode(payload, validate=True)
        why = "it has bits behind its end"
    except (binascii.Error, ValueError) as error:
        content, why = b"", str(error).lower()
    if base64.b64encode(content) != payload.encode(errors="replace"):
        raise Misfit(Reason.BAD_BASE64, f'expects {of} as "base64:..." in the standard alphabet with padding: {why}')
    return content


# ── lists and vectors ────────────────────────────────────────────────────────────────────────────────────────────────


def _to_list(of: ValueType, convert_item: Converter, value: Any) -> list[Any]:
    items = _items(value, of)
    stored = []
    for index, item in enumerate(items):
        if item is None:
            raise Misfit(Reason.BAD_ITEM, f"expects {of}, and item {index + 1} is null")
        try:
            stored.append(convert_item(item))
        except Misfit as misfit:
            raise Misfit(Reason.BAD_ITEM, f"expects {of}, and item {index + 1} {misfit.text}") from None
    return stored


def _to_vector(of: ValueType, value: Any) -> list[float]:
    items = _items(value, of)
    if len(items) != of.dimension:
        raise Misfit(Reason.BAD_VECTOR, f"expects {of.dimension} dimensions, got {len(items)}")
    if set(map(type, items)) == {float} and math.isfinite(sum(items)) and fits_f32(max(map(abs, items))):
        # The usual case, without a step per number: thousands of them are usual too.
        return list(items)
    numbers = []
    for index, item in enumerate(items):
        try:
            numbers.append(_to_float(_ELEMENT, item))
        except Misfit as misfit:
            is_number = misfit.reason is Reason.OUT_OF_RANGE
            why = "must stay finite as F32" if is_number else "elements must be numeric"
            text = f"expects {of}, and element {index + 1} is {shown(item)}: {why}"
            raise Misfit(Reason.BAD_VECTOR, text) from None
    return numbers


def _items(value: Any, of: ValueType) -> list[Any] | tuple[Any, ...]:
    value = _plain(value)
    if not isinstance(value, list | tuple):
        raise wrong_type(value, of)
    return value


def _plain(value: Any) -> Any:
    """Arrays and their numbers, whichever library they come from, as lists and numbers."""
    return value if isinstance(value, _PLAIN) or not hasattr(value, "tolist") else value.tolist()


# Days repeat; points in time hardly do.
_parse_date: Final = lru_cache(maxsize=16_384)(parse_date)

_ELEMENT: Final = ValueType(Scalar.F32)

_CONVERTERS: Final[Mapping[Scalar, Callable[[ValueType, Any], Any]]] = {
    Scalar.STRING: _to_string,
    Scalar.BLOB: _to_blob,
    Scalar.BOOL: _to_bool,
    Scalar.I32: _to_integer,
    Scalar.I64: _to_integer,
    Scalar.U32: _to_integer,
    Scalar.U64: _to_integer,
    Scalar.F32: _to_float,
    Scalar.F64: _to_float,
    Scalar.DATE: _to_date,
    Scalar.DATETIME: _to_datetime,
}
