"""Stage 3 of validation: endpoints, edges that stay behind, and cardinality."""

from __future__ import annotations

import pytest
from validation_world import DIRECTED, FOLLOWS, LARGE, LIBRARY, RENTED, SMALL, STORED, World, messages

BOTH = pytest.mark.parametrize("limits", [SMALL, LARGE], ids=["small", "large"])
GRAPH = "node A { } node B { } edge E: A -> B"
CARDS = "node A {{ }} node B {{ }} edge E: A -> B @card({}) {{ n: I32? }}"


def edge(name: str, src: str, dst: str = "b") -> dict[str, object]:
    return {"id": name, "src": src, "dst": dst}


def nodes(*names: str) -> list[dict[str, object]]:
    return [{"id": name} for name in names]


def world_of(card: str, *edges: dict[str, object], sources: str = "xyz") -> World:
    return World(CARDS.format(card), {"A": nodes(*sources), "B": nodes("b"), "E": list(edges)})


# ── endpoints ────────────────────────────────────────────────────────────────────────────────────────────────────


@BOTH
def test_an_edge_to_a_node_that_is_not_there_is_told_with_its_end_and_type(limits):
    # Case 22 of the conformance set.
    world = World(LIBRARY, STORED)
    made = [edge("r8", "bo", "DR-2"), edge("r9", "ann", "ZZ-9")]
    problems = world.judge(world.change("Rented", "insert", made, is_fresh=True), limits=limits)
    assert messages(problems) == ["dst 'ZZ-9' not found in Film"]
    (found,) = problems.kept
    assert (found.reason, found.type_key, found.property, found.id, found.source, found.line) == (
        "endpoint",
        "edge:Rented",
        "dst",
        "r9",
        "in.jsonl",
        2,
    )


@BOTH
@pytest.mark.parametrize("mode", ["insert", "upsert", "replace"])
def test_nodes_of_the_same_write_and_committed_ones_count_alike(limits, mode):
    world = World(GRAPH, {"A": nodes("a1"), "B": nodes("b1")})
    problems = world.judge(
        world.change("A", "insert", nodes("a2")),
        world.change("B", "upsert", nodes("b2")),
        world.change("E", mode, [edge("1", "a1", "b2"), edge("2", "a2", "b1"), edge("3", "b1", "a1")]),
        limits=limits,
    )
    assert messages(problems) == ["src 'b1' not found in A", "dst 'a1' not found in B"]


@BOTH
def test_committed_nodes_of_a_type_that_is_replaced_do_not_count(limits):
    world = World(GRAPH, {"A": nodes("a1", "a2"), "B": nodes("b")})
    problems = world.judge(
        world.change("A", "replace", nodes("a2", "a3")),
        world.change("E", "insert", [edge("1", "a1"), edge("2", "a2"), edge("3", "a3")]),
        limits=limits,
    )
    assert messages(problems) == ["src 'a1' not found in A"]


@BOTH
def test_without_any_node_every_edge_misses_both(limits):
    world = World(GRAPH)
    problems = world.judge(world.change("E", "insert", [edge("1", "a"), edge("2", "a")]), limits=limits, keep=3)
    assert problems.counts == {"endpoint": 4}
    assert messages(problems) == ["src 'a' not found in A", "src 'a' not found in A", "dst 'b' not found in B"]


@BOTH
def test_a_node_with_a_wrong_value_still_is_a_node(limits):
    world = World("node A { n: I32? @range(n, 0..1) } edge E: A -> A")
    problems = world.judge(
        world.change("A", "insert", [{"id": "x", "n": 9}]),
        world.change("E", "insert", [edge("1", "x", "x")]),
        limits=limits,
    )
    assert problems.counts == {"range": 1}


# ── edges that stay ──────────────────────────────────────────────────────────────────────────────────────────────


