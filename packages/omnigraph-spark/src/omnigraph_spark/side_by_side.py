"""``run_side_by_side``: jobs of Spark that do not wait for each other, with the results and the errors of a sequence.

    job 1  ████████████░░        the last tasks of a job leave cores idle,
    job 2            ██████████  which the first tasks of the next one take

Spark by itself gives cores to the oldest job first, so a job is not slowed by the next one. How many rows are held
anywhere does not change: the executors have as many tasks at a time as before.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import uuid4

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

AT_ONCE: Final = 2
"""One whose tasks end, and one whose tasks begin."""

_ASK_AGAIN_SECONDS: Final = 0.2


def run_side_by_side(spark: SparkSession, jobs: Sequence[Callable[[], T]], at_once: int = AT_ONCE) -> Iterator[T]:
    """What each job returns, in the order of the jobs.

    The first job in that order which fails has its error raised, whichever failed first; those behind it are stopped,
    or do not begin. Tags and properties of the thread that asks hold for all of them.
    """
    if len(jobs) < 2 or not _tells_threads_apart():
        for job in jobs:
            yield job()
        return
    tag = f"omnigraph-{uuid4().hex}"
    add_tag, stop = _tagging(spark)
    failed: list[int] = []

    def tagged(number: int) -> T:
        # A thread whose job failed takes the next one before anybody could withdraw that.
        if any(each < number for each in failed):
            raise CancelledError
        add_tag(tag)
        try:
            return jobs[number]()
        except BaseException:
            failed.append(number)
            raise

    with ThreadPoolExecutor(at_once, thread_name_prefix="omnigraph-job") as threads:
        running = [threads.submit(_inheriting(spark, tagged), number) for number in range(len(jobs))]
        try:
            for each in running:
                yield each.result()
        except BaseException:
            _stop_all(running, lambda: stop(tag))
            raise


def _stop_all(running: Sequence[Future[T]], stop: Callable[[], object]) -> None:
    """Return when no job runs. One that was being planned when it was to stop begins all the same: it is told again."""
    for each in running:
        each.cancel()
    is_running = True
    while is_running:
        stop()
        is_running = bool(wait(running, _ASK_AGAIN_SECONDS).not_done)


def _tells_threads_apart() -> bool:
    """Whether each thread of Python has one of Java, or a server that needs none: else tags would hold for anybody."""
    from pyspark.sql import is_remote

    return is_remote() or os.environ.get("PYSPARK_PIN_THREAD", "true").lower() == "true"


def _tagging(spark: SparkSession) -> tuple[Callable[[str], object], Callable[[str], object]]:
    """How jobs of this thread get a tag, and how all jobs of a tag are stopped."""
    from pyspark.sql import is_remote

    if is_remote():
        return spark.addTag, spark.interruptTag
    # By tags of a session, Spark 4.3 finds no job of Python unless a server runs it; by those of its context it does.
    return spark.sparkContext.addJobTag, spark.sparkContext.cancelJobsWithTag


def _inheriting(spark: SparkSession, function: Callable[[int], T]) -> Callable[[int], T]:
    """The function for one other thread, with what this one says of its jobs.

    It is made for each thread by itself: Spark copies properties when it is made, and two that share a copy change it
    for each other.
    """
    from pyspark import inheritable_thread_target

    inheriting: Callable[[int], T] = inheritable_thread_target(spark)(function)
    return inheriting
