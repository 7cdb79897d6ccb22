"""What a change syncs, and when: with ``os.fsync`` and every change of a name interposed.

``Disk`` keeps a model of what a loss of power would take: bytes of files that were written and not synced, and names in
directories that were changed and not synced. Nothing may be left in it when a verb returns.
"""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import ROOT, content_token, parse_uri
from omnigraph_storage_local.adapter import LocalAdapter
from omnigraph_storage_local.durability import sync_directory


class Disk:
    """Records syncs and changes below ``base``, in order."""

    def __init__(self, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.base = base
        self.events: list[tuple[str, str]] = []
        self.unsynced_files: set[str] = set()
        self.unsynced_directories: set[str] = set()
        self.failures: dict[str, int] = {}
        self._real = {name: getattr(os, name) for name in ("fsync", "replace", "mkdir", "unlink", "rmdir", "write")}
        # Where macOS has a stronger call than fsync, the interposed one is used instead.
        monkeypatch.delattr(fcntl, "F_FULLFSYNC", raising=False)
        for name in self._real:
            monkeypatch.setattr(os, name, getattr(self, name))

    def forget(self) -> None:
        self.events.clear()
        self.unsynced_files.clear()
        self.unsynced_directories.clear()

    def synced(self) -> list[str]:
        return [path for what, path in self.events if what == "sync"]

    def fsync(self, descriptor: int) -> None:
        path = self._path(descriptor)
        if path in self.failures:
            raise OSError(self.failures[path], os.strerror(self.failures[path]))
        self._real["fsync"](descriptor)
        self.events.append(("sync", path))
        self.unsynced_files.discard(path)
        self.unsynced_directories.discard(path)

    def write(self, descriptor: int, data: bytes) -> int:
        self.unsynced_files.add(self._path(descriptor))
        return self._real["write"](descriptor, data)

    def replace(self, source: str, target: str) -> None:
        assert self._short(source) not in self.unsynced_files, "a file came into view before its bytes were safe"
        self._real["replace"](source, target)
        self.events.append(("replace", self._short(target)))
        self._change_names_of(source, target)

    def mkdir(self, path: str, mode: int = 0o777) -> None:
        self._real["mkdir"](path, mode)
        self.events.append(("mkdir", self._short(path)))
        self._change_names_of(path)

    def unlink(self, path: str) -> None:
        self._real["unlink"](path)
        self._change_names_of(path)

    def rmdir(self, path: str) -> None:
        self._real["rmdir"](path)
        self.unsynced_directories.discard(self._short(path))
        self._change_names_of(path)

    def _change_names_of(self, *paths: str) -> None:
        self.unsynced_directories.update(self._short(os.path.dirname(path)) for path in paths)

    def _short(self, path: str | Path) -> str:
        return os.path.relpath(path, self.base)

    def _path(self, descriptor: int) -> str:
        """Which file a descriptor is of, by inode."""
        wanted = os.fstat(descriptor)
        everything = [self.base, *self.base.rglob("*")]
        (path,) = (path for path in everything if os.path.samestat(path.lstat(), wanted))
        short = self._short(path)
        return short.partition("#")[0] + "#" if "#" in short else short


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(tmp_path, monkeypatch)


@pytest.fixture
def adapter(tmp_path: Path) -> LocalAdapter:
    (tmp_path / "top").mkdir()
    return LocalAdapter(parse_uri(tmp_path / "top" / "g"))


def assert_nothing_can_be_lost(disk: Disk) -> None:
    assert disk.unsynced_files == set()
    assert disk.unsynced_directories == set()


def run_verb(adapter: LocalAdapter, verb: str) -> None:
    """One successful call that changes ``dir/x``, which holds ``old`` (or is absent for ``write_if_absent``)."""
    key = adapter.key("dir/x")
    if verb == "write":
        adapter.write(key, b"new")
    elif verb == "write_if_absent":
        assert adapter.write_if_absent(adapter.key("dir/fresh"), b"new")
    elif verb == "write_if_match":
        assert adapter.write_if_match(key, b"new", content_token(b"old"))
    elif verb == "rename":
        adapter.rename(key, adapter.key("other/y"))
    elif verb == "delete":
        adapter.delete(key)
    else:
        adapter.delete_prefix(adapter.key("dir"))


@pytest.mark.parametrize(
    ("verb", "events"),
    [
        ("write", [("sync", "top/g/dir/x#"), ("replace", "top/g/dir/x"), ("sync", "top/g/dir")]),
        ("write_if_absent", [("sync", "top/g/dir/fresh#"), ("replace", "top/g/dir/fresh"), ("sync", "top/g/dir")]),
        ("write_if_match", [("sync", "top/g/dir/x#"), ("replace", "top/g/dir/x"), ("sync", "top/g/dir")]),
        ("rename", [("replace", "top/g/other/y"), ("sync", "top/g/other"), ("sync", "top/g/dir")]),
        ("delete", [("sync", "top/g/dir")]),
        ("delete_prefix", [("sync", "top/g"), ("sync", "top")]),
    ],
)
def test_each_change_is_synced_before_it_returns_and_its_bytes_before_they_come_into_view(
    adapter: LocalAdapter, disk: Disk, verb: str, events: list[tuple[str, str]]
):
    for name in ("other/z", "dir/x", "other/z", "dir/x"):
        adapter.write(adapter.key(name), b"old")
    assert_nothing_can_be_lost(disk)
    disk.forget()
    run_verb(adapter, verb)
    assert disk.events == events
    assert_nothing_can_be_lost(disk)


def test_whoever_has_lost_already_writes_and_syncs_nothing(adapter: LocalAdapter, disk: Disk):
    key = adapter.key("dir/x")
    adapter.write(key, b"1")
    disk.forget()
    assert not adapter.write_if_absent(key, b"2")
    assert adapter.write_if_match(key, b"2", content_token(b"0")) is None
    assert adapter.write_if_match(adapter.key("no/thing"), b"2", content_token(b"0")) is None
    assert disk.events == []


@pytest.mark.parametrize("verb", ["write", "write_if_absent", "rename"])
def test_new_directories_are_synced_up_to_the_first_that_was_there(tmp_path: Path, disk: Disk, verb: str):
    adapter = LocalAdapter(parse_uri(tmp_path / "a" / "b" / "g"))
    if verb == "rename":
        source = adapter.key("source")
        adapter.write(source, b"1")
        disk.forget()
        adapter.rename(source, adapter.key("c/d/x"))
        made = {"a/b/g/c", "a/b/g/c/d"}
    else:
        getattr(adapter, verb)(adapter.key("c/d/x"), b"1")
        made = {"a", "a/b", "a/b/g", "a/b/g/c", "a/b/g/c/d"}
    assert {path for what, path in disk.events if what == "mkdir"} == made
    for path in made:
        parent = os.path.dirname(path) or "."
        assert ("sync", parent) in disk.events[disk.events.index(("mkdir", path)) :]
    assert disk.events.index(("replace", "a/b/g/c/d/x")) < len(disk.events) - 1 - disk.events[::-1].index(
        ("sync", "a/b/g/c/d")
    )
    assert_nothing_can_be_lost(disk)


def test_the_directories_of_a_writer_that_died_are_synced_by_the_next_one(adapter: LocalAdapter, disk: Disk):
    os.makedirs(adapter.uri(adapter.key("c/d")))
    disk.forget()
    adapter.write(adapter.key("c/d/x"), b"1")
    assert disk.synced() == ["top/g/c/d/x#", "top/g/c/d", "top/g/c", "top/g", "top"]
    disk.forget()
    adapter.write(adapter.key("c/d/x"), b"2")
    assert disk.synced() == ["top/g/c/d/x#", "top/g/c/d"]


def test_a_directory_made_again_is_not_taken_for_the_old_one(adapter: LocalAdapter, disk: Disk):
    adapter.write(adapter.key("c/x"), b"1")
    LocalAdapter(adapter.root).delete_prefix(ROOT)
    disk.forget()
    adapter.write(adapter.key("c/x"), b"1")
    assert_nothing_can_be_lost(disk)
    assert {"top", "top/g", "top/g/c"} <= set(disk.synced())


def test_an_inode_number_that_comes_again_is_not_taken_for_the_old_directory(
    adapter: LocalAdapter, disk: Disk, monkeypatch: pytest.MonkeyPatch
):
    def sync_and_forget_who(path: str) -> tuple[int, int]:
        sync_directory(path)
        return 1, 1

    def let_another_be_quicker(path: str) -> None:
        disk.mkdir(path)
        if path.endswith("/d"):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)

    monkeypatch.setattr("omnigraph_storage_local.adapter.sync_directory", sync_and_forget_who)
    adapter.write(adapter.key("c/d/x"), b"1")
    LocalAdapter(adapter.root).delete_prefix(ROOT)
    disk.forget()
    monkeypatch.setattr(os, "mkdir", let_another_be_quicker)
    adapter.write(adapter.key("c/d/x"), b"1")
    assert_nothing_can_be_lost(disk)


