"""Which files are objects: directories, links, pipes, and files where a directory is needed."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import ROOT, parse_uri
from omnigraph_storage_local.adapter import LOCK_NAME, LocalAdapter


def names(keys) -> set[str]:
    return {str(key) for key in keys}


def everything_in(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*")}


# ── what is an object ────────────────────────────────────────────────────────────────────────────────────────


def test_an_empty_directory_does_not_exist_until_a_file_appears_below_it(adapter: LocalAdapter, root: Path):
    (root / "dir" / "deep").mkdir(parents=True)
    assert not adapter.exists(adapter.key("dir"))
    (root / "dir" / "deep" / "x").write_bytes(b"")
    assert adapter.exists(adapter.key("dir"))
    assert adapter.exists(adapter.key("dir/deep/x"))


def test_reading_a_directory_finds_nothing(adapter: LocalAdapter, root: Path):
    (root / "dir").mkdir(parents=True)
    assert adapter.read_if_exists(adapter.key("dir")) is None
    with pytest.raises(StorageError) as caught:
        adapter.read_versioned(adapter.key("dir"))
    assert caught.value.condition is StorageCondition.NOT_FOUND


def test_below_an_object_there_is_nothing(adapter: LocalAdapter):
    adapter.write(adapter.key("x"), b"1")
    below = adapter.key("x/y")
    assert adapter.read_if_exists(below) is None
    assert not adapter.exists(below)
    assert list(adapter.list(below)) == []
    assert adapter.list_dir(adapter.key("x")) == ()
    adapter.delete(below)
    adapter.delete_prefix(below)
    with pytest.raises(StorageError) as caught:
        adapter.rename(below, adapter.key("z"))
    assert caught.value.condition is StorageCondition.NOT_FOUND
    assert adapter.read(adapter.key("x")) == b"1"


def test_a_pipe_or_a_socket_is_no_object_and_hangs_nobody(
    adapter: LocalAdapter, root: Path, monkeypatch: pytest.MonkeyPatch, children
):
    def read_the_pipe() -> None:
        # Who waits for a writer of the pipe is ended by the signal.
        signal.alarm(10)
        assert adapter.read_if_exists(adapter.key("pipe")) is None

    root.mkdir()
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)  # The address of a socket holds 108 bytes.
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert children.run(read_the_pipe) == 0
        assert names(adapter.list()) == set()
        assert adapter.write_if_absent(adapter.key("pipe"), b"1")
    assert adapter.read(adapter.key("pipe")) == b"1"


def test_a_read_takes_at_most_the_bytes_it_may_take(adapter: LocalAdapter, monkeypatch: pytest.MonkeyPatch):
    key = adapter.key("x")
    adapter.write(key, bytes(1000))
    taken: list[int] = []
    real = os.read

    def counted(descriptor: int, size: int) -> bytes:
        data = real(descriptor, min(size, 7))
        taken.append(len(data))
        return data

    monkeypatch.setattr(os, "read", counted)
    assert adapter._read(key, 101) == bytes(101)
    assert sum(taken) == 101
    assert adapter.read(key) == bytes(1000)


# ── links ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_link_to_a_file_is_an_object_and_a_write_replaces_the_link(adapter: LocalAdapter, root: Path, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.write_bytes(b"theirs")
    root.mkdir()
    (root / "link").symlink_to(outside)
    key = adapter.key("link")
    assert names(adapter.list()) == {"link"}
    assert adapter.read(key) == b"theirs"
    assert not adapter.write_if_absent(key, b"ours")
    adapter.write(key, b"ours")
    assert adapter.read(key) == b"ours"
    assert outside.read_bytes() == b"theirs"


def test_a_linked_directory_is_neither_entered_nor_emptied(adapter: LocalAdapter, root: Path, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "theirs").write_bytes(b"1")
    (root / "dir").mkdir(parents=True)
    (root / "link").symlink_to(outside)
    (root / "dir" / "loop").symlink_to(root)
    assert names(adapter.list()) == names(adapter.list(adapter.key("link"))) == set()
    assert not adapter.exists(adapter.key("link"))
    adapter.delete_prefix(adapter.key("link"))
    adapter.delete_prefix(adapter.key("dir"))
    assert os.listdir(root) == [LOCK_NAME]
    assert (outside / "theirs").read_bytes() == b"1"


def test_links_that_lead_nowhere_are_not_listed_and_loops_are_refused(adapter: LocalAdapter, root: Path):
    root.mkdir()
    (root / "loop").symlink_to(root / "loop")
    (root / "dangling").symlink_to(root / "nothing")
    assert names(adapter.list()) == names(adapter.list_dir()) == set()
    assert adapter.read_if_exists(adapter.key("dangling")) is None
    for verb in (
        lambda key: adapter.read(key),
        lambda key: adapter.exists(key),
        lambda key: adapter.write(key, b"1"),
        lambda key: adapter.write_if_absent(key, b"1"),
        lambda key: adapter.write(key / "below", b"1"),
    ):
        with pytest.raises(StorageError, match="symbolic links") as caught:
            verb(adapter.key("loop"))
        assert caught.value.condition is StorageCondition.CONFIGURATION
        assert caught.value.help == "The path runs through a loop of symbolic links; remove the loop."


def test_a_directory_that_is_a_dangling_link_is_refused_at_once(adapter: LocalAdapter, root: Path):
    root.mkdir()
    (root / "dir").symlink_to(root / "nothing")
    with pytest.raises(StorageError, match="not a directory") as caught:
        adapter.write(adapter.key("dir/x"), b"1")
    assert caught.value.condition is StorageCondition.CONFIGURATION


def test_a_root_may_be_a_link_and_stays_one(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    adapter = LocalAdapter(parse_uri(tmp_path / "link"))
    adapter.write(adapter.key("dir/x"), b"1")
    assert names(adapter.list()) == {"dir/x"}
    adapter.delete_prefix(ROOT)
    assert (tmp_path / "link").is_symlink()
    assert os.listdir(tmp_path / "real") == []
    adapter.write(adapter.key("x"), b"1")
    assert (tmp_path / "real" / "x").read_bytes() == b"1"


# ── directories in the way ───────────────────────────────────────────────────────────────────────────────────


def test_writing_onto_a_directory_is_refused_and_leaves_no_file(adapter: LocalAdapter, root: Path, tmp_path: Path):
    (root / "dir").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (root / "link").symlink_to(tmp_path / "outside")
    adapter.write(adapter.key("x"), b"1")
    for name in ("dir", "link"):
        key = adapter.key(name)
        for verb in (
            lambda key: adapter.write(key, b"1"),
            lambda key: adapter.write_if_absent(key, b"1"),
            lambda key: adapter.write_if_match(key, b"1", "token"),
            lambda key: adapter.rename(adapter.key("x"), key),
        ):
            with pytest.raises(StorageError, match="is a directory") as caught:
                verb(key)
            assert caught.value.condition is StorageCondition.CONFIGURATION
            assert "A directory stands where an object is needed" in str(caught.value)
    assert everything_in(root) == {"dir", "link", "x"}


def test_a_regular_file_as_parent_is_reported_as_such_and_not_as_missing_hard_links(adapter: LocalAdapter):
    adapter.write(adapter.key("x"), b"1")
    for verb in (adapter.write, adapter.write_if_absent):
        with pytest.raises(StorageError, match="not a directory") as caught:
            verb(adapter.key("x/y"), b"2")
        assert caught.value.condition is StorageCondition.CONFIGURATION
        assert isinstance(caught.value.__cause__, NotADirectoryError)
        assert "link" not in str(caught.value)
    LocalAdapter(parse_uri(adapter.uri(adapter.key("x/y")))).check_lance_commits()


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_root_that_is_a_file_or_below_one_is_refused_by_every_verb(tmp_path: Path, place: str):
    (tmp_path / "file").write_bytes(b"1")
    adapter = LocalAdapter(parse_uri(tmp_path / place))
    key = adapter.key("x")
    for verb in (
        lambda: adapter.read_if_exists(key),
        lambda: adapter.exists(key),
        lambda: list(adapter.list()),
        lambda: adapter.list_dir(),
        lambda: adapter.write(key, b"1"),
        lambda: adapter.write_if_absent(key, b"1"),
        lambda: adapter.write_if_match(key, b"1", "token"),
        lambda: adapter.rename(key, adapter.key("y")),
        lambda: adapter.delete(key),
        lambda: adapter.delete_prefix(key),
        lambda: adapter.delete_prefix(ROOT),
        lambda: adapter.make_durable([key]),
    ):
        with pytest.raises(StorageError, match="not a directory") as caught:
            verb()
        assert caught.value.condition is StorageCondition.CONFIGURATION
    assert (tmp_path / "file").read_bytes() == b"1"
