"""The embedders that core brings, as records; what they name is imported when one of them is first used."""

from __future__ import annotations

from typing import Final

from omnigraph.embedding.provider import EmbedderProvider

BUILTIN_EMBEDDERS: Final = (
    EmbedderProvider(name="openai-compatible", factory="omnigraph.embedding.openai:make_compatible", spi_version=1),
    EmbedderProvider(name="openai", factory="omnigraph.embedding.openai:make_openai", spi_version=1),
    EmbedderProvider(name="gemini", factory="omnigraph.embedding.gemini:GeminiEmbedder", spi_version=1),
    EmbedderProvider(name="mock", factory="omnigraph.embedding.mock:MockEmbedder", spi_version=1),
)
