"""Refused access, full disks and vanishing directories: a typed error, nothing replaced, no residue, and on it goes."""

from __future__ import annotations

import errno
import os
import re
import resource
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from omnigraph.errors import ResourceLimitError, StorageCondition, StorageError
from omnigraph.storage import MAX_OBJECT_BYTES, ROOT, content_token, parse_uri
from omnigraph_storage_local.adapter import LOCK_NAME, MAX_ATTEMPTS, LocalAdapter
from omnigraph_storage_local.steps import LOCK_STEPS

NOBODY = 65534


def failing(monkeypatch: pytest.MonkeyPatch, function: str, number: int, *, when: Callable[[str], bool]) -> None:
    """Let a function of ``os`` fail for paths (or descriptors) for which ``when`` holds."""
    real = getattr(os, function)

    def guarded(place, *rest, **named):
        if when(str(place)):
            raise OSError(number, os.strerror(number), place)
        return real(place, *rest, **named)

    monkeypatch.setattr(os, function, guarded)


def configuration_error(action: Callable[[], object]) -> StorageError:
    with pytest.raises(StorageError) as caught:
        action()
    assert caught.value.condition is StorageCondition.CONFIGURATION
    assert caught.value.uri
    assert caught.value.help
    return caught.value


def changes(adapter: LocalAdapter, name: str, *, conditional: bool = False) -> list[Callable[[], object]]:
    """Every way to write that can be asked for an object that holds ``old``, or the conditional ones alone."""
    key = adapter.key(name)
    found: list[Callable[[], object]] = [
        lambda: adapter.write_if_absent(adapter.key(f"{name}-fresh"), b"new"),
        lambda: adapter.write_if_match(key, b"new", content_token(b"old")),
    ]
    return found if conditional else [lambda: adapter.write(key, b"new"), *found]


# ── refused access ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_refused_read_is_an_error_and_never_absence(adapter: LocalAdapter, monkeypatch: pytest.MonkeyPatch):
    key = adapter.key("dir/x")
    adapter.write(key, b"1")
    failing(monkeypatch, "open", errno.EACCES, when=lambda path: path.endswith("/x"))
    for verb in (adapter.read, adapter.read_if_exists, adapter.read_versioned, adapter.exists):
        error = configuration_error(lambda verb=verb: verb(key))
        assert error.help == "Give this user access to it, or choose another place."
        assert isinstance(error.__cause__, PermissionError)


def test_a_refused_listing_is_an_error_and_never_empty(adapter: LocalAdapter, monkeypatch: pytest.MonkeyPatch):
    adapter.write(adapter.key("dir/deep/x"), b"1")
    failing(monkeypatch, "scandir", errno.EACCES, when=lambda path: path.endswith("/deep"))
    deep = adapter.key("dir/deep")
    for verb in (
        lambda: list(adapter.list()),
        lambda: adapter.list_dir(deep),
        lambda: adapter.exists(deep),
        lambda: adapter.exists(adapter.key("dir")),
        lambda: adapter.delete_prefix(adapter.key("dir")),
    ):
        configuration_error(verb)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
