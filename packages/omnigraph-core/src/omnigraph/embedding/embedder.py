"""``Embedder``: what a plugin implements to turn texts into vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import StrEnum


class Purpose(StrEnum):
    """What a text is to the search; some models embed the two differently."""

    QUERY = "query"
    DOCUMENT = "document"


class Embedder(ABC):
    """Turns texts into vectors with one model.

    One instance is made for the settings of a process, kept, and used by several threads at once.

    Attributes:
        model: the name of the model, compared with the one that ``@embed(..., model=...)`` records.
    """

    model: str

    @abstractmethod
    def embed(
        self, texts: Sequence[str], *, dimension: int, purpose: Purpose, within_seconds: float | None
    ) -> list[tuple[float, ...]]:
        """One vector of ``dimension`` numbers for each text, in their order.

        Vectors need not have length 1: whoever asked makes them so. They are checked, and wrong ones are refused with
        the name of this embedder.

        Args:
            texts: at least one; text that can be encoded as UTF-8.
            dimension: of the property that the vectors are for; at least 1.
            purpose: whether the texts are searched for or searched in.
            within_seconds: how long the caller will wait for all of it; None for as long as the settings say.

        Raises:
            InvalidInputError: a setting, such as a key, is missing or wrong.
            EmbeddingError: the model could not be asked, or did not answer as it should. Any other exception is
                taken for one too.
        """

    def serves(self, recorded_model: str) -> bool:
        """Whether vectors of this embedder may be compared with those of a recorded model; equal names by default."""
        return recorded_model == self.model
