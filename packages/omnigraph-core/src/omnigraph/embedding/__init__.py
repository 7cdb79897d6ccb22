"""The open embedding interface: what turns texts into vectors, how it is offered, and what it is told.

A plugin imports from here. Who needs vectors asks ``omnigraph.plugins.embed_texts``, which finds the embedder that the
environment names.
"""

from __future__ import annotations

from omnigraph.embedding.embedder import Embedder, Purpose
from omnigraph.embedding.provider import SPI_VERSION, EmbedderProvider
from omnigraph.embedding.settings import EmbedderSettings

__all__ = ["SPI_VERSION", "Embedder", "EmbedderProvider", "EmbedderSettings", "Purpose"]
