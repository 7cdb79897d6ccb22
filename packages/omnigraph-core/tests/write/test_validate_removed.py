"""Validation of rows that go beside others that come, as in a merge: what they held is free, what they bore is lost."""

from __future__ import annotations

from typing import Any

import pytest
import validation_oracle as oracle
from hypothesis import event, given, settings
from hypothesis import strategies as st
from test_validate_model import MIXED, cases, verdict
from validation_world import LARGE, LIBRARY, SMALL, STORED, World, messages

BOTH = pytest.mark.parametrize("limits", [SMALL, LARGE, MIXED], ids=["small", "large", "mixed"])
GRAPH = "node A { mail: String? @unique } node B { } edge E: A -> B { n: I32?  @unique(dst, src) }"
CARDS = "node A {{ }} node B {{ }} edge E: A -> B @card({}) {{ n: I32? }}"


def edge(name: str, src: str, dst: str = "b") -> dict[str, object]:
    return {"id": name, "src": src, "dst": dst}


def nodes(*names: str, **values: Any) -> list[dict[str, object]]:
    return [{"id": name, **values} for name in names]


def told(problems: Any) -> list[tuple[str, str | None]]:
    return [(each.reason, each.id) for each in problems.kept]


# ── values that are freed ────────────────────────────────────────────────────────────────────────────────────────────


@BOTH
def test_a_unique_value_of_a_row_that_goes_is_free(limits):
    world = World(GRAPH, {"A": nodes("x", mail="m@x") + nodes("y", mail="n@x")})
    taking = world.change("A", "upsert", nodes("z", mail="m@x"), ["x"])
    assert not world.judge(taking, limits=limits)
    other = world.change("A", "upsert", nodes("z", mail="n@x"), ["x"])
    assert told(world.judge(other, limits=limits)) == [("unique", "z")]


@BOTH
def test_a_unique_pair_of_an_edge_that_goes_is_free(limits):
    world = World(GRAPH, {"A": nodes("x", "y"), "B": nodes("b"), "E": [edge("1", "x"), edge("2", "y")]})
    assert not world.judge(world.change("E", "upsert", [edge("3", "x")], ["1"]), limits=limits)
    assert told(world.judge(world.change("E", "upsert", [edge("3", "y")], ["1"]), limits=limits)) == [("unique", "3")]


@BOTH
def test_two_new_rows_do_not_share_what_one_that_goes_had(limits):
    world = World(GRAPH, {"A": nodes("x", mail="m@x")})
    problems = world.judge(world.change("A", "upsert", nodes("y", "z", mail="m@x"), ["x"]), limits=limits)
    assert told(problems) == [("unique", "z")]


# ── ends that are lost ───────────────────────────────────────────────────────────────────────────────────────────────


@BOTH
def test_a_new_edge_to_a_node_that_goes_has_no_end(limits):
    world = World(GRAPH, {"A": nodes("x", "y"), "B": nodes("b", "c")})
    problems = world.judge(
        world.change("A", "upsert", [], ["x"]),
        world.change("B", "upsert", nodes("d"), ["c"]),
        world.change("E", "upsert", [edge("1", "x"), edge("2", "y", "c"), edge("3", "y", "d")]),
        limits=limits,
    )
    assert messages(problems) == ["src 'x' not found in A", "dst 'c' not found in B"]


@BOTH
def test_edges_that_stay_at_a_node_that_goes_are_told(limits):
    world = World(LIBRARY, STORED)
    problems = world.judge(world.change("Person", "upsert", [], ["bo"]), limits=limits)
    assert [(each.type_key, each.property, each.id) for each in problems.kept] == [
        ("edge:Follows", "src", "f2"),
        ("edge:Follows", "src", "f4"),
        ("edge:Follows", "dst", "f1"),
        ("edge:Follows", "dst", "f4"),
        ("edge:Rented", "src", "r3"),
    ]
    assert problems.counts == {"orphan_edge": 5}


@BOTH
def test_edges_that_go_with_their_node_or_move_away_are_no_orphans(limits):
    world = World(LIBRARY, STORED)
    moved = [{"id": "f2", "src": "ann", "dst": "cy"}]
    assert not world.judge(
        world.change("Person", "upsert", [], ["bo"]),
        world.change("Follows", "upsert", moved, ["f1", "f4"]),
        world.change("Rented", "upsert", [], ["r3"]),
        limits=limits,
    )


@BOTH
def test_an_edge_that_is_written_again_at_a_node_that_goes_is_told_once(limits):
    world = World(LIBRARY, STORED)
    problems = world.judge(
        world.change("Person", "upsert", [], ["bo"]),
        world.change("Follows", "upsert", [{"id": "f2", "src": "bo", "dst": "cy"}], ["f1", "f4"]),
        world.change("Rented", "upsert", [], ["r3"]),
        limits=limits,
    )
    assert told(problems) == [("endpoint", "f2")]