@pytest.mark.parametrize(
    ("function", "refused"), [("open", r"/x[^/]*#\d+$"), ("open", r"/lock#0$"), ("replace", r"/x[^/]*#\d+$")]
)
def test_a_refused_change_is_an_error_that_changes_nothing(
    adapter: LocalAdapter, root: Path, monkeypatch: pytest.MonkeyPatch, function: str, refused: str, number: int
):
    adapter.write(adapter.key("dir/x"), b"old")
    for change in changes(adapter, "dir/x", conditional="lock" in refused):
        with monkeypatch.context() as patch:
            failing(patch, function, number, when=lambda path: bool(re.search(refused, path)))
            configuration_error(change)
        assert os.listdir(root / "dir") == ["x"]
        assert adapter.read(adapter.key("dir/x")) == b"old"
    adapter.write(adapter.key("dir/x"), b"new")
    assert adapter.read(adapter.key("dir/x")) == b"new"


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOSPC])
def test_a_refused_directory_is_an_error_that_changes_nothing(
    adapter: LocalAdapter, root: Path, monkeypatch: pytest.MonkeyPatch, number: int
):
    adapter.write(adapter.key("x"), b"old")
    new = adapter.key("new/y")
    for change in (
        lambda: adapter.write(new, b"1"),
        lambda: adapter.write_if_absent(new, b"1"),
        lambda: adapter.rename(adapter.key("x"), new),
    ):
        with monkeypatch.context() as patch:
            failing(patch, "mkdir", number, when=lambda path: path.endswith("/new"))
            configuration_error(change)
        assert os.listdir(root) == ["x"]
    adapter.rename(adapter.key("x"), new)
    assert adapter.read(new) == b"old"


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A directory that every user of the machine may enter; the temporary ones of pytest are closed."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


def become_somebody_without_power() -> None:
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def test_permissions_of_the_file_system_itself_are_errors_and_never_absence(open_place: Path, children):
    adapter = LocalAdapter(parse_uri(open_place / "g"))
    for name in ("free/x", "closed/x", "unreadable"):
        adapter.write(adapter.key(name), b"1")
    for name, mode in (("closed", 0o000), ("unreadable", 0o000), ("free", 0o555)):
        os.chmod(open_place / "g" / name, mode)

    def work() -> None:
        become_somebody_without_power()
        assert adapter.read(adapter.key("free/x")) == b"1"
        assert adapter.exists(adapter.key("free"))
        closed = adapter.key("closed/x")
        for verb in (
            lambda: adapter.read_if_exists(closed),
            lambda: adapter.exists(closed),
            lambda: adapter.exists(adapter.key("closed")),
            lambda: list(adapter.list()),
            lambda: adapter.list_dir(adapter.key("closed")),
            lambda: adapter.read_if_exists(adapter.key("unreadable")),
            lambda: adapter.write(closed, b"2"),
            lambda: adapter.write_if_absent(closed, b"2"),
            lambda: adapter.write_if_match(closed, b"2", content_token(b"1")),
            lambda: adapter.write(adapter.key("free/y"), b"2"),
            lambda: adapter.delete(closed),
            lambda: adapter.delete(adapter.key("free/x")),
            lambda: adapter.delete_prefix(adapter.key("closed")),
            lambda: adapter.delete_prefix(ROOT),
            lambda: adapter.rename(adapter.key("free/x"), adapter.key("free/y")),
            lambda: adapter.make_durable([closed]),
        ):
            configuration_error(verb)

    assert children.run(work) == 0
    for name in ("closed", "unreadable", "free"):
        os.chmod(open_place / "g" / name, 0o755)
    assert {str(key) for key in adapter.list()} == {"free/x", "closed/x", "unreadable"}


@pytest.mark.parametrize("mode", [0o644, 0o444])
def test_whoever_may_read_the_lock_file_of_another_user_may_lock_it(open_place: Path, children, mode: int):
    adapter = LocalAdapter(parse_uri(open_place / "g"))
    assert adapter.write_if_absent(adapter.key("x"), b"1")
    os.chmod(open_place / "g", 0o777)
    os.chmod(open_place / "g" / LOCK_NAME, mode)

    def work() -> None:
        become_somebody_without_power()
        assert adapter.write_if_match(adapter.key("x"), b"2", content_token(b"1"))

    assert children.run(work) == 0
    assert adapter.read(adapter.key("x")) == b"2"


