"""``ManifestLog``: publishing by compare-and-swap, and reading what many publishes left."""

from __future__ import annotations

import dataclasses
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from publish_world import (
    another_handle,
    commit_after,
    disk_adapter,
    new_adapter,
    new_graph,
    newest_manifest,
    publish_bare,
    swaps,
)

from omnigraph.errors import FormatError, InternalError, NotFoundError, StorageCondition, StorageError
from omnigraph.history.branches import BranchRef
from omnigraph.history.commits import Commit, CommitKind
from omnigraph.history.layout import RECENT
from omnigraph.history.log import (
    MANIFEST,
    ManifestLog,
    Manifests,
    StagedVersion,
    create_manifest,
    open_manifest,
    stage_manifest,
)
from omnigraph.history.repository import Repository
from omnigraph.history.rows import ManifestRow
from omnigraph.history.state import pin_row, registration_row, schema_row
from omnigraph.history.ulids import new_ulid
from omnigraph.storage import StorageAdapter
from omnigraph.tables.counting import count_table_calls
from omnigraph.tables.interface import TablePin, TableState
from omnigraph.tables.log import LogConflictError, LogRefusedError, LogStore

COMMITS = 1_000


def staged_bytes(staged: StagedVersion) -> int:
    return sum(file.file_size_bytes for each in staged.fragments for file in each.files)


@pytest.fixture(scope="module")
def long() -> tuple[Repository, ManifestLog, list[Commit], list[int]]:
    """A graph after a thousand publishes: its newest log, every commit in order, and the bytes of each publish."""
    repository = new_graph()
    log = repository.newest()
    commits, sizes = [log.state.head], [0]
    while len(commits) < COMMITS:
        staged = log.stage(commit_after(log), [])
        sizes.append(staged_bytes(staged))
        log = log.publish(staged)
        commits.append(log.state.head)
    return repository, log, commits, sizes


# ── a long history ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_publish_writes_as_much_after_a_thousand_commits_as_after_ten(long):
    _, log, _, sizes = long
    # One round of the state fragment, from one recent commit to 32 of them and the move.
    early, late = sizes[10 : 10 + RECENT], sizes[960 : 960 + RECENT]
    assert sum(late) <= 2 * sum(early)
    assert sum(sizes[500:]) / 500 <= 2 * sum(early) / RECENT
    assert len(log.table.fragment_rows) <= 3 * 5 + 1


def test_the_newest_version_is_read_in_one_piece_however_long_the_history_is(long):
    repository, log, _, _ = long
    with count_table_calls() as counts:
        opened = newest_manifest(repository)
    assert counts == {"log.open": 1, "log.read": 1}
    assert opened.state == log.state


def test_every_commit_is_listed_once_and_newest_first(long):
    _, log, commits, _ = long
    assert list(log.commits()) == commits[::-1]


@pytest.mark.parametrize("version", [1, 2, 31, 32, 33, 34, 512, 513, 967, 999, 1_000])
def test_a_commit_is_found_in_whatever_fragment_it_lies(long, version):
    repository, log, commits, _ = long
    wanted = commits[version - 1]
    assert log.find_commit(wanted.id) == wanted
    earlier = open_manifest(repository.manifests, repository.main, version=version)
    assert earlier.version == version
    assert earlier.state.head == wanted
    assert list(earlier.commits()) == commits[:version][::-1]


def test_a_recent_commit_is_found_without_a_request_and_an_old_one_by_reading_the_history(long):
    _, log, commits, _ = long
    with count_table_calls() as counts:
        assert log.find_commit(commits[-1].id) == commits[-1]
        assert log.find_commit(log.state.recent[0].id) == log.state.recent[0]
        assert counts == {}
        assert log.find_commit("nowhere") is None
    assert counts == {"log.read": len(log.table.fragment_rows) - 1}


@pytest.mark.parametrize("version", [0, 1, 500, 967, 968, 969, 999, 1_000, 1_001])
def test_commits_since_a_version_are_those_after_it(long, version):
    _, log, commits, _ = long
    assert list(log.commits_since(version)) == commits[version:][::-1]


