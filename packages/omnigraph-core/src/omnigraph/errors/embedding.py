"""A service that a graph relies on did not do its part."""

from __future__ import annotations

from omnigraph.errors.root import ErrorKind, OmnigraphError


class EmbeddingError(OmnigraphError):
    """A text could not be turned into a vector: the embedder is broken, did not answer, or answered wrongly.

    Attributes:
        provider: the name of the embedder.
        model: the model that was asked; None when it did not come to that.
        status: what its server answered, as a number of HTTP; None without an answer.
    """

    kind = ErrorKind.EMBEDDING

    def __init__(
        self, message: str, *, provider: str, help: str, model: str | None = None, status: int | None = None
    ) -> None:
        super().__init__(message, help=help, details={"provider": provider, "model": model, "status": status})
        self.provider = provider
        self.model = model
        self.status = status
