"""What a cut-off write left on a table: finding its version by name, and making the newest one show the pin again.

    pin ── versions above it ──> the exact child that a planned transaction made, if it got so far
    newest version ── Restore(pin) ──> a newer one with the rows of the pin

A version is known by the transaction id that was planned before anything happened, together with the commit that it is
for; never by its number. Nothing is taken away: a version that a live writer is about to publish stays what it is.
"""

from __future__ import annotations

import uuid
from typing import Final

from lance import LanceDataset, LanceOperation
from lance.dataset import Transaction
from lance.fragment import FragmentMetadata

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import StorageAdapter
from omnigraph.tables.auto_cleanup import refuse_auto_cleanup
from omnigraph.tables.durability import sync_committed
from omnigraph.tables.facts import NewestVersion, TablePin
from omnigraph.tables.failures import translating
from omnigraph.tables.handles import LanceSnapshot
from omnigraph.tables.opaque import FoundVersion
from omnigraph.tables.opening import Place, open_dataset
from omnigraph.tables.staging import COMMIT_PROPERTY, OPERATION, data_files, deletion_files

RESTORE: Final = "restore"
"""What the operation of a version is called that shows an older one again."""


def newest(place: Place) -> NewestVersion:
    """The newest version of a line, and what it shows again.

    Raises:
        StorageError: it cannot be read.
    """
    dataset = open_dataset(place, version=None, session=None, counted="open_newest")
    made_by = _transaction(dataset, dataset.version, place)
    operation = None if made_by is None else made_by.operation
    restores = operation.version if isinstance(operation, LanceOperation.Restore) else None
    return NewestVersion(version=dataset.version, restores=restores)


def find_committed(base: LanceSnapshot, transaction_id: str, commit_id: str) -> FoundVersion:
    """The exact child that a planned transaction made of a base.

    An ordinary commit is exact right after the base and nowhere else; a Restore is exact wherever it lies, because what
    it shows was made off the line of versions.

    Raises:
        StorageError: the history above the base cannot be read.
    """
    pin, place = base.pin, base.place
    last = open_dataset(place, version=None, session=None, counted="open_newest").version
    is_misplaced = False
    for version in range(pin.version + 1, last + 1):
        made_by = _transaction(base.dataset, version, place)
        if made_by is None or made_by.uuid != transaction_id:
            continue
        if (made_by.transaction_properties or {}).get(COMMIT_PROPERTY) != commit_id:
            continue
        if version == pin.version + 1 or isinstance(made_by.operation, LanceOperation.Restore):
            found = _opened(base, version)
            if _is_whole(base, found):
                return FoundVersion(handle=found)
        is_misplaced = True
    return FoundVersion(handle=None, is_misplaced=is_misplaced)


def restore(adapter: StorageAdapter, base: LanceSnapshot) -> int:
    """One more version, the newest, with the rows of the base; durable.

    Raises:
        StorageError: it could not be made, or would delete older versions.
    """
    refuse_auto_cleanup(base.dataset, base.place)
    with translating("restore", base.place.uri):
        transaction = Transaction(
            # From the newest version on, so that Lance need not read what lies between: some of it may be damaged.
            read_version=base.dataset.latest_version,
            operation=LanceOperation.Restore(base.pin.version),
            uuid=str(uuid.uuid4()),
            transaction_properties={OPERATION: RESTORE},
        )
        made = LanceDataset.commit(base.dataset, transaction)
    shown = TablePin(location=base.pin.location, branch=base.pin.branch, version=made.version)
    sync_committed(adapter, [LanceSnapshot(_pin=shown, place=base.place, dataset=made)])
    return int(made.version)


def _transaction(dataset: LanceDataset, version: int, place: Place) -> Transaction | None:
    """What made a version; None when it is gone, or does not say."""
    try:
        with translating("read", place.uri):
            return dataset.read_transaction(version)
    except StorageError as error:
        if error.condition is StorageCondition.NOT_FOUND:
            return None
        raise


def _opened(base: LanceSnapshot, version: int) -> LanceSnapshot:
    """A version of the same line, with the files that its making may have left unsynced."""
    dataset = open_dataset(base.place, version=version, session=None)
    pin = TablePin(location=base.pin.location, branch=base.pin.branch, version=version)
    changed = _changed(base.dataset, dataset)
    files = (*data_files(changed, base.place), *deletion_files(changed, base.place))
    return LanceSnapshot(_pin=pin, place=base.place, dataset=dataset, made_files=files)


def _changed(base: LanceDataset, made: LanceDataset) -> list[FragmentMetadata]:
    before = {each.fragment_id: each.metadata for each in base.get_fragments()}
    return [each.metadata for each in made.get_fragments() if each.metadata != before.get(each.fragment_id)]


def _is_whole(base: LanceSnapshot, made: LanceSnapshot) -> bool:
    """Whether every part that changed can be read: after a loss of power a file that a manifest names may be empty.

    Rows and indexes were on the device before the first table moved; what marks rows as deleted may not have been.
    """
    changed = {each.id for each in _changed(base.dataset, made.dataset)}
    for fragment in made.dataset.get_fragments():
        if fragment.fragment_id not in changed:
            continue
        try:
            with translating("read", made.place.uri):
                there = fragment.scanner(columns=[], with_row_id=True).to_table().num_rows
        except StorageError as error:
            if error.condition in (StorageCondition.TRANSIENT, StorageCondition.CONFIGURATION):
                raise
            return False
        if there != fragment.metadata.num_rows:
            return False
    return True
