"""Columns of dates and points in time, in whatever form Arrow holds them, become days or milliseconds since 1970.

Texts follow the rules of ``omnigraph.lang.dates``. Arrow reads the usual spelling, and of it a subset of ours, fifty
times faster; what it refuses is parsed here, once per distinct text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.lang.dates import parse_date, parse_datetime
from omnigraph.lang.types import Scalar
from omnigraph.write.records.numpy_views import null_mask, raw_values

Counts = npt.NDArray[np.int64]

_DAY: Final = 86_400_000
_PER_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_HOURS_END: Final = 13
_MINUTES_END: Final = 16
_COLON: Final = ord(":")


def parse_texts(texts: pa.StringArray, scalar: Scalar) -> tuple[pa.Int64Array, dict[int, str]]:
    """Days or milliseconds of each text.

    Returns:
        The counts, null where the text is null or wrong; and, by row, what is wrong with a text.
    """
    quick = _parse_usual_dates(texts) if scalar is Scalar.DATE else _parse_usual_times(texts)
    if quick is not None:
        return quick, {}
    encoded = texts.dictionary_encode()
    parse: Callable[[str], int] = parse_date if scalar is Scalar.DATE else parse_datetime
    counts: list[int | None] = []
    wrong: dict[int, str] = {}
    for index, text in enumerate(encoded.dictionary.to_pylist()):
        try:
            counts.append(parse(text))
        except ValueError as error:
            counts.append(None)
            wrong[index] = str(error)
    parsed = pa.array(counts, pa.int64()).take(encoded.indices)
    if not wrong:
        return parsed, {}
    return parsed, {row: wrong[index] for row, index in enumerate(encoded.indices.to_pylist()) if index in wrong}


def count_days(values: pa.Array) -> Counts:
    """Days since 1970 of Arrow dates and timestamps; what lies under a null is arbitrary."""
    if pa.types.is_date32(values.type):
        return raw_values(values).astype(np.int64)
    return _counts(values) // (_DAY // 1_000 * _ticks_per_second(values.type))


def count_milliseconds(values: pa.Array) -> Counts:
    """Milliseconds since 1970 of Arrow dates and timestamps, finer parts cut off; null as in ``count_days``.

    What has no 64-bit count of milliseconds becomes the greatest or least one, which no calendar reaches.
    """
    if pa.types.is_date32(values.type):
        return raw_values(values).astype(np.int64) * _DAY
    ticks = _ticks_per_second(values.type)
    counts = _counts(values)
    if ticks >= 1_000:
        return counts // (ticks // 1_000)
    most = np.iinfo(np.int64).max
    return np.where(counts > most // 1_000, most, np.where(counts < -most // 1_000, -most, counts * 1_000))


def _parse_usual_dates(texts: pa.StringArray) -> pa.Int64Array | None:
    try:
        return texts.cast(pa.date32()).view(pa.int32()).cast(pa.int64())
    except pa.ArrowInvalid:
        return None


def _parse_usual_times(texts: pa.StringArray) -> pa.Int64Array | None:
    for zone in ("UTC", None):
        try:
            times = texts.cast(pa.timestamp("us", zone))
        except pa.ArrowInvalid:
            continue
        # Arrow takes a time without minutes or seconds too; we do not.
        if _have_seconds(texts):
            return pa.array(raw_values(times) // 1_000, pa.int64(), mask=null_mask(texts))
    return None


def _have_seconds(texts: pa.StringArray) -> bool:
    """Whether texts that Arrow read as points in time are dates only, or have a colon behind hours and minutes."""
    offsets = np.frombuffer(texts.buffers()[1], dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    lengths = np.diff(offsets)
    starts = offsets[:-1][lengths > len("2024-05-01")]
    if not len(starts):
        return True
    if lengths[lengths > len("2024-05-01")].min() <= _MINUTES_END:
        return False
    data = np.frombuffer(texts.buffers()[2], dtype=np.uint8)
    return bool((data[starts + _HOURS_END] == _COLON).all() and (data[starts + _MINUTES_END] == _COLON).all())


def _counts(values: pa.Array) -> Counts:
    return raw_values(values).view(np.int64)


def _ticks_per_second(of: pa.DataType) -> int:
    return 1_000 if pa.types.is_date64(of) else _PER_SECOND[of.unit]
