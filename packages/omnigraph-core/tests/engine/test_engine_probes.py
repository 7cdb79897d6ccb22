"""Probes of stored edges: the same answers with no, partial and full coverage, and no more reading than they need."""

from __future__ import annotations

import random

import pytest
from traversal_world import INPUT, Edge, World, pairs_of, random_world, rows_of

from omnigraph.engine import probes
from omnigraph.engine.budget import QueryBudget
from omnigraph.engine.edge_expand import expand_edges
from omnigraph.engine.expand import expand
from omnigraph.errors import ResourceLimitError
from omnigraph.plan.ir import EdgeExpand, Expand
from omnigraph.query.checked import Direction


class Watched:
    """The tables of a world, with what was looked up and read of edges."""

    def __init__(self, world):
        self._tables = world.tables
        self._edges = world.snapshot.schema.edge("Knows").location
        self.lookups = []
        self.reads = 0

    def __getattr__(self, name):
        return getattr(self._tables, name)

    def lookup(self, handle, keys, *, key="id", columns=None):
        if handle.pin.location == self._edges:
            self.lookups.append((key, sorted(keys.to_pylist())))
        return self._tables.lookup(handle, keys, key=key, columns=columns)

    def read(self, handle, **wanted):
        self.reads += handle.pin.location == self._edges
        return self._tables.read(handle, **wanted)


def watched(world, mode="indexed", **more):
    execution = world.execution(mode, **more)
    execution.source.tables = Watched(world)
    return execution, execution.source.tables


@pytest.mark.parametrize("coverage", ["none", "partial", "full"])
@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("batch", [2, 1024])
def test_probes_and_adjacency_agree_whatever_indexes_cover(monkeypatch, coverage, direction, batch):
    monkeypatch.setattr(probes, "PROBE_BATCH", batch)
    for seed in (0, 5):
        world, rng = random_world(seed, coverage=coverage), random.Random(seed)
        starts = [rng.choice(list(world.nodes["Person"])) for _ in range(6)]
        held, probed = world.execution("csr"), world.execution("indexed")
        for bounds in ((1, 1), (1, 3), (2, 2)):
            op = Expand(INPUT, "a", "b", "Knows", direction, "Person", *bounds)
            expected = [
                (row, node)
                for row, start in enumerate(starts)
                for node in world.reached("Knows", direction, start, bounds)
            ]
            for each in (held, probed):
                assert pairs_of(expand(op, rows_of(each, a=("Person", starts)), each), "b") == expected
        by_edge = EdgeExpand(INPUT, "a", "b", "w", "Knows", direction, "Person")
        one, other = (
            pairs_of(expand_edges(by_edge, rows_of(each, a=("Person", starts)), each), "w", "b")
            for each in (held, probed)
        )
        assert one == other
        assert len(one) == sum(near == start for start in starts for near, _, _ in world.leads("Knows", direction))


@pytest.mark.parametrize("scan_mode", ["memory", "stored"])
def test_nodes_that_are_not_held_are_looked_up(scan_mode):
    world = random_world(0)
    starts = [*world.nodes["Person"]]
    for mode in ("csr", "indexed"):
        execution = world.execution(mode, scan_mode=scan_mode)
        frame = rows_of(execution, held=True, a=("Person", starts))
        op = Expand(INPUT, "a", "b", "Knows", Direction.FORWARD, "Person", 1, 2, columns=("age",))
        found = expand(op, frame, execution)
        expected = [
            (row, node)
            for row, start in enumerate(starts)
            for node in world.reached("Knows", Direction.FORWARD, start, (1, 2))
        ]
        assert pairs_of(found, "b") == expected
        bound = found.bound["b"]
        assert bound.entities.values("age", bound.positions).to_pylist() == [
            world.nodes["Person"][node] for _, node in expected
        ]
        facts = execution.trace.of(op).facts
        if scan_mode == "stored":
            assert facts["traversal"] == "indexed"
            assert ("too large to be held" in facts["reason"]) == (mode == "csr")


CHAIN = [Edge(f"e{n}", f"p{n}", f"p{n + 1}", n) for n in range(9)]


def chain(coverage):
    return World(nodes={"Person": {f"p{n}": n for n in range(10)}}, edges={"Knows": CHAIN}, coverage=coverage)


def test_each_hop_asks_for_what_the_last_one_found_and_for_nothing_twice():
    execution, tables = watched(chain("full"))
    op = Expand(INPUT, "a", "b", "Knows", Direction.FORWARD, "Person", 1, 3)
    found = expand(op, rows_of(execution, held=True, a=("Person", ["p2", "p0", "p2"])), execution)
    assert pairs_of(found, "b") == [
        *((0, each) for each in ("p3", "p4", "p5")),
        *((1, each) for each in ("p1", "p2", "p3")),
        *((2, each) for each in ("p3", "p4", "p5")),
    ]
    assert tables.lookups == [("src", ["p0", "p2"]), ("src", ["p1", "p3"]), ("src", ["p4"])]
    assert tables.reads == 0


def test_a_search_ends_where_nothing_new_is_found():
    execution, tables = watched(chain("full"))
    op = Expand(INPUT, "a", "b", "Knows", Direction.FORWARD, "Person", 1, 50)
    found = expand(op, rows_of(execution, held=True, a=("Person", ["p7"])), execution)
    assert pairs_of(found, "b") == [(0, "p8"), (0, "p9")]
    assert tables.lookups == [("src", ["p7"]), ("src", ["p8"]), ("src", ["p9"])]


