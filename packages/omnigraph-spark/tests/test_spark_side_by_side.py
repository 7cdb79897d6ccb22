"""Jobs of one load do not wait for each other; their results and errors are those of a sequence."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from omnigraph_spark.side_by_side import run_side_by_side

_PATIENCE = 60.0


def test_two_jobs_run_at_once(spark: SparkSession):
    both = threading.Barrier(2)
    # Each waits for the other: one after the other would break the barrier.
    jobs = [lambda: both.wait(_PATIENCE), lambda: both.wait(_PATIENCE)]
    assert sorted(run_side_by_side(spark, jobs)) == [0, 1]


def test_no_more_jobs_than_were_allowed_run_at_once(spark: SparkSession):
    running, most = [], []

    def job() -> None:
        running.append(1)
        most.append(len(running))
        time.sleep(0.05)
        running.pop()

    list(run_side_by_side(spark, [job] * 6, at_once=2))
    assert max(most) <= 2


def test_results_come_in_the_order_of_the_jobs(spark: SparkSession):
    is_done = threading.Event()

    def slow() -> str:
        assert is_done.wait(_PATIENCE)
        return "first"

    def quick() -> str:
        is_done.set()
        return "second"

    assert list(run_side_by_side(spark, [slow, quick, lambda: "third"])) == ["first", "second", "third"]


def test_the_error_is_that_of_the_first_job_in_order_whichever_failed_first(spark: SparkSession):
    has_failed = threading.Event()

    def slow() -> None:
        assert has_failed.wait(_PATIENCE)
        raise ValueError("the first")

    def quick() -> None:
        has_failed.set()
        raise ValueError("the second")

    with pytest.raises(ValueError, match="the first"):
        list(run_side_by_side(spark, [slow, quick]))


def test_a_job_beside_one_that_failed_is_stopped(spark: SparkSession):
    def sleeping(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            time.sleep(_PATIENCE)
            yield batch

    def fails() -> None:
        # The other has tasks that run by then: a job that has not begun would not begin.
        while not spark.sparkContext.statusTracker().getActiveJobsIds():
            time.sleep(0.1)
        raise ValueError("stop")

    began = time.monotonic()
    with pytest.raises(ValueError, match="stop"):
        list(run_side_by_side(spark, [fails, lambda: spark.range(1).mapInArrow(sleeping, "id long").collect()]))
    assert time.monotonic() - began < _PATIENCE / 2


def test_what_a_thread_says_of_its_jobs_holds_for_these(spark: SparkSession):
    context = spark.sparkContext
    context.addJobTag("mine")
    try:
        seen = list(run_side_by_side(spark, [context.getJobTags, context.getJobTags]))
    finally:
        context.removeJobTag("mine")
    assert all("mine" in each for each in seen)
    assert not set(context.getJobTags())
