"""Jobs of one load do not wait for each other; their results and errors are those of a sequence."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

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


def sleeping(mark: Path) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A task that says that it has begun, and sleeps."""
    path, seconds = str(mark), _PATIENCE

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        open(path, "w").close()
        time.sleep(seconds)
        yield from batches

    return task


def wait_for(mark: Path) -> None:
    ends = time.monotonic() + _PATIENCE
    while not mark.exists() and time.monotonic() < ends:
        time.sleep(0.05)


@pytest.mark.parametrize("moment", ["its tasks run", "it is not yet planned"])
def test_a_job_beside_one_that_failed_is_stopped(spark: SparkSession, tmp_path: Path, moment: str):
    mark, has_failed = tmp_path / "begun", threading.Event()
    ended: list[str] = []

    def fails() -> None:
        if moment == "its tasks run":
            wait_for(mark)
        has_failed.set()
        raise ValueError("stop")

    def sleeps() -> None:
        if moment == "it is not yet planned":
            assert has_failed.wait(_PATIENCE)
            # Others are told to stop by then.
            time.sleep(0.3)
        spark.range(1).mapInArrow(sleeping(mark), "id long").collect()
        ended.append("by itself")

    with pytest.raises(ValueError, match="stop"):
        list(run_side_by_side(spark, [fails, sleeps]))
    assert ended == []


def test_no_job_begins_behind_one_that_failed(spark: SparkSession):
    begun: list[str] = []
    has_failed = threading.Event()

    def fails() -> None:
        has_failed.set()
        raise ValueError("stop")

    def slow() -> None:
        assert has_failed.wait(_PATIENCE)
        # Long enough for a thread that is free to take the next job.
        time.sleep(0.3)

    with pytest.raises(ValueError, match="stop"):
        list(run_side_by_side(spark, [fails, slow, lambda: begun.append("third"), lambda: begun.append("fourth")]))
    assert begun == []


def test_what_one_job_sets_holds_for_no_other(spark: SparkSession):
    """Spark itself does so: it notes with a thread which query runs, and takes the note away when that has ended."""
    context, both = spark.sparkContext, threading.Barrier(2)

    def job(name: str) -> Callable[[], str | None]:
        def run() -> str | None:
            context.setLocalProperty("omnigraph.test", name)
            both.wait(_PATIENCE)
            return context.getLocalProperty("omnigraph.test")

        return run

    assert list(run_side_by_side(spark, [job("one"), job("other")])) == ["one", "other"]


def test_where_threads_share_those_of_java_jobs_run_one_after_another(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PYSPARK_PIN_THREAD", "false")
    assert set(run_side_by_side(spark, [threading.current_thread] * 3)) == {threading.current_thread()}


def test_what_a_thread_says_of_its_jobs_holds_for_these(spark: SparkSession):
    context = spark.sparkContext
    context.addJobTag("mine")
    try:
        seen = list(run_side_by_side(spark, [context.getJobTags, context.getJobTags]))
    finally:
        context.removeJobTag("mine")
    assert all("mine" in each for each in seen)
    assert not set(context.getJobTags())