def test_what_was_asked_for_once_is_not_asked_for_again_in_a_circle():
    people = {f"p{n}": n for n in range(4)}
    edges = [Edge("1", "p0", "p1", 1), Edge("2", "p1", "p2", 1), Edge("3", "p2", "p1", 1), Edge("4", "p2", "p3", 1)]
    execution, tables = watched(World(nodes={"Person": people}, edges={"Knows": edges}, coverage="full"))
    op = Expand(INPUT, "a", "b", "Knows", Direction.FORWARD, "Person", 1, 9)
    found = expand(op, rows_of(execution, held=True, a=("Person", ["p0"])), execution)
    assert pairs_of(found, "b") == [(0, "p1"), (0, "p2"), (0, "p3")]
    assert tables.lookups == [("src", [each]) for each in ("p0", "p1", "p2", "p3")]


def test_backwards_and_undirected_ask_by_the_other_end():
    for direction, columns in ((Direction.BACKWARD, ["dst"]), (Direction.UNDIRECTED, ["src", "dst"])):
        execution, tables = watched(chain("full"))
        for op, run in (
            (Expand(INPUT, "a", "b", "Knows", direction, "Person"), expand),
            (EdgeExpand(INPUT, "a", "b", "w", "Knows", direction, "Person"), expand_edges),
        ):
            tables.lookups.clear()
            run(op, rows_of(execution, held=True, a=("Person", ["p4"])), execution)
            assert tables.lookups == [(column, ["p4"]) for column in columns]


def test_many_ids_are_asked_for_in_batches_where_an_index_covers(monkeypatch):
    monkeypatch.setattr(probes, "PROBE_BATCH", 2)
    starts = ["p0", "p1", "p2", "p3", "p4"]
    op = Expand(INPUT, "a", "b", "Knows", Direction.FORWARD, "Person")
    for coverage in ("full", "partial"):
        execution, tables = watched(chain(coverage))
        found = expand(op, rows_of(execution, held=True, a=("Person", starts)), execution)
        assert pairs_of(found, "b") == [(n, f"p{n + 1}") for n in range(5)]
        assert tables.lookups == [("src", ["p0", "p1"]), ("src", ["p2", "p3"]), ("src", ["p4"])]
        assert tables.reads == 0


def test_many_ids_without_an_index_are_one_pass_and_the_reason_says_so(monkeypatch):
    monkeypatch.setattr(probes, "PROBE_BATCH", 2)
    execution, tables = watched(chain("none"))
    op = Expand(INPUT, "a", "b", "Knows", Direction.FORWARD, "Person")
    found = expand(op, rows_of(execution, held=True, a=("Person", ["p0", "p1", "p2"])), execution)
    assert pairs_of(found, "b") == [(0, "p1"), (1, "p2"), (2, "p3")]
    assert (tables.lookups, tables.reads) == ([], 1)
    assert "no index covers src of Knows" in execution.trace.of(op).facts["reason"]


@pytest.mark.parametrize(
    "op",
    [
        Expand(INPUT, "a", "b", "Knows", Direction.FORWARD, "Person", 1, 3),
        EdgeExpand(INPUT, "a", "b", "w", "Knows", Direction.FORWARD, "Person"),
    ],
)
def test_the_bytes_of_edges_are_held_against_the_budget(op):
    world = chain("full")
    frame = rows_of(world.execution(), held=True, a=("Person", ["p0"]))
    execution = world.execution("indexed", budget=QueryBudget(max_bytes=3))
    run = expand if isinstance(op, Expand) else expand_edges
    with pytest.raises(ResourceLimitError, match="max_bytes") as caught:
        run(op, frame, execution)
    assert type(op).__name__ in caught.value.details["operator"]
    assert run(op, frame, world.execution("indexed")).row_count == (3 if isinstance(op, Expand) else 1)


def test_the_bytes_of_all_hops_count_together():
    world = chain("full")
    budget = QueryBudget(max_bytes=100)
    for hops, is_enough in ((1, True), (9, False)):
        execution = world.execution("indexed", budget=budget)
        frame = rows_of(execution, held=True, a=("Person", ["p0"]), b=("Person", [f"p{hops}"]))
        op = Expand(INPUT, "a", "b", "Knows", Direction.FORWARD, "Person", 1, hops, is_bound=True)
        if is_enough:
            assert expand(op, frame, execution).row_count == 1
            continue
        # Nine edges have eighteen ends, of two bytes and an offset of four each.
        with pytest.raises(ResourceLimitError, match="max_bytes"):
            expand(op, frame, execution)


@pytest.mark.parametrize("resource", ["max_frontier", "max_bytes"])
def test_what_is_read_counts_even_where_no_row_comes_of_it(resource):
    world = World(
        nodes={"Person": {"a": 1, "b": 1, "c": 1}},
        edges={"Knows": [Edge(f"e{n}", "a", "b", n) for n in range(5)]},
        coverage="full",
    )
    execution = world.execution("indexed", budget=QueryBudget(**{resource: 4}))
    frame = rows_of(execution, held=True, a=("Person", ["a"]), b=("Person", ["c"]))
    ends = ("a", "b", "Knows", Direction.FORWARD, "Person")
    with pytest.raises(ResourceLimitError, match=resource):
        expand(Expand(INPUT, *ends, is_bound=True), frame, execution)
    by_edge = EdgeExpand(INPUT, "a", "b", "w", *ends[2:], is_bound=True)
    with pytest.raises(ResourceLimitError, match=resource):
        expand_edges(by_edge, frame, execution)
