"""A publish that others come before: what is published again as it is, and what is void."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from publish_world import (
    FILM,
    PERSON,
    SAW,
    another_handle,
    appending,
    commit_after,
    finish_for,
    history,
    ids_at,
    ids_now,
    intent,
    new_graph,
    plan,
    replacing_all,
    sidecars,
    swaps,
    write,
    write_elsewhere,
)

from omnigraph import failpoints
from omnigraph.errors import BranchReplacedError, ContentionError, NotFoundError, OutcomeUnknownError
from omnigraph.history.branches import MAIN, BranchRef, branch_key, spell_ref
from omnigraph.history.commits import CommitKind
from omnigraph.history.repository import Repository
from omnigraph.history.state import schema_row
from omnigraph.history.ulids import new_ulid
from omnigraph.tables.counting import count_table_calls
from omnigraph.tables.log import LogTable
from omnigraph.testing.faults import armed, recorded
from omnigraph.write.branching import delete_branch, make_branch
from omnigraph.write.deadlines import Deadline
from omnigraph.write.plan import PublishPlan
from omnigraph.write.publish import ReadSetMovedError, publish


def moved_by(repository: Repository, started: PublishPlan, rival) -> ReadSetMovedError:
    """What a publish says when a rival comes before its swap; nothing of it may be left."""
    with swaps(rival), pytest.raises(ReadSetMovedError) as caught:
        publish(repository, started, Deadline())
    assert sidecars(repository) == []
    assert started.intent.id not in [each.id for each in history(repository)]
    for key in (PERSON, FILM, SAW):
        assert ids_at(repository, caught.value.log, key) == ids_now(repository, key)
    return caught.value


# ── nothing that the plan relied on moved ────────────────────────────────────────────────────────────────────────


def test_a_swap_lost_to_a_stranger_publishes_the_same_table_commits_again():
    repository = new_graph()
    started = plan(repository, repository.newest(), {PERSON: appending("ann")}, reads=[SAW])

    def rival() -> None:
        write_elsewhere(repository, {FILM: appending("alien")})

    with swaps(rival) as asked, recorded() as reached:
        published = publish(repository, started, Deadline())
    assert asked.asked == 3  # the lost one, the rival's own, the second one
    # The rival's publish is recorded too.
    assert reached.count(failpoints.PUBLISH_TABLE_COMMITTED) == 2
    commits = history(repository)
    assert [each.id for each in commits[1:]][1] == published.commit.id
    assert commits[-1].parent_id == commits[-2].id
    assert ids_now(repository, PERSON) == ["ann"]
    assert ids_now(repository, FILM) == ["alien"]
    handle = repository.tables.open_at(published.log.state.entries[PERSON].pin)
    assert handle.dataset.read_transaction(handle.pin.version).uuid == started.effects[0].staged[-1].transaction_id
    assert sidecars(repository) == []


def test_a_lost_swap_stages_nothing_and_commits_no_table_again():
    repository = new_graph()
    started = plan(repository, repository.newest(), {PERSON: appending("ann")})
    rival = another_handle(repository)
    theirs = plan(rival, rival.newest(), {FILM: appending("alien")})
    publish(rival, theirs, Deadline())
    with count_table_calls() as counts:
        publish(repository, started, Deadline())
    assert counts == {"commit": 1, "log.stage": 2, "log.publish": 2, "log.open": 1, "log.read": 1}


def test_many_lost_swaps_in_a_row_are_one_write():
    repository = new_graph()
    started = plan(repository, repository.newest(), {PERSON: appending("ann")})

    def rival() -> None:
        write_elsewhere(repository, {FILM: appending(f"film {len(history(repository))}")})

    # Each rival publishes by the same request, which passes.
    with swaps(rival, None, rival, None, rival, None):
        published = publish(repository, started, Deadline())
    assert len(history(repository)) == 5
    assert published.commit.manifest_version == 5
    assert ids_now(repository, PERSON) == ["ann"]


def test_a_process_that_knows_of_a_newer_version_does_not_swap_in_vain():
    repository = new_graph()
    old = repository.newest()
    write(repository, {FILM: appending("alien")})
    started = plan(repository, old, {PERSON: appending("ann")})
    with swaps() as asked:
        publish(repository, started, Deadline())
    assert asked.asked == 1
    assert len(history(repository)) == 3
    void = plan(repository, old, {PERSON: appending("bob")})
    with recorded() as reached, pytest.raises(ReadSetMovedError):
        publish(repository, void, Deadline())
    assert failpoints.PUBLISH_SIDECAR_WRITTEN not in reached


# ── somebody finished the write ──────────────────────────────────────────────────────────────────────────────────


def test_a_write_that_somebody_finished_succeeds_once():
    repository = new_graph()
    started = plan(repository, repository.newest(), {PERSON: appending("ann")})
    with swaps(lambda: finish_for(repository, started)):
        published = publish(repository, started, Deadline())
    assert published.commit.id == started.intent.id
    assert [each.id for each in history(repository)].count(started.intent.id) == 1
    assert ids_now(repository, PERSON) == ["ann"]
    assert sidecars(repository) == []


def test_a_write_that_somebody_finished_is_made_durable_by_us_too(monkeypatch):
    repository = new_graph()
    started = plan(repository, repository.newest(), {PERSON: appending("ann")})
    synced: list[int] = []
    monkeypatch.setattr(LogTable, "sync", lambda self: synced.append(self.version))
    with swaps(lambda: finish_for(repository, started)):
        published = publish(repository, started, Deadline())
    assert synced == [published.commit.manifest_version]


def test_a_finished_write_is_found_below_the_commits_of_others_and_shows_its_own_state():
    repository = new_graph()
    started = plan(repository, repository.newest(), {PERSON: appending("ann")})

    def finish_and_go_on() -> None:
        finish_for(repository, started)
        write_elsewhere(repository, {PERSON: appending("bob")})

    with swaps(finish_and_go_on):
        published = publish(repository, started, Deadline())
    assert published.commit.id == started.intent.id
    # What a writer knows of its tables is carried over by this log: it must not show what others did later.
    assert published.log.state.head == published.commit
    assert ids_at(repository, published.log, PERSON) == ["ann"]
    assert ids_now(repository, PERSON) == ["ann", "bob"]


# ── something that the plan relied on moved ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("moved", [PERSON, FILM])
def test_a_plan_whose_tables_moved_is_void(moved):
    repository = new_graph()
    started = plan(repository, repository.newest(), {PERSON: appending("ann")}, reads=[FILM])
    caught = moved_by(repository, started, lambda: write_elsewhere(repository, {moved: appending("x")}))
    assert caught.members == (f"pin:{moved}",)
    assert caught.is_logical
    assert not caught.is_void


def test_a_fence_voids_a_plan_that_nothing_else_touched():
    repository = new_graph()
    started = plan(repository, repository.newest(), {PERSON: appending("ann")})
    caught = moved_by(repository, started, lambda: write_elsewhere(repository, {}, CommitKind.FENCE))
    assert caught.is_void
    assert caught.members == ()
    assert not caught.is_logical


def test_a_fence_voids_a_plan_from_below_the_commits_of_others():
    repository = new_graph()
    started = plan(repository, repository.newest(), {PERSON: appending("ann")})

    def fence_and_go_on() -> None:
        write_elsewhere(repository, {}, CommitKind.FENCE)
        for number in range(40):
            write_elsewhere(repository, {FILM: appending(f"film {number}")})

    caught = moved_by(repository, started, fence_and_go_on)
    assert caught.is_void
    assert caught.members == ()


def test_maintenance_moves_a_plan_and_is_no_change_of_data():
    repository = new_graph()
    write(repository, {PERSON: appending("ann")})
    started = plan(repository, repository.newest(), {PERSON: appending("bob")})
    maintained = {PERSON: replacing_all("ann")}
    caught = moved_by(repository, started, lambda: write_elsewhere(repository, maintained, CommitKind.MAINTENANCE))
    assert caught.members == (f"pin:{PERSON}",)
    assert not caught.is_logical
    assert not caught.is_void


def test_data_elsewhere_does_not_make_maintenance_of_our_table_a_change_of_data():
    repository = new_graph()
    started = plan(repository, repository.newest(), {PERSON: appending("ann")})

    def rivals() -> None:
        write_elsewhere(repository, {FILM: appending("alien")})
        write_elsewhere(repository, {PERSON: replacing_all()}, CommitKind.MAINTENANCE)
        write_elsewhere(repository, {FILM: appending("aliens")})

    caught = moved_by(repository, started, rivals)
    assert caught.members == (f"pin:{PERSON}",)
    assert not caught.is_logical


@pytest.mark.parametrize("is_data_first", [True, False])
def test_data_of_our_table_is_seen_behind_maintenance_of_it(is_data_first):
    repository = new_graph()
    started = plan(repository, repository.newest(), {PERSON: appending("ann")})

    def rivals() -> None:
        if is_data_first:
            write_elsewhere(repository, {PERSON: appending("bob")})
        write_elsewhere(repository, {PERSON: replacing_all("bob")}, CommitKind.MAINTENANCE)
        if not is_data_first:
            write_elsewhere(repository, {PERSON: appending("cem")})

    assert moved_by(repository, started, rivals).is_logical


@pytest.mark.parametrize("is_maintained", [False, True])
def test_a_schema_that_moved_is_a_change(is_maintained):
    repository = new_graph()
    started = plan(repository, repository.newest(), {PERSON: appending("ann")})

    def rival() -> None:
        if is_maintained:
            write_elsewhere(repository, {}, CommitKind.MAINTENANCE)
        log = another_handle(repository).newest()
        commit = commit_after(log, CommitKind.SCHEMA)
        log.publish(log.stage(commit, [schema_row("1" * 64, log.version + 1)]))

    with swaps(rival), pytest.raises(ReadSetMovedError) as caught:
        publish(repository, started, Deadline())
    assert caught.value.members == ("schema",)
    assert caught.value.is_logical


@pytest.mark.parametrize("changes", [{PERSON: appending("ann")}, {FILM: appending("alien")}, {}])
def test_a_load_of_the_same_name_voids_a_plan_whatever_it_moved(changes):
    repository = new_graph()
    started = plan(repository, repository.newest(), {PERSON: appending("ann")}, of=intent(load_id="n-1"))

    def rival() -> None:
        other = another_handle(repository)
        publish(other, plan(other, other.newest(), changes, of=intent(load_id="n-1")), Deadline())

    caught = moved_by(repository, started, rival)
    assert caught.members[-1] == "load:n-1"
    # A strict write is prepared again too, and finds that it is done.
    assert not caught.is_logical


def test_a_load_of_another_name_does_not_matter():
    repository = new_graph()
    started = plan(repository, repository.newest(), {PERSON: appending("ann")}, of=intent(load_id="n-1"))

    def rival() -> None:
        other = another_handle(repository)
        publish(other, plan(other, other.newest(), {}, of=intent(load_id="n-2")), Deadline())

    with swaps(rival):
        publish(repository, started, Deadline())
    assert ids_now(repository, PERSON) == ["ann"]


# ── branches ─────────────────────────────────────────────────────────────────────────────────────────────────────


def new_branch(repository: Repository) -> BranchRef:
    make_branch(repository, "dev", repository.newest())
    return repository.newest("dev").branch


def test_a_publish_goes_to_its_own_branch():
    repository = new_graph()
    branch = new_branch(repository)
    log = repository.newest("dev")
    published = publish(repository, plan(repository, log, {PERSON: appending("ann")}), Deadline())
    assert published.commit.branch == "dev"
    assert (published.commit.line, published.log.branch) == (branch.physical, branch)
    assert ids_at(repository, another_handle(repository).newest("dev"), PERSON) == ["ann"]
    assert ids_now(repository, PERSON) == []
    assert [each.manifest_version for each in history(repository)] == [1]


def make_anew(repository: Repository) -> None:
    delete_branch(repository, "dev")
    new_branch(repository)


def lose_on_branch(repository: Repository, started: PublishPlan, then) -> None:
    def rival() -> None:
        other = another_handle(repository)
        publish(other, plan(other, other.newest("dev"), {FILM: appending("alien")}), Deadline())
        then()

    with swaps(rival):
        publish(repository, started, Deadline())


def test_a_branch_made_anew_is_not_the_branch_of_the_plan():
    repository = new_graph()
    branch = new_branch(repository)
    started = plan(repository, repository.newest("dev"), {PERSON: appending("ann")})
    with pytest.raises(BranchReplacedError) as caught:
        lose_on_branch(repository, started, lambda: make_anew(repository))
    anew = repository.newest("dev").branch
    assert (caught.value.branch, caught.value.expected, caught.value.actual) == (
        "dev",
        branch.incarnation,
        anew.incarnation,
    )
    assert repository.newest("dev").state.head.id == repository.newest().state.head.id
    assert [each.endswith(".withdrawn.json") for each in sidecars(repository)] == [True]


def test_a_branch_that_was_deleted_is_told():
    repository = new_graph()
    new_branch(repository)
    started = plan(repository, repository.newest("dev"), {PERSON: appending("ann")})
    with pytest.raises(NotFoundError, match="dev"):
        lose_on_branch(repository, started, lambda: delete_branch(repository, "dev"))
    assert [each.endswith(".withdrawn.json") for each in sidecars(repository)] == [True]


def test_where_the_branch_cannot_be_read_after_a_lost_swap_the_error_tells_why():
    """A newer release may have published a version that this one cannot read; the store did answer."""
    repository = new_graph()
    new_branch(repository)
    started = plan(repository, repository.newest("dev"), {PERSON: appending("ann")})
    adapter = repository.adapter

    def spoil() -> None:
        adapter.write(branch_key(adapter, "dev"), b"{")

    with pytest.raises(OutcomeUnknownError, match=r"the branch cannot be read: The branch object .* is damaged"):
        lose_on_branch(repository, started, spoil)
    # It stays, because a recovery may still carry it out.
    assert [each.endswith(".withdrawn.json") for each in sidecars(repository)] == [False]


@pytest.mark.parametrize("is_made_anew", [False, True])
def test_a_branch_that_goes_right_before_the_swap_is_told_although_the_swap_is_made(is_made_anew: bool):
    """Who deletes a branch waits for nobody, so the swap may be on a line that no branch has any more."""
    repository = new_graph()
    new_branch(repository)
    started = plan(repository, repository.newest("dev"), {PERSON: appending("ann")})
    other = another_handle(repository)
    with (
        swaps(lambda: make_anew(other) if is_made_anew else delete_branch(other, "dev")),
        pytest.raises(BranchReplacedError if is_made_anew else NotFoundError, match="dev"),
    ):
        publish(repository, started, Deadline())
    assert sidecars(repository) == []
    if is_made_anew:
        assert ids_at(repository, another_handle(repository).newest("dev"), PERSON) == []


@pytest.mark.parametrize("is_made_anew", [False, True])
def test_a_late_swap_on_the_line_of_a_removed_graph_is_shown_to_nobody(is_made_anew: bool):
    """An object store takes it, though nothing else of the line is there; a reader that was open would find it."""
    repository = new_graph()
    started = plan(repository, repository.newest(), {PERSON: appending("ann")})
    reader = another_handle(repository)
    assert ids_at(repository, reader.newest(), PERSON) == []
    key = branch_key(repository.adapter, MAIN)

    def remove() -> None:
        repository.adapter.delete(key)
        if is_made_anew:
            repository.adapter.write(key, spell_ref(BranchRef.new_main(new_ulid(), created_at=datetime.now(UTC))))

    gone = BranchReplacedError if is_made_anew else NotFoundError
    with swaps(remove), pytest.raises(gone):
        publish(repository, started, Deadline())
    with pytest.raises(gone, match="since it was opened"):
        reader.newest()


# ── the deadline ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_write_gives_up_at_its_deadline_and_nobody_finishes_it():
    repository = new_graph()
    started = plan(repository, repository.newest(), {PERSON: appending("ann")})
    with swaps(lambda: write_elsewhere(repository, {FILM: appending("x")})), pytest.raises(ContentionError) as caught:
        publish(repository, started, Deadline(seconds=0))
    assert (caught.value.branch, caught.value.attempts, caught.value.deadline_seconds) == ("main", 1, 0)
    assert [each.endswith(".withdrawn.json") for each in sidecars(repository)] == [True]
    assert ids_now(repository, PERSON) == []
    write(repository, {PERSON: appending("bob")})
    assert ids_now(repository, PERSON) == ["bob"]


def test_two_publishes_that_meet_at_the_swap_both_land():
    from concurrent.futures import ThreadPoolExecutor

    from omnigraph.testing.faults import Barrier

    repository = new_graph()
    handles = [another_handle(repository) for _ in range(2)]
    plans = [
        plan(handle, handle.newest(), {key: appending("x")}, of=intent())
        for handle, key in zip(handles, (PERSON, FILM), strict=True)
    ]
    with armed({failpoints.PUBLISH_BEFORE_COMMIT: Barrier(2)}), ThreadPoolExecutor() as threads:
        done = list(threads.map(publish, handles, plans, [Deadline(), Deadline()]))
    assert {each.commit.manifest_version for each in done} == {2, 3}
    assert len(history(repository)) == 3
    assert ids_now(repository, PERSON) == ids_now(repository, FILM) == ["x"]
