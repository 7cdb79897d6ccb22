"""Control objects that hold JSON: read within bounds, or refused with the reason; see ``control_json``."""

from __future__ import annotations

from typing import Any, Final

from omnigraph.control_json import ControlJsonError, read_control_json
from omnigraph.errors import ResourceLimitError
from omnigraph.storage.adapter import StorageAdapter
from omnigraph.storage.keys import ObjectKey

MAX_REF_BYTES: Final = 64 * 1024
"""How large the object of a branch or tag may be. Ours take less than a kilobyte, and names are bounded."""


def read_control_object(adapter: StorageAdapter, key: ObjectKey, *, max_bytes: int) -> dict[str, Any] | None:
    """What an object says; None when it is not there. No more than one byte over the bound is fetched.

    Raises:
        ControlJsonError: it is too large, nested too deep, or not a JSON object.
        StorageError: it could not be read.
    """
    try:
        data = adapter.read_if_exists(key, max_bytes=max_bytes)
    except ResourceLimitError as error:
        raise ControlJsonError(f"it is larger than {max_bytes:,} bytes") from error
    if data is None:
        return None
    facts = read_control_json(data)
    if not isinstance(facts, dict):
        raise ControlJsonError("it is not a JSON object")
    return facts
