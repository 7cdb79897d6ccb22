"""Adjacency: what it says of a graph, that an extended one is a fresh one, and what asking for it costs."""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any

import numpy as np
import pytest
from edge_model import EdgeModel
from hypothesis import given, settings
from hypothesis import strategies as st
from stored_world import StoredWorld

from omnigraph.config import Settings
from omnigraph.engine.adjacency import FAMILY, Adjacency, adjacency_of, edge_pins, is_adjacency_held, remember_version
from omnigraph.engine.adjacency_keys import pair_keys
from omnigraph.engine.adjacency_pairs import Pairs
from omnigraph.engine.images import Image
from omnigraph.engine.memory import Memory
from omnigraph.engine.source import Source
from omnigraph.engine.stored_rows import StoredRows
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

# ann and bo know each other, ann twice; cy knows himself; dot knows nobody; and somebody who does not exist is known.
KNOWS = [("ann", "bo"), ("ann", "bo"), ("bo", "ann"), ("cy", "cy"), ("bo", "nobody"), ("nobody", "bo"), ("bo", "cy")]


def people(*names: str) -> list[dict[str, Any]]:
    return [{"id": each, "name": each} for each in names]


def edges(pairs: list[tuple[str, str]], first: int = 0) -> list[dict[str, Any]]:
    return [{"id": f"e{first + i}", "src": start, "dst": end} for i, (start, end) in enumerate(pairs)]


@pytest.fixture
def world() -> StoredWorld:
    return StoredWorld(
        SCHEMA,
        {
            "node:Person": people("dot", "bo", "cy", "ann"),
            "node:Film": [{"id": "Orbit", "title": "Orbit"}],
            "edge:Knows": edges(KNOWS),
            "edge:Saw": edges([("dot", "Orbit")]),
        },
    )


def asked(source: Source, edge: str = "Knows", direction: Direction = FORWARD) -> Adjacency:
    found = adjacency_of(source, edge, direction)
    assert found is not None
    return found


def by_name(adjacency: Adjacency) -> dict[str, list[str]]:
    """The neighbours of those that have any, as the arrays say."""
    sources, targets = adjacency.sources.ids.to_pylist(), adjacency.targets.ids.to_pylist()
    lists = zip(adjacency.indptr[:-1].tolist(), adjacency.indptr[1:].tolist(), strict=True)
    found = {
        sources[number]: [targets[each] for each in adjacency.neighbours[start:end].tolist()]
        for number, (start, end) in enumerate(lists)
    }
    return {name: each for name, each in found.items() if each}


# ── what it says ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("direction", "expected", "edge_count"),
    [
        (FORWARD, {"ann": ["bo"], "bo": ["ann", "cy"], "cy": ["cy"]}, 5),
        (BACKWARD, {"ann": ["bo"], "bo": ["ann"], "cy": ["bo", "cy"]}, 5),
        (UNDIRECTED, {"ann": ["bo"], "bo": ["ann", "cy"], "cy": ["bo", "cy"]}, 5),
    ],
)
def test_neighbours_are_distinct_existing_and_ascending(
    world: StoredWorld, direction: Direction, expected: dict[str, list[str]], edge_count: int
):
    found = asked(world.source(), direction=direction)
    assert by_name(found) == expected
    assert found.edge_count == edge_count
    assert (found.indptr.dtype, found.neighbours.dtype) == (np.int64, np.int32)


def test_an_edge_between_two_types_leads_from_one_to_the_other(world: StoredWorld):
    source = world.source()
    forward, backward = asked(source, "Saw"), asked(source, "Saw", BACKWARD)
    assert (forward.sources.key, forward.targets.key) == ("node:Person", "node:Film")
    assert (backward.sources.key, backward.targets.key) == ("node:Film", "node:Person")
    assert by_name(forward) == {"dot": ["Orbit"]}
    assert by_name(backward) == {"Orbit": ["dot"]}


def test_neighbours_come_per_asked_node_in_the_order_asked(world: StoredWorld):
    ann, bo, cy, dot = range(4)
    found = asked(world.source())
    owners, targets = found.neighbours_of(np.array([bo, dot, ann, bo]))
    assert list(zip(owners.tolist(), targets.tolist(), strict=True)) == [(0, ann), (0, cy), (2, bo), (3, ann), (3, cy)]
    assert found.degrees(np.array([bo, dot, ann, bo])).tolist() == [2, 0, 1, 2]
    assert [each.tolist() for each in found.neighbours_of(np.array([], dtype=np.int64))] == [[], []]
    assert [each.tolist() for each in found.neighbours_of(np.array([dot]))] == [[], []]


