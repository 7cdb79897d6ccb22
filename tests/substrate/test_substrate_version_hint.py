"""What Lance leaves on a disk of the newest version: what ``tables.lost_versions`` relies on."""

from __future__ import annotations

import json
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation

HINT = "_versions/latest_version_hint.json"


def publish(base: LanceDataset, *, is_detached: bool = False) -> LanceDataset:
    kept = [each.metadata for each in base.get_fragments()]
    operation = LanceOperation.Overwrite(base.schema, kept)
    if is_detached:
        return LanceDataset.commit(base, operation, read_version=base.version, detached=True)
    return LanceDataset.commit(base, operation, read_version=base.version, max_retries=0)


def hinted(line: Path) -> int:
    return json.loads((line / HINT).read_text())["version"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table"
    publish(publish(lance.write_dataset(pa.table({"id": ["a"]}), str(path))))
    return path


def test_every_commit_writes_the_hint(table: Path):
    assert hinted(table) == 3
    publish(lance.dataset(str(table)))
    assert hinted(table) == 4


def test_neither_a_lost_swap_nor_a_detached_commit_moves_it(table: Path):
    with pytest.raises(OSError, match="onflict"):
        publish(lance.dataset(str(table), version=2))
    publish(lance.dataset(str(table)), is_detached=True)
    assert hinted(table) == 3


def test_a_newest_version_that_is_deleted_leaves_the_hint_ahead_and_its_number_is_taken_again(table: Path):
    min((table / "_versions").glob("[0-9]*.manifest")).unlink()
    opened = lance.dataset(str(table))
    assert (opened.version, opened.latest_version, hinted(table)) == (2, 2, 3)
    assert publish(opened).version == 3


def test_without_the_hint_lance_goes_on_and_writes_it_again(table: Path):
    (table / HINT).unlink()
    assert publish(lance.dataset(str(table))).version == 4
    assert hinted(table) == 4
