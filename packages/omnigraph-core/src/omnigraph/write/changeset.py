"""``ChangeSet``: what a write is to change, type by type, before anything is staged.

A reader of records, a mutation or a merge makes it; ``validate`` judges it against what is committed; ``stage`` turns
it into staged table writes. Rows are Arrow with the logical schema of their type. Few rows stay in memory; many lie in
files beside their table already (``WrittenRows``), where no version knows of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from omnigraph.history.schemas import TypeTable
from omnigraph.tables.interface import TableStorage, WrittenRows

if TYPE_CHECKING:
    import pyarrow as pa


class ChangeMode(StrEnum):
    """How the rows of a type meet those that are there.

    ``INSERT`` adds rows whose ids must be new; ``UPSERT`` replaces whole rows of equal id and adds the others;
    ``REPLACE`` makes them all that there is; ``REMOVE`` takes away the rows of these ids, all of which are there.
    """

    INSERT = "insert"
    UPSERT = "upsert"
    REPLACE = "replace"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRows:
    """New rows of one type, in input order; ids are complete. Of rows that are removed only ``id``, ``src``, ``dst``.

    Attributes:
        table: in memory, or None when they are written.
        written: in files, in order; empty when they are in memory.
        place_of: from the ordinal of a row (0-based) to where it came from: source and line.
    """

    table: pa.Table | None = None
    written: tuple[WrittenRows, ...] = ()
    row_count: int
    place_of: Callable[[int], tuple[str | None, int | None]] = field(default=lambda _row: (None, None), compare=False)

    def read(self, tables: TableStorage, columns: Sequence[str]) -> pa.RecordBatchReader:
        """The rows as a stream, in order, with these columns only. May be called again."""
        import pyarrow as pa

        if self.table is not None:
            return self.table.select(list(columns)).to_reader()
        readers = [tables.read_written(each, columns=columns) for each in self.written]
        schema = readers[0].schema
        return pa.RecordBatchReader.from_batches(schema, (batch for reader in readers for batch in reader))


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeChange:
    """What happens to one type.

    Attributes:
        ids_are_fresh: every id was minted for this write, so none can be taken and none can be there already.
        removed: of an ``UPSERT``, rows that go beside, ``id`` and of edges ``src`` and ``dst``: all of them are there,
            and none is among ``rows``. Whoever removes nodes this way is told of edges that would be left.
        addresses: where the committed rows lie that these replace or remove, by row; null, or None for all of them,
            where that is not known. Beside ``removed``, all are known, and rows beyond the addresses are new.
        removed_addresses: where the rows of ``removed`` lie; None where that is not known.
    """

    target: TypeTable
    mode: ChangeMode
    rows: NewRows
    ids_are_fresh: bool = False
    removed: NewRows | None = None
    addresses: pa.Array | None = None
    removed_addresses: pa.Array | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no row comes, goes or changes."""
        if self.mode is ChangeMode.REPLACE or self.rows.row_count:
            return False
        return self.removed is None or not self.removed.row_count


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSet:
    """All changes of one write, at most one per type, in the order of table keys."""

    changes: tuple[TypeChange, ...]

    def of(self, target: TypeTable) -> TypeChange | None:
        """What happens to this type, or None when it is not touched."""
        return next((each for each in self.changes if each.target.key == target.key), None)
