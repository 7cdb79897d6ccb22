"""What Spark does with a graph beside what it does with Parquet, as ratios within one run on one warm session.

    load      all checks on, and without those that need other rows, against Spark's Parquet write of the same frames;
              beside it the loader of one process
    shares    how the time of a load splits: tasks that write, judging, publishing
    cut       the same load from 1, 2 and 4 partitions
    read      both types with all columns, and one column, against Spark's Parquet read of the same
    memory    of the driver, for a tenth of the rows and for all of them

Rounds of all sides alternate, so that a noisy machine disturbs all alike; the figure is the median of the ratios.

Run it with: tox run -e bench-spark
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.dataset as ds
from pyspark.sql import DataFrame, SparkSession
from spark_people import SCHEMA, knows, people, stored, watching

import omnigraph as og
import omnigraph_spark


class Bench:
    """Frames of people and whom they know, and a place for what comes of them."""

    def __init__(self, spark: SparkSession, work: Path, nodes: int, edges: int) -> None:
        self.spark, self.work = spark, work
        self.nodes, self.edges = nodes, edges
        self.people = stored(spark, people(spark, nodes), nodes, work / "people.parquet")
        self.knows = stored(spark, knows(spark, edges, nodes), edges, work / "knows.parquet")

    def write_parquet(self) -> float:
        began = time.perf_counter()
        self.people.write.mode("overwrite").parquet(str(self.work / "out-people"))
        self.knows.write.mode("overwrite").parquet(str(self.work / "out-knows"))
        return time.perf_counter() - began

    def load(self, frames: dict[str, DataFrame] | None = None) -> dict[str, float]:
        """Seconds by what they were spent on; ``all`` is their sum."""
        return self._loading(
            lambda graph, seen: omnigraph_spark.load(
                self.spark, graph, frames or {"Person": self.people, "Knows": self.knows}, "append", progress=seen
            )
        )

    def load_alone(self) -> dict[str, float]:
        files = {"Person": "people.parquet", "Knows": "knows.parquet"}
        readers = {name: ds.dataset(self.work / file).scanner().to_reader() for name, file in files.items()}
        return self._loading(lambda graph, seen: graph.load(readers, "append", progress=seen))

    def _loading(
        self, load: Callable[[og.Graph, Callable[[og.LoadProgress], None]], og.LoadResult]
    ) -> dict[str, float]:
        uri = self.work / "graph"
        shutil.rmtree(uri, ignore_errors=True)
        moments: dict[str, float] = {}
        with og.init(uri, schema=SCHEMA) as graph:
            began = time.perf_counter()
            done = load(graph, lambda seen: moments.setdefault(seen.phase, time.perf_counter()))
            ended = time.perf_counter()
        if done.total != self.nodes + self.edges:
            raise SystemExit(f"{done.total} rows were loaded, not {self.nodes + self.edges}")
        judging, publishing = moments["checking"], moments["publishing"]
        return {
            "all": ended - began,
            "writing": judging - began,
            "judging": publishing - judging,
            "publishing": ended - publishing,
        }

    def read(self, columns: dict[str, list[str] | None]) -> tuple[float, float]:
        """Seconds for a graph and for Parquet."""
        began = time.perf_counter()
        for name, wanted in columns.items():
            frame = omnigraph_spark.read(self.spark, self.work / "graph", name, columns=wanted)
            frame.write.format("noop").mode("overwrite").save()
        middle = time.perf_counter()
        for name, wanted in columns.items():
            frame = self.people if name == "Person" else self.knows
            (frame if wanted is None else frame.select(*wanted)).write.format("noop").mode("overwrite").save()
        return middle - began, time.perf_counter() - middle


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=2_000_000)
    parser.add_argument("--edges", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peak", action="store_true", help="load once and print what the processes took")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="omnigraph-spark-") as folder:
        spark = omnigraph_spark.session("bench", master="local[2]", config={"spark.driver.memory": "4g"})
        bench = Bench(spark, Path(folder), given.nodes, given.edges)
        if given.peak:
            with watching() as peaks:
                bench.load()
            print(json.dumps(peaks.__dict__))
            return
        compare(bench, given.rounds)
    if not given.peak:
        compare_memory(given.nodes, given.edges)


def compare(bench: Bench, rounds: int) -> None:
    rows = bench.nodes + bench.edges
    bench.write_parquet()
    bench.load()
    parquet, loads, alone = [], [], []
    for _ in range(rounds):
        parquet.append(bench.write_parquet())
        loads.append(bench.load())
        alone.append(bench.load_alone()["all"])
    print(f"{bench.nodes:,} nodes and {bench.edges:,} edges, local[2], {rounds} rounds, medians")
    tell("Spark writes Parquet", statistics.median(parquet), rows)
    tell("Spark load, all checks", middle(loads, "all"), rows)
    for name in ("writing", "judging", "publishing"):
        tell(f"  {name}", middle(loads, name), rows)
    tell("one process, all checks", statistics.median(alone), rows)
    every = [each / load["all"] for each, load in zip(parquet, loads, strict=True)]
    own = [each / (load["writing"] + load["publishing"]) for each, load in zip(parquet, loads, strict=True)]
    aim("load, all checks, of Parquet's throughput", statistics.median(every), 0.40)
    aim("load, rows by themselves, of Parquet's throughput", statistics.median(own), 0.75)
    reads = [bench.read({"Person": None, "Knows": None}) for _ in range(rounds)]
    aim("read, all columns, of Parquet's throughput", statistics.median(b / a for a, b in reads), 0.60)
    reads = [bench.read({"Person": ["name"], "Knows": ["src"]}) for _ in range(rounds)]
    aim("read, one column, of Parquet's throughput", statistics.median(b / a for a, b in reads), 0.60)
    for count in (1, 2, 4):
        frames = {"Person": bench.people.coalesce(count), "Knows": bench.knows.coalesce(count)}
        tell(f"Spark load from {count} partitions", bench.load(frames)["all"], rows)


def compare_memory(nodes: int, edges: int) -> None:
    """Each in a process of its own: a driver that loaded much has taken what it took."""
    found = []
    for share in (10, 1):
        words = [sys.executable, __file__, "--peak", "--nodes", str(nodes // share), "--edges", str(edges // share)]
        said = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
        found.append(json.loads(said.splitlines()[-1]))
        print(
            f"memory at {(nodes + edges) // share:,} rows: " + ", ".join(f"{k} {v:,} MB" for k, v in found[-1].items())
        )
    aim("memory of the driver, ten times the rows", found[1]["driver"] / found[0]["driver"], 1.20, at_most=True)


def middle(loads: list[dict[str, float]], name: str) -> float:
    return statistics.median(each[name] for each in loads)


def tell(what: str, seconds: float, rows: int) -> None:
    print(f"{what:<52} {seconds:7.2f} s  {rows / seconds / 1000:8,.0f} krows/s")


def aim(what: str, ratio: float, wanted: float, *, at_most: bool = False) -> None:
    word = "at most" if at_most else "at least"
    is_met = ratio <= wanted if at_most else ratio >= wanted
    print(f"{what:<52} {ratio:7.2f}    aim {word} {wanted:.2f}{'' if is_met else '   NOT MET'}")


if __name__ == "__main__":
    main()
