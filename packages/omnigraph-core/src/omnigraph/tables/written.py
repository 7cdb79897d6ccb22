"""Rows that lie in files of a table and belong to no version: written anywhere, taken up later by one commit.

    any process   write_rows(pin, stream) → WrittenRows (JSON)
    publisher     stage_append(handle, [WrittenRows, …]) → one Append of all their fragments

Nothing is read but the schema that the files are written against, and memory does not grow with the rows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
from lance import LanceDataset
from lance.file import LanceFileReader
from lance.fragment import FragmentMetadata, write_fragments

from omnigraph.errors import InternalError
from omnigraph.tables.arrow_schema import physical_schema
from omnigraph.tables.failures import translating
from omnigraph.tables.handles import RecentlyUsed
from omnigraph.tables.incoming import Incoming
from omnigraph.tables.interface import TablePin, WrittenRows
from omnigraph.tables.opening import Place
from omnigraph.tables.reading import BATCH_ROWS, projected, stream
from omnigraph.tables.sessions import Session

FILE_FORMAT: Final = "2.2"
MAX_ROWS_PER_FILE: Final = 262_144
"""To replace a row, Lance goes through the stable ids of its whole part: 5 ms with so many rows, 20 with a million.

Twice the rows from which on folds leave a part alone, so that what loses a row is not folded for that.
"""

MAX_BYTES_PER_FILE: Final = 2 * 1024**3
_ENCODED_AS_BLOB: Final = b"lance-encoding:blob"

_schemas: Final[RecentlyUsed[str, pa.Schema]] = RecentlyUsed(1_024)
os.register_at_fork(after_in_child=_schemas.renew_lock)


def write_files(
    rows: pa.Table | pa.RecordBatchReader,
    target: LanceDataset | Place,
    *,
    schema: pa.Schema,
    session: Session,
) -> list[FragmentMetadata]:
    """Write rows of a logical schema to data files.

    The target is an open version, whose columns keep their numbers, or the place of a table that does not exist.
    """
    where: dict[str, Any]
    if isinstance(target, LanceDataset):
        uri, where = target.uri, {"dataset_uri": target, "mode": "append"}
    else:
        uri = target.uri
        where = {"dataset_uri": uri, "mode": "create", "storage_options": target.options, "session": session}
    incoming = Incoming(rows, schema)
    with incoming.going_to(uri):
        return list(
            write_fragments(
                incoming.physical(),
                schema=physical_schema(schema),
                data_storage_version=FILE_FORMAT,
                enable_stable_row_ids=True,
                max_rows_per_file=MAX_ROWS_PER_FILE,
                max_bytes_per_file=MAX_BYTES_PER_FILE,
                **where,
            )
        )


def written_rows(pin: TablePin, fragments: Sequence[FragmentMetadata]) -> WrittenRows:
    """What was written, as plain data."""
    return WrittenRows(
        location=pin.location,
        branch=pin.branch,
        fragments=tuple(each.to_json() for each in fragments),
        row_count=sum(each.physical_rows for each in fragments),
        byte_count=sum(file.file_size_bytes or 0 for each in fragments for file in each.files),
    )


def fragments_of(written: Sequence[WrittenRows], pin: TablePin) -> list[FragmentMetadata]:
    """The fragments of several writes, in order.

    Raises:
        InternalError: one of them was written for another table or branch, whose files this one does not reach.
    """
    fragments: list[FragmentMetadata] = []
    for each in written:
        if (each.location, each.branch) != (pin.location, pin.branch):
            raise InternalError(
                f"Rows written below {each.location} (branch {each.branch}) cannot become part of "
                f"{pin.location} (branch {pin.branch})."
            )
        fragments.extend(_fragment(facts) for facts in each.fragments)
    return fragments


def read_files(written: WrittenRows, place: Place, *, columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
    """Rows without Blob columns in the order in which they were written, from the files as they lie."""
    paths = [f"{place.uri}/data/{path}" for each in written.fragments for path in _row_files(_fragment(each))]
    wanted = projected(_file_schema(paths[0], place), columns)

    def batches() -> Iterator[pa.RecordBatch]:
        for path in paths:
            reader = LanceFileReader(path, storage_options=place.options, columns=wanted.names)
            yield from reader.read_all(batch_size=BATCH_ROWS).to_batches()

    return stream(batches(), wanted, place.uri)


def holds_blobs(written: WrittenRows, place: Place) -> bool:
    """Whether the files have Blob columns.

    Their bytes may lie elsewhere, and Lance's reader of single files miscounts the columns that come after one. Only
    a version of a table gives such rows back.
    """
    first = next((path for each in written.fragments for path in _row_files(_fragment(each))), None)
    if first is None:
        return False
    schema = _file_schema(f"{place.uri}/data/{first}", place)
    return any(_ENCODED_AS_BLOB in (each.metadata or {}) for each in schema)


def _file_schema(path: str, place: Place) -> pa.Schema:
    """The schema of a file. It is kept: a file never changes, no name is used twice, and validators ask per column."""
    known = _schemas.get(path)
    if known is None:
        with translating("read", place.uri):
            known = LanceFileReader(path, storage_options=place.options).metadata().schema
        _schemas.put(path, known)
    return known


def _row_files(fragment: FragmentMetadata) -> list[str]:
    """The names of the files that hold columns of the table; beside them may be one of what Lance knows of the rows."""
    return [file.path for file in fragment.files if any(number >= 0 for number in file.fields)]


def _fragment(facts: dict[str, Any]) -> FragmentMetadata:
    return FragmentMetadata.from_json(json.dumps(facts))
