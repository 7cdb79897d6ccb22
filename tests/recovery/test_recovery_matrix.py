"""Every write dies at every point on its way, in every place, and every trigger settles what it left.

Afterwards the graph is the old one or the new one, as the stage says; no table shows anything else; the commit of a
write that was finished is the one that its writer announced; and the audit tells of it once.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from other_processes import OtherProcesses
from recovery_matrix import CELLS, MATRIX, OUTSIDE, PLACES, POINTS, Cell, Outcome, Trigger, covering, reached_by
from recovery_world import World, Worlds, actor_of, check_nothing_is_left, die, rival_records
from recovery_writes import WRITES, Write, news

import omnigraph as og
from omnigraph.failpoints import FAILPOINTS
from omnigraph.testing.faults import recorded

IS_WHOLE = os.environ.get("OMNIGRAPH_RECOVERY_MATRIX") == "full"
"""Whether every cell is run everywhere, or in memory only and a covering part elsewhere; ``tox -e races`` has all."""

COUNTS = {"memory": 504, "local": 672, "ministack": 672}
"""Cells that can be, by place."""

RUN = [
    cell
    for place in PLACES
    for cells in [tuple(each for each in CELLS if each.place == place)]
    for cell in (cells if IS_WHOLE or place == "memory" else covering(cells))
]


# ── the cells ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("cell", RUN, ids=lambda cell: cell.name)
def test_a_write_that_was_cut_off_is_settled(worlds: Worlds, request: pytest.FixtureRequest, cell: Cell):
    world = worlds.at(cell.place)
    number = world.begin(cell.write)
    if cell.trigger is Trigger.OTHER_PROCESS:
        others: OtherProcesses = request.getfixturevalue("others")
        others.kill_at(world.place, cell.write, number, cell.point)
    else:
        die(world.place, cell.write, number, cell.point)
    check(world, cell, number)
    world.is_in_use = False


def check(world: World, cell: Cell, number: int) -> None:
    expected = cell.expected
    rival = rival_records(cell.point, number)
    if rival:
        world.model.load(rival, "merge")
        world.commits += 1
    if expected.is_made:
        cell.write.apply(world.model, number)
        world.commits += 1
    left = world.sidecars()
    assert len(left) == (expected.opening is not Outcome.NOTHING)

    outcome = expected.opening if cell.healed_by is Trigger.REOPEN else expected.healing
    with triggered(world, cell.healed_by, number) as graph:
        newest = world.check_rows(graph)
        if outcome is Outcome.DEFERRED:
            assert [each.state for each in graph.recoveries.pending()] == ["cut_off"]
            assert world.told(graph) == []
        else:
            check_settled(world, graph, cell, left, outcome)

    with world.place.open() as again:
        # What a commit shows never changes.
        assert again.snapshot(world.branch).commit.id == newest
        check_settled(world, again, cell, left, expected.opening if outcome is Outcome.DEFERRED else Outcome.NOTHING)


@contextmanager
def triggered(world: World, by: Trigger, number: int) -> Iterator[og.Graph]:
    """Let somebody come across what was left; the handle that did."""
    if by is Trigger.REOPEN:
        with world.place.open() as graph:
            yield graph
        return
    if by is Trigger.REFRESH:
        world.survivor.refresh()
    else:
        world.write(news(f"-next-{number}"))
    yield world.survivor


def check_settled(world: World, graph: og.Graph, cell: Cell, left: list[dict], outcome: Outcome) -> None:
    """What the tables show, and what is told of it."""
    check_nothing_is_left(graph)
    told = world.told(graph)
    if outcome is Outcome.NOTHING:
        assert told == []
        return
    ((sidecar,), (row,)) = left, told
    actor = actor_of(world.number) if cell.write.has_actor else None
    assert (row.kind, row.operation_id, row.writer_kind) == (outcome, sidecar["operation_id"], cell.write.kind)
    assert (row.graph_commit_id, row.recovery_for_actor) == (sidecar["commit"]["id"], actor)
    assert [each.table_key for each in row.tables] == [each["table_key"] for each in sidecar["tables"]]
    assert len(row.tables) == cell.write.table_count
    made = [each for each in graph.commits.list(world.branch) if each.id == sidecar["commit"]["id"]]
    assert len(made) == (outcome is Outcome.ROLLED_FORWARD)
    for commit in made:
        facts = commit.to_dict()
        assert facts["actor"] == actor
        assert {name: facts[name] for name in ("id", "actor", "kind", "created_at")} == {
            name: sidecar["commit"][name] for name in ("id", "actor", "kind", "created_at")
        }


# ── the matrix itself ────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_combination_is_a_cell_or_cannot_be():
    assert len(MATRIX) == len(PLACES) * len(WRITES) * len(POINTS) * len(Trigger)
    assert Counter(each.place for each in CELLS) == COUNTS
    reasons = Counter(each.reason for each in MATRIX if each.reason is not None)
    assert reasons == {
        "the write does not come by": 1032,
        "the write is prepared again and not refused": 252,
        "its first type is its last": 12,
        "no other process reaches the memory of this one": 168,
    }


def test_every_failpoint_is_in_the_matrix_or_named_with_a_reason():
    assert {each.failpoint for each in POINTS} | set(OUTSIDE) == set(FAILPOINTS)
    assert {each.failpoint for each in POINTS}.isdisjoint(OUTSIDE)


def test_the_covering_part_has_every_point_with_every_trigger_and_every_write_that_changes_something_five_times():
    cells = tuple(each for each in CELLS if each.place == "ministack")
    part = covering(cells)
    assert {(each.point, each.trigger) for each in part} == {(each.point, each.trigger) for each in cells}
    assert min(Counter(each.write.name for each in part if each.write.has_effect).values()) >= 5
    assert {each.write.name for each in part} == set(WRITES)


@pytest.mark.parametrize("write", WRITES.values(), ids=lambda write: write.name)
def test_a_write_comes_by_the_points_that_the_matrix_says(world: World, write: Write):
    number = world.begin(write)
    with recorded() as reached:
        write.run(world.survivor, number)
    assert reached == reached_by(write)
    write.apply(world.model, number)
    world.commits += write.has_effect
    world.check_rows(world.survivor)
    world.is_in_use = False
