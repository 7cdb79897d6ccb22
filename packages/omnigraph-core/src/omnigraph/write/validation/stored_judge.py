"""``StoredJudge``: questions about rows in storage, answered by the process that is asked, in bounded memory.

A worker of a cluster answers so what is too much for whoever publishes and too little to be spread over many workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa

from omnigraph.schema import Cardinality
from omnigraph.tables.interface import TableStorage
from omnigraph.write.validation.cardinality import count_edges
from omnigraph.write.validation.change_rows import read_row_set
from omnigraph.write.validation.questions import absent, held, repeated, taken
from omnigraph.write.validation.row_sets import BulkJudge, Found, RowSet
from omnigraph.write.validation.sets import LIMITS, Limits, Rows

WORKER_LIMITS: Final = replace(LIMITS, build_rows=4_000_000)
"""A worker does nothing else beside, so it holds four times the keys of whoever publishes: two million nodes are one
hash table then, and the edges that are compared with it are read once. What it takes is still bounded by its bytes."""


class StoredJudge(BulkJudge):
    """Reads the rows that a question is about, and answers it as any write here would."""

    def __init__(self, tables: TableStorage, limits: Limits = WORKER_LIMITS) -> None:
        self._tables = tables
        self._limits = replace(limits, judge=None)

    def absent(self, rows: RowSet, known: Sequence[RowSet], keep: int) -> Found:
        return absent(self._rows(rows), [self._rows(each) for each in known], keep, self._limits)

    def taken(self, rows: RowSet, known: Sequence[RowSet], keep: int) -> Found:
        return taken(self._rows(rows), [self._rows(each) for each in known], keep, self._limits)

    def repeated(self, rows: RowSet, keep: int) -> Found:
        return repeated(self._rows(rows), keep, self._limits)

    def held(self, rows: RowSet, others: RowSet, keep: int) -> Found:
        return held(self._rows(rows), self._rows(others), None, keep, self._limits)

    def outnumbered(self, new: RowSet, kept: RowSet, gone: RowSet, minimum: int, maximum: int | None) -> pa.Table:
        sides = (self._rows(each) for each in (new, kept, gone))
        bounds = Cardinality(minimum=minimum, maximum=maximum)
        return count_edges(*sides, bounds=bounds, sources=new.row_count + gone.row_count, limits=self._limits)

    def _rows(self, rows: RowSet) -> Rows:
        every = range(len(rows.pieces))
        made = Rows(schema=rows.schema, row_count=rows.row_count, open=lambda: read_row_set(rows, every, self._tables))
        return made if rows.row_count > self._limits.memory_rows else Rows.of(made.read_all(), row_count=rows.row_count)