def test_two_users_of_a_lock_file_lock_each_other_out(open_place: Path, children):
    adapter = LocalAdapter(parse_uri(open_place / "g"))
    assert adapter.write_if_absent(adapter.key("x"), b"1")
    os.chmod(open_place / "g", 0o777)
    os.chmod(open_place / "g" / LOCK_NAME, 0o444)

    def work() -> None:
        become_somebody_without_power()
        adapter.lock_timeout_seconds = 0.05
        with pytest.raises(StorageError, match="another process holds it"):
            adapter.write_if_match(adapter.key("x"), b"2", content_token(b"1"))

    with adapter._locked():
        assert children.run(work) == 0
    assert adapter.read(adapter.key("x")) == b"1"


@pytest.mark.parametrize("is_there", [True, False])
def test_a_lock_file_that_this_user_may_not_use_is_named_and_not_needed_without_a_condition(
    open_place: Path, children, is_there: bool
):
    adapter = LocalAdapter(parse_uri(open_place / "g"))
    assert adapter.write_if_absent(adapter.key("free/x"), b"1")
    lock = open_place / "g" / LOCK_NAME
    os.chmod(open_place / "g" / "free", 0o777)
    if is_there:
        os.chmod(lock, 0o000)
    else:
        lock.unlink()
        os.chmod(open_place / "g", 0o555)
    key = adapter.key("free/x")

    def work() -> None:
        become_somebody_without_power()
        for change in (
            lambda: adapter.write_if_absent(adapter.key("free/y"), b"2"),
            lambda: adapter.write_if_match(key, b"2", content_token(b"1")),
            lambda: adapter.rename(key, adapter.key("free/y")),
            lambda: adapter.delete_prefix(adapter.key("free")),
        ):
            error = configuration_error(change)
            assert error.uri == str(lock)
            assert error.message == f"The lock {lock} may not be used by this user."
            assert (error.help or "").startswith("This change was not made. ")
        assert os.listdir(open_place / "g" / "free") == ["x"]
        adapter.write(adapter.key("free/z"), b"3")
        adapter.delete(adapter.key("free/z"))
        adapter.write(key, b"4")

    assert children.run(work) == 0
    os.chmod(open_place / "g", 0o755)
    assert os.listdir(open_place / "g" / "free") == ["x"]
    assert adapter.read(key) == b"4"


# ── full disks ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_replaces_nothing_leaves_nothing_and_the_next_call_works(
    adapter: LocalAdapter, root: Path, monkeypatch: pytest.MonkeyPatch, number: int
):
    key = adapter.key("dir/x")
    adapter.write(key, b"old")
    real = os.write

    def write_one_byte_then_fail(descriptor: int, data: memoryview) -> int:
        if len(data) < 3:
            raise OSError(number, os.strerror(number))
        return real(descriptor, data[:1])

    for change in changes(adapter, "dir/x"):
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", write_one_byte_then_fail)
            error = configuration_error(change)
        assert os.strerror(number).lower() in str(error).lower()
        assert os.listdir(root / "dir") == ["x"]
        assert adapter.read(key) == b"old"
    adapter.write(key, b"new")
    assert adapter.read(key) == b"new"


def test_a_file_that_the_system_cuts_short_is_never_put_in_place(adapter: LocalAdapter, root: Path, children):
    key = adapter.key("x")
    adapter.write(key, b"old")

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        error = configuration_error(lambda: adapter.write(key, bytes(2000)))
        assert "file too large" in str(error)
        adapter.write(key, bytes(1000))

    assert children.run(work) == 0
    assert adapter.read(key) == bytes(1000)
    assert os.listdir(root) == ["x"]


def test_a_system_that_writes_byte_by_byte_gets_all_of_them(adapter: LocalAdapter, monkeypatch: pytest.MonkeyPatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:3]))
    adapter.write(adapter.key("x"), b"0123456789")
    assert adapter.read(adapter.key("x")) == b"0123456789"
    adapter.write(adapter.key("x"), b"")
    assert adapter.read(adapter.key("x")) == b""