def test_make_durable_syncs_every_file_and_then_every_directory_once_deepest_first(adapter: LocalAdapter, disk: Disk):
    names = ["t/data/long-name/1.lance", "t/data/2.lance", "t/_versions/1.manifest", "u"]
    for name in names:
        path = Path(adapter.uri(adapter.key(name)))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"1")
    disk.forget()
    adapter.make_durable(adapter.key(name) for name in [*names, names[0]])
    assert disk.synced()[: len(names)] == [f"top/g/{name}" for name in names]
    directories = disk.synced()[len(names) :]
    assert sorted(directories) == sorted(
        ["top/g/t/data/long-name", "top/g/t/data", "top/g/t/_versions", "top/g/t", "top/g", "top"]
    )
    for path in directories:
        for below in directories:
            if below.startswith(path + "/"):
                assert directories.index(below) < directories.index(path)


def test_make_durable_syncs_the_way_to_a_directory_once(adapter: LocalAdapter, disk: Disk):
    """A directory that is made anew, also under its old name and by somebody else, is another one."""
    folder = Path(adapter.uri(adapter.key("t/data")))

    def synced_for(name: str) -> list[str]:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"1")
        disk.forget()
        adapter.make_durable([adapter.key(f"t/data/{name}")])
        return disk.synced()

    way = ["top/g/t", "top/g", "top"]
    assert synced_for("1.lance") == ["top/g/t/data/1.lance", "top/g/t/data", *way]
    assert synced_for("2.lance") == ["top/g/t/data/2.lance", "top/g/t/data"]
    # Kept under another name, so that no new directory gets its number.
    folder.rename(folder.with_name("kept"))
    assert synced_for("3.lance") == ["top/g/t/data/3.lance", "top/g/t/data", *way]
    assert synced_for("4.lance") == ["top/g/t/data/4.lance", "top/g/t/data"]


