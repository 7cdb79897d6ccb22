"""``MockEmbedder``: vectors by a published formula, for tests and examples. It asks nobody and needs no key.

Equal texts have equal vectors on every machine; near texts do not have near ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from omnigraph.embedding.embedder import Embedder, Purpose
from omnigraph.embedding.settings import EmbedderSettings

_FNV_OFFSET: Final = 0xCBF29CE484222325
_FNV_PRIME: Final = 0x100000001B3
_MASK: Final = 2**64 - 1


class MockEmbedder(Embedder):
    """Stands for the model that is configured, or, if none is, for whichever one is recorded."""

    def __init__(self, settings: EmbedderSettings) -> None:
        self.model = settings.model or "mock"
        self._is_any_model = settings.model is None

    def embed(
        self, texts: Sequence[str], *, dimension: int, purpose: Purpose, within_seconds: float | None
    ) -> list[tuple[float, ...]]:
        return [mock_vector(text, dimension) for text in texts]

    def serves(self, recorded_model: str) -> bool:
        return self._is_any_model or super().serves(recorded_model)


def mock_vector(text: str, dimension: int) -> tuple[float, ...]:
    """The vector of a text: FNV-1a of its UTF-8 bytes, one xorshift step per component, divided by its length.

    Every step behind the division by 2**64 - 1 is one of 32-bit floats, the sum of squares from left to right.

    Example:
        >>> [round(value, 6) for value in mock_vector("alpha", 4)]
        [-0.542049, -0.471799, 0.160905, 0.676534]
    """
    import numpy as np

    state = _FNV_OFFSET
    for byte in text.encode():
        state = (state ^ byte) * _FNV_PRIME & _MASK
    states = []
    for _ in range(dimension):
        state ^= state << 13 & _MASK
        state ^= state >> 7
        state ^= state << 17 & _MASK
        states.append(state / _MASK)
    values = np.array(states, np.float64).astype(np.float32) * np.float32(2) - np.float32(1)
    length = np.sqrt(np.add.accumulate(values * values)[-1])
    return tuple((values / length).tolist())
