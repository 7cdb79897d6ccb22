"""Days and moments as Spark wrote them, read by Arrow: right, or refused. No Spark is needed for this."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph.errors import InvalidInputError
from omnigraph_spark.file_ranges import list_ranges
from omnigraph_spark.input_files import Form
from omnigraph_spark.parquet_moments import has_old_calendar, with_early_days
from omnigraph_spark.parquet_ranges import open_parquet

WRAPPED = 2**32 * 86_400_000
"""How much later Arrow reads days before the first Julian one, in milliseconds."""

MS = pa.timestamp("ms")


@pytest.mark.parametrize(
    ("kind", "read", "right"),
    [
        (MS, [5, None, WRAPPED - 7], [5, None, -7]),
        (pa.list_(MS), [[5, WRAPPED - 7], None, []], [[5, -7], None, []]),
        (pa.large_list(MS), [None, [WRAPPED - 7]], [None, [-7]]),
        (pa.list_(MS, 2), [[WRAPPED - 1, None], None], [[-1, None], None]),
    ],
    ids=str,
)
def test_days_that_arrow_takes_for_later_ones_are_set_right(kind: pa.DataType, read: list[object], right: list[object]):
    counts = pa.int64() if kind == MS else _of_numbers(kind)
    array = pa.array(read, counts).cast(kind)
    assert with_early_days(array).cast(counts).to_pylist() == right
    assert with_early_days(array.slice(1)).cast(counts).to_pylist() == right[1:]


def _of_numbers(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(pa.int64(), kind.list_size)
    return pa.large_list(pa.int64()) if pa.types.is_large_list(kind) else pa.list_(pa.int64())


def test_what_has_no_moments_where_they_are_looked_for_is_left_for_others_to_judge():
    odd = pa.array([[("a", 5)]], pa.map_(pa.string(), pa.int64()))
    assert with_early_days(odd) is odd


@pytest.mark.parametrize(
    ("footer", "is_old"),
    [
        ({}, False),
        ({b"org.apache.spark.version": b"4.3.0"}, False),
        ({b"org.apache.spark.version": b"2.4.8"}, True),
        ({b"org.apache.spark.version": b"4.3.0", b"org.apache.spark.legacyDateTime": b""}, True),
        ({b"org.apache.spark.version": b"3.1.0", b"org.apache.spark.legacyINT96": b""}, True),
    ],
)
def test_a_footer_says_by_which_calendar_days_are_counted(footer: dict[bytes, bytes], is_old: bool):
    assert has_old_calendar(footer) == is_old


@pytest.mark.parametrize(
    ("column", "is_refused"),
    [
        (pa.array([dt.date(1582, 10, 14)]), True),
        (pa.array([dt.date(1582, 10, 15), None]), False),
        (pa.array([-95_746_178], pa.int32()).cast(pa.date32()), True),
        (pa.array([[None], [dt.date(1500, 1, 1)]]), True),
        (pa.array([dt.datetime(1899, 12, 31, 23)]), True),
        (pa.array([dt.datetime(1900, 1, 1)]), False),
        (pa.array([None], pa.date32()), False),
    ],
    ids=str,
)
def test_days_that_the_old_calendar_counts_otherwise_are_refused(tmp_path: Path, column: pa.Array, is_refused: bool):
    path = tmp_path / "old.parquet"
    table = pa.table({"name": ["x"] * len(column), "d": column})
    pq.write_table(table.replace_schema_metadata({"org.apache.spark.legacyDateTime": ""}), path)
    (piece,) = list_ranges([path], "Day", Form.PARQUET)
    with open_parquet(piece, 9) as rows:
        if is_refused:
            with pytest.raises(InvalidInputError, match=r"of d before .* the calendar of an old Spark"):
                rows.reader.read_all()
        else:
            assert rows.reader.read_all().num_rows == len(column)
