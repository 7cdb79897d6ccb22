"""What the storage layer relies on in Lance: strict commits, and how it reads a location's URI."""

from __future__ import annotations

import lance
import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation
from lance.commit import CommitConflictError
from lance.fragment import write_fragments


def rows(*values: int) -> pa.Table:
    return pa.table({"n": pa.array(values, pa.int64())})


@pytest.fixture(params=["local", "shared-memory"])
def place(request: pytest.FixtureRequest, tmp_path) -> str:
    if request.param == "local":
        return str(tmp_path)
    return f"shared-memory://substrate-{tmp_path.name}"


def overwrite_from(base: LanceDataset, value: int) -> LanceDataset:
    fragments = [each.metadata for each in base.get_fragments()] + list(write_fragments(rows(value), base))
    return LanceDataset.commit(
        base, LanceOperation.Overwrite(base.schema, fragments), read_version=base.version, max_retries=0
    )


def test_an_overwrite_that_carries_the_fragments_appends_as_an_exact_child(place: str):
    base = lance.write_dataset(rows(1), f"{place}/t")
    after = overwrite_from(base, 2)
    assert after.version == base.version + 1
    assert lance.dataset(f"{place}/t").to_table()["n"].to_pylist() == [1, 2]


def test_a_second_overwrite_from_one_base_conflicts(place: str):
    base = lance.write_dataset(rows(1), f"{place}/t")
    overwrite_from(base, 2)
    with pytest.raises(CommitConflictError):
        overwrite_from(base, 3)
    assert lance.dataset(f"{place}/t").to_table()["n"].to_pylist() == [1, 2]


def test_an_unquoted_hash_ends_a_shared_memory_path():
    """Why MemoryAdapter quotes: two names, one place."""
    host = "shared-memory://substrate-hash"
    lance.write_dataset(rows(1), f"{host}/a#b")
    with pytest.raises(OSError, match="already exists"):
        lance.write_dataset(rows(2), f"{host}/a#c")
    lance.write_dataset(rows(3), f"{host}/a%23d")
    assert lance.dataset(f"{host}/a%23d").to_table()["n"].to_pylist() == [3]


def test_local_paths_are_taken_literally(tmp_path):
    for name in ("a#b", "a%20b", "a b", "a?b"):
        lance.write_dataset(rows(1), str(tmp_path / name))
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(["a#b", "a%20b", "a b", "a?b"])


def test_a_control_character_in_a_local_path_is_refused(tmp_path):
    with pytest.raises(OSError, match="illegal character"):
        lance.write_dataset(rows(1), str(tmp_path / "new\nline"))
