"""What Spark does with a graph beside what it does with Parquet, as ratios within one run on one warm session.

    load      all checks on, and without those that need other rows, against Spark's Parquet write of the same rows:
              from the Parquet files, and from DataFrames of them; beside it the loader of one process
    shares    how the time of a load splits: tasks that write, judging, publishing
    cut       the same load from 1, 2 and 4 partitions
    read      the columns that the Parquet has, and one of each type, by omnigraph_spark.read and by the plain format,
              against Spark's Parquet read of the same columns
    floors    what Spark takes where we do nothing: tasks of Python that drop the same rows, in batches that Spark
              weighs as it does by itself; and a source of Python that gives as many rows of the same types from memory
    memory    of the driver, for one million rows and for ten

Rounds of all sides alternate, so that a noisy machine disturbs all alike; the figure is the median of the ratios. The
first rounds do not count: Java compiles what hands rows to Python anew for minutes.

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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.dataset as ds
import spark_floor
from pyspark.sql import DataFrame, SparkSession
from spark_floor import FloorSource, drop_rows
from spark_people import COLUMNS, FIRST_COLUMN, SCHEMA, knows, people, stored, watching

import omnigraph as og
import omnigraph_spark
from omnigraph_spark.reader import ROWS_PER_PARTITION

MEMORY_ROWS = (1_000_000, 10_000_000)
"""Of both types together, for which the memory of the driver is compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """Seconds for the same columns."""

    graph: float
    by_format: float
    parquet: float
    floor: float


