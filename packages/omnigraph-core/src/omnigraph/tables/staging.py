"""Staged writes of rows: create, append, overwrite. Files are written; no version appears.

Each makes one Lance transaction with an id of its own, planned before any commit: recovery looks it up in a table's
history instead of guessing what a version was. Other staged writes have modules of their own.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from lance import LanceOperation
from lance.dataset import Transaction
from lance.fragment import FragmentMetadata

from omnigraph.errors import InternalError
from omnigraph.storage import ObjectKey
from omnigraph.tables.arrow_schema import is_blob, logical_schema, physical_schema
from omnigraph.tables.handles import LanceSnapshot, LanceStaged, StagedKind
from omnigraph.tables.interface import TablePin, WrittenRows
from omnigraph.tables.new_files import note_new_files
from omnigraph.tables.opening import Place
from omnigraph.tables.sessions import Session
from omnigraph.tables.written import fragments_of, write_files

OPERATION = "omnigraph.operation"
"""Transaction property: which staged write made a version."""

COMMIT_PROPERTY = "omnigraph.commit"
"""Transaction property that names the commit which a version of a table or of the manifest belongs to."""


def planned(kind: StagedKind, operation: LanceOperation.BaseOperation, *, read_version: int) -> Transaction:
    """A transaction with the id by which it will be known."""
    return Transaction(
        read_version=read_version,
        operation=operation,
        uuid=str(uuid.uuid4()),
        transaction_properties={OPERATION: str(kind)},
    )


def stage_create(
    location: str, place: Place, schema: pa.Schema, rows: pa.Table | None, *, session: Session
) -> LanceStaged:
    """The first version of a table, with stable row ids."""
    fragments = [] if rows is None else write_files(rows, place, schema=schema, session=session)
    operation = LanceOperation.Overwrite(physical_schema(schema), fragments)
    return LanceStaged(
        kind=StagedKind.CREATE,
        location=location,
        place=place,
        base=None,
        transaction=planned(StagedKind.CREATE, operation, read_version=0),
        files=data_files(fragments, place),
        blob_directories=blob_directories(fragments, place, schema),
    )


def stage_append(base: LanceSnapshot, rows: pa.Table | Sequence[WrittenRows], *, session: Session) -> LanceStaged:
    """Rows at the end; several written parts become one Append."""
    fragments = new_fragments(base, rows, session=session)
    return _staged(base, StagedKind.APPEND, LanceOperation.Append(fragments), fragments)


def stage_overwrite(base: LanceSnapshot, rows: pa.Table | Sequence[WrittenRows], *, session: Session) -> LanceStaged:
    """Rows in place of all others. The columns keep their numbers, and stable row ids stay on."""
    fragments = new_fragments(base, rows, session=session)
    operation = LanceOperation.Overwrite(base.dataset.lance_schema, fragments)
    return _staged(base, StagedKind.OVERWRITE, operation, fragments)


def check_keys(rows: pa.Table, key: str) -> None:
    """Refuse keys that are null or come twice, which Lance would write without a word.

    Raises:
        InternalError: whoever staged them did not check them.
    """
    keys = rows[key]
    if keys.null_count or pc.count_distinct(keys).as_py() != len(keys):
        raise InternalError(f"The rows to write hold null or repeated values of {key!r}.")


def keys_of(rows: pa.Table, key: str) -> pa.Array:
    """The keys of rows, in one piece."""
    return pa.concat_arrays(rows[key].chunks) if rows[key].num_chunks else pa.array([], rows[key].type)


def data_files(fragments: Iterable[FragmentMetadata], place: Place) -> tuple[ObjectKey, ...]:
    """The data files of new fragments. Those with a base lie with the parent of a branch and are older."""
    return tuple(place.file(f"data/{file.path}") for each in fragments for file in each.files if file.base_id is None)


def deletion_files(fragments: Iterable[FragmentMetadata], place: Place) -> tuple[ObjectKey, ...]:
    """The files that mark rows of changed fragments as deleted."""
    return tuple(place.file(each.deletion_file.path(each.id)) for each in fragments if each.deletion_file is not None)


def blob_directories(fragments: Iterable[FragmentMetadata], place: Place, schema: pa.Schema) -> tuple[ObjectKey, ...]:
    """Where the large blobs of new fragments lie: how many files there are is written nowhere."""
    if not any(is_blob(each) for each in schema):
        return ()
    return tuple(place.file(f"data/{file.path.removesuffix('.lance')}") for each in fragments for file in each.files)


def new_fragments(
    base: LanceSnapshot, rows: pa.Table | Sequence[WrittenRows], *, session: Session
) -> list[FragmentMetadata]:
    """Rows in files that belong to no version yet: written now, or before."""
    if not isinstance(rows, pa.Table):
        return fragments_of(rows, base.pin)
    if len(rows) == 0:
        return []
    schema = logical_schema(base.dataset.schema)
    fragments = write_files(rows, base.dataset, schema=schema, session=session)
    note_new_fragments(fragments, base.place, schema)
    return fragments


def note_new_fragments(fragments: Sequence[FragmentMetadata], place: Place, schema: pa.Schema) -> None:
    """Say of files that were just written that they lie there."""
    note_new_files(
        place,
        data_files(fragments, place),
        blob_directories(fragments, place, schema),
        byte_count=sum(file.file_size_bytes or 0 for each in fragments for file in each.files),
    )


def _staged(
    base: LanceSnapshot,
    kind: StagedKind,
    operation: LanceOperation.BaseOperation,
    fragments: Sequence[FragmentMetadata],
) -> LanceStaged:
    pin: TablePin = base.pin
    return LanceStaged(
        kind=kind,
        location=pin.location,
        place=base.place,
        base=pin,
        transaction=planned(kind, operation, read_version=pin.version),
        files=data_files(fragments, base.place),
        blob_directories=blob_directories(fragments, base.place, logical_schema(base.dataset.schema)),
    )
