"""Rows in which two versions of a table may differ, of each version by ascending id, ready to be compared.

    parts of both ── compare ──┬── few rows differ ───> read and put in order in memory
                               └── many ──────────────> streams by id of the parts that differ

The few are exactly the rows of parts that only one version has, and of shared parts the rows that came or went. The
streams have in addition all that stayed in a shared part from which a row came or went: to leave that out, the ids of
all others would have to be held. Either way memory is bounded. Blobs are fetched for a few rows at a time, so rows that
carry them come in small batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.entities import contiguous
from omnigraph.engine.moved_rows import OFFSET_BITS, find_moved
from omnigraph.engine.pinned_rows import Addresses, Stored
from omnigraph.history.schemas import TypeTable
from omnigraph.tables.arrow_schema import is_blob
from omnigraph.tables.interface import TablePart, TablePin, TableStorage
from omnigraph.tables.part_delta import PartsDelta, compare_parts
from omnigraph.tables.reading import BATCH_ROWS, BLOB_BATCH_ROWS

Batches = Iterator[pa.RecordBatch]

_NOWHERE: Final[Addresses] = np.empty(0, np.uint64)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldLimits:
    """How much of two versions together may be held in memory to be put in order.

    Attributes:
        row_count: so many rows.
        byte_count: so much in data files, Blobs left out; text may take several times as much in memory.
    """

    row_count: int = 1_000_000
    byte_count: int = 128 * 1024**2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Version:
    """One of two versions of a type that are compared.

    Attributes:
        stored: None where the table of the type does not exist; then there are no rows.
        schema: the columns to read, as logical fields.
    """

    stored: Stored | None
    schema: pa.Schema

    @classmethod
    def of(cls, tables: TableStorage, target: TypeTable, pin: TablePin | None) -> Self:
        stored = None if pin is None else Stored.of(target.key, tables, tables.open_at(pin))
        return cls(stored=stored, schema=target.schema)

    @property
    def parts(self) -> tuple[TablePart, ...]:
        return () if self.stored is None else self.stored.parts

    def by_id(self, parts: Sequence[TablePart]) -> Batches:
        """The rows of these parts, streamed by ascending id."""
        if self.stored is None or not parts:
            return
        numbers, names = [each.number for each in parts], self.schema.names
        with self.stored.tables.read(self.stored.handle, columns=names, order_by_id=True, parts=numbers) as batches:
            yield from batches

    def held(self, parts: Sequence[TablePart], addresses: Addresses) -> Batches:
        """The rows of these parts and those at these addresses, by ascending id; in memory but for their Blobs."""
        if self.stored is None or not (parts or len(addresses)):
            return
        blobs = [each.name for each in self.schema if is_blob(each)]
        plain = [each for each in self.schema.names if each not in blobs]
        found = [self.stored.read(plain, parts=[each.number for each in parts])] if parts else []
        if len(addresses):
            found.append((self.stored.take(addresses, plain), addresses))
        rows = pa.concat_tables([each for each, _ in found])
        order = pc.sort_indices(rows["id"])
        rows, addresses = rows.take(order), np.concatenate([each for _, each in found])[order.to_numpy()]
        count = BLOB_BATCH_ROWS if blobs else BATCH_ROWS
        for start in range(0, len(rows), count):
            batch = rows.slice(start, count)
            fetched = self.stored.take(addresses[start : start + count], blobs) if blobs else batch
            columns = [contiguous((fetched if each in blobs else batch)[each]) for each in self.schema.names]
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)


def differing_rows(before: Version, after: Version, limits: HeldLimits) -> tuple[Batches, Batches]:
    """Rows of the one and of the other version by ascending id; every row that is not in both is among them."""
    delta = compare_parts(before.parts, after.parts)
    held = _held_rows(before, after, delta, limits)
    if held is not None:
        return held
    gone, new = [*delta.gone], [*delta.new]
    for was, now in delta.changed:
        gone.append(was)
        new.append(now)
    return before.by_id(gone), after.by_id(new)


def _held_rows(
    before: Version, after: Version, delta: PartsDelta, limits: HeldLimits
) -> tuple[Batches, Batches] | None:
    """Both sides from memory; None when that would be too much."""
    if delta.moved_rows > limits.row_count:
        return None
    gone = come = _NOWHERE
    if before.stored is not None and after.stored is not None and delta.changed:
        left = limits.row_count - sum(each.live_count for each in (*delta.gone, *delta.new))
        moved = find_moved(before.stored, after.stored, delta.changed, limit=left)
        if moved is None:
            return None
        gone, come = moved.gone, moved.come
    size = _byte_count(before.parts, delta.gone, gone) + _byte_count(after.parts, delta.new, come)
    if size > limits.byte_count:
        return None
    return before.held(delta.gone, gone), after.held(delta.new, come)


def _byte_count(parts: Sequence[TablePart], whole: Sequence[TablePart], addresses: Addresses) -> int:
    """The size in data files of some whole parts and of the rows at some addresses, taken as average rows."""
    counts = {each.number: each.live_count for each in whole}
    numbers, moved = np.unique(addresses >> OFFSET_BITS, return_counts=True)
    counts |= dict(zip(numbers.tolist(), moved.tolist(), strict=True))
    return sum(each.byte_count * counts.get(each.number, 0) // max(1, each.row_count) for each in parts)