def test_commits_since_a_recent_version_cost_nothing(long):
    _, log, _, _ = long
    with count_table_calls() as counts:
        log.commits_since(log.state.recent[0].manifest_version - 1)
        log.commits_since(log.version)
        assert counts == {}
        log.commits_since(log.state.recent[0].manifest_version - 2)
    assert counts["log.read"] > 0


def test_a_publish_reads_history_only_when_it_merges_it():
    repository = new_graph()
    log, reads = repository.newest(), []
    for _ in range(4 * RECENT + 2):
        with count_table_calls() as counts:
            log = publish_bare(log)
        reads.append(counts["log.read"])
    # The fourth move takes the three fragments before it along.
    assert sum(reads) == 3
    assert sorted(set(reads)) == [0, 3]


# ── states ───────────────────────────────────────────────────────────────────────────────────────────────────────


def fake_pin(number: int, version: int, seq: int) -> ManifestRow:
    location = f"nodes/{number:016x}-{1:016x}"
    state = TableState(row_count=version % 7, version_metadata=f'{{"of":"{number}"}}')
    return pin_row("node:x", (number, 1), TablePin(location=location, branch=None, version=version), state, seq)


CHANGES = st.lists(
    st.lists(
        st.one_of(
            st.tuples(st.just("pin"), st.integers(100, 105), st.integers(1, 50)),
            st.tuples(st.just("rename"), st.integers(100, 105), st.sampled_from("abc")),
            st.tuples(st.just("schema"), st.integers(0, 3), st.just(0)),
        ),
        max_size=4,
        unique_by=lambda each: (each[0], 0 if each[0] == "schema" else each[1]),
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=12)
@given(CHANGES)
def test_the_state_after_a_publish_is_what_a_fresh_scan_of_it_gives(publishes):
    repository = new_graph()
    log = repository.newest()
    registered: set[int] = set()
    for changes in publishes:
        version = log.version + 1
        rows: list[ManifestRow] = []
        for what, number, argument in changes:
            match what:
                case "schema":
                    rows.append(schema_row(f"{number:064x}", version))
                case "pin":
                    if number not in registered:
                        rows.append(registration_row(f"node:T{number}", (number, 1), version))
                    rows.append(fake_pin(number, argument, version))
                case "rename" if number in registered:
                    rows.append(registration_row(f"node:T{number}{argument}", (number, 1), version))
        log = log.publish(log.stage(commit_after(log), rows))
        registered |= {number for what, number, _ in changes if what == "pin"}
        scanned = newest_manifest(repository)
        assert scanned.state == log.state
        assert scanned.version == version
        assert len(scanned.state.entries) == 3 + len(registered)
    assert [each.manifest_version for each in log.commits()] == list(range(log.version, 0, -1))


def test_a_version_opens_as_it_was_whatever_came_after():
    repository = new_graph()
    logs = [repository.newest()]
    for number in range(5):
        log = logs[-1]
        version = log.version + 1
        rows = [schema_row(f"{number:064x}", version)]
        logs.append(log.publish(log.stage(commit_after(log), rows)))
    for log in logs:
        fresh = another_handle(repository)
        assert open_manifest(fresh.manifests, fresh.main, version=log.version).state == log.state


def test_rows_of_another_version_are_not_published():
    log = new_graph().newest()
    with pytest.raises(InternalError, match="version 1 cannot be published as version 2"):
        log.stage(commit_after(log), [schema_row("a" * 64, 1)])
    with pytest.raises(InternalError):
        log.stage(commit_after(log, manifest_version=3), [])


@pytest.mark.parametrize(
    "rows",
    [
        [fake_pin(100, 1, 2)],
        [registration_row("node:Ghost", (100, 1), 2)],
        [schema_row("a" * 64, 2), schema_row("b" * 64, 2)],
        [dataclasses.replace(schema_row("a" * 64, 2), metadata="{}")],
    ],
)
def test_rows_that_contradict_the_state_are_refused_before_anything_is_written(rows):
    log = new_graph().newest()
    with count_table_calls() as counts, pytest.raises(FormatError):
        log.stage(commit_after(log), rows)
    assert counts == {}
    assert log.is_newest()


# ── the compare-and-swap ─────────────────────────────────────────────────────────────────────────────────────────


def test_of_two_publishes_from_one_version_one_wins():
    repository = new_graph()
    log = repository.newest()
    first, second = (log.stage(commit_after(log), []) for _ in range(2))
    log.publish(first)
    with pytest.raises(LogConflictError):
        log.publish(second)
    newest = newest_manifest(repository)
    assert [each.id for each in newest.commits()] == [first.commit.id, log.state.head.id]


def test_a_publish_conflicts_however_far_the_log_has_gone():
    log = new_graph().newest()
    stale = log.stage(commit_after(log), [])
    newer = log
    for _ in range(RECENT + 5):
        newer = publish_bare(newer)
    with pytest.raises(LogConflictError):
        log.publish(stale)
    assert newer.is_newest()
    assert not log.is_newest()


def test_publishing_a_staged_version_again_has_no_second_effect():
    repository = new_graph()
    log = repository.newest()
    staged = log.stage(commit_after(log), [])
    first = log.publish(staged)
    again = log.publish(staged)
    assert again.version == first.version == 2
    assert again.is_newest()
    publish_bare(again)
    below = log.publish(staged)
    assert below.version == 2
    assert not below.is_newest()
    assert newest_manifest(repository).version == 3


def test_racing_publishers_make_one_line_and_lose_nothing():
    repository = new_graph()
    met = threading.Barrier(8)

    def publish_five(_number: int) -> list[str]:
        own = another_handle(repository)
        met.wait()
        made: list[str] = []
        while len(made) < 5:
            log = open_manifest(own.manifests, own.main)
            staged = log.stage(commit_after(log), [])
            try:
                log.publish(staged)
            except LogConflictError:
                continue
            made.append(staged.commit.id)
        return made

    with ThreadPoolExecutor(8) as threads:
        made = [name for each in threads.map(publish_five, range(8)) for name in each]
    commits = newest_manifest(repository).commits()[::-1]
    assert sorted(made) == sorted(each.id for each in commits[1:])
    assert [each.manifest_version for each in commits] == list(range(1, 42))
    assert [each.parent_id for each in commits[1:]] == [each.id for each in commits[:-1]]


def manifests_at(adapter: StorageAdapter) -> Manifests:
    """The manifest of a graph that is still to be made."""
    return Manifests(LogStore(adapter), BranchRef.new_main(new_ulid(), created_at=datetime.now(UTC)))


def genesis(manifests: Manifests) -> StagedVersion:
    commit = Commit(
        id=new_ulid(),
        parent_id=None,
        branch="main",
        line=manifests.main.physical,
        manifest_version=1,
        kind=CommitKind.SCHEMA,
        created_at=datetime.now(UTC),
    )
    return stage_manifest(manifests, commit, [schema_row("a" * 64, 1)])


def test_of_many_creators_one_wins_and_the_others_know_it():
    for _ in range(5):
        manifests = manifests_at(new_adapter())
        met = threading.Barrier(6)

        def create(_number: int, manifests=manifests, met=met) -> str | None:
            own = Manifests(LogStore(manifests.logs.adapter), manifests.main)
            staged = genesis(own)
            met.wait()
            try:
                return create_manifest(own, staged).state.head.id
            except LogConflictError:
                return None

        with ThreadPoolExecutor(6) as threads:
            made = [each for each in threads.map(create, range(6)) if each is not None]
        assert made == [open_manifest(manifests, manifests.main).state.head.id]


def test_creating_again_conflicts_while_staging_or_at_the_commit():
    logs = manifests_at(new_adapter())
    first, second = genesis(logs), genesis(logs)
    made = create_manifest(logs, first)
    with pytest.raises(LogConflictError):
        create_manifest(logs, second)
    with pytest.raises(LogConflictError):
        genesis(logs)
    # The same again is not another one.
    assert create_manifest(logs, first).state == made.state
    assert open_manifest(logs, logs.main).version == 1


# ── what the system says ─────────────────────────────────────────────────────────────────────────────────────────

DISK_FULL = OSError("LanceError(IO): No space left on device (os error 28)")
REFUSED_BY_SERVER = OSError("LanceError(IO): Client error with status 403 Forbidden")
LOST = OSError("LanceError(IO): error sending request: connection closed")


def failing_commit(monkeypatch: pytest.MonkeyPatch, error: Exception, *, after: bool = False) -> None:
    from lance import LanceDataset

    genuine = LanceDataset.commit

    def commit(*arguments, **keywords):
        if after:
            genuine(*arguments, **keywords)
        raise error

    monkeypatch.setattr(LanceDataset, "commit", staticmethod(commit))


def test_a_full_disk_at_the_commit_is_a_refusal(tmp_path, monkeypatch):
    repository = new_graph(disk_adapter(tmp_path))
    log = repository.newest()
    staged = log.stage(commit_after(log), [])
    with monkeypatch.context() as patch:
        failing_commit(patch, DISK_FULL)
        with pytest.raises(LogRefusedError) as caught:
            log.publish(staged)
    assert caught.value.failure.condition is StorageCondition.CONFIGURATION
    assert "space" in str(caught.value.failure)
    assert log.publish(staged).version == 2


def test_a_failure_after_the_effect_is_no_refusal(tmp_path, monkeypatch):
    repository = new_graph(disk_adapter(tmp_path))
    log = repository.newest()
    staged = log.stage(commit_after(log), [])
    with monkeypatch.context() as patch:
        failing_commit(patch, DISK_FULL, after=True)
        with pytest.raises(StorageError):
            log.publish(staged)
    assert newest_manifest(repository).state.head == staged.commit


@pytest.mark.parametrize("error", [REFUSED_BY_SERVER, LOST])
def test_what_a_server_says_is_not_the_last_word(error, monkeypatch):
    log = new_graph().newest()
    staged = log.stage(commit_after(log), [])
    failing_commit(monkeypatch, error)
    with pytest.raises(StorageError):
        log.publish(staged)


def test_a_full_disk_at_the_first_commit_is_a_refusal(tmp_path, monkeypatch):
    logs = manifests_at(disk_adapter(tmp_path))
    staged = genesis(logs)
    with monkeypatch.context() as patch:
        failing_commit(patch, DISK_FULL)
        with pytest.raises(LogRefusedError):
            create_manifest(logs, staged)
    with monkeypatch.context() as patch:
        failing_commit(patch, LOST)
        with pytest.raises(StorageError):
            create_manifest(logs, staged)
    with monkeypatch.context() as patch:
        failing_commit(patch, LOST, after=True)
        # Our own id is in the version that is there.
        assert create_manifest(logs, staged).state.head == staged.commit


def test_staging_that_fails_is_told_as_it_is(monkeypatch):
    log = new_graph().newest()

    def write_fragments(*_arguments, **_keywords):
        raise DISK_FULL

    monkeypatch.setattr("omnigraph.tables.log.write_fragments", write_fragments)
    with swaps() as asked, pytest.raises(StorageError) as caught:
        log.stage(commit_after(log), [])
    assert caught.value.condition is StorageCondition.CONFIGURATION
    assert asked.asked == 0


# ── what is not there ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_manifest_that_is_not_there_is_not_found():
    manifests = manifests_at(new_adapter())
    with pytest.raises(NotFoundError, match="no manifest of main") as caught:
        open_manifest(manifests, manifests.main)
    assert "Open the graph again" in str(caught.value.help)


def test_a_version_that_was_never_made_is_not_found():
    repository = new_graph()
    with pytest.raises(NotFoundError, match="version 7") as caught:
        open_manifest(repository.manifests, repository.main, version=7)
    assert caught.value.details["manifest_version"] == 7


def test_the_manifest_has_its_place():
    repository = new_graph()
    assert repository.newest().table.place.key.value == f"{MANIFEST}/{repository.main.physical}"
    assert MANIFEST == "__manifest"


def test_the_line_of_main_holds_no_path_so_that_it_can_be_moved():
    log = new_graph().newest()
    for number in range(5):
        log = log.publish(log.stage(commit_after(log), [schema_row(f"{number:064x}", log.version + 1)]))
    assert log.table.dataset.base_paths() == {}
