"""``run_write``: on which state a write is prepared, how often, and when it is a conflict instead."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from publish_world import (
    FILM,
    PERSON,
    Change,
    another_handle,
    appending,
    history,
    ids_at,
    ids_now,
    intent,
    new_graph,
    plan,
    publish_bare,
    replacing_all,
    sidecars,
    swaps,
    write,
    write_elsewhere,
)

from omnigraph import failpoints
from omnigraph.errors import (
    BranchReplacedError,
    ConstraintError,
    ContentionError,
    HeadMovedError,
    StorageCondition,
    StorageError,
)
from omnigraph.history.commits import CommitKind
from omnigraph.history.log import ManifestLog
from omnigraph.history.repository import Repository
from omnigraph.history.snapshot import Snapshot
from omnigraph.testing.faults import Barrier, armed
from omnigraph.write.attempts import WriteRequest, run_write
from omnigraph.write.deadlines import Deadline
from omnigraph.write.plan import PublishPlan


class Preparing:
    """A writer that notes what it was asked to prepare on.

    ``first`` is called with each log before the plan is made: to let a rival publish, or to refuse.
    """

    def __init__(
        self, repository: Repository, changes: dict[str, Change], first: Callable[[ManifestLog], None] | None = None
    ) -> None:
        self.repository = repository
        self.changes = changes
        self.first = first
        self.intent = intent()
        self.if_commit: str | None = None
        self.versions: list[int] = []
        self.voids: list[bool] = []

    def __call__(self, log: ManifestLog, snapshot: Snapshot, is_void: bool) -> PublishPlan:
        assert snapshot.state is log.state
        self.versions.append(log.version)
        self.voids.append(is_void)
        if self.first is not None:
            self.first(log)
        made = plan(self.repository, log, self.changes, of=self.intent)
        return replace(made, read_set=replace(made.read_set, if_commit=self.if_commit))


def once(act: Callable[[], object]) -> Callable[[ManifestLog], None]:
    """Does something at the first preparation only."""
    left = [act]

    def first(_log: ManifestLog) -> None:
        if left:
            left.pop()()

    return first


def test_a_write_is_prepared_on_what_is_known_without_a_look():
    repository = new_graph()
    writer = Preparing(repository, {PERSON: appending("ann")})
    published = run_write(repository, WriteRequest(branch="main"), writer)
    assert writer.versions == [1]
    assert writer.voids == [False]
    assert published.commit.id == writer.intent.id
    assert ids_now(repository, PERSON) == ["ann"]


def test_a_write_that_lost_its_read_set_is_prepared_on_what_moved_it():
    repository = new_graph()
    rival = once(lambda: write_elsewhere(repository, {PERSON: appending("bob")}))
    writer = Preparing(repository, {PERSON: appending("ann")}, rival)
    published = run_write(repository, WriteRequest(branch="main"), writer)
    assert writer.versions == [1, 2]
    assert writer.voids == [False, False]
    assert published.commit.id == writer.intent.id
    assert published.commit.manifest_version == 3
    assert ids_now(repository, PERSON) == ["ann", "bob"]
    assert sidecars(repository) == []
    history(repository)


# ── strict writes ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_strict_write_whose_data_moved_is_a_conflict():
    repository = new_graph()
    seen = repository.newest().state.head
    theirs = []
    rival = once(lambda: theirs.append(write_elsewhere(repository, {PERSON: appending("bob")})))
    writer = Preparing(repository, {PERSON: replacing_all("ann")}, rival)
    with pytest.raises(HeadMovedError) as caught:
        run_write(repository, WriteRequest(branch="main", is_strict=True), writer)
    assert writer.versions == [1]
    assert caught.value.expected == seen.id
    assert caught.value.actual == theirs[0].id
    assert (caught.value.branch, caught.value.members) == ("main", (f"pin:{PERSON}",))
    assert ids_now(repository, PERSON) == ["bob"]
    assert sidecars(repository) == []


def test_a_strict_write_is_no_conflict_with_what_happened_before_it_began():
    repository = new_graph()
    write_elsewhere(repository, {PERSON: appending("bob")})
    assert repository.known().version == 1
    writer = Preparing(repository, {PERSON: replacing_all("ann")})
    run_write(repository, WriteRequest(branch="main", is_strict=True), writer)
    assert writer.versions == [2]
    assert ids_now(repository, PERSON) == ["ann"]


def test_a_strict_write_is_no_conflict_with_what_happens_to_other_types():
    repository = new_graph()
    rival = once(lambda: write_elsewhere(repository, {FILM: appending("alien")}))
    run_write(
        repository,
        WriteRequest(branch="main", is_strict=True),
        Preparing(repository, {PERSON: replacing_all("ann")}, rival),
    )
    assert ids_now(repository, PERSON) == ["ann"]


@pytest.mark.parametrize("kind", [CommitKind.MAINTENANCE, CommitKind.FENCE])
def test_a_strict_write_is_prepared_again_after_maintenance(kind):
    repository = new_graph()
    changes = {PERSON: replacing_all()} if kind is CommitKind.MAINTENANCE else {}
    rival = once(lambda: write_elsewhere(repository, changes, kind))
    writer = Preparing(repository, {PERSON: replacing_all("ann")}, rival)
    run_write(repository, WriteRequest(branch="main", is_strict=True), writer)
    assert writer.versions == [1, 2]
    assert writer.voids == [False, kind is CommitKind.FENCE]
    assert ids_now(repository, PERSON) == ["ann"]


# ── verdicts on an old state ─────────────────────────────────────────────────────────────────────────────────────

BROKEN = ConstraintError("A rule is broken.")
MISSING = StorageError("A file is gone.", condition=StorageCondition.NOT_FOUND)
LOST = StorageError("The line went dead.", condition=StorageCondition.TRANSIENT)


def refusing(error: Exception, *versions: int) -> Callable[[ManifestLog], None]:
    def first(log: ManifestLog) -> None:
        if not versions or log.version in versions:
            raise error

    return first


@pytest.mark.parametrize("error", [BROKEN, MISSING])
def test_a_verdict_on_an_old_state_is_reached_again_on_the_newest(error):
    repository = new_graph()
    write_elsewhere(repository, {PERSON: appending("bob")})
    writer = Preparing(repository, {PERSON: appending("ann")}, refusing(error, 1))
    run_write(repository, WriteRequest(branch="main"), writer)
    assert writer.versions == [1, 2]
    assert ids_now(repository, PERSON) == ["ann", "bob"]


@pytest.mark.parametrize("error", [BROKEN, MISSING])
def test_a_verdict_on_the_newest_state_stands(error):
    repository = new_graph()
    write_elsewhere(repository, {PERSON: appending("bob")})
    writer = Preparing(repository, {PERSON: appending("ann")}, refusing(error))
    with pytest.raises(type(error)) as caught:
        run_write(repository, WriteRequest(branch="main"), writer)
    assert caught.value is error
    assert writer.versions == [1, 2]
    assert ids_now(repository, PERSON) == ["bob"]
    assert sidecars(repository) == []


def test_another_failure_to_prepare_is_not_tried_again():
    repository = new_graph()
    write_elsewhere(repository, {PERSON: appending("bob")})
    writer = Preparing(repository, {PERSON: appending("ann")}, refusing(LOST))
    with pytest.raises(StorageError):
        run_write(repository, WriteRequest(branch="main"), writer)
    assert writer.versions == [1]


def test_verdicts_that_are_always_too_late_end_at_the_deadline():
    repository = new_graph()

    def first(_log: ManifestLog) -> None:
        write_elsewhere(repository, {FILM: appending("x")})
        raise BROKEN

    with pytest.raises(ContentionError) as caught:
        run_write(
            repository,
            WriteRequest(branch="main", deadline=Deadline(seconds=0.05)),
            Preparing(repository, {}, first),
        )
    assert caught.value.attempts > 1


# ── files that a fence made void ─────────────────────────────────────────────────────────────────────────────────


def test_files_written_before_a_fence_are_void():
    repository = new_graph()
    staged_at = repository.known().version
    # Another thread of this process publishes the fence: the newest log is known by the time the write is prepared.
    write(repository, {}, kind=CommitKind.FENCE)
    writer = Preparing(repository, {PERSON: appending("ann")})
    run_write(repository, WriteRequest(branch="main", staged_at=staged_at), writer)
    assert writer.versions == [2]
    assert writer.voids == [True]
    later = Preparing(repository, {PERSON: appending("bob")})
    run_write(repository, WriteRequest(branch="main", staged_at=repository.known().version), later)
    assert later.voids == [False]


def test_what_is_void_stays_void_until_a_preparation_succeeds():
    repository = new_graph()

    def rival() -> None:
        write_elsewhere(repository, {}, CommitKind.FENCE)

    writer = Preparing(repository, {PERSON: appending("ann")}, once(rival))

    def prepare(log: ManifestLog, snapshot: Snapshot, is_void: bool) -> PublishPlan:
        made = writer(log, snapshot, is_void)
        if len(writer.versions) == 2:
            # Refused after the fence was noticed and before files are written anew; and it is not the newest state.
            write_elsewhere(repository, {FILM: appending("alien")})
            raise BROKEN
        return made

    run_write(repository, WriteRequest(branch="main"), prepare)
    assert writer.versions == [1, 2, 3]
    assert writer.voids == [False, True, True]


def test_a_fence_is_forgotten_once_files_are_written_anew():
    repository = new_graph()
    rivals = [
        lambda: write_elsewhere(repository, {}, CommitKind.FENCE),
        lambda: write_elsewhere(repository, {PERSON: appending("bob")}),
    ]

    def first(_log: ManifestLog) -> None:
        if rivals:
            rivals.pop(0)()

    writer = Preparing(repository, {PERSON: appending("ann")}, first)
    run_write(repository, WriteRequest(branch="main"), writer)
    assert writer.voids == [False, True, False]
    assert ids_now(repository, PERSON) == ["ann", "bob"]


def test_a_branch_made_anew_while_rows_are_judged_is_a_conflict():
    repository = new_graph()
    repository.newest().table.dataset.create_branch("b1", 1)
    repository.newest().table.dataset.create_branch("b2", 1)

    def point(physical: str) -> None:
        ref = {"name": "dev", "physical": physical, "incarnation": physical.removeprefix("b")}
        ref["root"] = repository.main.physical
        repository.adapter.write(repository.adapter.key("_refs/branches/dev.json"), json.dumps(ref).encode())

    point("b1")

    def first(log: ManifestLog) -> None:
        publish_bare(log)
        point("b2")
        raise BROKEN

    with pytest.raises(BranchReplacedError) as caught:
        run_write(repository, WriteRequest(branch="dev"), Preparing(repository, {}, first))
    assert (caught.value.expected, caught.value.actual) == ("1", "2")


# ── many writers ─────────────────────────────────────────────────────────────────────────────────────────────────


def count_up(repository: Repository) -> None:
    """A write that depends on what it read: the one id in the table is a number, and it becomes the next one."""
    own = intent()

    def prepare(log: ManifestLog, _snapshot: Snapshot, _is_void: bool) -> PublishPlan:
        [number] = ids_at(repository, log, PERSON)
        return plan(repository, log, {PERSON: replacing_all(str(int(number) + 1))}, of=own)

    run_write(repository, WriteRequest(branch="main"), prepare)


@pytest.mark.parametrize("is_shared", [True, False], ids=["one handle", "a handle each"])
def test_no_update_of_concurrent_writers_is_lost(is_shared):
    repository = new_graph()
    write(repository, {PERSON: appending("0")})
    handles = [repository if is_shared else another_handle(repository) for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(count_up, handle) for handle in handles for _ in range(3)]:
            done.result()
    assert ids_now(repository, PERSON) == ["24"]
    assert len(history(repository)) == 2 + 24
    assert sidecars(repository) == []


def test_strict_writers_that_meet_are_one_winner_and_conflicts():
    repository = new_graph()
    handles = [another_handle(repository) for _ in range(4)]
    met = threading.Barrier(4)

    def overwrite(name: str, handle: Repository) -> bool:
        writer = Preparing(handle, {PERSON: replacing_all(name)}, once(met.wait))
        try:
            run_write(handle, WriteRequest(branch="main", is_strict=True), writer)
        except HeadMovedError:
            return False
        return True

    with ThreadPoolExecutor(4) as threads:
        won = list(threads.map(overwrite, "abcd", handles))
    assert won.count(True) == 1
    assert ids_now(repository, PERSON) == ["abcd"[won.index(True)]]
    assert len(history(repository)) == 2


def test_two_writers_of_one_table_that_meet_at_the_swap_both_land():
    repository = new_graph()
    handles = [another_handle(repository) for _ in range(2)]

    def append(name: str, handle: Repository) -> None:
        run_write(handle, WriteRequest(branch="main"), Preparing(handle, {PERSON: appending(name)}))

    with armed({failpoints.PUBLISH_BEFORE_COMMIT: Barrier(2)}), ThreadPoolExecutor(2) as threads:
        list(threads.map(append, "ab", handles))
    assert ids_now(repository, PERSON) == ["a", "b"]
    assert len(history(repository)) == 3


def test_a_write_ends_at_its_deadline_when_others_always_come_first():
    repository = new_graph()

    def first(_log: ManifestLog) -> None:
        write_elsewhere(repository, {PERSON: appending(f"rival {len(history(repository))}")})

    writer = Preparing(repository, {PERSON: appending("ann")}, first)
    with pytest.raises(ContentionError) as caught:
        run_write(repository, WriteRequest(branch="main", deadline=Deadline(seconds=0.05)), writer)
    assert (caught.value.branch, caught.value.attempts) == ("main", len(writer.versions))
    assert "ann" not in ids_now(repository, PERSON)
    assert sidecars(repository) == []


def test_a_lost_answer_of_a_write_that_is_prepared_again_is_settled_too():
    repository = new_graph()
    rival = once(lambda: write_elsewhere(repository, {PERSON: appending("bob")}))
    writer = Preparing(repository, {PERSON: appending("ann")}, rival)
    # The rival's, the lost one, and the second attempt whose answer is lost after its effect.
    with swaps(None, None, ("after", LOST)):
        run_write(repository, WriteRequest(branch="main"), writer)
    assert ids_now(repository, PERSON) == ["ann", "bob"]
    assert [each.id for each in history(repository)].count(writer.intent.id) == 1


# ── a commit to be built on ──────────────────────────────────────────────────────────────────────────────────────


def test_a_write_on_the_newest_commit_lands():
    repository = new_graph()
    head = repository.newest().state.head.id
    request = WriteRequest(branch="main", if_commit=head)
    run_write(repository, request, Preparing(repository, {PERSON: appending("ann")}))
    assert ids_now(repository, PERSON) == ["ann"]


def test_a_write_on_a_commit_that_is_not_the_newest_is_refused_before_it_is_prepared():
    repository = new_graph()
    head = repository.newest().state.head.id
    theirs = write_elsewhere(repository, {FILM: appending("alien")})
    writer = Preparing(repository, {PERSON: appending("ann")})
    with pytest.raises(HeadMovedError) as caught:
        run_write(repository, WriteRequest(branch="main", if_commit=head), writer)
    assert (caught.value.expected, caught.value.actual) == (head, theirs.id)
    assert writer.versions == []


def test_a_write_on_a_commit_is_a_conflict_with_whatever_comes_between_also_on_other_types():
    repository = new_graph()
    head = repository.newest().state.head.id
    rival = once(lambda: write_elsewhere(repository, {FILM: appending("alien")}))
    writer = Preparing(repository, {PERSON: appending("ann")}, rival)
    writer.if_commit = head
    with pytest.raises(HeadMovedError) as caught:
        run_write(repository, WriteRequest(branch="main", if_commit=head), writer)
    assert caught.value.expected == head
    assert ids_now(repository, PERSON) == []
    assert sidecars(repository) == []


def test_maintenance_after_a_commit_is_not_in_the_way_of_a_write_on_it():
    repository = new_graph()
    head = repository.newest().state.head.id
    write_elsewhere(repository, {FILM: replacing_all()}, CommitKind.MAINTENANCE)
    rival = once(lambda: write_elsewhere(repository, {PERSON: replacing_all()}, CommitKind.MAINTENANCE))
    writer = Preparing(repository, {PERSON: appending("ann")}, rival)
    writer.if_commit = head
    run_write(repository, WriteRequest(branch="main", if_commit=head), writer)
    assert writer.versions == [2, 3]
    assert ids_now(repository, PERSON) == ["ann"]


# ── after the commit ─────────────────────────────────────────────────────────────────────────────────────────────


def test_what_goes_wrong_after_a_commit_is_made_does_not_make_it_a_failure(caplog):
    repository = new_graph()

    def fail(*_arguments) -> None:
        raise RuntimeError("no more threads")

    request = WriteRequest(branch="main", after=fail)
    run_write(repository, request, Preparing(repository, {PERSON: appending("ann")}))
    repository.on_published = fail
    run_write(repository, WriteRequest(branch="main"), Preparing(repository, {PERSON: appending("bob")}))
    assert ids_now(repository, PERSON) == ["ann", "bob"]
    assert sum("which is made: no more threads" in each for each in caplog.messages) == 2
