"""Days and moments of Parquet that Spark wrote, where Arrow reads them as others.

    96 bits         a Julian day of 32 bits, and the nanoseconds of that day: what Spark writes if it is not told else
    old calendar    Spark before 3, or told to, counts days as they were counted before 1582

Days before the first Julian one are negative, and Arrow takes them for ones that are 2^32 days later: that is set
right. It takes moments of the first two days, in the year 4714 BC, for 1970, which nobody can tell from the real one.
What the old calendar counts in another way is refused: Spark knows what to make of it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as _t

from omnigraph.errors import InvalidInputError

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_DAY: Final = 24 * 60 * 60 * 1000
_WRAPPED_DAYS: Final = 2**32 * _DAY
"""In milliseconds, as all that follows."""

_FIRST_NEW_SPARK: Final = 3
_EPOCH: Final = dt.date(1970, 1, 1)
_FIRST_NEW_DAY: Final = dt.date(1582, 10, 15)
_FIRST_NEW_MOMENT: Final = dt.date(1900, 1, 1)
"""From then on the calendars agree, and so do the time zones as Java knows them."""


def right_moments(
    batches: Iterable[pa.RecordBatch], schema: pq.ParquetSchema, footer: Mapping[bytes, bytes], path: str
) -> Iterator[pa.RecordBatch]:
    """The batches of a file with what it says; moments of 96 bits were read as milliseconds.

    Raises:
        InvalidInputError: there are days that the old calendar counts in another way.
    """
    wide = columns_of_96_bits(schema)
    is_old = has_old_calendar(footer)
    for batch in batches:
        for name in wide:
            at = batch.schema.get_field_index(name)
            batch = batch.set_column(at, batch.schema.field(at), with_early_days(batch.column(at)))
        if is_old:
            _refuse_old_days(batch, path)
        yield batch


def columns_of_96_bits(schema: pq.ParquetSchema) -> list[str]:
    """The columns that have such moments, themselves or within lists."""
    leaves = (schema.column(number) for number in range(len(schema)))
    return list(dict.fromkeys(each.path.partition(".")[0] for each in leaves if each.physical_type == "INT96"))


def with_early_days(moments: pa.Array) -> pa.Array:
    """Milliseconds as Arrow reads them from 96 bits, set right; what has none within is left as it is."""
    kind = moments.type
    own_buffers = 2 if _t.is_list(kind) or _t.is_large_list(kind) else 1 if _t.is_fixed_size_list(kind) else 0
    if own_buffers:
        items = with_early_days(moments.values)
        parts = moments.buffers()[:own_buffers]
        return pa.Array.from_buffers(kind, len(moments), parts, offset=moments.offset, children=[items])
    if not _t.is_timestamp(kind):
        return moments
    counts = moments.view(pa.int64())
    is_early = pc.greater(counts, _WRAPPED_DAYS // 2)
    if not pc.any(is_early).as_py():
        return moments
    return pc.if_else(is_early, pc.subtract(counts, _WRAPPED_DAYS), counts).view(kind)


def has_old_calendar(footer: Mapping[bytes, bytes]) -> bool:
    """Whether the footer of a file says that days before 1582, or moments before 1900, may be counted as they were."""
    major = footer.get(b"org.apache.spark.version", b"3").partition(b".")[0]
    marks = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
    return any(each in footer for each in marks) or (major.isdigit() and int(major) < _FIRST_NEW_SPARK)


def _refuse_old_days(batch: pa.RecordBatch, path: str) -> None:
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        items = column
        while _t.is_list(items.type) or _t.is_large_list(items.type) or _t.is_fixed_size_list(items.type):
            items = items.flatten()
        if _t.is_date32(items.type):
            first, least = _FIRST_NEW_DAY, pc.min(items.view(pa.int32())).as_py()
            is_old = least is not None and least < (first - _EPOCH).days
        elif _t.is_timestamp(items.type):
            counts = items.cast(pa.timestamp("ms"), safe=False).view(pa.int64())
            first, least = _FIRST_NEW_MOMENT, pc.min(counts).as_py()
            is_old = least is not None and least < (first - _EPOCH).days * _DAY
        else:
            continue
        if is_old:
            raise InvalidInputError(
                f"{path} has values of {name} before {first}, counted by the calendar of an old Spark.",
                help="Let Spark read it, which knows how: give spark.read.parquet() of it as a DataFrame.",
                details={"path": path, "property": name},
            )
