"""The id of a node with a key: a pure function of the values of its key.

Each value has one spelling, so that two writers that never meet give one node the same id, and so that people can write
the id of a node they want to connect. Members of a composite key are in the order of their stable property ids, which a
rename does not change; see ``NodeIR.key``.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from decimal import Decimal

from omnigraph.lang.types import Scalar, ValueType

KeyValue = str | int | float | bool


def spell_id(members: Sequence[tuple[KeyValue, ValueType]]) -> str:
    """The id that a key gives.

    Args:
        members: the stored values and types of the key, in the order of their stable property ids. Dates are days and
            points in time milliseconds since 1970-01-01.

    Raises:
        ValueError: a float that is not finite.
    """
    spelled = [spell_value(value, of) for value, of in members]
    if len(spelled) == 1:
        return spelled[0]
    return json.dumps(spelled, ensure_ascii=False, separators=(",", ":"))


def spell_value(value: KeyValue, of: ValueType) -> str:
    """One value of a key, or of a unique tuple, as text that equal values share.

    Raises:
        ValueError: a float that is not finite.
    """
    if of.scalar is Scalar.BOOL:
        return "true" if value else "false"
    if of.scalar.is_float:
        return _spell_float(float(value), of.scalar)
    return str(value)


def _spell_float(value: float, scalar: Scalar) -> str:
    """The shortest digits that read back as the stored number, without an exponent and without a trailing ``.0``."""
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be part of a key: only finite numbers can be stored")
    if value == 0:
        return "0"
    digits = Decimal(repr(value) if scalar is Scalar.F64 else _shortest_f32(value))
    return f"{digits:f}".removesuffix(".0")


def _shortest_f32(value: float) -> str:
    stored = _as_f32(value)
    if math.isinf(stored):
        raise ValueError(f"{value} cannot be part of a key: it is too large for an F32")
    # Nine digits tell every F32 from its neighbours.
    return next(text for text in (f"{stored:.{digits}g}" for digits in range(1, 10)) if _as_f32(float(text)) == stored)


def _as_f32(value: float) -> float:
    try:
        (stored,) = struct.unpack("<f", struct.pack("<f", value))
    except OverflowError:
        return math.copysign(math.inf, value)
    return float(stored)
