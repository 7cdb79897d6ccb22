"""Ten million nodes and fifty million edges through Spark: made, loaded as one commit, read back and compared.

Prints how long each step took and what the processes took in memory at most, and ends with an error if a count or one
of a thousand rows, chosen at random, is not as it was made.

Run it with: tox run -e spark-scale
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it
from spark_people import SCHEMA, knows, people, watching

import omnigraph as og
import omnigraph_spark


@contextmanager
def step(name: str) -> Iterator[None]:
    began = time.perf_counter()
    with watching() as peaks:
        yield
    took = ", ".join(f"{what} {megabytes:,} MB" for what, megabytes in peaks.__dict__.items())
    print(f"{name:<28} {time.perf_counter() - began:8.1f} s   at most: {took}", flush=True)


def compare(made: DataFrame, read: DataFrame, count: int, wanted: list[str], column: str) -> None:
    """Raise unless there are so many rows, and those of the wanted keys are those that were made."""
    found = read.count()
    if found != count:
        raise SystemExit(f"{found:,} rows were read of {count:,}")
    sides = []
    for frame in (made, read):
        rows = frame.where(F.col(column).isin(wanted)).collect()
        sides.append(sorted(tuple(row.asDict().items()) for row in rows))
    if sides[0] != sides[1]:
        raise SystemExit(f"Of {len(wanted)} values of {column} not all rows are as they were made")
    print(f"  {count:,} rows; {len(sides[0]):,} of them compared by {len(wanted)} values of {column}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=10_000_000)
    parser.add_argument("--edges", type=int, default=50_000_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    spark = omnigraph_spark.session("scale", master="local[2]", config={"spark.driver.memory": "4g"})
    chance = random.Random(given.seed)
    wanted = [f"p{chance.randrange(given.nodes):09d}" for _ in range(1_000)]
    with tempfile.TemporaryDirectory(prefix="omnigraph-scale-") as folder:
        uri = Path(folder) / "graph"
        nodes, edges = people(spark, given.nodes), knows(spark, given.edges, given.nodes)
        with og.init(uri, schema=SCHEMA) as graph:
            with step("load, one commit"):
                frames = {"Person": nodes.repartition(8), "Knows": edges.repartition(40)}
                done = omnigraph_spark.load(spark, graph, frames, "append", load_id="scale")
            if done.total != given.nodes + given.edges or len(graph.commits.list()) != 2:
                raise SystemExit(f"{done.total:,} rows in {len(graph.commits.list()) - 1} commits")
        size = sum(each.stat().st_size for each in uri.rglob("*") if each.is_file())
        print(f"  {done.total:,} rows as commit {done.commit.id}, {size / 2**30:.2f} GiB on disk", flush=True)
        with step("read back"):
            read = omnigraph_spark.read(spark, uri, "Person", columns=nodes.columns)
            compare(nodes, read, given.nodes, wanted, "name")
            read = omnigraph_spark.read(spark, uri, "Knows", columns=edges.columns)
            compare(edges, read, given.edges, wanted, "src")


if __name__ == "__main__":
    main()
