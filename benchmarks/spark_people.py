"""People who know each other, as frames of Spark, and what the processes of a run take in memory."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

SCHEMA = """
node Person {
    name: String @key
    city: String
    age: I32?
    score: F64
    joined: Date
    seen: DateTime
    @range(age, 0..150)
    @check(city, "^City [0-9]+$")
}
edge Knows: Person -> Person @card(0..1000) { weight: I32  since: Date }
"""
COLUMNS = {"Person": ["name", "city", "age", "score", "joined", "seen"], "Knows": ["src", "dst", "weight", "since"]}
"""What the Parquet has; the graph has ids beside, which are left out where the two are compared."""

FIRST_COLUMN = {name: columns[:1] for name, columns in COLUMNS.items()}
ROWS_PER_FILE = 1_250_000
"""Of the Parquet that everything is read from: what a partition of Spark has by itself."""


def name_of(number: Column) -> Column:
    return F.concat(F.lit("p"), F.lpad(number.cast("string"), 9, "0"))


def day_of(number: Column) -> Column:
    return F.date_add(F.lit("2020-01-01").cast("date"), (number % 1000).cast("int"))


def people(spark: SparkSession, count: int) -> DataFrame:
    number = F.col("id")
    return spark.range(count).select(
        name_of(number).alias("name"),
        F.concat(F.lit("City "), (number % 1000).cast("string")).alias("city"),
        (number % 100).cast("int").alias("age"),
        (number * 1.5).alias("score"),
        day_of(number).alias("joined"),
        F.timestamp_millis(F.lit(1_700_000_000_000) + number).alias("seen"),
    )


def knows(spark: SparkSession, count: int, of: int) -> DataFrame:
    number = F.col("id")
    return spark.range(count).select(
        name_of(number * 7919 % of).alias("src"),
        name_of(number * 104_729 % of).alias("dst"),
        (number % 10).cast("int").alias("weight"),
        day_of(number).alias("since"),
    )


def stored(spark: SparkSession, frame: DataFrame, rows: int, path: Path) -> DataFrame:
    """The rows as Parquet, so that everybody reads the same."""
    frame.repartition(max(2, round(rows / ROWS_PER_FILE))).write.parquet(str(path))
    return spark.read.parquet(str(path))


@dataclass
class Peaks:
    """Megabytes: of this process, of Spark's Java, and of all its Python workers together."""

    driver: int = 0
    java: int = 0
    workers: int = 0


@contextmanager
def watching(seconds: float = 0.2) -> Iterator[Peaks]:
    """What processes take at most during the block, looked at several times a second."""
    peaks, is_over = Peaks(), threading.Event()

    def watch() -> None:
        while not is_over.wait(seconds):
            java = workers = 0
            for process in _below(os.getpid()):
                try:
                    command = (process / "comm").read_text().strip()
                    taken = _resident(process)
                except OSError:
                    continue
                if command.startswith("java"):
                    java += taken
                else:
                    workers += taken
            peaks.driver = max(peaks.driver, _resident(Path("/proc/self")))
            peaks.java, peaks.workers = max(peaks.java, java), max(peaks.workers, workers)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peaks
    finally:
        is_over.set()
        thread.join()


def _resident(process: Path) -> int:
    return int((process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20


def _below(pid: int) -> Iterator[Path]:
    """Every process that this one started, and those that they did."""
    parents: dict[int, list[int]] = {}
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                parent = int((each / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(each.name))
    waiting = [pid]
    while waiting:
        found = parents.get(waiting.pop(), [])
        waiting += found
        yield from (Path(f"/proc/{each}") for each in found)
