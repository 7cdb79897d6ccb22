"""Staged merges: rows replace those of equal key, wherever these lie, and the others are new.

Lance looks for the keys. Whoever knows where the replaced rows lie has a cheaper way: ``replacing``.
"""

from __future__ import annotations

from contextlib import nullcontext

import pyarrow as pa
from lance import LanceOperation

from omnigraph.errors import InternalError
from omnigraph.storage import StorageAdapter
from omnigraph.tables.arrow_schema import logical_schema
from omnigraph.tables.handles import LanceSnapshot, LanceStaged, StagedKind
from omnigraph.tables.incoming import Incoming
from omnigraph.tables.new_files import note_new_files
from omnigraph.tables.reading import MAX_KEYS_IN_PREDICATE, look_up
from omnigraph.tables.row_facts import facts_beside_rows
from omnigraph.tables.sessions import Session
from omnigraph.tables.staging import (
    blob_directories,
    check_keys,
    data_files,
    deletion_files,
    keys_of,
    planned,
    stage_append,
)


def stage_upsert(
    adapter: StorageAdapter,
    base: LanceSnapshot,
    rows: pa.Table | pa.RecordBatchReader,
    *,
    key: str,
    session: Session,
) -> LanceStaged:
    """Rows that replace those of equal key. When none of the keys is there it is an append, which costs less."""
    schema = logical_schema(base.dataset.schema)
    is_small = False
    if isinstance(rows, pa.Table):
        check_keys(rows, key)
        is_small = len(rows) <= MAX_KEYS_IN_PREDICATE
        if is_small and not len(look_up(base.dataset, keys_of(rows, key), key=key, columns=[key])):
            return stage_append(base, rows, session=session)
    incoming = Incoming(rows, schema)
    # The ids of few rows are no burden to the description of the table, and rows of one part need no second one.
    staging = nullcontext(base.dataset) if is_small else facts_beside_rows(adapter, base)
    with staging as dataset, incoming.going_to(base.place.uri):
        merge = dataset.merge_insert(key).when_matched_update_all().when_not_matched_insert_all()
        merged, _ = merge.execute_uncommitted(incoming.physical())
    operation = merged.operation
    if not isinstance(operation, LanceOperation.Update):
        raise InternalError(f"Lance staged an upsert as {type(operation).__name__}.")
    files = (
        *data_files(operation.new_fragments, base.place),
        *deletion_files(operation.updated_fragments, base.place),
    )
    directories = blob_directories(operation.new_fragments, base.place, schema)
    note_new_files(
        base.place,
        files,
        directories,
        byte_count=sum(file.file_size_bytes or 0 for each in operation.new_fragments for file in each.files),
    )
    return LanceStaged(
        kind=StagedKind.UPSERT,
        location=base.pin.location,
        place=base.place,
        base=base.pin,
        transaction=planned(StagedKind.UPSERT, operation, read_version=base.pin.version),
        files=files,
        blob_directories=directories,
    )
