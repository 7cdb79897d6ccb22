"""Graphs as DataFrames: every type, one snapshot, filters pushed, by the plain format, by SQL and by the helpers."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from every_type import make_graph
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

import omnigraph as og
import omnigraph_spark
from omnigraph.errors import InvalidInputError, NotFoundError
from omnigraph_spark.sessions import PUSH_DOWN


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    return make_graph(tmp_path_factory.mktemp("read") / "things.omni")


@pytest.fixture
def unset(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that does not push filters, as sessions are by default."""
    spark.conf.set(PUSH_DOWN, "false")
    yield spark
    spark.conf.set(PUSH_DOWN, "true")


def load(spark: SparkSession, graph: og.Graph, **options: Any) -> DataFrame:
    return spark.read.format("omnigraph").options(uri=graph.uri, **options).load()


def as_stored(frame: DataFrame, rows: pa.Table) -> pa.Table:
    """What a DataFrame holds, in the types of the graph, by id."""
    found = frame.toArrow()
    assert found.column_names == rows.column_names
    return pa.table([found[each.name].cast(each.type) for each in rows.schema], schema=rows.schema).sort_by("id")


def plan_of(frame: DataFrame, capsys: pytest.CaptureFixture[str]) -> str:
    frame.explain(True)
    return capsys.readouterr().out


def test_every_type_comes_through_spark_unchanged(spark: SparkSession, graph: og.Graph):
    rows = graph.table("Thing").to_arrow()
    frame = load(spark, graph, nodeType="Thing")
    assert as_stored(frame, rows).combine_chunks().equals(rows.sort_by("id").combine_chunks())
    assert [each.name for each in frame.schema if not each.nullable] == ["id", "k"]


def test_the_plain_format_works_in_a_session_that_pushes_no_filters(unset: SparkSession, graph: og.Graph):
    assert [row.k for row in load(unset, graph, type="Thing").where("u = 0").select("k").collect()] == ["low"]
    with pytest.raises(Exception, match=PUSH_DOWN):
        load(unset, graph, type="Thing", pushDown=True).collect()


def test_conditions_of_the_helper_need_no_setting(unset: SparkSession, graph: og.Graph):
    where = [("i", "<", 0), ("k", "starts with", "l"), ("d", "<", dt.date(2000, 1, 1)), ("kind", "in", ["green"])]
    frame = omnigraph_spark.read(unset, graph.uri, "Thing", columns=["k", "i"], where=where)
    assert [tuple(row) for row in frame.collect()] == [("low", -(2**31))]
    assert unset.conf.get(PUSH_DOWN) == "false"
    with pytest.raises(InvalidInputError, match=r"g < 0\.5 cannot be judged .*\.where\(\.\.\.\)"):
        omnigraph_spark.read(unset, graph.uri, "Thing", where=[("g", "<", 0.5)])


FILTERS = {
    "i < 0 and k like 'l%'": False,
    "d > date'2000-01-01'": False,
    "kind in ('red', 'blue') and ok": False,
    "i <> 5": False,
    "not (i <=> 5)": True,
    "f < cast('nan' as float)": True,
    "t > timestamp'2000-01-01 00:00:00'": False,
    "t > timestamp'1999-12-31 23:59:59.999500'": True,
    "w = 0": True,
    "i = 1 or s = ''": True,
}
"""Filters of Spark, and whether Spark has to judge them itself."""


def test_with_push_down_answers_are_those_of_spark(
    spark: SparkSession, graph: og.Graph, capsys: pytest.CaptureFixture[str]
):
    frames = [load(spark, graph, type="Thing", pushDown=True).where(text) for text in FILTERS]
    for frame, (text, is_left) in zip(frames, FILTERS.items(), strict=True):
        physical = plan_of(frame, capsys).partition("== Physical Plan ==")[2]
        assert bool(re.search(r"\bFilter\b", physical)) == is_left, text
    plain = load(spark, graph, type="Thing")
    answers = together(frames)
    assert answers == together([plain.where(text) for text in FILTERS])
    assert len(answers) > len(FILTERS)


def together(frames: list[DataFrame]) -> set[tuple[int, str]]:
    """The ids in each frame, by its number, in one job."""
    parts = [frame.selectExpr(f"{number} as n", "id") for number, frame in enumerate(frames)]
    return {(row.n, row.id) for row in reduce(DataFrame.union, parts).collect()}


