"""``init_graph``: one winner, nothing half made, and after every failure a way to go on."""

from __future__ import annotations

import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from publish_world import (
    FILM,
    LIBRARY,
    PERSON,
    appending,
    disk_adapter,
    history,
    ids_now,
    new_adapter,
    new_graph,
    write,
)

from omnigraph import failpoints
from omnigraph.errors import (
    AlreadyExistsError,
    CompileError,
    NotFoundError,
    OmnigraphError,
    OutcomeUnknownError,
    ReadOnlyError,
    StorageCondition,
    StorageError,
)
from omnigraph.history.commits import CommitKind
from omnigraph.history.repository import Repository
from omnigraph.storage import StorageAdapter
from omnigraph.tables.counting import count_table_calls
from omnigraph.tables.log import LogStore, LogTable
from omnigraph.testing.faults import Call, CountingAdapter, FailpointError, Fault, FaultyAdapter, Raise, armed
from omnigraph.write.init import init_graph
from omnigraph.write.init_claim import CLAIM
from omnigraph.write.opening import find_main, repository_at

LOST = StorageError("The line went dead.", condition=StorageCondition.TRANSIENT)
FULL = StorageError("The disk is full.", condition=StorageCondition.CONFIGURATION)
BEFORE_GENESIS = [
    failpoints.INIT_CLAIMED,
    failpoints.INIT_SCHEMA_WRITTEN,
    failpoints.INIT_TABLE_CREATED,
    failpoints.INIT_BEFORE_GENESIS,
    failpoints.INIT_MANIFEST_CREATED,
]


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnigraph.write.init.pause", lambda _look: None)


def is_claimed(adapter: StorageAdapter) -> bool:
    return adapter.exists(adapter.key(CLAIM))


def objects(adapter: StorageAdapter) -> list[str]:
    return sorted(each.value for each in adapter.list())


def opened(adapter: StorageAdapter) -> Repository:
    """The graph that is there, as another process would hold it."""
    return repository_at(adapter, find_main(adapter))


def check_whole(adapter: StorageAdapter) -> None:
    """There is one complete graph, and it can be written to."""
    repository = opened(adapter)
    [commit] = history(repository)
    assert commit.kind is CommitKind.SCHEMA
    snapshot = repository.snapshot_of()
    assert sorted(snapshot.state.entries) == sorted(snapshot.schema.tables)
    for key, table in snapshot.schema.tables.items():
        handle = repository.tables.open_at(snapshot.state.entries[key].pin)
        assert repository.tables.schema(handle) == table.schema
        assert repository.tables.count_rows(handle) == 0
    write(repository, {PERSON: appending("ann"), FILM: appending("alien")})
    assert ids_now(repository, PERSON) == ["ann"]


# ── the way ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_new_graph_has_one_commit_all_its_tables_and_its_schema():
    adapter = new_adapter()
    repository = init_graph(adapter, LIBRARY, actor="ann")
    log = repository.known()
    assert log.version == 1
    [commit] = log.commits()
    assert (commit.parent_id, commit.actor, commit.kind, commit.branch) == (None, "ann", CommitKind.SCHEMA, "main")
    digest = log.state.schema_digest
    assert objects(adapter) == [
        f"__schema/{digest}.json",
        f"__schema/{digest}.pg",
        "_refs/branches/main.json",
        "_schema.pg",
    ]
    assert adapter.read(adapter.key("_schema.pg")).decode() == LIBRARY
    assert repository.snapshot_of().schema.source == LIBRARY
    check_whole(adapter)


def test_the_steps_come_in_order_and_the_claim_lies_there_from_the_first_to_the_last():
    adapter = new_adapter()
    seen: list[tuple[str, bool, bool]] = []

    def look(name: str) -> None:
        try:
            opened(adapter).newest()
            is_graph = True
        except OmnigraphError:
            is_graph = False
        seen.append((name, is_claimed(adapter), is_graph))

    with armed(dict.fromkeys(failpoints.FAILPOINTS, Call(look))):
        new_graph(adapter)
    assert seen == [
        (failpoints.INIT_CLAIMED, True, False),
        (failpoints.INIT_SCHEMA_WRITTEN, True, False),
        *[(failpoints.INIT_TABLE_CREATED, True, False)] * 3,
        (failpoints.INIT_BEFORE_GENESIS, True, False),
        (failpoints.INIT_MANIFEST_CREATED, True, False),
        (failpoints.INIT_AFTER_GENESIS, True, True),
    ]
    assert not is_claimed(adapter)


