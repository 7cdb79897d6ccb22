"""The columns of a graph as Spark knows them, and batches turned into exactly what Spark expects.

    Arrow                      Spark
    uint32, uint64             bigint, decimal(20,0)     Spark has no unsigned numbers
    timestamp[ms, UTC]         timestamp                 Spark counts microseconds
    fixed_size_list<float>     array<float>              the length of a vector is the graph's to know
    large_binary               binary
    all else                   as it is

No value changes: what does not fit is an error and never cut. Spark compares the schema of the first batch with its
own, to the letter, so every batch is given that very schema.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from omnigraph.errors import InternalError, InvalidInputError

_PLAIN: Final[dict[pa.DataType, DataType]] = {
    pa.string(): StringType(),
    pa.bool_(): BooleanType(),
    pa.int32(): IntegerType(),
    pa.int64(): LongType(),
    pa.uint32(): LongType(),
    pa.uint64(): DecimalType(20, 0),
    pa.float32(): FloatType(),
    pa.float64(): DoubleType(),
    pa.date32(): DateType(),
    pa.timestamp("ms", tz="UTC"): TimestampType(),
    pa.large_binary(): BinaryType(),
}


def spark_schema(schema: pa.Schema) -> StructType:
    """The schema of a DataFrame for rows of a graph."""
    return StructType([StructField(each.name, spark_type(each.type), nullable=each.nullable) for each in schema])


def spark_type(kind: pa.DataType) -> DataType:
    """The Spark type for values of a graph."""
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return ArrayType(spark_type(kind.value_type), containsNull=True)
    found = _PLAIN.get(kind)
    if found is None:
        raise InternalError(f"There is no Spark type for {kind}.")
    return found


def arrow_schema_for(schema: StructType) -> pa.Schema:
    """The Arrow schema that Spark expects of batches."""
    return to_arrow_schema(schema, timezone="UTC")


def cast_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns that a schema of Spark's names, in its order and with its types."""
    columns = [batch.column(each.name) for each in schema]
    return pa.RecordBatch.from_arrays(
        [
            column if column.type == each.type else column.cast(each.type)
            for column, each in zip(columns, schema, strict=True)
        ],
        schema=schema,
    )


def check_asked(asked: StructType, there: StructType) -> None:
    """Raise unless a schema that a user wrote is some of the columns that there are, with their types.

    Raises:
        InvalidInputError: it is not.
    """
    types: dict[str, DataType] = {each.name: each.dataType for each in there}
    for each in asked:
        if each.name not in types:
            raise _refuse(f"There is no column {each.name!r} here", there)
        if each.dataType != types[each.name]:
            given, real = each.dataType.simpleString(), types[each.name].simpleString()
            raise _refuse(f"The column {each.name!r} is {real} and not {given}", there)


def names_of(schema: StructType) -> list[str]:
    """The names of the columns, in order."""
    return [each.name for each in schema]


def _refuse(why: str, there: StructType) -> InvalidInputError:
    columns = ", ".join(f"{each.name} {each.dataType.simpleString()}" for each in there)
    return InvalidInputError(f"{why}.", help=f"A schema for it takes some of these: {columns}.")
