"""JSONL through Spark: however a text is cut, packed and spread, its rows and its mistakes are those of one process."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from spark_load_world import SCHEMA, Record, cut_every, edge, node, person, verdict

import omnigraph as og
import omnigraph_spark
from omnigraph import BulkAttempt
from omnigraph.errors import ConstraintError, InvalidInputError
from omnigraph_spark.file_ranges import list_ranges
from omnigraph_spark.tasks import BRIEF_PROBLEMS, WORDY_ANSWERS, write_ranges

UNREADABLE: list[str | Record] = [
    "// what cannot be read",
    person("ann"),
    "",
    "{",
    "not json",
    '{"type": "Person", "data": {"handle": "x", "handle": "y"}}',
    '{"nobody": 1}',
    node("Ghost", name="boo"),
    person("bo", heigth=3),
    {"type": "Person", "data": {"age": 3}},
    person("bo", age="old"),
    person("bo", age=2**31),
    node("Note", text="t", day="2024-13-01"),
    node("Note", text="t", stars=-1),
    node("Note", text=["t"]),
    {"type": "Person", "data": {"id": "other", "handle": "cy"}},
    {"edge": "Knows", "from": "ann", "data": {}},
    "   // indented",
    person("dora", mail="d" * 200),
    node("Note", text="last"),
]
BROKEN: list[str | Record] = [
    person("ann", age=151),
    "",
    person("BO"),
    person("ann", mail="m@x"),
    person("cy", mail="m@x"),
    "// @card, @unique, endpoints",
    person("di", mail="taken@x"),
    person("old"),
    node("Note", id="n1", text="t", day="2024-01-01", stars=1),
    node("Note", id="n2", text="t", day="2024-01-01", stars=1),
    node("Note", id="n1", text="again"),
    edge("Knows", "cy", "di", id="k1"),
    edge("Knows", "cy", "old", id="k2"),
    edge("Knows", "cy", "ann", id="k3"),
    edge("Knows", "cy", "ann", id="k4"),
    edge("Knows", "nobody", "cy", id="k5"),
    edge("Wrote", "cy", "nothing", id="w1"),
    person("mo", mood="wistful"),
]
BEFORE: list[Record] = [person("old", mail="taken@x")]
FINE: list[str | Record] = [
    "// a comment",
    person("a" * 80),
    "",
    node("Note", id="n1", text="é\u2028"),
    person("b"),
    edge("Wrote", "b", "n1", id="w"),
]


@pytest.fixture(autouse=True)
def tiny_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are cut into ranges of fewer bytes than most lines have."""
    cut_every(64, monkeypatch.setattr)


def lines(records: list[str | Record]) -> list[bytes]:
    return [(each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)).encode() for each in records]


def make_graph(path: Path) -> og.Graph:
    graph = og.init(path, schema=SCHEMA)
    graph.load(BEFORE, "append")
    return graph


def refused(graph: og.Graph, path: Path, mode: str = "append") -> InvalidInputError | ConstraintError:
    """What a load of one process says about a text."""
    with pytest.raises((InvalidInputError, ConstraintError)) as caught:
        graph.load(path, mode)
    return caught.value


@pytest.mark.parametrize("records", [UNREADABLE, BROKEN], ids=["unreadable", "broken"])
@pytest.mark.parametrize("form", ["lf", "crlf-ended", "gz"])
def test_every_mistake_is_told_with_file_and_line_however_the_text_is_cut(
    spark: SparkSession, tmp_path: Path, records: list[str | Record], form: str
):
    graph = make_graph(tmp_path / "g.omni")
    end = b"\r\n" if form.startswith("crlf") else b"\n"
    text = end.join(lines(records)) + (end if form.endswith("ended") else b"")
    plain = tmp_path / "in.jsonl"
    plain.write_bytes(text)
    expected = refused(graph, plain)
    given = plain
    if form == "gz":
        given = tmp_path / "in.jsonl.gz"
        given.write_bytes(gzip.compress(text))
    with pytest.raises(type(expected)) as caught:
        omnigraph_spark.load(spark, graph, given, "append")
    told, wanted = verdict(caught.value), verdict(expected)
    assert told[:3] == wanted[:3]
    assert "\n".join(told[3]).replace(str(given), str(plain)) == "\n".join(wanted[3])
    assert all(each["line"] and each["source"] == str(given) for each in caught.value.details["problems"])
    assert len(graph.commits.list()) == 2


