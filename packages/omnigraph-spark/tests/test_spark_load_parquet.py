"""Parquet files by type: read where they are written, told by file and row, and by Spark where only Spark can."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it
from spark_load_world import SCHEMA, Record, cut_every, edge, outcome, person, sound_records, tables, wild_records

import omnigraph as og
import omnigraph_spark
from omnigraph.errors import ConstraintError, InvalidInputError
from omnigraph_spark import inputs, spreading


def write_parquet(place: Path, graph: og.Graph, records: list[Record], *, group: int = 3) -> dict[str, Path]:
    """Records as one file of each type, of row groups of so many rows."""
    place.mkdir(exist_ok=True)
    made = tables(graph, records)
    for name, table in made.items():
        pq.write_table(table, place / f"{name}.parquet", row_group_size=group)
    return {name: place / f"{name}.parquet" for name in made}


@pytest.fixture
def pair(tmp_path: Path) -> tuple[og.Graph, og.Graph]:
    """Two graphs for the same data."""
    return og.init(tmp_path / "spark.omni", schema=SCHEMA), og.init(tmp_path / "alone.omni", schema=SCHEMA)


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_parquet_comes_to_the_same_graph_as_in_one_process(
    spark: SparkSession, pair: tuple[og.Graph, og.Graph], tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
):
    rng, (ours, theirs) = random.Random(mode), pair
    cut_every(300, monkeypatch.setattr)
    before, then = sound_records(rng, 6), sound_records(rng, 9, prefix="q" if mode == "append" else "p")
    for graph in pair:
        graph.load(before, "append")
    files = write_parquet(tmp_path / "in", ours, then)
    omnigraph_spark.load(spark, ours, files, mode)
    theirs.load(then, mode)
    assert list(ours.export()) == list(theirs.export())


def test_what_is_wrong_is_that_of_one_process_with_file_and_row(
    spark: SparkSession, pair: tuple[og.Graph, og.Graph], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    ours, theirs = pair
    cut_every(300, monkeypatch.setattr)
    for graph in pair:
        graph.load([person("p0"), person("p1", mail="p1@x")], "append")
    files = write_parquet(tmp_path / "in", ours, wild_records(random.Random(3), 40))

    def told(error: tuple) -> tuple:
        return error[:3]

    got = outcome(ours, lambda: omnigraph_spark.load(spark, ours, files, "append"))
    expected = outcome(
        theirs, lambda: theirs.load({name: pq.read_table(path) for name, path in files.items()}, "append")
    )
    assert told(got) == told(expected)
    assert got[0] is ConstraintError


@pytest.mark.parametrize("most_tasks", [2, 1_000])
def test_a_rule_that_is_broken_is_told_with_the_number_of_the_row(
    spark: SparkSession, tmp_path: Path, most_tasks: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(spreading, "MOST_TASKS", most_tasks)
    graph = og.init(tmp_path / "g", schema=SCHEMA)
    cut_every(200, monkeypatch.setattr)
    people = [person(f"p{number}", age=151 if number == 8 else 5) for number in range(12)] + [person("p3")]
    known = [edge("Knows", f"p{number}", "gone" if number == 10 else "p0") for number in range(12)]
    files = write_parquet(tmp_path / "in", graph, people + known, group=2)
    assert len(inputs.list_ranges([files["Person"]], "Person", inputs.Form.PARQUET)) > 3
    with pytest.raises(ConstraintError) as caught:
        omnigraph_spark.load(spark, graph, files, "append")
    found = {(each["reason"], Path(each["source"]).name, each["line"]) for each in caught.value.details["problems"]}
    assert found == {
        ("range", "Person.parquet", 9),
        ("unique", "Person.parquet", 13),
        ("endpoint", "Knows.parquet", 11),
    }
    assert len(graph.commits.list()) == 1


def test_a_value_that_does_not_fit_is_told_with_the_number_of_its_row(spark: SparkSession, tmp_path: Path):
    graph = og.init(tmp_path / "g", schema="node Person { name: String @key  age: I32 }")
    table = pa.table({"name": [f"p{number}" for number in range(9)], "age": [1, 2, 3, 4, 5, None, 7, 2**40, 9]})
    pq.write_table(table, tmp_path / "people.parquet", row_group_size=2)
    with pytest.raises(InvalidInputError) as caught:
        omnigraph_spark.load(spark, graph, {"Person": tmp_path / "people.parquet"}, "append")
    found = [(each["line"], each["reason"]) for each in caught.value.details["problems"]]
    assert sorted(found) == [(6, "missing_required"), (8, "out_of_range")]
    assert {each["source"] for each in caught.value.details["problems"]} == {str(tmp_path / "people.parquet")}


def test_files_may_differ_in_their_columns(spark: SparkSession, tmp_path: Path):
    graph = og.init(tmp_path / "g", schema="node Person { name: String @key  age: I32? }")
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"name": ["a"], "age": [1]}), tmp_path / "in" / "1.parquet")
    pq.write_table(pa.table({"name": ["b"]}), tmp_path / "in" / "2.parquet")
    omnigraph_spark.load(spark, graph, {"Person": tmp_path / "in"}, "append")
    assert sorted((row["name"], row["age"]) for row in graph.table("Person").rows()) == [("a", 1), ("b", None)]


def test_moments_that_spark_wrote_arrive_however_far_away(spark: SparkSession, tmp_path: Path):
    """By itself it writes 96 bits, of which Arrow takes days before 4714 BC for others."""
    graph = og.init(tmp_path / "g", schema="node Day { name: String @key  at: DateTime  ats: [DateTime] }")
    moments = [-8_334_601_228_800_000, -210_867_235_200_000, -1, 0, 1_774_751_400_123, 8_210_266_876_799_999]
    frame = spark.createDataFrame([(str(each), each) for each in moments], "name string, ms long").select(
        "name",
        F.timestamp_millis("ms").alias("at"),
        F.array(F.timestamp_millis("ms"), F.timestamp_millis(F.lit(5))).alias("ats"),
    )
    for form in ("INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"):
        spark.conf.set("spark.sql.parquet.outputTimestampType", form)
        try:
            frame.write.parquet(str(tmp_path / form))
        finally:
            spark.conf.unset("spark.sql.parquet.outputTimestampType")
        omnigraph_spark.load(spark, graph, {"Day": tmp_path / form}, "overwrite")
        stored = graph.table("Day").to_arrow()
        counts = pa.list_(pa.int64())
        found = zip(
            stored["name"].to_pylist(),
            stored["at"].cast(pa.int64()).to_pylist(),
            stored["ats"].cast(counts).to_pylist(),
            strict=True,
        )
        assert sorted(found) == sorted((str(each), each, [each, 5]) for each in moments)


def test_parquet_without_rows_empties_its_type_when_it_overwrites(spark: SparkSession, tmp_path: Path):
    graph = og.init(tmp_path / "g", schema="node Person { name: String @key }")
    graph.load([{"type": "Person", "data": {"name": "Ann"}}], "append")
    pq.write_table(pa.table({"name": pa.array([], pa.string())}), tmp_path / "none.parquet")
    assert omnigraph_spark.load(spark, graph, {"Person": tmp_path / "none.parquet"}, "overwrite").nodes == {"Person": 0}
    assert len(graph.table("Person")) == 0


# ── what Spark reads ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_directories_that_are_named_by_values_are_read_by_spark(spark: SparkSession, tmp_path: Path):
    graph = og.init(tmp_path / "g", schema="node Person { name: String @key  age: I32 }")
    for age in (3, 4):
        (tmp_path / "in" / f"age={age}").mkdir(parents=True)
        pq.write_table(pa.table({"name": [f"p{age}"]}), tmp_path / "in" / f"age={age}" / "part.parquet")
    omnigraph_spark.load(spark, graph, {"Person": tmp_path / "in"}, "append")
    assert sorted((row["name"], row["age"]) for row in graph.table("Person").rows()) == [("p3", 3), ("p4", 4)]


@pytest.mark.parametrize("given", ["in/*/*.parquet", "in/age=3", "in/age=3/part.parquet", "in/age=*"])
def test_values_that_name_directories_are_not_lost_below_them(spark: SparkSession, tmp_path: Path, given: str):
    graph = og.init(tmp_path / "g", schema="node Person { name: String @key  age: I32? }")
    for age in (3, 4):
        (tmp_path / "in" / f"age={age}").mkdir(parents=True)
        pq.write_table(pa.table({"name": [f"p{age}"]}), tmp_path / "in" / f"age={age}" / "part.parquet")
    with pytest.raises(InvalidInputError, match="has no column 'age'; the directory") as caught:
        omnigraph_spark.load(spark, graph, {"Person": tmp_path / given}, "append")
    assert "directory above" in str(caught.value.help)
    # A name that is no property, and a file that has the column, lose nothing.
    (tmp_path / "day=5" / "age=9").mkdir(parents=True)
    pq.write_table(pa.table({"name": ["q"], "age": [8]}), tmp_path / "day=5" / "age=9" / "part.parquet")
    omnigraph_spark.load(spark, graph, {"Person": tmp_path / "day=5" / "age=9"}, "append")
    assert [(row["name"], row["age"]) for row in graph.table("Person").rows()] == [("q", 8)]


def test_a_load_that_landed_does_not_look_for_its_files_again(spark: SparkSession, tmp_path: Path):
    graph = og.init(tmp_path / "g", schema="node Person { name: String @key }")
    pq.write_table(pa.table({"name": ["a"]}), tmp_path / "in.parquet")
    for branch, base in (("main", None), ("other", "main")):
        given = {"branch": branch, "base": base, "load_id": branch}
        first = omnigraph_spark.load(spark, graph, {"Person": tmp_path / "in.parquet"}, "merge", **given)
        (tmp_path / "in.parquet").rename(tmp_path / "away.parquet")
        again = omnigraph_spark.load(spark, graph, {"Person": tmp_path / "in.parquet"}, "merge", **given)
        assert (again.commit, again.total) == (first.commit, 0)
        (tmp_path / "away.parquet").rename(tmp_path / "in.parquet")


def test_many_small_files_are_read_by_spark_which_takes_several_in_a_task(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for number in range(4):
        pq.write_table(pa.table({"name": [f"p{number}"]}), tmp_path / f"{number}.parquet")
    given = {"Person": str(tmp_path / "*.parquet")}
    found = inputs.sort_inputs(spark, given)
    assert (len(found.ranges), len(found.frames)) == (4, 0)
    monkeypatch.setattr(inputs, "MANY_FILES", 3)
    found = inputs.sort_inputs(spark, given)
    assert (len(found.ranges), len(found.frames)) == (0, 1)
    # Columns that some files lack are null, and those that only some have are not dropped.
    pq.write_table(pa.table({"name": ["p9"], "age": [7]}), tmp_path / "9.parquet")
    with og.init(tmp_path / "g", schema="node Person { name: String @key  age: I64? }") as graph:
        omnigraph_spark.load(spark, graph, {"Person": f"{tmp_path}/*.parquet"}, "append")
        assert {row["name"]: row["age"] for row in graph.table("Person").rows()} == {
            **{f"p{number}": None for number in range(4)},
            "p9": 7,
        }
    (tmp_path / "9.parquet").unlink()
    monkeypatch.setattr(inputs, "SMALL_BYTES", 1)
    assert len(inputs.sort_inputs(spark, given).ranges) == 4


def test_days_of_an_old_calendar_are_refused_by_path_and_right_as_a_frame(spark: SparkSession, tmp_path: Path):
    graph = og.init(tmp_path / "g", schema="node Day { name: String @key  on: Date  at: DateTime }")
    frame = spark.sql("select 'a' name, date'1500-01-01' on, timestamp'1500-01-01 00:00:00' at")
    legacy = {
        "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
        "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
    }
    for name, value in legacy.items():
        spark.conf.set(name, value)
    try:
        frame.write.parquet(str(tmp_path / "old"))
    finally:
        for name in legacy:
            spark.conf.unset(name)
    with pytest.raises(InvalidInputError, match="the calendar of an old Spark") as caught:
        omnigraph_spark.load(spark, graph, {"Day": tmp_path / "old"}, "append")
    assert "spark.read.parquet" in str(caught.value.help)
    omnigraph_spark.load(spark, graph, {"Day": spark.read.parquet(str(tmp_path / "old"))}, "append")
    (row,) = graph.table("Day", ["on", "at"]).rows()
    assert (row["on"], row["at"]) == ("1500-01-01", "1500-01-01T00:00:00.000Z")
