"""One publish without rivals: what is announced when, what becomes visible, and what never does."""

from __future__ import annotations

import json

import pytest
from publish_world import (
    FILM,
    PERSON,
    SAW,
    another_handle,
    appending,
    history,
    ids_at,
    ids_now,
    intent,
    new_graph,
    newest_manifest,
    plan,
    replacing_all,
    rows,
    sidecars,
    write,
)

from omnigraph import failpoints
from omnigraph.errors import InternalError, StorageCondition, StorageError
from omnigraph.history.whereabouts import whereabouts
from omnigraph.tables.counting import count_table_calls
from omnigraph.tables.log import LogTable
from omnigraph.testing.faults import Call, armed, recorded
from omnigraph.write.deadlines import Deadline
from omnigraph.write.plan import PublishPlan, ReadSet
from omnigraph.write.publish import publish


def test_a_publish_makes_all_its_tables_visible_in_one_commit():
    repository = new_graph()
    published = write(repository, {PERSON: appending("ann", "bob"), SAW: appending("e1")})
    assert ids_now(repository, PERSON) == ["ann", "bob"]
    assert ids_now(repository, SAW) == ["e1"]
    assert ids_now(repository, FILM) == []
    commits = history(repository)
    assert commits[-1] == published.commit == published.log.state.head
    assert len(commits) == 2


def test_a_plan_without_effects_publishes_its_commit():
    repository = new_graph()
    before = repository.newest().state.entries
    published = write(repository, {})
    assert history(repository)[-1] == published.commit
    assert dict(published.log.state.entries) == dict(before)


def test_the_steps_come_in_the_order_that_recovery_relies_on():
    repository = new_graph()
    with recorded() as reached:
        write(repository, {PERSON: appending("ann"), SAW: appending("e1")})
    assert reached == [
        failpoints.PUBLISH_BEFORE_SIDECAR,
        failpoints.RECOVERY_SIDECAR_WRITE,
        failpoints.PUBLISH_SIDECAR_WRITTEN,
        failpoints.PUBLISH_TABLE_COMMITTED,
        failpoints.PUBLISH_TABLE_COMMITTED,
        failpoints.PUBLISH_TABLES_DURABLE,
        failpoints.PUBLISH_BEFORE_COMMIT,
        failpoints.PUBLISH_AFTER_COMMIT,
        failpoints.PUBLISH_ACKNOWLEDGED,
        failpoints.RECOVERY_SIDECAR_DELETE,
        failpoints.PUBLISH_SIDECAR_DELETED,
    ]


def test_the_sidecar_lies_there_from_before_the_first_table_moves_until_after_the_commit_is_durable():
    repository = new_graph()
    seen: dict[str, tuple[int, int, bool]] = {}
    log = repository.newest()
    started = plan(repository, log, {PERSON: appending("ann")})

    def look(name: str) -> None:
        tables = another_handle(repository).tables
        pin = log.state.entries[PERSON].pin
        newest = tables.open_at(pin).dataset.latest_version - pin.version
        is_visible = newest_manifest(repository).find_commit(started.intent.id) is not None
        seen[name] = len(sidecars(repository)), newest, is_visible

    with armed(dict.fromkeys(failpoints.FAILPOINTS, Call(look))):
        publish(repository, started, Deadline())
    assert seen == {
        failpoints.PUBLISH_BEFORE_SIDECAR: (0, 0, False),
        failpoints.RECOVERY_SIDECAR_WRITE: (0, 0, False),
        failpoints.PUBLISH_SIDECAR_WRITTEN: (1, 0, False),
        failpoints.PUBLISH_TABLE_COMMITTED: (1, 1, False),
        failpoints.PUBLISH_TABLES_DURABLE: (1, 1, False),
        failpoints.PUBLISH_BEFORE_COMMIT: (1, 1, False),
        failpoints.PUBLISH_AFTER_COMMIT: (1, 1, True),
        failpoints.PUBLISH_ACKNOWLEDGED: (1, 1, True),
        failpoints.RECOVERY_SIDECAR_DELETE: (1, 1, True),
        failpoints.PUBLISH_SIDECAR_DELETED: (0, 1, True),
    }


