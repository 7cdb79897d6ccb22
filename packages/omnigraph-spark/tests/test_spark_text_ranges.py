"""Ranges of a text: every line belongs to exactly one, whatever the size of the ranges. No Spark is needed for this."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.errors import InvalidInputError
from omnigraph_spark.file_ranges import FileRange, list_ranges
from omnigraph_spark.text_ranges import open_text


def read(piece: FileRange, block: int = 3) -> bytes:
    """What a reader gets that asks for little at a time."""
    with open_text(piece) as file:
        assert file.name == piece.path
        return b"".join(iter(lambda: file.read(block), b""))


def names(ranges: list[FileRange]) -> list[str]:
    return [Path(each.path).name for each in ranges]


@given(st.lists(st.sampled_from([b"", b"\n", b"\r\n", b"abc", b"{}\n", b"\xc3\xa9\n"])), st.integers(1, 9))
def test_every_line_is_in_the_range_that_it_begins_in(tmp_path_factory, parts, size):
    text = b"".join(parts)
    path = tmp_path_factory.mktemp("texts") / "in.jsonl"
    path.write_bytes(text)
    ranges = list_ranges([path], range_bytes=size)
    assert [(each.start, each.end) for each in ranges] == [
        (start, min(start + size, len(text))) for start in range(0, len(text), size)
    ]
    starts = [0, *(place + 1 for place, byte in enumerate(text) if byte == ord("\n"))]
    for each in ranges:
        begun = [start for start in starts if each.start <= start < each.end]
        ends = [min(text.find(b"\n", start) + 1 or len(text), len(text)) for start in begun]
        assert read(each) == (text[begun[0] : ends[-1]] if begun else b"")
    assert b"".join(read(each) for each in ranges) == text


def test_a_packed_text_is_one_range_and_is_read_unpacked(tmp_path: Path):
    (tmp_path / "in.JSONL.gz").write_bytes(gzip.compress(b"{}\n{}\n"))
    (only,) = list_ranges([tmp_path / "in.JSONL.gz"], range_bytes=1)
    assert read(only) == b"{}\n{}\n"


def test_files_come_in_the_order_given_and_those_of_a_directory_or_pattern_by_name(tmp_path: Path):
    for name in ("b.jsonl", "a.ndjson", "c.jsonl.gz", "notes.txt", "z.jsonl"):
        (tmp_path / name).write_bytes(b"{}")
    (tmp_path / "below.jsonl").mkdir()
    assert names(list_ranges([tmp_path], range_bytes=9)) == ["a.ndjson", "b.jsonl", "c.jsonl.gz", "z.jsonl"]
    assert names(list_ranges([str(tmp_path / "[bz].jsonl")], range_bytes=9)) == ["b.jsonl", "z.jsonl"]
    again = [tmp_path / "z.jsonl", tmp_path / "b.jsonl"]
    assert names(list_ranges(again, range_bytes=9)) == ["z.jsonl", "b.jsonl"]
    assert list_ranges([(tmp_path / "b.jsonl").as_uri()], range_bytes=9)[0].end == 2
    assert names(list_ranges([tmp_path.as_uri()], range_bytes=9)) == ["a.ndjson", "b.jsonl", "c.jsonl.gz", "z.jsonl"]


def test_a_uri_is_read_as_the_file_is(tmp_path: Path):
    (tmp_path / "a.jsonl").write_bytes(b"one\ntwo\nthree")
    ranges = list_ranges([(tmp_path / "a.jsonl").as_uri()], range_bytes=5)
    assert [read(each) for each in ranges] == [b"one\ntwo\n", b"three", b""]


@pytest.mark.parametrize(
    ("name", "said", "advice"),
    [
        ("gone.jsonl", "no JSONL file behind", ".ndjson"),
        ("empty", "no JSONL file behind", "a directory that has some"),
        ("*.jsonl", "no JSONL file behind", "pattern"),
        ("rows.parquet", "does not say the type", "Pass it by type"),
        ("*.parquet", "does not say the type", "Pass it by type"),
        ("gopher://host/a.jsonl", "cannot be reached", "s3://"),
    ],
)
def test_a_name_without_text_behind_it_is_refused_with_what_to_give(tmp_path: Path, name: str, said: str, advice: str):
    (tmp_path / "empty").mkdir()
    (tmp_path / "rows.parquet").write_bytes(b"PAR1")
    with pytest.raises(InvalidInputError, match=said) as caught:
        list_ranges([name if "://" in name else tmp_path / name], range_bytes=9)
    assert advice in (caught.value.help or "")


@pytest.mark.parametrize("content", [gzip.compress(b"{}\n" * 99)[:-9], b"{}\n"], ids=["cut off", "not packed"])
def test_a_packed_text_that_is_damaged_is_told(tmp_path: Path, content: bytes):
    (tmp_path / "a.jsonl.gz").write_bytes(content)
    (only,) = list_ranges([tmp_path / "a.jsonl.gz"], range_bytes=9)
    with pytest.raises(InvalidInputError, match=r"a\.jsonl\.gz is no whole gzip file"):
        read(only, 1000)


def test_a_file_that_a_task_does_not_find_is_told_with_what_it_takes(tmp_path: Path):
    with (
        pytest.raises(InvalidInputError, match="cannot be read") as caught,
        open_text(FileRange(path=str(tmp_path / "gone.jsonl"), start=0, end=9, size=9)),
    ):
        pass
    assert "for the tasks too" in (caught.value.help or "")
