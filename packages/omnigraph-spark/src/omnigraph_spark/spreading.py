"""How work is spread over tasks: a frame of numbers, each of which stands for something to do.

What there is to do travels within the task, by pickle, so no plan and no log shows it.

    one_by_one    a task for each: where each takes long, and may fail by itself
    spread        as many tasks as there are cores: where each task has to hold what is the same for all
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

MOST_TASKS: Final = 1_000
"""Of one job: each takes some milliseconds of the driver, so that beyond them a task has several things to do."""


def one_by_one(spark: SparkSession, count: int) -> DataFrame:
    """The numbers of so many things to do, a task for each."""
    return spark.range(0, count, 1, max(1, min(count, MOST_TASKS)))


def spread(spark: SparkSession, count: int) -> DataFrame:
    """The numbers of so many things to do, over as many tasks as there are cores."""
    return spark.createDataFrame([(number,) for number in range(count)], "id long")


def numbers_in(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    """What a task has to do."""
    for batch in batches:
        yield from batch["id"].to_pylist()
