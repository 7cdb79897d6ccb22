"""Rows are handed to Python in batches that Spark does not weigh, unless rows may be heavy or somebody set it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import omnigraph as og
import omnigraph_spark
from omnigraph.errors import InvalidInputError
from omnigraph_spark import loading
from omnigraph_spark.handing_over import BATCH_BYTES, BATCH_ROWS, unweighed_batches


def settings(spark: SparkSession) -> tuple[str | None, str | None]:
    return spark.conf.get(BATCH_BYTES, None), spark.conf.get(BATCH_ROWS, None)


def batches_of(frame: DataFrame) -> list[int]:
    """How many rows each batch has that Python is handed."""

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.record_batch({"rows": [batch.num_rows]})

    return [row.rows for row in frame.mapInArrow(count, "rows long").collect()]


def test_batches_are_small_within_the_block_and_as_ever_behind_it(spark: SparkSession):
    frame = spark.range(0, 12_000, 1, 1)
    assert batches_of(frame) == [10_000, 2_000]
    with unweighed_batches(spark, [frame]):
        assert batches_of(frame) == [1_000] * 12
    assert settings(spark) == (None, None)
    assert batches_of(frame) == [10_000, 2_000]


def test_spark_knows_the_setting_and_ends_a_batch_by_it(spark: SparkSession):
    """It is weighed before each row where it is anything but the greatest."""
    spark.conf.set(BATCH_BYTES, "1000")
    try:
        assert max(batches_of(spark.range(0, 2_000, 1, 1))) < 1_000
    finally:
        spark.conf.unset(BATCH_BYTES)


@pytest.mark.parametrize("columns", ["cast('x' as binary) b", "array(cast('x' as binary)) bs"])
def test_rows_that_may_be_heavy_go_on_being_weighed(spark: SparkSession, columns: str):
    heavy, light = spark.range(3).selectExpr("id", columns), spark.range(3)
    with unweighed_batches(spark, [light, heavy]):
        assert settings(spark) == (None, None)


@pytest.mark.parametrize(("name", "value"), [(BATCH_BYTES, "1000000"), (BATCH_ROWS, "77")])
def test_what_somebody_set_counts(spark: SparkSession, name: str, value: str):
    spark.conf.set(name, value)
    try:
        before = settings(spark)
        with unweighed_batches(spark, [spark.range(3)]):
            assert settings(spark) == before
        assert settings(spark) == before
    finally:
        spark.conf.unset(name)


def test_two_loads_at_once_leave_nothing_behind(spark: SparkSession):
    frames = [spark.range(3)]
    first, second = unweighed_batches(spark, frames), unweighed_batches(spark, frames)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert settings(spark) == (None, None)


def test_a_load_has_such_batches_and_takes_the_setting_back_when_it_fails(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    seen: list[tuple[str | None, str | None]] = []
    write_frame = loading._write_frame
    monkeypatch.setattr(loading, "_write_frame", lambda *given: (seen.append(settings(spark)), write_frame(*given))[1])
    with og.init(tmp_path / "g", schema="node Person { name: String @key }") as graph:
        good, bad = spark.createDataFrame([("a",)], "name string"), spark.createDataFrame([(None,)], "name string")
        omnigraph_spark.load(spark, graph, {"Person": good}, "append")
        with pytest.raises(InvalidInputError):
            omnigraph_spark.load(spark, graph, {"Person": bad}, "append")
    assert seen == [(str(2**31 - 1), "1000")] * 2
    assert settings(spark) == (None, None)
