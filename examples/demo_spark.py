"""OmniGraph and Spark at work: frames become one commit, are refused as a whole, and come back as frames.

Each step states what must be so and tries it; the first that is not ends the demo with exit code 1. Without a Java on
this machine, and without the one that ``omnigraph-spark[jre]`` brings, it says so and ends well.

Run it with: tox run -e demo
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

import omnigraph
import omnigraph_spark
from omnigraph.errors import ConstraintError, InvalidInputError
from omnigraph_spark.java import use_java

SCHEMA = """
node Person { name: String @key  age: I32  @range(age, 0..150) }
edge Knows: Person -> Person @card(0..10) { since: Date }
"""
PEOPLE, EDGES, MERGED = 50_000, 200_000, 60_000


def main() -> None:
    """A load, again, one that is refused, reading it back, a merge, its changes as a stream, and Parquet out and in."""
    try:
        java = use_java()
    except InvalidInputError as error:
        print(f"\nSpark is left out: {error.message} {error.help}")
        return
    print(f"\n── Data that outgrows one process goes through Spark ─── Java from {java.origin}, no jar\n", flush=True)
    spark = omnigraph_spark.session("demo", master="local[2]")
    with tempfile.TemporaryDirectory(prefix="omnigraph-spark-demo-") as folder:
        uri = Path(folder) / "people.omni"
        with omnigraph.init(uri, schema=SCHEMA, actor="ann") as graph:
            show_load(spark, graph)
            show_refusal(spark, graph)
        show_reading(spark, uri)
        with omnigraph.open(uri, actor="bo") as graph:
            before = graph.snapshot().commit.id
            show_merge(spark, graph)
        show_changes(spark, uri, before, Path(folder) / "changes.check")
        show_files(spark, uri, Path(folder))
    spark.stop()
    print("\nSpark: every outcome was as it must be.")


def show_load(spark: SparkSession, graph: omnigraph.Graph) -> None:
    """Two frames become one commit, however often they are sent."""
    number = F.col("id")
    people = spark.range(PEOPLE).select(name_of(number).alias("name"), (number % 90).cast("int").alias("age"))
    knows = spark.range(EDGES).select(
        name_of(number % PEOPLE).alias("src"),
        name_of(number * 7919 % PEOPLE).alias("dst"),
        F.date_add(F.lit("2020-01-01").cast("date"), (number % 1000).cast("int")).alias("since"),
    )
    data = {"Person": people, "Knows": knows}
    done = omnigraph_spark.load(spark, graph, data, "append", load_id="monday")
    must(done.total == PEOPLE + EDGES, f"{done.total:,} rows of two types are one commit, {done.commit.id}")
    again = omnigraph_spark.load(spark, graph, data, "append", load_id="monday")
    must(again.commit == done.commit and again.total == 0, "sent again under the same name, it does nothing")


def show_refusal(spark: SparkSession, graph: omnigraph.Graph) -> None:
    """One error tells everything that is wrong, and nothing is written."""
    people = spark.createDataFrame([("p000007", 30), ("zoe", 200)], "name string, age int")
    knows = spark.createDataFrame([("zoe", "nobody", "2026-01-01")], "src string, dst string, since string")
    before = graph.commits.list()
    try:
        omnigraph_spark.load(spark, graph, {"Person": people, "Knows": knows}, "append")
    except ConstraintError as error:
        print("\n".join(f"      {line}" for line in error.message.splitlines()))
        counts = error.details["counts"]
        must(
            counts == {"endpoint": 1, "key_conflict": 1, "range": 1}, "a key, a range and an end are told in one error"
        )
    must(graph.commits.list() == before, "and there is no new commit")


def show_reading(spark: SparkSession, uri: Path) -> None:
    """Types come back as frames, of one snapshot."""
    people = omnigraph_spark.read(spark, uri, "Person", columns=["name", "age"])
    must(people.count() == PEOPLE, f"{PEOPLE:,} people come back as a frame")
    knows = spark.read.format("omnigraph").option("uri", str(uri)).option("edgeType", "Knows").load()
    oldest = knows.groupBy("src").count().agg(F.max("count")).collect()[0][0]
    must(oldest == EDGES // PEOPLE, 'format("omnigraph") is found by Spark itself; nobody knows more than four')


def show_merge(spark: SparkSession, graph: omnigraph.Graph) -> None:
    """Rows of equal key are replaced and the others are new, which tasks find out."""
    number = F.col("id")
    people = spark.range(PEOPLE // 2, PEOPLE // 2 + MERGED).select(
        name_of(number).alias("name"), F.lit(99).alias("age")
    )
    omnigraph_spark.load(spark, graph, {"Person": people}, "merge")
    found = omnigraph_spark.read(spark, graph.uri, "Person", columns=["age"])
    counts = (found.count(), found.where("age = 99").count())
    must(counts == (PEOPLE // 2 + MERGED, MERGED), f"{MERGED:,} people are merged by tasks: replaced or new, each once")


def show_changes(spark: SparkSession, uri: Path, before: str, checkpoint: Path) -> None:
    """What a commit changed comes as a stream."""
    changes = spark.readStream.format("omnigraph").options(uri=str(uri), start=f"after:{before}").load()
    seen: dict[str, int] = {}

    def count(batch: DataFrame, _number: int) -> None:
        for row in batch.groupBy("op").count().collect():
            seen[row["op"]] = seen.get(row["op"], 0) + row["count"]

    stream = changes.writeStream.foreachBatch(count).option("checkpointLocation", str(checkpoint))
    stream.trigger(availableNow=True).start().awaitTermination()
    replaced = PEOPLE // 2
    must(seen == {"update": replaced, "insert": MERGED - replaced}, f"a stream of changes tells them apart: {seen}")


def show_files(spark: SparkSession, uri: Path, folder: Path) -> None:
    """A graph becomes Parquet, and Parquet a graph: given by its path, it never goes through rows of Java."""
    done = omnigraph_spark.export(spark, uri, folder / "out")
    files = {"Person": folder / "out" / "nodes" / "Person", "Knows": folder / "out" / "edges" / "Knows"}
    with omnigraph.init(folder / "copy.omni", schema=SCHEMA) as copy, omnigraph.open(uri, mode="r") as graph:
        omnigraph_spark.load(spark, copy, files, "append")
        is_same = list(copy.export()) == list(graph.export())
    must(is_same, f"{len(done.files)} files of Parquet are exported, and load to the same graph, line by line")


def name_of(number: Column) -> Column:
    """``p000042``."""
    return F.concat(F.lit("p"), F.lpad(number.cast("string"), 6, "0"))


def must(holds: bool, what: str) -> None:
    """Print an outcome; one that is not as it must be is the end."""
    if not holds:
        raise SystemExit(f"\n✗ NOT as it must be: {what}")
    print(f"    ✓ {what}", flush=True)


if __name__ == "__main__":
    main()
