"""When Lance deletes old versions with a commit: what ``tables.auto_cleanup`` relies on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation
from lance.fragment import write_fragments

DUE = {"lance.auto_cleanup.interval": "2", "lance.auto_cleanup.older_than": "0s"}
"""Versions 2, 4 and so on delete what is older."""


def append(base: LanceDataset) -> LanceDataset:
    rows = pa.table({"id": ["x"]})
    staged = write_fragments(rows, base, return_transaction=True, mode="append")
    return LanceDataset.commit(base, staged, max_retries=0)


def overwrite(base: LanceDataset) -> LanceDataset:
    kept = [each.metadata for each in base.get_fragments()]
    operation = LanceOperation.Overwrite(base.schema, kept)
    return LanceDataset.commit(base, operation, read_version=base.version, max_retries=0)


def detached(base: LanceDataset) -> LanceDataset:
    staged = write_fragments(pa.table({"id": ["x"]}), base, return_transaction=True, mode="append")
    return LanceDataset.commit(base, staged, detached=True)


def restore(base: LanceDataset) -> LanceDataset:
    return LanceDataset.commit(base, LanceOperation.Restore(base.version), read_version=base.version)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Versions 1 to 4, and the settings as version 5, which deletes nothing by itself."""
    path = tmp_path / "table"
    made = lance.write_dataset(pa.table({"id": ["a"]}), str(path), enable_stable_row_ids=True)
    for _ in range(3):
        made = append(made)
    made.update_config(DUE)
    assert versions(path) == {1, 2, 3, 4, 5}
    return path


def versions(path: Path) -> set[int]:
    return {each["version"] for each in lance.dataset(str(path)).versions()}


@pytest.mark.parametrize("commit", [append, overwrite])
def test_a_commit_on_a_version_with_the_settings_deletes_older_ones(table: Path, commit: Callable):
    commit(lance.dataset(str(table)))
    assert versions(table) == {5, 6}


def test_a_commit_on_an_older_version_takes_the_settings_of_the_newest_over(table: Path):
    pinned = lance.dataset(str(table), version=4)
    assert pinned.config() == {}
    made = append(pinned)
    assert (made.version, made.config()) == (6, DUE)
    assert versions(table) == {5, 6}


def test_a_strict_overwrite_of_an_older_version_is_refused_and_deletes_nothing(table: Path):
    with pytest.raises(OSError, match="onflict"):
        overwrite(lance.dataset(str(table), version=4))
    assert versions(table) == {1, 2, 3, 4, 5}


def test_a_detached_commit_and_a_restore_of_a_version_without_the_settings_delete_nothing(table: Path):
    pinned = lance.dataset(str(table), version=4)
    content = detached(pinned)
    made = LanceDataset.commit(pinned, LanceOperation.Restore(content.version), read_version=5)
    assert (made.version, made.config()) == (6, {})
    assert versions(table) == {1, 2, 3, 4, 5, 6}


def test_a_restore_of_a_version_with_the_settings_deletes(table: Path):
    restore(lance.dataset(str(table)))
    assert versions(table) == {5, 6}


def test_a_detached_commit_on_a_version_with_the_settings_deletes_nothing(table: Path):
    detached(lance.dataset(str(table)))
    assert versions(table) == {1, 2, 3, 4, 5}


def test_a_line_that_is_begun_on_a_version_with_the_settings_has_them(table: Path):
    line = lance.dataset(str(table)).create_branch("line")
    assert line.config() == DUE
    assert versions(table) == {1, 2, 3, 4, 5}


def test_the_settings_can_be_removed_and_the_removal_deletes_nothing(table: Path):
    lance.dataset(str(table)).delete_config_keys([*DUE])
    assert lance.dataset(str(table)).config() == {}
    assert versions(table) == {1, 2, 3, 4, 5, 6}
    append(lance.dataset(str(table)))
    assert versions(table) == {1, 2, 3, 4, 5, 6, 7}