@BOTH
def test_replacing_nodes_is_refused_while_edges_that_stay_point_to_removed_ones(limits):
    # Case 25 of the conformance set.
    world = World(LIBRARY, STORED)
    problems = world.judge(world.change("Person", "replace", [{"id": "ann", "handle": "ann"}]), limits=limits)
    told = [(each.type_key, each.property, each.id) for each in problems.kept]
    assert told == [
        ("edge:Directed", "src", "d1"),
        ("edge:Follows", "src", "f2"),
        ("edge:Follows", "src", "f3"),
        ("edge:Follows", "src", "f4"),
        ("edge:Follows", "dst", "f1"),
        ("edge:Follows", "dst", "f2"),
        ("edge:Follows", "dst", "f4"),
        ("edge:Rented", "src", "r3"),
    ]
    assert problems.counts == {"orphan_edge": 8}
    assert messages(problems)[0] == (
        "src 'cy' not found in Person: the committed edge Directed 'd1' would point to a node that this write removes"
    )
    assert problems.kept[0].line is None


@BOTH
def test_replacing_nodes_and_all_their_edges_leaves_no_edge_behind(limits):
    world = World(LIBRARY, STORED)
    assert not world.judge(
        world.change("Person", "replace", [{"id": "ann", "handle": "ann"}]),
        world.change("Directed", "replace", []),
        world.change("Follows", "replace", [edge("f9", "ann", "ann")]),
        world.change("Rented", "replace", RENTED[:2]),
        limits=limits,
    )


@BOTH
def test_an_edge_that_gets_another_row_does_not_stay(limits):
    world = World(GRAPH, {"A": nodes("a1", "a2"), "B": nodes("b"), "E": [edge("1", "a1"), edge("2", "a1")]})
    problems = world.judge(
        world.change("A", "replace", nodes("a2")), world.change("E", "upsert", [edge("1", "a2")]), limits=limits
    )
    assert [(each.reason, each.id) for each in problems.kept] == [("orphan_edge", "2")]


@BOTH
def test_appended_edges_leave_all_committed_ones_in_place(limits):
    world = World(GRAPH, {"A": nodes("a1", "a2"), "B": nodes("b"), "E": [edge("1", "a1")]})
    problems = world.judge(
        world.change("A", "replace", nodes("a2")), world.change("E", "insert", [edge("2", "a2")]), limits=limits
    )
    assert [(each.reason, each.id) for each in problems.kept] == [("orphan_edge", "1")]


@BOTH
def test_replacing_nodes_with_none_orphans_every_edge(limits):
    world = World(LIBRARY, STORED)
    problems = world.judge(world.change("Film", "replace", []), limits=limits)
    assert problems.counts == {"orphan_edge": len(DIRECTED) + len(RENTED)}
    assert len(world.judge(world.change("Film", "replace", []), limits=limits, keep=2).kept) == 2


@BOTH
def test_replacing_nodes_by_the_same_ids_orphans_nothing(limits):
    world = World(LIBRARY, STORED)
    assert not world.judge(world.change("Person", "replace", STORED["Person"]), limits=limits)


@BOTH
@pytest.mark.parametrize("mode", ["insert", "upsert"])
def test_adding_nodes_orphans_nothing(limits, mode):
    world = World(LIBRARY, STORED)
    assert not world.judge(world.change("Person", mode, [{"id": "dee", "handle": "dee"}]), limits=limits)


# ── cardinality ──────────────────────────────────────────────────────────────────────────────────────────────────


@BOTH
def test_too_many_edges_of_a_source_are_told_with_the_count_and_the_maximum(limits):
    world = world_of("0..2", edge("1", "x"))
    problems = world.judge(
        world.change("E", "insert", [edge("2", "x"), edge("3", "y"), edge("4", "x"), edge("5", "y")]), limits=limits
    )
    assert messages(problems) == ["@card violation on edge E: source 'x' has 3 edges (max 2)"]
    (found,) = problems.kept
    assert (found.reason, found.id, found.line) == ("cardinality", "4", 3)


@BOTH
def test_the_first_edge_of_a_source_needs_its_sibling_in_the_same_write(limits):
    world = world_of("2..")
    problems = world.judge(world.change("E", "insert", [edge("1", "x"), edge("2", "y"), edge("3", "y")]), limits=limits)
    assert messages(problems) == ["@card violation on edge E: source 'x' has 1 edges (min 2)"]


