"""Every type of the schema language through a DataFrame into a graph: nulls and extremes arrive as they are."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from every_type import HIGH, LOW, SCHEMA, make_graph
from pyspark.sql import SparkSession

import omnigraph as og
import omnigraph_spark
from omnigraph.errors import InvalidInputError

TYPES = ("Thing", "Place", "Near", "At")


def test_every_type_arrives_from_frames_as_from_arrow(spark: SparkSession, tmp_path: Path):
    source = make_graph(tmp_path / "source.omni")
    given = {name: omnigraph_spark.read(spark, source.uri, name) for name in TYPES}
    by_spark, by_arrow = (og.init(tmp_path / name, schema=SCHEMA) for name in ("spark.omni", "arrow.omni"))
    done = omnigraph_spark.load(spark, by_spark, given, "append")
    assert (done.nodes, done.edges) == ({"Place": 1, "Thing": 3}, {"At": 1, "Near": 1})
    by_arrow.load({name: frame.toArrow() for name, frame in given.items()}, "append")
    assert list(by_spark.export()) == list(by_arrow.export()) == list(source.export())
    for name in TYPES:
        assert by_spark.table(name).to_arrow().sort_by("id") == source.table(name).to_arrow().sort_by("id")


def test_every_type_arrives_from_text_and_parquet(spark: SparkSession, tmp_path: Path):
    source = make_graph(tmp_path / "source.omni")
    (tmp_path / "all.jsonl").write_text("\n".join(source.export()))
    by_text = og.init(tmp_path / "text.omni", schema=SCHEMA)
    omnigraph_spark.load(spark, by_text.uri, tmp_path / "all.jsonl", "append")
    assert list(by_text.export()) == list(source.export())
    for name in TYPES:
        omnigraph_spark.read(spark, source.uri, name).write.parquet(str(tmp_path / name))
    by_parquet = og.init(tmp_path / "parquet.omni", schema=SCHEMA)
    omnigraph_spark.load(spark, by_parquet, {name: tmp_path / name for name in TYPES}, "append")
    assert list(by_parquet.export()) == list(source.export())


@pytest.mark.parametrize(
    ("column", "values", "reason", "message"),
    [
        ("w", pa.array([Decimal(2**64)], pa.decimal128(20, 0)), "out_of_range", "got 18446744073709551616: outside"),
        ("u", pa.array([-1], pa.int64()), "out_of_range", "got -1: outside 0 to 4294967295"),
        ("v", pa.array([[1.0, 2.0]], pa.list_(pa.float32())), "bad_vector", "expects 3 dimensions, got 2"),
        ("g", pa.array([float("nan")]), "out_of_range", "only finite numbers"),
    ],
    ids=["decimal", "long", "array", "NaN"],
)
def test_a_value_that_does_not_fit_is_told_in_the_words_of_every_load(
    spark: SparkSession, tmp_path: Path, column: str, values: pa.Array, reason: str, message: str
):
    graph = og.init(tmp_path / "g.omni", schema=SCHEMA)
    frame = spark.createDataFrame(pa.table({"k": ["a"], column: values}))
    with pytest.raises(InvalidInputError) as caught:
        omnigraph_spark.load(spark, graph, {"Thing": frame}, "append")
    (problem,) = caught.value.details["problems"]
    assert (problem["reason"], problem["property"]) == (reason, column)
    assert message in problem["message"]
    assert len(graph.commits.list()) == 1


def test_a_frame_without_rows_empties_its_type_when_it_overwrites(spark: SparkSession, tmp_path: Path):
    graph = og.init(tmp_path / "g.omni", schema=SCHEMA)
    graph.load([{"type": "Thing", "data": each} for each in (LOW, HIGH)], "append")
    empty = omnigraph_spark.read(spark, graph.uri, "Thing").where("false")
    for mode, left in (("append", 2), ("overwrite", 0)):
        assert omnigraph_spark.load(spark, graph, {"Thing": empty}, mode).nodes == {"Thing": 0}
        assert len(graph.table("Thing")) == left


def test_columns_that_are_wrong_are_told_once_however_many_partitions_there_are(spark: SparkSession, tmp_path: Path):
    with og.init(tmp_path / "g", schema="node Person { name: String @key  age: I32 }") as graph:
        frame = spark.range(8, numPartitions=4).selectExpr("cast(id as string) name", "id heigth")
        with pytest.raises(InvalidInputError) as caught:
            omnigraph_spark.load(spark, graph, {"Person": frame}, "append")
    assert caught.value.details["counts"] == {"missing_required": 1, "unknown_field": 1}
