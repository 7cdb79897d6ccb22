"""Cosine distances of vectors to one vector: 1 minus the cosine of the angle, from 0 to 2.

A first look in float32 finds who can be among the nearest, with room for its error; only those are computed in float64,
row by row, so that a distance depends on the two vectors alone and not on what stands beside them. Nodes without a
vector have no distance. A vector of zeros has no direction; it counts as standing at a right angle to everything, at a
distance of 1. To search *for* such a vector is an error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.engine.entities import Entities, Positions, contiguous, is_identity
from omnigraph.engine.execution import Execution
from omnigraph.engine.images import Image
from omnigraph.engine.postings import SCORE_DIGITS, Scores
from omnigraph.errors import InvalidInputError
from omnigraph.query.checked import Nearest

Vector = npt.NDArray[np.float32]
Matrix = npt.NDArray[np.float32]

_FEW: Final = 1_024
"""So many vectors are fetched and computed without a first look."""

_BLOCK: Final = 1_024
"""Rows that are computed together. They stay in the cache, and are too few for threads that would wait for a core."""

_SAFE_NORMS: Final = (1e-12, 1e12)
"""Between these the first look neither overflows nor loses digits."""


@dataclass(frozen=True, slots=True, eq=False)
class Norms:
    """What is kept about the vectors of a column.

    Attributes:
        inverse: 1 / norm, 0 for a vector of zeros.
        doubtful: rows of which the first look says nothing, ascending.
        is_valid: rows that have a vector; None when all have one.
    """

    inverse: npt.NDArray[np.float32]
    doubtful: Positions
    is_valid: npt.NDArray[np.bool_] | None

    @property
    def nbytes(self) -> int:
        return self.inverse.nbytes + self.doubtful.nbytes + (0 if self.is_valid is None else self.is_valid.nbytes)


def query_vector(ranking: Nearest, execution: Execution) -> Vector | None:
    """The vector to be searched for, embedded if it is a text; None when it is null.

    Raises:
        InvalidInputError: it has another dimension than the property, all of it is zero, or a number is too large.
    """
    given = execution.given(ranking.query)
    if given is None:
        return None
    subject = f"${ranking.field.variable}.{ranking.field.property}"
    if isinstance(given, str):
        vector = np.asarray(execution.embed(given, ranking), dtype=np.float32)
    else:
        numbers = given if isinstance(given, tuple | list) else ()
        if not all(isinstance(each, int | float) for each in numbers):
            raise InvalidInputError(f"The vector to compare {subject} with has something in it that is no number.")
        with np.errstate(over="ignore"):
            vector = np.array(numbers, dtype=np.float64).astype(np.float32)
    dimension = ranking.field.type.dimension or 0
    if len(vector) != dimension:
        raise InvalidInputError(
            f"The vector to compare {subject} with has {len(vector)} numbers, and the property has {dimension}.",
            help=f"Give {dimension} numbers.",
            details={"expected": dimension, "actual": len(vector)},
        )
    if not np.isfinite(vector).all():
        raise InvalidInputError(
            f"The vector to compare {subject} with has a number that F32 cannot hold.", help="Give finite numbers."
        )
    if not vector.any():
        raise InvalidInputError(
            f"The vector to compare {subject} with is all zero, so it has no direction.",
            help="Give a vector with at least one number that is not zero.",
        )
    return vector


def nearest_among(
    entities: Entities, column: str, positions: Positions, *, query: Vector, count: int
) -> tuple[Positions, Scores]:
    """The places in ``positions`` of the nearest so many, and of all that are as near as the last; ascending.

    Beside them their distances. Positions without a vector are passed over.
    """
    if len(positions) <= _FEW:
        places, distances = distances_of(entities, column, positions, query=query)
    else:
        norms = _norms_of(entities, column)
        places = np.arange(len(positions)) if norms.is_valid is None else np.flatnonzero(norms.is_valid[positions])
        matrix = matrix_of(entities.column(column))
        if 0 < count < len(places):
            places = places[_first_look(matrix, norms, positions[places], query=query, count=count)]
        distances = exact_distances(matrix, positions[places], query=query)
    if count < 1:
        return places[:0], distances[:0]
    if len(places) > count:
        is_near = distances <= np.partition(distances, count - 1)[count - 1]
        places, distances = places[is_near], distances[is_near]
    return places, distances


def distances_of(entities: Entities, column: str, positions: Positions, *, query: Vector) -> tuple[Positions, Scores]:
    """The places in ``positions`` that have a vector, ascending, and the distances of these."""
    vectors = entities.values(column, positions)
    places = np.arange(len(positions)) if not vectors.null_count else np.flatnonzero(_validity(vectors))
    return places, exact_distances(matrix_of(vectors), places, query=query)


def exact_distances(matrix: Matrix, rows: Positions, *, query: Vector) -> Scores:
    """The distances of rows of a matrix, in double precision."""
    wanted = query.astype(np.float64)
    square = float((wanted * wanted).sum())
    distances = np.empty(len(rows))
    for first in range(0, len(rows), _BLOCK):
        block = matrix[rows[first : first + _BLOCK]].astype(np.float64)
        # Sums over one row each: a product of matrices may give equal rows different last digits.
        norms = np.sqrt((block * block).sum(axis=1)) * math.sqrt(square)
        dots = (block * wanted).sum(axis=1)
        cosines = np.divide(dots, norms, out=np.zeros(len(block)), where=norms > 0)
        distances[first : first + len(block)] = 1.0 - cosines
    return np.asarray(np.round(np.clip(distances, 0.0, 2.0), SCORE_DIGITS), dtype=np.float64)


def matrix_of(vectors: pa.Array) -> Matrix:
    """A column of vectors as rows of numbers, without a copy; rows of nulls hold anything."""
    dimension = vectors.type.list_size
    numbers = vectors.values.slice(vectors.offset * dimension, len(vectors) * dimension)
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float32).reshape(len(vectors), dimension)


def _first_look(matrix: Matrix, norms: Norms, rows: Positions, *, query: Vector, count: int) -> Positions:
    """Places in ``rows`` among which the nearest are: few more than asked for, unless many are equally near."""
    wanted = query.astype(np.float64)
    wanted /= np.abs(wanted).max()
    unit = (wanted / math.sqrt(float((wanted * wanted).sum()))).astype(np.float32)
    with np.errstate(all="ignore"):
        cosines = _products(matrix, rows, unit) * norms.inverse[rows]
    is_doubtful = np.isin(rows, norms.doubtful) if len(norms.doubtful) else np.zeros(len(rows), dtype=np.bool_)
    # They must not take the place of one that is known to be near, and are looked at all the same.
    cosines[is_doubtful] = -np.inf
    last = np.partition(cosines, len(cosines) - count)[len(cosines) - count]
    # Twice the greatest error of a sum of so many products in float32, with that of the norms.
    slack = 4 * (matrix.shape[1] + 8) * 2.0**-24
    found: Positions = np.flatnonzero((cosines >= last - slack) | is_doubtful)
    return found


def _products(matrix: Matrix, rows: Positions, vector: Vector) -> npt.NDArray[np.float32]:
    """The scalar products of rows, which are different ones, with a vector."""
    products = np.empty(len(rows), dtype=np.float32)
    is_everything = len(rows) == len(matrix) and is_identity(rows)
    gathered = np.empty((min(_BLOCK, len(rows)), matrix.shape[1]), dtype=np.float32)
    for first in range(0, len(rows), _BLOCK):
        last = min(first + _BLOCK, len(rows))
        block = matrix[first:last]
        if not is_everything:
            block = gathered[: last - first]
            np.take(matrix, rows[first:last], axis=0, out=block, mode="clip")
        np.dot(block, vector, out=products[first:last])
    return products


def _norms_of(entities: Entities, column: str) -> Norms:
    if not isinstance(entities, Image):
        return _make_norms(entities.column(column))
    name = ("norms", column)

    def build(image: Image) -> Norms:
        found = image.older(name)
        if found is None or any(column not in each.added.column_names for each in found.steps):
            return _make_norms(image.column(column))
        norms: Norms = found.value
        for each in found.steps:
            norms = _extend_norms(norms, each.splice.taken, contiguous(each.added[column]))
        return norms

    return entities.derived(name, build)


def _make_norms(vectors: pa.Array) -> Norms:
    matrix = matrix_of(vectors)
    is_valid = _validity(vectors) if vectors.null_count else None
    with np.errstate(all="ignore"):
        norms = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
        is_safe = (norms >= _SAFE_NORMS[0]) & (norms <= _SAFE_NORMS[1])
        inverse = np.where(is_safe, np.float32(1) / norms, np.float32(0))
    rows = np.flatnonzero(~is_safe)
    # A sum of squares is 0 for tiny numbers too.
    doubtful = rows[matrix[rows].any(axis=1)]
    return Norms(inverse, doubtful, is_valid)


def _extend_norms(older: Norms, taken: Positions, added: pa.Array) -> Norms:
    new = _make_norms(added)
    old_count = len(older.inverse)
    is_valid = None
    if older.is_valid is not None or new.is_valid is not None:
        parts = [_all_if_none(older.is_valid, old_count), _all_if_none(new.is_valid, len(added))]
        is_valid = np.concatenate(parts)[taken]
        is_valid = None if is_valid.all() else is_valid
    doubtful = np.concatenate((older.doubtful, new.doubtful + old_count))
    return Norms(
        np.concatenate((older.inverse, new.inverse))[taken],
        np.flatnonzero(np.isin(taken, doubtful)) if len(doubtful) else doubtful,
        is_valid,
    )


def _all_if_none(mask: npt.NDArray[np.bool_] | None, count: int) -> npt.NDArray[np.bool_]:
    return np.ones(count, dtype=np.bool_) if mask is None else mask


def _validity(values: pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(values.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)
