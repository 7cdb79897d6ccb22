"""Whatever gives Arrow data, opened as a stream; of a data frame that cannot be read, every column that is to blame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from omnigraph.errors import InvalidInputError


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrowStream:
    """Arrow data of one type.

    Attributes:
        reader: its batches; of a data frame with unreadable columns, none of them and the schema of the others.
        unreadable: why, by name of the column.
    """

    reader: pa.RecordBatchReader
    unreadable: Mapping[str, str] = field(default_factory=dict)


def open_stream(name: str, data: Any) -> ArrowStream:
    """The batches of a table, a batch, a reader or a data frame.

    Raises:
        InvalidInputError: it cannot be read, and no single columns are the reason.
    """
    try:
        if isinstance(data, pa.RecordBatchReader):
            return ArrowStream(reader=data)
        if not hasattr(data, "__arrow_c_stream__"):
            data = pa.record_batch(data)
            return ArrowStream(reader=pa.RecordBatchReader.from_batches(data.schema, [data]))
        return ArrowStream(reader=pa.RecordBatchReader.from_stream(data))
    except (pa.ArrowException, TypeError, ValueError) as error:
        found = _by_column(data)
        if found is not None:
            return found
        raise InvalidInputError(f"What was given for {name} cannot be read as Arrow data: {error}.") from error


def _by_column(data: Any) -> ArrowStream | None:
    """What can be said of the columns of a pandas frame, which is read as a whole or not at all; None for others."""
    if not hasattr(data, "dtypes") or not hasattr(data, "columns"):
        return None
    fields: list[pa.Field] = []
    unreadable: dict[str, str] = {}
    for at, column in enumerate(map(str, data.columns)):
        try:
            fields.append(pa.field(column, pa.array(data.iloc[:, at], from_pandas=True).type))
        except (pa.ArrowException, TypeError, ValueError) as error:
            unreadable[column] = str(error)
    reader = pa.RecordBatchReader.from_batches(pa.schema(fields), [])
    return ArrowStream(reader=reader, unreadable=unreadable) if unreadable else None
