"""``RowSet``: rows of a question, described so that another process can read them, piece by piece.

    Rows.origin ──> RowSet (plain data) ── pickled ──> read_row_set(row_set, numbers, tables) in any process

A load of millions of rows is judged where they are written: whoever answers its questions reads the columns that a
question is about straight from the files, and no row passes through the process that asks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from omnigraph.tables.interface import TablePin, TableStorage, WrittenRows

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPiece:
    """Some rows of a set that follow one another.

    Attributes:
        first: the number of the first of them.
        row_count: how many there are.
        rows: where they lie: in files of no version, or in parts of a version.
        parts: the numbers of these parts.
    """

    first: int
    row_count: int
    rows: WrittenRows | TablePin
    parts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSet:
    """Rows that lie in storage. Plain data: it pickles.

    Attributes:
        schema: the columns that come out of reading: ``row``, the number of a row, first where there is one; then
            comparable values under neutral names.
        columns: which column of the type each of these is, without ``row``.
        row_count: how many rows there are at most; those with a null in one of the columns are left out.
    """

    schema: pa.Schema
    columns: tuple[tuple[str, str], ...]
    row_count: int
    pieces: tuple[RowPiece, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that are compared: all but ``row`` and ``id``."""
        return tuple(name for name in self.schema.names if name not in ("row", "id"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a question found.

    Attributes:
        count: how many rows.
        first: those with the smallest numbers in the column ``row``, as many as were asked for, in that order.
    """

    count: int
    first: pa.Table


class BulkJudge(ABC):
    """Who answers questions about many rows in the place of this process. Each is asked and answered as a whole.

    Columns of answers: ``row`` is an int64, ``holder`` a string. The rules behind the questions, and the words of what
    is found, stay where they are.
    """

    @abstractmethod
    def absent(self, rows: RowSet, known: Sequence[RowSet], keep: int) -> Found:
        """The rows (row, key) whose key is in none of the sets ``known`` (key); ``first`` has ``row``."""

    @abstractmethod
    def taken(self, rows: RowSet, known: Sequence[RowSet], keep: int) -> Found:
        """The rows (row, key) whose key is in one of the sets ``known`` (key); ``first`` has ``row``."""

    @abstractmethod
    def repeated(self, rows: RowSet, keep: int) -> Found:
        """The rows (row, k…) whose tuple a row of a smaller number has.

        ``first`` has ``row``, and as ``first`` the smallest number of a row with the same tuple.
        """

    @abstractmethod
    def held(self, rows: RowSet, others: RowSet, keep: int) -> Found:
        """The pairs of rows (row, id, k…) and others (id, k…) of another id with the same tuple.

        ``first`` has ``row`` and the id of the other as ``holder``.
        """

    @abstractmethod
    def outnumbered(self, new: RowSet, kept: RowSet, gone: RowSet, minimum: int, maximum: int | None) -> pa.Table:
        """The sources of edges that have too few of them or too many.

        Each row of ``new`` (row, src) and ``kept`` (src) is an edge; only sources of ``new`` and ``gone`` (src) are
        judged. The answer has ``src``, ``edges``, how many there are, and ``row``, the number of the last new one, -1
        where there is none.
        """


def written_pieces(written: Sequence[WrittenRows]) -> tuple[RowPiece, ...]:
    """Rows in files, a piece for each file."""
    pieces: list[RowPiece] = []
    first = 0
    for each in written:
        for fragment in each.fragments:
            count = int(fragment["physical_rows"])
            rows = replace(each, fragments=(fragment,), row_count=count, byte_count=0)
            pieces.append(RowPiece(first=first, row_count=count, rows=rows))
            first += count
    return tuple(pieces)


def pinned_pieces(pin: TablePin, tables: TableStorage) -> tuple[RowPiece, ...]:
    """Rows of a version, a piece for each part."""
    pieces: list[RowPiece] = []
    first = 0
    for part in tables.parts(tables.open_at(pin)):
        pieces.append(RowPiece(first=first, row_count=part.live_count, rows=pin, parts=(part.number,)))
        first += part.live_count
    return tuple(pieces)


def read_piece(piece: RowPiece, columns: Sequence[str], tables: TableStorage) -> Iterator[pa.RecordBatch]:
    """The columns of a piece as they lie in storage."""
    if isinstance(piece.rows, WrittenRows):
        return iter(tables.read_written(piece.rows, columns=columns))
    return iter(tables.read(tables.open_at(piece.rows), columns=columns, parts=piece.parts))
