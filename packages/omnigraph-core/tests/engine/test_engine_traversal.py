"""The choice of an engine: its bounds, its reasons, and what it counts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from traversal_world import INPUT, Edge, World, rows_of

from omnigraph.engine import traversal
from omnigraph.engine.adjacency import is_adjacency_held
from omnigraph.engine.entities import HeldRows
from omnigraph.engine.expand import expand
from omnigraph.engine.frame import Bound
from omnigraph.engine.memory import Memory
from omnigraph.engine.traversal import (
    CSR_FACTOR,
    HELD_AFTER,
    INDEXED_MAX_FRONTIER,
    INDEXED_MAX_HOPS,
    choose_traversal,
    distinct_positions,
    foresee_traversal,
    positions_in,
)
from omnigraph.plan.ir import EdgeExpand, Expand
from omnigraph.query.checked import Direction

KNOWS = Expand(INPUT, "a", "b", "Knows", Direction.FORWARD, "Person")
COUNT = 3_000


def ring(coverage="full", count=COUNT, fan=1):
    """Each node leads to the next ones."""
    names = [f"p{n:05}" for n in range(count)]
    edges = [
        Edge(f"e{n:05}-{k}", names[n], names[(n + k) % count], None) for n in range(count) for k in range(1, fan + 1)
    ]
    return World(nodes={"Person": dict.fromkeys(names, 1)}, edges={"Knows": edges}, coverage=coverage)


@pytest.fixture(scope="module")
def covered():
    return ring()


@pytest.fixture(autouse=True)
def _no_type_is_small(monkeypatch):
    """The graphs of these tests stand for large ones."""
    monkeypatch.setattr(traversal, "FEW_EDGES", -1)


def test_a_small_edge_type_is_read_at_once_whether_it_has_an_index_or_not(covered, monkeypatch):
    monkeypatch.setattr(traversal, "FEW_EDGES", COUNT)
    choice = foresee_traversal(KNOWS, 1, covered.execution())
    assert (choice.mode, choice.reason) == ("csr", "3,000 edges are read at once")
    monkeypatch.setattr(traversal, "FEW_EDGES", COUNT - 1)
    assert foresee_traversal(KNOWS, 1, covered.execution()).mode == "indexed"


def test_the_bounds_are_those_of_the_specification():
    assert (INDEXED_MAX_FRONTIER, INDEXED_MAX_HOPS, CSR_FACTOR) == (1024, 6, 1.5)


@pytest.mark.parametrize(
    ("frontier", "hops", "mode", "reason"),
    [
        (1, 1, "indexed", "about 1 of 3,000 edges"),
        (1024, 1, "indexed", "about 1,024 of 3,000 edges"),
        (1025, 1, "csr", "1,025 nodes to start from are more than 1,024"),
        (1, 6, "indexed", "about 1 of 3,000 edges"),
        (1, 7, "csr", "7 hops are more than 6"),
    ],
)
def test_few_starts_and_few_hops_are_probed(covered, frontier, hops, mode, reason):
    op = Expand(INPUT, "a", "b", "Knows", Direction.FORWARD, "Person", 1, hops)
    choice = foresee_traversal(op, frontier, covered.execution())
    assert choice.mode == mode
    assert reason in choice.reason


def test_probing_must_touch_few_edges_beside_reading_all():
    # 300 edges; 200 starts touch 200 of them, and 1.5 times that is not less than 300.
    execution = ring(count=300).execution()
    assert foresee_traversal(KNOWS, 199, execution).mode == "indexed"
    assert foresee_traversal(KNOWS, 200, execution).mode == "csr"
    assert "about 200 of 300 edges would be touched" in foresee_traversal(KNOWS, 200, execution).reason
    both = Expand(INPUT, "a", "b", "Knows", Direction.UNDIRECTED, "Person")
    assert foresee_traversal(both, 99, execution).mode == "indexed"
    assert foresee_traversal(both, 100, execution).mode == "csr"


def test_degrees_multiply_with_hops():
    execution = ring(count=100, fan=3).execution()
    hops = {n: Expand(INPUT, "a", "b", "Knows", Direction.FORWARD, "Person", 1, n) for n in (4, 5)}
    assert foresee_traversal(hops[4], 1, execution).mode == "indexed"  # 81 x 1.5 < 300
    assert foresee_traversal(hops[5], 1, execution).mode == "csr"  # 243 x 1.5 > 300


def test_without_an_index_nothing_is_probed_by_choice():
    choice = foresee_traversal(KNOWS, 1, ring("none", 20).execution())
    assert (choice.mode, choice.reason) == ("csr", "no index covers src of Knows")


def test_edges_that_no_index_covers_yet_count_as_touched():
    # Half of 300 edges came after the index: a probe reads all of these.
    half, whole = ring("partial", 300).execution(), ring("full", 300).execution()
    assert foresee_traversal(KNOWS, 40, half).reason == "about 190 of 300 edges are touched"
    assert foresee_traversal(KNOWS, 60, half).reason == "about 210 of 300 edges would be touched"
    assert foresee_traversal(KNOWS, 60, half).mode == "csr"
    assert foresee_traversal(KNOWS, 60, whole).mode == "indexed"


@pytest.mark.parametrize("mode", ["csr", "indexed"])
def test_a_setting_decides(covered, mode):
    for frontier in (1, 100_000):
        choice = foresee_traversal(KNOWS, frontier, covered.execution(mode))
        assert (choice.mode, choice.reason) == (mode, "the setting says so")


def test_what_is_held_is_used(covered):
    memory = Memory(1 << 30)
    execution = covered.execution("csr", memory=memory)
    expand(KNOWS, rows_of(execution, a=("Person", ["p00001"])), execution)
    assert is_adjacency_held(execution.source, "Knows", Direction.FORWARD)
    choice = foresee_traversal(KNOWS, 1, covered.execution(memory=memory))
    assert (choice.mode, choice.reason) == ("csr", "held in memory")
    backwards = Expand(INPUT, "a", "b", "Knows", Direction.BACKWARD, "Person")
    assert foresee_traversal(backwards, 1, covered.execution(memory=memory)).mode == "indexed"


def test_an_edge_type_that_is_asked_for_often_is_held(covered):
    memory = Memory(1 << 30)
    modes = [choose_traversal(KNOWS, 1, covered.execution(memory=memory)).mode for _ in range(HELD_AFTER)]
    assert modes == ["indexed"] * (HELD_AFTER - 1) + ["csr"]
    by_edge = EdgeExpand(INPUT, "a", "b", "w", "Knows", Direction.FORWARD, "Person")
    assert choose_traversal(by_edge, 1, covered.execution(memory=memory)).mode == "indexed"


def test_to_foresee_counts_nothing(covered):
    memory = Memory(1 << 30)
    for _ in range(HELD_AFTER + 1):
        assert foresee_traversal(KNOWS, 1, covered.execution(memory=memory)).mode == "indexed"


def test_the_choice_is_told_to_the_trace(covered):
    execution = covered.execution()
    frame = rows_of(execution, held=True, a=("Person", ["p00001", "p00001"]))
    assert expand(KNOWS, frame, execution).row_count == 2
    facts = execution.trace.of(KNOWS).facts
    assert facts == {"traversal": "indexed", "reason": "about 1 of 3,000 edges are touched"}


def test_distinct_positions_are_numbered_in_order():
    rng = np.random.default_rng(3)
    for size, count in ((1, 1), (10, 3), (10, 200), (5_000, 7), (5_000, 3_000), (4, 4)):
        positions = rng.integers(0, size, count)
        distinct, numbers = distinct_positions(positions, size)
        assert distinct.tolist() == sorted(set(positions.tolist()))
        assert distinct[numbers].tolist() == positions.tolist()


def test_entities_are_found_among_others_of_their_type():
    one, other = (HeldRows("node:N", pa.table({"id": ids})) for ids in (["a", "b", "c"], ["b", "c", "d"]))
    assert positions_in(other, Bound(one, np.array([2, 0, 1, 2]))).tolist() == [1, -1, 0, 1]
    positions = np.array([1, 1])
    assert positions_in(one, Bound(one, positions)) is positions
