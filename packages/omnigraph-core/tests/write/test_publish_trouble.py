"""A publish in a store that fails, forgets to answer, or goes away: what is certain is told, and nothing else."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterator
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
    new_adapter,
    new_graph,
    plan,
    sidecars,
    swaps,
    write,
    write_elsewhere,
)

from omnigraph import failpoints
from omnigraph.cancellation import CallCancelledError, CancellationToken, cancellable
from omnigraph.errors import FormatError, OutcomeUnknownError, StorageCondition, StorageError
from omnigraph.history.repository import Repository
from omnigraph.storage import ObjectKey, StorageAdapter
from omnigraph.tables.log import LogRefusedError, LogTable
from omnigraph.testing.faults import Call, FailpointError, Fault, FaultyAdapter, Raise, RaiseTimes, armed, recorded
from omnigraph.write.deadlines import Deadline
from omnigraph.write.publish import SETTLING_LOOKS, publish

LOST = StorageError("The line went dead.", condition=StorageCondition.TRANSIENT)
FULL = StorageError("The disk is full.", condition=StorageCondition.CONFIGURATION)


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What was waited for, without the waiting."""
    found: list[int] = []
    monkeypatch.setattr("omnigraph.write.publish.pause", found.append)
    return found


@contextmanager
def standing_in(owner: object, name: str, stand_in: object) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, stand_in)
        yield


def check_went_on(repository: Repository, *, persons: list[str]) -> None:
    """The graph is as it should be, and the next write of any handle works."""
    assert ids_now(repository, PERSON) == persons
    history(repository)
    write(repository, {PERSON: appending("next")})
    write_elsewhere(repository, {PERSON: appending("other")})
    assert ids_now(repository, PERSON) == sorted([*persons, "next", "other"])
    history(repository)


# ── the answer to the swap is lost ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_swap_whose_answer_was_lost_is_settled_and_happens_once(moment, pauses):
    repository = new_graph()
    with swaps((moment, LOST)) as asked:
        published = write(repository, {PERSON: appending("ann")})
    assert asked.asked == 2
    assert pauses == [1]
    assert [each.id for each in history(repository)][1:] == [published.commit.id]
    assert published.log.version == 2
    assert sidecars(repository) == []
    check_went_on(repository, persons=["ann"])


def test_a_swap_repeated_below_a_rival_finds_itself():
    repository = new_graph()
    started = plan(repository, repository.newest(), {PERSON: appending("ann")})
    with swaps(("after", LOST), lambda: write_elsewhere(repository, {PERSON: appending("bob")})):
        published = publish(repository, started, Deadline())
    assert [each.id for each in history(repository)][1] == published.commit.id == started.intent.id
    assert published.log.state.head == published.commit
    check_went_on(repository, persons=["ann", "bob"])


def test_a_swap_that_never_happened_and_was_then_lost_to_a_rival_is_published_behind_it():
    repository = new_graph()
    with swaps(("before", LOST), lambda: write_elsewhere(repository, {FILM: appending("alien")})):
        published = write(repository, {PERSON: appending("ann")})
    assert published.commit.manifest_version == 3
    check_went_on(repository, persons=["ann"])


@pytest.mark.parametrize(("moment", "persons"), [("before", []), ("after", ["ann"])])
def test_a_dead_store_leaves_the_outcome_unknown_and_the_sidecar_there(moment, persons, pauses):
    repository = new_graph()
    started = plan(repository, repository.newest(), {PERSON: appending("ann")})
    with swaps(*[(moment, LOST)] * 9) as asked, pytest.raises(OutcomeUnknownError) as caught:
        publish(repository, started, Deadline())
    assert asked.asked == SETTLING_LOOKS == 5
    assert pauses == [1, 2, 3, 4, 5]
    assert caught.value.commit_id == started.intent.id
    assert f"commit show {repository.adapter.root} {started.intent.id}" in str(caught.value)
    assert caught.value.__cause__ is LOST
    assert sidecars(repository) == [f"__recovery/{started.operation_id}.json"]
    assert pickle.loads(pickle.dumps(caught.value)).commit_id == started.intent.id
    check_went_on(repository, persons=persons)


