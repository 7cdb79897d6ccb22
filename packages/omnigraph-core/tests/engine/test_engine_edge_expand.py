"""``EdgeExpand`` by both engines against the rule in plain Python: one row per edge, by edge id."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from traversal_world import ENDS, INPUT, Edge, World, at_least, pairs_of, random_world, rows_of

from omnigraph.engine import expand as shared
from omnigraph.engine.budget import QueryBudget
from omnigraph.engine.edge_expand import expand_edges
from omnigraph.engine.memory import Memory
from omnigraph.errors import DeadlineError, ResourceLimitError
from omnigraph.plan.ir import EdgeExpand
from omnigraph.query.checked import Direction

MODES = ["csr", "indexed"]


def step(edge="Knows", direction=Direction.FORWARD, target="b", **more):
    start, end = ENDS[edge]
    return EdgeExpand(
        INPUT, "a", target, "w", edge, direction, start if direction is Direction.BACKWARD else end, **more
    )


def start_type(op):
    return ENDS[op.edge][1 if op.direction is Direction.BACKWARD else 0]


def every_step(direction):
    yield step("Knows", direction)
    if direction is not Direction.UNDIRECTED:
        yield step("Rented", direction)


def met(world, op, start):
    """The edges of a node and where they lead, by edge id."""
    found = [(edge, far) for near, far, edge in world.leads(op.edge, op.direction) if near == start]
    return sorted(found, key=lambda each: each[0].id)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("seed", range(4))
def test_each_row_gets_its_edges_by_ascending_id(seed, direction, mode):
    world, rng = random_world(seed), random.Random(seed)
    execution = world.execution(mode)
    for op in every_step(direction):
        starts = [rng.choice(list(world.nodes[start_type(op)])) for _ in range(7)]
        edges = [(row, *each) for row, start in enumerate(starts) for each in met(world, op, start)]
        number = "since" if op.edge == "Knows" else "days"
        target_number = "age" if op.target_type == "Person" else "stars"
        values = world.nodes[op.target_type]
        on_edge, on_target = at_least("w", number, 3, is_edge=True), at_least("b", target_number, 2)
        for held in (False, True):
            frame = rows_of(execution, held=held, a=(start_type(op), starts))

            found = expand_edges(replace(op, edge_columns=(number,)), frame, execution)
            assert pairs_of(found, "a", "w", "b") == [(row, starts[row], e.id, far) for row, e, far in edges]
            bound = found.bound["w"]
            assert bound.entities.values(number, bound.positions).to_pylist() == [e.number for _, e, _ in edges]

            unnamed = expand_edges(replace(op, target=None), frame, execution)
            assert pairs_of(unnamed, "w") == [(row, e.id) for row, e, _ in edges]
            assert set(unnamed.bound) == {"row", "a", "w"}

            chosen = expand_edges(replace(op, edge_predicates=(on_edge,), predicates=(on_target,)), frame, execution)
            assert pairs_of(chosen, "w", "b") == [
                (row, e.id, far) for row, e, far in edges if (e.number or 0) >= 3 and (values[far] or 0) >= 2
            ]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("direction", Direction)
def test_a_bound_target_must_be_the_other_end(direction, mode):
    for seed in range(3):
        world, rng = random_world(seed), random.Random(seed)
        execution = world.execution(mode)
        for op in every_step(direction):
            starts = [rng.choice(list(world.nodes[start_type(op)])) for _ in range(30)]
            ends = [rng.choice(list(world.nodes[op.target_type])) for _ in starts]
            expected = [
                (row, edge.id, far)
                for row, (start, end) in enumerate(zip(starts, ends, strict=True))
                for edge, far in met(world, op, start)
                if far == end
            ]
            for held in (False, True):
                frame = rows_of(execution, held=held, a=(start_type(op), starts), b=(op.target_type, ends))
                found = expand_edges(replace(op, is_bound=True), frame, execution)
                assert pairs_of(found, "w", "b") == expected


@pytest.mark.parametrize("mode", MODES)
def test_parallel_edges_are_told_apart_and_a_loop_is_taken_once(mode):
    edges = [Edge("3", "a", "b", 1), Edge("1", "a", "b", 2), Edge("2", "b", "a", 3), Edge("4", "a", "a", 4)]
    edges += [Edge("5", "a", "gone", 5), Edge("6", "gone", "a", 6)]
    world = World(nodes={"Person": {"a": 1, "b": 1}}, edges={"Knows": edges})
    execution = world.execution(mode)
    frame = rows_of(execution, a=("Person", ["a"]))
    forward = expand_edges(step(), frame, execution)
    assert pairs_of(forward, "w", "b") == [(0, "1", "b"), (0, "3", "b"), (0, "4", "a")]
    both = expand_edges(step(direction=Direction.UNDIRECTED), frame, execution)
    assert pairs_of(both, "w", "b") == [(0, "1", "b"), (0, "2", "b"), (0, "3", "b"), (0, "4", "a")]


def test_edges_in_small_parts_are_the_same(monkeypatch):
    world = random_world(0)
    execution = world.execution("csr")
    starts = [*world.nodes["Person"]]
    op = step(edge_predicates=(at_least("w", "since", 2, is_edge=True),))
    expected = [
        (row, e.id) for row, start in enumerate(starts) for e, _ in met(world, op, start) if (e.number or 0) >= 2
    ]
    assert expected
    for part in (1, 5):
        monkeypatch.setattr(shared, "PART", part)
        assert pairs_of(expand_edges(op, rows_of(execution, a=("Person", starts)), execution), "w") == expected


def test_no_rows_bind_all_the_same():
    execution = random_world(0).execution()
    op = step(columns=("age",), edge_columns=("since",))
    found = expand_edges(op, rows_of(execution, a=("Person", [])), execution)
    assert found.row_count == 0
    assert set(found.bound) == {"row", "a", "b", "w"}
    assert found.bound["w"].entities.column("since").to_pylist() == []


# ── budgets ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def parallel():
    edges = [Edge(f"{n:02}", "a", "b", n) for n in range(10)]
    return World(nodes={"Person": {"a": 1, "b": 1}}, edges={"Knows": edges})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("resource", ["max_frontier", "max_rows"])
def test_too_many_edges_are_refused_by_name_and_the_next_query_works(mode, resource):
    world, memory = parallel(), Memory(1 << 20)
    execution = world.execution(mode, memory=memory, budget=QueryBudget(**{resource: 9}))
    with pytest.raises(ResourceLimitError, match=r"EdgeExpand \$a \$w:Knows") as caught:
        expand_edges(step(), rows_of(execution, a=("Person", ["a"])), execution)
    assert (caught.value.details["resource"], caught.value.details["actual"]) == (resource, 10)
    after = world.execution(mode, memory=memory)
    assert expand_edges(step(), rows_of(after, a=("Person", ["a"])), after).row_count == 10


def test_edges_that_a_condition_drops_are_no_rows():
    execution = parallel().execution("csr", budget=QueryBudget(max_rows=1))
    op = step(edge_predicates=(at_least("w", "since", 9, is_edge=True),))
    assert pairs_of(expand_edges(op, rows_of(execution, a=("Person", ["a"])), execution), "w") == [(0, "09")]
    with pytest.raises(ResourceLimitError, match="2 rows"):
        expand_edges(op, rows_of(execution, a=("Person", ["a", "a"])), execution)


@pytest.mark.parametrize("mode", MODES)
def test_a_deadline_names_the_operator(mode):
    world = parallel()
    frame = rows_of(world.execution(mode), a=("Person", ["a"]))
    with pytest.raises(DeadlineError) as caught:
        expand_edges(step(), frame, world.execution(mode, budget=QueryBudget(deadline=0)))
    assert caught.value.details["operator"].startswith("EdgeExpand $a $w:Knows")
