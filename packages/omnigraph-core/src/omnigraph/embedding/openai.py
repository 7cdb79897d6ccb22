"""Embedders that speak the protocol of OpenAI: its own server, and every other one with ``POST {base}/embeddings``."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

from omnigraph.embedding.embedder import Embedder, Purpose
from omnigraph.embedding.endpoint import Endpoint
from omnigraph.embedding.settings import EmbedderSettings

MAX_BATCH_TEXTS: Final = 64
MAX_BATCH_CHARACTERS: Final = 128 * 1024
"""What goes into one request; servers take up to 2048 texts and 300,000 tokens."""


class OpenAiEmbedder(Embedder):
    """Texts go out in batches, each with its own deadline."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.model = endpoint.model
        self._endpoint = endpoint

    def embed(
        self, texts: Sequence[str], *, dimension: int, purpose: Purpose, within_seconds: float | None
    ) -> list[tuple[float, ...]]:
        end = None if within_seconds is None else time.monotonic() + within_seconds
        vectors: list[tuple[float, ...]] = []
        for batch in _batches(texts):
            body = {"model": self.model, "input": batch, "dimensions": dimension}
            left = None if end is None else end - time.monotonic()
            answer = self._endpoint.post("embeddings", body, within_seconds=left)
            vectors += self._vectors(answer, len(batch))
        return vectors

    def _vectors(self, answer: Any, count: int) -> list[tuple[float, ...]]:
        """The vectors of an answer in the order of the texts, which is that of their ``index``."""
        try:
            found = answer["data"]
            by_index = {item.get("index", place): tuple(item["embedding"]) for place, item in enumerate(found)}
        except (LookupError, TypeError, AttributeError):
            raise self._endpoint.unusable("there is no list of embeddings in its answer") from None
        if len(found) != count:
            raise self._endpoint.unusable(f"it answered {len(found)} embeddings for {count} texts")
        if by_index.keys() != set(range(count)):
            raise self._endpoint.unusable("the indices of its embeddings are not those of the texts")
        return [by_index[index] for index in range(count)]


def make_compatible(settings: EmbedderSettings) -> OpenAiEmbedder:
    """Any server of this protocol; OpenRouter unless a base URL is set."""
    return _make(
        settings,
        base_url="https://openrouter.ai/api/v1",
        model="openai/text-embedding-3-large",
        key_variable="OPENROUTER_API_KEY",
    )


def make_openai(settings: EmbedderSettings) -> OpenAiEmbedder:
    """OpenAI's own server."""
    return _make(
        settings,
        base_url="https://api.openai.com/v1",
        model="text-embedding-3-large",
        key_variable="OPENAI_API_KEY",
    )


def _make(settings: EmbedderSettings, *, base_url: str, model: str, key_variable: str) -> OpenAiEmbedder:
    endpoint = Endpoint(
        provider=settings.provider,
        model=settings.model or model,
        base_url=settings.base_url or base_url,
        key=settings.key(key_variable),
        key_variable=key_variable,
        key_header="Authorization",
        key_prefix="Bearer ",
        settings=settings,
    )
    return OpenAiEmbedder(endpoint)


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) == MAX_BATCH_TEXTS or size + len(text) > MAX_BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch
