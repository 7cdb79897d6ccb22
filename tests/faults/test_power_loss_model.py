"""The model of a device loses exactly what was not synced: else the tests that stand on it prove nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from power_loss import Device, Loss, check_every


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "file").write_bytes(b"before")
    return tmp_path


@pytest.fixture
def device(top: Path) -> Iterator[Device]:
    with pytest.MonkeyPatch.context() as patch:
        yield Device(top, patch)


def sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def test_what_was_there_is_safe(device: Device):
    assert device.unsafe == set()
    assert device.left("everything") == {"old": None, "old/file": b"before"}


def test_an_unsynced_file_loses_its_bytes_and_an_unsynced_name_goes(device: Device, top: Path):
    (top / "new").write_bytes(b"data")
    assert device.unsafe == {"new"}
    assert "new" not in device.left("everything")
    assert device.left("bytes")["new"] == b""
    assert device.left("names") == {"old": None, "old/file": b"before"}
    sync(top)
    assert device.left("everything")["new"] == b""
    sync(top / "new")
    assert device.unsafe == set()
    assert device.left("everything")["new"] == b"data"


def test_bytes_without_a_name_are_lost(device: Device, top: Path):
    (top / "new").write_bytes(b"data")
    sync(top / "new")
    assert "new" not in device.left("everything")
    assert device.unsafe == {"new"}


def test_a_file_that_was_changed_after_its_sync_is_unsafe_again(device: Device, top: Path):
    (top / "old" / "file").write_bytes(b"changed since")
    assert device.unsafe == {"old/file"}
    assert device.left("everything")["old/file"] == b""


def test_a_directory_without_a_name_takes_all_below_it_along(device: Device, top: Path):
    (top / "new").mkdir()
    (top / "new" / "file").write_bytes(b"data")
    sync(top / "new" / "file")
    sync(top / "new")
    assert "new/file" not in device.left("everything")
    sync(top)
    assert device.left("everything")["new/file"] == b"data"


def test_a_removed_file_comes_back_until_its_directory_is_synced(device: Device, top: Path):
    (top / "old" / "file").unlink()
    assert device.left("everything")["old/file"] == b"before"
    sync(top / "old")
    assert "old/file" not in device.left("everything")


def test_a_rename_that_is_not_synced_is_undone(device: Device, top: Path):
    (top / "old" / "file").rename(top / "old" / "moved")
    assert device.left("everything") == {"old": None, "old/file": b"before"}
    sync(top / "old")
    assert device.left("everything") == {"old": None, "old/moved": b"before"}


def test_a_link_shares_the_bytes_and_not_the_name(device: Device, top: Path):
    """As Lance commits: written under one name, linked to another, the first removed; none of it synced."""
    (top / "old" / ".tmp").write_bytes(b"manifest")
    os.link(top / "old" / ".tmp", top / "old" / "1.manifest")
    (top / "old" / ".tmp").unlink()
    assert device.left("bytes")["old/1.manifest"] == b""
    sync(top / "old" / "1.manifest")
    sync(top / "old")
    assert device.left("everything")["old/1.manifest"] == b"manifest"


def test_a_number_that_comes_again_is_another_file(device: Device, top: Path):
    """A new file may get the number of a removed one, and with it none of its syncs."""
    (top / "old" / "file").unlink()
    (top / "old" / "other").write_bytes(b"not synced")
    assert device.left("everything") == {"old": None, "old/file": b"before"}


def test_a_random_part_is_lost_and_never_what_is_safe(device: Device, top: Path):
    for name in "abcdefgh":
        (top / name).write_bytes(b"data")
    sync(top / "a")
    sync(top)
    outcomes = {name: set[bytes]() for name in "abcdefgh"}
    device.losses.clear()
    for _ in range(40):
        device.step("again")
    for loss in device.losses:
        for name in outcomes:
            outcomes[name].add(loss.files[name] or b"")
    assert outcomes["a"] == {b"data"}
    assert outcomes["b"] == {b"", b"da", b"data", b"\0\0\0\0"}


def test_equal_outcomes_are_kept_once_in_each_phase(device: Device):
    for _ in range(3):
        device.step("nothing new")
    device.phase = 1
    device.step("nothing new")
    assert [(loss.phase, loss.kind) for loss in device.losses] == [(0, "everything"), (1, "everything")]


def test_every_loss_is_put_in_place_and_all_failures_are_told(device: Device, top: Path):
    (top / "old" / "file").write_bytes(b"changed")
    device.step("one")
    seen: list[tuple[str, bytes]] = []

    def check(loss: Loss) -> None:
        seen.append((loss.kind, (top / "old" / "file").read_bytes()))
        (top / "left by the check").touch()
        assert sorted(path.name for path in top.iterdir()) == ["left by the check", "old"]
        if loss.kind == "names":
            raise OSError("broken")

    with pytest.raises(AssertionError, match=r"(?s)1 of \d:.names lost at step 1, after one, in phase 0: OSError"):
        check_every(device, check)
    assert {("everything", b""), ("names", b"changed")} <= set(seen)
