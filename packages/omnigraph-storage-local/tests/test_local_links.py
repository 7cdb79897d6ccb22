"""The hard-link probe: a proof or nothing, and no trace."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from omnigraph.errors import StorageCondition, StorageError
from omnigraph_storage_local.adapter import LocalAdapter
from omnigraph_storage_local.links import LinkSupport, probe_hard_links


def refuse_links(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refused(source: str, target: str) -> None:
        assert os.path.exists(source), "the refusal must not be about a missing file"
        raise OSError(number, os.strerror(number), source)

    monkeypatch.setattr(os, "link", refused)


def test_a_good_file_system_passes_and_keeps_no_trace(tmp_path: Path):
    assert probe_hard_links(str(tmp_path)) is LinkSupport.WORKS
    assert os.listdir(tmp_path) == []


def test_the_probe_really_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    counts: list[int] = []
    real = os.link

    def link(source: str, target: str) -> None:
        real(source, target)
        counts.append(os.stat(source).st_nlink)

    monkeypatch.setattr(os, "link", link)
    assert probe_hard_links(str(tmp_path)) is LinkSupport.WORKS
    assert counts == [2]


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_refused_link_is_proof_and_keeps_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int):
    refuse_links(monkeypatch, number)
    assert probe_hard_links(str(tmp_path)) is LinkSupport.REFUSED
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EMLINK, errno.EACCES, errno.ENOENT])
def test_any_other_failure_of_the_link_proves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int):
    refuse_links(monkeypatch, number)
    assert probe_hard_links(str(tmp_path)) is LinkSupport.INCONCLUSIVE
    assert os.listdir(tmp_path) == []


def test_a_missing_directory_or_a_file_proves_nothing(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")
    assert probe_hard_links(str(tmp_path / "nothing")) is LinkSupport.INCONCLUSIVE
    assert probe_hard_links(str(tmp_path / "file")) is LinkSupport.INCONCLUSIVE


def test_a_root_without_hard_links_is_refused_with_the_requirement_and_the_next_move(
    adapter: LocalAdapter, root: Path, monkeypatch: pytest.MonkeyPatch
):
    refuse_links(monkeypatch, errno.EPERM)
    with pytest.raises(StorageError, match="hard links, which Lance needs") as caught:
        adapter.check_lance_commits()
    assert caught.value.condition is StorageCondition.CONFIGURATION
    assert caught.value.uri == str(root)
    assert "link(2)" in (caught.value.help or "")
    assert not root.exists(), "the probe of a missing root makes no directory"
    assert os.listdir(root.parent) == []


def test_control_objects_need_no_hard_links(adapter: LocalAdapter, monkeypatch: pytest.MonkeyPatch):
    refuse_links(monkeypatch, errno.EPERM)
    key = adapter.key("x")
    assert adapter.write_if_absent(key, b"1")
    assert not adapter.write_if_absent(key, b"2")


def test_an_unclear_probe_leaves_the_verdict_to_the_operation_that_meets_the_obstacle(
    adapter: LocalAdapter, monkeypatch: pytest.MonkeyPatch
):
    adapter.check_lance_commits()
    refuse_links(monkeypatch, errno.EIO)
    adapter.check_lance_commits()
