"""Versions that a loss of power left unreadable, moved out of the way of the next commit.

Lance links a manifest into place before its bytes are on the device. After a loss of power the newest version of a
table may be an empty file: the table then opens no more, and no commit succeeds, although every acknowledged version
is whole. Only versions above a known one are looked at, and only those that are proved to be damaged are moved, to
``__quarantine/``; nothing is deleted.

An object store loses no power: what it holds is whole, and what cannot be read there was garbled on its way. So nothing
is ever moved there; it would be a version that somebody may have published.
"""

from __future__ import annotations

import logging
from typing import Final

from omnigraph.errors import ResourceLimitError, StorageCondition, StorageError
from omnigraph.storage import ObjectKey, StorageAdapter
from omnigraph.tables.failures import condition_of_lance, translating
from omnigraph.tables.opening import Place, manifest_name, open_dataset, place_of, version_of_name

QUARANTINE: Final = "__quarantine"

_LOG = logging.getLogger(__name__)
_PROOF: Final = frozenset({StorageCondition.NOT_FOUND, StorageCondition.PERMANENT})
"""What damage looks like when the file itself can be read. "Not found" because zeroed bytes spell another version."""

_END: Final = b"LANC"
"""The last bytes of every manifest of Lance."""

_ZEROS: Final = 64
"""More zeros in a row than any manifest has. A device loses whole blocks of a file, which then read as zeros."""


def quarantine_unreadable(adapter: StorageAdapter, location: str, branch: str | None, *, above: int) -> tuple[str, ...]:
    """Move every damaged version newer than ``above`` away; the new keys of what was moved.

    A version that can be read is never moved, nor one that a refusal, a lost connection or a newer Lance keeps from
    being read. Only a file system of this machine has any.
    """
    place = place_of(adapter, location, branch)
    if not place.is_on_disk:
        return ()
    versions = sorted(
        version
        for key in adapter.list_dir(place.key / "_versions")
        if (version := version_of_name(key.name)) is not None and version > above
    )
    moved: list[str] = []
    for version in reversed(versions):
        name = place.file(manifest_name(version))
        if _is_damaged(adapter, place, version, name, above=above):
            moved.extend(_move(adapter, name, version))
    return tuple(moved)


def quarantine_newest(adapter: StorageAdapter, location: str, branch: str | None) -> tuple[str, ...]:
    """Move damaged versions away from the top, down to the first one that can be read.

    Only those that a loss of power may have left: another damage may have come to a version that was acknowledged.
    """
    place = place_of(adapter, location, branch)
    moved: list[str] = []
    while place.is_on_disk:
        newest = _newest_version(adapter, place)
        if newest < 2 or not _was_cut_off(adapter, place, newest):
            break
        found = quarantine_unreadable(adapter, location, branch, above=newest - 1)
        if not found:
            break
        moved.extend(found)
    return tuple(moved)


def newest_was_cut_off(adapter: StorageAdapter, location: str, branch: str | None) -> bool:
    """Whether the file of the newest version is what a loss of power may leave: then nobody was told of it."""
    place = place_of(adapter, location, branch)
    return place.is_on_disk and _was_cut_off(adapter, place, _newest_version(adapter, place))


def _newest_version(adapter: StorageAdapter, place: Place) -> int:
    names = (version_of_name(key.name) for key in adapter.list_dir(place.key / "_versions"))
    return max((version for version in names if version is not None), default=0)


def _was_cut_off(adapter: StorageAdapter, place: Place, version: int) -> bool:
    """Empty, without its end, or with a block of zeros in it. One wrong byte, also in the end, is none of these."""
    try:
        data = adapter.read(place.file(manifest_name(version)))
    except ResourceLimitError:
        return False
    except StorageError as error:
        if error.condition is StorageCondition.NOT_FOUND:
            return False
        raise
    wrong = sum(found != expected for found, expected in zip(data[-len(_END) :], _END, strict=False))
    return len(data) < len(_END) or wrong > 1 or bytes(_ZEROS) in data


def is_on_server(adapter: StorageAdapter) -> bool:
    """Whether tables lie on a server: then what cannot be read is not damaged by a loss of power."""
    place = place_of(adapter, "any", None)
    return place.has_files and not place.is_on_disk


def is_readable(place: Place, version: int) -> bool:
    """Whether a version opens and says of itself that it is this version."""
    return _failure(place, version) is None


def _failure(place: Place, version: int) -> StorageCondition | None:
    """What keeps a version from being read; None when nothing does."""
    try:
        # A session would answer from its cache.
        dataset = open_dataset(place, version=version, session=None, counted="open_suspect")
        if dataset.version != version:
            return StorageCondition.PERMANENT
        with translating("read", place.uri):
            dataset.read_transaction(version)
    except StorageError as error:
        return condition_of_lance(error)
    return None


def _is_damaged(adapter: StorageAdapter, place: Place, version: int, name: ObjectKey, *, above: int) -> bool:
    failure = _failure(place, version)
    if failure is None or failure in (StorageCondition.TRANSIENT, StorageCondition.CONFIGURATION):
        return False
    try:
        data = adapter.read(name)
    except ResourceLimitError:
        data = b"large"
    except StorageError:
        # It went away meanwhile, or this process may not read it: no proof.
        return False
    if not data or failure in _PROOF:
        return True
    # Lance failed for a reason of its own. If it can open the known version, this one is to blame.
    return above > 0 and is_readable(place, above)


def quarantine_key(adapter: StorageAdapter, name: ObjectKey) -> ObjectKey:
    """Where an object is moved to that is in the way; what was moved there before stays."""
    target = adapter.key(f"{QUARANTINE}/{name}")
    for attempt in range(2, 1_000):
        if not adapter.exists(target):
            break
        target = adapter.key(f"{QUARANTINE}/{name}.{attempt}")
    return target


def _move(adapter: StorageAdapter, name: ObjectKey, version: int) -> tuple[str, ...]:
    target = quarantine_key(adapter, name)
    try:
        adapter.rename(name, target)
    except StorageError as error:
        if error.condition is StorageCondition.NOT_FOUND:
            # Another process came first.
            return ()
        raise
    _LOG.warning(
        "Version %d of %s cannot be read, most likely after a loss of power; it was never acknowledged. Moved to %s.",
        version,
        adapter.uri(name.parent.parent),
        adapter.uri(target),
    )
    return (target.value,)