@pytest.mark.parametrize("failures", [1, 4])
def test_a_swap_that_is_made_and_not_yet_durable_is_not_acknowledged(failures):
    repository = new_graph()
    genuine, left = LogTable.sync, [LOST] * failures

    def sync(self: LogTable) -> None:
        if left:
            raise left.pop()
        genuine(self)

    with standing_in(LogTable, "sync", sync), recorded() as reached:
        write(repository, {PERSON: appending("ann")})
    assert reached.count(failpoints.PUBLISH_AFTER_COMMIT) == failures + 1
    assert len(history(repository)) == 2
    left.extend([LOST] * 5)
    with standing_in(LogTable, "sync", sync), pytest.raises(OutcomeUnknownError):
        write(repository, {PERSON: appending("bob")})
    assert len(sidecars(repository)) == 1
    check_went_on(repository, persons=["ann", "bob"])


# ── the look for what happened is lost ───────────────────────────────────────────────────────────────────────────


def failing_opens(monkeypatch: pytest.MonkeyPatch, *errors: Exception) -> None:
    """The next looks at the newest log fail, as many as there are errors."""
    import omnigraph.history.repository as module

    genuine, left = module.open_manifest, list(errors)

    def open_manifest(*arguments, **keywords):
        if left:
            raise left.pop(0)
        return genuine(*arguments, **keywords)

    monkeypatch.setattr(module, "open_manifest", open_manifest)


DAMAGED = FormatError("It is damaged.")


@pytest.mark.parametrize("errors", [[LOST], [LOST, DAMAGED, LOST, LOST]])
def test_a_look_after_a_lost_swap_is_repeated(errors, monkeypatch):
    repository = new_graph()
    rival = another_handle(repository)
    theirs = plan(rival, rival.newest(), {FILM: appending("alien")})
    started = plan(repository, repository.newest(), {PERSON: appending("ann")})
    publish(rival, theirs, Deadline())
    failing_opens(monkeypatch, *errors)
    publish(repository, started, Deadline())
    check_went_on(repository, persons=["ann"])


def test_a_look_that_nobody_answers_leaves_the_outcome_unknown(monkeypatch):
    repository = new_graph()
    rival = another_handle(repository)
    theirs = plan(rival, rival.newest(), {FILM: appending("alien")})
    started = plan(repository, repository.newest(), {PERSON: appending("ann")})
    publish(rival, theirs, Deadline())
    failing_opens(monkeypatch, *[LOST] * SETTLING_LOOKS)
    with pytest.raises(OutcomeUnknownError):
        publish(repository, started, Deadline())
    assert sidecars(repository) == [f"__recovery/{started.operation_id}.json"]
    check_went_on(repository, persons=[])


# ── what certainly did not happen ────────────────────────────────────────────────────────────────────────────────


def left_withdrawn(repository: Repository) -> list[str]:
    """The operations whose plans were given up after a table moved; nobody may finish them."""
    kept = sidecars(repository)
    assert all(each.endswith(".withdrawn.json") for each in kept), kept
    return kept


def test_a_version_that_cannot_be_written_is_a_failure_and_no_doubt():
    repository = new_graph()

    def stage(*_arguments: object) -> None:
        raise FULL

    with standing_in(LogTable, "stage", stage), swaps() as asked, pytest.raises(StorageError) as caught:
        write(repository, {PERSON: appending("ann")})
    assert caught.value is FULL
    assert asked.asked == 0
    assert len(left_withdrawn(repository)) == 1
    check_went_on(repository, persons=[])


def test_a_swap_that_the_system_refused_is_a_failure_and_no_doubt(pauses):
    repository = new_graph()
    with swaps(("before", LogRefusedError(FULL))) as asked, pytest.raises(StorageError) as caught:
        write(repository, {PERSON: appending("ann")})
    assert caught.value is FULL
    assert asked.asked == 1
    assert pauses == []
    assert len(left_withdrawn(repository)) == 1
    check_went_on(repository, persons=[])


def test_a_refusal_says_nothing_about_the_request_before_it():
    repository = new_graph()
    with (
        swaps(("after", LOST), *[("before", LogRefusedError(FULL))] * 4),
        pytest.raises(OutcomeUnknownError) as caught,
    ):
        write(repository, {PERSON: appending("ann")})
    assert caught.value.__cause__ is FULL
    assert len(sidecars(repository)) == 1
    check_went_on(repository, persons=["ann"])


