"""A merge of more rows than one process should match: described as values, done anywhere, staged as one write.

    RowsToMerge ──> BulkMerger (whoever can join many rows) ──> MergedRows ── stage_marked ──> one staged upsert
                        └── MergeWork, in any process: rows, places, settle a file, mark a part

New rows lie in files before anybody knows which of them replace others. A file of which every row does, or none, stays
as it is; one of both kinds is written again as two. Rows that replace keep the stable row id and the maker of those
that they replace, exactly as after Lance's own merge.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.errors import InternalError
from omnigraph.tables.interface import MarkedPart, TablePin, TableStorage, WrittenRows
from omnigraph.write.validation.change_rows import read_row_set
from omnigraph.write.validation.row_sets import RowPiece, RowSet, pinned_pieces, written_pieces

Mask = npt.NDArray[np.bool_]

FOUND: Final = pa.schema({"row": pa.int64(), "address": pa.int64(), "row_id": pa.int64(), "made_at": pa.int64()})
"""What is found of new rows: their numbers, and of the committed row of the same id where it lies, its stable row id
and the version that made it; no address when a later new row has the same id. Rows of which nothing is found are new.
"""

PLACES: Final = pa.schema({"key": pa.string(), "address": pa.int64(), "row_id": pa.int64(), "made_at": pa.int64()})
"""Committed rows, as new ones are compared with them."""

_KEYS: Final = pa.schema({"row": pa.int64(), "key": pa.string()})


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsToMerge:
    """New rows of one type that lie in files, and the version that they are merged into. Plain data: it pickles.

    Attributes:
        rows: their ids as ``key``, and their numbers as ``row``; a piece for each file.
        base: the version.
        parts: its rows, a piece for each part.
        may_repeat: several of the rows may have one id, and the last of them counts.
    """

    rows: RowSet
    base: TablePin
    parts: tuple[RowPiece, ...]
    may_repeat: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedRows:
    """What a merge comes to.

    Attributes:
        written: the new rows in files, each once.
        marked: the parts that lose rows.
    """

    written: tuple[WrittenRows, ...]
    marked: tuple[MarkedPart, ...] = ()

    @classmethod
    def gathered(cls, asked: RowsToMerge, settled: Mapping[int, str], marked: Iterable[str]) -> MergedRows:
        """What ``MergeWork`` handed back, by number of the file and for all parts; other files are as they were."""
        files = [
            [WrittenRows(**(each | {"fragments": tuple(each["fragments"])})) for each in json.loads(settled[number])]
            if number in settled
            else [_file_of(piece)]
            for number, piece in enumerate(asked.rows.pieces)
        ]
        parts = [each for text in marked for each in json.loads(text)]
        return cls(
            written=tuple(each for own in files for each in own),
            marked=tuple(MarkedPart(**(each | {"pin": TablePin(**each["pin"])})) for each in parts),
        )


class BulkMerger(ABC):
    """Who merges many rows in the place of this process."""

    @abstractmethod
    def merge(self, asked: RowsToMerge) -> MergedRows:
        """Find out which rows replace which, and have every file settled and every part marked by ``MergeWork``."""


def rows_to_merge(
    written: Sequence[WrittenRows], base: TablePin, tables: TableStorage, *, may_repeat: bool
) -> RowsToMerge:
    """What a merger is asked for."""
    rows = RowSet(
        schema=_KEYS,
        columns=(("key", "id"),),
        row_count=sum(each.row_count for each in written),
        pieces=written_pieces(written),
    )
    return RowsToMerge(rows=rows, base=base, parts=pinned_pieces(base, tables), may_repeat=may_repeat)


class MergeWork:
    """What a process does for one merge. Not shared between threads."""

    def __init__(self, asked: RowsToMerge, tables: TableStorage) -> None:
        self._asked = asked
        self._tables = tables
        self._base = tables.open_at(asked.base)

    def keys(self, numbers: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """The new rows of some files: ``row`` and ``key``."""
        return read_row_set(self._asked.rows, numbers, self._tables)

    def places(self, numbers: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """The committed rows of some pieces, as ``PLACES``."""
        for number in numbers:
            for batch in self._tables.read_places(self._base, self._asked.parts[number].parts):
                columns = [batch.column(0), *(each.view(pa.int64()) for each in batch.columns[1:])]
                yield pa.RecordBatch.from_arrays(columns, schema=PLACES)

    def settle(self, number: int, found: pa.Table) -> str:
        """Bring a file into the form in which it is staged, by all that was ``FOUND`` of its rows, in any order.

        What it gives is for ``MergedRows.gathered``.

        Raises:
            InternalError: something was found of rows that are not in the file, or of one row twice.
        """
        piece = self._asked.rows.pieces[number]
        file = _file_of(piece)
        found = found.sort_by("row")
        offsets = found["row"].to_numpy() - piece.first
        if not ((np.diff(offsets) > 0).all() and offsets[0] >= 0 and offsets[-1] < piece.row_count):
            raise InternalError(f"What was found of file {number} is not about its {piece.row_count} rows.")
        replaces = found["address"].is_valid().to_numpy()
        taken_over = found.filter(pa.array(replaces))
        if taken_over.num_rows == piece.row_count:
            return _json([self._continued(file, taken_over)])
        is_new, is_replacing = np.ones(piece.row_count, bool), np.zeros(piece.row_count, bool)
        is_new[offsets], is_replacing[offsets[replaces]] = False, True
        made = []
        if taken_over.num_rows:
            made.append(self._continued(self._some(file, is_replacing), taken_over))
        if is_new.any():
            made.append(self._some(file, is_new))
        return _json(made)

    def mark(self, addresses: pa.ChunkedArray) -> str:
        """Mark the rows at these addresses, which are all that go from their parts; for ``MergedRows.gathered``."""
        return _json(self._tables.mark_parts(self._base, addresses.combine_chunks().view(pa.uint64())))

    def _continued(self, file: WrittenRows, taken_over: pa.Table) -> WrittenRows:
        facts = {name: taken_over[name].combine_chunks().view(pa.uint64()) for name in ("row_id", "made_at")}
        return self._tables.continue_rows(self._base, file, pa.table(facts))

    def _some(self, file: WrittenRows, wanted: Mask) -> WrittenRows:
        """Some rows of a file in a file of their own."""
        rows = self._tables.read_written(file)

        def batches() -> Iterator[pa.RecordBatch]:
            first = 0
            for batch in rows:
                yield batch.filter(pa.array(wanted[first : first + batch.num_rows]))
                first += batch.num_rows

        chosen = pa.RecordBatchReader.from_batches(rows.schema, batches())
        return self._tables.write_rows(self._asked.base, chosen, schema=rows.schema)


def _file_of(piece: RowPiece) -> WrittenRows:
    if not isinstance(piece.rows, WrittenRows):
        raise InternalError("Rows to merge do not lie in files.")
    return piece.rows


def _json(facts: Sequence[WrittenRows | MarkedPart]) -> str:
    return json.dumps([asdict(each) for each in facts], separators=(",", ":"))