@pytest.mark.parametrize("verb", ["write", "make_durable"])
def test_of_few_directories_the_way_up_is_remembered(
    adapter: LocalAdapter, disk: Disk, monkeypatch: pytest.MonkeyPatch, verb: str
):
    """Each branch has directories of its own, and a process may live through any number of branches."""
    monkeypatch.setattr("omnigraph_storage_local.adapter.MAX_SETTLED", 4)
    folders = [Path(adapter.uri(adapter.key(f"t{number}"))) for number in range(10)]
    for folder in folders:
        folder.mkdir(parents=True)
    for folder in folders:
        key = adapter.key(f"{folder.name}/x")
        if verb == "write":
            adapter.write(key, b"1")
        else:
            (folder / "x").write_bytes(b"1")
            adapter.make_durable([key])
        assert len(adapter._settled) <= 4
    disk.forget()
    adapter.make_durable([adapter.key("t0/x")])
    assert disk.synced() == ["top/g/t0/x", "top/g/t0", "top/g", "top"]


def test_make_durable_of_nothing_syncs_nothing(adapter: LocalAdapter, disk: Disk):
    adapter.make_durable([])
    assert disk.events == []


def test_make_durable_of_a_missing_file_or_a_directory_finds_nothing(adapter: LocalAdapter):
    adapter.write(adapter.key("dir/x"), b"1")
    for name in ("nothing", "no/thing", "dir", "dir/x/y"):
        with pytest.raises(StorageError, match="make durable") as caught:
            adapter.make_durable([adapter.key("dir/x"), adapter.key(name)])
        assert caught.value.condition is StorageCondition.NOT_FOUND
        assert caught.value.uri == adapter.uri(adapter.key(name))


def test_a_failed_sync_of_the_bytes_replaces_nothing_and_leaves_nothing(adapter: LocalAdapter, disk: Disk):
    key = adapter.key("dir/x")
    adapter.write(key, b"old")
    for number in (errno.EIO, errno.ENOSPC, errno.EDQUOT):
        disk.failures = {"top/g/dir/x#": number}
        with pytest.raises(StorageError):
            adapter.write(key, b"new")
        disk.failures = {}
        assert adapter.read(key) == b"old"
        assert os.listdir(os.path.dirname(adapter.uri(key))) == ["x"]
    adapter.write(key, b"new")
    assert adapter.read(key) == b"new"


