"""From staged writes to a version that holds exactly them: the only module that commits to a node or edge table.

    ordinary   commit on the pinned version; it is accepted when it lands on pin + 1
    promotion  detached commits on the pinned version, then one Restore that gives the result a number

Lance's own commits step onto whatever is newest and would take along what a crashed or losing writer left there. So
landing anywhere else than pin + 1 counts for nothing, and neither does a conflict: the same content is made again, off
the line of versions, and promoted. Whether the newest version is the pinned one is never asked beforehand.
"""

from __future__ import annotations

import dataclasses
import logging
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

from lance import LanceDataset, LanceOperation
from lance.commit import CommitConflictError
from lance.dataset import Transaction
from lance.fragment import FragmentMetadata

from omnigraph.errors import InternalError, StorageCondition, StorageError
from omnigraph.storage import ObjectKey, StorageAdapter
from omnigraph.tables.auto_cleanup import is_foreign_newest, refuse_auto_cleanup, warn_of_auto_cleanup
from omnigraph.tables.counting import note
from omnigraph.tables.failures import LANCE_ERRORS, as_storage_error, condition_of_lance, translating
from omnigraph.tables.handles import LanceSnapshot, LanceStaged, StagedKind
from omnigraph.tables.interface import TablePin
from omnigraph.tables.opening import Place, detached_name, open_dataset, transaction_name
from omnigraph.tables.quarantine import quarantine_unreadable
from omnigraph.tables.staging import COMMIT_PROPERTY, planned

COMMIT_TIMEOUT: Final = timedelta(minutes=5)

_LOG = logging.getLogger(__name__)


def commit_create(adapter: StorageAdapter, staged: LanceStaged) -> LanceSnapshot:
    """The first version of a table.

    Raises:
        StorageError: ``precondition`` when another creator was first; its table is untouched.
    """
    place = staged.place
    for is_last in (False, True):
        note("commit")
        try:
            made = LanceDataset.commit(
                place.uri,
                staged.transaction,
                storage_options=place.options,
                enable_stable_row_ids=True,
                max_retries=0,
                commit_timeout=COMMIT_TIMEOUT,
            )
        except LANCE_ERRORS as error:
            if not is_last and quarantine_unreadable(adapter, staged.location, None, above=0):
                continue
            found = _created_by_us(place, staged.transaction_id)
            if found is None:
                if not is_last and condition_of_lance(error) is StorageCondition.PRECONDITION:
                    # Refused as if there were one, and there is none: another request was in the way.
                    continue
                raise as_storage_error(error, "create", place.uri) from error
            made = found
        break
    return LanceSnapshot(
        _pin=TablePin(location=staged.location, branch=None, version=made.version), place=place, dataset=made
    )


def commit_exact(
    adapter: StorageAdapter, base: LanceSnapshot, staged: Sequence[LanceStaged], *, commit_id: str | None
) -> LanceSnapshot:
    """One version that is the base plus the staged writes, in their order, and nothing else."""
    steps = in_order(base, staged)
    if commit_id is not None:
        steps[-1] = _of_commit(steps[-1], commit_id)
    refuse_auto_cleanup(base.dataset, base.place)
    if len(steps) == 1 and not is_foreign_newest(base):
        made = _commit_ordinary(adapter, base, steps[0])
        if made is not None:
            return _snapshot(base, made, ())
    try:
        return _promote(adapter, base, steps)
    except StorageError as error:
        if error.condition in (StorageCondition.TRANSIENT, StorageCondition.CONFIGURATION):
            raise
        if not quarantine_unreadable(adapter, base.pin.location, base.pin.branch, above=base.pin.version):
            raise
        return _promote(adapter, base, steps)


def detached_view(base: LanceSnapshot, staged: Sequence[LanceStaged]) -> tuple[LanceDataset, tuple[int, ...]]:
    """What the base would be with the staged writes in it, for reading, and the detached versions this made."""
    made, _, detached = _chain(base, in_order(base, staged))
    return made, tuple(detached)


