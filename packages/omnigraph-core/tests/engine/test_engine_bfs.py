"""Searches over arrays: the visiting rule, many starts at once, and the budget."""

from __future__ import annotations

import numpy as np
import pytest

from omnigraph.engine import bfs
from omnigraph.engine.bfs import list_places, search
from omnigraph.engine.budget import QueryBudget, Spending
from omnigraph.errors import DeadlineError, ResourceLimitError


def arrays(near, size):
    lists = [sorted(near.get(node, ())) for node in range(size)]
    pointers = np.concatenate([[0], np.cumsum([len(each) for each in lists])]).astype(np.int64)
    return pointers, np.array([node for each in lists for node in each], dtype=np.int32)


def found(near, size, starts, minimum, maximum, **budget):
    result = {}
    parts = search(
        *arrays(near, size),
        np.array(starts, dtype=np.int64),
        minimum=minimum,
        maximum=maximum,
        spending=Spending(QueryBudget(**budget)),
        operator="Expand",
    )
    for part in parts:
        assert list(part.owners) == sorted(part.owners)
        for number in range(part.first, part.first + part.start_count):
            result[starts[number]] = [int(node) for node in part.nodes[part.owners == number]]
    return result


def rule(near, start, minimum, maximum):
    """Distances by repeated widening; then who is within bounds, and who is expanded onto itself within bounds."""
    distance = {start: 0}
    for hop in range(1, maximum + 1):
        for node in [each for each, far in distance.items() if far == hop - 1]:
            for other in near.get(node, ()):
                distance.setdefault(other, hop)
    reached = {node for node, far in distance.items() if far and minimum <= far <= maximum}
    loops = {node for node, far in distance.items() if node in near.get(node, ()) and minimum <= far + 1 <= maximum}
    return sorted(reached | loops)


CHAIN = {0: {1}, 1: {2}, 2: {3}, 3: {0}}


@pytest.mark.parametrize(
    ("near", "minimum", "maximum", "expected"),
    [
        (CHAIN, 1, 1, [1]),
        (CHAIN, 1, 3, [1, 2, 3]),
        (CHAIN, 1, 9, [1, 2, 3]),
        (CHAIN, 3, 4, [3]),
        ({0: {1, 2}, 1: {2}}, 2, 3, []),
        ({0: {1}, 1: {1}}, 2, 2, [1]),
        ({0: {1}, 1: {1}}, 1, 2, [1]),
        ({0: {1}, 1: {1}}, 3, 3, []),
        ({0: {0}}, 1, 1, [0]),
        ({0: {0}}, 1, 5, [0]),
        ({0: {0}}, 2, 5, []),
        ({0: {0, 1}, 1: {0}}, 2, 2, []),
        ({0: {1}, 1: {2}, 2: {2}}, 3, 3, [2]),
        ({0: {1}, 1: {2}, 2: {2}}, 2, 3, [2]),
        ({}, 1, 3, []),
    ],
)
def test_a_node_is_visited_once_and_a_loop_emits_the_node_that_is_expanded(near, minimum, maximum, expected):
    assert found(near, 4, [0], minimum, maximum) == {0: expected}


@pytest.mark.parametrize("cells", [1, 40, 1 << 20])
@pytest.mark.parametrize("dense", [0, 24, 1 << 30])
def test_many_starts_are_searched_as_each_by_itself(monkeypatch, cells, dense):
    monkeypatch.setattr(bfs, "MAX_CELLS", cells)
    monkeypatch.setattr(bfs, "_DENSE", dense)
    rng = np.random.default_rng(7)
    for size, edges in ((1, 1), (5, 12), (17, 30), (17, 90)):
        near = {}
        for one, other in rng.integers(0, size, (edges, 2)).tolist():
            near.setdefault(one, set()).add(other)
        starts = rng.permutation(size).tolist()
        for minimum, maximum in ((1, 1), (1, 2), (2, 2), (1, 4), (2, 3), (3, 3), (4, 20)):
            expected = {start: rule(near, start, minimum, maximum) for start in starts}
            assert found(near, size, starts, minimum, maximum) == expected


def test_no_starts_give_no_parts():
    assert found(CHAIN, 4, [], 1, 2) == {}


def test_places_follow_one_another_list_by_list():
    begins, counts = np.array([5, 0, 9, 9, 2]), np.array([2, 0, 1, 0, 3])
    assert list(list_places(begins, counts, 6)) == [5, 6, 9, 2, 3, 4]
    assert list(list_places(begins[1:2], counts[1:2], 0)) == []
    assert list(list_places(begins[[1, 3]], counts[[1, 3]], 0)) == []
    assert list(list_places(begins[:1], counts[:1], 2)) == [5, 6]


STAR = {0: set(range(1, 11)), **{node: {0, 11} for node in range(1, 11)}}


def test_a_hop_is_refused_before_it_is_collected(monkeypatch):
    monkeypatch.setattr(bfs, "list_places", None)
    with pytest.raises(ResourceLimitError) as caught:
        found(STAR, 12, [0], 1, 2, max_frontier=9)
    assert caught.value.details["resource"] == "max_frontier"
    assert (caught.value.details["limit"], caught.value.details["actual"]) == (9, 10)
    assert caught.value.details["operator"] == "Expand"


def test_the_second_hop_counts_what_it_would_collect():
    with pytest.raises(ResourceLimitError) as caught:
        found(STAR, 12, [0], 1, 2, max_frontier=19)
    assert caught.value.details["actual"] == 20
    assert found(STAR, 12, [0], 1, 2, max_frontier=20) == {0: list(range(1, 12))}


def test_a_hop_is_counted_over_all_starts_however_they_are_parted(monkeypatch):
    monkeypatch.setattr(bfs, "MAX_CELLS", 12)
    with pytest.raises(ResourceLimitError) as caught:
        found(STAR, 12, [1, 2, 3], 1, 1, max_frontier=5)
    assert caught.value.details["actual"] == 6


def test_the_time_is_asked_for_within_a_search():
    with pytest.raises(DeadlineError, match="Expand"):
        found(STAR, 12, [0], 1, 2, deadline=0)