@contextmanager
def failing_commits(repository: Repository, *, nth: int) -> Iterator[None]:
    """The nth commit of a table fails."""
    genuine, count = repository.tables.commit_exact, [0]

    def commit_exact(*arguments, **keywords):
        count[0] += 1
        if count[0] == nth:
            raise FULL
        return genuine(*arguments, **keywords)

    with standing_in(repository.tables, "commit_exact", commit_exact):
        yield


@pytest.mark.parametrize("nth", [1, 2])
def test_a_table_that_cannot_be_committed_leaves_nothing_visible(nth):
    repository = new_graph()
    write(repository, {PERSON: appending("ann")})
    with failing_commits(repository, nth=nth), pytest.raises(StorageError) as caught:
        write(repository, {PERSON: appending("bob"), SAW: appending("e1")})
    assert caught.value is FULL
    # A recovery that found the plan as it was could make the write happen after its caller was told that it failed.
    assert len(left_withdrawn(repository)) == 1
    assert ids_now(repository, SAW) == []
    check_went_on(repository, persons=["ann"])


# ── the sidecar cannot be written or removed ─────────────────────────────────────────────────────────────────────


def graph_with(*faults: Fault) -> tuple[Repository, Repository]:
    """A graph, and a second handle of it whose store has faults."""
    sound = new_graph(new_adapter())
    faulty: StorageAdapter = FaultyAdapter(sound.adapter, *faults)
    return sound, another_handle(sound, faulty)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_without_a_sidecar_no_table_moves(moment):
    sound, repository = graph_with(
        Fault(verb="write", error=OSError(5, "I/O"), moment=moment, name_contains="__recovery")
    )
    log = repository.newest()
    with pytest.raises(StorageError):
        write(repository, {PERSON: appending("ann")})
    handle = another_handle(sound).tables.open_at(log.state.entries[PERSON].pin)
    assert handle.dataset.latest_version == handle.pin.version
    check_went_on(repository, persons=[])


def test_a_sidecar_that_cannot_be_removed_is_a_warning(caplog):
    sound, repository = graph_with(Fault(verb="delete", error=OSError(5, "I/O"), name_contains="__recovery"))
    with caplog.at_level(logging.WARNING):
        published = write(repository, {PERSON: appending("ann")})
    assert history(sound)[-1] == published.commit
    [left] = sidecars(sound)
    assert left in caplog.text
    check_went_on(repository, persons=["ann"])


IMMOVABLE = [
    Fault(verb="rename", error=OSError(5, "I/O"), name_contains="__recovery"),
    Fault(verb="delete", error=OSError(5, "I/O"), name_contains="__recovery"),
]


def test_a_failed_write_whose_plan_cannot_be_renamed_takes_it_away():
    sound, repository = graph_with(IMMOVABLE[0])
    with failing_commits(repository, nth=1), pytest.raises(StorageError) as caught:
        write(repository, {PERSON: appending("ann")})
    assert caught.value is FULL
    assert sidecars(sound) == []
    check_went_on(repository, persons=[])


def test_a_failed_write_that_cannot_be_withdrawn_may_still_happen():
    sound, repository = graph_with(*IMMOVABLE)
    with failing_commits(repository, nth=1), pytest.raises(OutcomeUnknownError) as caught:
        write(repository, {PERSON: appending("ann")})
    assert caught.value.__cause__ is FULL
    assert len(sidecars(sound)) == 1
    check_went_on(repository, persons=[])


def test_a_deadline_that_cannot_be_withdrawn_may_still_happen():
    sound, repository = graph_with(*IMMOVABLE)
    started = plan(repository, repository.newest(), {PERSON: appending("ann")})
    write(sound, {FILM: appending("alien")})
    with pytest.raises(OutcomeUnknownError):
        publish(repository, started, Deadline(seconds=0))
    assert len(sidecars(sound)) == 1


# ── the process stumbles ─────────────────────────────────────────────────────────────────────────────────────────