def detached_view_of_fragments(
    newest: LanceDataset, fragments: Sequence[FragmentMetadata], place: Place
) -> tuple[LanceDataset, tuple[int, ...]]:
    """Written rows alone, as if they were the table, for reading, and the detached version this made."""
    operation = LanceOperation.Overwrite(newest.lance_schema, list(fragments))
    transaction = planned(StagedKind.OVERWRITE, operation, read_version=newest.version)
    made = _commit_detached(newest, transaction, place)
    return made, (made.version,)


@contextmanager
def detached_with_settings(
    adapter: StorageAdapter, base: LanceSnapshot, settings: Mapping[str, str]
) -> Iterator[LanceDataset]:
    """The base with settings of Lance that its table does not have, for staging. Afterwards nothing is left of it."""
    operation = LanceOperation.UpdateConfig(config_updates=LanceOperation.UpdateMap(dict(settings)))
    transaction = Transaction(read_version=base.pin.version, operation=operation)
    made = _commit_detached(base.dataset, transaction, base.place)
    try:
        yield made
    finally:
        names = detached_name(made.version), transaction_name(base.pin.version, transaction.uuid)
        _remove(adapter, base.place, names)


def remove_detached(adapter: StorageAdapter, place: Place, versions: Sequence[int]) -> None:
    """Remove the files of detached versions, which Lance never does; what was promoted from them needs them no more."""
    _remove(adapter, place, [detached_name(each) for each in versions])


def _remove(adapter: StorageAdapter, place: Place, names: Sequence[str]) -> None:
    if not place.has_files:
        return
    for name in names:
        try:
            adapter.delete(place.file(name))
        except StorageError as error:
            # Litter and no more: the commit stands, or its own error is the one to tell.
            _LOG.debug("%s stays at %s: %s", name, place.uri, error.message)


def in_order(base: LanceSnapshot, staged: Sequence[LanceStaged]) -> list[LanceStaged]:
    """The steps of one commit: appends joined into one, and whatever writes rows first.

    Lance stamps rows with the version that wrote them, and only the first detached step has a true number to stamp.

    Raises:
        InternalError: there is no step, one was staged on another version, or rows are written after another step.
    """
    for each in staged:
        if each.base != base.pin:
            raise InternalError(f"A write staged on {each.base} cannot be committed on {base.pin}.")
    appends = 0
    while appends < len(staged) and staged[appends].kind is StagedKind.APPEND:
        appends += 1
    steps = [_joined(staged[:appends]), *staged[appends:]] if appends > 1 else list(staged)
    if not steps:
        raise InternalError("There is nothing to commit.")
    if any(each.kind.is_stamped or each.kind is StagedKind.CREATE for each in steps[1:]):
        raise InternalError(f"The steps {[str(each.kind) for each in steps]} cannot be one commit: rows come first.")
    if steps[0].kind is StagedKind.OVERWRITE and any(each.kind is StagedKind.INDEX for each in steps[1:]):
        raise InternalError("An index of the rows before an overwrite cannot be committed after it.")
    return steps


def _of_commit(step: LanceStaged, commit_id: str) -> LanceStaged:
    """The step with the name of the commit in its transaction, so that a version tells whose it is."""
    properties = {**(step.transaction.transaction_properties or {}), COMMIT_PROPERTY: commit_id}
    return dataclasses.replace(
        step, transaction=dataclasses.replace(step.transaction, transaction_properties=properties)
    )


def _joined(appends: Sequence[LanceStaged]) -> LanceStaged:
    last = appends[-1]
    operations = [each.transaction.operation for each in appends]
    fragments = [each for found in operations if isinstance(found, LanceOperation.Append) for each in found.fragments]
    return dataclasses.replace(
        last, transaction=dataclasses.replace(last.transaction, operation=LanceOperation.Append(fragments))
    )


def _commit_ordinary(adapter: StorageAdapter, base: LanceSnapshot, step: LanceStaged) -> LanceDataset | None:
    """The version if it landed right after the base; None when it has to be promoted instead."""
    note("commit")
    child = base.pin.version + 1
    try:
        made = LanceDataset.commit(base.dataset, step.transaction, max_retries=0, commit_timeout=COMMIT_TIMEOUT)
    except CommitConflictError:
        return None
    except LANCE_ERRORS as error:
        return _after_failure(adapter, base, step, error)
    if made.version == child:
        return made
    # Where no look came before, what others set may have had its effect.
    warn_of_auto_cleanup(made, base.place)
    return None


