"""Edge lists: each edge of each node once, in the order of ids; after any history those of a fresh reader; no reads."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from edge_model import EdgeModel
from hypothesis import given, settings
from hypothesis import strategies as st
from stored_world import StoredWorld

from omnigraph.config import Settings
from omnigraph.engine.adjacency import FAMILY
from omnigraph.engine.edge_lists import EdgeLists, edge_lists_of
from omnigraph.engine.images import Image
from omnigraph.engine.source import Source
from omnigraph.query.checked import Direction
from omnigraph.tables.counting import count_table_calls

FORWARD, BACKWARD, UNDIRECTED = Direction
ASKED = [("Knows", FORWARD), ("Knows", BACKWARD), ("Knows", UNDIRECTED), ("Saw", FORWARD), ("Saw", BACKWARD)]

SCHEMA = """
node Person { name: String @key }
node Film { title: String @key }
edge Knows: Person -> Person
edge Saw: Person -> Film
"""

# In the order of storage, which is not the order of ids.
KNOWS = {
    "e9": ("ann", "bo"),
    "e1": ("bo", "ann"),
    "e5": ("ann", "bo"),
    "e3": ("cy", "cy"),
    "e4": ("bo", "nobody"),
    "e6": ("nobody", "ann"),
}

Lists = dict[str, list[tuple[str, str]]]


def edges(pairs: dict[str, tuple[str, str]]) -> list[dict[str, Any]]:
    return [{"id": each, "src": start, "dst": end} for each, (start, end) in pairs.items()]


@pytest.fixture
def world() -> StoredWorld:
    return StoredWorld(
        SCHEMA,
        {
            "node:Person": [{"id": each, "name": each} for each in ("dot", "bo", "cy", "ann")],
            "node:Film": [{"id": "Orbit", "title": "Orbit"}],
            "edge:Knows": edges(KNOWS),
            "edge:Saw": edges({"s": ("dot", "Orbit")}),
        },
    )


def asked(source: Source, edge: str = "Knows", direction: Direction = FORWARD) -> EdgeLists:
    found = edge_lists_of(source, edge, direction)
    assert found is not None
    return found


def by_name(lists: EdgeLists) -> Lists:
    """For each node with edges the ids of these and of their other ends, as the arrays say."""
    nodes, ids, others = (each.ids.to_pylist() for each in (lists.source_nodes, lists.edges, lists.target_nodes))
    found: Lists = {}
    for number, node in enumerate(nodes):
        places = range(int(lists.indptr[number]), int(lists.indptr[number + 1]))
        if places:
            found[node] = [(ids[lists.edge_positions[each]], others[lists.targets[each]]) for each in places]
    return found


@pytest.mark.parametrize(
    ("direction", "expected"),
    [
        (FORWARD, {"ann": [("e5", "bo"), ("e9", "bo")], "bo": [("e1", "ann")], "cy": [("e3", "cy")]}),
        (BACKWARD, {"ann": [("e1", "bo")], "bo": [("e5", "ann"), ("e9", "ann")], "cy": [("e3", "cy")]}),
        (
            UNDIRECTED,
            {
                "ann": [("e1", "bo"), ("e5", "bo"), ("e9", "bo")],
                "bo": [("e1", "ann"), ("e5", "ann"), ("e9", "ann")],
                "cy": [("e3", "cy")],
            },
        ),
    ],
)
def test_each_edge_with_both_ends_is_listed_once_per_end_by_id(
    world: StoredWorld, direction: Direction, expected: Lists
):
    found = asked(world.source(), direction=direction)
    assert by_name(found) == expected
    assert (found.indptr.dtype, found.targets.dtype, found.edge_positions.dtype) == (np.int64, np.int32, np.int32)


def test_an_edge_between_two_types_leads_from_one_to_the_other(world: StoredWorld):
    source = world.source()
    assert by_name(asked(source, "Saw")) == {"dot": [("s", "Orbit")]}
    assert by_name(asked(source, "Saw", BACKWARD)) == {"Orbit": [("s", "dot")]}


def test_edges_come_per_asked_node_in_the_order_asked(world: StoredWorld):
    ann, bo, cy, dot = range(4)
    e3, e5, e9 = 1, 3, 5
    found = asked(world.source())
    owners, edge_positions, targets = found.edges_of(np.array([cy, dot, ann, cy]))
    assert owners.tolist() == [0, 2, 2, 3]
    assert edge_positions.tolist() == [e3, e5, e9, e3]
    assert targets.tolist() == [cy, bo, bo, cy]
    assert found.degrees(np.array([cy, dot, ann, cy])).tolist() == [1, 0, 2, 1]
    assert [each.tolist() for each in found.edges_of(np.array([dot]))] == [[], [], []]


def test_types_without_rows_have_lists_too():
    source = StoredWorld(SCHEMA).source()
    for edge, direction in ASKED:
        found = asked(source, edge, direction)
        assert (by_name(found), found.indptr.tolist()) == ({}, [0])


def test_types_that_are_too_large_have_none(world: StoredWorld):
    assert edge_lists_of(world.source(settings=Settings(cache_bytes=64)), "Knows", FORWARD) is None
    assert edge_lists_of(world.source(settings=Settings(scan_mode="stored")), "Knows", FORWARD) is None


def assert_right(model: EdgeModel, edge: str, direction: Direction) -> None:
    """The lists in the world's memory are those of a fresh reader, and both are what the model says."""
    found, fresh = (asked(each, edge, direction) for each in (model.world.source(), model.world.fresh()))
    assert found.indptr.tolist() == fresh.indptr.tolist()
    assert found.targets.tolist() == fresh.targets.tolist()
    assert found.edge_positions.tolist() == fresh.edge_positions.tolist()
    expected: Lists = {}
    for each, start, end in model.edges_between(edge):
        if direction is not BACKWARD:
            expected.setdefault(start, []).append((each, end))
        if direction is not FORWARD and not (direction is UNDIRECTED and start == end):
            expected.setdefault(end, []).append((each, start))
    assert by_name(found) == expected