def test_the_claim_names_its_attempt():
    adapter = new_adapter()
    found: list[bytes] = []
    with armed({failpoints.INIT_CLAIMED: Call(lambda _: found.append(adapter.read(adapter.key(CLAIM))))}):
        new_graph(adapter)
    claim = json.loads(found[0])
    assert claim["version"] == 1
    assert len(claim["attempt_id"]) == 26


def test_the_first_read_after_init_opens_nothing():
    repository = new_graph()
    with count_table_calls() as counts:
        repository.snapshot(repository.known())
    assert counts == {}


# ── refusals ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_wrong_schema_is_refused_before_anything_is_asked():
    adapter = CountingAdapter(new_adapter())
    with count_table_calls() as counts, pytest.raises(CompileError):
        init_graph(adapter, "node {")
    assert not adapter.calls
    assert not counts


@pytest.mark.parametrize("force", [False, True])
def test_a_graph_that_is_there_is_not_touched(force):
    adapter = new_adapter()
    repository = new_graph(adapter)
    write(repository, {PERSON: appending("ann")})
    before = objects(adapter)
    with pytest.raises(AlreadyExistsError, match="already") as caught:
        init_graph(adapter, LIBRARY, force=force)
    assert caught.value.details["incarnation"] == repository.main.incarnation
    assert objects(adapter) == before
    assert ids_now(repository, PERSON) == ["ann"]


def test_a_claim_is_respected_and_force_goes_on():
    adapter = new_adapter()
    adapter.write(adapter.key(CLAIM), b"{}")
    with pytest.raises(AlreadyExistsError, match="under way, or was cut off") as caught:
        init_graph(adapter, LIBRARY)
    assert "force" in str(caught.value.help)
    assert objects(adapter) == [CLAIM]
    init_graph(adapter, LIBRARY, force=True)
    check_whole(adapter)
    assert not is_claimed(adapter)


def test_what_a_dead_init_left_is_in_the_way_of_nothing():
    """Every directory has a random name, so the next graph meets none of the tables."""
    adapter = new_adapter()
    with armed({failpoints.INIT_MANIFEST_CREATED: Raise(FailpointError("dead"))}), pytest.raises(FailpointError):
        new_graph(adapter)
    made = [init_graph(adapter, LIBRARY, force=True)]
    adapter.delete(adapter.key("_refs/branches/main.json"))
    made.append(init_graph(adapter, LIBRARY))
    locations = [{each.pin.location for each in graph.newest().state.entries.values()} for graph in made]
    assert not locations[0] & locations[1]
    assert made[0].manifests.location != made[1].manifests.location
    check_whole(adapter)


def test_a_place_that_was_opened_for_reading_is_not_touched():
    adapter = CountingAdapter(new_adapter())
    adapter.is_read_only = True
    with pytest.raises(ReadOnlyError):
        init_graph(adapter, LIBRARY)
    assert adapter.calls == {"read": 1}


# ── rivals ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_of_many_inits_one_wins_and_its_graph_is_whole():
    for _ in range(3):
        adapter = new_adapter()
        met = threading.Barrier(8)

        def init(_number: int, adapter=adapter, met=met) -> str | None:
            met.wait()
            try:
                return init_graph(adapter, LIBRARY).known().state.head.id
            except AlreadyExistsError:
                return None

        with ThreadPoolExecutor(8) as threads:
            won = [each for each in threads.map(init, range(8)) if each is not None]
        assert won == [opened(adapter).newest().state.head.id]
        assert not is_claimed(adapter)
        check_whole(adapter)


def test_an_init_that_was_slow_to_claim_sees_the_graph_that_was_made_meanwhile():
    adapter = new_adapter()

    def rival(_name: str) -> None:
        failpoints.disarm(failpoints.INIT_CLAIMED)
        adapter.delete(adapter.key(CLAIM))
        init_graph(adapter, LIBRARY)

    with armed({failpoints.INIT_CLAIMED: Call(rival)}), pytest.raises(AlreadyExistsError, match="already"):
        init_graph(adapter, LIBRARY)
    check_whole(adapter)