def _after_failure(
    adapter: StorageAdapter, base: LanceSnapshot, step: LanceStaged, error: BaseException
) -> LanceDataset | None:
    """Ours, if only the answer was lost; None when something stands in the way that promotion steps over.

    Raises:
        StorageError: neither; the store or this process is in trouble.
    """
    pin = base.pin
    moved: tuple[str, ...] = ()
    if condition_of_lance(error) not in (StorageCondition.TRANSIENT, StorageCondition.CONFIGURATION):
        moved = quarantine_unreadable(adapter, pin.location, pin.branch, above=pin.version)
    try:
        child = open_dataset(base.place, version=pin.version + 1, session=None, counted="open_suspect")
        with translating("read", base.place.uri):
            found = child.read_transaction(pin.version + 1)
    except StorageError:
        if moved:
            return None
        raise as_storage_error(error, "commit to", base.place.uri) from error
    return child if found is not None and found.uuid == step.transaction_id else None


def _promote(adapter: StorageAdapter, base: LanceSnapshot, steps: Sequence[LanceStaged]) -> LanceSnapshot:
    note("promote")
    content, files, detached = _chain(base, steps)
    last = steps[-1].transaction
    try:
        with translating("commit to", base.place.uri):
            restore = Transaction(
                # From the newest version on, so that Lance need not read what lies between: some of it may be damaged.
                read_version=base.dataset.latest_version,
                operation=LanceOperation.Restore(content.version),
                uuid=last.uuid,
                transaction_properties=last.transaction_properties,
            )
            made = LanceDataset.commit(base.dataset, restore, commit_timeout=COMMIT_TIMEOUT)
    finally:
        remove_detached(adapter, base.place, detached)
    return _snapshot(base, made, files)


def _chain(base: LanceSnapshot, steps: Sequence[LanceStaged]) -> tuple[LanceDataset, tuple[ObjectKey, ...], list[int]]:
    """The steps one after the other, off the line of versions: the result, files written anew, detached versions."""
    made, files, detached = base.dataset, list[ObjectKey](), list[int]()
    for index, step in enumerate(steps):
        current = step
        if index and step.restage is not None:
            restaged = step.restage(made)
            if restaged is None:
                continue
            current = restaged
            files.extend(current.files)
        transaction = dataclasses.replace(current.transaction, read_version=made.version, uuid=str(uuid.uuid4()))
        made = _commit_detached(made, transaction, base.place)
        detached.append(made.version)
    return made, tuple(files), detached


def _commit_detached(base: LanceDataset, transaction: Transaction, place: Place) -> LanceDataset:
    note("commit_detached")
    with translating("commit to", place.uri):
        return LanceDataset.commit(base, transaction, detached=True, commit_timeout=COMMIT_TIMEOUT)


def _created_by_us(place: Place, transaction_id: str) -> LanceDataset | None:
    """Our table, if only the answer was lost; None when there is none.

    Raises:
        StorageError: ``precondition`` when somebody else's is there.
    """
    try:
        found = open_dataset(place, version=None, session=None, counted="open_newest")
    except StorageError as error:
        if error.condition is StorageCondition.NOT_FOUND:
            return None
        raise
    with translating("read", place.uri):
        first = found.read_transaction(1) if found.version == 1 else None
    if first is not None and first.uuid == transaction_id:
        return found
    raise StorageError(
        f"There is a table at {place.uri} already; it was not touched.",
        condition=StorageCondition.PRECONDITION,
        uri=place.uri,
        help="Another writer created it first; open what is there.",
    )


def _snapshot(base: LanceSnapshot, made: LanceDataset, files: tuple[ObjectKey, ...]) -> LanceSnapshot:
    return LanceSnapshot(
        _pin=dataclasses.replace(base.pin, version=made.version), place=base.place, dataset=made, made_files=files
    )
