"""Parameters: what a caller gives, as JSON or Python values, becomes what the query declared.

Names are without ``$``. Dates become days and points in time milliseconds since 1970-01-01, lists become tuples, a
nullable parameter that is left out becomes None. Everything wrong is told at once, before anything runs.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Any, Final, Protocol

from omnigraph.cancellation import check_cancelled
from omnigraph.errors import InvalidInputError
from omnigraph.lang.dates import parse_date, parse_datetime
from omnigraph.lang.diagnostics import closest, listed
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.query.checked import CheckedParameter, ConstantValue
from omnigraph.query.values import INTEGER_RANGES, fits_f32

_DECIMAL: Final = re.compile(r"[+-]?[0-9]{1,40}")
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_SHOWN: Final = 40
_PLAIN: Final = (str, int, float, list, tuple, date, type(None))


class _Misfit(Exception):  # noqa: N818 - a signal within this module
    """A value is not of the declared type; the text says more than that, if there is more."""


class Declares(Protocol):
    """What declares parameters: a checked query, or the plan of one."""

    @property
    def name(self) -> str: ...

    @property
    def parameters(self) -> tuple[CheckedParameter, ...]: ...


def bind_parameters(query: Declares, given: Mapping[str, Any] | None) -> dict[str, ConstantValue]:
    """The value of every declared parameter, in the order of declaration.

    Args:
        query: declares the parameters.
        given: values by name; None says the same as an empty mapping.

    Raises:
        InvalidInputError: a value does not fit its declaration, is missing or was not declared. ``details["problems"]``
            lists all of them.
    """
    values: Mapping[str, Any] = {} if given is None else given
    if not isinstance(values, Mapping):
        raise InvalidInputError(
            f"params of {query.name} must be an object with a value for each name, got {_shown(given)}",
            details={"query": query.name, "problems": []},
        )
    bound: dict[str, ConstantValue] = {}
    problems: list[dict[str, str]] = []
    for parameter in query.parameters:
        check_cancelled()
        try:
            bound[parameter.name] = _bind_one(parameter, values)
        except _Misfit as misfit:
            problems.append({"parameter": parameter.name, "message": str(misfit)})
    if not values.keys() <= bound.keys():
        problems += _find_undeclared(query, values)
    if problems:
        raise InvalidInputError(
            "; ".join(each["message"] for each in problems),
            help=_declared(query.parameters),
            details={"query": query.name, "problems": problems},
        )
    return bound


def _bind_one(parameter: CheckedParameter, values: Mapping[str, Any]) -> ConstantValue:
    name, declared = parameter.name, parameter.type
    value = values.get(name)
    if value is None:
        # A name that was given with its "$" is told as undeclared, which says all.
        if declared.is_nullable or f"${name}" in values:
            return None
        if name not in values:
            raise _Misfit(f"parameter '{name}' not provided: ${name} expects {declared}")
    try:
        return _convert(value, declared)
    except _Misfit as misfit:
        reason = f" ({misfit})" if str(misfit) else ""
        raise _Misfit(f"${name} expects {declared}, got {_shown(value)}{reason}") from None


def _find_undeclared(query: Declares, values: Mapping[str, Any]) -> list[dict[str, str]]:
    names = [each.name for each in query.parameters]
    problems = []
    for key in values:
        if key in names:
            continue
        word = str(key)
        message = f"${word} is not a parameter of {query.name}"
        if word.startswith("$") and word[1:] in names:
            message = f'the name of a parameter is given without "$": "{word[1:]}", not "{word}"'
        elif guess := closest(word, names):
            message += f', did you mean "{guess}"?'
        problems.append({"parameter": word, "message": message})
    return problems


def _declared(parameters: tuple[CheckedParameter, ...]) -> str:
    if not parameters:
        return "The query has no parameters."
    return f"Parameters: {listed(f'${each.name}: {each.type}' for each in parameters)}."


# ── conversion ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _convert(value: Any, declared: ValueType) -> ConstantValue:
    """A value of the declared type.

    Raises:
        _Misfit: it is none.
    """
    value = _plain(value)
    if declared.scalar is Scalar.VECTOR:
        return _to_vector(value, declared.dimension or 0)
    convert = _CONVERTERS[declared.scalar]
    if not declared.is_list:
        return convert(value, declared.scalar)
    items: list[ConstantValue] = []
    for index, item in enumerate(_to_items(value)):
        try:
            items.append(convert(_plain(item), declared.scalar))
        except _Misfit as misfit:
            reason = f": {misfit}" if str(misfit) else ""
            raise _Misfit(f"item {index + 1} is {_shown(item)}{reason}") from None
    return tuple(items)


def _plain(value: Any) -> Any:
    """Arrays and their numbers, whichever library they come from, as lists and numbers."""
    return value if isinstance(value, _PLAIN) or not hasattr(value, "tolist") else value.tolist()


def _to_items(value: Any) -> list[Any] | tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise _Misfit
    return value


def _to_vector(value: Any, dimension: int) -> tuple[float, ...]:
    items = _to_items(value)
    if len(items) != dimension:
        raise _Misfit(f"expects {dimension} dimensions, got {len(items)}")
    if set(map(type, items)) == {float} and math.isfinite(sum(items)) and fits_f32(max(map(abs, items))):
        # The usual case, without a step per number: thousands of them are usual too.
        return tuple(items)
    numbers: list[float] = []
    for index, item in enumerate(items):
        try:
            numbers.append(_to_float(_plain(item), Scalar.F32))
        except _Misfit as misfit:
            reason = str(misfit) or "elements must be numeric"
            raise _Misfit(f"element {index + 1} is {_shown(item)}; {reason}") from None
    return tuple(numbers)


def _to_string(value: Any, scalar: Scalar) -> str:
    if not isinstance(value, str):
        raise _Misfit
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise _Misfit("half of a surrogate pair is no character") from None
    return value


def _to_bool(value: Any, scalar: Scalar) -> bool:
    if not isinstance(value, bool):
        raise _Misfit
    return value


def _to_integer(value: Any, scalar: Scalar) -> int:
    if isinstance(value, str):
        if not _DECIMAL.fullmatch(value):
            raise _Misfit("a text must be a decimal integer")
        number = int(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        number = int(value)
    elif isinstance(value, float) and value.is_integer():
        raise _Misfit("write it without a fraction")
    else:
        raise _Misfit
    low, high = INTEGER_RANGES[scalar]
    if not low <= number <= high:
        raise _Misfit(f"outside {low} to {high}")
    return number


def _to_float(value: Any, scalar: Scalar) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _Misfit
    try:
        number = float(value)
    except OverflowError:
        raise _Misfit(f"too large for {scalar}") from None
    if not math.isfinite(number):
        raise _Misfit("only finite numbers can be stored")
    if scalar is Scalar.F32 and not fits_f32(number):
        raise _Misfit(f"too large for {scalar}")
    return number


def _to_date(value: Any, scalar: Scalar) -> int:
    if isinstance(value, datetime):
        return _in_utc(value).toordinal() - _EPOCH_DAY
    if isinstance(value, date):
        return value.toordinal() - _EPOCH_DAY
    return _parse(value, parse_date)


def _to_datetime(value: Any, scalar: Scalar) -> int:
    if isinstance(value, datetime):
        since = _in_utc(value) - _EPOCH
        return since.days * 86_400_000 + since.seconds * 1_000 + since.microseconds // 1_000
    if isinstance(value, date):
        return (value.toordinal() - _EPOCH_DAY) * 86_400_000
    return _parse(value, parse_datetime)


def _in_utc(value: datetime) -> datetime:
    """A point in time without a zone is in UTC."""
    if value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise _Misfit("outside the years 1 to 9999 in UTC") from None


def _parse(value: Any, parse: Callable[[str], int]) -> int:
    if not isinstance(value, str):
        raise _Misfit
    try:
        return parse(value)
    except ValueError as error:
        raise _Misfit(str(error)) from None


_CONVERTERS: Final[Mapping[Scalar, Callable[[Any, Scalar], ConstantValue]]] = {
    Scalar.STRING: _to_string,
    Scalar.BLOB: _to_string,
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


def _shown(value: Any) -> str:
    """A value as JSON has it, cut when it is long; the type of what JSON cannot say."""
    if isinstance(value, list | tuple):
        # Lists inside are not shown: a caller may nest them a thousand levels deep.
        items = ["[...]" if isinstance(each, list | tuple) else _shown(each) for each in value[:4]]
        text = f"[{', '.join(items)}{', ...' if len(value) > 4 else ''}]"
    elif isinstance(value, str | int | float | type(None)):
        try:
            text = json.dumps(value, ensure_ascii=False)
        except ValueError:
            # Python writes no integer of thousands of digits.
            text = "a very large integer"
    elif isinstance(value, Mapping):
        text = "an object"
    elif isinstance(value, date):
        text = value.isoformat()
    else:
        text = f"a Python {type(value).__name__}"
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."
