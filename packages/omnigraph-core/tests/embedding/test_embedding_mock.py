"""The mock: its published formula, computed here a second time with other means."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.embedding import EmbedderSettings, Purpose
from omnigraph.embedding.mock import MockEmbedder, mock_vector


def f32(value: float) -> float:
    """The nearest 32-bit float."""
    (rounded,) = struct.unpack("f", struct.pack("f", value))
    return float(rounded)


def by_the_book(text: str, dimension: int) -> list[float]:
    """The formula, number by number; the operations of 32-bit floats are rounded ones of 64 bits."""
    state = 14695981039346656037
    for byte in text.encode("utf-8"):
        state = ((state ^ byte) * 1099511628211) % 2**64
    values = []
    for _ in range(dimension):
        state ^= (state * 2**13) % 2**64
        state ^= state // 2**7
        state ^= (state * 2**17) % 2**64
        values.append(f32(f32(f32(state / (2**64 - 1)) * 2) - 1))
    total = 0.0
    for value in values:
        total = f32(total + f32(value * value))
    return [f32(value / f32(math.sqrt(total))) for value in values]


def test_the_published_vector_of_alpha() -> None:
    assert mock_vector("alpha", 4) == pytest.approx([-0.542049, -0.471799, 0.160905, 0.676534], abs=5e-7)


@given(st.text(), st.integers(1, 40))
def test_every_text_has_the_vector_of_the_formula_bit_by_bit(text: str, dimension: int) -> None:
    assert list(mock_vector(text, dimension)) == by_the_book(text, dimension)


def test_the_vector_has_length_one_in_a_large_dimension_too() -> None:
    assert math.dist(mock_vector("beta", 3072), [0.0] * 3072) == pytest.approx(1, abs=1e-5)


def test_texts_are_embedded_in_their_order_and_alike_for_both_purposes() -> None:
    mock = MockEmbedder(EmbedderSettings())
    expected = [mock_vector(text, 3) for text in ("b", "a", "b")]
    for purpose in Purpose:
        assert mock.embed(["b", "a", "b"], dimension=3, purpose=purpose, within_seconds=None) == expected


def test_without_a_configured_model_the_mock_stands_for_any() -> None:
    mock = MockEmbedder(EmbedderSettings())
    assert mock.model == "mock"
    assert mock.serves("demo/embed")


def test_with_a_configured_model_the_mock_stands_for_that_one() -> None:
    mock = MockEmbedder(EmbedderSettings(model="demo/embed"))
    assert mock.model == "demo/embed"
    assert mock.serves("demo/embed")
    assert not mock.serves("demo/other")
