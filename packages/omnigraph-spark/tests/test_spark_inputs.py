"""What is given to a load, sorted without Spark: files by their names, cut into ranges that lose and repeat nothing."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any, cast

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from omnigraph import TypedText
from omnigraph.errors import InvalidInputError, StorageError
from omnigraph_spark.file_ranges import FileRange, list_ranges
from omnigraph_spark.inputs import Inputs, sort_inputs
from omnigraph_spark.text_ranges import count_quotes, open_text, with_quotes

NO_SPARK = cast("SparkSession", None)


def sort(data: Any) -> Inputs:
    """Inputs that Spark has no part in."""
    return sort_inputs(NO_SPARK, data)


def touch(place: Path, *names: str) -> Path:
    for name in names:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("name\nx\n")
    return place


def paths(given: Inputs) -> list[str]:
    return [Path(each.path).name for each in given.ranges]


def read(piece: FileRange) -> bytes:
    with open_text(piece) as text:
        file = text.file if isinstance(text, TypedText) else text
        return b"".join(iter(lambda: file.read(7), b""))


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["a.csv", "a.CSV.gz", "a.tsv", "a.jsonl", "a.ndjson.gz"])
def test_files_of_one_type_are_known_by_their_names(tmp_path: Path, name: str):
    (piece,) = sort({"Person": touch(tmp_path, name) / name}).ranges
    assert (piece.type_name, piece.start) == ("Person", 0)
    assert piece.delimiter == {"csv": ",", "tsv": "\t"}.get(name.split(".")[1].lower())


def test_a_directory_is_all_its_files_by_name_but_for_hidden_ones(tmp_path: Path):
    touch(tmp_path, "part-2.csv", "part-1.csv.gz", "_SUCCESS", ".part-1.csv.crc")
    assert paths(sort({"Person": tmp_path})) == ["part-1.csv.gz", "part-2.csv"]
    assert paths(sort({"Person": str(tmp_path / "part-*.csv")})) == ["part-2.csv"]
    touch(tmp_path, "year-1/part-3.csv")
    assert paths(sort({"Person": str(tmp_path / "year-*" / "part-?.csv")})) == ["part-3.csv"]
    as_written = touch(tmp_path / "more.csv", "part-0.csv")
    assert paths(sort({"Person": [as_written, tmp_path / "part-2.csv"]})) == ["part-0.csv", "part-2.csv"]


def test_directories_that_a_pattern_matches_count_with_all_their_files(tmp_path: Path):
    """Spark writes directories whose names look like files."""
    touch(tmp_path, "day-1.csv/part-0.csv", "day-1.csv/_SUCCESS", "day-2.csv", "_day-3.csv", "day-4.jsonl/a.jsonl")
    assert paths(sort({"Person": str(tmp_path / "*.csv")})) == ["part-0.csv", "day-2.csv"]
    assert paths(sort(str(tmp_path / "*.jsonl"))) == ["a.jsonl"]
    touch(tmp_path, "day-1.csv/more/part-1.csv")
    with pytest.raises(InvalidInputError, match=r"more is no CSV file"):
        sort({"Person": str(tmp_path / "*.csv")})


def test_a_pattern_is_judged_by_what_it_matches(tmp_path: Path):
    touch(tmp_path, "in/a.parquet", "in/b.parquet", "day=1/c.csv", "day=2/d.csv")
    assert paths(sort({"Person": str(tmp_path / "in" / "*")})) == ["a.parquet", "b.parquet"]
    assert paths(sort({"Person": str(tmp_path / "day=*")})) == ["c.csv", "d.csv"]


@pytest.mark.parametrize("given", ["s3://key:hush@bucket/a/{}", "s3://hush@bucket/a/{}"])
@pytest.mark.parametrize("name", ["b.parquet", "b.csv", "b.jsonl"])
def test_credentials_within_a_name_are_refused_and_not_repeated(given: str, name: str):
    with pytest.raises(InvalidInputError, match=rf"s3://bucket/a/{name} has credentials") as caught:
        sort({"Person": given.format(name)})
    assert "hush" not in f"{caught.value} {caught.value.help} {caught.value.details}"
    with pytest.raises(InvalidInputError, match="has credentials"):
        sort([given.format(name)])


def test_a_store_that_does_not_answer_is_told_in_its_own_words(monkeypatch: pytest.MonkeyPatch):
    """And not in those of Spark, which would be asked next, and has no driver for the store."""
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_EC2_METADATA_DISABLED": "true"}
    for name, value in {**keys, "AWS_MAX_ATTEMPTS": "1"}.items():
        monkeypatch.setenv(name, value)
    nowhere = "s3://bucket/people.parquet?region=x&scheme=http&endpoint_override=127.0.0.1:1"
    with pytest.raises(StorageError, match=r"s3://bucket/people\.parquet.* cannot be read") as caught:
        sort({"Person": nowhere})
    assert caught.value.help


def test_types_are_those_that_are_named_unless_records_say_them(tmp_path: Path):
    touch(tmp_path, "a.csv", "b.jsonl")
    assert sort({"Person": tmp_path / "a.csv", "City": tmp_path / "b.jsonl"}).types == ["Person", "City"]
    assert sort([tmp_path / "b.jsonl"]).types is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"Person": "people.txt"}, "The name of people.txt does not say what it holds"),
        ({"Person": "people"}, "There is no file behind 'people'"),
        ({"Person": "people-*"}, "There is no file behind 'people-*'"),
        ({"Person": "cut"}, "What cut holds is not of one form; there is: cut/age=3, cut/b.parquet"),
        ({"Person": "deeper"}, "What deeper holds is not of one form; there is: deeper/age=3"),
        ({"Person": "nested"}, "What nested holds is not of one form; there is: nested/a.parquet, nested/more"),
        ({"Person": "named.parquet"}, "named.parquet/more is no Parquet file, and all of named.parquet should be"),
        ({"Person": "both.parquet"}, "both.parquet/age=3 is no Parquet file, and all of both.parquet should be"),
        ({"Person": ["whole", "nested/a.parquet"]}, "whole/age=3 is no Parquet file, and all of whole should be"),
        ({"Person": "*.parquet"}, "both.parquet/age=3 is no Parquet file, and all of *.parquet should be"),
        ({"Person": "nowhere.csv"}, "There is no CSV file behind 'nowhere.csv'"),
        ({"Person": "no-*.csv"}, "There is no CSV file behind 'no-*.csv'"),
        ({"Person": "mixed"}, "What mixed holds is not of one form; there is: mixed/a.csv, mixed/b.jsonl"),
        ({"Person": "named.csv"}, "named.csv/b.jsonl is no CSV file, and all of named.csv should be"),
        ({"Person": "packed"}, "What packed holds is not of one form; there is: packed/a.csv, packed/b.csv.bz2"),
        ({"Person": "deep"}, "What deep holds is not of one form; there is: deep/a.csv, deep/more"),
        ({"Person": "empty"}, "What empty holds is not of one form; there is: nothing"),
        ({"Person": ["good.csv", "good.jsonl"]}, "not of one form: good.csv (CSV), good.jsonl (JSONL)"),
        ({"Person": []}, "There is nothing in the list that is given for Person"),
        ({"Person": 3}, "What is given for Person is of type int"),
        ({"Person": ["good.csv", 3]}, "What is given for Person is of type list"),
        ({"Person": "what://x/good.csv"}, "'what://x/good.csv' cannot be reached"),
        ("good.csv", "good.csv is CSV, which does not say the type of its rows"),
        (["good.jsonl", "good.csv"], "good.csv is CSV, which does not say the type of its rows"),
        ("empty", "There is no JSONL file behind 'empty'"),
        (3, "A value of type int cannot be loaded"),
        ({}, "Nothing was given, which cannot be loaded"),
        ([], "Nothing was given, which cannot be loaded"),
    ],
)
def test_what_cannot_be_loaded_is_told_with_the_next_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: Any, words: str
):
    monkeypatch.chdir(tmp_path)
    touch(tmp_path, "people.txt", "mixed/a.csv", "mixed/b.jsonl", "packed/a.csv", "packed/b.csv.bz2", "good.csv",
          "good.jsonl", "named.csv/a.csv", "named.csv/b.jsonl", "deep/a.csv", "deep/more/b.csv", "cut/b.parquet",
          "cut/age=3/a.parquet", "deeper/age=3/b.parquet", "deeper/age=3/of=4/c.parquet", "nested/a.parquet",
          "nested/more/b.parquet", "named.parquet/a.parquet", "named.parquet/more/b.parquet",
          "both.parquet/a.parquet", "both.parquet/age=3/b.parquet", "whole/age=3/a.parquet")  # fmt: skip
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInputError) as caught:
        sort(given)
    assert words in caught.value.message
    assert caught.value.help


def test_a_data_frame_of_another_library_is_told_apart_from_one_of_spark():
    for made, kind in ((pd.DataFrame({"name": []}), "pandas.DataFrame"), (pa.table({"name": []}), "pyarrow.Table")):
        with pytest.raises(InvalidInputError, match=f"for Person is of type {kind}") as caught:
            sort({"Person": made})
        assert "spark.createDataFrame" in str(caught.value.help)


# ── ranges ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(
    st.lists(st.text('ab\n"', max_size=12), max_size=6),
    st.integers(1, 30),
    st.sampled_from(["\n", "\r\n"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_ranges_of_csv_are_whole_rows_and_together_the_file(
    tmp_path: Path, cells: list[str], range_bytes: int, end: str
):
    rows = ['"' + cell.replace('"', '""') + f'",1{end}' for cell in ["header", *cells]]
    path = tmp_path / "cut.csv"
    path.write_text("".join(rows), newline="")
    ranges = list_ranges([path], "Person", range_bytes=range_bytes)
    ranges = with_quotes(ranges, [count_quotes(each) for each in ranges])
    texts = [read(each).decode() for each in ranges]
    assert "".join(texts) == "".join(rows)
    starts = [sum(map(len, rows[:number])) for number in range(len(rows))]
    for piece, text in zip(ranges, texts, strict=True):
        owned = [row for row, start in zip(rows, starts, strict=True) if piece.start <= start < piece.end]
        assert text == "".join(owned)


def test_ranges_of_another_file_do_not_follow_from_the_quotes_of_the_one_before(tmp_path: Path):
    (tmp_path / "a.csv").write_text('name\n"never closed\n')
    (tmp_path / "b.csv").write_text("name\nx\ny\n")
    ranges = list_ranges([tmp_path / "a.csv", tmp_path / "b.csv"], "Person", range_bytes=4)
    settled = with_quotes(ranges, [count_quotes(each) for each in ranges])
    assert [each.starts_quoted for each in settled if each.path.endswith("b.csv")] == [False] * 3
    assert settled[-4].ends_quoted


def test_later_ranges_of_csv_know_the_columns(tmp_path: Path):
    path = tmp_path / "people.tsv"
    path.write_bytes('\ufeff\n"na""me"\tage\r\nx\t1\r\ny\t2\r\n'.encode())
    first, *others = list_ranges([path], "Person", range_bytes=8)
    with open_text(first) as text:
        assert isinstance(text, TypedText)
        assert text.columns is None
    assert others
    for piece in others:
        with open_text(piece) as text:
            assert isinstance(text, TypedText)
            assert (text.columns, text.delimiter) == (['na"me', "age"], "\t")


def test_quotes_mean_nothing_in_jsonl(tmp_path: Path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": "x\n{"b": 1}\n{"c": 2}\n')
    ranges = list_ranges([path], "Person", range_bytes=12)
    assert [read(each) for each in ranges] == [b'{"a": "x\n{"b": 1}\n', b'{"c": 2}\n', b""]


def test_a_packed_file_is_one_range(tmp_path: Path):
    path = tmp_path / "people.csv.gz"
    path.write_bytes(gzip.compress(b"name\n" + b"x\n" * 1000))
    (piece,) = list_ranges([path], "Person", range_bytes=4)
    assert read(piece) == b"name\n" + b"x\n" * 1000


def test_a_file_that_is_gone_when_a_task_comes_is_told(tmp_path: Path):
    piece = FileRange(path=str(tmp_path / "gone.csv"), start=0, end=5, size=5, type_name="Person")
    with pytest.raises(InvalidInputError, match="cannot be read"), open_text(piece):
        pass


def test_files_are_found_and_read_by_a_uri(tmp_path: Path):
    touch(tmp_path / "people", "a.csv", "_SUCCESS", "b.csv")
    ranges = sort({"Person": f"file://{tmp_path}/people"}).ranges
    assert [each.path for each in ranges] == [f"file://{tmp_path}/people/{name}.csv" for name in "ab"]
    assert [read(each) for each in ranges] == [b"name\nx\n"] * 2
    with pytest.raises(InvalidInputError, match="There is no CSV file"):
        sort({"Person": f"file://{tmp_path}/people/c.csv"})
