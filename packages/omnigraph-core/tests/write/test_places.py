"""``RowPlaces`` against a list: where every row came from, whatever the lines look like."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.write.places import RowPlaces


def filled(*added: tuple[list[int], str | None]) -> tuple[RowPlaces, list[tuple[str | None, int]]]:
    places, expected = RowPlaces(), []
    for lines, source in added:
        places.add(np.array(lines, dtype=np.int64), source)
        expected += [(source, line) for line in lines]
    return places, expected


def check(places: RowPlaces, expected: list[tuple[str | None, int]]) -> None:
    assert [places(row) for row in range(len(expected))] == expected
    # In any order: what is in the file is read back one at a time.
    for row in reversed(range(len(expected))):
        assert places(row) == expected[row]
    assert places(len(expected)) == (None, None)
    assert places(-1) == (None, None)


@pytest.mark.parametrize(
    "added",
    [
        [],
        [([], "a.jsonl")],
        [([1], "a.jsonl")],
        [([1, 2, 3], "a.jsonl")],
        [([1, 2, 3], "a.jsonl"), ([4, 5], "a.jsonl")],
        [([1, 2, 3], "a.jsonl"), ([4, 5], "b.jsonl")],
        [([1, 2, 3], "a.jsonl"), ([9, 10], "a.jsonl")],
        [([1, 3, 5], "a.jsonl"), ([7, 9], "a.jsonl")],
        [([1, 3, 5], "a.jsonl"), ([6, 7], "a.jsonl"), ([8, 10], "a.jsonl")],
        [([1, 2, 3, 5, 4], None)],
        [([5, 4, 3], None), ([2, 2], None)],
        [([2**40, 2**40 + 2], "a.jsonl"), ([-1, -5], "a.jsonl")],
    ],
)
def test_every_row_has_its_line(added):
    check(*filled(*added))


LINES = st.one_of(
    st.tuples(st.integers(0, 50), st.integers(0, 5)).map(lambda each: list(range(each[0], sum(each)))),
    st.lists(st.integers(0, 2**62), max_size=6),
)


@given(st.lists(st.tuples(LINES, st.sampled_from(["a.jsonl", "b.jsonl", None])), max_size=12))
def test_random_lines_are_found_again(added):
    check(*filled(*added))


def test_lines_that_alternate_between_types_are_found():
    people, films = RowPlaces(), RowPlaces()
    for start in range(1, 2_001, 100):
        people.add(np.arange(start, start + 100, 2, dtype=np.int64), "mixed.jsonl")
        films.add(np.arange(start + 1, start + 101, 2, dtype=np.int64), "mixed.jsonl")
    for row in range(1_000):
        assert people(row) == ("mixed.jsonl", 2 * row + 1)
        assert films(row) == ("mixed.jsonl", 2 * row + 2)


@pytest.mark.parametrize("step", [1, 2])
def test_memory_does_not_grow_with_the_input(step):
    places = RowPlaces()
    for batch in range(500):
        places.add(np.arange(batch * 10 * step, (batch + 1) * 10 * step, step, dtype=np.int64), "one.jsonl")
    assert places(4_999) == ("one.jsonl", 4_999 * step)
    assert len(places._runs) == len(places._starts) == 1


def test_adding_goes_on_after_looking():
    places, expected = filled(([3, 1], "a.jsonl"))
    assert places(1) == ("a.jsonl", 1)
    places.add(np.array([7, 5], dtype=np.int64), "a.jsonl")
    check(places, [*expected, ("a.jsonl", 7), ("a.jsonl", 5)])


@pytest.mark.filterwarnings("error::ResourceWarning")
def test_the_file_is_closed_with_the_places():
    import gc

    places, _ = filled(([3, 1], "a.jsonl"))
    file = places._file
    del places
    gc.collect()
    assert file.closed
