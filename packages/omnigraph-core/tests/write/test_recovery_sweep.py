"""When a cut-off write is touched, and when it is left alone: by what is known of its writer."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from publish_world import (
    FILM,
    PERSON,
    SAW,
    another_handle,
    appending,
    history,
    ids_now,
    new_graph,
    plan,
    sidecars,
    write,
)

from omnigraph import failpoints
from omnigraph.errors import RecoveryRequiredError, StorageCondition, StorageError
from omnigraph.history.heartbeats import Observer, heartbeat_key
from omnigraph.history.recoveries import RecoveryKind, read_recoveries
from omnigraph.history.repository import Repository
from omnigraph.testing.faults import Call, Fault, FaultyAdapter, armed
from omnigraph.write.deadlines import Deadline
from omnigraph.write.plan import PublishPlan
from omnigraph.write.publish import publish
from omnigraph.write.recovery.sweep import heal, sweep


class Cut(BaseException):
    """Ends a writer at a failpoint."""


def cut_off(repository: Repository, at: str, *persons: str, reads: Sequence[str] = ()) -> PublishPlan:
    """A write that ends at a failpoint and leaves what a process that was killed there leaves."""
    kept: dict[str, bytes] = {}

    def stop(_name: str) -> None:
        kept.update({each: repository.adapter.read(repository.adapter.key(each)) for each in sidecars(repository)})
        raise Cut

    started = plan(
        repository, repository.newest(), {PERSON: appending(*persons), FILM: appending("alien")}, reads=reads
    )
    with armed({at: Call(stop)}), pytest.raises(Cut):
        publish(repository, started, Deadline())
    for each in sidecars(repository):
        repository.adapter.delete(repository.adapter.key(each))
    for each, data in kept.items():
        repository.adapter.write(repository.adapter.key(each), data)
    return started


def move_elsewhere(repository: Repository, started: PublishPlan) -> None:
    """Let a sidecar be that of a process on another machine."""
    key = repository.adapter.key(f"__recovery/{started.operation_id}.json")
    facts = json.loads(repository.adapter.read(key))
    facts["writer"]["machine"] = "elsewhere/1"
    repository.adapter.write(key, json.dumps(facts).encode())


def opened(repository: Repository, *, patience: float = 0.3) -> Repository:
    """Another handle, which waits for writers elsewhere for so many seconds."""
    other = another_handle(repository)
    other.observer = Observer(other.adapter, patience=patience)
    return other


COMPLETE = failpoints.PUBLISH_TABLES_DURABLE
BEGUN = failpoints.PUBLISH_SIDECAR_WRITTEN


def test_a_graph_that_was_left_alone_costs_one_listing_and_nothing_is_told():
    repository = new_graph()
    assert sweep(repository) == heal(repository) == ()
    assert read_recoveries(repository.manifests) == ()


@pytest.mark.parametrize("act", [sweep, heal])
def test_a_write_that_is_complete_is_finished_as_who_began_it_by_whoever_comes(act):
    repository = new_graph()
    started = cut_off(repository, COMPLETE, "ann")
    (told,) = act(opened(repository))
    assert (told.kind, told.operation_id) == (RecoveryKind.ROLLED_FORWARD, started.operation_id)
    made = history(repository)[-1]
    assert (made.id, made.actor, made.created_at) == (
        started.intent.id,
        started.intent.actor,
        started.intent.created_at.replace(microsecond=made.created_at.microsecond),
    )
    assert ids_now(repository, PERSON) == ["ann"]
    assert sidecars(repository) == []
    assert read_recoveries(repository.manifests) == (told,)


def test_a_write_that_is_not_complete_is_left_to_the_next_opening():
    repository = new_graph()
    cut_off(repository, BEGUN, "ann")
    assert heal(opened(repository)) == ()
    assert len(sidecars(repository)) == 1
    (told,) = sweep(opened(repository))
    assert told.kind is RecoveryKind.ROLLED_BACK
    assert sidecars(repository) == []
    assert ids_now(repository, PERSON) == []


@pytest.mark.parametrize("act", [sweep, heal])
def test_a_write_that_was_published_is_only_cleaned_up(act):
    repository = new_graph()
    started = cut_off(repository, failpoints.PUBLISH_AFTER_COMMIT, "ann")
    write(repository, {PERSON: appending("bob")})
    (told,) = act(opened(repository))
    assert (told.kind, told.graph_commit_id) == (RecoveryKind.ROLLED_FORWARD, started.intent.id)
    assert [each.id for each in history(repository)].count(started.intent.id) == 1
    assert ids_now(repository, PERSON) == ["ann", "bob"]
    assert sidecars(repository) == []


def test_a_write_whose_reads_moved_is_taken_back():
    """Nobody touched the tables that it wrote to, but one that it relied on."""
    repository = new_graph()
    cut_off(repository, COMPLETE, "ann", reads=[SAW])
    write(repository, {SAW: appending("e1")})
    (told,) = sweep(opened(repository))
    assert told.kind is RecoveryKind.ROLLED_BACK
    assert ids_now(repository, PERSON) == []


def test_a_write_that_moved_some_tables_is_taken_back_and_they_show_what_is_published():
    repository = new_graph()
    write(repository, {PERSON: appending("ann"), FILM: appending("brazil")})
    cut_off(repository, failpoints.PUBLISH_TABLE_COMMITTED, "bob")
    (told,) = sweep(opened(repository))
    assert [(each.table_key, each.found) for each in told.tables] == [
        (FILM, "RolledPastExpected"),
        (PERSON, "NoMovement"),
    ]
    pins = {key: another_handle(repository).newest().state.entries[key].pin for key in (FILM, PERSON)}
    assert all(repository.tables.newest(pin).shows(pin.version) for pin in pins.values())
    assert repository.tables.newest(pins[FILM]).restores == pins[FILM].version
    assert ids_now(repository, FILM) == ["brazil"]


@pytest.mark.parametrize("act", [sweep, heal])
def test_what_its_own_writer_gave_up_is_taken_back_and_never_finished(act):
    repository = new_graph()
    started = cut_off(repository, COMPLETE, "ann")
    key = repository.adapter.key(f"__recovery/{started.operation_id}.json")
    repository.adapter.rename(key, repository.adapter.key(f"__recovery/{started.operation_id}.withdrawn.json"))
    (told,) = act(opened(repository))
    assert told.kind is RecoveryKind.ROLLED_BACK
    assert ids_now(repository, PERSON) == []
    assert len(history(repository)) == 1
    assert sidecars(repository) == []


@pytest.mark.parametrize("act", [sweep, heal])
@pytest.mark.parametrize("at", [BEGUN, COMPLETE, failpoints.PUBLISH_AFTER_COMMIT])
def test_a_write_of_this_process_that_is_under_way_is_left_alone(act, at):
    repository = new_graph()
    seen: list[object] = []
    started = plan(repository, repository.newest(), {PERSON: appending("ann")})
    with armed({at: Call(lambda _: seen.append(act(opened(repository))))}):
        publish(repository, started, Deadline())
    assert seen == [()]
    assert read_recoveries(repository.manifests) == ()
    assert ids_now(repository, PERSON) == ["ann"]


# ── writers elsewhere ────────────────────────────────────────────────────────────────────────────────────────────


def test_opening_waits_for_a_writer_elsewhere_that_shows_no_life_and_then_finishes_for_it():
    repository = new_graph()
    move_elsewhere(repository, cut_off(repository, COMPLETE, "ann"))
    other = opened(repository)
    assert heal(other) == ()
    (told,) = sweep(other)
    assert told.kind is RecoveryKind.ROLLED_FORWARD


@contextmanager
def beating(repository: Repository, writer: str) -> Iterator[None]:
    """A heart that beats elsewhere."""
    over = threading.Event()

    def beat() -> None:
        number = 0
        while not over.wait(0.02):
            number += 1
            repository.adapter.write(heartbeat_key(repository.adapter, writer), b"%d" % number)

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_opening_does_not_wait_for_the_end_of_a_writer_that_lives():
    repository = new_graph()
    move_elsewhere(repository, cut_off(repository, COMPLETE, "ann"))
    with beating(repository, repository.heart.writer):
        assert sweep(opened(repository, patience=60)) == ()
    assert len(sidecars(repository)) == 1


def test_opening_goes_on_when_the_writer_that_it_waits_for_is_done():
    repository = new_graph()
    started = cut_off(repository, COMPLETE, "ann")
    move_elsewhere(repository, started)
    key = repository.adapter.key(f"__recovery/{started.operation_id}.json")
    threading.Timer(0.2, lambda: repository.adapter.delete(key)).start()
    assert sweep(opened(repository, patience=60)) == ()


def test_a_handle_that_writes_finishes_for_a_writer_elsewhere_when_its_patience_is_over():
    repository = new_graph()
    move_elsewhere(repository, cut_off(repository, COMPLETE, "ann"))
    other = opened(repository, patience=0.1)
    ends = time.monotonic() + 30
    while not (told := heal(other)):
        assert time.monotonic() < ends
        time.sleep(0.02)
    assert told[0].kind is RecoveryKind.ROLLED_FORWARD


# ── trouble ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_sidecar_that_cannot_be_acted_on_holds_up_the_opening_and_no_other_sidecar_and_no_write(caplog):
    repository = new_graph()
    cut_off(repository, COMPLETE, "ann")
    bad = repository.adapter.key("__recovery/00000000000000000000000000.json")
    repository.adapter.write(bad, b"{}")
    other = opened(repository)
    with pytest.raises(RecoveryRequiredError, match="cannot be acted on") as caught:
        sweep(other)
    assert caught.value.operation_id == "00000000000000000000000000"
    assert "recovery discard" in str(caught.value)
    assert sidecars(repository) == [bad.value]
    assert heal(other) == ()
    assert "cannot be acted on" in caplog.text
    assert ids_now(repository, PERSON) == ["ann"]
    write(other, {PERSON: appending("bob")})
    assert ids_now(repository, PERSON) == ["ann", "bob"]


def test_sidecars_that_cannot_be_listed_are_an_error_for_everybody():
    repository = new_graph()
    faulty = FaultyAdapter(repository.adapter, Fault(verb="list_dir", error=OSError(5, "I/O"), times=2))
    other = another_handle(repository, faulty)
    for act in (sweep, heal):
        with pytest.raises(StorageError):
            act(other)
    assert sweep(other) == ()


def test_a_write_goes_on_when_what_was_cut_off_before_it_cannot_be_put_right(caplog):
    repository = new_graph()
    cut_off(repository, COMPLETE, "ann")
    other = opened(repository)
    lost = StorageError("The store is gone.", condition=StorageCondition.TRANSIENT, help="Wait.")

    def fail(_name: str) -> None:
        raise lost

    with armed({failpoints.RECOVERY_RECORD_AUDIT: Call(fail)}):
        assert heal(other) == ()
    assert "The store is gone" in caplog.text
    assert len(sidecars(repository)) == 1
    (told,) = heal(other)
    assert told.kind is RecoveryKind.ROLLED_FORWARD
    assert len(history(repository)) == 2


def test_of_two_writes_that_were_cut_off_on_one_state_the_first_is_finished_and_the_second_taken_back():
    repository = new_graph()
    first = cut_off(repository, COMPLETE, "ann")
    second = cut_off(repository, COMPLETE, "bob")
    told = sweep(opened(repository))
    assert [(each.operation_id, each.kind) for each in told] == [
        (first.operation_id, RecoveryKind.ROLLED_FORWARD),
        (second.operation_id, RecoveryKind.ROLLED_BACK),
    ]
    assert ids_now(repository, PERSON) == ["ann"]
    log = another_handle(repository).newest()
    for key in (PERSON, FILM):
        pin = log.state.entries[key].pin
        assert repository.tables.newest(pin).shows(pin.version)
