"""From what an embedder returned to unit vectors: one per text, each checked. Nothing else reaches a query or row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from omnigraph.errors import EmbeddingError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]

_UNIT_TOLERANCE = 1e-6


def unit_vectors(found: Sequence[Any], *, count: int, dimension: int, provider: str, model: str) -> list[Vector]:
    """Vectors of length 1, as 32-bit floats that cannot be changed.

    A vector that has length 1 already, within 32-bit precision, keeps its bits.

    Raises:
        EmbeddingError: not as many vectors as texts, or one of another dimension, with something that is no finite
            number, or of length 0.
    """

    def refuse(what: str) -> EmbeddingError:
        return EmbeddingError(
            f'The embedder "{provider}" (model {model}) {what}.',
            provider=provider,
            model=model,
            help="Nothing was kept. Choose a model that offers this dimension, or another embedder.",
        )

    if not isinstance(found, list | tuple):
        raise refuse(f"gave a {type(found).__name__} and not a list of vectors")
    if len(found) != count:
        raise refuse(f"gave {len(found)} vectors for {count} texts")
    return [_unit_vector(each, dimension, refuse) for each in found]


def _unit_vector(values: Any, dimension: int, refuse: Callable[[str], EmbeddingError]) -> Vector:
    import numpy as np

    try:
        given = np.asarray(values)
    except ValueError:  # lists within lists, of several lengths
        given = np.empty((0, 0))
    if given.ndim != 1 or given.dtype.kind not in "fiu":
        raise refuse("gave a vector with something in it that is no number")
    if len(given) != dimension:
        raise refuse(f"gave a vector of {len(given)} numbers where {dimension} were asked for")
    if not np.isfinite(given).all():
        raise refuse("gave a vector with a number that is not finite")
    wide = given.astype(np.float64)
    largest = np.abs(wide).max()
    if largest == 0:
        raise refuse("gave a vector of zeros, which has no direction")
    # By the largest first, so that the squares of very large and very small numbers stay numbers.
    scaled = wide / largest
    length = float(np.linalg.norm(scaled))
    is_unit = abs(float(largest) * length - 1) <= _UNIT_TOLERANCE
    unit = (wide if is_unit else scaled / length).astype(np.float32)
    unit.flags.writeable = False
    return unit
