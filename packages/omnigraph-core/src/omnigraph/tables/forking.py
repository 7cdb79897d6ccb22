"""A physical branch of a table: its own line of versions that begins as a copy of one version's manifest."""

from __future__ import annotations

import copy

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import StorageAdapter
from omnigraph.tables.counting import note
from omnigraph.tables.failures import LANCE_ERRORS, as_storage_error
from omnigraph.tables.handles import LanceSnapshot
from omnigraph.tables.interface import TablePin
from omnigraph.tables.opening import place_of


def fork(adapter: StorageAdapter, base: LanceSnapshot, branch: str) -> LanceSnapshot:
    """The base's version on a branch of its own; it keeps its number.

    Raises:
        StorageError: ``precondition`` when the name is taken.
    """
    pin = TablePin(location=base.pin.location, branch=branch, version=base.pin.version)
    place = place_of(adapter, pin.location, branch)
    note("fork")
    try:
        # A copy: this call takes the dataset for itself, and readers may be using the shared one.
        made = copy.copy(base.dataset).create_branch(branch, base.pin.version)
    except LANCE_ERRORS as error:
        # Lance tells who comes second something about cloning.
        if _exists(base, branch):
            raise _taken(branch, place.uri) from error
        raise as_storage_error(error, "fork", place.uri) from error
    ref = place.main_key / "_refs" / "branches" / f"{branch}.json"
    return LanceSnapshot(_pin=pin, place=place, dataset=made, made_files=(ref,))


def _exists(base: LanceSnapshot, branch: str) -> bool:
    try:
        return branch in base.dataset.branches.list()
    except LANCE_ERRORS:
        return False


def _taken(branch: str, uri: str) -> StorageError:
    return StorageError(
        f'The physical branch "{branch}" exists already at {uri}.',
        condition=StorageCondition.PRECONDITION,
        uri=uri,
        help="Use a name that was never used before.",
    )
