"""``run_side_by_side``: jobs of Spark that do not wait for each other, with the results and the errors of a sequence.

    job 1  ████████████░░        the last tasks of a job leave cores idle,
    job 2            ██████████  which the first tasks of the next one take

Spark gives cores to the oldest job first, so a job is not slowed by the next one. How many rows are held anywhere does
not change: the executors have as many tasks at a time as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import uuid4

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

AT_ONCE: Final = 2
"""One whose tasks end, and one whose tasks begin."""


def run_side_by_side(spark: SparkSession, jobs: Sequence[Callable[[], T]], at_once: int = AT_ONCE) -> Iterator[T]:
    """What each job returns, in the order of the jobs.

    The first job in that order which fails has its error raised, whichever failed first; the others are stopped, or do
    not begin. Tags and properties of the thread that asks hold for all of them.
    """
    from pyspark import inheritable_thread_target
    from pyspark.sql import is_remote

    # A session without threads of its own in Java gives itself back, and cannot tell the jobs of threads apart.
    inherit = inheritable_thread_target(spark) if len(jobs) > 1 else None
    if not callable(inherit):
        for job in jobs:
            yield job()
        return
    tag = f"omnigraph-{uuid4().hex}"

    # By tags of a session, Spark 4.3 finds no job of Python unless a server runs it; by those of its context it does.
    add_tag, stop = (
        (spark.addTag, spark.interruptTag)
        if is_remote()
        else (spark.sparkContext.addJobTag, spark.sparkContext.cancelJobsWithTag)
    )

    def tagged(job: Callable[[], T]) -> T:
        add_tag(tag)
        return job()

    with ThreadPoolExecutor(at_once, thread_name_prefix="omnigraph-job") as threads:
        running = [threads.submit(inherit(tagged), job) for job in jobs]
        try:
            for each in running:
                yield each.result()
        except BaseException:
            for each in running:
                each.cancel()
            stop(tag)
            raise
