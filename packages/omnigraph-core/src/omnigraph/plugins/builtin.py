"""The plugin that core itself brings: ``memory://``, through the same hook as everybody's."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.plugins.hookspecs import hookimpl
from omnigraph.storage import StorageBackend
from omnigraph.storage.memory import MEMORY_BACKEND


@hookimpl
def omnigraph_storage_backends() -> Iterator[StorageBackend]:
    """What core offers without any other distribution."""
    yield MEMORY_BACKEND