def test_a_forced_init_that_comes_second_leaves_the_first_one_its_graph():
    """Both created tables and a manifest; whose object of main came first has the graph."""
    adapter = new_adapter()
    made: list[str] = []

    def rival(_name: str) -> None:
        failpoints.disarm(failpoints.INIT_MANIFEST_CREATED)
        made.append(init_graph(adapter, LIBRARY, force=True).known().state.head.id)

    with armed({failpoints.INIT_MANIFEST_CREATED: Call(rival)}), pytest.raises(AlreadyExistsError, match="first"):
        init_graph(adapter, LIBRARY)
    assert [each.id for each in history(opened(adapter))] == made
    check_whole(adapter)


# ── failures ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", BEFORE_GENESIS)
def test_an_init_that_dies_before_the_graph_exists_is_repeated_with_force(name):
    adapter = new_adapter()
    with armed({name: Raise(FailpointError("dead"))}), pytest.raises(FailpointError):
        new_graph(adapter)
    assert is_claimed(adapter)
    with pytest.raises(AlreadyExistsError, match="claim"):
        new_graph(adapter)
    init_graph(adapter, LIBRARY, force=True)
    check_whole(adapter)
    assert not is_claimed(adapter)


def test_an_init_that_dies_after_the_graph_exists_has_made_it():
    adapter = new_adapter()
    with armed({failpoints.INIT_AFTER_GENESIS: Raise(FailpointError("dead"))}), pytest.raises(FailpointError):
        new_graph(adapter)
    assert is_claimed(adapter)
    for force in (False, True):
        with pytest.raises(AlreadyExistsError, match="already"):
            init_graph(adapter, LIBRARY, force=force)
    check_whole(adapter)


@pytest.mark.parametrize("name", BEFORE_GENESIS)
def test_an_init_that_fails_gives_its_claim_back(name):
    adapter = new_adapter()
    with armed({name: Raise(FULL)}), pytest.raises(StorageError) as caught:
        new_graph(adapter)
    assert caught.value is FULL
    assert not is_claimed(adapter)
    new_graph(adapter)
    check_whole(adapter)


@pytest.mark.parametrize("name", BEFORE_GENESIS)
def test_an_init_that_fails_removes_the_tables_that_it_made(name, tmp_path):
    adapter = disk_adapter(tmp_path)
    with armed({name: Raise(FULL)}), pytest.raises(StorageError):
        new_graph(adapter)
    left = {each.relative_to(tmp_path).parts[0] for each in tmp_path.rglob("*") if each.is_file()}
    assert left <= {"__schema"}


@pytest.mark.parametrize("verb", ["write", "write_if_absent", "delete"])
@pytest.mark.parametrize("skip", range(4))
@pytest.mark.parametrize("moment", ["before", "after"])
def test_whatever_request_fails_the_graph_is_whole_or_can_be_made(verb, skip, moment):
    adapter = new_adapter()
    faulty = FaultyAdapter(adapter, Fault(verb=verb, error=OSError(5, "I/O"), moment=moment, skip=skip))
    try:
        new_graph(faulty)
    except (StorageError, OutcomeUnknownError):
        with pytest.raises(NotFoundError, match="no graph"):
            opened(adapter)
        init_graph(adapter, LIBRARY, force=True)
    check_whole(adapter)


def test_a_claim_whose_answer_was_lost_is_ours():
    adapter = new_adapter()
    faulty = FaultyAdapter(
        adapter, Fault(verb="write_if_absent", error=TimeoutError(), moment="after", name_contains=CLAIM)
    )
    new_graph(faulty)
    assert not is_claimed(adapter)
    check_whole(adapter)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(verb="write", error=OSError(28, "full"), name_contains="_schema.pg"),
        Fault(verb="delete", error=OSError(5, "I/O"), name_contains=CLAIM),
    ],
    ids=["copy", "claim"],
)
def test_what_fails_when_the_graph_exists_is_a_warning(fault, caplog):
    adapter = new_adapter()
    with caplog.at_level(logging.WARNING):
        repository = new_graph(FaultyAdapter(adapter, fault))
    assert "is made, but" in caplog.text
    assert repository.known().version == 1
    assert is_claimed(adapter) == (fault.verb == "delete")
    check_whole(adapter)