@given(st.integers(0, 2**32), st.lists(st.sets(st.sampled_from(ASKED), max_size=5), min_size=1, max_size=8))
@settings(max_examples=12)
def test_after_any_history_extended_lists_are_fresh_ones(seed: int, questions: Any):
    model = EdgeModel(seed)
    for edge, direction in ASKED:
        assert_right(model, edge, direction)
    for question in questions:
        model.happen()
        for edge, direction in sorted(question):
            assert_right(model, edge, direction)
    for edge, direction in ASKED:
        assert_right(model, edge, direction)


@pytest.mark.parametrize(
    "change",
    ["add_nodes", "add_edges", "remove_edges", "remove_nodes_and_edges", "write_nodes_again", "lead_edges_elsewhere"],
)
def test_after_a_small_change_ends_that_are_known_are_not_looked_up(change: str, monkeypatch: pytest.MonkeyPatch):
    model = EdgeModel(11, people=60, edges=300)
    for edge, direction in ASKED:
        assert_right(model, edge, direction)
    looked_up: list[int] = []
    find = Image.find

    def spy(self: Image, ids: Any) -> Any:
        looked_up.append(len(ids))
        return find(self, ids)

    monkeypatch.setattr(Image, "find", spy)
    for _ in range(3):
        getattr(model, change)()
        looked_up.clear()
        found = asked(model.world.source())
        # Edges that came or changed, four at most, and those that miss an end.
        missing = len(model.edges["Knows"]) - len(model.edges_between("Knows"))
        assert max(looked_up, default=0) <= 4 + missing
        assert by_name(found) == by_name(asked(model.world.fresh()))


def test_ends_are_right_after_versions_that_nobody_asked_for_lists_of(world: StoredWorld):
    asked(world.source())
    world.merge("edge:Knows", edges({"e5": ("dot", "cy")}))
    # Held here, and extended once more below: two steps from the lists that are known.
    held = world.source().image("edge:Knows")
    world.append("edge:Knows", edges({"e2": ("dot", "ann")}))
    assert by_name(asked(world.source())) == by_name(asked(world.fresh()))
    assert by_name(asked(world.source()))["dot"] == [("e2", "ann"), ("e5", "cy")]
    assert held is not None


def test_lists_of_an_older_commit_do_not_see_a_node_that_came_later(world: StoredWorld):
    # It sorts last, so no other node moves.
    world.append("edge:Knows", edges({"f": ("ann", "zed")}))
    old = world.source()
    asked(old)
    world.append("node:Person", [{"id": "zed", "name": "zed"}])
    assert ("f", "zed") in by_name(asked(world.source()))["ann"]
    assert by_name(asked(old, direction=UNDIRECTED)) == {
        "ann": [("e1", "bo"), ("e5", "bo"), ("e9", "bo")],
        "bo": [("e1", "ann"), ("e5", "ann"), ("e9", "ann")],
        "cy": [("e3", "cy")],
    }


# ── what it costs ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_asking_again_and_in_other_directions_reads_nothing(world: StoredWorld):
    first = asked(world.source())
    with count_table_calls() as counts:
        again = asked(world.source())
        asked(world.source(), direction=BACKWARD)
        asked(world.source(), direction=UNDIRECTED)
    assert not counts
    assert again.edge_positions is first.edge_positions


def test_one_edge_type_is_read_when_one_is_asked_for(world: StoredWorld, monkeypatch: pytest.MonkeyPatch):
    places: Counter[str] = Counter()
    read = world.tables.read

    def spy(handle: Any, **options: Any) -> Any:
        places[handle.pin.location] += 1
        return read(handle, **options)

    monkeypatch.setattr(world.tables, "read", spy)
    asked(world.source())
    tables = world.schema.tables
    assert places == {tables["edge:Knows"].location: 1, tables["node:Person"].location: 1}


def test_after_a_commit_of_one_edge_one_part_is_read(world: StoredWorld):
    asked(world.source())
    world.append("edge:Knows", edges({"e2": ("dot", "ann")}))
    source = world.source()
    with count_table_calls() as counts:
        assert by_name(asked(source))["dot"] == [("e2", "ann")]
    assert counts["read"] == 1
    assert world.memory.stats()[FAMILY].extensions == 1