def test_of_very_many_mistakes_the_first_of_each_reason_are_told_as_by_one_process(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    cut_every(1024, monkeypatch.setattr)
    graph = make_graph(tmp_path / "g.omni")
    many: list[str | Record] = [person(f"p{number}", age=151, mail="m@x") for number in range(130)]
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"\n".join(lines([*many, person("q", mood="wistful"), edge("Knows", "q", "nobody", id="k")])))
    expected = refused(graph, path)
    with pytest.raises(ConstraintError) as caught:
        omnigraph_spark.load(spark, graph, path, "append")
    assert caught.value.message == expected.message
    assert caught.value.details == expected.details
    told = [(each["reason"], each["line"]) for each in caught.value.details["problems"]]
    assert [line for reason, line in told if reason == "range"] == list(range(1, 101))
    assert [each for each in told if each[0] in ("enum", "endpoint")] == [("enum", 131), ("endpoint", 132)]
    assert "dst 'nobody' not found in Person" in caught.value.message


def test_mistakes_of_a_frame_are_told_the_same_in_any_number_of_partitions(spark: SparkSession, tmp_path: Path):
    graph = make_graph(tmp_path / "g.omni")
    rows = [(f"P{number}", 151) for number in range(130)]
    frame = spark.createDataFrame(rows, "handle string, age int")
    told = []
    for partitioned in (frame, frame.coalesce(1)):
        with pytest.raises(ConstraintError) as caught:
            omnigraph_spark.load(spark, graph, {"Person": partitioned}, "append")
        told.append((caught.value.message, caught.value.details))
    assert told[0] == told[1]
    ids = [each["id"] for each in told[0][1]["problems"] if each["reason"] == "check"]
    assert sorted(ids) == sorted(f"P{number}" for number in range(100))


def test_a_value_of_a_frame_that_does_not_fit_is_told_by_the_id_of_its_row(spark: SparkSession, tmp_path: Path):
    graph = make_graph(tmp_path / "g.omni")
    frame = spark.createDataFrame([("ann", 2**40), ("bo", 7)], "handle string, age bigint")
    with pytest.raises(InvalidInputError) as caught:
        omnigraph_spark.load(spark, graph, {"Person": frame}, "append")
    assert caught.value.message.startswith("Person 'ann': Person.age expects I32?, got 1099511627776")


def test_of_very_many_answers_the_later_ones_tell_few_problems_and_count_all(tmp_path: Path):
    graph = make_graph(tmp_path / "g.omni")
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"\n".join(lines([person(f"P{number}", age=151) for number in range(130)])))
    task = write_ranges(graph.bulk(), list_ranges([path]) * (WORDY_ANSWERS + 1))
    told = {}
    for number in (0, WORDY_ANSWERS - 1, WORDY_ANSWERS):
        (batch,) = task([pa.record_batch({"id": [number]})])
        attempt = BulkAttempt.from_json(batch["answer"][0].as_py())
        told[number] = [
            (reason, count, sum(each.reason == reason for each in attempt.problems))
            for reason, count in attempt.counts.items()
        ]
    assert told[0] == told[WORDY_ANSWERS - 1]
    assert all(kept == min(count, 100) for _, count, kept in told[0])
    assert [each[:2] for each in told[WORDY_ANSWERS]] == [each[:2] for each in told[0]]
    assert sum(kept for *_, kept in told[WORDY_ANSWERS]) == BRIEF_PROBLEMS


@pytest.mark.parametrize("mode", ["merge", "overwrite"])
def test_the_other_modes_break_rules_in_the_same_words(spark: SparkSession, tmp_path: Path, mode: str):
    graph = make_graph(tmp_path / "g.omni")
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"\n".join(lines(BROKEN)))
    expected = refused(graph, path, mode)
    with pytest.raises(ConstraintError) as caught:
        omnigraph_spark.load(spark, graph, [path], mode)
    assert verdict(caught.value) == verdict(expected)


