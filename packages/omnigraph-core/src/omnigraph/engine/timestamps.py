"""Points in time as other tools know them: timestamps in UTC.

Stored they are date64, which other tools take for days: pandas would cut off the time. What leaves the engine as Arrow
goes through here, without a copy.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

_TIMESTAMP: Final = pa.timestamp("ms", tz="UTC")


def with_timestamps(table: pa.Table) -> pa.Table:
    """The same rows, points in time as timestamps."""
    schema = timestamp_schema(table.schema)
    for index, field in enumerate(schema):
        if field.type != table.schema.field(index).type:
            chunks = [_as_timestamps(chunk, field.type) for chunk in table.column(index).chunks]
            table = table.set_column(index, field, pa.chunked_array(chunks, field.type))
    return table


def batch_with_timestamps(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The same rows under the ``timestamp_schema`` of their schema."""
    columns = [
        column if column.type == field.type else _as_timestamps(column, field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def timestamp_schema(schema: pa.Schema) -> pa.Schema:
    """The schema that rows of a stored schema have with timestamps."""
    return pa.schema([each.with_type(_type_of(each.type)) for each in schema], metadata=schema.metadata)


def _type_of(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_date64(kind):
        return _TIMESTAMP
    if pa.types.is_list(kind) and pa.types.is_date64(kind.value_type):
        return pa.list_(kind.value_field.with_type(_TIMESTAMP))
    return kind


def _as_timestamps(moments: pa.Array, kind: pa.DataType) -> pa.Array:
    if not pa.types.is_list(kind):
        return moments.view(pa.int64()).view(_TIMESTAMP)
    # By buffers: a null list stays null, and a slice a slice.
    valid, offsets = moments.buffers()[:2]
    items = _as_timestamps(moments.values, kind.value_type)
    return pa.ListArray.from_buffers(
        kind, len(moments), [valid, offsets], moments.null_count, moments.offset, children=[items]
    )
