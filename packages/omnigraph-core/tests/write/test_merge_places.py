"""Where the rows lie that a merge replaces and removes: known from the base, or found by their ids; never guessed."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator

import pytest

import omnigraph as og
from omnigraph.tables.counting import count_table_calls
from omnigraph.write import stage
from omnigraph.write.merge import base_places, spools
from omnigraph.write.tail import fold_type

SCHEMA = "node Person { name: String @key  age: I32? }"
NAMES = [f"p{number:02d}" for number in range(12)]

Do = Callable[[og.Graph], object]


def put(graph: og.Graph, branch: str, **ages: int) -> None:
    rows = [{"type": "Person", "data": {"name": name, "age": age}} for name, age in ages.items()]
    graph.load(rows, "merge", branch=branch)


def drop(graph: og.Graph, branch: str, *names: str) -> None:
    for name in names:
        graph.mutate(f'query q() {{ delete Person where name = "{name}" }}', branch=branch)


def held(graph: og.Graph, branch: str = "main") -> dict[str, int]:
    rows = graph.query("query q() { match { $p: Person } return { $p.name as name, $p.age as age } }", branch=branch)
    found = [(each["name"], each["age"]) for each in rows]
    assert len(dict(found)) == len(found)
    return dict(found)


@pytest.fixture
def graph() -> Iterator[og.Graph]:
    """Three parts of four people each, of age 0; on ``feature`` two of each part change and one is gone."""
    with og.init(f"memory://merge-places-{secrets.token_hex(8)}/g", schema=SCHEMA) as graph:
        for start in (0, 4, 8):
            put(graph, "main", **dict.fromkeys(NAMES[start : start + 4], 0))
        graph.branches.create("feature")
        put(graph, "feature", **dict.fromkeys(NAMES[0::4] + NAMES[1::4], 1), new=1)
        drop(graph, "feature", *NAMES[2::4])
        yield graph


MERGED = {
    **dict.fromkeys(NAMES[3::4], 0),
    **dict.fromkeys(NAMES[0::4] + NAMES[1::4], 1),
    "new": 1,
}

MOVES: dict[str, Do] = {
    "nothing": lambda graph: None,
    "rows of the same parts": lambda graph: put(graph, "main", p03=0, p07=0),
    "rows that change, to what they were": lambda graph: put(graph, "main", p00=0, p05=0),
    "rows that change and change back": lambda graph: [put(graph, "main", p00=n, p09=n) for n in (5, 0)],
    "rows that go, as they were": lambda graph: put(graph, "main", p02=0, p06=0),
    "rows that go and come back": lambda graph: [drop(graph, "main", "p02", "p01"), put(graph, "main", p02=0, p01=0)],
    "a whole part": lambda graph: put(graph, "main", p04=0, p05=0, p06=0, p07=0),
    "everything": lambda graph: graph.load(
        [{"type": "Person", "data": {"name": name, "age": 0}} for name in NAMES], "overwrite"
    ),
}
"""What main does before the merge; its rows are the same afterwards, and lie elsewhere."""


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_wherever_rows_lie_a_merge_takes_their_places(graph, move):
    move(graph)
    graph.branches.merge("feature")
    assert held(graph) == MERGED
    assert graph.diff("main", "feature").to_arrow().num_rows == 0


@pytest.mark.parametrize("limits", [["MAX_LOCATED"], ["MAX_REMOVED"], ["MAX_LOCATED", "MAX_REMOVED"]], ids="+".join)
@pytest.mark.parametrize("move", ["nothing", "rows that go and come back"])
def test_rows_that_are_too_many_to_be_found_are_left_to_lance(graph, move, limits, monkeypatch):
    for limit in limits:
        monkeypatch.setattr(spools, limit, 0)
    if "MAX_LOCATED" in limits:
        monkeypatch.setattr(base_places, "MAX_LOCATED", 0)
        monkeypatch.setattr(stage, "MAX_LOCATED", 0)
    MOVES[move](graph)
    graph.branches.merge("feature")
    assert held(graph) == MERGED


def test_rows_that_were_folded_are_found_by_their_ids(graph, monkeypatch):
    monkeypatch.setattr("omnigraph.write.fold_policy.TAIL_PARTS", 3)
    commit, parts = fold_type(graph._repository, "main", "node:Person")
    assert (commit is not None, parts) == (True, 3)
    graph.branches.merge("feature")
    assert held(graph) == MERGED


def test_a_part_of_another_line_under_the_same_number_is_another_part(graph):
    graph.branches.create("other")
    put(graph, "other", mine=7, yours=7)
    graph.branches.merge("feature", "other")
    # What feature changes now lies in a part that only feature has; other has one of the same number.
    put(graph, "feature", new=2, p00=2)
    drop(graph, "feature", "p01")
    graph.branches.merge("feature", "other")
    wanted = {**MERGED, "new": 2, "p00": 2, "mine": 7, "yours": 7}
    del wanted["p01"]
    assert held(graph, "other") == wanted


@pytest.mark.parametrize("move", ["nothing", "rows of the same parts"])
def test_rows_of_parts_that_main_still_has_are_not_looked_for(graph, move):
    MOVES[move](graph)
    # Small tables are kept in memory, where looking costs nothing.
    graph._repository.warm.max_rows = 0
    with count_table_calls() as counts:
        graph.branches.merge("feature")
    assert held(graph) == MERGED
    assert counts["lookup"] == 0


def test_what_main_did_to_other_rows_is_not_read(graph):
    graph.branches.create("other")
    put(graph, "other", p03=5)
    calls = []
    for ages in ({}, dict.fromkeys(NAMES[4:], 8)):
        graph.branches.create(f"main {len(ages)}")
        if ages:
            put(graph, f"main {len(ages)}", **ages)
        with count_table_calls() as counts:
            result = graph.branches.merge("other", f"main {len(ages)}", dry_run=True)
        assert result.changes["id"].to_pylist() == ["p03"]
        calls.append((counts["read"], counts["take"], counts["lookup"]))
    assert calls[0] == calls[1]