def test_a_failed_sync_of_a_directory_is_never_reported_as_success(adapter: LocalAdapter, disk: Disk):
    key = adapter.key("dir/x")
    adapter.write(key, b"old")
    disk.failures = {"top/g/dir": errno.EIO}
    for change in (lambda: adapter.write(key, b"new"), lambda: adapter.delete(key)):
        with pytest.raises(StorageError):
            change()
    adapter.write_if_absent(adapter.key("y"), b"1")
    disk.failures = {"top/g": errno.EIO}
    with pytest.raises(StorageError):
        adapter.make_durable([adapter.key("y")])


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EROFS])
@pytest.mark.parametrize(
    ("verb", "unsynced", "changed", "after"),
    [
        ("write", "top/g/dir", "dir/x", {"dir/x": b"new", "other/z": b"old"}),
        ("write_if_absent", "top/g/dir", "dir/fresh", {"dir/x": b"old", "dir/fresh": b"new", "other/z": b"old"}),
        ("write_if_match", "top/g/dir", "dir/x", {"dir/x": b"new", "other/z": b"old"}),
        ("rename", "top/g/other", "other/y", {"other/y": b"old", "other/z": b"old"}),
        ("rename", "top/g/dir", "dir/x", {"other/y": b"old", "other/z": b"old"}),
        ("delete", "top/g/dir", "dir/x", {"other/z": b"old"}),
        ("delete_prefix", "top/g", "dir", {"other/z": b"old"}),
        ("delete_prefix", "top", "dir", {"other/z": b"old"}),
    ],
)
def test_a_change_that_was_made_and_not_made_durable_is_told_as_such(
    adapter: LocalAdapter, disk: Disk, verb: str, unsynced: str, changed: str, after: dict[str, bytes], number: int
):
    for name in ("other/z", "dir/x"):
        adapter.write(adapter.key(name), b"old")
    disk.failures = {unsynced: number}
    with pytest.raises(StorageError) as caught:
        run_verb(adapter, verb)
    disk.failures = {}
    assert caught.value.condition is StorageCondition.UNKNOWN
    assert caught.value.uri == adapter.uri(adapter.key(changed))
    assert caught.value.message.startswith(f"The change of {caught.value.uri} was made and could not be made durable: ")
    assert os.strerror(number).lower() in caught.value.message.lower()
    assert caught.value.help == "Read it; repeat the change once the disk is well."
    assert {str(key): adapter.read(key) for key in adapter.list()} == after


@pytest.mark.parametrize("verb", ["write", "write_if_absent", "rename"])
def test_a_new_directory_that_cannot_be_synced_takes_no_object(adapter: LocalAdapter, disk: Disk, verb: str):
    adapter.write(adapter.key("source"), b"1")
    disk.failures = {"top/g": errno.ENOSPC}
    arguments = (adapter.key("source"), adapter.key("new/x")) if verb == "rename" else (adapter.key("new/x"), b"2")
    with pytest.raises(StorageError) as caught:
        getattr(adapter, verb)(*arguments)
    assert caught.value.condition is StorageCondition.CONFIGURATION
    assert [str(key) for key in adapter.list()] == ["source"]


def test_a_file_system_that_cannot_sync_directories_is_still_usable(adapter: LocalAdapter, disk: Disk):
    disk.failures = dict.fromkeys(["top", "top/g", "top/g/dir"], errno.EINVAL)
    adapter.write(adapter.key("dir/x"), b"1")
    assert adapter.read(adapter.key("dir/x")) == b"1"


def test_a_closed_directory_above_the_root_is_left_alone_and_one_inside_is_an_error(
    adapter: LocalAdapter, monkeypatch: pytest.MonkeyPatch
):
    key = adapter.key("dir/x")
    adapter.write(key, b"1")
    closed = os.path.dirname(adapter.root.path)
    real = os.open

    def guarded(path: str, flags: int, mode: int = 0o777) -> int:
        if path == closed:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return real(path, flags, mode)

    monkeypatch.setattr(os, "open", guarded)
    LocalAdapter(adapter.root).write(key, b"2")
    adapter.make_durable([key])
    closed = os.path.dirname(adapter.uri(key))
    with pytest.raises(StorageError) as caught:
        adapter.write(key, b"3")
    assert caught.value.condition is StorageCondition.UNKNOWN
    assert adapter.read(key) == b"3"


@pytest.mark.parametrize("number", [0, errno.ENOTSUP, errno.EIO])
def test_the_stronger_sync_of_macos_is_used_and_replaced_only_where_it_is_unknown(
    adapter: LocalAdapter, disk: Disk, monkeypatch: pytest.MonkeyPatch, number: int
):
    adapter.write(adapter.key("x"), b"1")
    disk.forget()
    called: list[int] = []

    def full_sync(descriptor: int, command: int) -> int:
        called.append(command)
        if number:
            raise OSError(number, os.strerror(number))
        return 0

    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", full_sync)
    if number == errno.EIO:
        with pytest.raises(StorageError):
            adapter.make_durable([adapter.key("x")])
    else:
        adapter.make_durable([adapter.key("x")])
    assert set(called) == {51}
    assert disk.synced() == (["top/g/x", "top/g"] if number == errno.ENOTSUP else [])