def test_a_pair_is_connected_in_the_direction_asked_for(world: StoredWorld):
    sources, targets = (np.repeat(np.arange(4), 4), np.tile(np.arange(4), 4))
    names = ["ann", "bo", "cy", "dot"]
    for direction in Direction:
        found = asked(world.source(), direction=direction)
        linked = {(start, end) for start, ends in by_name(found).items() for end in ends}
        expected = [(names[one], names[other]) in linked for one, other in zip(sources, targets, strict=True)]
        assert found.connects(sources, targets).tolist() == expected


def test_types_without_rows_have_an_adjacency_too():
    source = StoredWorld(SCHEMA).source()
    for edge, direction in ASKED:
        found = asked(source, edge, direction)
        assert (by_name(found), found.edge_count, found.indptr.tolist()) == ({}, 0, [0])


def test_types_that_are_too_large_have_none(world: StoredWorld):
    assert adjacency_of(world.source(settings=Settings(cache_bytes=64)), "Knows", FORWARD) is None
    assert adjacency_of(world.source(settings=Settings(scan_mode="stored")), "Knows", FORWARD) is None


# ── pairs ────────────────────────────────────────────────────────────────────────────────────────────────────────────

COUNT = 6
pairs_of_numbers = st.lists(st.tuples(st.integers(0, COUNT - 1), st.integers(0, COUNT - 1)), max_size=40)


