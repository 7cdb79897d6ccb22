"""The line of a branch: in the order of coming, and nobody is kept by who is gone."""

from __future__ import annotations

import secrets
import threading
import time

import pytest
from publish_world import PERSON, another_handle, appending, ids_now, intent, new_graph, plan, write_elsewhere

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.history.rivals import REMEMBERED_WRITES, Rivals
from omnigraph.storage import parse_uri
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.write import line
from omnigraph.write.attempts import WriteRequest, run_write
from omnigraph.write.branching import make_branch
from omnigraph.write.deadlines import Deadline
from omnigraph.write.line import WAITING_PREFIX, stand_in_line
from omnigraph.write.load import LoadRequest, load, parse_mode
from omnigraph.write.merge import MergeRequest, merge_branch


@pytest.fixture
def adapter() -> MemoryAdapter:
    return MemoryAdapter(parse_uri(f"memory://line-{secrets.token_hex(6)}"))


def tickets(adapter: MemoryAdapter) -> list[str]:
    return sorted(each.value for each in adapter.list(adapter.key(WAITING_PREFIX)))


def test_who_is_alone_goes_at_once_and_leaves_nothing(adapter: MemoryAdapter):
    with stand_in_line(adapter, "main", Deadline()) as has_company:
        assert not has_company
        assert len(tickets(adapter)) == 1
    assert tickets(adapter) == []


def test_writers_go_in_the_order_in_which_they_came(adapter: MemoryAdapter):
    order: list[int] = []

    def go(number: int) -> None:
        with stand_in_line(adapter, "main", Deadline()):
            order.append(number)

    threads = []
    with stand_in_line(adapter, "main", Deadline()):
        for number in range(4):
            threads.append(threading.Thread(target=go, args=(number,)))
            threads[-1].start()
            while len(tickets(adapter)) < number + 2:
                time.sleep(0.001)
            # Tickets are told apart by the millisecond.
            time.sleep(0.003)
        assert order == []
    for thread in threads:
        thread.join(20)
    assert order == [0, 1, 2, 3]
    assert tickets(adapter) == []


def test_branches_have_lines_of_their_own(adapter: MemoryAdapter):
    with stand_in_line(adapter, "main", Deadline()), stand_in_line(adapter, "dev", Deadline()) as has_company:
        assert not has_company


def test_the_ticket_of_a_writer_that_is_gone_is_taken_away(adapter: MemoryAdapter, monkeypatch):
    monkeypatch.setattr(line, "PATIENCE_SECONDS", 0.02)
    adapter.write(adapter.key(f"{WAITING_PREFIX}/main/00000000000000000000000000"), b"")
    with stand_in_line(adapter, "main", Deadline(), write_seconds=0.001) as has_company:
        assert has_company
        assert len(tickets(adapter)) == 1
    assert tickets(adapter) == []


def test_who_comes_later_is_not_waited_for_whatever_its_clock_says(adapter: MemoryAdapter):
    """Machines whose clocks are behind would otherwise go first for ever."""
    stop = threading.Event()

    def keep_coming() -> None:
        number = 0
        while not stop.is_set():
            ticket = adapter.key(f"{WAITING_PREFIX}/main/{number:026}")
            adapter.write(ticket, b"")
            time.sleep(0.002)
            adapter.delete(ticket)
            number += 1

    thread = threading.Thread(target=keep_coming)
    thread.start()
    deadline = Deadline(seconds=20)
    with stand_in_line(adapter, "main", deadline, write_seconds=0.01):
        assert deadline.seconds_left > 15
    stop.set()
    thread.join()


def test_a_line_of_the_dead_keeps_nobody_for_long(adapter: MemoryAdapter, monkeypatch):
    monkeypatch.setattr(line, "PATIENCE_SECONDS", 0.02)
    for number in range(5):
        adapter.write(adapter.key(f"{WAITING_PREFIX}/main/{number:026}"), b"")
    with stand_in_line(adapter, "main", Deadline(), write_seconds=0.001):
        # Two were waited for and taken away; one's own is the fourth.
        assert len(tickets(adapter)) == 4


def test_patience_is_several_times_what_a_write_takes(adapter: MemoryAdapter, monkeypatch):
    """A store on which writes take seconds is no reason to take tickets away."""
    monkeypatch.setattr(line, "PATIENCE_SECONDS", 0.01)
    adapter.write(adapter.key(f"{WAITING_PREFIX}/main/00000000000000000000000000"), b"")
    with stand_in_line(adapter, "main", Deadline(seconds=0.2), write_seconds=10):
        assert len(tickets(adapter)) == 2


def test_patience_has_an_end_however_long_the_last_write_took(adapter: MemoryAdapter, monkeypatch):
    monkeypatch.setattr(line, "LONGEST_PATIENCE_SECONDS", 0.02)
    adapter.write(adapter.key(f"{WAITING_PREFIX}/main/00000000000000000000000000"), b"")
    with stand_in_line(adapter, "main", Deadline(), write_seconds=0.1):
        assert len(tickets(adapter)) == 1


