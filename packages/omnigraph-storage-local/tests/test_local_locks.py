"""The lock: one holder among all threads and processes, never stale, never leaked to a child."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import content_token, parse_uri
from omnigraph_storage_local import locks
from omnigraph_storage_local.adapter import LocalAdapter
from omnigraph_storage_local.locks import FileLock
from omnigraph_storage_local.steps import CHECKED, LOCKED, REPLACED

SHORT, LONG = 0.05, 20.0


@pytest.fixture
def lock(tmp_path: Path) -> FileLock:
    return FileLock(str(tmp_path / "lock#0"))


def is_free(lock: FileLock) -> bool:
    """Whether somebody else could lock the file that is now at the path."""
    descriptor = os.open(lock.path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)


def open_descriptors() -> int:
    return len(os.listdir("/dev/fd"))


def expect_busy(lock: FileLock, holder: str) -> None:
    with pytest.raises(StorageError, match=f"{holder} holds it") as caught, lock.hold(SHORT):
        pass
    assert caught.value.condition is StorageCondition.TRANSIENT
    assert caught.value.uri == lock.path
    assert "let it go on or end it, then repeat" in (caught.value.help or "")


def test_the_lock_is_held_inside_the_block_and_free_after_it(lock: FileLock):
    for _ in range(2):
        with lock.hold(LONG):
            assert not is_free(lock)
        assert is_free(lock)
    with pytest.raises(ZeroDivisionError), lock.hold(LONG):
        _ = 1 / 0
    assert is_free(lock)


@pytest.mark.parametrize("verb", ["write_if_absent", "write_if_match", "rename"])
def test_a_conditional_change_holds_the_lock_only_to_check_and_to_replace(tmp_path: Path, verb: str):
    held_at: list[str] = []

    class Watched(LocalAdapter):
        def _reached(self, step: str) -> None:
            if not is_free(self._lock):
                held_at.append(step)

    adapter = Watched(parse_uri(tmp_path))
    adapter.write(adapter.key("x"), b"1")
    assert held_at == []
    if verb == "write_if_absent":
        assert adapter.write_if_absent(adapter.key("y"), b"2")
    elif verb == "write_if_match":
        assert adapter.write_if_match(adapter.key("x"), b"2", content_token(b"1"))
    else:
        adapter.rename(adapter.key("x"), adapter.key("y"))
    assert held_at == [LOCKED, CHECKED, REPLACED]


def test_a_plain_write_and_a_deletion_make_no_lock_file(tmp_path: Path):
    adapter = LocalAdapter(parse_uri(tmp_path))
    adapter.write(adapter.key("x"), b"1")
    adapter.write(adapter.key("y"), b"1")
    adapter.write(adapter.key("x"), b"2")
    adapter.delete(adapter.key("y"))
    assert os.listdir(tmp_path) == ["x"]


def test_a_missing_directory_is_told_and_not_made(tmp_path: Path):
    lock = FileLock(str(tmp_path / "nothing" / "lock#0"))
    with pytest.raises(FileNotFoundError), lock.hold(LONG):
        pass
    assert os.listdir(tmp_path) == []


def test_another_thread_waits_its_time_and_then_says_who_holds_the_lock(lock: FileLock):
    with lock.hold(LONG), ThreadPoolExecutor(1) as thread:
        thread.submit(expect_busy, FileLock(lock.path), "another thread of this process").result()


def test_another_process_waits_its_time_and_then_says_who_holds_the_lock(lock: FileLock, children):
    with lock.hold(LONG):
        assert children.run(lambda: expect_busy(lock, "another process")) == 0


def test_threads_and_processes_never_meet_inside(lock: FileLock, tmp_path: Path, children):
    inside = tmp_path / "inside"

    def enter_often() -> None:
        for _ in range(25):
            with lock.hold(LONG):
                os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
                time.sleep(0.0001)
                os.unlink(inside)

    def work() -> None:
        with ThreadPoolExecutor(3) as threads:
            for entered in [threads.submit(enter_often) for _ in range(3)]:
                entered.result()

    pids = [children.start(work) for _ in range(3)]
    assert [children.wait(pid) for pid in pids] == [0, 0, 0]


def test_the_kernel_frees_the_lock_of_a_killed_holder(lock: FileLock, children):
    def work() -> None:
        with lock.hold(LONG):
            os.kill(os.getpid(), signal.SIGKILL)

    assert children.run(work) == -signal.SIGKILL
    with lock.hold(LONG):
        pass


@pytest.mark.parametrize("is_remade", [False, True])
def test_a_lock_file_that_was_removed_meanwhile_counts_for_nothing(
    lock: FileLock, monkeypatch: pytest.MonkeyPatch, is_remade: bool
):
    calls = 0
    real = fcntl.flock

    def remove_before_the_first(descriptor: int, operation: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            os.unlink(lock.path)
            if is_remade:
                os.close(os.open(lock.path, os.O_CREAT | os.O_EXCL))
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", remove_before_the_first)
    with lock.hold(LONG):
        assert not is_free(lock), "the file at the path must be the locked one"
    assert is_free(lock)


def test_a_lock_file_that_is_removed_without_end_is_a_transient_error(lock: FileLock, monkeypatch: pytest.MonkeyPatch):
    real = fcntl.flock

    def remove_always(descriptor: int, operation: int) -> None:
        if operation != fcntl.LOCK_UN:
            os.unlink(lock.path)
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", remove_always)
    expect_busy(lock, "another process")


def test_waits_grow_from_a_fifth_of_a_millisecond_to_five_within_the_time(
    lock: FileLock, monkeypatch: pytest.MonkeyPatch
):
    now, waits = 1000.0, []

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        waits.append(seconds)

    def taken(descriptor: int, operation: int) -> None:
        if operation != fcntl.LOCK_UN:
            raise BlockingIOError(errno.EWOULDBLOCK, "taken")

    monkeypatch.setattr(fcntl, "flock", taken)
    monkeypatch.setattr(locks.time, "sleep", sleep)
    monkeypatch.setattr(locks.time, "monotonic", lambda: now)
    with pytest.raises(StorageError), lock.hold(0.1):
        pass
    monkeypatch.undo()
    assert waits[:7] == pytest.approx([0.0002, 0.0004, 0.0008, 0.0016, 0.0032, 0.005, 0.005])
    assert max(waits) == pytest.approx(0.005)
    assert sum(waits) == pytest.approx(0.1)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_refused_with_the_next_move(
    lock: FileLock, monkeypatch: pytest.MonkeyPatch, number: int
):
    def refused(descriptor: int, operation: int) -> None:
        if operation != fcntl.LOCK_UN:
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refused)
    with pytest.raises(StorageError, match="offers no file locks") as caught, lock.hold(LONG):
        pass
    assert caught.value.condition is StorageCondition.CONFIGURATION
    assert "flock(2)" in (caught.value.help or "")


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EBADF])
def test_a_lock_that_the_system_refuses_names_the_lock_file(
    lock: FileLock, monkeypatch: pytest.MonkeyPatch, number: int
):
    def refused(descriptor: int, operation: int) -> None:
        if operation != fcntl.LOCK_UN:
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refused)
    before = open_descriptors()
    with pytest.raises(StorageError, match="may not be used by this user") as caught, lock.hold(LONG):
        pass
    assert caught.value.condition is StorageCondition.CONFIGURATION
    assert caught.value.uri == lock.path
    assert open_descriptors() == before


def test_no_descriptor_stays_open(lock: FileLock, monkeypatch: pytest.MonkeyPatch):
    before = open_descriptors()
    for _ in range(10):
        with lock.hold(LONG):
            pass
    other = os.open(lock.path, os.O_RDWR)
    fcntl.flock(other, fcntl.LOCK_EX)
    expect_busy(lock, "another process")
    os.close(other)
    with monkeypatch.context() as patch:
        patch.setattr(os.path, "samestat", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError), lock.hold(LONG):
            pass
    assert open_descriptors() == before
    assert is_free(lock)


# ── forks ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_child_that_was_forked_inside_does_not_free_its_parents_lock(lock: FileLock, children):
    held = lock.hold(LONG)
    held.__enter__()

    def leave_and_ask_again() -> None:
        held.__exit__(None, None, None)
        expect_busy(lock, "another process")

    assert children.run(leave_and_ask_again) == 0
    assert not is_free(lock)
    held.__exit__(None, None, None)
    assert is_free(lock)


def test_a_child_that_was_forked_inside_does_not_keep_the_lock(lock: FileLock, children):
    reading, writing = os.pipe()
    with lock.hold(LONG):
        pid = children.start(lambda: os.read(reading, 1))
    assert is_free(lock)
    os.write(writing, b".")
    assert children.wait(pid) == 0
    os.close(reading)
    os.close(writing)


def test_a_child_does_not_keep_the_lock_of_a_parent_that_was_killed(lock: FileLock, children):
    reading, writing = os.pipe()

    def work() -> None:
        with lock.hold(LONG):
            if children.fork() == 0:
                os.close(writing)
                os.read(reading, 1)
                os._exit(0)
            os.kill(os.getpid(), signal.SIGKILL)

    assert children.run(work) == -signal.SIGKILL
    with lock.hold(LONG):
        pass
    # The grandchild sees the end of the pipe and leaves.
    os.close(writing)
    os.close(reading)


def test_a_child_forked_while_another_thread_holds_the_lock_can_take_it_later(lock: FileLock, children):
    taken, let_go = threading.Event(), threading.Event()

    def hold() -> None:
        with lock.hold(LONG):
            taken.set()
            let_go.wait()

    def take() -> None:
        with lock.hold(LONG):
            assert not is_free(lock)

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()
    pid = children.start(take)
    let_go.set()
    thread.join()
    assert children.wait(pid) == 0
