"""The honesty probe: does this endpoint really refuse to create an object that exists?

Publishing rests on it, and several servers that speak S3 accept the condition and ignore it. Three requests tell:
create, create again, delete. The verdict holds for an endpoint, so a process asks once.
"""

from __future__ import annotations

import contextlib
import secrets
from typing import Final

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage.adapter import StorageAdapter

_honest: Final[set[str]] = set()


def verify_honesty(adapter: StorageAdapter) -> None:
    """Probe the adapter's endpoint, unless this process found it honest before.

    Raises:
        StorageError: condition ``configuration`` when a second create of one object is not refused; whatever the
            probe's own requests raise. Only the probe object was written, and it is removed.
    """
    if adapter.endpoint in _honest:
        return
    probe_create_if_absent(adapter)
    _honest.add(adapter.endpoint)


def probe_create_if_absent(adapter: StorageAdapter) -> None:
    """The three requests, always. Raises as ``verify_honesty``."""
    key = adapter.key(f"__create_if_absent_probe_{secrets.token_hex(8)}")
    try:
        first = adapter.write_if_absent(key, b"first")
        second = adapter.write_if_absent(key, b"second")
    except StorageError:
        # What failed is the news; a store that refuses writes refuses the removal as well.
        with contextlib.suppress(StorageError):
            adapter.delete(key)
        raise
    is_honest = first and not second
    # A lie is the news as well, and outweighs a probe object that could not be removed.
    with contextlib.nullcontext() if is_honest else contextlib.suppress(StorageError):
        adapter.delete(key)
    if not is_honest:
        raise StorageError(
            f"The store at {adapter.endpoint} does not honour create-if-absent: it "
            + ("created an object over one that was there." if second else "refused to create a new object."),
            condition=StorageCondition.CONFIGURATION,
            uri=str(adapter.root),
            help="Two writers could overwrite each other's commits here, so nothing of the graph was written. Use a "
            "store with conditional writes (for S3: If-None-Match on PUT), or upgrade the server.",
        )
