"""The plugin that core itself brings: ``memory://`` and four embedders, through the same hooks as everybody's."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.embedding import EmbedderProvider
from omnigraph.embedding.builtin import BUILTIN_EMBEDDERS
from omnigraph.plugins.hookspecs import hookimpl
from omnigraph.storage import StorageBackend
from omnigraph.storage.memory import MEMORY_BACKEND


@hookimpl
def omnigraph_storage_backends() -> Iterator[StorageBackend]:
    """What core offers without any other distribution."""
    yield MEMORY_BACKEND


@hookimpl
def omnigraph_embedders() -> Iterator[EmbedderProvider]:
    """Likewise."""
    yield from BUILTIN_EMBEDDERS