def seconds_of(frames: Iterable[DataFrame]) -> float:
    """For making frames and computing all that they have."""
    began = time.perf_counter()
    for frame in frames:
        frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began


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

    @property
    def files(self) -> dict[str, Path]:
        return {"Person": self.work / "people.parquet", "Knows": self.work / "knows.parquet"}

    @property
    def frames(self) -> dict[str, DataFrame]:
        return {"Person": self.people, "Knows": self.knows}

    def load(self, data: Mapping[str, DataFrame | Path]) -> dict[str, float]:
        """Seconds by what they were spent on; ``all`` is their sum."""
        return self._loading(lambda graph, seen: omnigraph_spark.load(self.spark, graph, data, "append", progress=seen))

    def load_alone(self) -> dict[str, float]:
        readers = {name: ds.dataset(file).scanner().to_reader() for name, file in self.files.items()}
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

    def write_nothing(self) -> float:
        """Seconds for what any load of Spark through Python costs: the rows reach its workers, and are dropped."""
        began = time.perf_counter()
        for frame in (self.people, self.knows):
            frame.mapInArrow(drop_rows, "rows long").collect()
        return time.perf_counter() - began

    def read(self, columns: dict[str, list[str]]) -> Reads:
        """Seconds for the same columns of a graph, of Parquet, and of a source of Python that has them in memory."""
        frames = {"Person": (self.people, self.nodes), "Knows": (self.knows, self.edges)}
        graph = seconds_of(
            omnigraph_spark.read(self.spark, self.work / "graph", name, columns=wanted)
            for name, wanted in columns.items()
        )
        by_format = seconds_of(
            self.spark.read.format("omnigraph")
            .options(uri=self.work / "graph", type=name, columns=",".join(wanted))
            .load()
            for name, wanted in columns.items()
        )
        parquet = seconds_of(frames[name][0].select(*wanted) for name, wanted in columns.items())
        floor = seconds_of(
            self.spark.read.format(FloorSource.name())
            .schema(frames[name][0].select(*wanted).schema)
            .options(rows=frames[name][1], partitions=-(-frames[name][1] // ROWS_PER_PARTITION))
            .load()
            for name, wanted in columns.items()
        )
        return Reads(graph=graph, by_format=by_format, parquet=parquet, floor=floor)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=2_000_000)
    parser.add_argument("--edges", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warm-up", type=int, default=5, help="rounds that do not count")
    parser.add_argument("--peak", action="store_true", help="load once each way and print what the processes took")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="omnigraph-spark-") as folder:
        spark = omnigraph_spark.session("bench", master="local[2]", config={"spark.driver.memory": "4g"})
        spark.sparkContext.addPyFile(spark_floor.__file__)
        spark.dataSource.register(FloorSource)
        bench = Bench(spark, Path(folder), given.nodes, given.edges)
        if given.peak:
            with watching() as peaks:
                bench.load(bench.files)
                bench.load(bench.frames)
            print(json.dumps(peaks.__dict__))
            return
        compare(bench, given.rounds, given.warm_up)
    if not given.peak:
        compare_memory()


def compare(bench: Bench, rounds: int, warm_up: int) -> None:
    rows = bench.nodes + bench.edges
    seen: dict[str, list[float]] = {}
    loads: dict[str, list[dict[str, float]]] = {"files": [], "frames": []}
    for number in range(warm_up + rounds):
        parquet = bench.write_parquet()
        by_files, by_frames = bench.load(bench.files), bench.load(bench.frames)
        once = {"parquet": parquet, "dropped": bench.write_nothing(), "alone": bench.load_alone()["all"]}
        shown = {**once, "files": by_files["all"], "frames": by_frames["all"]}
        print(" ".join(f"{name} {seconds:.2f}" for name, seconds in shown.items()), file=sys.stderr)
        if number >= warm_up:
            for name, seconds in once.items():
                seen.setdefault(name, []).append(seconds)
            loads["files"].append(by_files)
            loads["frames"].append(by_frames)
    print(f"{bench.nodes:,} nodes and {bench.edges:,} edges, local[2], {rounds} rounds, medians")
    tell("Spark writes Parquet", statistics.median(seen["parquet"]), rows)
    tell("one process loads, all checks", statistics.median(seen["alone"]), rows)
    tell("tasks that drop rows, in batches as Spark weighs them", statistics.median(seen["dropped"]), rows)
    floor = [each / nothing for each, nothing in zip(seen["parquet"], seen["dropped"], strict=True)]
    print(f"{'  of Parquet throughput':<52} {statistics.median(floor):7.2f}")
    for what, own in loads.items():
        tell(f"Spark loads {what}, all checks", middle(own, "all"), rows)
        for name in ("writing", "judging", "publishing"):
            tell(f"  {name}", middle(own, name), rows)
        every = [each / load["all"] for each, load in zip(seen["parquet"], own, strict=True)]
        single = [each / (load["all"] - load["judging"]) for each, load in zip(seen["parquet"], own, strict=True)]
        aim(f"{what}, all checks, of Parquet's throughput", every, 0.40)
        aim(f"{what}, rows by themselves, of Parquet's", single, 0.75)
    for what, columns in (("all columns of the Parquet", COLUMNS), ("one column of each type", FIRST_COLUMN)):
        reads = [bench.read(columns) for _ in range(warm_up + rounds)][warm_up:]
        tell(f"read, {what}", statistics.median(each.graph for each in reads), rows)
        aim(f"read, {what}, of Parquet's", [each.parquet / each.graph for each in reads], 0.60)
        aim('  format("omnigraph"), of Parquet', [each.parquet / each.by_format for each in reads], 0.60)
        ratio = statistics.median(each.parquet / each.floor for each in reads)
        print(f"{'  floor of any source in Python, of Parquet':<52} {ratio:7.2f}")
    for count in (1, 2, 4):
        frames = {name: frame.coalesce(count) for name, frame in bench.frames.items()}
        tell(f"Spark loads frames of {count} partitions", bench.load(frames)["all"], rows)


def compare_memory() -> None:
    """Each in a process of its own: a driver that loaded much has taken what it took."""
    found = []
    for rows in MEMORY_ROWS:
        nodes = rows * 2 // 7
        words = [sys.executable, __file__, "--peak", "--nodes", str(nodes), "--edges", str(rows - nodes)]
        said = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
        found.append(json.loads(said.splitlines()[-1]))
        print(f"memory at {rows:,} rows: " + ", ".join(f"{k} {v:,} MB" for k, v in found[-1].items()))
    aim("memory of the driver, ten times the rows", [found[1]["driver"] / found[0]["driver"]], 1.20, at_most=True)


def middle(loads: Sequence[dict[str, float]], name: str) -> float:
    return statistics.median(each[name] for each in loads)


def tell(what: str, seconds: float, rows: int) -> None:
    print(f"{what:<52} {seconds:7.2f} s  {rows / seconds / 1000:8,.0f} krows/s")


def aim(what: str, ratios: Sequence[float], wanted: float, *, at_most: bool = False) -> None:
    """The median beside what is wanted, with the least and the greatest where there are several."""
    ratio = statistics.median(ratios)
    is_met = ratio <= wanted if at_most else ratio >= wanted
    word = "at most" if at_most else "at least"
    span = f" ({min(ratios):.2f} to {max(ratios):.2f})" if len(ratios) > 1 else ""
    print(f"{what:<52} {ratio:7.2f}{span}    aim {word} {wanted:.2f}{'' if is_met else '   NOT MET'}")


if __name__ == "__main__":
    main()
