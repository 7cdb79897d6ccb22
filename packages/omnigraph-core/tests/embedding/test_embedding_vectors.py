"""Vectors as they are handed on: of length one, in 32 bits, unchangeable; and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.embedding.mock import mock_vector
from omnigraph.embedding.vectors import unit_vectors
from omnigraph.errors import EmbeddingError

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


def unit(*vectors: Any, count: int | None = None, dimension: int | None = None) -> list[Any]:
    return unit_vectors(
        list(vectors),
        count=len(vectors) if count is None else count,
        dimension=len(vectors[0]) if dimension is None else dimension,
        provider="acme",
        model="e-1",
    )


@given(st.lists(NUMBERS, min_size=1, max_size=20).filter(any))
def test_a_vector_keeps_its_direction_and_gets_length_one(values: list[float]) -> None:
    (found,) = unit(values)
    largest = max(map(abs, values))
    scaled = [value / largest for value in values]
    length = math.hypot(*scaled)
    assert found.dtype == np.float32
    assert found.tolist() == pytest.approx([value / length for value in scaled], abs=3e-6)


@given(st.text(), st.integers(1, 30))
def test_a_vector_of_length_one_keeps_its_bits(text: str, dimension: int) -> None:
    values = mock_vector(text, dimension)
    (found,) = unit(values)
    assert tuple(found.tolist()) == values


def test_a_vector_cannot_be_changed_because_others_may_hold_it() -> None:
    (found,) = unit([3.0, 4.0])
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 1


@pytest.mark.parametrize("values", [(3, 4), [3.0, 4], np.array([3, 4], np.float32), np.array([3, 4], np.int8)])
def test_any_sequence_of_numbers_is_a_vector(values: Any) -> None:
    assert unit(values)[0].tolist() == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([1.0, 2.0], "a vector of 2 numbers where 3 were asked for"),
        ([1.0, math.nan, 2.0], "not finite"),
        ([1.0, math.inf, 2.0], "not finite"),
        ([0.0, -0.0, 0], "zeros"),
        (["a", "b", "c"], "no number"),
        ([1.0, None, 2.0], "no number"),
        ([[1.0], [2.0], [3.0]], "no number"),
        ([1j, 2, 3], "no number"),
        (3.0, "no number"),
        (None, "no number"),
    ],
)
def test_a_wrong_vector_among_good_ones_is_refused_with_embedder_and_model(values: Any, says: str) -> None:
    with pytest.raises(EmbeddingError, match=says) as caught:
        unit([1.0, 2.0, 3.0], values)
    assert 'The embedder "acme" (model e-1) gave' in caught.value.message
    assert dict(caught.value.details) == {"provider": "acme", "model": "e-1", "status": None}


@pytest.mark.parametrize("count", [0, 1, 3])
def test_another_number_of_vectors_than_of_texts_is_refused(count: int) -> None:
    with pytest.raises(EmbeddingError, match=f"2 vectors for {count} texts"):
        unit([1.0], [2.0], count=count)


@pytest.mark.parametrize("found", [None, "ab", {1: [1.0]}, iter([[1.0]])])
def test_what_is_no_list_of_vectors_is_refused(found: Any) -> None:
    with pytest.raises(EmbeddingError, match="not a list of vectors"):
        unit_vectors(found, count=1, dimension=1, provider="acme", model="e-1")
