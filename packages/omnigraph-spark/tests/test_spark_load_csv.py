"""CSV and plain JSONL as inputs of a load: converted by tasks, whole in one commit, and told by file and line."""

from __future__ import annotations

import gzip
import json
from functools import partial
from pathlib import Path
from typing import Any

import every_type
import pytest
from pyspark.sql import SparkSession

import omnigraph as og
import omnigraph_spark
from omnigraph.errors import ConstraintError, InvalidInputError, NotFoundError
from omnigraph_spark import inputs
from omnigraph_spark.file_ranges import list_ranges

PEOPLE = """
node Person { name: String @key  age: I32?  note: String? }
node City { name: String @key }
edge Lives: Person -> City { since: Date? }
"""


@pytest.fixture
def graph(tmp_path: Path) -> str:
    uri = str(tmp_path / "people.omni")
    og.init(uri, schema=PEOPLE).close()
    return uri


@pytest.fixture
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are cut every few rows."""
    monkeypatch.setattr(inputs, "list_ranges", partial(list_ranges, range_bytes=40))


def write(path: Path, *rows: str) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{row}\n" for row in rows), "utf-8")
    return str(path)


def rows_of(uri: str, type_name: str, *columns: str) -> list[tuple[Any, ...]]:
    with og.open(uri, mode="r") as g:
        rows = g.table(type_name, list(columns)).rows()
    return sorted(tuple(row[name] for name in columns) for row in rows)


def places(error: InvalidInputError | ConstraintError) -> list[tuple[str, int, str]]:
    """Name of the file, line and reason of each problem."""
    return [(Path(each["source"]).name, each["line"], each["reason"]) for each in error.details["problems"]]


def row_of(*values: Any) -> str:
    """A row of CSV: texts in quotes, lists and vectors as JSON, nothing for null."""
    texts = [each if isinstance(each, str) or each is None else json.dumps(each) for each in values]
    return ",".join("" if each is None else '"' + each.replace('"', '""') + '"' for each in texts)


def test_every_type_is_loaded_as_the_single_process_loads_it(spark: SparkSession, tmp_path: Path):
    records = [
        {"type": "Thing", "data": data} for data in (every_type.LOW, every_type.HIGH, {"k": "only a key", "s": ""})
    ]
    expected, loaded = str(tmp_path / "expected.omni"), str(tmp_path / "loaded.omni")
    with og.init(expected, schema=every_type.SCHEMA) as g:
        g.load(records, mode="append")
        names = [name for name in g.table("Thing").columns if name != "id"]
    things = write(
        tmp_path / "things.csv", row_of(*names), *(row_of(*map(each["data"].get, names)) for each in records)
    )
    og.init(loaded, schema=every_type.SCHEMA).close()
    omnigraph_spark.load(spark, loaded, {"Thing": things}, "append")
    with og.open(expected, mode="r") as one, og.open(loaded, mode="r") as other:
        assert list(other.export()) == list(one.export())


def test_files_of_several_forms_are_one_commit(spark: SparkSession, tmp_path: Path, graph: str):
    write(tmp_path / "people" / "a.csv", "age,name,note", '31,Ann,"says ""hi"", waves"', ",Bo,")
    with gzip.open(tmp_path / "people" / "b.csv.gz", "wt", encoding="utf-8") as file:
        file.write('name,note\r\n\r\nCy,""\r\n')
    (tmp_path / "people" / "_SUCCESS").touch()
    done = omnigraph_spark.load(
        spark,
        graph,
        {
            "Person": tmp_path / "people",
            "City": spark.createDataFrame([("Ulm",)], "name string"),
            "Lives": [
                write(tmp_path / "lives.jsonl", '{"from": "Ann", "to": "Ulm", "since": "2024-05-01"}'),
                write(tmp_path / "more.jsonl", "// comments and blank lines", "", '{"src": "Bo", "dst": "Ulm"}'),
            ],
        },
        "append",
    )
    assert (done.nodes, done.edges) == ({"Person": 3, "City": 1}, {"Lives": 2})
    # Nothing is null, and quotes around nothing are an empty text.
    assert sorted(map(repr, rows_of(graph, "Person", "name", "age", "note"))) == [
        "('Ann', 31, 'says \"hi\", waves')",
        "('Bo', None, None)",
        "('Cy', None, '')",
    ]
    assert rows_of(graph, "Lives", "src", "dst") == [("Ann", "Ulm"), ("Bo", "Ulm")]


def test_a_file_that_is_cut_between_and_within_rows_is_read_once(
    spark: SparkSession, tmp_path: Path, graph: str, small_ranges: None
):
    notes = ["", "a\nb", 'quotes " and\n\n"lines"\n', "x" * 100, "\n" * 90, "c,d"] * 4
    rows = [row_of(f"p{n}", note) for n, note in enumerate(notes)]
    path = write(tmp_path / "people.csv", "name,note", *rows)
    assert len(list_ranges([path], "Person", range_bytes=40)) > 20
    done = omnigraph_spark.load(spark, graph, {"Person": path}, "append")
    assert done.total == len(notes)
    assert dict(rows_of(graph, "Person", "name", "note")) == {f"p{n}": note for n, note in enumerate(notes)}


def test_every_cell_that_does_not_fit_is_told_with_its_line_in_its_file(
    spark: SparkSession, tmp_path: Path, graph: str, small_ranges: None
):
    people = write(
        tmp_path / "people.csv",
        "name,age,note",
        'Ann,31,"over',
        'two lines"',
        *(f"p{n},{n},some note" for n in range(10)),
        "Bo,many,",
        ",1,",
        "Cy,1",
    )
    lives = write(tmp_path / "lives.jsonl", *['{"src": "Ann", "dst": "Ulm"}'] * 5, '{"src": "Ann"}', "nonsense")
    with pytest.raises(InvalidInputError) as caught:
        omnigraph_spark.load(spark, graph, {"Person": people, "Lives": lives}, "append")
    assert sorted(places(caught.value)) == [
        ("lives.jsonl", 6, "bad_envelope"),
        ("lives.jsonl", 7, "malformed_json"),
        ("people.csv", 14, "wrong_type"),
        ("people.csv", 15, "missing_required"),
        ("people.csv", 16, "malformed_csv"),
    ]
    assert f'{people}:14: Person.age expects I32?, got "many"' in caught.value.message
    assert rows_of(graph, "Person", "name") == []


def test_rows_that_break_rules_are_told_with_their_line_in_their_file(
    spark: SparkSession, tmp_path: Path, graph: str, small_ranges: None
):
    people = write(tmp_path / "people.csv", "name,note", *(f'p{n},"two\nlines"' for n in range(6)), "p2,")
    lives = write(tmp_path / "lives.csv", "from,to", *["p1,Ulm"] * 9, "p1,Nowhere")
    city = spark.createDataFrame([("Ulm",)], "name string")
    with pytest.raises(ConstraintError) as caught:
        omnigraph_spark.load(spark, graph, {"Person": people, "Lives": lives, "City": city}, "append")
    assert sorted(places(caught.value)) == [("lives.csv", 11, "endpoint"), ("people.csv", 14, "unique")]


def test_columns_that_are_wrong_are_told_once_for_each_file(
    spark: SparkSession, tmp_path: Path, graph: str, small_ranges: None
):
    data = [f"p{n},{n}" for n in range(40)]
    one = write(tmp_path / "one.csv", "name,aeg", *data)
    two = write(tmp_path / "two.csv", "name;age", *data)
    with pytest.raises(InvalidInputError) as caught:
        omnigraph_spark.load(spark, graph, {"Person": [one, two]}, "append")
    assert places(caught.value) == [("one.csv", 1, "unknown_field"), ("two.csv", 1, "malformed_csv")]
    assert caught.value.details["total"] == 2
    assert 'did you mean "age"?' in caught.value.message


@pytest.mark.parametrize(("name", "text"), [("people.csv", "name,age\n"), ("people.jsonl", "")])
def test_a_file_without_rows_empties_its_type_when_it_overwrites(
    spark: SparkSession, tmp_path: Path, graph: str, name: str, text: str
):
    with og.open(graph) as g:
        g.load([{"type": "Person", "data": {"name": "Ann"}}], mode="append")
    (tmp_path / name).write_text(text)
    omnigraph_spark.load(spark, graph, {"Person": tmp_path / name}, "overwrite")
    assert rows_of(graph, "Person", "name") == []


def test_a_type_that_is_not_there_is_told_before_anything_is_read(spark: SparkSession, tmp_path: Path, graph: str):
    with pytest.raises(NotFoundError, match="Persn"):
        omnigraph_spark.load(spark, graph, {"Persn": write(tmp_path / "people.csv", "name")}, "append")


def test_what_is_called_parquet_and_is_none_is_told_in_one_line(spark: SparkSession, tmp_path: Path, graph: str):
    path = write(tmp_path / "people.parquet", "hello")
    with pytest.raises(InvalidInputError, match=r"people\.parquet cannot be read as Parquet") as caught:
        omnigraph_spark.load(spark, graph, {"Person": path}, "append")
    assert len(caught.value.message.splitlines()) == 1
    assert "at org.apache" not in caught.value.message
    assert caught.value.help


def test_parquet_that_is_not_there_is_told(spark: SparkSession, tmp_path: Path, graph: str):
    for given in (tmp_path / "nowhere.parquet", [write(tmp_path / "a.parquet", "x"), tmp_path / "nowhere.parquet"]):
        with pytest.raises(InvalidInputError, match=r"There is no Parquet file behind '\S*nowhere\.parquet'"):
            omnigraph_spark.load(spark, graph, {"Person": given}, "append")
