"""What Lance's sessions keep: a bound holds, and a fork has a session of its own that its versions go on to share."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
from lance import LanceDataset, LanceOperation
from lance.dataset import Session
from lance.fragment import write_fragments


def made(place: Path) -> str:
    lance.write_dataset(pa.table({"n": [0]}), str(place), enable_stable_row_ids=True)
    return str(place)


def appended(dataset: LanceDataset, number: int) -> LanceDataset:
    rows = write_fragments(pa.table({"n": [number]}), dataset)
    return LanceDataset.commit(dataset, LanceOperation.Append(list(rows)), read_version=dataset.version)


def session_of(dataset: LanceDataset) -> Any:
    found: Any = dataset
    return found.session()


def counts_of(dataset: LanceDataset) -> Any:
    found: Any = dataset
    return found.io_stats_snapshot()


def size_after(uri: str, session: Any, commits: int) -> int:
    dataset = lance.dataset(uri, session=session)
    for number in range(commits):
        dataset = appended(dataset, number)
    assert dataset.count_rows() == 1 + commits
    return int(session.size_bytes())


def test_a_session_grows_with_each_commit_unless_it_has_a_bound(tmp_path: Path):
    bound = 16 * 1024
    without = size_after(made(tmp_path / "without"), Session(), 20)
    limited = Session(metadata_cache_size_bytes=bound, index_cache_size_bytes=bound)
    with_bound = size_after(made(tmp_path / "with"), limited, 20)
    assert with_bound < 3 * bound < without


def test_a_fork_and_what_is_made_of_it_share_a_session_of_their_own(tmp_path: Path):
    session = Session()
    main = lance.dataset(made(tmp_path / "table"), session=session)
    fork = copy.copy(main).create_branch("b1", main.version)
    later = appended(fork, 1)
    assert session_of(main).is_same_as(session)
    assert not session_of(fork).is_same_as(session)
    assert session_of(later).is_same_as(session_of(fork))


def test_a_version_moves_to_another_session_by_its_serialized_manifest(tmp_path: Path):
    session = Session()
    main = lance.dataset(made(tmp_path / "table"), session=session)
    fork: Any = copy.copy(main).create_branch("b1", main.version)
    before = counts_of(main)
    moved: Any = LanceDataset(
        fork.uri, version=fork.version, serialized_manifest=fork._ds.serialized_manifest(), session=session
    )
    assert session_of(moved).is_same_as(session)
    # Stores are counted by session. A look whether it is there; no manifest is read.
    after = moved.io_stats_snapshot()
    assert (after.read_iops - before.read_iops, after.read_bytes - before.read_bytes) == (1, 0)
    later = appended(moved, 1)
    assert session_of(later).is_same_as(session)
    assert later.to_table()["n"].to_pylist() == [0, 1]