def test_an_object_over_the_bound_is_refused_before_the_disk_is_touched(adapter: LocalAdapter, root: Path):
    data = bytes(10 * 1024 * 1024)
    for verb in (
        lambda: adapter.write(adapter.key("x"), data),
        lambda: adapter.write_if_absent(adapter.key("x"), data),
        lambda: adapter.write_if_match(adapter.key("x"), data, "token"),
    ):
        with pytest.raises(ResourceLimitError) as caught:
            verb()
        assert (caught.value.resource, caught.value.limit) == ("storage_object_bytes", MAX_OBJECT_BYTES)
    assert not root.exists()


def test_an_interrupted_write_removes_its_temporary_file(adapter: LocalAdapter, root: Path, monkeypatch):
    def interrupted(descriptor: int) -> None:
        raise KeyboardInterrupt

    adapter.write(adapter.key("x"), b"old")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            adapter.write(adapter.key("x"), b"new")
    assert os.listdir(root) == ["x"]
    adapter.write(adapter.key("x"), b"new")


# ── directories that vanish ──────────────────────────────────────────────────────────────────────────────────


class Undermined(LocalAdapter):
    """Loses its whole root at a step, as often as asked."""

    at: str
    times: int

    def _reached(self, step: str) -> None:
        if step == self.at and self.times:
            self.times -= 1
            shutil.rmtree(self.root.path)


@pytest.mark.parametrize("step", ["directory_ready", "temporary_created", "temporary_synced", "locked", "checked"])
@pytest.mark.parametrize("verb", ["write", "write_if_absent"])
def test_a_write_begins_anew_when_its_directory_vanishes(root: Path, verb: str, step: str):
    adapter = Undermined(parse_uri(root))
    adapter.at, adapter.times = step, 2
    getattr(adapter, verb)(adapter.key("a/b/x"), b"1")
    assert adapter.times == (2 if verb == "write" and step in LOCK_STEPS else 0)
    assert adapter.read(adapter.key("a/b/x")) == b"1"
    assert os.listdir(root / "a" / "b") == ["x"]


def test_a_compare_and_swap_whose_object_vanishes_is_lost_and_a_rename_finds_nothing(root: Path):
    adapter = Undermined(parse_uri(root))
    key = adapter.key("a/x")
    adapter.times = 0
    adapter.at = "temporary_synced"
    adapter.write(key, b"old")
    adapter.times = 1
    assert adapter.write_if_match(key, b"new", content_token(b"old")) is None
    adapter.write(key, b"old")
    adapter.at, adapter.times = "directory_ready", 1
    with pytest.raises(StorageError) as caught:
        adapter.rename(key, adapter.key("b/y"))
    assert caught.value.condition is StorageCondition.NOT_FOUND


def test_a_directory_that_vanishes_without_end_is_a_transient_error(root: Path):
    adapter = Undermined(parse_uri(root))
    adapter.at, adapter.times = "temporary_created", MAX_ATTEMPTS
    with pytest.raises(StorageError, match="gone again, 100 times") as caught:
        adapter.write(adapter.key("a/x"), b"1")
    assert caught.value.condition is StorageCondition.TRANSIENT
    assert caught.value.uri == str(root / "a" / "x")
    adapter.write(adapter.key("a/x"), b"1")
    assert adapter.read(adapter.key("a/x")) == b"1"


def test_a_place_where_no_directory_can_ever_be_made_is_named(
    adapter: LocalAdapter, root: Path, monkeypatch: pytest.MonkeyPatch
):
    root.mkdir()
    # As /proc does: the parent is there, and yet the answer is "no such file or directory".
    failing(monkeypatch, "mkdir", errno.ENOENT, when=lambda path: path.startswith(f"{root}/"))
    for change in (adapter.write, adapter.write_if_absent):
        error = configuration_error(lambda change=change: change(adapter.key("a/b/x"), b"1"))
        assert error.message == f"Could not write {root}/a/b/x: no directory can be made in {root}."
        assert error.help == "Nothing was written. Choose a place where directories can be made."
    assert os.listdir(root) == []
