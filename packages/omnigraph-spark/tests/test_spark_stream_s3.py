"""Streams between graphs on S3: both ends reach their store by options that are given, and by nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from stream_world import forget_commit, run

import omnigraph as og
import omnigraph_spark
from omnigraph.testing.s3_servers import S3Server, run_s3_server

SCHEMA = "node Person { name: String @key  age: I32? }"
SOURCE, TARGET = "s3://streams/from.omni", "s3://streams/to.omni"


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with run_s3_server("ministack") as running:
        running.create_bucket("streams")
        yield running


@pytest.fixture(autouse=True)
def no_credentials_around(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)


def changes(spark: SparkSession, options: dict[str, object]) -> DataFrame:
    given = {f"storage.{name}": str(value) for name, value in options.items()}
    reader = spark.readStream.format("omnigraph").options(uri=SOURCE, start="beginning", nodeType="Person", **given)
    return reader.load().where("after is not null").select("after.name", "after.age")


def people(*names: str) -> list[dict[str, object]]:
    return [{"type": "Person", "data": {"name": name, "age": len(name)}} for name in names]


def test_changes_go_from_one_graph_on_s3_to_another_and_on_from_the_checkpoint(
    spark: SparkSession, server: S3Server, tmp_path: Path
) -> None:
    options, check = server.options(), tmp_path / "check"
    # With append, a batch that were loaded twice would be an error.
    sink = omnigraph_spark.sink(
        TARGET, "Person", stream="people", mode="append", checkpoint=check, options=server.options()
    )
    with (
        og.init(SOURCE, schema=SCHEMA, options=options) as source,
        og.init(TARGET, schema=SCHEMA, options=options) as target,
    ):
        source.load(people("ann", "bo"), "append")
        run(changes(spark, options), check, sink)
        target.refresh()
        assert [*target.export()] == [*source.export()]
        # The driver died before it noted that the batch was done: it comes again, with what came since behind it.
        forget_commit(check, 0)
        source.load(people("cy"), "append")
        run(changes(spark, options), check, sink)
        target.refresh()
        assert [*target.export()] == [*source.export()]
        loads = [each.properties["load_id"].rpartition(":")[2] for each in target.commits.list() if each.kind == "data"]
        assert loads == ["1", "0"]
