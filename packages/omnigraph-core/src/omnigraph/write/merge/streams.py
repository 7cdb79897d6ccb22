"""Differences of two sides as streams by ascending id, side by side."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from omnigraph.engine.row_changes import RowChanges, aligned
from omnigraph.history.schemas import TypeTable

Changes = Iterator[RowChanges]


def side_by_side(target: TypeTable, one: Changes, other: Changes) -> Iterator[tuple[RowChanges, RowChanges]]:
    """Both streams, some rows at a time, so that an id that both have is in both halves of the same pair."""
    row = pa.struct(list(target.schema))
    schema = pa.schema([("id", pa.string()), ("before", row), ("after", row), ("address", pa.uint64())])
    for left, right in aligned(_batches(one), _batches(other), schema):
        yield _as_changes(left), _as_changes(right)


def _batches(changes: Changes) -> Iterator[pa.RecordBatch]:
    for rows in changes:
        columns = [rows.ids, rows.before, rows.after, rows.addresses]
        yield pa.RecordBatch.from_arrays(columns, names=["id", "before", "after", "address"])


def _as_changes(batch: pa.RecordBatch) -> RowChanges:
    return RowChanges(ids=batch["id"], before=batch["before"], after=batch["after"], addresses=batch["address"])
