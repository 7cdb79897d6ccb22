"""What a load by Spark costs when others publish meanwhile: on the branch itself, or on one of its own and merged.

    alone      nobody else writes
    overtaken  the load loses its race so many times, each time to a commit of one node and one edge
    besieged   another process commits one node and one edge after another, without a pause, until the load has landed
    branch     the load goes to a branch of its own, which is merged into main; nobody else writes

Seconds of each, and how they compare with a load that nobody disturbs, as medians over rounds that alternate, for loads
of two sizes: what others cost should not grow with the load, and what a merge costs does.

Run it with: tox run -e bench-spark
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from spark_people import SCHEMA, knows, people, stored

import omnigraph as og
import omnigraph_spark

RACES = 20
WAYS = ("alone", "overtaken", "besieged", "branch")


def timed_load(spark: SparkSession, uri: Path, frames: dict[str, DataFrame], way: str) -> tuple[float, int]:
    """Seconds, and how many commits others made meanwhile."""
    shutil.rmtree(uri, ignore_errors=True)
    with og.init(uri, schema=SCHEMA) as graph, og.open(uri) as other:
        other.load([_person("a"), _person("b")], "append")
        lost = 0

        def overtake(seen: og.LoadProgress) -> None:
            nonlocal lost
            if way == "overtaken" and seen.phase == "publishing" and lost < RACES:
                lost += 1
                other.load(_news(lost), "append")

        graph.refresh()
        with besieging(uri) if way == "besieged" else _nobody():
            began = time.perf_counter()
            if way == "branch":
                omnigraph_spark.load(spark, graph, frames, "append", branch="load", base="main")
                graph.branches.merge("load", into="main", delete_branch=True)
            else:
                omnigraph_spark.load(spark, graph, frames, "append", progress=overtake)
            took = time.perf_counter() - began
        graph.refresh()
        commits = [each for each in graph.commits.list() if str(each.kind) == "data"]
        if way == "overtaken" and lost != RACES:
            raise SystemExit(f"The load was overtaken {lost} times and not {RACES}")
    # The first people and the load are no rivals.
    return took, len(commits) - 2


@contextmanager
def besieging(uri: Path) -> Iterator[None]:
    """Another process that writes to a graph all the time."""
    rival = subprocess.Popen([sys.executable, __file__, "--besiege", str(uri)], stdout=subprocess.PIPE)
    try:
        if rival.stdout is None or not rival.stdout.readline():
            raise SystemExit("The rival did not begin")
        yield
    finally:
        rival.kill()
        rival.wait()


@contextmanager
def _nobody() -> Iterator[None]:
    yield


def besiege(uri: str) -> None:
    with og.open(uri) as graph:
        number = 0
        while True:
            number += 1
            graph.load(_news(number), "append")
            if number == 1:
                print("begun", flush=True)


def _news(number: int) -> list[dict[str, Any]]:
    edge = {"edge": "Knows", "from": "a", "to": "b", "data": {"weight": 1, "since": "2024-01-01"}}
    return [_person(f"rival{number}"), edge]


def _person(name: str) -> dict[str, Any]:
    data = {"name": name, "city": "City 1", "score": 0.0, "joined": "2024-01-01", "seen": "2024-01-01T00:00:00Z"}
    return {"type": "Person", "data": data}


def compare(spark: SparkSession, work: Path, nodes: int, edges: int, rounds: int) -> None:
    frames = {
        "Person": stored(spark, people(spark, nodes), nodes, work / f"people-{nodes}.parquet"),
        "Knows": stored(spark, knows(spark, edges, nodes), edges, work / f"knows-{edges}.parquet"),
    }
    timed_load(spark, work / "graph", frames, "alone")
    seen = [{way: timed_load(spark, work / "graph", frames, way) for way in WAYS} for _ in range(rounds)]
    print(f"{nodes:,} nodes and {edges:,} edges, local[2], {rounds} rounds, medians")
    for way in WAYS:
        seconds = statistics.median(each[way][0] for each in seen)
        more = statistics.median(each[way][0] - each["alone"][0] for each in seen)
        others = statistics.median(each[way][1] for each in seen)
        told = f"{way}, {others:,.0f} commits of others" if way in ("overtaken", "besieged") else way
        print(f"load, {told:<40} {seconds:7.2f} s   {more:+7.2f} s beside alone", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=500_000)
    parser.add_argument("--edges", type=int, default=1_250_000)
    parser.add_argument("--times", type=int, default=4, help="how much larger the second load is")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--besiege", metavar="URI", help="be the rival of another process")
    given = parser.parse_args()
    if given.besiege:
        besiege(given.besiege)
    with tempfile.TemporaryDirectory(prefix="omnigraph-spark-") as folder:
        spark = omnigraph_spark.session("rivals", master="local[2]", config={"spark.driver.memory": "4g"})
        for times in (1, given.times):
            compare(spark, Path(folder), given.nodes * times, given.edges * times, given.rounds)


if __name__ == "__main__":
    main()
