"""Can Lance keep tables at a location, and does it refuse a commit that lost a race there?

A backend promises both with its ``lance_location()``. The proof is a real table: created, committed to, raced
against itself from one base version, and opened again by a fresh handle.
"""

from __future__ import annotations

from contextlib import suppress

import lance
import pyarrow as pa
from lance import LanceDataset, LanceOperation
from lance.commit import CommitConflictError
from lance.fragment import write_fragments

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import LanceLocation
from omnigraph.tables.processes import enter_lance


def probe_lance(location: LanceLocation) -> None:
    """Create a table of one row, commit a second row, and see a rival commit from the old version refused.

    The table stays there until ``drop_table``.

    Raises:
        StorageError: condition ``configuration`` when Lance cannot use the location, or when its commits do not
            exclude each other there.
        ForkedProcessError: Lance cannot be used in this process.
    """
    enter_lance(location.uri)
    options = dict(location.storage_options)
    try:
        base = lance.write_dataset(_row(1), location.uri, mode="create", storage_options=options)
        _commit_appended(base, _row(2))
        was_refused = False
        try:
            _commit_appended(base, _row(3))
        except CommitConflictError:
            was_refused = True
        found = lance.dataset(location.uri, storage_options=options).to_table()["probe"].to_pylist()
    # Lance reports everything from a missing bucket to a refused link(2) as OSError, ValueError or RuntimeError.
    except (OSError, ValueError, RuntimeError) as error:
        raise StorageError(
            f"Lance could not keep a table at {location.uri}: {type(error).__name__}.",
            condition=StorageCondition.CONFIGURATION,
            uri=location.uri,
            help="Check that lance_location() names a place and options that Lance can read and write.",
        ) from error
    if not was_refused or found != [1, 2]:
        raise StorageError(
            f"Lance's commits at {location.uri} do not exclude each other: the table holds {found}, not [1, 2].",
            condition=StorageCondition.CONFIGURATION,
            uri=location.uri,
            help="The store must refuse to create an object that exists (conditional writes); use one that does.",
        )


def drop_table(location: LanceLocation) -> None:
    """Remove a table as a whole, also where its files are no objects of an adapter; a missing one is success."""
    # Whatever the reason, what stays is removed with the prefix, or was never there.
    with suppress(OSError, ValueError, RuntimeError):
        LanceDataset.drop(location.uri, storage_options=dict(location.storage_options))


def _row(value: int) -> pa.Table:
    return pa.table({"probe": pa.array([value], pa.int64())})


def _commit_appended(base: LanceDataset, rows: pa.Table) -> LanceDataset:
    """Commit the base's rows and these as its direct successor, or conflict: an Overwrite never rebases."""
    fragments = [fragment.metadata for fragment in base.get_fragments()] + list(write_fragments(rows, base))
    operation = LanceOperation.Overwrite(base.schema, fragments)
    return LanceDataset.commit(base, operation, read_version=base.version, max_retries=0)
