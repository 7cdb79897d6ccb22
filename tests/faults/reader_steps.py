"""Readers that look for torn states; in a module of its own, where other processes find it by name.

Commit number ``k`` of the writer adds one node of each of two types and the edge between them, and sets a counter to
``k``. So whatever is counted at one commit is the same number, and the commit that a result names tells which.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import omnigraph as og
from omnigraph.testing.graph_contract import GraphPlace

SCHEMA = """
node Left { n: I64 @key  word: String? @index }
node Right { n: I64 @key }
node Counter { name: String @key  value: I64 }
edge Pairs: Left -> Right { n: I64 }
"""

PATIENCE_SECONDS = 120.0

QUERIES = (
    # Along edges, from either side, and edge by edge.
    """query along() {
        match { $c: Counter  $l: Left  $l pairs $r }
        return { $c.value as value, count($l) as lefts, max($l.n) as left, max($r.n) as right }
    }""",
    """query edges() {
        match { $c: Counter  $r: Right  $l $e:pairs $r  $l.n = $e.n }
        return { $c.value as value, count($e.n) as edges, max($e.n) as last }
    }""",
    # A join of what no edge connects, and a search.
    """query joined() {
        match { $c: Counter  $l: Left  $r: Right  $l.n = $r.n  search($l.word, "pair") }
        return { $c.value as value, count($r) as rights }
    }""",
    # The newest nodes, one by one.
    """query newest() {
        match { $c: Counter  $r: Right  $r.n = $c.value  $l pairs $r } return { $c.value as value, $l.n as n }
    }""",
)
LONE = "query lone() { match { $r: Right  not { $l pairs $r } } return { $r } }"

Observation = tuple[str, int]
"""A commit, and the number that everything was at it."""


def step(number: int) -> list[dict[str, Any]]:
    """What commit ``number`` loads, in merge mode."""
    return [
        {"edge": "Pairs", "from": str(number), "to": str(number), "data": {"id": f"e{number}", "n": number}},
        {"type": "Counter", "data": {"name": "c", "value": number}},
        {"type": "Left", "data": {"n": number, "word": "one pair"}},
        {"type": "Right", "data": {"n": number}},
    ]


def write_steps(graph: og.Graph, last: int) -> dict[str, int]:
    """Commit number 2 to ``last``; the number of each commit, including the first one, which is there."""
    numbers = {graph.snapshot().commit.id: 1}
    for number in range(2, last + 1):
        numbers[graph.load(step(number), "merge").commit.id] = number
        if number == last // 2:
            report = graph.maintain.ensure_indices()
            assert report.commit is not None
            numbers[report.commit.id] = number
    return numbers


def read_until(graph: og.Graph, last: int, *, is_ready: Callable[[], None]) -> list[Observation]:
    """Ask all queries in turn until the last commit is seen; what was seen.

    Raises:
        AssertionError: a result does not fit together, or the last commit is never seen.
    """
    observed: list[Observation] = []
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not observed or observed[-1][1] < last:
        assert time.monotonic() < deadline, observed[-5:]
        for query in QUERIES:
            result = graph.query(query)
            (row,) = result.rows()
            assert len(set(row.values())) == 1, (query, row)
            observed.append((result.commit_id, row["value"]))
        assert graph.query(LONE).rows() == []
        is_ready()
        # The writer needs its turns too.
        time.sleep(0.02)
    return observed


def read_in_process(place: GraphPlace, last: int, sign: Path) -> list[Observation]:
    """Runs in another process, and leaves a sign there once it has read."""
    with place.open("r") as graph:
        return read_until(graph, last, is_ready=sign.touch)


def check(observed: list[list[Observation]], numbers: dict[str, int]) -> None:
    """Each result is the state of the commit that it names, and no reader ever went back."""
    for each in observed:
        assert {commit: number for commit, number in each if numbers.get(commit) != number} == {}
        seen = [number for _, number in each]
        assert seen == sorted(seen)
