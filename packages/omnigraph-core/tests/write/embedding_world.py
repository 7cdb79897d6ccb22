"""What tests of embedding on write share: a schema with such vectors, and an embedder whose requests can be seen."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from omnigraph.embedding import settings
from omnigraph.embedding.mock import mock_vector
from omnigraph.errors import EmbeddingError
from omnigraph.history.schemas import GraphSchema
from omnigraph.write import embedding

PROVIDER = "OMNIGRAPH_EMBED_PROVIDER"

FILMS = """
node Film {
    code: String @key
    plot: String?
    title: String
    face: Vector(2) @embed(title)
    need: Vector(2) @embed(plot, model="demo/embed")
    plotVec: Vector(4)? @embed(plot, model="demo/embed")
    free: Vector(3)?
}
node Essay { title: String @key  body: String?  bodyVec: Vector(4)? @embed(body) }
node Note { text: String?  vec: Vector(4)? @embed(text) }
"""
SCHEMA = GraphSchema.new(FILMS, "01ARZ3NDEKTSV4RRFFQ69G5FAV")


def choose_embedder(monkeypatch: pytest.MonkeyPatch, name: str | None) -> None:
    """Make this the only embedder that the environment names; None for none."""
    for variable in (*settings.CHOICES, settings.FORCE_MOCK):
        monkeypatch.delenv(variable, raising=False)
    if name is not None:
        monkeypatch.setenv(PROVIDER, name)


def mock_list(text: str, dimension: int) -> list[float]:
    """What the formula of the mock gives, as it comes back from a graph."""
    found = np.array(mock_vector(text, dimension), dtype=np.float32)
    assert math.isclose(float(np.linalg.norm(found)), 1, rel_tol=1e-6)
    return [float(value) for value in found]


class SeenRequests:
    """Stands before ``embed_texts`` of the step that writes, and notes what it is asked.

    Attributes:
        requests: the texts of each request.
        fails_at: the number of the request that fails, from 1.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.requests: list[list[str]] = []
        self.facts: list[dict[str, object]] = []
        self.fails_at: int | None = None
        self._ask = embedding.embed_texts
        monkeypatch.setattr(embedding, "embed_texts", self)

    def __call__(self, texts: Sequence[str], **facts: object) -> list[np.ndarray]:
        self.requests.append(list(texts))
        self.facts.append(facts)
        if len(self.requests) == self.fails_at:
            raise EmbeddingError("The embedder is out of order.", provider="mock", help="Repair it.")
        return self._ask(texts, **facts)

    @property
    def texts(self) -> list[str]:
        return [text for request in self.requests for text in request]
