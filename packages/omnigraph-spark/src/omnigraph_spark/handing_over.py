"""``unweighed_batches``: Spark hands rows to Python in batches of few rows, and does not weigh each batch at every row.

Spark 4.3 ends a batch of Arrow at 10,000 rows or a number of bytes, and asks for the bytes before each row, which takes
longer than all else that it does with the row. It does not ask where the limit is the greatest one there is. Batches of
a thousand rows are small enough without it, unless the rows are files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCH_BYTES: Final = "spark.sql.execution.arrow.maxBytesPerBatch"
BATCH_ROWS: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"

_UNWEIGHED: Final = {BATCH_ROWS: "1000", BATCH_BYTES: str(2**31 - 1)}
"""Set in this order and taken back in the other: nobody meets batches of many rows without a limit of bytes."""


@contextmanager
def unweighed_batches(spark: SparkSession, frames: Sequence[DataFrame]) -> Iterator[None]:
    """Jobs that begin in the block hand the rows of frames to Python in batches that are not weighed.

    Nothing changes where somebody set one of the two settings, or a frame has binary columns. Other jobs of the session
    that begin meanwhile have such batches too, with the same rows in them.
    """
    if any(_may_be_heavy(each) for each in frames) or any(spark.conf.get(name, None) for name in _UNWEIGHED):
        yield
        return
    for name, value in _UNWEIGHED.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        # A load beside this one leaves them as they are, or takes them back as well; so none of them is left behind.
        for name in reversed(_UNWEIGHED):
            spark.conf.unset(name)


def _may_be_heavy(frame: DataFrame) -> bool:
    # By its name wherever it is: in arrays too.
    return "binary" in frame.schema.simpleString()