PUBLISH_POINTS = [
    name
    for name in failpoints.FAILPOINTS
    # The other one is reached only where a race is lost.
    if name.startswith("publish.") and name != failpoints.PUBLISH_LOAD_STATE_RETRYABLE_CONTENTION
]
UNDONE = PUBLISH_POINTS[
    PUBLISH_POINTS.index(failpoints.PUBLISH_TABLE_COMMITTED) : PUBLISH_POINTS.index(failpoints.PUBLISH_ACKNOWLEDGED)
]
VISIBLE = PUBLISH_POINTS[PUBLISH_POINTS.index(failpoints.PUBLISH_AFTER_COMMIT) :]


@pytest.mark.parametrize(
    "error",
    [FailpointError("here"), KeyboardInterrupt(), CallCancelledError()],
    ids=["error", "interrupt", "cancellation"],
)
@pytest.mark.parametrize("name", PUBLISH_POINTS)
def test_a_write_that_is_interrupted_leaves_the_old_state_or_the_new_one_and_nothing_that_others_would_finish(
    name, error
):
    repository = new_graph()
    write(repository, {PERSON: appending("ann")})
    with armed({name: Raise(error)}), pytest.raises(type(error)):
        write(repository, {PERSON: appending("bob"), SAW: appending("e1")})
    is_visible = name in VISIBLE
    assert ids_now(repository, SAW) == (["e1"] if is_visible else [])
    assert len(left_withdrawn(repository)) == (name in UNDONE)
    check_went_on(repository, persons=["ann", "bob"] if is_visible else ["ann"])


def test_a_sidecar_that_is_being_written_when_the_write_is_interrupted_is_taken_away():
    repository = new_graph()
    genuine = type(repository.adapter).write

    def write_and_stumble(self: StorageAdapter, key: ObjectKey, data: bytes) -> None:
        genuine(self, key, data)
        raise KeyboardInterrupt

    with standing_in(type(repository.adapter), "write", write_and_stumble), pytest.raises(KeyboardInterrupt):
        write(repository, {PERSON: appending("ann")})
    assert sidecars(repository) == []
    check_went_on(repository, persons=[])


def test_an_interrupted_write_whose_sidecar_stays_is_still_an_interrupt(caplog):
    sound, repository = graph_with(*IMMOVABLE)
    interrupt = armed({failpoints.PUBLISH_TABLES_DURABLE: Raise(KeyboardInterrupt())})
    with caplog.at_level(logging.WARNING), interrupt, pytest.raises(KeyboardInterrupt):
        write(repository, {PERSON: appending("ann")})
    [left] = sidecars(sound)
    assert left in caplog.text
    check_went_on(repository, persons=[])


# ── nobody waits for the write any more ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", PUBLISH_POINTS)
def test_a_write_that_is_given_up_stops_before_it_is_announced_or_goes_on_to_its_end(name):
    repository, token = new_graph(), CancellationToken()
    write(repository, {PERSON: appending("ann")})
    is_early = name == failpoints.PUBLISH_BEFORE_SIDECAR
    with armed({name: Call(lambda _: token.cancel())}), cancellable(token):
        if is_early:
            with pytest.raises(CallCancelledError):
                write(repository, {PERSON: appending("bob")})
        else:
            write(repository, {PERSON: appending("bob")})
    assert token.is_cancelled
    assert sidecars(repository) == []
    check_went_on(repository, persons=["ann"] if is_early else ["ann", "bob"])


def test_a_write_that_is_given_up_after_it_was_announced_goes_on_past_others():
    repository, token = new_graph(), CancellationToken()

    def be_overtaken() -> None:
        token.cancel()
        write_elsewhere(repository, {FILM: appending("alien")})

    with swaps(be_overtaken), cancellable(token):
        published = write(repository, {PERSON: appending("ann")})
    assert published.commit.manifest_version == 3
    check_went_on(repository, persons=["ann"])


@pytest.mark.parametrize("name", [failpoints.PUBLISH_BEFORE_COMMIT, failpoints.PUBLISH_AFTER_COMMIT])
def test_a_failure_of_the_store_around_the_swap_is_a_lost_answer(name):
    repository = new_graph()
    with armed({name: RaiseTimes(1, LOST)}):
        write(repository, {PERSON: appending("ann")})
    check_went_on(repository, persons=["ann"])
