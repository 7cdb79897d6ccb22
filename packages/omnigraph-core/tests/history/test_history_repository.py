"""``Repository``: what a process remembers of a graph, what a read costs, and how a moment is named."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from publish_world import (
    FILM,
    LIBRARY,
    PERSON,
    another_handle,
    appending,
    ids_now,
    new_adapter,
    new_graph,
    publish_bare,
    write,
    write_elsewhere,
)

from omnigraph.errors import BranchReplacedError, InvalidInputError, NotFoundError
from omnigraph.history.repository import Repository
from omnigraph.history.schemas import GraphSchema
from omnigraph.history.ulids import new_ulid
from omnigraph.lang.diagnostics import Report
from omnigraph.lang.source import SourceText
from omnigraph.schema import compile_schema
from omnigraph.schema.identity import resolve_identities
from omnigraph.tables.counting import count_table_calls
from omnigraph.testing.faults import CountingAdapter
from omnigraph.write.branching import make_branch


def test_a_warm_read_is_one_probe_and_nothing_else():
    adapter = CountingAdapter(new_adapter())
    repository = new_graph(adapter)
    write(repository, {PERSON: appending("ann")})
    repository.snapshot_of()
    adapter.calls.clear()
    with count_table_calls() as counts:
        snapshot = repository.snapshot_of()
        repository.tables.open_at(snapshot.state.entries[PERSON].pin)
    assert counts == {"log.probe": 1}
    assert not adapter.calls


def test_a_cold_open_is_an_open_and_one_read():
    repository = new_graph()
    for number in range(5):
        write(repository, {PERSON: appending(str(number))})
    cold = another_handle(repository, CountingAdapter(repository.adapter))
    with count_table_calls() as counts:
        cold.snapshot_of()
    assert counts == {"log.open": 1, "log.read": 1}
    assert cold.adapter.calls == {"read": 1}  # the schema


def test_what_another_handle_published_is_seen_by_the_next_look():
    repository = new_graph()
    known = repository.newest()
    commit = write_elsewhere(repository, {PERSON: appending("ann")})
    assert repository.known() is known
    with count_table_calls() as counts:
        assert repository.newest().state.head == commit
    assert counts == {"log.probe": 1, "log.open": 1, "log.read": 1}
    assert repository.known().state.head == commit


def test_a_handle_that_knows_nothing_opens_what_it_is_asked_for():
    repository = another_handle(new_graph())
    with count_table_calls() as counts:
        repository.known()
        repository.known()
    assert counts == {"log.open": 1, "log.read": 1}


def test_an_older_log_does_not_replace_a_newer_one():
    repository = new_graph()
    old = repository.newest()
    newer = publish_bare(old)
    assert repository.remember(newer) is newer
    assert repository.remember(old) is old
    assert repository.known() is newer
    assert repository.newest_known(old) is newer
    assert repository.newest_known(newer) is newer


def test_forgetting_costs_an_open_and_nothing_else():
    repository = new_graph()
    state = repository.newest().state
    repository.forget()
    assert repository.known().state == state


def removed(repository: Repository) -> None:
    """Remove a graph as somebody does who removes its directory."""
    fresh = another_handle(repository)
    for location in (
        repository.manifests.location,
        *(each.location for each in repository.snapshot_of().schema.tables.values()),
    ):
        fresh.tables.drop(location)
    for each in [*repository.adapter.list()]:
        repository.adapter.delete(each)


def test_a_handle_on_a_graph_that_was_removed_says_so():
    repository = new_graph()
    removed(repository)
    for _ in range(2):
        with pytest.raises(NotFoundError, match="any more"):
            repository.newest()
        with pytest.raises(NotFoundError, match="any more"):
            write(repository, {PERSON: appending("ann")})


@pytest.mark.parametrize("commits", [0, 3])
def test_a_handle_on_a_graph_that_was_made_anew_touches_nothing_of_the_new_one(commits):
    """With as many versions in both, a swap on the number of the version alone would be accepted, and lost."""
    repository = new_graph()
    for number in range(3):
        write(repository, {PERSON: appending(str(number))})
    removed(repository)
    made = new_graph(repository.adapter)
    for number in range(commits):
        write(made, {PERSON: appending(f"new {number}")})
    objects = sorted(each.value for each in made.adapter.list())
    for _ in range(2):
        with pytest.raises(BranchReplacedError, match="another one was made at the same place"):
            write(repository, {PERSON: appending("ann")})
        with pytest.raises(BranchReplacedError, match="another one was made at the same place"):
            repository.newest()
    assert ids_now(made, PERSON) == [f"new {number}" for number in range(commits)]
    assert sorted(each.value for each in made.adapter.list()) == objects
    write(made, {PERSON: appending("bo")})
    assert "bo" in ids_now(made, PERSON)


# ── moments ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_moment_is_named_by_a_commit_a_version_or_a_snapshot():
    repository = new_graph()
    commits = [repository.newest().state.head]
    commits += [write(repository, {PERSON: appending(str(number))}).commit for number in range(40)]
    for position in (0, 1, 20, 39, 40):
        by_id = repository.snapshot_of(at=commits[position].id)
        by_version = repository.snapshot_of(at=position + 1)
        assert by_id.commit == by_version.commit == commits[position]
        assert by_id.state == by_version.state
        assert by_id.state.entries[PERSON].row_count == position
        assert repository.snapshot_of(at=by_id) is by_id
    assert repository.snapshot_of().commit == commits[-1]


def test_an_old_moment_is_found_by_a_handle_that_knows_nothing():
    repository = new_graph()
    first = write(repository, {PERSON: appending("ann")}).commit
    for number in range(40):
        write(repository, {FILM: appending(str(number))})
    cold = another_handle(repository)
    assert cold.find_commit(first.id) == first
    assert cold.snapshot_of(at=first.id).commit == first


def test_a_commit_of_another_handle_is_found_although_this_one_is_behind():
    repository = new_graph()
    repository.newest()
    commit = write_elsewhere(repository, {PERSON: appending("ann")})
    assert repository.find_commit(commit.id) == commit
    assert repository.snapshot_of(at=commit.id).commit == commit


@pytest.mark.parametrize("at", ["nowhere", "", 0, -1, 3, 2**63, 2**64, 2**200])
def test_a_moment_that_never_was_is_not_found(at):
    repository = new_graph()
    write(repository, {PERSON: appending("ann")})
    with pytest.raises(NotFoundError) as caught:
        repository.snapshot_of(at=at)
    assert caught.value.help


@pytest.mark.parametrize("at", [1.0, True, b"x", [1], object()])
def test_what_names_no_moment_is_refused(at):
    with pytest.raises(InvalidInputError, match="names no moment"):
        new_graph().snapshot_of(at=at)


def test_an_unknown_commit_costs_one_look_through_the_history_and_one_for_lines_that_no_branch_has():
    repository = new_graph()
    for _ in range(34):
        repository.remember(publish_bare(repository.newest()))
    with count_table_calls() as counts, pytest.raises(NotFoundError):
        repository.find_commit(new_ulid())
    assert counts == {"log.probe": 1, "log.read": 1, "log.lines": 1}


def test_an_unknown_branch_is_not_found():
    repository = new_graph()
    for ask in (repository.newest, repository.known, repository.snapshot_of):
        with pytest.raises(NotFoundError, match="dev"):
            ask("dev")


def test_of_many_branches_those_used_last_are_remembered_and_main_always_is(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("omnigraph.history.repository.MAX_REMEMBERED", 3)
    repository = new_graph()
    for name in ("a", "b", "c"):
        make_branch(repository, name, repository.newest())
        repository.newest(name)
        repository.newest("a")

    def opened(name: str) -> int:
        with count_table_calls() as counts:
            repository.known(name)
        return counts["log.open"]

    assert {name: opened(name) for name in ("main", "a", "c", "b")} == {"main": 0, "a": 0, "c": 0, "b": 1}


def test_few_schemas_are_remembered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("omnigraph.history.repository.MAX_SCHEMAS", 3)
    repository = new_graph()
    own = repository.snapshot_of().schema
    for number in range(5):
        repository.adopt_schemas({f"{number}" * 64: own})
        assert repository.schema(own.digest) == own
    assert list(repository._schemas) == ["3" * 64, "4" * 64, own.digest]


# ── threads ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_threads_that_share_a_handle_never_see_the_graph_go_back():
    repository = new_graph()
    stop = threading.Event()

    def watch(_number: int) -> bool:
        last = 0
        while not stop.is_set():
            version = repository.newest().version
            assert version >= last
            last = version
            # What is remembered may trail what was just read, and still never goes back by itself.
            assert repository.snapshot(repository.known()).state.version >= 1
        return True

    with ThreadPoolExecutor(4) as threads:
        watching = [threads.submit(watch, number) for number in range(4)]
        for number in range(15):
            write_elsewhere(repository, {PERSON: appending(str(number))})
        stop.set()
        assert all(each.result() for each in watching)
    assert repository.newest().version == 16


# ── snapshots and ids ────────────────────────────────────────────────────────────────────────────────────────────


def test_the_json_form_of_a_snapshot():
    repository = new_graph()
    commit = write(repository, {PERSON: appending("ann", "bob")}).commit
    snapshot = repository.snapshot_of()
    tables = snapshot.schema.tables
    assert snapshot.to_dict() == {
        "branch": "main",
        "manifest_version": 2,
        "internal_schema_version": 2,
        "commit_id": commit.id,
        "types": [
            {
                "kind": key.partition(":")[0],
                "name": key.partition(":")[2],
                "count": count,
                "location": tables[key].location,
                "version": version,
                "physical_branch": None,
            }
            for key, count, version in [("edge:Saw", 0, 1), ("node:Film", 0, 1), ("node:Person", 2, 2)]
        ],
    }


def test_a_snapshot_finds_a_type_by_identity_and_not_by_name():
    repository = new_graph()
    snapshot = repository.snapshot_of()
    schema = snapshot.schema
    text = LIBRARY.replace("node Film", 'node Movie @rename_from("Film")').replace("-> Film", "-> Movie")
    ir = resolve_identities(compile_schema(text), schema.ir, Report(SourceText.of(text)))
    movie = GraphSchema.of(text, ir).node("Movie")
    assert movie.identity == schema.node("Film").identity
    assert snapshot.entry(movie).key == "node:Film"
    later = GraphSchema.new(LIBRARY + "node Zoo { name: String @key }", schema.ir.domain)
    with pytest.raises(NotFoundError, match="no node type Zoo"):
        snapshot.entry(later.node("Zoo"))


def test_ids_are_ulids_that_grow_even_within_a_millisecond():
    made = [new_ulid() for _ in range(2_000)]
    assert made == sorted(set(made))
    assert all(len(each) == 26 and set(each) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ") for each in made)


def test_ids_of_many_threads_are_all_different():
    with ThreadPoolExecutor(8) as threads:
        made = [each for part in threads.map(lambda _: [new_ulid() for _ in range(200)], range(8)) for each in part]
    assert len(set(made)) == 1_600


def test_the_time_of_an_id_is_now():
    import time

    alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    before = time.time_ns() // 1_000_000
    value = 0
    for each in new_ulid()[:10]:
        value = value * 32 + alphabet.index(each)
    # Ids of other tests in the same millisecond push it on by nothing that can be seen.
    assert before <= value <= time.time_ns() // 1_000_000 + 1
