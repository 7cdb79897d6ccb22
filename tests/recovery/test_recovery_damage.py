"""What a recovery must not touch: tables that somebody removed files from, and branches that are not there any more."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import pytest
from recovery_scenes import SCENES, Scene, check_recovered
from recovery_world import World, check_nothing_is_left
from recovery_writes import BRANCH, news, note

import omnigraph as og
from omnigraph.errors import RecoveryRequiredError, StorageError
from omnigraph.failpoints import PUBLISH_BEFORE_COMMIT
from omnigraph.history.recoveries import RecoveryKind
from omnigraph.testing.faults import DiedError, DyingAdapter, armed
from omnigraph.testing.graph_contract.faults import opened_through

MANIFESTS = "_versions"
"""Where a table of Lance keeps a file for each version; of newer ones the names sort first."""


# ── missing versions ─────────────────────────────────────────────────────────────────────────────────────────────────


def lose_versions(graph: og.Graph, key: str, kept: Path) -> None:
    """Move the published version of a table away, and all that are newer."""
    pin = graph.snapshot().state.entries[key].pin
    directory = Path(graph.uri) / pin.location / MANIFESTS
    kept.mkdir()
    for each in directory.glob("*.manifest"):
        # Lance counts down from the largest number, so that the newest comes first in a listing.
        if 2**64 - 1 - int(each.stem) >= pin.version:
            shutil.move(each, kept)


def find_versions(graph: og.Graph, key: str, kept: Path) -> None:
    directory = Path(graph.uri) / graph.snapshot().state.entries[key].pin.location / MANIFESTS
    for each in kept.iterdir():
        shutil.move(each, directory)


@pytest.mark.parametrize("scene", [SCENES["complete"], SCENES["incomplete"]], ids=lambda each: each.name)
def test_a_table_that_lost_its_published_version_is_left_as_it_is_and_loudly(
    local_world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture, scene: Scene
):
    world = local_world
    sidecar = scene.begin(world)
    lose_versions(world.survivor, "node:Film", tmp_path / "kept")
    for _ in range(2):
        with pytest.raises(RecoveryRequiredError, match="versions are missing") as caught:
            world.place.open()
        assert caught.value.operation_id == sidecar["operation_id"]
    with caplog.at_level(logging.WARNING):
        world.survivor.refresh()
    assert "versions are missing" in caplog.text
    # The plan is kept, and nothing was told or moved.
    assert world.sidecars() == [sidecar]
    with world.place.open("r") as reader:
        assert world.told(reader) == []
        assert len(reader.table("Person")) > 0
        with pytest.raises(StorageError):
            len(reader.table("Film"))
        newest = reader._repository.tables.newest(reader.snapshot().state.entries["node:Film"].pin)
        assert newest.version < reader.snapshot().state.entries["node:Film"].pin.version
    find_versions(world.survivor, "node:Film", tmp_path / "kept")
    check_recovered(world, scene, sidecar)


def test_a_table_that_lost_versions_does_not_keep_other_writes_from_being_settled(local_world: World, tmp_path: Path):
    """Two writers died; a type of one is damaged, and that of the other is not."""
    world = local_world
    scene = SCENES["incomplete"]
    with opened_through(DyingAdapter, world.place) as (graph, adapter):
        damaged = scene.begin(world)
        with armed({PUBLISH_BEFORE_COMMIT: adapter.die}), pytest.raises(DiedError):
            graph.load(note("-complete"), "merge")
    lose_versions(world.survivor, "node:Film", tmp_path / "kept")
    with pytest.raises(RecoveryRequiredError) as caught:
        world.place.open()
    assert caught.value.operation_id == damaged["operation_id"]
    assert world.sidecars() == [damaged]
    assert [each.kind for each in world.told(world.survivor)] == [RecoveryKind.ROLLED_FORWARD]
    world.model.load(note("-complete"), "merge")
    world.commits += 1
    find_versions(world.survivor, "node:Film", tmp_path / "kept")
    check_recovered(world, scene, damaged)


# ── branches ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_branch_that_was_made_anew_is_not_the_one_that_a_plan_is_for(world: World):
    """The name is there again, and stands for another line."""
    scene = SCENES["of_a_branch_that_is_gone"]
    sidecar = scene.begin(world)
    world.make_branch()
    world.write(news("-anew"))
    assert sidecar["branch"]["incarnation"] != world.survivor.snapshot(BRANCH).branch.incarnation
    check_recovered(world, scene, sidecar)


@pytest.mark.parametrize("act", ["refresh", "load"])
def test_a_plan_for_a_branch_that_is_gone_is_left_to_the_next_opening(world: World, act: str):
    scene = SCENES["of_a_branch_that_is_gone"]
    sidecar = scene.begin(world)
    if act == "refresh":
        world.survivor.refresh()
    else:
        world.write(note("-next"))
    assert world.sidecars() == [sidecar]
    assert world.told(world.survivor) == []
    check_recovered(world, scene, sidecar)


def test_what_is_told_of_a_branch_that_is_gone(world: World):
    sidecar = SCENES["of_a_branch_that_is_gone"].begin(world)
    with world.place.open() as graph:
        (row,) = world.told(graph)
        assert (row.kind, row.branch, row.tables) == (RecoveryKind.ORPHANED_BRANCH_DISCARDED, BRANCH, ())
        assert row.graph_commit_id == sidecar["commit"]["id"]
        check_nothing_is_left(graph)
    world.is_in_use = False
