"""Streams over Spark Connect, where micro-batches are handed to a process of the server that knows nothing of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph as og

SCHEMA = "node Person { name: String @key  age: I32? }"
SCRIPT = """
import os, sys
from pathlib import Path

from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession

import omnigraph_spark
from omnigraph_spark.java import use_java

use_java(only_bundled=True)
os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
here, source, target = Path(sys.argv[1]), *sys.argv[2:]
people = spark.readStream.format("omnigraph").options(uri=source, start="beginning", nodeType="Person").load()
rows = people.where("after is not null").select("after.name", "after.age")


def run(sink, name):
    query = rows.writeStream.foreachBatch(sink).trigger(availableNow=True)
    query = query.option("checkpointLocation", str(here / name))
    for attempts_left in (4, 3, 2, 1, 0):
        try:
            return query.start().awaitTermination(120)
        except PySparkException as error:
            # Spark waits ten seconds for the process that a batch is handed to; on a busy machine that takes longer.
            if "worker to connect back" not in str(error) or not attempts_left:
                raise


sink = omnigraph_spark.sink(target, "Person", stream="people", mode="append", checkpoint=here / "check")
run(sink, "check")
for each in (here / "check" / "commits").iterdir():
    each.unlink()
run(sink, "check")
try:
    run(omnigraph_spark.sink(target, "Person", stream="people", mode="append"), "other")
except StreamingQueryException as error:
    print("refused:", "sink(..., checkpoint=...)" in str(error))
spark.stop()
"""


@pytest.mark.skipif(
    os.environ.get("OMNIGRAPH_SPARK_FAULTS") != "full", reason="a server of its own takes long to start: spark-faults"
)
def test_changes_stream_over_connect_into_a_graph_and_a_batch_that_comes_again_adds_nothing(tmp_path: Path) -> None:
    with og.init(tmp_path / "from", schema=SCHEMA) as source, og.init(tmp_path / "to", schema=SCHEMA) as target:
        source.load([{"type": "Person", "data": {"name": name, "age": 3}} for name in ("ann", "bo")], "append")
        script = tmp_path / "script.py"
        script.write_text(SCRIPT, "utf-8")
        done = subprocess.run(
            [sys.executable, script, tmp_path, source.uri, target.uri],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert "refused: True" in done.stdout, done.stdout[-2000:] + done.stderr[-4000:]
        target.refresh()
        assert [*target.export()] == [*source.export()]
        assert [each.kind for each in target.commits.list()] == ["data", "schema"]
