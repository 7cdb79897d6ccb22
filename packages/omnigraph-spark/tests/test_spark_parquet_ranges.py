"""Ranges of Parquet: every row is in exactly one, in its order. No Spark is needed for this."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnigraph as og
from omnigraph import BulkAttempt
from omnigraph.errors import InvalidInputError, StorageError
from omnigraph_spark import parquet_ranges
from omnigraph_spark.file_ranges import FileRange, list_ranges
from omnigraph_spark.input_files import Form
from omnigraph_spark.parquet_ranges import BATCH_BYTES, _told, open_parquet
from omnigraph_spark.tasks import _PASSING, written_range

PEOPLE = "node Person { name: String @key  age: I32? }"


def write_groups(path: Path, sizes: list[int], *, first: int = 0) -> Path:
    """A file of numbers, counted on from row group to row group; there may be groups without any."""
    with pq.ParquetWriter(path, pa.schema({"n": pa.int64()})) as writer:
        for size in sizes:
            writer.write_table(
                pa.table({"n": pa.array(range(first, first + size), pa.int64())}), row_group_size=max(size, 1)
            )
            first += size
    return path


def ranges_of(path: Path, range_bytes: int, type_name: str = "Person") -> list[FileRange]:
    return list_ranges([path], type_name, Form.PARQUET, range_bytes=range_bytes)


@given(st.lists(st.integers(0, 5), max_size=6), st.integers(1, 400), st.integers(1, 3))
def test_every_row_is_in_one_range_in_its_order(tmp_path_factory, sizes: list[int], range_bytes: int, batch: int):
    path = write_groups(tmp_path_factory.mktemp("parquet") / "n.parquet", sizes)
    found: list[int] = []
    firsts = 0
    for piece in ranges_of(path, range_bytes):
        with open_parquet(piece, batch) as rows:
            own = [number for each in rows.reader for number in each["n"].to_pylist()]
        assert rows.row_count == len(own)
        assert not (rows.are_first and found)
        firsts += rows.are_first
        found += own
    assert firsts == 1
    assert found == list(range(sum(sizes)))


def test_batches_of_wide_rows_are_small(tmp_path: Path):
    wide = BATCH_BYTES // 4
    pq.write_table(pa.table({"b": [bytes([number]) * wide for number in range(9)]}), tmp_path / "wide.parquet")
    (piece,) = ranges_of(tmp_path / "wide.parquet", 2**40)
    with open_parquet(piece, 1000) as rows:
        assert {each.num_rows for each in rows.reader} <= {1, 2, 3, 4}


def whole(path: Path, size: int | None = None) -> FileRange:
    """All of a file; of ``size`` bytes, where nobody has looked."""
    size = path.stat().st_size if size is None else size
    return FileRange(path=str(path), start=0, end=size, size=size, type_name="Person")


def opening(piece: FileRange) -> None:
    with open_parquet(piece, 9):
        pass


def test_a_file_that_is_gone_or_broken_is_told_as_such(tmp_path: Path):
    with pytest.raises(InvalidInputError, match="must be there for the tasks too"):
        opening(whole(tmp_path / "gone.parquet", 9))
    content = write_groups(tmp_path / "n.parquet", [1000]).read_bytes()
    broken = tmp_path / "broken.parquet"
    for each in (b"", b"hello", content[: len(content) // 2]):
        broken.write_bytes(each)
        with pytest.raises(InvalidInputError, match="cannot be read as Parquet"):
            opening(whole(broken))


def test_a_file_that_changed_since_it_was_cut_is_refused(tmp_path: Path):
    """Groups beyond the end that it had would be in no range, and their rows nowhere."""
    pieces = ranges_of(write_groups(tmp_path / "n.parquet", [3]), 200)
    write_groups(tmp_path / "n.parquet", [3, 90_000])
    for each in pieces:
        with pytest.raises(InvalidInputError, match="bytes when the load began"):
            opening(each)


def test_no_group_is_left_out_whatever_a_footer_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parquet_ranges, "_begin", lambda group: 2**40)
    pieces = ranges_of(write_groups(tmp_path / "n.parquet", [3, 4]), 100)
    counts = []
    for each in pieces:
        with open_parquet(each, 9) as rows:
            counts.append(rows.row_count)
    assert counts == [0] * (len(pieces) - 1) + [7]


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE])
def test_what_the_system_says_of_a_disk_is_not_taken_for_a_broken_file(tmp_path: Path, number: int):
    piece = whole(write_groups(tmp_path / "n.parquet", [3]))
    with pytest.raises(StorageError, match="cannot be read") as caught, _told(piece):
        raise OSError(number, os.strerror(number))
    assert caught.value.uri == piece.path


def test_what_a_store_says_while_rows_are_read_is_tried_again(tmp_path: Path):
    far = replace(whole(write_groups(tmp_path / "n.parquet", [3])), path="s3://bucket/n.parquet")
    with pytest.raises(StorageError) as caught, _told(far):
        raise OSError("AWS Error NETWORK_CONNECTION during GetObject operation")
    assert caught.value.condition in _PASSING


def test_a_page_that_is_broken_is_told_as_such_by_a_load(tmp_path: Path):
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"name": [f"p{number}" for number in range(20_000)]}), path, use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[40:4000] = bytes(3960)
    path.write_bytes(content)
    with og.init(tmp_path / "g", schema=PEOPLE) as graph:
        ticket = graph.bulk(["Person"])
        with pytest.raises(InvalidInputError, match=r"people\.parquet cannot be read as Parquet"):
            written_range(ticket, *ranges_of(path, 2**40))


def test_an_error_of_whoever_writes_is_not_taken_for_one_of_the_file(tmp_path: Path):
    (piece,) = ranges_of(write_groups(tmp_path / "n.parquet", [3]), 2**40)
    with pytest.raises(OSError, match="disk full"), open_parquet(piece, 9):
        raise OSError("disk full")


@pytest.mark.parametrize("range_bytes", [3, 50, 2**40])
@pytest.mark.parametrize(
    ("columns", "counts"),
    [
        ({"name": pa.string(), "heigth": pa.int32()}, {"unknown_field": 1}),
        ({"name": pa.string(), "age": pa.list_(pa.int32())}, {"wrong_type": 1}),
    ],
    ids=["name", "type"],
)
def test_columns_that_are_wrong_are_told_once_for_a_file(
    tmp_path: Path, range_bytes: int, columns: dict[str, pa.DataType], counts: dict[str, int]
):
    """Also where the range with the beginning of the file has no rows: somebody has to tell them."""
    path, schema = tmp_path / "people.parquet", pa.schema(columns)
    with pq.ParquetWriter(path, schema) as writer:
        for number in range(4):
            writer.write_table(pa.table({"name": [f"p{number}"]}).append_column(schema[1], pa.nulls(1, schema[1].type)))
    ranges = ranges_of(path, range_bytes)
    with og.init(tmp_path / "g", schema=PEOPLE) as graph:
        ticket = graph.bulk(["Person"])
        every = BulkAttempt.together([written_range(ticket, each) for each in ranges])
    assert not every.is_readable
    assert {reason: count for reason, count in every.counts.items() if reason in counts} == counts
    assert {each.source for each in every.problems} == {str(path)}
