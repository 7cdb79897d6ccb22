"""A graph with something of everything to stream, what its feed tells, and streams that note what they are given."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import omnigraph as og

SCHEMA = """
node Person { name: String @key  age: I32?  seen: DateTime?  marks: [U64]? }
node Film { title: String @key }
edge Saw: Person -> Film { stars: F64? }
"""
AGE = "query age($name: String, $age: I32) { update Person set { age: $age } where name = $name }"
GONE = "query gone($name: String) { delete Person where name = $name }"

Row = dict[str, Any]


def person(name: str, **data: Any) -> Row:
    return {"type": "Person", "data": {"name": name, **data}}


def film(title: str) -> Row:
    return {"type": "Film", "data": {"title": title}}


def saw(edge_id: str, who: str, what: str, stars: float | None = None) -> Row:
    return {"edge": "Saw", "from": who, "to": what, "data": {"id": edge_id, "stars": stars}}


def busy_graph(place: Path) -> og.Graph:
    """Inserts, an update, a merge, and a delete that takes an edge along: six commits of main with the first."""
    graph = og.init(place, schema=SCHEMA, actor="ann")
    graph.load(
        [person("ann", age=3, marks=[2**64 - 1]), person("bo"), film("Salt"), saw("s1", "ann", "Salt", 4.5)], "append"
    )
    graph.mutate(AGE, params={"name": "bo", "age": 7}, actor="bo")
    graph.branches.create("side")
    graph.load([person("cy"), saw("s2", "cy", "Salt")], "merge", branch="side")
    graph.load([person("di")], "merge")
    graph.branches.merge("side")
    graph.mutate(GONE, params={"name": "ann"})
    return graph


def fed(graph: og.Graph, branch: str = "main", *, start: str = "beginning", **filters: Any) -> list[Row]:
    """What the feed tells of a branch."""
    return [
        {
            "commit_id": block.cause.commit_id,
            "commit_kind": str(block.cause.kind),
            "actor": block.cause.actor,
            **change.to_dict(),
        }
        for page in graph.changes.follow(branch, start=start, **filters)
        for block in page.blocks
        for change in block.changes
    ]


def told(rows: list[Row]) -> list[Row]:
    """Rows of a stream with images as JSON, in the form of the feed; the versions of their commits must grow."""
    versions = [row["commit_version"] for row in rows]
    assert versions == sorted(versions)
    plain = []
    for row in rows:
        images = {side: None if row[side] is None else json.loads(row[side]) for side in ("before", "after")}
        plain.append({name: row[name] for name in row if name not in ("commit_version", "committed_at")} | images)
    return plain


class Drain:
    """A consumer that notes what each micro-batch held, under its number."""

    def __init__(self) -> None:
        self.batches: dict[int, list[Row]] = {}

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        self.batches[batch_id] = [row.asDict(recursive=True) for row in frame.collect()]

    @property
    def rows(self) -> list[Row]:
        return [row for _, rows in sorted(self.batches.items()) for row in rows]


def stream(spark: SparkSession, graph: og.Graph, **options: Any) -> DataFrame:
    """The changes of a graph, from the beginning where the options do not say."""
    reader = spark.readStream.format("omnigraph").option("uri", graph.uri)
    return reader.options(**{"start": "beginning"} | options).load()


def run(frame: DataFrame, checkpoint: Path, consumer: Callable[[DataFrame, int], None]) -> None:
    """All that is there now, until it is done or fails."""
    writer = frame.writeStream.foreachBatch(consumer).option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination(120)
    finally:
        query.stop()


def forget_commit(checkpoint: Path, batch_id: int) -> None:
    """Take away what says that a batch was done, as a driver leaves it that dies in the moment before."""
    for each in (checkpoint / "commits").iterdir():
        if each.name.strip(".").removesuffix(".crc") == str(batch_id):
            each.unlink()
