"""The sidecar: a publish plan as an object, from before the first table moves until after the commit is durable.

A sidecar that lies there tells of a write that is under way or was cut off. It is not a lock: other writers go on.
"""

from __future__ import annotations

import json
import logging
from typing import Final

from omnigraph.errors import StorageError
from omnigraph.storage import ObjectKey, StorageAdapter
from omnigraph.write.plan import PublishPlan

RECOVERY_PREFIX: Final = "__recovery"

_log: Final = logging.getLogger(__name__)


def sidecar_key(adapter: StorageAdapter, plan: PublishPlan) -> ObjectKey:
    """Where the sidecar of a plan lies, once it is written."""
    return adapter.key(f"{RECOVERY_PREFIX}/{plan.operation_id}.json")


def write_sidecar(adapter: StorageAdapter, key: ObjectKey, plan: PublishPlan, *, writer: str) -> None:
    """Make a plan durable; ``writer`` is whose heartbeat tells that it is being carried out.

    Raises:
        StorageError: it could not be written; no table has moved.
    """
    adapter.write(key, json.dumps(plan.to_dict() | {"writer_id": writer}, ensure_ascii=False).encode())


def delete_sidecar(adapter: StorageAdapter, key: ObjectKey) -> bool:
    """Remove the sidecar of a write that is over. False, and a warning, when it may still lie there."""
    try:
        adapter.delete(key)
    except StorageError as error:
        _log.warning("A write is over, but its sidecar %s could not be removed: %s", adapter.uri(key), error)
        return False
    return True
