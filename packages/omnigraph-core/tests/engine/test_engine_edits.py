"""Similar words are those that the Levenshtein distance of the textbook says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.engine.edits import Lexicon
from omnigraph.testing.text_model import edits

WORDS = st.text("abé😀", min_size=1, max_size=7)


@given(words=st.lists(WORDS, unique=True, max_size=30), word=WORDS, max_edits=st.integers(0, 8))
def test_words_within_a_distance_are_found_and_no_others(words: list[str], word: str, max_edits: int) -> None:
    expected = [number for number, each in enumerate(words) if edits(each, word) <= max_edits]
    assert Lexicon(words).within(word, max_edits).tolist() == expected


@pytest.mark.parametrize(
    ("word", "distance"),
    [("river", 0), ("rivers", 1), ("rver", 1), ("rover", 1), ("irver", 2), ("rivre", 2), ("driven", 2), ("r", 4)],
)
def test_an_exchange_of_neighbours_is_two_edits_and_everything_else_one(word: str, distance: int) -> None:
    found = [len(Lexicon(["river"]).within(word, each)) for each in range(5)]
    assert found == [0] * distance + [1] * (5 - distance)


def test_a_bound_beyond_all_lengths_finds_everything() -> None:
    assert Lexicon(["a", "bcd", "x" * 39]).within("zz", 10**9).tolist() == [0, 1, 2]


def test_no_words_have_none_that_are_similar() -> None:
    assert Lexicon([]).within("a", 2).tolist() == []