@BOTH
def test_nodes_that_nothing_points_to_may_go(limits):
    world = World(LIBRARY, STORED)
    assert not world.judge(world.change("Film", "upsert", [], ["DO-3"]), limits=limits)


@BOTH
def test_all_nodes_may_go_with_all_edges(limits):
    world = World(LIBRARY, STORED)
    everything = {name: [record["id"] for record in records] for name, records in STORED.items()}
    changes = [world.change(name, "upsert", [], removed) for name, removed in everything.items()]
    assert not world.judge(*changes, limits=limits)
    assert world.judge(*changes[:3], limits=limits).counts == {"orphan_edge": 3 + 3 + 8}


# ── how many edges ───────────────────────────────────────────────────────────────────────────────────────────────────


def cards(bounds: str, *edges: dict[str, object]) -> World:
    return World(CARDS.format(bounds), {"A": nodes("x", "y"), "B": nodes("b"), "E": list(edges)})


@BOTH
def test_an_edge_that_goes_makes_room_for_another(limits):
    world = cards("0..1", edge("1", "x"))
    assert not world.judge(world.change("E", "upsert", [edge("2", "x")], ["1"]), limits=limits)
    problems = world.judge(world.change("E", "upsert", [edge("2", "x"), edge("3", "x")], ["1"]), limits=limits)
    assert messages(problems) == ["@card violation on edge E: source 'x' has 2 edges (max 1)"]


@BOTH
def test_a_source_that_loses_an_edge_may_have_too_few(limits):
    world = cards("1..", edge("1", "x"), edge("2", "y"))
    problems = world.judge(world.change("E", "upsert", [], ["1"]), limits=limits)
    assert messages(problems) == ["@card violation on edge E: source 'x' has 0 edges (min 1)"]
    assert not world.judge(world.change("E", "upsert", [edge("3", "x")], ["1"]), limits=limits)
    moved = world.judge(world.change("E", "upsert", [edge("2", "x")], ["1"]), limits=limits)
    assert messages(moved) == ["@card violation on edge E: source 'y' has 0 edges (min 1)"]


@BOTH
def test_a_source_that_goes_with_its_edges_is_not_judged(limits):
    world = cards("1..", edge("1", "x"), edge("2", "y"))
    assert not world.judge(
        world.change("A", "upsert", [], ["x"]), world.change("E", "upsert", [], ["1"]), limits=limits
    )


@BOTH
def test_edges_that_go_are_counted_once_however_many_go(limits):
    world = cards("2..3", *(edge(str(number), "x") for number in range(5)), edge("y1", "y"), edge("y2", "y"))
    assert not world.judge(world.change("E", "upsert", [], ["0", "1"]), limits=limits)
    problems = world.judge(world.change("E", "upsert", [edge("4", "y")], ["0", "1", "2"]), limits=limits)
    assert messages(problems) == ["@card violation on edge E: source 'x' has 1 edges (min 2)"]


# ── anything ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@st.composite
def removing_cases(draw: st.DrawFn) -> Any:
    """Changes as a merge makes them: rows replace or are new, each once, and others of the type go."""
    text, types, changes, stored = draw(cases())
    made = {}
    for kind in types:
        change = changes.get(kind.name)
        if change is None:
            continue
        records = [*{record["id"]: record for record in change.records}.values()]
        left = [record["id"] for record in stored[kind.name] if record["id"] not in {each["id"] for each in records}]
        removed = draw(st.lists(st.sampled_from(left), unique=True)) if left else []
        made[kind.name] = oracle.Change("upsert", records, removed)
    return text, types, made, stored


@settings(max_examples=30)
@given(removing_cases())
def test_rows_that_go_are_judged_as_the_specification_says(case):
    text, types, changes, stored = case
    world = World(text, stored)
    problems = world.judge(*(world.change(name, *change) for name, change in changes.items()))
    expected = oracle.judge(types, changes, stored)
    for reason in {each[0] for each in expected} or {"nothing"}:
        event(reason)
    assert verdict(problems) == expected
    assert problems.total == expected.total()


@settings(max_examples=20)
@given(removing_cases(), st.sampled_from([LARGE, MIXED]))
def test_many_rows_that_go_are_judged_the_same_way_and_in_the_same_order(case, limits):
    text, types, changes, stored = case
    small, large = World(text, stored), World(text, stored)
    expected = small.judge(*(small.change(name, *change) for name, change in changes.items()), limits=SMALL)
    problems = large.judge(*(large.change(name, *change) for name, change in changes.items()), limits=limits)
    assert problems.kept == expected.kept
    assert verdict(problems) == oracle.judge(types, changes, stored)
