"""A Python worker of Spark is prepared once, and this process, which is none, is not."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

from omnigraph_spark.workers import prepare_worker


def count_frozen(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """How much was frozen before, after being prepared, and after being prepared again."""
    for _ in batches:
        counts = [gc.get_freeze_count()]
        for _ in range(2):
            prepare_worker()
            counts.append(gc.get_freeze_count())
        yield pa.record_batch({"counts": pa.array([counts], pa.list_(pa.int64()))})


def test_what_a_worker_has_imported_is_not_looked_through_after_every_task(spark: SparkSession):
    ((counts,),) = spark.range(1).coalesce(1).mapInArrow(count_frozen, "counts array<bigint>").collect()
    _, once, twice = counts
    assert once > 10_000
    assert twice == once


def test_a_process_that_runs_no_task_is_left_alone():
    before = gc.get_freeze_count()
    prepare_worker()
    assert gc.get_freeze_count() == before
