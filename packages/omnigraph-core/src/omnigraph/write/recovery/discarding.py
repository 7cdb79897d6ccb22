"""``discard``: a sidecar that nobody can act on is moved aside, and nothing else is touched.

    __recovery/<name> ── cannot be acted on ──> __quarantine/__recovery/<name>

One that is whole stays where it is: it is for a recovery, which knows what the write had done. What the write of a
discarded one had done is not known. It was never published, so nobody reads it, and the next write steps over it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Final

from omnigraph.errors import InvalidInputError, NotFoundError, StorageCondition, StorageError
from omnigraph.storage import ObjectKey, StorageAdapter
from omnigraph.tables.quarantine import quarantine_key
from omnigraph.write.sidecar import FoundSidecar, list_sidecars, read_sidecar, sidecar_key
from omnigraph.write.sidecar_form import SidecarFormError

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscardedSidecar:
    """A sidecar that was moved aside.

    Attributes:
        operation_id: the write that it was about, as far as its name tells.
        reason: why it could not be acted on.
        moved_to: URIs of what lay there of it.
    """

    operation_id: str
    reason: str
    moved_to: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"operation_id": self.operation_id, "reason": self.reason, "moved_to": [*self.moved_to]}


def discard(adapter: StorageAdapter, operation_id: str, *, graph: str) -> DiscardedSidecar:
    """Move the sidecar of an operation aside; the graph is as before, and opens for writing if nothing else lies there.

    Args:
        adapter: open for writing.
        operation_id: as it is listed.
        graph: the id of the graph that lies there.

    Raises:
        InvalidInputError: it is whole, and therefore for a recovery; nothing was moved.
        NotFoundError: there is none.
        StorageError: the store did not answer.
    """
    listed = {each.operation_id: each for each in list_sidecars(adapter)}
    found = listed.get(operation_id)
    if found is None:
        raise _missing(adapter, operation_id)
    reason = _refusal(adapter, found, graph)
    # As they are removed: the withdrawal goes last.
    keys = dict.fromkeys(sidecar_key(adapter, operation_id, is_withdrawn=each) for each in (False, found.is_withdrawn))
    moved = tuple(adapter.uri(target) for key in keys if (target := _move_aside(adapter, key)) is not None)
    if not moved:
        raise _missing(adapter, operation_id)
    _log.warning("The plan of a write (%s) was discarded: %s. Moved to %s.", operation_id, reason, ", ".join(moved))
    return DiscardedSidecar(operation_id=operation_id, reason=reason, moved_to=moved)


def _refusal(adapter: StorageAdapter, found: FoundSidecar, graph: str) -> str:
    """Why a sidecar cannot be acted on. Raises as ``discard``."""
    try:
        plan = read_sidecar(adapter, found, graph=graph)
    except SidecarFormError as error:
        return str(error)
    if plan is None:
        raise _missing(adapter, found.operation_id)
    raise InvalidInputError(
        f"The plan of the {plan.kind} {found.operation_id} is whole, so it is not to be discarded.",
        help="A recovery finishes the write or takes it back, when its writer is dead: "
        f"omnigraph recovery run {adapter.root}.",
        details={"operation_id": found.operation_id},
    )


def _move_aside(adapter: StorageAdapter, key: ObjectKey) -> ObjectKey | None:
    """Where an object was moved to; None when it is not there."""
    target = quarantine_key(adapter, key)
    try:
        adapter.rename(key, target)
    except StorageError as error:
        if error.condition is StorageCondition.NOT_FOUND:
            return None
        raise
    return target


def _missing(adapter: StorageAdapter, operation_id: str) -> NotFoundError:
    return NotFoundError(
        f'There is no plan of a write "{operation_id}".',
        help=f"List what there is: omnigraph recovery list {adapter.root}.",
        details={"operation_id": operation_id},
    )
