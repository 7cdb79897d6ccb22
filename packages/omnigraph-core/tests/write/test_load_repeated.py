"""A load that has a name happens once, whoever repeats it and when."""

from __future__ import annotations

import uuid

import pytest

import omnigraph as og
from omnigraph import failpoints
from omnigraph.testing.faults import Call, armed

SCHEMA = "node Note { text: String }  node Keyed { key: I64 @key }"
ROWS = [{"type": "Note", "data": {"text": "a"}}, {"type": "Keyed", "data": {"key": 1}}]


@pytest.fixture
def graph() -> og.Graph:
    return og.init(f"memory://repeated-{uuid.uuid4().hex}", schema=SCHEMA)


def test_a_second_load_of_the_same_name_does_nothing_and_gives_the_first_ones_commit(graph: og.Graph):
    first = graph.load(ROWS, mode="append", load_id="night")
    assert graph.load(ROWS, mode="append", load_id="night").commit == first.commit
    assert og.open(graph.uri).load(ROWS, mode="append", load_id="night").commit == first.commit
    assert len(graph.table("Note")) == 1
    assert len(graph.commits.list()) == 2


@pytest.mark.parametrize("point", [failpoints.LOAD_STAGED, failpoints.PUBLISH_BEFORE_COMMIT])
@pytest.mark.parametrize("rows", [ROWS, ROWS[:1]], ids=["keyed", "keyless"])
def test_a_load_that_another_of_its_name_overtakes_adds_nothing(graph: og.Graph, point: str, rows):
    rival, winners = og.open(graph.uri), []

    def overtake(_: str) -> None:
        if not winners:
            winners.append(None)
            winners[0] = rival.load(rows, mode="append", load_id="night").commit

    with armed({point: Call(overtake)}):
        beaten = graph.load(rows, mode="append", load_id="night")
    assert beaten.commit == winners[0]
    assert len(graph.table("Note")) == 1
    assert len(graph.commits.list()) == 2


def test_loads_of_other_names_are_others(graph: og.Graph):
    for name in ("one", "two"):
        graph.load(ROWS[:1], mode="append", load_id=name)
    graph.load(ROWS[:1], mode="append")
    assert len(graph.table("Note")) == 3