def as_keys(pairs: list[tuple[int, int]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    array = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return pair_keys(array[:, 0], array[:, 1])


def assert_equal(found: Pairs, expected: Pairs) -> None:
    assert found.pointers.tolist() == expected.pointers.tolist()
    assert found.rights.tolist() == expected.rights.tolist()
    assert found.repeats.tolist() == expected.repeats.tolist()


@given(pairs_of_numbers, pairs_of_numbers, st.randoms(use_true_random=False))
def test_pairs_that_come_and_go_leave_what_sorting_the_rest_would(before: Any, added: Any, chance: Any):
    removed = chance.sample(before, chance.randint(0, len(before)))
    after = list((Counter(before) - Counter(removed) + Counter(added)).elements())
    changed = Pairs.of(as_keys(before), COUNT).removing(as_keys(removed)).inserting(as_keys(added))
    assert_equal(changed, Pairs.of(as_keys(after), COUNT))
    assert sorted(changed.keys().tolist()) == sorted(as_keys(after).tolist())
    assert len(changed) == len(after)


@given(
    pairs_of_numbers,
    st.sets(st.integers(0, COUNT - 1)),
    st.sets(st.integers(0, COUNT - 1)),
    st.integers(0, 3),
    st.sampled_from([3, COUNT]),
)
def test_pairs_move_with_their_positions_or_say_that_one_is_gone(
    before: Any, left: Any, right: Any, more: int, spacing: int
):
    # Those named are gone; some of the others have newcomers before them, and more of these come last.
    def places(gone: set[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
        kept = [each for each in range(COUNT) if each not in gone]
        return np.array([kept.index(each) + each // spacing if each in kept else -1 for each in range(COUNT)])

    left_places, right_places = places(left), places(right)
    count = int(left_places.max()) + 1 + more
    moved = Pairs.of(as_keys(before), COUNT).moving(left_places, right_places, left_count=count)
    if any(one in left or other in right for one, other in before):
        assert moved is None
    else:
        after = [(int(left_places[one]), int(right_places[other])) for one, other in before]
        assert moved is not None
        assert_equal(moved, Pairs.of(as_keys(after), count))


@given(pairs_of_numbers, st.lists(st.tuples(st.integers(0, COUNT - 1), st.integers(0, COUNT - 1)), max_size=3))
def test_pairs_are_found_whether_few_or_many_are_asked_for(before: Any, wanted: Any):
    pairs = Pairs.of(as_keys(before), COUNT)
    expected = [each in before for each in wanted]
    assert pairs.contains(as_keys(wanted)).tolist() == expected
    assert pairs.contains(as_keys(wanted * 40)).tolist() == expected * 40


def test_few_pairs_among_many_are_found_by_halving_lists():
    chance = np.random.default_rng(7)
    keys = pair_keys(chance.integers(0, 50, 4_000) ** 2 // 50, chance.integers(0, 300, 4_000))
    present = set(keys.tolist())
    pairs = Pairs.of(keys, 50)
    wanted = pair_keys(chance.integers(0, 50, 100), chance.integers(0, 301, 100))
    assert len(wanted) * 16 < len(pairs.rights)
    assert pairs.contains(wanted).tolist() == [each in present for each in wanted.tolist()]


# ── after changes ────────────────────────────────────────────────────────────────────────────────────────────────────


def assert_right(model: EdgeModel, edge: str, direction: Direction) -> None:
    """The adjacency in the world's memory is that of a fresh reader, and both are what the model says."""
    found = asked(model.world.source(), edge, direction)
    fresh = asked(model.world.fresh(), edge, direction)
    assert_equal(found.pairs, fresh.pairs)
    expected: dict[str, set[str]] = {}
    whole = model.edges_between(edge)
    for _, start, end in whole:
        if direction is not BACKWARD:
            expected.setdefault(start, set()).add(end)
        if direction is not FORWARD:
            expected.setdefault(end, set()).add(start)
    assert by_name(found) == {name: sorted(each, key=str.encode) for name, each in expected.items()}
    assert found.edge_count == len(whole)


@given(st.integers(0, 2**32), st.lists(st.sets(st.sampled_from(ASKED), max_size=5), min_size=1, max_size=8))
@settings(max_examples=12)
def test_after_any_history_an_extended_adjacency_is_a_fresh_one(seed: int, questions: Any):
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
    [
        "add_nodes",
        "add_edges",
        "remove_edges",
        "remove_nodes_and_edges",
        "write_nodes_again",
        "lead_edges_elsewhere",
        "bring_back_nodes",
    ],
)
def test_a_small_change_extends_and_builds_nothing_anew(change: str):
    model = EdgeModel(11, people=60, edges=300)
    for edge, direction in ASKED:
        assert_right(model, edge, direction)
    for _ in range(3):
        getattr(model, change)()
        before = model.world.memory.stats()[FAMILY]
        for edge, direction in ASKED:
            assert_right(model, edge, direction)
        after = model.world.memory.stats()[FAMILY]
        assert after.builds - before.builds == after.extensions - before.extensions


def test_an_edge_that_outlives_its_node_is_there_again_when_the_node_is(world: StoredWorld):
    before = by_name(asked(world.source()))
    world.delete("node:Person", ["cy"])
    assert by_name(asked(world.source())) == {"ann": ["bo"], "bo": ["ann"]}
    world.append("node:Person", people("cy", "nobody"))
    assert by_name(asked(world.source())) == {**before, "bo": ["ann", "cy", "nobody"], "nobody": ["bo"]}


# ── what it costs ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch, world: StoredWorld) -> list[tuple[str, Any, Any]]:
    """What is read of the world's tables: the place, the columns and the parts; None for all of them."""
    seen: list[tuple[str, Any, Any]] = []
    read = world.tables.read

    def spy(handle: Any, **options: Any) -> Any:
        seen.append((handle.pin.location, options.get("columns"), options.get("parts")))
        return read(handle, **options)

    monkeypatch.setattr(world.tables, "read", spy)
    return seen


def test_asking_again_reads_nothing_and_makes_nothing(world: StoredWorld):
    first = asked(world.source())
    with count_table_calls() as counts:
        again = asked(world.source())
    assert not counts
    assert again.pairs is first.pairs
    assert world.memory.stats()[FAMILY].builds == 1


def test_one_edge_type_is_read_when_one_is_asked_for(world: StoredWorld, reads: list[tuple[str, Any, Any]]):
    asked(world.source(), "Knows")
    tables = world.schema.tables
    assert Counter(place for place, _, _ in reads) == {
        tables["edge:Knows"].location: 1,
        tables["node:Person"].location: 1,
    }
    assert not is_adjacency_held(world.source(), "Saw", FORWARD)
    assert not is_adjacency_held(world.source(), "Knows", BACKWARD)


def test_the_other_directions_of_held_edges_read_nothing_and_look_nothing_up(
    world: StoredWorld, monkeypatch: pytest.MonkeyPatch
):
    expected = [by_name(asked(world.fresh(), direction=each)) for each in Direction]
    asked(world.source())
    monkeypatch.setattr(Image, "find", None)
    with count_table_calls() as counts:
        assert [by_name(asked(world.source(), direction=each)) for each in Direction] == expected
    assert not counts


def test_after_a_commit_of_one_edge_only_that_edge_is_read(world: StoredWorld, reads: list[tuple[str, Any, Any]]):
    asked(world.source())
    known = {each.number for each in world.tables.parts(world.handles["edge:Knows"])}
    reads.clear()
    world.append("edge:Knows", edges([("dot", "ann")], first=50))
    (new,) = (each for each in world.tables.parts(world.handles["edge:Knows"]) if each.number not in known)
    assert new.row_count == 1
    source = world.source()
    assert is_adjacency_held(source, "Knows", FORWARD)
    with count_table_calls() as counts:
        assert by_name(asked(source))["dot"] == ["ann"]
    assert [(place, list(parts)) for place, _, parts in reads] == [
        (world.schema.tables["edge:Knows"].location, [new.number])
    ]
    assert counts["read"] == 1


def test_after_a_commit_to_other_types_nothing_is_read(world: StoredWorld):
    first = asked(world.source())
    world.append("edge:Saw", edges([("ann", "Orbit")], first=50))
    world.append("node:Film", [{"id": "Salt", "title": "Salt"}])
    with count_table_calls() as counts:
        assert asked(world.source()).pairs is first.pairs
    assert not counts


def test_a_deleted_edge_costs_no_read_of_ends(world: StoredWorld, reads: list[tuple[str, Any, Any]]):
    asked(world.source())
    reads.clear()
    world.delete("edge:Knows", ["e2"])
    assert by_name(asked(world.source())) == {"ann": ["bo"], "bo": ["cy"], "cy": ["cy"]}
    assert all(not columns and parts for _, columns, parts in reads)


def test_branches_share_what_they_pin_alike_and_extend_what_they_do_not(world: StoredWorld):
    main = asked(world.source())
    at_main = dict(world.handles)
    world.handles["edge:Knows"] = world.tables.fork(at_main["edge:Knows"], "b1")
    world.append("edge:Knows", edges([("dot", "ann")], first=50))
    before = world.memory.stats()[FAMILY].extensions
    assert by_name(asked(world.source()))["dot"] == ["ann"]
    assert world.memory.stats()[FAMILY].extensions == before + 1
    world.handles = at_main
    assert asked(world.source()).pairs is main.pairs
    world.append("edge:Knows", edges([("dot", "cy")], first=60))
    assert by_name(asked(world.source()))["dot"] == ["cy"]
    assert world.memory.stats()[FAMILY].extensions == before + 2


def test_a_read_of_an_old_commit_takes_no_part_in_the_next_extension(
    world: StoredWorld, monkeypatch: pytest.MonkeyPatch
):
    world.append("node:Person", people("nobody"))
    old = world.source()
    asked(old)
    world.append("edge:Knows", edges([("dot", "ann")], first=50))
    asked(world.source())
    asked(old)
    world.append("edge:Knows", edges([("dot", "bo")], first=60))
    # Edges of versions further apart are compared one by one; those of the last two are not.
    monkeypatch.setattr(StoredRows, "positions_from", None)
    assert by_name(asked(world.source()))["dot"] == ["ann", "bo"]


# ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_kept_keeps_no_types_alive(world: StoredWorld):
    source = world.source()
    asked(source)
    kept = world.memory.get(FAMILY, (edge_pins(source, "Knows"), FORWARD))
    assert kept.made_of.alive() is not None
    del source
    world.memory.clear()
    gc.collect()
    assert (kept.made_of.rows(), kept.made_of.starts(), kept.made_of.ends()) == (None, None, None)


def test_without_the_types_that_it_was_made_of_an_older_one_is_not_extended(world: StoredWorld):
    source = world.source()
    asked(source)
    pins = edge_pins(source, "Knows")
    kept = world.memory.get(FAMILY, (pins, FORWARD))
    del source
    world.memory.clear()
    gc.collect()
    world.memory.get_or_build(FAMILY, (pins, FORWARD), lambda: kept, lambda each: each.nbytes)
    remember_version(world.memory, FORWARD, pins, (pins, FORWARD))
    world.append("edge:Knows", edges([("dot", "ann")], first=50))
    assert not is_adjacency_held(world.source(), "Knows", FORWARD)
    assert by_name(asked(world.source()))["dot"] == ["ann"]
    assert world.memory.stats()[FAMILY].extensions == 0


def test_without_memory_every_ask_builds_and_is_right(world: StoredWorld):
    source = world.source(Memory(0))
    assert by_name(asked(source)) == by_name(asked(source)) == by_name(asked(world.source()))
    assert not is_adjacency_held(source, "Knows", FORWARD)
