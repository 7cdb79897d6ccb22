"""``IdOrder``: rows in any order to rows by ascending id, in bounded memory.

    rows ── add ──> memory ── when it is full ──> runs in a file, each by id ── by_id ──> all rows by id

Rows that fit in memory never see the disk. Of runs, a few rows each are looked at together: those up to the id that
every run has reached come next.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.batch_file import BatchFile
from omnigraph.tables.reading import BATCH_ROWS

_RUN_BATCH_BYTES: Final = 1024**2
"""What is in memory of each run while they are put together."""


class IdOrder:
    """Gathers rows that have a column ``id``; belongs to one thread."""

    def __init__(self, schema: pa.Schema, *, memory_bytes: int) -> None:
        """Take rows of a schema, and hold no more of them in memory than this; sorting takes as much again."""
        self._schema = schema
        self._memory_bytes = memory_bytes
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = 0
        self._file: BatchFile | None = None
        self._runs: list[range] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Take more rows."""
        self._held.append(batch)
        self._held_bytes += batch.nbytes
        if self._held_bytes > self._memory_bytes:
            self._write_run()

    def by_id(self) -> Iterator[pa.RecordBatch]:
        """All rows by ascending id, at most ``BATCH_ROWS`` at a time; nothing can be added any more."""
        if self._file is None:
            yield from self._sorted_held().to_batches(max_chunksize=BATCH_ROWS)
            return
        self._write_run()
        written = self._file.map()
        runs = [(written.get_batch(number) for number in numbers) for numbers in self._runs]
        for rows in _merged(runs):
            yield from rows.to_batches(max_chunksize=BATCH_ROWS)

    def _write_run(self) -> None:
        if not self._held:
            return
        rows = self._sorted_held().combine_chunks()
        size = max(1, min(BATCH_ROWS, _RUN_BATCH_BYTES * len(rows) // max(1, rows.nbytes)))
        self._file = self._file or BatchFile(self._schema)
        batches = rows.to_batches(max_chunksize=size)
        for each in batches:
            self._file.add(each)
        first = self._runs[-1].stop if self._runs else 0
        self._runs.append(range(first, first + len(batches)))
        self._held, self._held_bytes = [], 0

    def _sorted_held(self) -> pa.Table:
        held = pa.Table.from_batches(self._held, self._schema)
        return held.take(pc.sort_indices(held["id"]))


def _merged(runs: Sequence[Iterator[pa.RecordBatch]]) -> Iterator[pa.Table]:
    """Rows of runs, each by ascending id, as rows of all of them by ascending id."""
    heads = [(next(run), run) for run in runs]
    while heads:
        last = min(last_id(rows) for rows, _ in heads)
        ready, left = [], []
        for rows, run in heads:
            count = count_through(rows, last)
            ready.append(rows.slice(0, count))
            following = rows.slice(count) if count < len(rows) else next(run, None)
            if following is not None:
                left.append((following, run))
        found = pa.Table.from_batches(ready)
        yield found.take(pc.sort_indices(found["id"]))
        heads = left


def count_through(rows: pa.RecordBatch, last: str) -> int:
    """How many rows there are up to an id, with it, of some by ascending id."""
    ids = rows["id"]
    return bisect.bisect_right(range(len(ids)), last, key=lambda place: ids[place].as_py())


def last_id(rows: pa.RecordBatch) -> str:
    """The greatest id of some rows by ascending id. Python compares texts by code points, so in the order of bytes."""
    return str(rows["id"][-1].as_py())
