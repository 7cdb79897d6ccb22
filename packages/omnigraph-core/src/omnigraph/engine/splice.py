"""``Splice``: how an array of rows follows from an older one and the rows that came: which runs of the two, in order.

After a small commit nearly all rows are as before, so the runs are few, and copying them is faster than taking rows
one by one. Every column of a type is spliced the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.engine.entities import ABSENT, Positions, contiguous

_MAX_RUNS: Final = 512
"""With more runs than these, rows are taken one by one."""

Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Splice:
    """Runs of old rows and of added ones; an added row counts on from the last old one.

    Attributes:
        starts: the first row of each run. No run has both old and added rows.
    """

    old_count: int
    starts: Positions
    lengths: Positions

    @classmethod
    def of(cls, old_count: int, removed: Positions, at: Positions) -> Splice:
        """What is left of old rows, with new ones among them.

        Args:
            old_count: how many old rows there are.
            removed: the old rows that go, ascending.
            at: for each added row, ascending, the old row that it comes before.
        """
        # Old rows are cut where one goes and where one comes; what lies between two cuts stays together. So the work
        # is that of the change, however many rows there are.
        cuts = np.sort(np.concatenate([np.array([0, old_count]), removed, removed + 1, at]))
        lengths = np.diff(cuts)
        starts, lengths = cuts[:-1][lengths > 0], lengths[lengths > 0]
        if len(removed):
            gone = np.searchsorted(starts, removed)
            starts, lengths = np.delete(starts, gone), np.delete(lengths, gone)
        if len(at):
            places = np.searchsorted(starts, at)
            starts, lengths = np.insert(starts, places, old_count + np.arange(len(at))), np.insert(lengths, places, 1)
        if len(starts) == 0:
            return cls(old_count=old_count, starts=starts, lengths=lengths)
        is_first = np.ones(len(starts), dtype=np.bool_)
        is_first[1:] = (starts[1:] != starts[:-1] + lengths[:-1]) | (starts[1:] == old_count)
        begins = np.flatnonzero(is_first)
        return cls(old_count=old_count, starts=starts[begins], lengths=np.add.reduceat(lengths, begins))

    @property
    def taken(self) -> Positions:
        """For each row the old one, or ``old_count`` plus the number of the added one."""
        ends = np.cumsum(self.lengths)
        taken: Positions = np.arange(len(self)) + np.repeat(self.starts - (ends - self.lengths), self.lengths)
        return taken

    def trace(self, positions: Positions) -> Positions:
        """What ``taken`` has at these positions, without making all of it."""
        ends = np.cumsum(self.lengths)
        runs = np.searchsorted(ends, positions, side="right")
        traced: Positions = self.starts[runs] + positions - (ends[runs] - self.lengths[runs])
        return traced

    @property
    def removed(self) -> Positions:
        """The old rows that are in no run, ascending; among runs that do not overlap or change order."""
        is_old = self.starts < self.old_count
        begins, lengths = self.starts[is_old], self.lengths[is_old]
        gap_starts = np.append(0, begins + lengths)
        gap_lengths = np.append(begins, self.old_count) - gap_starts
        ends = np.cumsum(gap_lengths)
        removed: Positions = np.arange(int(ends[-1])) + np.repeat(gap_starts - (ends - gap_lengths), gap_lengths)
        return removed

    @property
    def nbytes(self) -> int:
        return self.starts.nbytes + self.lengths.nbytes

    def __len__(self) -> int:
        return int(self.lengths.sum())

    def apply(self, old: pa.Array, added: pa.Array) -> pa.Array:
        """A column, from its old values and those of the added rows."""
        if self._is_whole:
            return old
        if len(self.starts) > _MAX_RUNS:
            return contiguous(pa.concat_arrays([old, added]).take(pa.array(self.taken)))
        if len(self.starts) == 0:
            return old.slice(0, 0)
        return pa.concat_arrays(
            [
                old.slice(start, length) if start < self.old_count else added.slice(start - self.old_count, length)
                for start, length in self._runs
            ]
        )

    def apply_numbers(self, old: npt.NDArray[Number], added: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """The same for an array of numbers."""
        if self._is_whole:
            return old
        if len(self.starts) > _MAX_RUNS:
            return np.concatenate([old, added])[self.taken]
        both: list[npt.NDArray[Any]] = [old[:0]]
        both += [
            old[start : start + length]
            if start < self.old_count
            else added[start - self.old_count : start - self.old_count + length]
            for start, length in self._runs
        ]
        return np.concatenate(both)

    def forward(self, replaced: Positions) -> Positions:
        """For each old row where it is now, -1 when it is gone.

        An old row that an added one replaced is where that is; ``replaced`` names it for each added row, or is -1.
        """
        now = np.full(self.old_count + len(replaced), ABSENT, dtype=np.int64)
        now[self.taken] = np.arange(len(self))
        is_same = replaced != ABSENT
        now[replaced[is_same]] = now[self.old_count :][is_same]
        return now[: self.old_count]

    @property
    def _is_whole(self) -> bool:
        return len(self.starts) == 1 and int(self.starts[0]) == 0 and int(self.lengths[0]) == self.old_count > 0

    @property
    def _runs(self) -> list[tuple[int, int]]:
        return list(zip(self.starts.tolist(), self.lengths.tolist(), strict=True))
