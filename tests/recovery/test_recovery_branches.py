"""Making and deleting a branch is cut off: both are one step, so there is a branch or none, and never half of one.

Neither announces a plan, so a recovery has nothing to do about them. What is left is a line that nobody names.
"""

from __future__ import annotations

import pytest
from recovery_matrix import OUTSIDE, PLACES
from recovery_world import World, Worlds
from recovery_writes import BRANCH, WRITES, news

from omnigraph import failpoints
from omnigraph.testing.faults import DiedError, DyingAdapter, armed, recorded
from omnigraph.testing.graph_contract.faults import opened_through

CREATED = {failpoints.BRANCH_CREATE_POST_NATIVE: False, failpoints.BRANCH_CREATE_POST_REF: True}
"""Where who makes a branch dies, and whether the branch is there then."""


def test_every_point_of_making_and_deleting_a_branch_is_died_at(world: World):
    world.begin(WRITES["load_merge"])
    with recorded() as reached:
        world.survivor.branches.create(BRANCH)
        world.survivor.branches.delete(BRANCH)
    assert reached == [*CREATED, failpoints.BRANCH_DELETE_POST_NATIVE]
    assert set(reached) == {name for name in OUTSIDE if name.startswith(("branch_create.", "branch_delete."))}
    world.is_in_use = False


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("point", CREATED)
def test_who_dies_while_making_a_branch_made_it_or_left_its_name_free(worlds: Worlds, point: str, place: str):
    world = worlds.at(place)
    world.begin(WRITES["load_merge"])
    with (
        opened_through(DyingAdapter, world.place) as (graph, adapter),
        armed({point: adapter.die}),
        pytest.raises(DiedError),
    ):
        graph.branches.create(BRANCH)
    check_branch(world, is_made=CREATED[point])


@pytest.mark.parametrize("place", PLACES)
def test_who_dies_while_deleting_a_branch_deleted_it(worlds: Worlds, place: str):
    world = worlds.at(place)
    world.begin(WRITES["mutate_update_on_branch"])
    with (
        opened_through(DyingAdapter, world.place) as (graph, adapter),
        armed({failpoints.BRANCH_DELETE_POST_NATIVE: adapter.die}),
        pytest.raises(DiedError),
    ):
        graph.branches.delete(BRANCH)
    world.lose_branch()
    check_branch(world, is_made=False)


def check_branch(world: World, *, is_made: bool) -> None:
    """There is a branch like any other, or its name is free; nothing is wrong with the rest: a good end."""
    with world.place.open() as fresh:
        if is_made:
            world.know_branch()
        else:
            assert [each.name for each in fresh.branches.list()] == ["main"]
            world.check_rows(fresh)
            world.make_branch()
        for number, graph in enumerate((fresh, world.survivor)):
            assert graph.recoveries.pending() == []
            assert world.told(graph) == []
            world.check_rows(graph)
            graph.load(news(f"-after-{number}"), "merge", branch=BRANCH)
            world.model.load(news(f"-after-{number}"), "merge")
            world.commits += 1
        world.check_rows(fresh)
        world.check_whole(fresh)
    world.is_in_use = False
