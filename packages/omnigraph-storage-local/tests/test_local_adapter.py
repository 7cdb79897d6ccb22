"""What is particular to files: odd names, hidden residue, renaming, and what deleting leaves behind."""

from __future__ import annotations

import os
import pickle
import secrets
from pathlib import Path

import pytest

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import MAX_OBJECT_BYTES, ROOT, ListBounds, content_token, parse_uri
from omnigraph_storage_local.adapter import LOCK_NAME, LocalAdapter

ODD_NAMES = [
    "a#b",
    "#",
    "#x1",
    "100%",
    "%2F",
    "a b",
    " ",
    "größe",
    "日本",
    "a\\b",
    "-rf",
    "~",
    "*?[x]",
    "'\"",
    "a:b",
    "…",
]


def names(keys) -> set[str]:
    return {str(key) for key in keys}


def everything_in(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*")}


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_come_back_from_listings_as_they_were_written(adapter: LocalAdapter, root: Path, name: str):
    key = adapter.key(f"dir/{name}")
    adapter.write(key, b"1")
    assert os.listdir(root / "dir") == [name]
    assert [adapter.read(found) for found in adapter.list_dir(adapter.key("dir"))] == [b"1"]
    assert names(adapter.list()) == {f"dir/{name}"}


@pytest.mark.parametrize("name", ["a\nb", "a\x00b", "a\x7fb", "x#1", "x#1/y", "lock#0", "\udcff", "../x", "", "."])
def test_a_name_that_is_no_key_is_refused_before_the_disk_is_touched(adapter: LocalAdapter, root: Path, name: str):
    with pytest.raises(StorageError) as caught:
        adapter.key(name)
    assert caught.value.condition is StorageCondition.CONFIGURATION
    assert caught.value.help
    assert not root.exists()


def test_dots_fold_before_the_path_is_made(adapter: LocalAdapter, root: Path):
    adapter.write(adapter.key("a/../b"), b"1")
    assert (root / "b").read_bytes() == b"1"
    assert not (root / "a").exists()


def test_a_segment_of_the_greatest_length_leaves_room_for_the_temporary_file(adapter: LocalAdapter):
    key = adapter.key("é" * 100)
    adapter.write(key, b"1")
    assert adapter.read(key) == b"1"


def test_full_paths_and_file_uris_name_the_same_object(adapter: LocalAdapter, root: Path):
    adapter.write(adapter.key("dir/a b"), b"1")
    assert adapter.read(adapter.key(str(root / "dir" / "a b"))) == b"1"
    assert adapter.read(adapter.key((root / "dir" / "a b").as_uri())) == b"1"


def test_files_of_strangers_whose_names_are_no_keys_are_not_listed(adapter: LocalAdapter, root: Path):
    adapter.write(adapter.key("good"), b"1")
    for name in (b"new\nline", b"bell\x07", b"\xff\xfe", b"x#12", b"n" * 230):
        Path(os.fsdecode(os.fsencode(root) + b"/" + name)).write_bytes(b"stranger")
    hidden = Path(os.fsdecode(os.fsencode(root) + b"/\xff.dir"))
    hidden.mkdir()
    (hidden / "below").write_bytes(b"stranger")
    (root / "dir#7").mkdir()
    (root / "dir#7" / "below").write_bytes(b"stranger")
    assert names(adapter.list()) == names(adapter.list_dir()) == {"good"}


# ── residue and the lock file ────────────────────────────────────────────────────────────────────────────────


def test_residue_of_a_crash_is_invisible_and_cannot_be_addressed(adapter: LocalAdapter, root: Path):
    adapter.write(adapter.key("x"), b"whole")
    (root / "x#123").write_bytes(b"half")
    assert names(adapter.list()) == names(adapter.list_dir()) == {"x"}
    with pytest.raises(StorageError) as caught:
        adapter.key("x#123")
    assert caught.value.condition is StorageCondition.CONFIGURATION
    bounds = ListBounds(max_matching=1, max_irrelevant=0, max_uri_bytes=10_000)
    assert names(adapter.list_bounded(ROOT, suffix="", bounds=bounds)) == {"x"}


def test_residue_alone_does_not_make_a_prefix_exist(adapter: LocalAdapter, root: Path):
    (root / "dir").mkdir(parents=True)
    (root / "dir" / "x#123").write_bytes(b"half")
    assert not adapter.exists(adapter.key("dir"))


def test_the_lock_file_is_the_only_trace_beside_the_objects(adapter: LocalAdapter, root: Path):
    key = adapter.key("dir/x")
    adapter.write(key, b"1")
    assert not adapter.write_if_absent(key, b"2")
    assert adapter.write_if_match(key, b"3", content_token(b"1")) == content_token(b"3")
    assert adapter.write_if_match(key, b"4", content_token(b"1")) is None
    adapter.rename(key, adapter.key("dir/y"))
    assert everything_in(root) == {LOCK_NAME, "dir", "dir/y"}
    assert (root / LOCK_NAME).read_bytes() == b""


def test_a_temporary_name_that_is_taken_is_passed_over(
    adapter: LocalAdapter, root: Path, monkeypatch: pytest.MonkeyPatch
):
    assert adapter.write_if_absent(adapter.key("x"), b"1")
    digits = iter([0, 0, 7])
    monkeypatch.setattr(secrets, "randbits", lambda bits: next(digits))
    lock_file = (root / LOCK_NAME).stat()
    adapter.write(adapter.key("lock"), b"1")
    assert next(digits, None) is None
    assert os.path.samestat((root / LOCK_NAME).stat(), lock_file)
    assert adapter.read(adapter.key("lock")) == b"1"


# ── rename and delete ────────────────────────────────────────────────────────────────────────────────────────


def test_a_rename_makes_the_directories_of_its_target(adapter: LocalAdapter, root: Path):
    adapter.write(adapter.key("x"), b"1")
    adapter.rename(adapter.key("x"), adapter.key("new/deep/y"))
    assert everything_in(root) == {LOCK_NAME, "new", "new/deep", "new/deep/y"}


def test_a_missing_source_or_a_directory_is_not_renamed_and_makes_no_directories(adapter: LocalAdapter, root: Path):
    adapter.write(adapter.key("dir/x"), b"1")
    for source in ("nothing", "dir", "no/thing"):
        with pytest.raises(StorageError) as caught:
            adapter.rename(adapter.key(source), adapter.key("new/y"))
        assert caught.value.condition is StorageCondition.NOT_FOUND
    assert everything_in(root) == {"dir", "dir/x"}


def test_a_rename_onto_itself_changes_nothing(adapter: LocalAdapter):
    adapter.write(adapter.key("x"), b"1")
    adapter.rename(adapter.key("x"), adapter.key("x"))
    assert adapter.read(adapter.key("x")) == b"1"


def test_deleting_a_directory_or_a_missing_object_is_success_and_changes_nothing(adapter: LocalAdapter, root: Path):
    adapter.delete(adapter.key("x"))
    adapter.delete_prefix(adapter.key("x"))
    adapter.delete_prefix(ROOT)
    assert not root.exists()
    adapter.write(adapter.key("dir/x"), b"1")
    adapter.delete(adapter.key("dir"))
    assert adapter.read(adapter.key("dir/x")) == b"1"


def test_delete_prefix_leaves_no_directories_and_nothing_hidden(adapter: LocalAdapter, root: Path):
    for name in ("p/a", "p/b/c/d", "p/b/e", "p_log/x", "q"):
        adapter.write(adapter.key(name), b"1")
    (root / "p" / "empty" / "deep").mkdir(parents=True)
    (root / "p" / "b" / "x#123").write_bytes(b"residue")
    (root / "p" / "dir#5").mkdir()
    (root / "p" / "dir#5" / "y").write_bytes(b"residue")
    (root / "p" / "dangling").symlink_to(root / "nothing")
    os.mkfifo(root / "p" / "pipe")
    for _ in range(2):
        adapter.delete_prefix(adapter.key("p"))
        assert everything_in(root) == {LOCK_NAME, "p_log", "p_log/x", "q"}
    adapter.delete_prefix(adapter.key("q"))
    assert everything_in(root) == {LOCK_NAME, "p_log", "p_log/x"}


def test_delete_prefix_of_the_root_removes_the_root_itself_and_the_next_write_makes_it_anew(
    adapter: LocalAdapter, root: Path
):
    for _ in range(2):
        for name in ("a", "p/b"):
            adapter.write(adapter.key(name), b"1")
        adapter.delete_prefix(ROOT)
        assert not root.exists()
        assert root.parent.exists()
    assert adapter.write_if_absent(adapter.key("a"), b"2")


def test_delete_prefix_goes_deeper_than_the_stack_of_python(adapter: LocalAdapter, root: Path):
    (root / "p").mkdir(parents=True)
    here = os.open(root / "p", os.O_RDONLY)
    for _ in range(1100):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    adapter.delete_prefix(adapter.key("p"))
    assert os.listdir(root) == [LOCK_NAME]


# ── the rest ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_token_of_an_object_is_the_hash_of_its_bytes_and_of_no_others(adapter: LocalAdapter, root: Path):
    key = adapter.key("x")
    adapter.write(key, b"abc")
    # FIPS 180-2, appendix B.1.
    assert adapter.read_versioned(key).token == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    (root / "x").write_bytes(bytes(MAX_OBJECT_BYTES + 2))
    assert adapter.write_if_match(key, b"2", content_token(bytes(MAX_OBJECT_BYTES + 2))) is None


def test_listing_is_lazy_and_an_abandoned_one_closes_its_directory(
    adapter: LocalAdapter, root: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("a/x", "b/x", "c/x"):
        adapter.write(adapter.key(name), b"1")
    scanned: list[str] = []
    real = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: scanned.append(path) or real(path))
    listing = adapter.list()
    assert scanned == []
    next(listing)
    assert len(scanned) == 2
    listing.close()


def test_a_directory_that_vanishes_during_a_listing_is_passed_over(adapter: LocalAdapter):
    for name in ("a/x", "b/x", "c/x"):
        adapter.write(adapter.key(name), b"1")
    listing = adapter.list()
    first = next(listing)
    others = {"a/x", "b/x", "c/x"} - {str(first)}
    for name in others:
        adapter.delete_prefix(adapter.key(name).parent)
    assert list(listing) == []


def test_an_adapter_pickles_as_its_root(adapter: LocalAdapter):
    adapter.write(adapter.key("x"), b"1")
    copy = pickle.loads(pickle.dumps(adapter))
    assert copy.root == adapter.root
    assert copy.read(copy.key("x")) == b"1"


def test_lance_is_given_the_plain_path(adapter: LocalAdapter, root: Path):
    location = adapter.lance_location(adapter.key("tables/t.lance"))
    assert location.uri == str(root / "tables" / "t.lance")
    assert location.storage_options == {}


def test_every_root_is_probed_by_itself_and_every_alias_of_it_is_one(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    real, alias, other = (LocalAdapter(parse_uri(tmp_path / name)) for name in ("real", "alias", "other"))
    assert real.endpoint == alias.endpoint != other.endpoint
