"""The sidecar: an announced plan as an object, from before the first table moves until after the commit is durable.

    __recovery/<operation>.json              under way, or cut off: whoever finds it may finish it
    __recovery/<operation>.withdrawn.json    given up by its own writer after a table moved: nobody may finish it

It is not a lock: other writers go on. Both ends check it, so that whoever acts on one knows that it is whole and of
this graph. One that is damaged or of a newer release is refused and stays where it is; one of another graph is passed
over. How it is spelled is the matter of ``sidecar_form``.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from omnigraph import failpoints
from omnigraph.errors import InternalError, ResourceLimitError, StorageError
from omnigraph.failpoints import reach
from omnigraph.storage import MAX_OBJECT_BYTES, ObjectKey, StorageAdapter
from omnigraph.write.plan import AnnouncedPlan
from omnigraph.write.sidecar_form import (
    ForeignSidecarError,
    SidecarFormError,
    is_operation_id,
    parse_sidecar,
    spell_sidecar,
)

RECOVERY_PREFIX: Final = "__recovery"

MAX_SIDECAR_BYTES: Final = MAX_OBJECT_BYTES
"""Room for the plan of a write to some ten thousand types."""

_ENDING: Final = ".json"
_WITHDRAWN: Final = ".withdrawn.json"

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSidecar:
    """A sidecar that was listed; what it says is read by ``read_sidecar``.

    Attributes:
        operation_id: of an object that has no name of a sidecar, that name.
        is_withdrawn: its writer gave the plan up.
    """

    operation_id: str
    is_withdrawn: bool


def sidecar_key(adapter: StorageAdapter, operation_id: str, *, is_withdrawn: bool = False) -> ObjectKey:
    """Where the sidecar of an operation lies, once it is written."""
    ending = _WITHDRAWN if is_withdrawn else _ENDING
    return adapter.key(f"{RECOVERY_PREFIX}/{operation_id}{ending if is_operation_id(operation_id) else ''}")


def write_sidecar(adapter: StorageAdapter, plan: AnnouncedPlan) -> None:
    """Make a plan durable.

    Raises:
        ResourceLimitError: it changes more types than a sidecar has room for.
        StorageError: it could not be written. No table has moved.
    """
    data = spell_sidecar(plan)
    if len(data) > MAX_SIDECAR_BYTES:
        raise ResourceLimitError(
            f"The plan of this write takes {len(data)} bytes.",
            resource="sidecar_bytes",
            limit=MAX_SIDECAR_BYTES,
            actual=len(data),
            help="Write to fewer types at once.",
        )
    if parse_sidecar(data, plan.operation_id) != plan:
        raise InternalError(f"The plan {plan.operation_id} is not what its sidecar would say.")
    reach(failpoints.RECOVERY_SIDECAR_WRITE)
    adapter.write(sidecar_key(adapter, plan.operation_id), data)


def delete_sidecar(adapter: StorageAdapter, operation_id: str) -> bool:
    """Remove the sidecar of a write that is over. False, and a warning, when it may still lie there."""
    key = sidecar_key(adapter, operation_id)
    try:
        reach(failpoints.RECOVERY_SIDECAR_DELETE)
        adapter.delete(key)
    except StorageError as error:
        _log.warning("A write is over, but its sidecar %s could not be removed: %s", adapter.uri(key), error)
        return False
    return True


def withdraw_sidecar(adapter: StorageAdapter, operation_id: str) -> bool:
    """Say of a plan that moved tables that it is given up; False, and a warning, when others may still finish it.

    Renaming takes no room, so it works on a full disk. Where it fails, the sidecar is removed: then nobody finishes the
    plan either, and what it left on the tables is stepped over by the next write to them.
    """
    key = sidecar_key(adapter, operation_id)
    try:
        adapter.rename(key, sidecar_key(adapter, operation_id, is_withdrawn=True))
    except StorageError as error:
        _log.info("The sidecar %s could not be renamed and is removed: %s", adapter.uri(key), error)
        return delete_sidecar(adapter, operation_id)
    return True


def remove_settled(adapter: StorageAdapter, found: FoundSidecar) -> bool:
    """Remove everything that lies there of an operation that is settled and audited; False as ``delete_sidecar``."""
    # The withdrawal goes last: without it, a plan that was renamed halfway would count as one to be finished.
    is_removed = delete_sidecar(adapter, found.operation_id)
    if not is_removed or not found.is_withdrawn:
        return is_removed
    key = sidecar_key(adapter, found.operation_id, is_withdrawn=True)
    try:
        adapter.delete(key)
    except StorageError as error:
        _log.warning("A write is over, but its sidecar %s could not be removed: %s", adapter.uri(key), error)
        return False
    return True


def list_sidecars(adapter: StorageAdapter) -> tuple[FoundSidecar, ...]:
    """Every sidecar, oldest first; one request. An object of another name counts as one that cannot be read.

    Raises:
        StorageError: they could not be listed.
    """
    reach(failpoints.RECOVERY_SIDECAR_LIST)
    found: dict[str, bool] = {}
    for key in adapter.list_dir(adapter.key(RECOVERY_PREFIX)):
        operation_id, is_withdrawn = _told_by(key.name)
        found[operation_id] = is_withdrawn or found.get(operation_id, False)
    return tuple(FoundSidecar(operation_id=each, is_withdrawn=found[each]) for each in sorted(found))


def _told_by(name: str) -> tuple[str, bool]:
    """The operation that an object below ``__recovery/`` is about, and whether it says that it was given up."""
    for ending in (_WITHDRAWN, _ENDING):
        operation_id = name.removesuffix(ending)
        if operation_id != name and is_operation_id(operation_id):
            return operation_id, ending == _WITHDRAWN
    return name, False


def read_sidecar(adapter: StorageAdapter, found: FoundSidecar, *, graph: str) -> AnnouncedPlan | None:
    """What a sidecar says; None when it is gone, because its write is over.

    Raises:
        SidecarFormError: it is damaged, too large or of a newer release.
        ForeignSidecarError: it is of another graph, so nothing of this one depends on it.
        StorageError: it could not be read.
    """
    if not is_operation_id(found.operation_id):
        raise SidecarFormError("its name is no operation")
    key = sidecar_key(adapter, found.operation_id, is_withdrawn=found.is_withdrawn)
    try:
        data = adapter.read_if_exists(key, max_bytes=MAX_SIDECAR_BYTES)
    except ResourceLimitError as error:
        raise SidecarFormError("it is larger than any sidecar") from error
    if data is None:
        return None
    plan = parse_sidecar(data, found.operation_id)
    if plan.graph != graph:
        raise ForeignSidecarError(f"it belongs to another graph, {plan.graph}")
    return plan
