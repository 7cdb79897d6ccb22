"""What a load by Spark costs when others publish meanwhile: on the branch itself, or on one of its own and merged.

    alone      nobody else writes
    overtaken  the load loses its race so many times, each time to a commit of one node and one edge
    branch     the load goes to a branch of its own, which is merged into main; nobody else writes

Seconds of each, and how they compare with a load that nobody disturbs, as medians over rounds that alternate.

Run it with: tox run -e bench-spark
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from spark_people import SCHEMA, knows, people, stored

import omnigraph as og
import omnigraph_spark

RACES = 20


def timed_load(spark: SparkSession, uri: Path, frames: dict[str, DataFrame], way: str) -> float:
    shutil.rmtree(uri, ignore_errors=True)
    with og.init(uri, schema=SCHEMA) as graph, og.open(uri) as other:
        other.load([_person("a"), _person("b")], "append")
        lost = 0

        def overtake(seen: og.LoadProgress) -> None:
            nonlocal lost
            if way == "overtaken" and seen.phase == "publishing" and lost < RACES:
                lost += 1
                edge = {"edge": "Knows", "from": "a", "to": "b", "data": {"weight": 1, "since": "2024-01-01"}}
                other.load([_person(f"rival{lost}"), edge], "append")

        graph.refresh()
        began = time.perf_counter()
        if way == "branch":
            omnigraph_spark.load(spark, graph, frames, "append", branch="load", base="main")
            graph.branches.merge("load", into="main", delete_branch=True)
        else:
            omnigraph_spark.load(spark, graph, frames, "append", progress=overtake)
        took = time.perf_counter() - began
        if way == "overtaken" and lost != RACES:
            raise SystemExit(f"The load was overtaken {lost} times and not {RACES}")
    return took


def _person(name: str) -> dict[str, object]:
    data = {"name": name, "city": "City 1", "score": 0.0, "joined": "2024-01-01", "seen": "2024-01-01T00:00:00Z"}
    return {"type": "Person", "data": data}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=500_000)
    parser.add_argument("--edges", type=int, default=1_250_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="omnigraph-spark-") as folder:
        work = Path(folder)
        spark = omnigraph_spark.session("rivals", master="local[2]", config={"spark.driver.memory": "4g"})
        frames = {
            "Person": stored(spark, people(spark, given.nodes), given.nodes, work / "people.parquet"),
            "Knows": stored(spark, knows(spark, given.edges, given.nodes), given.edges, work / "knows.parquet"),
        }
        ways = ("alone", "overtaken", "branch")
        timed_load(spark, work / "graph", frames, "alone")
        rounds = [{way: timed_load(spark, work / "graph", frames, way) for way in ways} for _ in range(given.rounds)]
    print(f"{given.nodes:,} nodes and {given.edges:,} edges, local[2], {given.rounds} rounds, medians")
    for way in ways:
        seconds = statistics.median(each[way] for each in rounds)
        ratio = statistics.median(each[way] / each["alone"] for each in rounds)
        told = f"overtaken {RACES} times" if way == "overtaken" else way
        print(f"load, {told:<24} {seconds:7.2f} s   {ratio:5.2f} x alone")


if __name__ == "__main__":
    main()