def test_a_frame_that_is_filtered_several_ways_answers_each(spark: SparkSession, graph: og.Graph):
    """In any session: Spark mixes readers up that take its filters, so ours does not unless it is told to."""
    frame = omnigraph_spark.read(spark, graph.uri, "Thing", columns=["id", "i"])
    assert [frame.where("i < 0").count(), frame.count(), frame.where("i > 0").count()] == [1, 3, 1]


def test_a_frame_shows_one_snapshot_however_often_it_is_used(spark: SparkSession, tmp_path: Path):
    graph = make_graph(tmp_path / "g")
    plain = load(spark, graph, type="Thing")
    helped = omnigraph_spark.read(spark, graph.uri, "Thing", columns=["id"])
    graph.load([{"type": "Thing", "data": {"k": "late"}}], "append")
    for frame in (plain, helped):
        assert frame.alias("a").join(frame.alias("b"), "id").count() == 3
    assert load(spark, graph, type="Thing").count() == 4


def test_a_frame_of_a_schema_shows_the_snapshot_of_its_first_use(spark: SparkSession, tmp_path: Path):
    """Spark makes the source of such a frame when it first plans a read of it, and keeps it then."""
    graph = make_graph(tmp_path / "g")
    frame = spark.read.format("omnigraph").options(uri=graph.uri, type="Thing").schema("id string").load()
    counts = []
    for name in ("late", "later"):
        graph.load([{"type": "Thing", "data": {"k": name}}], "append")
        counts.append(frame.alias("a").join(frame.alias("b"), "id").count())
    assert counts == [4, 4]


def test_a_frame_of_the_helper_is_planned_without_python(
    spark: SparkSession, graph: og.Graph, capsys: pytest.CaptureFixture[str]
):
    """Spark plans a source of Python in processes of Python, whenever a DataFrame is used, which takes longer than a
    million rows do."""
    asked = "query q() { match { $a: Thing } return { $a.k } }"
    helped = [omnigraph_spark.read(spark, graph.uri, "Thing"), omnigraph_spark.query(spark, graph.uri, asked)]
    for frame in helped:
        plan = plan_of(frame, capsys)
        assert "MapInArrow read_omnigraph" in plan
        assert "BatchScan" not in plan
    assert "BatchScan" in plan_of(load(spark, graph, type="Thing"), capsys)


def test_the_helper_reads_each_type_as_the_format_does(spark: SparkSession, graph: og.Graph):
    for name in ("Thing", "Near"):
        rows = graph.table(name).to_arrow()
        frame = omnigraph_spark.read(spark, graph.uri, name)
        assert frame.schema == load(spark, graph, type=name).schema
        assert as_stored(frame, rows).combine_chunks().equals(rows.sort_by("id").combine_chunks())


def test_a_type_without_rows_is_a_frame_without_rows(spark: SparkSession, tmp_path: Path):
    graph = og.init(tmp_path / "g", schema="node A { k: String @key }")
    for frame in (load(spark, graph, type="A"), omnigraph_spark.read(spark, graph.uri, "A")):
        assert (frame.columns, frame.collect()) == (["id", "k"], [])


def test_moments_are_read_by_branch_commit_and_tag(spark: SparkSession, tmp_path: Path):
    graph = make_graph(tmp_path / "g")
    before = graph.snapshot().commit.id
    graph.tags.create("v1")
    graph.branches.create("side")
    graph.load([{"type": "Thing", "data": {"k": "late"}}], "append", branch="side")
    graph.load([{"type": "Thing", "data": {"k": f"new{each}"}} for each in range(2)], "append")
    counted = [
        omnigraph_spark.read(spark, graph.uri, "Thing", columns=["id"], **moment)
        for moment in ({}, {"branch": "side"}, {"commit": before}, {"tag": "v1"})
    ]
    assert [each.count() for each in counted] == [5, 4, 3, 3]


def test_a_view_of_sql_reads_an_edge_type_with_its_ends(spark: SparkSession, graph: og.Graph):
    spark.sql(f"CREATE TEMPORARY VIEW near USING omnigraph OPTIONS (uri '{graph.uri}', edgeType 'Near')")
    assert [tuple(row) for row in spark.sql("SELECT id, src, dst, year(since) FROM near").collect()] == [
        ("n1", "low", "none", 2024)
    ]


