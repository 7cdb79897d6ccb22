"""The steps of ``MergeSteps`` over Lance: rows in files that continue others, marks by part, one transaction.

Lance's own merge comes to the same: it writes rows that replace others to parts of their own, whose row ids lie in a
file beside them, and marks what they replace. Here whoever knows the places says them.
"""

from __future__ import annotations

import json
import uuid
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa
from lance.file import LanceFileWriter
from lance.fragment import FragmentMetadata

from omnigraph.errors import InternalError
from omnigraph.tables.counting import note
from omnigraph.tables.deleting import distinct_addresses, mark_deleted
from omnigraph.tables.facts import MarkedPart
from omnigraph.tables.failures import translating
from omnigraph.tables.filters import ROW_ADDRESS
from omnigraph.tables.handles import LanceSnapshot, LanceStaged, snapshot_of
from omnigraph.tables.interface import SnapshotHandle, StagedHandle, TablePin, TableStorage, WrittenRows
from omnigraph.tables.native_calls import waits
from omnigraph.tables.opening import Place
from omnigraph.tables.parts import fragments_of
from omnigraph.tables.reading import BATCH_ROWS, stream
from omnigraph.tables.replacing import staged_update
from omnigraph.tables.written import FILE_FORMAT
from omnigraph.tables.written import fragments_of as written_fragments

_PLACES: Final = pa.schema([
    pa.field("id", pa.string(), nullable=False),
    *(pa.field(name, pa.uint64(), nullable=False) for name in ("address", "row_id", "made_at")),
])  # fmt: skip
_ROW_ID: Final = "_rowid"
_MADE_AT: Final = "_row_created_at_version"
_TAKEN_OVER: Final = pa.schema(
    [pa.field(_ROW_ID, pa.uint64(), nullable=False), pa.field(_MADE_AT, pa.uint64(), nullable=False)]
)
_NUMBERS: Final = (-3, -4)
"""By which Lance knows these two columns in a data file."""


class LanceMergeSteps(TableStorage):
    """The steps on handles, for a table layer that says whether it may write."""

    @waits("read")
    def read_places(self, handle: SnapshotHandle, parts: Sequence[int]) -> pa.RecordBatchReader:
        note("read_places")
        return read_places(snapshot_of(handle), parts)

    @waits("write to")
    def continue_rows(self, handle: SnapshotHandle, written: WrittenRows, taken_over: pa.Table) -> WrittenRows:
        note("continue_rows")
        self._check_writable()
        return continue_rows(written, taken_over, snapshot_of(handle).place)

    @waits("delete from")
    def mark_parts(self, handle: SnapshotHandle, addresses: pa.Array) -> tuple[MarkedPart, ...]:
        note("mark_parts")
        self._check_writable()
        return mark_parts(snapshot_of(handle), addresses)

    def stage_marked(
        self, handle: SnapshotHandle, rows: Sequence[WrittenRows], marked: Sequence[MarkedPart]
    ) -> StagedHandle:
        note("stage_marked")
        self._check_writable()
        return stage_marked(snapshot_of(handle), rows, marked)

    @abstractmethod
    def _check_writable(self) -> None:
        """Raise ReadOnlyError where nothing may be written."""


def read_places(base: LanceSnapshot, parts: Sequence[int]) -> pa.RecordBatchReader:
    """The rows of some parts as ``MergeSteps.read_places`` says."""

    def batches() -> Iterator[pa.RecordBatch]:
        found = base.dataset.scanner(
            columns=["id", _MADE_AT],
            with_row_id=True,
            with_row_address=True,
            fragments=fragments_of(base.dataset, parts),
            batch_size=BATCH_ROWS,
        ).to_batches()
        for batch in found:
            yield batch.select(["id", ROW_ADDRESS, _ROW_ID, _MADE_AT])

    return stream(batches(), _PLACES, base.place.uri)


def continue_rows(written: WrittenRows, taken_over: pa.Table, place: Place) -> WrittenRows:
    """The same rows, of which each takes over ``row_id`` and ``made_at`` of one row of a table, in this order.

    Raises:
        InternalError: there are not as many rows on both sides.
    """
    if taken_over.num_rows != written.row_count:
        raise InternalError(f"{written.row_count} rows cannot continue {taken_over.num_rows} others.")
    first = 0
    made = []
    for facts in written.fragments:
        count = int(facts["physical_rows"])
        made.append(_continued(facts, taken_over.slice(first, count), place))
        first += count
    return WrittenRows(
        location=written.location,
        branch=written.branch,
        fragments=tuple(made),
        row_count=written.row_count,
        byte_count=written.byte_count,
    )


def _continued(facts: dict[str, object], taken_over: pa.Table, place: Place) -> dict[str, object]:
    """What Lance is told of one file whose rows take over ids."""
    name = f"{uuid.uuid4()}.lance"
    columns = taken_over.select(["row_id", "made_at"]).combine_chunks().to_batches()[0].columns
    with translating("write", place.uri):
        writer = LanceFileWriter(
            f"{place.uri}/data/{name}", _TAKEN_OVER, version=FILE_FORMAT, storage_options=place.options
        )
        with writer:
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=_TAKEN_OVER))
    major, _, minor = FILE_FORMAT.partition(".")
    file = {
        "fields": list(_NUMBERS),
        "column_indices": [0, 1],
        "file_major_version": int(major),
        "file_minor_version": int(minor),
        "file_size_bytes": writer.size_bytes,
        "base_id": None,
        "path": name,
    }
    files = facts["files"]
    if not isinstance(files, list):
        raise InternalError("A part of written rows does not name its files.")
    return facts | {"files": [*files, file], "row_id_meta": "Column", "created_at_version_meta": {"column": {}}}


def mark_parts(base: LanceSnapshot, addresses: pa.Array) -> tuple[MarkedPart, ...]:
    """Mark rows as deleted by address; what becomes of each part that has some of them.

    Raises:
        InternalError: an address comes twice, or there is no row at one.
    """
    pin = base.pin
    with translating("write", base.place.uri):
        changed, gone = mark_deleted(base.dataset, distinct_addresses(addresses))

    def marked(number: int, fragment: FragmentMetadata | None) -> MarkedPart:
        facts = None if fragment is None else fragment.to_json()
        return MarkedPart(pin=pin, number=number, fragment=facts)

    return (*(marked(each.id, each) for each in changed), *(marked(each, None) for each in gone))


def stage_marked(base: LanceSnapshot, rows: Sequence[WrittenRows], marked: Sequence[MarkedPart]) -> LanceStaged:
    """Rows in files, and parts whose rows some of them replace, as one transaction.

    Raises:
        InternalError: parts of another version, or one of them twice.
    """
    _check_marked(base.pin, marked)
    changed = [FragmentMetadata.from_json(json.dumps(each.fragment)) for each in marked if each.fragment is not None]
    gone = [each.number for each in marked if each.fragment is None]
    return staged_update(base, written_fragments(rows, base.pin), changed, gone)


def _check_marked(pin: TablePin, marked: Iterable[MarkedPart]) -> None:
    seen: set[int] = set()
    for each in marked:
        if each.pin != pin or each.number in seen:
            raise InternalError(f"Part {each.number} of {each.pin} cannot be marked in {pin}, or was marked twice.")
        seen.add(each.number)