def test_the_sidecar_says_all_that_a_recovery_needs():
    repository = new_graph()
    write(repository, {PERSON: appending("ann")})
    log = repository.newest()
    started = plan(
        repository, log, {PERSON: appending("bob"), SAW: appending("e1")}, reads=[FILM], of=intent(load_id="n-1")
    )
    found: list[bytes] = []

    def look(_name: str) -> None:
        key = repository.adapter.key(f"__recovery/{started.operation_id}.json")
        found.append(repository.adapter.read(key))

    with armed({failpoints.PUBLISH_SIDECAR_WRITTEN: Call(look)}):
        publish(repository, started, Deadline())
    tables = repository.snapshot(log).schema.tables

    def pin(key: str, version: int) -> dict[str, object]:
        return {"location": tables[key].location, "branch": None, "version": version}

    def effect(key: str, version: int, position: int) -> dict[str, object]:
        return {
            "table_key": key,
            "stable_table_id": tables[key].identity[0],
            "table_incarnation_id": tables[key].identity[1],
            **pin(key, version),
            "fork": None,
            "transaction_id": started.effects[position].staged[-1].transaction_id,
        }

    since_1970 = round(started.intent.created_at.timestamp() * 1_000_000)
    assert json.loads(found[0]) == {
        "schema_version": 2,
        "operation_id": started.operation_id,
        "graph": repository.snapshot(log).schema.ir.domain,
        "writer_kind": "load",
        "writer": {"id": repository.heart.writer, **whereabouts().to_dict()},
        "branch": {"name": "main", "physical": repository.main.physical, "incarnation": repository.main.incarnation},
        "base_manifest_version": 2,
        "commit": {
            "id": started.intent.id,
            "kind": "data",
            "actor": "tester",
            "created_at": since_1970,
            "properties": {"load_id": "n-1"},
        },
        "read_set": {
            "pins": [
                {"table_key": SAW, **pin(SAW, 1)},
                {"table_key": FILM, **pin(FILM, 1)},
                {"table_key": PERSON, **pin(PERSON, 2)},
            ],
            "schema_digest": log.state.schema_digest,
            "incarnation": repository.main.incarnation,
            "if_commit": None,
        },
        "tables": [effect(SAW, 1, 0), effect(PERSON, 2, 1)],
        "adopted": [],
        "merged": None,
    }


def test_the_planned_transaction_is_found_in_the_history_of_the_table():
    repository = new_graph()
    started = plan(repository, repository.newest(), {PERSON: appending("ann")})
    published = publish(repository, started, Deadline())
    handle = repository.tables.open_at(published.log.state.entries[PERSON].pin)
    made_by = handle.dataset.read_transaction(handle.pin.version)
    assert made_by.uuid == started.effects[0].staged[-1].transaction_id


@pytest.mark.parametrize("change", [appending, replacing_all])
def test_what_a_loser_left_on_a_table_never_becomes_visible(change):
    repository = new_graph()
    write(repository, {PERSON: appending("ann")})
    log = repository.newest()
    target = repository.snapshot(log).schema.node("Person")
    stray = repository.tables.open_at(log.state.entries[PERSON].pin)
    # Two unpublished versions, as a crashed writer and a loser leave them.
    repository.tables.commit_exact(stray, [repository.tables.stage_append(stray, rows(target, ["stray"]))])
    repository.tables.commit_exact(stray, [repository.tables.stage_overwrite(stray, rows(target, ["gone"]))])
    assert ids_now(repository, PERSON) == ["ann"]
    published = write(repository, {PERSON: change("bob")})
    kept = ["ann"] if change is appending else []
    assert ids_now(repository, PERSON) == [*kept, "bob"]
    assert ids_at(repository, published.log, PERSON) == [*kept, "bob"]
    assert published.log.state.entries[PERSON].row_count == len(kept) + 1


