"""``RowPlaces``: where each row of a type came from, in memory that does not grow with the input.

A problem found by a join over millions of rows still names file and line. Consecutive lines are kept as a range; others
go to a temporary file, eight bytes each, and are read back one at a time.
"""

from __future__ import annotations

import bisect
import tempfile
import weakref
from typing import IO, Final

import numpy as np
import numpy.typing as npt

_BYTES: Final = 8


class RowPlaces:
    """Lines by the ordinal of a row (0-based), in the order in which rows were added."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        # Per run of rows: the source, the first line, or None and the offset in the file.
        self._runs: list[tuple[str | None, int | None, int]] = []
        self._file: IO[bytes] | None = None
        self._written = 0
        self._rows = 0

    def add(self, lines: npt.NDArray[np.int64], source: str | None) -> None:
        """The lines of the next rows."""
        if len(lines) == 0:
            return
        first = int(lines[0])
        is_range = int(lines[-1]) - first == len(lines) - 1 and bool((np.diff(lines) == 1).all())
        if not self._continues(source, first if is_range else None):
            self._starts.append(self._rows)
            self._runs.append((source, first if is_range else None, self._written))
        if not is_range:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="omnigraph-lines-")  # noqa: SIM115 - lives as long as this
                weakref.finalize(self, self._file.close)
            self._file.seek(0, 2)
            self._file.write(np.ascontiguousarray(lines, dtype="<i8").tobytes())
            self._written += len(lines) * _BYTES
        self._rows += len(lines)

    def __call__(self, row: int) -> tuple[str | None, int | None]:
        """Source and line of a row."""
        if not 0 <= row < self._rows:
            return None, None
        run = bisect.bisect_right(self._starts, row) - 1
        source, first, offset = self._runs[run]
        step = row - self._starts[run]
        if first is not None or self._file is None:
            return source, (first or 0) + step
        self._file.seek(offset + step * _BYTES)
        return source, int.from_bytes(self._file.read(_BYTES), "little", signed=True)

    def _continues(self, source: str | None, first: int | None) -> bool:
        """Whether rows at these lines, or in the file for None, go on where the last run ends."""
        if not self._runs:
            return False
        last_source, last_first, _ = self._runs[-1]
        if source != last_source or (first is None) != (last_first is None):
            return False
        return first is None or last_first is None or first == last_first + self._rows - self._starts[-1]
