"""Spark from wheels alone: a session on the Java that comes along, a load, the data source that Spark finds by itself.

Usage: python spark_from_wheels.py DIRECTORY, with the Python of an environment that has the wheels and no checkout.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import omnigraph
import omnigraph_spark
from omnigraph_spark.java import use_java

ROOT = Path(__file__).parents[2]
SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person"


def main(place: Path) -> None:
    for module in (omnigraph, omnigraph_spark):
        if Path(str(module.__file__)).is_relative_to(ROOT / "packages"):
            raise SystemExit(f"{module.__name__} is not from a wheel: {module.__file__}")
    java = use_java(only_bundled=True)
    spark = omnigraph_spark.session(master="local[2]", config={"spark.sql.shuffle.partitions": "2"})
    graph = str(place / "people.omni")
    omnigraph.init(graph, schema=SCHEMA).close()
    people = spark.createDataFrame([("ann", 31), ("bo", 44)], "name string, age int")
    knows = spark.createDataFrame([("ann", "bo")], "src string, dst string")
    done = omnigraph_spark.load(spark, graph, {"Person": people, "Knows": knows}, "append")
    more = spark.createDataFrame([("cy", 27)], "name string, age int")
    more.write.format("omnigraph").options(uri=graph, nodeType="Person").mode("append").save()
    read = spark.read.format("omnigraph").options(uri=graph, nodeType="Person", columns="name,age").load()
    found = sorted(row.name for row in read.where("age > 30").collect())
    version = spark.version
    spark.stop()
    if (done.total, found) != (3, ["ann", "bo"]):
        raise SystemExit(f"loaded {done.total} rows, and read {found}")
    # The command has the verbs that the plugin of the wheel adds.
    command = [Path(sys.executable).with_name("omnigraph"), "spark", "load", "--help"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    print(f"Spark {version} on the Java of {java.origin}: loaded, written and read from wheels")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as directory:
        main(Path(directory))