@BOTH
def test_a_source_that_never_had_an_edge_is_not_judged(limits):
    world = world_of("1..", edge("1", "x"))
    assert not world.judge(world.change("E", "insert", [edge("2", "y")]), limits=limits)
    assert not world.judge(world.change("A", "insert", nodes("new")), limits=limits)


@BOTH
def test_a_source_that_this_write_does_not_touch_is_not_judged(limits):
    # It broke the bound before; so it may be, after a change of schema.
    world = world_of("0..1", edge("1", "x"), edge("2", "x"))
    assert not world.judge(world.change("E", "insert", [edge("3", "y")]), limits=limits)


@BOTH
def test_an_edge_that_moves_counts_for_its_new_source_and_no_longer_for_its_old_one(limits):
    world = world_of("2..2", edge("1", "x"), edge("2", "x"), edge("3", "y"), edge("4", "y"))
    problems = world.judge(world.change("E", "upsert", [edge("2", "y")]), limits=limits)
    assert messages(problems) == [
        "@card violation on edge E: source 'y' has 3 edges (max 2)",
        "@card violation on edge E: source 'x' has 1 edges (min 2)",
    ]
    assert [each.line for each in problems.kept] == [1, None]
    swap = [edge("2", "y"), edge("3", "x")]
    assert not world.judge(world.change("E", "upsert", swap), limits=limits)


@BOTH
def test_an_edge_that_is_written_again_counts_once(limits):
    world = world_of("1..1", edge("1", "x"))
    assert not world.judge(world.change("E", "upsert", [edge("1", "x")]), limits=limits)


@BOTH
def test_a_source_that_loses_all_edges_to_a_replacement_has_none(limits):
    world = world_of("1..", edge("1", "x"), edge("2", "y"))
    problems = world.judge(world.change("E", "replace", [edge("3", "y")]), limits=limits)
    assert messages(problems) == ["@card violation on edge E: source 'x' has 0 edges (min 1)"]
    unbounded_below = world_of("0..1", edge("1", "x"))
    assert not unbounded_below.judge(unbounded_below.change("E", "replace", []), limits=limits)


@BOTH
def test_a_source_that_is_removed_is_not_judged(limits):
    world = world_of("1..", edge("1", "x"), edge("2", "y"))
    problems = world.judge(
        world.change("A", "replace", nodes("y")), world.change("E", "replace", [edge("3", "y")]), limits=limits
    )
    assert not problems


@BOTH
def test_a_source_that_is_not_there_is_told_as_an_endpoint_only(limits):
    world = world_of("2..2")
    problems = world.judge(world.change("E", "insert", [edge("1", "nobody")]), limits=limits)
    assert problems.counts == {"endpoint": 1}


@BOTH
def test_the_destination_side_is_not_bounded(limits):
    world = world_of("0..1")
    many = [edge(name, name) for name in "xyz"]
    assert not world.judge(world.change("E", "insert", many), limits=limits)


@BOTH
def test_sources_that_break_a_bound_are_told_in_the_order_of_the_input(limits):
    world = world_of("0..1", sources="abcdefgh")
    made = [edge(f"{name}{again}", name) for again in range(2) for name in "hgfedcba"]
    problems = world.judge(world.change("E", "insert", made), limits=limits, keep=5)
    assert problems.counts == {"cardinality": 8}
    assert [each.id for each in problems.kept] == ["h1", "g1", "f1", "e1", "d1"]


def test_follows_may_be_doubled_by_a_merge_without_ids():
    # Case 27 of the conformance set.
    world = World(LIBRARY, STORED)
    again = [{**each, "id": f"new-{each['id']}"} for each in FOLLOWS]
    directed = [{**each, "id": f"new-{each['id']}"} for each in DIRECTED]
    assert not world.judge(
        world.change("Follows", "upsert", again, is_fresh=True),
        world.change("Directed", "upsert", directed, is_fresh=True),
    )