def test_a_foreign_append_on_the_newest_version_of_a_table_never_becomes_visible():
    import lance

    repository = new_graph()
    log = repository.newest()
    target = repository.snapshot(log).schema.node("Person")
    location = repository.adapter.lance_location(repository.adapter.key(target.location))
    lance.write_dataset(rows(target, ["foreign"]), location.uri, mode="append")
    write(repository, {PERSON: appending("ann")})
    write(repository, {PERSON: appending("bob")})
    assert ids_now(repository, PERSON) == ["ann", "bob"]


def test_a_publish_reads_nothing_and_opens_nothing_on_a_warm_handle():
    repository = new_graph()
    write(repository, {PERSON: appending("ann")})
    started = plan(repository, repository.newest(), {PERSON: appending("bob")})
    with count_table_calls() as counts:
        publish(repository, started, Deadline())
    assert counts == {"commit": 1, "log.stage": 1, "log.publish": 1}


def test_a_table_that_became_another_version_than_expected_is_published_as_what_it_is():
    repository = new_graph()
    log = repository.newest()
    stray = repository.tables.open_at(log.state.entries[PERSON].pin)
    target = repository.snapshot(log).schema.node("Person")
    repository.tables.commit_exact(stray, [repository.tables.stage_append(stray, rows(target, ["stray"]))])
    with count_table_calls() as counts:
        published = write(repository, {PERSON: appending("ann")})
    # Once ahead, for the version that was expected, and once for the one that was made.
    assert counts["log.stage"] == 2
    entry = published.log.state.entries[PERSON]
    assert entry.pin.version > stray.pin.version + 1
    assert ids_now(repository, PERSON) == ["ann"]


def test_a_version_that_could_not_be_staged_ahead_is_staged_when_its_tables_are_made():
    repository = new_graph()
    genuine, failures = LogTable.stage, [StorageError("Lost.", condition=StorageCondition.TRANSIENT, help="Wait.")]

    def stage(self: LogTable, *arguments: object) -> object:
        if failures:
            raise failures.pop()
        return genuine(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LogTable, "stage", stage)
        write(repository, {PERSON: appending("ann")})
    assert ids_now(repository, PERSON) == ["ann"]
    assert sidecars(repository) == []


# ── plans that cannot be ─────────────────────────────────────────────────────────────────────────────────────────


def altered(started: PublishPlan, **facts: object) -> PublishPlan:
    names = ("operation_id", "writer", "intent", "base", "read_set", "effects")
    return PublishPlan(**({name: getattr(started, name) for name in names} | facts))


def test_a_plan_relies_on_everything_that_it_changes():
    repository = new_graph()
    log = repository.newest()
    started = plan(repository, log, {PERSON: appending("ann")}, reads=[FILM])
    loose = ReadSet(pins={FILM: started.read_set.pins[FILM]}, schema_digest=log.state.schema_digest, incarnation="main")
    with pytest.raises(InternalError, match="node:Person"):
        altered(started, read_set=loose)


def test_a_plan_relies_on_what_its_base_has():
    repository = new_graph()
    old = repository.newest()
    write(repository, {PERSON: appending("ann")})
    started = plan(repository, old, {PERSON: appending("bob")})
    with pytest.raises(InternalError, match="pin:node:Person"):
        altered(started, base=repository.newest())
    other = ReadSet(pins=started.read_set.pins, schema_digest="0" * 64, incarnation="main")
    with pytest.raises(InternalError, match="schema"):
        altered(started, read_set=other)
    elsewhere = ReadSet(pins=started.read_set.pins, schema_digest=old.state.schema_digest, incarnation="b1")
    with pytest.raises(InternalError, match="its branch"):
        altered(started, read_set=elsewhere)


def test_a_plan_changes_a_table_once():
    repository = new_graph()
    started = plan(repository, repository.newest(), {PERSON: appending("ann")})
    with pytest.raises(InternalError, match="twice"):
        altered(started, effects=started.effects * 2)
