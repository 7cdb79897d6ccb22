"""What this distribution offers. Imported whenever plugins are listed, so the adapter is named and not imported."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.plugins import hookimpl
from omnigraph.storage import Capability, StorageBackend, StorageOption


@hookimpl
def omnigraph_storage_backends() -> Iterator[StorageBackend]:
    """Offer ``example://``."""
    yield StorageBackend(
        name="example",
        schemes=("example",),
        adapter="omnigraph_storage_example.adapter:ExampleAdapter",
        lance_scheme="file",
        spi_version=1,
        capabilities=frozenset(
            {Capability.WRITE_IF_MATCH, Capability.ATOMIC_RENAME, Capability.SHARED_BETWEEN_PROCESSES}
        ),
        options=(
            StorageOption(
                name="directory",
                help="An existing directory; example://NAME is NAME.sqlite and NAME.tables in it.",
                environment=("EXAMPLE_STORAGE_DIRECTORY",),
            ),
            StorageOption(name="timeout", help="How long to wait for other writers; 30 by default.", kind="seconds"),
        ),
    )
