"""What a small write costs at an S3 server on a handle that is warm (DESIGN 16, 18): few requests, at any length.

Budgets are DESIGN's: 15 requests for a node with a key, 20 for an edge. What is needed today is written beside them:
when that changes, the cost of every small write has changed, so look at it.
"""

from __future__ import annotations

import os
import statistics
from typing import Any

import pytest
from cost_counts import CountedPlace, Spent

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person { since: I32? }
edge Likes: Person -> Person { @unique(src, dst) }
"""
PEOPLE = 12
COMMITS = int(os.environ.get("OMNIGRAPH_COST_COMMITS", "60"))
"""How many commits the flat range has: the ordinary run has few, ``tox run -e scale`` has a thousand."""

NODE_BUDGET = 15
EDGE_BUDGET = 20

SMALL_WRITE = {
    "tables": {"PUT": 2, "LIST": 1, "PUT?": 1},
    "sidecar": {"LIST": 1, "PUT": 1, "DELETE": 1},
    "manifest": {"PUT": 2, "PUT?": 1},
    "branches": {"GET": 1},
}
"""Rows, transaction and version of the table; a look for sidecars and the own one; the same three of the manifest; and
the read of the branch after the swap."""

SMALL_BUDGET = 11


def person(number: int) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": f"p{number}", "age": number}}


def knows(number: int) -> dict[str, Any]:
    return {"edge": "Knows", "from": f"p{number % PEOPLE}", "to": f"p{number * 5 % PEOPLE}", "data": {"since": number}}


def likes(number: int) -> dict[str, Any]:
    """A pair of people that no smaller number has, up to the square of how many there are."""
    return {"edge": "Likes", "from": f"p{number // PEOPLE % PEOPLE}", "to": f"p{number % PEOPLE}"}


RECORDS = {"node with a key": person, "edge": knows, "edge with a unique pair": likes}
BUDGETS = {"node with a key": NODE_BUDGET, "edge": EDGE_BUDGET, "edge with a unique pair": EDGE_BUDGET}


@pytest.fixture
def graph(place: CountedPlace) -> Any:
    """A warm handle on a graph with some people."""
    with place.init(SCHEMA) as made:
        made.load([person(number) for number in range(PEOPLE)], "append")
        yield made


@pytest.mark.parametrize("kind", RECORDS)
def test_a_one_record_append_on_a_warm_handle_is_within_its_budget(place: CountedPlace, graph: Any, kind: str):
    record = RECORDS[kind]
    for number in range(PEOPLE, PEOPLE + 3):
        graph.load([record(number)], "append")
    spent = place.spent(lambda: graph.load([record(PEOPLE + 3)], "append"))
    assert spent.total <= SMALL_BUDGET, str(spent)
    assert spent.by_part == SMALL_WRITE, str(spent)


def test_the_first_write_of_a_handle_that_was_just_opened_is_within_its_budget(place: CountedPlace, graph: Any):
    """It opens what it writes to and what it judges by, once."""
    graph.load([knows(1)], "append")
    with place.open() as fresh:
        spent = place.spent(lambda: fresh.load([knows(2)], "append"))
    assert spent.total <= EDGE_BUDGET, str(spent)


def test_a_node_and_an_edge_in_one_load_cost_one_publish(place: CountedPlace, graph: Any):
    graph.load([person(PEOPLE), knows(1)], "append")
    spent = place.spent(lambda: graph.load([person(PEOPLE + 1), knows(2)], "append"))
    assert spent.by_part["manifest"] == SMALL_WRITE["manifest"], str(spent)
    assert spent.by_part["sidecar"] == SMALL_WRITE["sidecar"], str(spent)
    assert spent.total <= EDGE_BUDGET, str(spent)


@pytest.mark.parametrize("kind", ["node with a key", "edge"])
def test_the_cost_of_a_write_does_not_grow_with_the_number_of_commits(place: CountedPlace, graph: Any, kind: str):
    record = RECORDS[kind]
    seen: list[Spent] = [
        place.spent(lambda number=number: graph.load([record(number)], "append"))
        for number in range(PEOPLE, PEOPLE + COMMITS)
    ]
    early, late = seen[8:28], seen[-20:]
    typical = [statistics.mean(each.total for each in part) for part in (early, late)]
    # Every 32nd commit writes one object more, a history fragment; the mean has room for that.
    assert typical[1] <= typical[0] + 1, [str(each) for each in late]
    merging = [each for each in seen if "GET" in each.by_part["manifest"]]
    # Four history fragments become one: the three that are there are read, sometimes of two sizes at once.
    assert len(merging) <= COMMITS // 100 + 1, [str(each) for each in merging]
    assert all(each.total <= EDGE_BUDGET for each in merging), [str(each) for each in merging]
    usual = [each for each in seen[8:] if each not in merging]
    assert max(each.total for each in usual) <= typical[0] + 1, [str(each) for each in usual]
    assert statistics.mean(each.total for each in seen) <= BUDGETS[kind], typical
    # The description of a table grows with its fragments until its tail is compacted; that of the graph does not.
    sent = [statistics.mean(each.sent["manifest"] for each in part) for part in (early, late)]
    assert sent[1] <= 2 * sent[0], sent
