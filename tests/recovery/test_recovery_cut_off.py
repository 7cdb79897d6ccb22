"""A recovery is itself cut off, at every point on its way, twice in a row; or several recover the same at once.

Recovering again settles the write as if nobody had tried before: one commit or none, and one row in the audit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest
from other_processes import OtherProcesses
from recovery_matrix import OF_RECOVERY
from recovery_scenes import SCENES, Scene, check_recovered
from recovery_world import World

from omnigraph import failpoints
from omnigraph.storage import StorageAdapter, StorageBackend
from omnigraph.testing.faults import Barrier, DiedError, DyingAdapter, OnNth, armed, recorded
from omnigraph.testing.graph_contract.faults import opened_through

IS_WHOLE = os.environ.get("OMNIGRAPH_RECOVERY_MATRIX") == "full"

CUTS = [(scene, nth) for scene in SCENES.values() for nth in range(len(scene.reached))]
"""Every point that the recovery of every scene comes by, by its place in the order."""

KILLS = CUTS if IS_WHOLE else [*{scene.reached[nth]: (scene, nth) for scene, nth in reversed(CUTS)}.values()]
"""Where processes are killed: at every point, in the first scene that comes by; in the long run in every scene."""


def name_of(cut: tuple[Scene, int]) -> str:
    scene, nth = cut
    return f"{scene.name}-{nth}-{scene.reached[nth]}"


def time_of(scene: Scene, nth: int) -> int:
    """How often the failpoint has been reached when the recovery comes by for the ``nth`` time."""
    return scene.reached[: nth + 1].count(scene.reached[nth])


@contextmanager
def dying_adapters() -> Iterator[list[DyingAdapter]]:
    """Every adapter that is opened meanwhile is one that can die."""
    made: list[DyingAdapter] = []
    opened = StorageBackend.open

    def open_wrapped(*arguments: object) -> StorageAdapter:
        made.append(DyingAdapter(opened(*arguments)))
        return made[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StorageBackend, "open", open_wrapped)
        yield made


def die_while_opening(world: World, failpoint: str, nth: int) -> None:
    with (
        dying_adapters() as made,
        armed({failpoint: OnNth(nth, lambda name: made[-1].die(name))}),
        pytest.raises(DiedError),
    ):
        world.place.open()


# ── cut off ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_failpoint_of_a_recovery_is_died_at():
    assert {name for scene in SCENES.values() for name in scene.reached} >= set(OF_RECOVERY)


@pytest.mark.parametrize("scene", SCENES.values(), ids=lambda scene: scene.name)
def test_a_recovery_comes_by_the_points_that_are_died_at(world: World, scene: Scene):
    sidecar = scene.begin(world)
    with recorded() as reached:
        world.place.open().close()
    assert reached == list(scene.reached)
    check_recovered(world, scene, sidecar)


@pytest.mark.parametrize("cut", CUTS, ids=name_of)
def test_an_opening_that_dies_twice_in_its_recovery_is_made_up_for_by_the_next(world: World, cut: tuple[Scene, int]):
    scene, nth = cut
    sidecar = scene.begin(world)
    die_while_opening(world, scene.reached[nth], time_of(scene, nth))
    # What was done the first time is not done again, so the same point may not be reached so often.
    with (
        dying_adapters() as made,
        armed({scene.reached[nth]: lambda name: made[-1].die(name)}),
        suppress(DiedError),
    ):
        world.place.open().close()
    check_recovered(world, scene, sidecar)


@pytest.mark.parametrize("cut", KILLS, ids=name_of)
def test_a_process_that_is_killed_twice_in_its_recovery_is_made_up_for_by_the_next(
    local_world: World, others: OtherProcesses, cut: tuple[Scene, int]
):
    scene, nth = cut
    sidecar = scene.begin(local_world, dying=others.kill_at)
    others.kill_in_recovery(local_world.place, scene.reached[nth], time_of(scene, nth))
    others.open(local_world.place, scene.reached[nth])
    check_recovered(local_world, scene, sidecar)


@pytest.mark.parametrize("cut", [(scene, nth) for scene, nth in CUTS if scene.is_healed], ids=name_of)
def test_a_refresh_that_dies_in_its_recovery_is_made_up_for_by_another_handle(world: World, cut: tuple[Scene, int]):
    scene, nth = cut
    with opened_through(DyingAdapter, world.place) as (graph, adapter):
        sidecar = scene.begin(world)
        with (
            armed({scene.reached[nth]: OnNth(time_of(scene, nth), adapter.die)}),
            pytest.raises(DiedError),
        ):
            graph.refresh()
    world.survivor.refresh()
    check_recovered(world, scene, sidecar)


# ── at once ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("scene", SCENES.values(), ids=lambda scene: scene.name)
def test_threads_that_recover_the_same_write_at_once_settle_it_once(world: World, scene: Scene):
    sidecar = scene.begin(world)
    barrier = Barrier(4)
    with armed({failpoints.RECOVERY_POST_LIST_PRE_GATES: barrier}), ThreadPoolExecutor(4) as pool:
        for opened in [pool.submit(world.place.open) for _ in range(4)]:
            opened.result().close()
    check_recovered(world, scene, sidecar)


MEETINGS = [
    (scene, name)
    for scene in SCENES.values()
    for name in (
        failpoints.RECOVERY_POST_LIST_PRE_GATES,
        failpoints.RECOVERY_BEFORE_ROLL_FORWARD_PUBLISH,
        failpoints.RECOVERY_RECORD_AUDIT,
        failpoints.RECOVERY_ORPHAN_DISCARD_AUDIT_APPEND,
        failpoints.RECOVERY_SIDECAR_DELETE,
    )
    if name in scene.reached
]


@pytest.mark.parametrize(("scene", "failpoint"), MEETINGS, ids=lambda each: getattr(each, "name", each))
def test_processes_that_recover_the_same_write_at_once_settle_it_once(
    local_world: World, others: OtherProcesses, scene: Scene, failpoint: str
):
    sidecar = scene.begin(local_world, dying=others.kill_at)
    others.open_at_once(local_world.place, failpoint, count=2)
    check_recovered(local_world, scene, sidecar)
