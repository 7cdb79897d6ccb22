"""``Expand`` by both engines against the rules in plain Python: directions, hop bounds, targets, conditions."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from traversal_world import (
    ENDS,
    IDS,
    INPUT,
    Edge,
    World,
    at_least,
    pairs_of,
    random_world,
    rows_of,
)

from omnigraph.engine import bfs, traversal
from omnigraph.engine import expand as module
from omnigraph.engine.budget import QueryBudget
from omnigraph.engine.expand import expand
from omnigraph.engine.memory import Memory
from omnigraph.errors import DeadlineError, InternalError, ResourceLimitError
from omnigraph.plan.ir import Expand
from omnigraph.query.checked import Direction

BOUNDS = [(1, 1), (1, 2), (2, 2), (2, 3), (1, 4), (3, 3)]
MODES = ["csr", "indexed"]


def step(edge="Knows", direction=Direction.FORWARD, target="b", bounds=(1, 1), **more):
    start, end = ENDS[edge]
    target_type = start if direction is Direction.BACKWARD else end
    return Expand(INPUT, "a", target, edge, direction, target_type, *bounds, **more)


def start_type(op):
    return ENDS[op.edge][1 if op.direction is Direction.BACKWARD else 0]


def starts_for(op, world, rng, count=7):
    """Some nodes, in no order and repeatedly."""
    return [rng.choice(list(world.nodes[start_type(op)])) for _ in range(count)]


def every_step(direction, edges=("Knows", "Rented")):
    for edge, bounds in product(edges, BOUNDS):
        if edge == "Rented" and (direction is Direction.UNDIRECTED or bounds[1] > 1):
            continue
        yield step(edge, direction, bounds=bounds)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("seed", range(4))
def test_each_row_gets_the_nodes_that_the_rule_says(seed, direction, mode):
    world, rng = random_world(seed), random.Random(seed)
    execution = world.execution(mode)
    for op in every_step(direction):
        starts = starts_for(op, world, rng)
        reached = [world.reached(op.edge, direction, each, (op.minimum_hops, op.maximum_hops)) for each in starts]
        number = "age" if op.target_type == "Person" else "stars"
        values = world.nodes[op.target_type]
        for held in (False, True):
            frame = rows_of(execution, held=held, a=(start_type(op), starts))

            unbound = expand(op, frame, execution)
            assert pairs_of(unbound, "a", "b") == [
                (row, starts[row], node) for row, nodes in enumerate(reached) for node in nodes
            ]
            chosen = expand(replace(op, predicates=(at_least("b", number, 3),)), frame, execution)
            assert pairs_of(chosen, "b") == [
                (row, node) for row, nodes in enumerate(reached) for node in nodes if (values[node] or 0) >= 3
            ]
            unnamed = expand(replace(op, target=None), frame, execution)
            assert pairs_of(unnamed) == [(row,) for row, nodes in enumerate(reached) for _ in nodes]
            assert set(unnamed.bound) == {"row", "a"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("direction", Direction)
def test_a_row_whose_target_is_bound_is_kept_once_if_it_is_reached(direction, mode):
    for seed in range(3):
        world, rng = random_world(seed), random.Random(seed)
        execution = world.execution(mode)
        for op in every_step(direction):
            op = replace(op, is_bound=True)
            starts = starts_for(op, world, rng, 25)
            ends = [rng.choice(list(world.nodes[op.target_type])) for _ in starts]
            bounds = (op.minimum_hops, op.maximum_hops)
            expected = [
                (row, *pair)
                for row, pair in enumerate(zip(starts, ends, strict=True))
                if pair[1] in world.reached(op.edge, direction, pair[0], bounds)
            ]
            for held in (False, True):
                frame = rows_of(execution, held=held, a=(start_type(op), starts), b=(op.target_type, ends))
                assert pairs_of(expand(op, frame, execution), "a", "b") == expected


def test_many_pairs_are_checked_in_another_order_and_told_in_theirs(monkeypatch):
    monkeypatch.setattr(traversal, "_MANY_PAIRS", 3)
    world = random_world(0)
    execution = world.execution("csr")
    pairs = [*product(world.nodes["Person"], repeat=2)]
    random.Random(1).shuffle(pairs)
    starts, ends = zip(*pairs, strict=True)
    frame = rows_of(execution, a=("Person", starts), b=("Person", ends))
    found = expand(step(is_bound=True), frame, execution)
    assert pairs_of(found) == [
        (row,) for row, (start, end) in enumerate(pairs) if end in world.reached("Knows", "forward", start, (1, 1))
    ]


@pytest.mark.parametrize("cells", [1, 30])
def test_searches_in_small_parts_give_the_same(monkeypatch, cells):
    monkeypatch.setattr(bfs, "MAX_CELLS", cells)
    world, rng = random_world(0), random.Random(3)
    execution = world.execution("csr")
    for bounds in ((1, 3), (2, 2)):
        op = step(bounds=bounds)
        starts = starts_for(op, world, rng, 12)
        reached = [world.reached("Knows", op.direction, each, bounds) for each in starts]
        expected = [(row, node) for row, nodes in enumerate(reached) for node in nodes]
        assert pairs_of(expand(op, rows_of(execution, a=("Person", starts)), execution), "b") == expected
        ends = [rng.choice(IDS[:4]) for _ in starts]
        frame = rows_of(execution, a=("Person", starts), b=("Person", ends))
        kept = expand(replace(op, is_bound=True), frame, execution)
        assert pairs_of(kept) == [(row,) for row, end in enumerate(ends) if end in reached[row]]


def test_conditions_are_judged_the_same_in_small_parts_and_for_few_targets(monkeypatch):
    world = random_world(0)
    execution = world.execution("csr")
    op = step(predicates=(at_least("b", "age", 3),))
    starts = [*world.nodes["Person"]]
    ages = world.nodes["Person"]
    expected = [
        (row, node)
        for row, start in enumerate(starts)
        for node in world.reached("Knows", op.direction, start, (1, 1))
        if (ages[node] or 0) >= 3
    ]
    assert expected
    for part in (1, 3, 1 << 20):
        monkeypatch.setattr(module, "PART", part)
        assert pairs_of(expand(op, rows_of(execution, a=("Person", starts)), execution), "b") == expected
    single = [expand(op, rows_of(execution, a=("Person", [each])), execution) for each in starts]
    assert [(row, node) for row, each in enumerate(single) for _, node in pairs_of(each, "b")] == expected


def test_few_of_many_targets_are_judged_once_each_and_told_apart():
    names = [f"p{n:02}" for n in range(60)]
    edges = [Edge(f"e{n:02}-{k}", names[n], names[(7 * n + k) % 60], n) for n in range(60) for k in (1, 2)]
    world = World(nodes={"Person": {name: n % 5 for n, name in enumerate(names)}}, edges={"Knows": edges})
    execution = world.execution("csr")
    starts = ["p50", "p07", "p50", "p31", "p07"]
    for bounds in ((1, 1), (1, 2)):
        op = step(bounds=bounds, predicates=(at_least("b", "age", 3),))
        found = expand(op, rows_of(execution, a=("Person", starts)), execution)
        assert pairs_of(found, "b") == [
            (row, node)
            for row, start in enumerate(starts)
            for node in world.reached("Knows", op.direction, start, bounds)
            if int(node[1:]) % 5 >= 3
        ]


def test_a_search_from_every_node_in_order():
    world = random_world(0)
    starts = sorted(world.nodes["Person"])
    execution = world.execution("csr")
    found = expand(step(bounds=(1, 2)), rows_of(execution, a=("Person", starts)), execution)
    assert pairs_of(found, "b") == [
        (row, node) for row, start in enumerate(starts) for node in world.reached("Knows", "forward", start, (1, 2))
    ]


def test_no_rows_and_crossed_bounds_give_no_rows_and_read_nothing():
    world = random_world(0)
    for mode, op in product(MODES, (step(bounds=(2, 1), columns=("age",)), step(columns=("age",)))):
        execution = world.execution(mode)
        ids = ["ann"] if op.minimum_hops == 2 else []
        frame = rows_of(execution, a=("Person", ids))
        result = expand(op, frame, execution)
        assert result.row_count == 0
        assert result.bound["b"].entities.values("age", result.bound["b"].positions).to_pylist() == []
        assert "adjacency" not in execution.source.memory.stats()


@pytest.mark.parametrize("mode", MODES)
def test_in_a_negation_a_row_with_any_target_comes_back_once(mode):
    world = random_world(0)
    execution = world.execution(mode)
    starts = [*world.nodes["Person"]]
    frame = replace(rows_of(execution, a=("Person", starts)), origin=np.arange(len(starts))[::-1])
    for bounds in ((1, 1), (1, 3)):
        result = expand(step(target=None, bounds=bounds), frame, execution)
        having = [row for row, each in enumerate(starts) if world.reached("Knows", Direction.FORWARD, each, bounds)]
        assert 0 < len(having) < len(starts)
        assert pairs_of(result) == [(row,) for row in having]
        assert list(result.origin) == [len(starts) - 1 - row for row in having]
    # A search that begins later than at one hop is not decided by the first.
    result = expand(step(target=None, bounds=(2, 2)), frame, execution)
    expected = [row for row, each in enumerate(starts) for _ in world.reached("Knows", Direction.FORWARD, each, (2, 2))]
    assert pairs_of(result) == [(row,) for row in expected]


def test_a_target_that_is_gone_is_not_passed_through():
    edges = [Edge("1", "a", "gone", 1), Edge("2", "gone", "b", 1), Edge("3", "a", "c", 1)]
    world = World(nodes={"Person": {"a": 1, "b": 1, "c": 1}}, edges={"Knows": edges})
    for mode in MODES:
        execution = world.execution(mode)
        frame = rows_of(execution, a=("Person", ["a"]))
        assert pairs_of(expand(step(bounds=(1, 3)), frame, execution), "b") == [(0, "c")]
        assert pairs_of(expand(step(target=None), frame, execution)) == [(0,)]


def test_a_start_that_the_snapshot_does_not_have_is_a_mistake_of_ours():
    world = random_world(0)
    execution = world.execution("csr")
    frame = rows_of(execution, held=True, a=("Person", ["ann"]))
    strange = World(nodes={"Person": {"nobody": 1}}, edges={"Knows": []}).execution("csr")
    with pytest.raises(InternalError):
        expand(step(), frame, strange)


# ── budgets ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def star():
    leaves = [f"n{n:02}" for n in range(10)]
    edges = [Edge(f"e{n:02}", "hub", leaf, n) for n, leaf in enumerate(leaves)]
    edges += [Edge(f"f{n:02}", leaf, "end", n) for n, leaf in enumerate(leaves)]
    return World(nodes={"Person": dict.fromkeys(["hub", "end", *leaves], 1)}, edges={"Knows": edges})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("bounds", "target", "budget", "resource", "actual"),
    [
        ((1, 1), "b", {"max_frontier": 9}, "max_frontier", 10),
        ((1, 1), None, {"max_frontier": 9}, "max_frontier", 10),
        ((1, 1), "b", {"max_rows": 9}, "max_rows", 10),
        ((1, 1), None, {"max_rows": 9}, "max_rows", 10),
        ((1, 2), "b", {"max_rows": 10}, "max_rows", 11),
        ((1, 2), None, {"max_rows": 10}, "max_rows", 11),
    ],
)
def test_too_much_is_refused_by_name_and_the_next_query_works(mode, bounds, target, budget, resource, actual):
    world, memory = star(), Memory(1 << 20)
    op = step(target=target, bounds=bounds)
    execution = world.execution(mode, memory=memory, budget=QueryBudget(**budget))
    with pytest.raises(ResourceLimitError, match=r"Expand \$a Knows") as caught:
        expand(op, rows_of(execution, a=("Person", ["hub"])), execution)
    assert caught.value.details["resource"] == resource
    assert caught.value.details["actual"] == actual
    after = world.execution(mode, memory=memory)
    assert expand(op, rows_of(after, a=("Person", ["hub"])), after).row_count == (10 if bounds == (1, 1) else 11)


@pytest.mark.parametrize(("bounds", "rows"), [((1, 1), 10), ((1, 2), 11)])
def test_rows_are_held_against_the_bytes_that_they_will_take(bounds, rows):
    world = star()
    # A row is four numbers here: its own, the start, and room for two.
    for size, is_enough in ((rows * 32 - 1, False), (rows * 32, True)):
        execution = world.execution("csr", budget=QueryBudget(max_bytes=size))
        frame = rows_of(execution, a=("Person", ["hub"]))
        if is_enough:
            assert expand(step(bounds=bounds), frame, execution).row_count == rows
            continue
        with pytest.raises(ResourceLimitError, match="max_bytes"):
            expand(step(bounds=bounds), frame, execution)


@pytest.mark.parametrize("mode", MODES)
def test_a_second_hop_is_held_against_the_frontier(mode):
    world = star()
    execution = world.execution(mode, budget=QueryBudget(max_frontier=9))
    with pytest.raises(ResourceLimitError, match="max_frontier"):
        expand(step(bounds=(1, 2)), rows_of(execution, a=("Person", ["hub"])), execution)
    execution = world.execution(mode, budget=QueryBudget(max_frontier=10))
    assert expand(step(bounds=(1, 2)), rows_of(execution, a=("Person", ["hub"])), execution).row_count == 11


def test_rows_that_conditions_drop_do_not_count_as_rows():
    world = star()
    world.nodes["Person"] |= {"n03": 7}
    world = World(nodes=world.nodes, edges=world.edges)
    op = step(predicates=(at_least("b", "age", 5),))
    execution = world.execution("csr", budget=QueryBudget(max_rows=1))
    assert pairs_of(expand(op, rows_of(execution, a=("Person", ["hub"])), execution), "b") == [(0, "n03")]
    many = rows_of(execution, a=("Person", ["hub", "hub"]))
    with pytest.raises(ResourceLimitError, match="2 rows"):
        expand(op, many, execution)
    with pytest.raises(ResourceLimitError, match="2 rows"):
        expand(replace(op, maximum_hops=2), many, execution)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("bounds", [(1, 1), (1, 2)])
def test_a_deadline_names_the_operator(mode, bounds):
    world = star()
    execution = world.execution(mode)
    frame = rows_of(execution, a=("Person", ["hub"]))
    late = world.execution(mode, budget=QueryBudget(deadline=0))
    with pytest.raises(DeadlineError) as caught:
        expand(step(bounds=bounds), frame, late)
    assert caught.value.details["operator"].startswith("Expand $a Knows")
    assert expand(step(bounds=bounds), frame, execution).row_count > 0