def test_many_files_are_one_commit_and_every_mistake_names_its_own(spark: SparkSession, tmp_path: Path):
    graph = make_graph(tmp_path / "g.omni")
    folder = tmp_path / "parts"
    folder.mkdir()
    half = len(FINE) // 2
    (folder / "1.jsonl").write_bytes(b"\r\n".join(lines(FINE[:half])) + b"\r\n")
    (folder / "2.jsonl.gz").write_bytes(gzip.compress(b"\n".join(lines(FINE[half:]))))
    (folder / "3.ndjson").write_bytes(b"")
    (tmp_path / "more-1.jsonl").write_bytes(b"\n".join(lines([person("m1")])))
    (tmp_path / "more-2.jsonl").write_bytes(b"\n" + b"\n".join(lines([person("m2")])) + b"\n\n")
    done = omnigraph_spark.load(spark, graph, [folder, str(tmp_path / "more-*.jsonl")], "append")
    assert (done.nodes, done.edges) == ({"Note": 1, "Person": 4}, {"Wrote": 1})
    assert len(graph.commits.list()) == 3
    alone = make_graph(tmp_path / "alone.omni")
    alone.load([each for each in [*FINE, person("m1"), person("m2")] if not isinstance(each, str)], "append")
    assert list(graph.export()) == list(alone.export())
    # Again: every one is there already, and each is told with the file and line that it stands in.
    with pytest.raises(ConstraintError) as caught:
        omnigraph_spark.load(spark, graph, [folder, str(tmp_path / "more-*.jsonl")], "append")
    places = {(Path(each["source"]).name, each["line"]) for each in caught.value.details["problems"]}
    packed = {("2.jsonl.gz", line) for line in (1, 2, 3)}
    assert places == {("1.jsonl", 2), *packed, ("more-1.jsonl", 1), ("more-2.jsonl", 2)}


def test_the_same_file_twice_is_the_same_rows_twice(spark: SparkSession, tmp_path: Path):
    graph = make_graph(tmp_path / "g.omni")
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"\n" + b"\n".join(lines([person("ann")])))
    with pytest.raises(ConstraintError, match=r"in\.jsonl:2: .*held by 'ann' and 'ann'"):
        omnigraph_spark.load(spark, graph, [path, path], "append")


def test_what_cannot_be_read_at_all_is_told_as_it_is(spark: SparkSession, tmp_path: Path):
    graph = make_graph(tmp_path / "g.omni")
    (tmp_path / "in.jsonl").write_bytes(b"PAR1" + b"\0" * 20)
    with pytest.raises(InvalidInputError, match=r"in\.jsonl is a Parquet file"):
        omnigraph_spark.load(spark, graph, tmp_path / "in.jsonl", "append")
    (tmp_path / "in.jsonl.gz").write_bytes(b"{}")
    with pytest.raises(InvalidInputError, match="no whole gzip file"):
        omnigraph_spark.load(spark, graph, tmp_path / "in.jsonl.gz", "append")
    with pytest.raises(InvalidInputError, match="no JSONL file behind"):
        omnigraph_spark.load(spark, graph, tmp_path / "gone.jsonl", "append")
    assert len(graph.commits.list()) == 2


def test_an_empty_text_is_an_empty_commit(spark: SparkSession, tmp_path: Path):
    graph = make_graph(tmp_path / "g.omni")
    (tmp_path / "in.jsonl").write_bytes(b"")
    assert omnigraph_spark.load(spark, graph, tmp_path / "in.jsonl", "overwrite").total == 0
    assert len(graph.table("Person")) == 1


def test_on_error_stop_tells_broken_values_without_a_question(spark: SparkSession, tmp_path: Path):
    graph = make_graph(tmp_path / "g.omni")
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"\n".join(lines(BROKEN)))
    with pytest.raises(ConstraintError) as caught:
        omnigraph_spark.load(spark, graph, path, "append", on_error="stop")
    assert {each["reason"] for each in caught.value.details["problems"]} == {"range", "check", "enum"}
    with pytest.raises(InvalidInputError, match="There is no on_error='skip'"):
        omnigraph_spark.load(spark, graph, path, "append", on_error="skip")