def test_a_merge_among_rivals_stands_in_line_from_its_first_attempt_on(monkeypatch):
    """Whoever merges many branches would otherwise come first all the time, and those in line never."""
    monkeypatch.setattr(line, "PATIENCE_SECONDS", 0.02)
    monkeypatch.setattr(line, "PATIENCE_WRITES", 0)
    repository = new_graph()
    for name in ("alone", "near"):
        make_branch(repository, name, repository.newest())
        load(
            repository,
            [{"type": "Person", "data": {"name": name}}],
            LoadRequest(mode=parse_mode("append"), branch=name),
        )
    # Somebody who is gone: only who waits in line takes the ticket away.
    incarnation = repository.main.incarnation
    ticket = repository.adapter.key(f"{WAITING_PREFIX}/{incarnation}/00000000000000000000000000")
    repository.adapter.write(ticket, b"")
    merge_branch(repository, MergeRequest(source="alone", into="main"))
    assert repository.adapter.exists(ticket)
    repository.rivals.meet(incarnation)
    merge_branch(repository, MergeRequest(source="near", into="main"))
    assert not repository.adapter.exists(ticket)
    assert ids_now(repository, PERSON) == ["alone", "near"]


def test_nobody_waits_longer_than_its_deadline(adapter: MemoryAdapter, monkeypatch):
    monkeypatch.setattr(line, "PATIENCE_SECONDS", 60)
    adapter.write(adapter.key(f"{WAITING_PREFIX}/main/00000000000000000000000000"), b"")
    with stand_in_line(adapter, "main", Deadline(seconds=0.05)):
        pass
    assert len(tickets(adapter)) == 1


def test_a_ticket_goes_with_an_error_too(adapter: MemoryAdapter):
    with pytest.raises(KeyboardInterrupt), stand_in_line(adapter, "main", Deadline()):
        raise KeyboardInterrupt
    assert tickets(adapter) == []


def test_a_line_that_cannot_be_seen_is_no_reason_not_to_write(adapter: MemoryAdapter, monkeypatch):
    def fail(*_arguments):
        raise StorageError("no", condition=StorageCondition.TRANSIENT)

    monkeypatch.setattr(adapter, "write", fail)
    monkeypatch.setattr(adapter, "delete", fail)
    with stand_in_line(adapter, "main", Deadline()) as has_company:
        assert not has_company


# ── who stands in it ─────────────────────────────────────────────────────────────────────────────────────────────


def test_rivals_are_remembered_for_some_writes():
    rivals = Rivals()
    assert not rivals.are_near("main")
    rivals.meet("main")
    assert not rivals.are_near("dev")
    for _ in range(REMEMBERED_WRITES):
        assert rivals.are_near("main")
        rivals.pass_by("main")
    assert not rivals.are_near("main")
    rivals.pass_by("main")


def test_how_long_writes_take_is_known_after_the_first():
    rivals = Rivals()
    assert rivals.write_seconds is None
    rivals.note_write(1.0)
    assert rivals.write_seconds == 1.0
    rivals.note_write(2.0)
    assert rivals.write_seconds == 1.25
    repository = new_graph()
    append(repository, "a")
    assert 0 < repository.rivals.write_seconds < 60


def stood(repository, act) -> int:
    """How many tickets were put while something happened."""
    seen = []
    real = repository.adapter.write

    def write(key, data):
        seen.append(key.value)
        real(key, data)

    repository.adapter.write = write
    try:
        act()
    finally:
        del repository.adapter.write
    return sum(each.startswith(WAITING_PREFIX) for each in seen)


def append(repository, name: str, first=lambda: None) -> None:
    own = intent()

    def prepare(log, _snapshot, _is_void):
        first()
        return plan(repository, log, {PERSON: appending(name)}, of=own)

    run_write(repository, WriteRequest(branch="main", is_brief=True), prepare)


def test_a_writer_that_has_met_nobody_does_not_stand_in_line():
    repository = new_graph()
    assert stood(repository, lambda: [append(repository, each) for each in "abc"]) == 0


def test_a_writer_that_lost_a_swap_stands_in_line_for_its_next_writes():
    repository = new_graph()
    rival = [lambda: write_elsewhere(repository, {PERSON: appending("rival")})]
    append(repository, "a", lambda: rival.pop()() if rival else None)
    assert stood(repository, lambda: append(repository, "b")) == 1
    assert ids_now(repository, PERSON) == ["a", "b", "rival"]


def test_a_writer_that_finds_the_leavings_of_another_stands_in_line_for_its_next_writes():
    """Whoever always wins would never notice those who lose to it otherwise."""
    repository = new_graph()
    other = another_handle(repository)
    pin = other.newest().state.entries[PERSON].pin
    target = other.snapshot(other.newest()).schema.node("Person")
    staged = appending("loser")(other, pin, target)
    other.tables.commit_exact(other.tables.open_at(pin), [staged])
    assert stood(repository, lambda: append(repository, "a")) == 0
    assert stood(repository, lambda: append(repository, "b")) == 1
    assert ids_now(repository, PERSON) == ["a", "b"]


def test_who_comes_to_the_head_of_the_line_builds_on_the_newest_state():
    repository = new_graph()
    repository.rivals.meet(repository.main.incarnation)
    write_elsewhere(repository, {PERSON: appending("rival")})
    prepared = []

    def prepare(log, _snapshot, _is_void):
        prepared.append(log.version)
        return plan(repository, log, {PERSON: appending("a")}, of=own)

    own = intent()
    run_write(repository, WriteRequest(branch="main", is_brief=True), prepare)
    assert prepared == [2]
