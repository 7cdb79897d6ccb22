"""What Spark takes for rows that go through Python where Python does nothing: the floor of every load and read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

BATCH_ROWS = 8_192


def drop_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A task that takes its rows and does nothing with them."""
    yield pa.record_batch({"rows": pa.array([sum(batch.num_rows for batch in batches)], pa.int64())})


class FloorSource(DataSource):
    """As many rows as are asked for, of a schema that is given: one batch, again and again."""

    @classmethod
    def name(cls) -> str:
        return "floor"

    def reader(self, schema: StructType) -> DataSourceReader:
        return FloorReader(schema, int(self.options["rows"]), int(self.options["partitions"]))


class FloorReader(DataSourceReader):
    def __init__(self, schema: StructType, rows: int, partitions: int) -> None:
        self.schema, self.rows, self.count = schema, rows, partitions

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(number) for number in range(self.count)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        schema = to_arrow_schema(self.schema, timezone="UTC")
        numbers = pa.array(range(BATCH_ROWS), pa.int32())
        texts = pa.array([f"p{number:09}" for number in range(BATCH_ROWS)])
        columns = [texts if pa.types.is_string(each.type) else as_type(numbers, each.type) for each in schema]
        batch = pa.RecordBatch.from_arrays(columns, schema=schema)
        left = self.rows // self.count
        while left > 0:
            yield batch.slice(0, left)
            left -= batch.num_rows


def as_type(numbers: pa.Array, kind: pa.DataType) -> pa.Array:
    return numbers.cast(pa.int64()).cast(kind) if pa.types.is_timestamp(kind) else numbers.cast(kind)
