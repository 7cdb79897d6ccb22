"""Many processes at one root: exactly one winner, no lost update, whole reads, and patience with a stopped holder."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import ROOT, content_token, parse_uri
from omnigraph_storage_local.adapter import CHECKED, LOCK_NAME, LocalAdapter

WRITERS, ROUNDS = 8, 20
PATIENCE_SECONDS = 60


@pytest.mark.parametrize("verb", ["write_if_absent", "write_if_match"])
def test_of_many_processes_exactly_one_wins_each_round(adapter: LocalAdapter, children, verb: str):
    shared = adapter.key("claims/shared")
    adapter.write(shared, b"start")
    barrier = multiprocessing.get_context("fork").Barrier(WRITERS, timeout=PATIENCE_SECONDS)
    reading, writing = os.pipe()

    def compete(writer: int) -> None:
        for number in range(ROUNDS):
            data = f"round {number} writer {writer}".encode()
            key = shared if verb == "write_if_match" else adapter.key(f"claims/{number}")
            token = adapter.read_versioned(shared).token
            barrier.wait()
            if verb == "write_if_match":
                won = adapter.write_if_match(key, data, token) is not None
            else:
                won = adapter.write_if_absent(key, data)
            barrier.wait()
            if won:
                assert adapter.read(key) == data, "the winner's bytes are there"
                os.write(writing, b"%d\n" % number)

    pids = [children.start(lambda writer=writer: compete(writer)) for writer in range(WRITERS)]
    assert [children.wait(pid) for pid in pids] == [0] * WRITERS
    os.close(writing)
    with os.fdopen(reading, "rb") as answers:
        winners = Counter(int(line) for line in answers)
    assert winners == dict.fromkeys(range(ROUNDS), 1)
    names = {"claims/shared"} | ({f"claims/{n}" for n in range(ROUNDS)} if verb == "write_if_absent" else set())
    assert {str(key) for key in adapter.list()} == names


def test_a_counter_that_many_processes_increment_loses_none(adapter: LocalAdapter, children):
    key = adapter.key("counter")
    adapter.write(key, b"0")

    def increment(times: int) -> None:
        while times:
            found = adapter.read_versioned(key)
            if adapter.write_if_match(key, b"%d" % (int(found.data) + 1), found.token):
                times -= 1

    pids = [children.start(lambda: increment(25)) for _ in range(4)]
    assert [children.wait(pid) for pid in pids] == [0] * 4
    assert adapter.read(key) == b"100"


def test_a_reader_without_lock_sees_only_whole_objects(adapter: LocalAdapter, children):
    key = adapter.key("x")
    wholes = [bytes([65 + number]) * (1000 + 30_000 * number) for number in range(3)]
    adapter.write(key, wholes[0])

    def write() -> None:
        for number in range(150):
            adapter.write(key, wholes[number % 3])

    pid = children.start(write)
    seen: Counter[int] = Counter()
    while children.is_running(pid):
        seen[wholes.index(adapter.read(key))] += 1
    assert children.wait(pid) == 0
    assert len(seen) == 3, "the reader met every value"


def test_a_rename_over_an_object_never_leaves_its_name_empty(adapter: LocalAdapter, children):
    target = adapter.key("x")
    adapter.write(target, b"start")

    def work() -> None:
        for number in range(100):
            adapter.write(adapter.key("source"), b"%d" % number)
            adapter.rename(adapter.key("source"), target)

    pid = children.start(work)
    while children.is_running(pid):
        assert adapter.read_if_exists(target) is not None
    assert children.wait(pid) == 0


def test_writers_and_removers_of_their_directories_do_not_disturb_each_other(adapter: LocalAdapter, children):
    def write(writer: int) -> None:
        for number in range(40):
            adapter.write(adapter.key(f"a/b/{writer}"), b"1")
            adapter.write_if_absent(adapter.key(f"a/{number}"), b"2")

    def remove(prefix: str) -> None:
        for _ in range(120):
            adapter.delete_prefix(adapter.key(prefix) if prefix else ROOT)

    works = [lambda: write(0), lambda: write(1), lambda: remove("a/b"), lambda: remove("")]
    pids = [children.start(work) for work in works]
    assert [children.wait(pid) for pid in pids] == [0] * 4
    adapter.write(adapter.key("a/b/x"), b"3")
    assert adapter.read(adapter.key("a/b/x")) == b"3"
    adapter.delete_prefix(ROOT)
    assert not os.path.exists(adapter.root.path)


class StopsUnderTheLock(LocalAdapter):
    """Stops its own process between the check and the replacement, as a debugger or a hanging disk would."""

    def _reached(self, step: str) -> None:
        if step == CHECKED:
            os.kill(os.getpid(), signal.SIGSTOP)


def test_a_stopped_holder_makes_every_change_wait_and_fail_and_disturbs_no_reader(root: Path, children):
    adapter = LocalAdapter(parse_uri(root))
    for name in ("x", "dir/y"):
        adapter.write(adapter.key(name), b"old")
    x, y, token = adapter.key("x"), adapter.key("dir/y"), content_token(b"old")
    stopping = StopsUnderTheLock(adapter.root)

    def swap() -> None:
        assert stopping.write_if_match(x, b"from the stopped one", token) is not None

    pid = children.start(swap)
    children.wait_until_stopped(pid)

    adapter.lock_timeout_seconds = 0.1
    for change in (
        lambda: adapter.write(x, b"new"),
        lambda: adapter.write_if_absent(adapter.key("dir/z"), b"new"),
        lambda: adapter.write_if_match(x, b"new", token),
        lambda: adapter.rename(y, x),
        lambda: adapter.delete(x),
        lambda: adapter.delete_prefix(adapter.key("dir")),
        lambda: adapter.delete_prefix(ROOT),
    ):
        with pytest.raises(StorageError, match=r"was not free for 0\.1 s: another process holds it") as caught:
            change()
        assert caught.value.condition is StorageCondition.TRANSIENT
        assert "This change was not made" in (caught.value.help or "")
    assert {str(key) for key in adapter.list()} == {"x", "dir/y"}
    assert adapter.read(x) == adapter.read(y) == b"old"
    residue = [name for name in os.listdir(root) + os.listdir(root / "dir") if "#" in name and name != LOCK_NAME]
    assert len(residue) == 1, "only the stopped one still has its temporary file"

    os.kill(pid, signal.SIGCONT)
    assert children.wait(pid) == 0
    assert adapter.read(x) == b"from the stopped one"
    adapter.lock_timeout_seconds = 30
    assert adapter.write_if_match(x, b"new", token) is None
    adapter.write(x, b"new")
    assert adapter.read(x) == b"new"


def test_a_deletion_that_meets_a_stopped_holder_halfway_says_that_a_part_is_gone(root: Path, children, monkeypatch):
    adapter = LocalAdapter(parse_uri(root))
    for name in ("x", "dir/y", "dir/deep/z"):
        adapter.write(adapter.key(name), b"old")
    stopping = StopsUnderTheLock(adapter.root)
    remove = adapter._remove_directory
    pids: list[int] = []

    def remove_and_let_another_in(directory: str) -> None:
        remove(directory)
        # It waits for the lock, gets it when this directory is done, and stops with it.
        pids.append(children.start(lambda: stopping.write(adapter.key("x"), b"from the stopped one")))

    monkeypatch.setattr(adapter, "_remove_directory", remove_and_let_another_in)
    hold = adapter._lock.hold

    def hold_after_the_other(timeout_seconds: float, **named):
        if pids:
            children.wait_until_stopped(pids[0])
        return hold(timeout_seconds, **named)

    monkeypatch.setattr(adapter._lock, "hold", hold_after_the_other)
    adapter.lock_timeout_seconds = 0.1
    with pytest.raises(StorageError, match="another process holds it") as caught:
        adapter.delete_prefix(adapter.key("dir"))
    assert (caught.value.help or "").startswith(f"Only a part of what is below {root}/dir was deleted. A holder needs")
    assert {str(key) for key in adapter.list()} == {"x", "dir/y"}
    os.kill(pids[0], signal.SIGCONT)
    assert children.wait(pids[0]) == 0
    LocalAdapter(adapter.root).delete_prefix(adapter.key("dir"))
    assert {str(key) for key in adapter.list()} == {"x"}
