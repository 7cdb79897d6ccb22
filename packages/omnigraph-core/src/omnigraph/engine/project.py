"""Rows to result columns: the root of every read.

A frame comes in, an Arrow table with exactly the declared types goes out; a table without rows has all columns too.
Values are fetched here and nowhere before, in batches, and between batches the budget is asked.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from omnigraph.engine.execution import Execution
from omnigraph.engine.frame import Frame
from omnigraph.engine.predicates import arrow_value
from omnigraph.engine.text_match import text_mask
from omnigraph.plan.ir import Place, Project, Value
from omnigraph.query.checked import Aggregate, ColumnRef, EntityRef, Expression, PropertyRef, Ranking, TextMatch
from omnigraph.tables.arrow_schema import arrow_type

BATCH_ROWS: Final = 1 << 17
"""Rows whose values are fetched at once; texts of up to 16 KB stay below the 2 GiB that one array can hold."""


def project(op: Project, frame: Frame, execution: Execution) -> pa.Table:
    """The result, with the columns of the operator in their order.

    Raises:
        ResourceLimitError: it takes more memory than the query may use.
        DeadlineError: the time was over.
    """
    schema = result_schema(op)
    batches: list[pa.RecordBatch] = []
    size = 0
    for start in range(0, frame.row_count, BATCH_ROWS):
        part = _part(frame, start)
        columns = []
        for each, kind in zip(op.columns, schema.types, strict=True):
            found = value_column(each.expression, part, execution)
            columns.append(found if found.type == kind else found.cast(kind))
            size += columns[-1].nbytes
            execution.spending.check_bytes("Project", size)
        batches.append(pa.RecordBatch.from_arrays(columns, schema=schema))
    return pa.Table.from_batches(batches, schema=schema)


def result_schema(op: Project) -> pa.Schema:
    """The columns of a result, which are known before it is."""
    return pa.schema([pa.field(each.name, arrow_type(each.type)) for each in op.columns])


def value_column(value: Value | Expression, frame: Frame, execution: Execution) -> pa.Array:
    """What a value is in each row of a frame."""
    match value:
        case PropertyRef():
            return frame.values(value)
        case EntityRef():
            return frame.ids(value.variable)
        case ColumnRef():
            return frame.columns[value.name]
        case TextMatch():
            return pa.array(text_mask(value, frame.bound[value.field.variable], execution))
        case Aggregate():
            raise AssertionError("an aggregate is a column of the groups")
        case _ if isinstance(value, Ranking | Place):
            return frame.scores[value]
        case _:
            return pa.repeat(arrow_value(execution.given(value), value.type), frame.row_count)


def _part(frame: Frame, start: int) -> Frame:
    if frame.row_count <= BATCH_ROWS:
        return frame
    return frame.take(np.arange(start, min(start + BATCH_ROWS, frame.row_count)))
