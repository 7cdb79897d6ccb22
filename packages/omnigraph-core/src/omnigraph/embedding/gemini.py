"""``GeminiEmbedder``: the Gemini API, ``POST {base}/models/{model}:embedContent``, one text in each request."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from omnigraph.embedding.embedder import Embedder, Purpose
from omnigraph.embedding.endpoint import Endpoint
from omnigraph.embedding.settings import EmbedderSettings

_KEY_VARIABLE: Final = "GEMINI_API_KEY"
_TASK: Final = {Purpose.QUERY: "RETRIEVAL_QUERY", Purpose.DOCUMENT: "RETRIEVAL_DOCUMENT"}


class GeminiEmbedder(Embedder):
    """Each text has its own deadline."""

    def __init__(self, settings: EmbedderSettings) -> None:
        self.model = settings.model or "gemini-embedding-2"
        # The API names a model by its resource; both spellings of the setting mean the same one.
        self._resource = "models/" + self.model.removeprefix("models/")
        self._endpoint = Endpoint(
            provider=settings.provider,
            model=self.model,
            base_url=settings.base_url or "https://generativelanguage.googleapis.com/v1beta",
            key=settings.key(_KEY_VARIABLE),
            key_variable=_KEY_VARIABLE,
            key_header="x-goog-api-key",
            settings=settings,
        )

    def embed(
        self, texts: Sequence[str], *, dimension: int, purpose: Purpose, within_seconds: float | None
    ) -> list[tuple[float, ...]]:
        end = None if within_seconds is None else time.monotonic() + within_seconds
        vectors = []
        for text in texts:
            body = {
                "model": self._resource,
                "content": {"parts": [{"text": text}]},
                "taskType": _TASK[purpose],
                "outputDimensionality": dimension,
            }
            left = None if end is None else end - time.monotonic()
            answer = self._endpoint.post(f"{quote(self._resource)}:embedContent", body, within_seconds=left)
            try:
                vectors.append(tuple(answer["embedding"]["values"]))
            except (LookupError, TypeError):
                raise self._endpoint.unusable("there is no embedding in its answer") from None
        return vectors