def test_a_path_is_a_place(spark: SparkSession, graph: og.Graph):
    assert spark.read.format("omnigraph").option("type", "Place").load(graph.uri).count() == 1


def test_the_result_of_a_query_is_a_frame(spark: SparkSession, graph: og.Graph, tmp_path: Path):
    text = "query near($from: String) { match { $a: Thing { k: $from }  $a near $b } return { $a.k as a, $b.k as b } }"
    file = tmp_path / "near.gq"
    file.write_text(text, "utf-8")
    for source in (text, file):
        frame = omnigraph_spark.query(spark, graph.uri, source, params={"from": "low"})
        assert [tuple(row) for row in frame.collect()] == [("low", "none")]


def test_nodes_and_edges_have_the_columns_that_graphframes_takes(spark: SparkSession, graph: og.Graph):
    nodes = omnigraph_spark.nodes(spark, graph.uri, type_column="label")
    assert nodes.columns[:2] == ["id", "label"]
    assert {"k", "name", "l"} < set(nodes.columns)
    assert sorted(tuple(row) for row in nodes.select("id", "label", "l", "name").collect()) == [
        ("high \U0001f600", "Thing", 2**63 - 1, None),
        ("low", "Thing", -(2**63), None),
        ("none", "Place", 5, "none"),
        ("none", "Thing", None, None),
    ]
    edges = omnigraph_spark.edges(spark, graph.uri)
    assert edges.columns == ["id", "src", "dst", "type", "l", "since"]


def test_qualified_ends_of_edges_are_qualified_ids_of_nodes(spark: SparkSession, graph: og.Graph):
    nodes = omnigraph_spark.nodes(spark, graph.uri, qualified=True)
    edges = omnigraph_spark.edges(spark, graph.uri, ["Near", "edge:At"], qualified=True)
    ends = sorted((row.src, row.dst, row.id) for row in edges.collect())
    assert ends == [("Thing:low", "Place:none", "At:a1"), ("Thing:low", "Thing:none", "Near:n1")]
    assert {row.id for row in nodes.select("id").collect()} >= {each for end in ends for each in end[:2]}


def test_types_that_cannot_stand_in_one_frame_are_told(spark: SparkSession, tmp_path: Path):
    graph = og.init(tmp_path / "g", schema="node A { x: I64? type: String? }\nnode B { x: String? }")
    with pytest.raises(InvalidInputError, match=r'has a column .type.*type_column="label"'):
        omnigraph_spark.nodes(spark, graph.uri)
    with pytest.raises(InvalidInputError, match="x is int64 in node:A and string in node:B"):
        omnigraph_spark.nodes(spark, graph.uri, type_column="label")
    with pytest.raises(InvalidInputError, match=r"'A' is no list of type names"):
        omnigraph_spark.nodes(spark, graph.uri, "A")
    with pytest.raises(InvalidInputError, match=r"no edge type to read\. The graph has: none"):
        omnigraph_spark.edges(spark, graph.uri)


def test_what_is_wrong_is_told_by_the_helper_as_by_the_front_door(spark: SparkSession, graph: og.Graph):
    with pytest.raises(NotFoundError, match='Did you mean "Thing"'):
        omnigraph_spark.read(spark, graph.uri, "Thin")
    with pytest.raises(InvalidInputError, match="exclude each other"):
        omnigraph_spark.read(spark, graph.uri, "Thing", branch="a", tag="b")
    with pytest.raises(InvalidInputError, match="parameter 'x' not provided"):
        omnigraph_spark.query(spark, graph.uri, "query q($x: I64) { match { $a: Thing } return { $a.k } }")
    with pytest.raises(InvalidInputError, match=r"\$x expects \[I64\]"):
        omnigraph_spark.query(
            spark, graph.uri, "query q($x: [I64]) { match { $a: Thing } return { $a.k } }", params={"x": {1}}
        )


def test_what_is_wrong_with_the_format_is_told_by_spark_in_our_words(spark: SparkSession, graph: og.Graph):
    with pytest.raises(AnalysisException, match=r'no option "typ".*Did you mean "type"'):
        load(spark, graph, typ="Thing")
