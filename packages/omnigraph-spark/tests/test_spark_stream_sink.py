"""The sink: micro-batches as commits, each once, whatever dies in between; and streams from graph to graph."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as Spark's own docs have it
from pyspark.sql.window import Window
from stream_world import AGE, SCHEMA, Row, film, forget_commit, person, run, saw, stream

import omnigraph as og
import omnigraph_spark
from omnigraph.errors import InvalidInputError
from omnigraph_spark.sinks import GraphSink


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "graph", schema=SCHEMA)


def arrive(place: Path, name: str, *rows: Row) -> None:
    """A file of rows for a stream to find."""
    place.mkdir(exist_ok=True)
    (place / f".{name}").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    (place / f".{name}").rename(place / f"{name}.json")


def files(spark: SparkSession, place: Path, columns: str) -> DataFrame:
    """A stream of the files of a directory, one in each batch."""
    return spark.readStream.schema(columns).option("maxFilesPerTrigger", 1).json(str(place))


def history(graph: og.Graph) -> list[tuple[str | None, str | None]]:
    """Load id and actor of every load, oldest first."""
    loads = [each for each in reversed(graph.commits.list()) if each.kind == "data"]
    return [(each.properties.get("load_id"), each.actor) for each in loads]


class Dying:
    """A consumer that dies when its sink has loaded a batch, before Spark notes that it is done."""

    def __init__(self, sink: GraphSink) -> None:
        self.sink = sink

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        self.sink(frame, batch_id)
        raise RuntimeError("the power failed")


def test_a_batch_that_comes_again_adds_nothing_and_a_new_checkpoint_loses_nothing(
    spark: SparkSession, graph: og.Graph, tmp_path: Path
) -> None:
    arrive(tmp_path / "in", "a", {"name": "ann", "age": 3}, {"name": "bo", "age": 4})
    frame = files(spark, tmp_path / "in", "name string, age int")
    # With append, a batch that were loaded twice would be an error.
    sink = omnigraph_spark.sink(graph.uri, "Person", stream="people", mode="append", actor="spark")
    check = tmp_path / "check"
    with pytest.raises(StreamingQueryException, match="the power failed"):
        run(frame, check, Dying(sink))
    ((first, actor),) = history(graph)
    run(frame, check, sink)
    assert history(graph) == [(first, actor)]
    query_id = json.loads((check / "metadata").read_text("utf-8"))["id"]
    assert (first, actor) == (f"people:{query_id}:0", "spark")
    forget_commit(check, 0)
    arrive(tmp_path / "in", "b", {"name": "cy", "age": 5})
    run(frame, check, sink)
    assert [load_id for load_id, _ in history(graph)] == [first, f"people:{query_id}:1"]
    # Batches of a new checkpoint count from 0 again, and are other batches.
    shutil.rmtree(check)
    merging = omnigraph_spark.sink(graph.uri, "Person", stream="people", checkpoint=check)
    arrive(tmp_path / "in", "a", {"name": "ann", "age": 30})
    run(frame, check, merging)
    ages = {
        row["p.name"]: row["p.age"]
        for row in graph.query("query q() { match { $p: Person } return { $p.name, $p.age } }")
    }
    assert ages == {"ann": 30, "bo": 4, "cy": 5}
    assert [load_id.rpartition(":")[2] for load_id, _ in history(graph) if load_id] == ["0", "1", "0", "1"]


def to_types(changes: DataFrame) -> dict[str, DataFrame]:
    """What is left of each node and edge that changed, by type."""
    order = Window.partitionBy("entity", "type", "id").orderBy(F.desc("commit_version"))
    last = changes.withColumn("rank", F.row_number().over(order)).where("rank = 1 AND op <> 'delete'")
    shapes = {
        "Person": "name string, age int, seen string, marks array<bigint>",
        "Film": "title string",
        "Saw": "stars double",
    }
    images = {
        name: last.where(F.col("type") == name).withColumn("row", F.from_json("after", shape))
        for name, shape in shapes.items()
    }
    ends = [F.col("id"), F.col("from_id").alias("src"), F.col("to_id").alias("dst")]
    return {
        "Person": images["Person"].select("row.*").withColumn("seen", F.to_timestamp("seen")),
        "Film": images["Film"].select("row.*"),
        "Saw": images["Saw"].select(*ends, "row.*"),
    }


def test_a_graph_that_is_streamed_into_another_one_is_the_same_graph_in_as_many_commits_as_batches(
    spark: SparkSession, graph: og.Graph, tmp_path: Path
) -> None:
    graph.load(
        [person("ann", age=3, marks=[2**63 - 1]), person("bo", seen="2026-01-02T03:04:05.678Z"), film("Salt")], "append"
    )
    graph.load([saw("s1", "ann", "Salt", 4.5), person("cy")], "merge")
    graph.mutate(AGE, params={"name": "bo", "age": 7})
    graph.load([saw("s1", "bo", "Salt", 1.0), film("Pepper")], "merge")
    copy = og.init(tmp_path / "copy", schema=SCHEMA)
    run(
        stream(spark, graph, maxCommitsPerTrigger=3),
        tmp_path / "check",
        omnigraph_spark.sink(copy.uri, to_types, stream="copy", checkpoint=tmp_path / "check"),
    )
    assert [*copy.export()] == [*graph.export()]
    assert len(history(copy)) == 2


def test_a_column_routes_rows_to_types_in_one_commit_and_none_is_left_out(
    spark: SparkSession, graph: og.Graph, tmp_path: Path
) -> None:
    arrive(
        tmp_path / "in",
        "a",
        {"kind": "Person", "name": "ann"},
        {"kind": "Film", "title": "Salt"},
        {"kind": "edge:Saw", "id": "s1", "src": "ann", "dst": "Salt", "stars": 2.5},
    )
    arrive(tmp_path / "in", "b", {"kind": "Person", "name": "bo"}, {"kind": "Actor", "name": "cy"})
    route = omnigraph_spark.by_column(
        "kind", {"Person": ["name"], "Film": ["title"], "edge:Saw": ["id", "src", "dst", "stars"]}
    )
    frame = files(
        spark,
        tmp_path / "in",
        "kind string, name string, title string, id string, src string, dst string, stars double",
    )
    sink = omnigraph_spark.sink(graph.uri, route, stream="mixed", checkpoint=tmp_path / "check")
    with pytest.raises(StreamingQueryException) as caught:
        run(frame, tmp_path / "check", sink)
    assert "the value 'Actor', for which there is no type. Known are: Person, Film, edge:Saw." in str(caught.value)
    assert len(history(graph)) == 1
    assert [json.loads(line).get("edge") or json.loads(line)["type"] for line in graph.export()] == [
        "Saw",
        "Film",
        "Person",
    ]


def test_a_batch_without_rows_leaves_no_commit_and_one_of_no_query_is_refused(
    spark: SparkSession, graph: og.Graph, tmp_path: Path
) -> None:
    none = spark.createDataFrame([], "name string, age int")
    (tmp_path / "metadata").write_text('{"id": "q1"}', "utf-8")
    omnigraph_spark.sink(graph.uri, "Person", stream="people", checkpoint=tmp_path)(none, 0)
    some = spark.createDataFrame([("ann", 31)], "name string, age int")
    omnigraph_spark.sink(graph.uri, lambda _: {}, stream="people", checkpoint=tmp_path)(some, 0)
    assert history(graph) == []
    with pytest.raises(InvalidInputError, match=r"sink\(\.\.\., checkpoint="):
        omnigraph_spark.sink(graph.uri, "Person", stream="people")(none, 0)
    with pytest.raises(InvalidInputError, match=r"no checkpoint of a query.*checkpointLocation"):
        omnigraph_spark.sink(graph.uri, "Person", stream="people", checkpoint=tmp_path / "no")(none, 0)


@pytest.mark.parametrize(
    "arguments", [{"stream": " "}, {"stream": "people", "mode": "overwrite"}, {"stream": "people", "mode": "Merge"}]
)
def test_what_is_wrong_with_a_sink_is_told_when_it_is_made(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        omnigraph_spark.sink("graph.omni", "Person", **arguments)
    with pytest.raises(InvalidInputError, match="which type"):
        omnigraph_spark.by_column("kind", {})


def test_a_sink_pickles_and_does_not_show_what_opens_the_store() -> None:
    sink = omnigraph_spark.sink(
        "s3://bucket/graph",
        omnigraph_spark.by_column("kind", {"Person": ["name"]}),
        stream="people",
        options={"secret_access_key": "hush"},
    )
    assert pickle.loads(pickle.dumps(sink)) == sink
    assert "hush" not in repr(sink)