# ── the answer to the last step is lost ──────────────────────────────────────────────────────────────────────────

MAIN_REF = "_refs/branches/main.json"


def main_fault(moment: str) -> Fault:
    return Fault(verb="write_if_absent", error=TimeoutError(), moment=moment, name_contains=MAIN_REF)


def test_a_graph_whose_making_was_not_answered_is_found():
    adapter = new_adapter()
    repository = new_graph(FaultyAdapter(adapter, main_fault("after")))
    assert repository.known().version == 1
    assert not is_claimed(adapter)
    check_whole(adapter)


def test_a_graph_whose_making_cannot_be_found_out_keeps_the_claim():
    adapter = new_adapter()
    with pytest.raises(OutcomeUnknownError) as caught:
        new_graph(FaultyAdapter(adapter, main_fault("before")))
    assert isinstance(caught.value.__cause__, StorageError)
    assert "--force" in str(caught.value.help)
    assert is_claimed(adapter)
    init_graph(adapter, LIBRARY, force=True)
    check_whole(adapter)


def test_a_graph_that_another_made_while_the_answer_was_lost_is_not_ours():
    adapter = new_adapter()

    def rival(_name: str) -> None:
        failpoints.disarm(failpoints.INIT_MANIFEST_CREATED)
        init_graph(adapter, LIBRARY, force=True)

    faulty = FaultyAdapter(adapter, main_fault("before"))
    with armed({failpoints.INIT_MANIFEST_CREATED: Call(rival)}), pytest.raises(AlreadyExistsError, match="first"):
        new_graph(faulty)
    check_whole(adapter)


def test_a_first_version_that_is_not_durable_makes_no_graph(monkeypatch):
    adapter = new_adapter()

    def sync(_self: LogTable) -> None:
        raise LOST

    with monkeypatch.context() as patch:
        patch.setattr(LogTable, "sync", sync)
        with pytest.raises(StorageError) as caught:
            new_graph(adapter)
    assert caught.value is LOST
    with pytest.raises(NotFoundError, match="no graph"):
        opened(adapter)
    new_graph(adapter)
    check_whole(adapter)


def test_a_first_version_that_cannot_be_written_is_a_failure_and_no_doubt(monkeypatch):
    adapter = new_adapter()

    def stage_create(*_arguments) -> None:
        raise FULL

    with monkeypatch.context() as patch:
        patch.setattr(LogStore, "stage_create", stage_create)
        with pytest.raises(StorageError) as caught:
            new_graph(adapter)
    assert caught.value is FULL
    assert not is_claimed(adapter)
    init_graph(adapter, LIBRARY, force=True)
    check_whole(adapter)


# ── a loss of power ──────────────────────────────────────────────────────────────────────────────────────────────


def test_force_does_not_touch_a_graph_whose_newest_version_cannot_be_read(tmp_path):
    adapter = disk_adapter(tmp_path)
    repository = new_graph(adapter)
    write(repository, {PERSON: appending("ann")})
    newest = min((tmp_path / repository.manifests.location / "_versions").glob("*.manifest"))
    newest.write_bytes(b"")
    # A claim that could not be removed may lie beside any graph.
    adapter.write(adapter.key(CLAIM), b"{}")
    with pytest.raises(AlreadyExistsError):
        init_graph(adapter, LIBRARY, force=True)
    assert newest.read_bytes() == b""
    # Opening it for writing is what helps.
    assert repository.open_newest(repository.main).version == 1


@pytest.mark.parametrize("force", [False, True])
def test_a_graph_whose_main_branch_cannot_be_read_is_not_made_anew(force):
    adapter = new_adapter()
    new_graph(adapter)
    adapter.write(adapter.key(MAIN_REF), b"{")
    with pytest.raises(AlreadyExistsError, match="cannot read"):
        init_graph(adapter, LIBRARY, force=force)
