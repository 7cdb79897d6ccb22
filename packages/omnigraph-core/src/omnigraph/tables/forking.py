"""A physical branch: a line of versions of its own that begins as a copy of one version's manifest.

Tables of types and the manifest of the graph are forked alike. Nothing is copied but that manifest: the new line reads
the files of the old one, and has its versions from there on to itself.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Final

from lance import LanceDataset

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import ObjectKey, StorageAdapter
from omnigraph.tables.counting import note
from omnigraph.tables.failures import LANCE_ERRORS, as_storage_error, translating
from omnigraph.tables.handles import LanceSnapshot
from omnigraph.tables.interface import TablePin
from omnigraph.tables.opening import Place, place_of

_REF_ENDING: Final = ".json"


def fork(adapter: StorageAdapter, base: LanceSnapshot, branch: str) -> LanceSnapshot:
    """The base's version on a branch of its own; it keeps its number.

    Raises:
        StorageError: ``precondition`` when the name is taken.
    """
    pin = TablePin(location=base.pin.location, branch=branch, version=base.pin.version)
    place = place_of(adapter, pin.location, branch)
    note("fork")
    made = fork_dataset(base.dataset, branch, place)
    return LanceSnapshot(_pin=pin, place=place, dataset=made, made_files=(ref_file(place, branch),))


def fork_dataset(dataset: LanceDataset, branch: str, place: Place) -> LanceDataset:
    """A version on a line of its own, which lies at ``place``; it keeps its number. Not yet synced.

    Raises:
        StorageError: ``precondition`` when the name is taken.
    """
    try:
        # A copy: this call takes the dataset for itself, and readers may be using the shared one.
        return copy.copy(dataset).create_branch(branch, dataset.version)
    except LANCE_ERRORS as error:
        # Lance tells who comes second something about cloning.
        if _exists(dataset, branch):
            raise _taken(branch, place.uri) from error
        raise as_storage_error(error, "fork", place.uri) from error


def ref_file(place: Place, branch: str) -> ObjectKey:
    """Where Lance says that a line exists."""
    return place.main_key / "_refs" / "branches" / f"{branch}{_REF_ENDING}"


def forked_lines(adapter: StorageAdapter, dataset: LanceDataset, place: Place) -> list[str]:
    """The names of all lines of a table but the main one; a listing.

    Raises:
        StorageError: they could not be listed.
    """
    if place.has_files:
        # Lance would read each of the files, and fail for one that a loss of power damaged.
        found = adapter.list_dir(ref_file(place, "any").parent)
        return sorted(each.name.removesuffix(_REF_ENDING) for each in found if each.name.endswith(_REF_ENDING))
    with translating("look at", place.uri):
        return sorted(_known_to_lance(dataset))


def _exists(dataset: LanceDataset, branch: str) -> bool:
    try:
        return branch in _known_to_lance(dataset)
    except LANCE_ERRORS:
        return False


def _known_to_lance(dataset: LanceDataset) -> Iterable[str]:
    return dataset.branches.list()


def _taken(branch: str, uri: str) -> StorageError:
    return StorageError(
        f'The physical branch "{branch}" exists already at {uri}.',
        condition=StorageCondition.PRECONDITION,
        uri=uri,
        help="Use a name that was never used before.",
    )
