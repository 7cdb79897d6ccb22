"""Sidecars that are forged, copied or damaged: whatever they say is not acted on, and they stay where they are."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from recovery_scenes import SCENES, check_recovered, point_of
from recovery_world import Places, World, check_nothing_is_left, die
from recovery_writes import WRITES, news

import omnigraph as og
from omnigraph.errors import RecoveryRequiredError
from omnigraph.history.recoveries import RecoveryKind
from omnigraph.history.ulids import new_ulid
from omnigraph.storage import ObjectKey
from omnigraph.write.sidecar import MAX_SIDECAR_BYTES

WRITE = WRITES["load_merge"]


@dataclass(frozen=True)
class Found:
    """What lies below ``__recovery``: a name without the directory, and bytes."""

    name: str
    data: bytes


def left_by_a_dead_writer(world: World) -> Found:
    """The sidecar of a write that was complete, taken out of the graph."""
    number = world.begin(WRITE)
    die(world.place, WRITE, number, point_of("publish.before_commit"))
    adapter = world.survivor._repository.adapter
    (key,) = adapter.list_dir(adapter.key("__recovery"))
    data = adapter.read(key)
    adapter.delete(key)
    return Found(key.name, data)


def put(world: World, found: Found) -> ObjectKey:
    adapter = world.survivor._repository.adapter
    key = adapter.key(f"__recovery/{found.name}")
    # Past the bounds that a writer of ours keeps.
    adapter._write(key, found.data)
    return key


def changed(found: Found, change: Callable[[dict], object], *, name: str | None = None) -> Found:
    facts = json.loads(found.data)
    change(facts)
    return Found(name or found.name, json.dumps(facts).encode())


def move_location(facts: dict, location: str) -> None:
    facts["tables"][0]["location"] = location
    key = facts["tables"][0]["table_key"]
    for pin in facts["read_set"]["pins"]:
        if pin["table_key"] == key:
            pin["location"] = location


FORGERIES: dict[str, tuple[Callable[[Found], Found], str]] = {
    "copied under another name": (lambda found: Found(f"{new_ulid()}.json", found.data), "another operation"),
    "under a name that is none": (lambda found: Found("plan.json", found.data), "no operation"),
    "of a newer release": (
        lambda found: changed(found, lambda facts: facts.update(schema_version=facts["schema_version"] + 1)),
        "version",
    ),
    "cut in the middle": (lambda found: Found(found.name, found.data[: len(found.data) // 2]), "not JSON"),
    "empty": (lambda found: Found(found.name, b""), "not JSON"),
    "no JSON": (lambda found: Found(found.name, b"\x00\xffplan"), "not UTF-8"),
    "JSON, and no object": (lambda found: Found(found.name, b"[]"), "no object"),
    "huge": (
        lambda found: Found(found.name, found.data[:-1] + b" " * (MAX_SIDECAR_BYTES - len(found.data) + 2) + b"}"),
        "larger",
    ),
    "a table elsewhere": (
        lambda found: changed(found, lambda facts: move_location(facts, "../other/nodes/1-1.lance")),
        "does not lie at",
    ),
    "a table of another type": (
        lambda found: changed(found, lambda facts: move_location(facts, facts["tables"][1]["location"])),
        "does not lie at",
    ),
    "a pin that it did not rely on": (
        lambda found: changed(found, lambda facts: facts["tables"][0].update(version=1)),
        "without relying on it",
    ),
    "one transaction for two tables": (
        lambda found: changed(
            found,
            lambda facts: facts["tables"][0].update(transaction_id=facts["tables"][1]["transaction_id"]),
        ),
        "one transaction",
    ),
    "without a commit": (lambda found: changed(found, lambda facts: facts.pop("commit")), "commit"),
    "given up, and damaged": (
        lambda found: Found(found.name.replace(".json", ".withdrawn.json"), b"{"),
        "not JSON",
    ),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_sidecar_that_makes_no_sense_is_refused_and_kept(
    local_world: World, caplog: pytest.LogCaptureFixture, forgery: str
):
    world = local_world
    genuine = left_by_a_dead_writer(world)
    forge, why = FORGERIES[forgery]
    forged = forge(genuine)
    key = put(world, forged)
    with pytest.raises(RecoveryRequiredError, match=why) as caught:
        world.place.open()
    assert key.name in caught.value.message
    assert caught.value.help
    with world.place.open("r") as reader:
        assert world.check_rows(reader)
        (pending,) = reader.recoveries.pending()
        assert (pending.state, pending.writer_kind) == ("refused", None)
        assert why in (pending.reason or "")
    with caplog.at_level(logging.WARNING):
        # Who has the graph open goes on: nothing about writing rests on sidecars.
        world.survivor.refresh()
        world.write(news("-beside"))
    assert why in caplog.text
    adapter = world.survivor._repository.adapter
    assert adapter.read(key, max_bytes=2 * MAX_SIDECAR_BYTES) == forged.data
    adapter.delete(key)
    with world.place.open() as graph:
        world.check_rows(graph)
        assert world.told(graph) == []
    world.is_in_use = False


def test_a_sidecar_that_is_refused_is_in_nobody_elses_way(world: World):
    """All others are settled before the opening fails, the one before it and the one after it."""
    scene = SCENES["complete"]
    sidecar = scene.begin(world)
    keys = [put(world, Found(name, b"{")) for name in (f"{'0' * 26}.json", f"7{'Z' * 25}.json")]
    with pytest.raises(RecoveryRequiredError):
        world.place.open()
    adapter = world.survivor._repository.adapter
    assert sorted(adapter.list_dir(adapter.key("__recovery"))) == sorted(keys)
    for key in keys:
        adapter.delete(key)
    check_recovered(world, scene, sidecar)


# ── sidecars that make sense, and are not what they say ──────────────────────────────────────────────────────────────


def forge_commit(facts: dict, operation_id: str) -> None:
    facts["operation_id"] = operation_id
    facts["commit"]["id"] = new_ulid()
    facts["commit"]["actor"] = "somebody else"


@pytest.mark.parametrize("is_beside", [False, True], ids=["alone", "beside the genuine one"])
def test_what_others_left_on_tables_is_not_published_under_another_name(world: World, is_beside: bool):
    """The version of a table tells which commit it is for, so real transactions do not make a forged commit true."""
    genuine = left_by_a_dead_writer(world)
    operation_id = new_ulid()
    forged = changed(genuine, lambda facts: forge_commit(facts, operation_id), name=f"{operation_id}.json")
    put(world, forged)
    if is_beside:
        put(world, genuine)
        WRITE.apply(world.model, world.number)
        world.commits += 1
    with world.place.open() as graph:
        world.check_rows(graph)
        check_nothing_is_left(graph)
        told = {each.operation_id: each.kind for each in world.told(graph)}
        assert told.pop(operation_id) == RecoveryKind.ROLLED_BACK
        assert [*told.values()] == [RecoveryKind.ROLLED_FORWARD] * is_beside
        assert "somebody else" not in {each.actor for each in graph.commits.list()}
    world.begin(WRITE)
    world.check_rows(world.survivor)
    world.is_in_use = False


def test_transactions_that_never_happened_are_not_published(world: World):
    genuine = left_by_a_dead_writer(world)

    def forge(facts: dict) -> None:
        for number, table in enumerate(facts["tables"]):
            table["transaction_id"] = f"00000000-0000-4000-8000-00000000000{number}"

    put(world, changed(genuine, forge))
    with world.place.open() as graph:
        world.check_rows(graph)
        check_nothing_is_left(graph)
        (row,) = world.told(graph)
        assert row.kind == RecoveryKind.ROLLED_BACK
        assert {each.found for each in row.tables} == {"UnexpectedEffectIdentity"}
    world.is_in_use = False


@pytest.mark.parametrize("act", ["open", "refresh"])
def test_an_old_sidecar_that_is_put_back_is_cleaned_up_without_a_second_commit(world: World, act: str):
    scene = SCENES["complete"]
    scene.begin(world)
    adapter = world.survivor._repository.adapter
    (key,) = adapter.list_dir(adapter.key("__recovery"))
    old = Found(key.name, adapter.read(key))
    world.survivor.refresh()
    assert [each.kind for each in world.told(world.survivor)] == [RecoveryKind.ROLLED_FORWARD]
    world.write(news("-since"))
    put(world, old)
    if act == "open":
        world.place.open().close()
    else:
        world.survivor.refresh()
    world.check_rows(world.survivor)
    check_nothing_is_left(world.survivor)
    # It was told of before.
    assert world.told(world.survivor) == []
    world.is_in_use = False


def graph_of(found: Found) -> str:
    return json.loads(found.data)["graph"]


def test_a_sidecar_that_was_copied_from_another_graph_touches_neither(world: World, places: Places):
    other = World(places("memory"))
    genuine = left_by_a_dead_writer(other)
    key = put(world, genuine)
    with world.place.open() as graph:
        assert graph.recoveries.settled() == []
        (pending,) = graph.recoveries.pending()
        assert pending.reason == f"it belongs to another graph, {graph_of(genuine)}"
    world.survivor._repository.adapter.delete(key)
    world.begin(WRITE)
    world.check_rows(world.survivor)
    put(other, genuine)
    WRITE.apply(other.model, other.number)
    other.commits += 1
    with other.place.open() as graph:
        other.check_rows(graph)
        check_nothing_is_left(graph)
    other.close()
    world.is_in_use = False


def test_a_graph_that_was_copied_with_its_sidecar_is_settled_on_its_own(local_world: World, tmp_path: Path):
    """A copy of the whole directory is the same graph at another place."""
    world, scene = local_world, SCENES["complete"]
    sidecar = scene.begin(world)
    with og.open(shutil.copytree(world.place.uri, tmp_path / "copy")) as copied:
        world.check_rows(copied)
        check_nothing_is_left(copied)
        assert copied.recoveries.list()[0].kind == RecoveryKind.ROLLED_FORWARD
    assert len(world.sidecars()) == 1
    check_recovered(world, scene, sidecar)
