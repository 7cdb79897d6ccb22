"""The change feed as a stream: each change once, in batches of whole commits, from wherever a checkpoint stands."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
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


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    """Two people and a film, an update, a merge and a delete that takes an edge along: six commits with the first."""
    made = og.init(tmp_path / "graph", schema=SCHEMA, actor="ann")
    made.load([person("ann", age=3, marks=[2**64 - 1]), person("bo"), film("Salt"), saw("s1", "ann", "Salt", 4.5)], "append")
    made.mutate(AGE, params={"name": "bo", "age": 7}, actor="bo")
    made.branches.create("side")
    made.load([person("cy"), saw("s2", "cy", "Salt")], "merge", branch="side")
    made.load([person("di")], "merge")
    made.branches.merge("side")
    made.mutate(GONE, params={"name": "ann"})
    return made


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
    reader = spark.readStream.format("omnigraph").option("uri", graph.uri).option("start", "beginning")
    return reader.options(**options).load()


def run(frame: DataFrame, checkpoint: Path, consumer: Callable[[DataFrame, int], None]) -> None:
    """All that is there now, until it is done or fails."""
    query = (
        frame.writeStream.foreachBatch(consumer)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination(120)
    finally:
        query.stop()


def told(rows: list[Row]) -> list[Row]:
    """Rows of a stream in the form of the feed."""
    plain = []
    for row in rows:
        images = {side: None if row[side] is None else json.loads(row[side]) for side in ("before", "after")}
        plain.append({name: row[name] for name in row if name not in ("commit_version", "committed_at")} | images)
    return plain


def fed(graph: og.Graph, branch: str = "main", **filters: Any) -> list[Row]:
    """What the feed tells of a branch."""
    return [
        {
            "commit_id": block.cause.commit_id,
            "commit_kind": str(block.cause.kind),
            "actor": block.cause.actor,
            **change.to_dict(),
        }
        for page in graph.changes.follow(branch, start="beginning", **filters)
        for block in page.blocks
        for change in block.changes
    ]


# ── what comes ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_available_now_gives_every_change_once_in_as_many_batches_as_the_rate_allows(
    spark: SparkSession, graph: og.Graph, tmp_path: Path
) -> None:
    drain = Drain()
    run(stream(spark, graph, maxCommitsPerTrigger=2, commitsPerPartition=1), tmp_path / "check", drain)
    assert told(drain.rows) == fed(graph)
    commits = [each.id for each in reversed(graph.commits.list())]
    assert len(drain.batches) == (len(commits) + 1) // 2
    for number, rows in drain.batches.items():
        assert {row["commit_id"] for row in rows} <= set(commits[2 * number : 2 * number + 2])
    moments = {block.cause.commit_id: block.cause.created_at for block in graph.changes(start="beginning").blocks}
    assert all(row["committed_at"] == moments[row["commit_id"]].replace(tzinfo=None) for row in drain.rows)
    versions = [row["commit_version"] for row in drain.rows]
    assert versions == sorted(versions)
