"""Requests about sidecars fail, each in its turn: the table of engine.md 5.8, row by row.

Its row about confirming a sidecar has no place here: a sidecar is written once. That a damaged one is refused is in
test_recovery_refused.py.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
from recovery_scenes import SCENES, Scene, check_recovered
from recovery_world import World, check_nothing_is_left
from recovery_writes import WRITES, Write

import omnigraph as og
from omnigraph import failpoints
from omnigraph.errors import StorageCondition, StorageError
from omnigraph.history.recoveries import RecoveryKind
from omnigraph.testing.faults import Call, CountingAdapter, Fault, FaultyAdapter, Raise, armed
from omnigraph.testing.graph_contract.faults import CHANGING_VERBS, opened_through
from omnigraph.write.recovery import settling

LOST = ConnectionResetError("gone")
MANY = 1_000

Act = Callable[[World], object]
ACTS: dict[str, Act] = {
    "open": lambda world: world.place.open().close(),
    "refresh": lambda world: world.survivor.refresh(),
    "load": lambda world: world.survivor.load([], "merge"),
    "mutate": lambda world: world.survivor.mutate('query q() { insert Note { text: "n" } }'),
    "bulk": lambda world: world.survivor.bulk(),
    "ensure_indices": lambda world: world.survivor.maintain.ensure_indices(),
}
"""Everything that looks for cut-off writes."""


def at_sidecars(verb: str, moment: str = "before", times: int = MANY) -> Fault:
    return Fault(verb=verb, error=LOST, moment=moment, name_contains="__recovery", times=times)


# ── a write ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("write", [each for each in WRITES.values() if each.has_effect], ids=lambda each: each.name)
def test_a_write_whose_plan_cannot_be_announced_does_not_begin(world: World, write: Write, moment: str):
    number = world.begin(write)
    before = newest_versions(world.survivor)
    with opened_through(FaultyAdapter, world.place) as (graph, store):
        store.strike(at_sidecars("write", moment, times=1))
        with pytest.raises(StorageError):
            write.run(graph, number)
        assert world.sidecars() == []
        assert newest_versions(graph) == before
        world.check_rows(graph)
        # The same write, through the same handle.
        write.run(graph, number)
        write.apply(world.model, number)
        world.commits += 1
        world.check_rows(graph)
        assert world.told(graph) == []
    world.is_in_use = False


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("act", ["open", "refresh", "load"])
def test_a_sidecar_that_cannot_be_removed_is_a_warning_and_whoever_comes_next_cleans_up(
    world: World, caplog: pytest.LogCaptureFixture, act: str, moment: str
):
    write = WRITES["load_merge"]
    number = world.begin(write)
    with opened_through(FaultyAdapter, world.place) as (graph, store), caplog.at_level(logging.WARNING):
        store.strike(at_sidecars("delete", moment))
        write.run(graph, number)
        store.strike()
    assert "could not be removed" in caplog.text
    write.apply(world.model, number)
    world.commits += 1
    assert len(world.sidecars()) == (moment == "before")
    ACTS[act](world)
    world.commits += act == "load"
    world.check_rows(world.survivor)
    check_nothing_is_left(world.survivor)
    assert [each.kind for each in world.told(world.survivor)] == [RecoveryKind.ROLLED_FORWARD] * (moment == "before")


# ── a recovery ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("act", ACTS)
def test_sidecars_that_cannot_be_listed_are_an_error_for_everybody_who_looks(world: World, act: str):
    scene = SCENES["complete"]
    sidecar = scene.begin(world)
    error = StorageError("the connection was lost", condition=StorageCondition.TRANSIENT)
    with armed({failpoints.RECOVERY_SIDECAR_LIST: Raise(error)}), pytest.raises(StorageError, match="lost"):
        ACTS[act](world)
    assert len(world.sidecars()) == 1
    with world.place.open("r") as reader:
        # Readers do not look.
        assert len(list(reader.export())) > 0
        assert world.told(reader) == []
    world.survivor.refresh()
    check_recovered(world, scene, sidecar)


@pytest.mark.parametrize("scene", SCENES.values(), ids=lambda each: each.name)
def test_who_reads_settles_nothing(world: World, scene: Scene):
    sidecar = scene.begin(world)
    with opened_through(CountingAdapter, world.place, "r") as (reader, counts):
        shown = newest_versions(reader)
        reader.refresh()
        assert len(list(reader.export())) > 0
        assert [each.graph_commit_id for each in reader.recoveries.pending()] == [sidecar["commit"]["id"]]
        assert newest_versions(reader) == shown
        assert {verb for verb, count in counts.calls.items() if count and verb in CHANGING_VERBS} == set()
        assert world.told(reader) == []
    check_recovered(world, scene, sidecar)


def newest_versions(graph: og.Graph) -> dict[str, int]:
    tables = graph._repository.tables
    return {key: tables.newest(entry.pin).version for key, entry in graph.snapshot().state.entries.items()}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("scene", [SCENES["complete"], SCENES["incomplete"]], ids=lambda each: each.name)
def test_a_sidecar_that_vanishes_after_it_was_listed_is_skipped(world: World, scene: Scene, act: str):
    """Its writer, or another recovery, finished in between."""
    sidecar = scene.begin(world)
    adapter = world.survivor._repository.adapter
    key = adapter.key(f"__recovery/{sidecar['operation_id']}.json")
    data = adapter.read(key)
    with armed({failpoints.RECOVERY_POST_SIDECAR_LIST_PRE_READ: Call(lambda _: adapter.delete(key))}):
        ACTS[act](world)
    with world.place.open("r") as reader:
        assert world.told(reader) == []
        assert [each.id for each in reader.commits.list() if each.id == sidecar["commit"]["id"]] == []
    adapter.write(key, data)
    world.place.open().close()
    assert [each.operation_id for each in world.told(world.survivor)] == [sidecar["operation_id"]]


@pytest.mark.parametrize("verb", ["read", "delete"])
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("scene", SCENES.values(), ids=lambda each: each.name)
def test_a_recovery_whose_requests_fail_is_an_error_or_a_warning_and_the_next_one_settles_it(
    world: World, scene: Scene, moment: str, verb: str
):
    with opened_through(FaultyAdapter, world.place) as (graph, store):
        sidecar = scene.begin(world)
        store.strike(at_sidecars(verb, moment, times=1))
        try:
            graph.refresh()
        except StorageError:
            assert verb == "read"
    world.place.open().close()
    check_recovered(world, scene, sidecar)


@pytest.mark.parametrize("scene", SCENES.values(), ids=lambda each: each.name)
@pytest.mark.parametrize("act", ["open", "refresh", "load"])
def test_an_audit_that_cannot_be_kept_leaves_the_sidecar_and_is_made_up_for_once(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, scene: Scene, act: str
):
    sidecar = scene.begin(world)
    error = StorageError("the connection was lost", condition=StorageCondition.TRANSIENT)
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(settling, "record_recovery", lambda *_: Raise(error)("the audit"))
        if act == "open":
            with pytest.raises(StorageError, match="lost"):
                world.place.open()
        else:
            # No write fails, and no refresh, because somebody else's write was cut off.
            ACTS[act](world)
            world.commits += act == "load"
            assert ("left as it is" in caplog.text) == scene.is_healed
    assert len(world.sidecars()) == 1
    assert world.told(world.survivor) == []
    check_recovered(world, scene, sidecar)
