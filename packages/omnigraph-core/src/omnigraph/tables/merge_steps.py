"""``MergeSteps``: a merge of many rows, cut into steps that any number of processes do; part of ``TableStorage``.

    written rows ─┐                                ┌─ continue_rows, per file ──┐
                  ├─ who replaces whom, by id ─────┤                            ├─ stage_marked ──> one staged write
    read_places ──┘   (whoever can join them)      └─ mark_parts, per part ─────┘

What the steps hand to each other is plain data, so that no row passes through the process that stages the whole.
``stage_upsert`` does all of it in one process.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from omnigraph._sealed import Sealed
from omnigraph.tables.facts import MarkedPart, WrittenRows
from omnigraph.tables.opaque import SnapshotHandle, StagedHandle

if TYPE_CHECKING:
    import pyarrow as pa


class MergeSteps(Sealed, ABC):
    """The steps. Nothing becomes part of a version by them."""

    @abstractmethod
    def read_places(self, handle: SnapshotHandle, parts: Sequence[int]) -> pa.RecordBatchReader:
        """The rows of these parts: ``id``, ``address``, ``row_id`` (stable), ``made_at`` (the version that made it).

        All but the id are uint64; rows come by ascending address.
        """

    @abstractmethod
    def continue_rows(self, handle: SnapshotHandle, written: WrittenRows, taken_over: pa.Table) -> WrittenRows:
        """The same rows as written ones that take over ``row_id`` and ``made_at`` of others, row by row in order.

        They must replace the rows whose ids they take: whoever stages them marks those.

        Raises:
            InternalError: the sides do not have the same number of rows.
        """

    @abstractmethod
    def mark_parts(self, handle: SnapshotHandle, addresses: pa.Array) -> tuple[MarkedPart, ...]:
        """Mark the rows at these addresses as deleted; what becomes of each of their parts.

        A part must be marked in one call, with all of its rows that go.

        Raises:
            InternalError: an address is given twice, or there is no row at one.
        """

    @abstractmethod
    def stage_marked(
        self, handle: SnapshotHandle, rows: Sequence[WrittenRows], marked: Sequence[MarkedPart]
    ) -> StagedHandle:
        """Written rows, and the marks on all rows that some of them replace, as one staged upsert.

        Raises:
            InternalError: marks of another version, or a part that is marked twice.
        """
