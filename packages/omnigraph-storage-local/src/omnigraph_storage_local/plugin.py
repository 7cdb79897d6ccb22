"""The hooks of this package. Imported whenever plugins are listed, so the adapter is named here and not imported."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.plugins import hookimpl
from omnigraph.storage import Capability, StorageBackend


@hookimpl
def omnigraph_storage_backends() -> Iterator[StorageBackend]:
    """Offer local paths and ``file://`` URIs."""
    yield StorageBackend(
        name="local",
        schemes=("file",),
        adapter="omnigraph_storage_local.adapter:LocalAdapter",
        lance_scheme="file",
        spi_version=1,
        capabilities=frozenset(
            {Capability.WRITE_IF_MATCH, Capability.ATOMIC_RENAME, Capability.SHARED_BETWEEN_PROCESSES}
        ),
    )
