"""Vectors that a write leaves out, made from the texts of their rows: the step that loads and mutations share.

A property with ``@embed`` may be left out of a row. The text of its source then goes to the configured embedder, each
distinct text once, in requests of a bounded size. It is asked before a write judges or stages anything, so nobody waits
for it but the write itself, and a failure leaves nothing behind.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from omnigraph.embedding import Purpose
from omnigraph.embedding.settings import PROVIDER, is_embedder_chosen
from omnigraph.errors import EmbeddingError, InvalidInputError
from omnigraph.history.schemas import TypeTable
from omnigraph.plan.changes import Embedding
from omnigraph.plugins import embed_texts

if TYPE_CHECKING:
    from omnigraph.embedding.vectors import Vector

REQUEST_TEXTS: Final = 256
REQUEST_BYTES: Final = 1024 * 1024
"""What an embedder is given at once: as much as local models like, and servers get it in smaller parts yet."""


def embed_documents(
    texts: Sequence[str], embedding: Embedding, *, type_name: str, within_seconds: float | None = None
) -> list[Vector]:
    """One vector of length 1 for each text, in their order, as 32-bit floats that cannot be changed.

    Args:
        texts: of the source property, one for each row that leaves the vector out; none gives none, and asks nobody.
        embedding: the vector, and where it comes from.
        type_name: of the node; errors name it.
        within_seconds: how long the caller will wait for all of them; None for as long as the settings let each
            request take.

    Raises:
        InvalidInputError: no embedder is configured, or it is configured wrongly, or for another model than the
            recorded one.
        EmbeddingError: the embedder failed.
    """
    if not texts:
        return []
    if not is_embedder_chosen():
        raise InvalidInputError(
            f"missing required property '{embedding.property}' of {type_name}; {no_embedder(embedding.source)}",
            help="Nothing was written.",
            details={"type": f"node:{type_name}", "property": embedding.property, "source": embedding.source},
        )
    end = None if within_seconds is None else time.monotonic() + within_seconds
    vectors: dict[str, Vector] = {}
    try:
        for request in _requests(dict.fromkeys(texts)):
            found = embed_texts(
                request,
                dimension=embedding.dimension,
                recorded_model=embedding.model,
                purpose=Purpose.DOCUMENT,
                within_seconds=None if end is None else max(0.0, end - time.monotonic()),
            )
            vectors.update(zip(request, found, strict=True))
    except (InvalidInputError, EmbeddingError) as error:
        made = f"{type_name}.{embedding.property} was to be made from '{embedding.source}'"
        error.add_note(f"{made}. Nothing was written.")
        raise
    return [vectors[text] for text in texts]


def embeddings_of(target: TypeTable) -> tuple[Embedding, ...]:
    """The vectors of a type that have a source, in the order of columns."""
    return tuple(
        Embedding(each.name, each.type.dimension, each.embed.source, each.embed.model)
        for each in target.type.by_name.values()
        if each.embed is not None and each.type.dimension is not None
    )


def optional_vectors(target: TypeTable) -> Mapping[str, Embedding]:
    """The vectors of a type that records may leave out because they can be made, by name; none without an embedder."""
    found = embeddings_of(target)
    return {each.property: each for each in found} if found and is_embedder_chosen() else {}


def no_embedder(source: str) -> str:
    """Why a vector is not made from this property, and what to do."""
    return f"no embedder is configured to make it from '{source}': set {PROVIDER} and its key, or give the vector"


def _requests(texts: Mapping[str, None]) -> Iterator[list[str]]:
    request: list[str] = []
    size = 0
    for text in texts:
        text_bytes = len(text.encode(errors="surrogatepass"))
        if request and (len(request) == REQUEST_TEXTS or size + text_bytes > REQUEST_BYTES):
            yield request
            request, size = [], 0
        request.append(text)
        size += text_bytes
    if request:
        yield request
