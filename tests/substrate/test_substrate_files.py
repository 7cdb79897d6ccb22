"""Which files each step writes on a local disk, and how their names are known beforehand (DESIGN 8).

Lance syncs nothing, so the engine syncs these. Everything that must be durable is named by the staged transaction or
by the version that a commit returned; ``.txn`` files and the hint are not among it.

    data/<DataFile.path>                              data
    data/<stem>/*.blob                                large values, see test_substrate_blobs
    _deletions/<fragment>-<read version>-<id>.arrow   DeletionFile.path(fragment id)
    _indices/<uuid>/<IndexFile.path>                  index segments
    _versions/<2**64-1-version>.manifest              the version; detached ones d<version>.manifest
    tree/<branch>/...                                 the same again, for a branch
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation, Transaction
from lance.fragment import write_fragments
from substrate_steps import (
    Place,
    carried,
    commit,
    commit_detached,
    overwrite,
    promote,
    rows,
    stage_append,
    stage_delete,
    stage_delete_keys,
    stage_overwrite,
    stage_upsert,
)

HINT = "_versions/latest_version_hint.json"


def manifest(version: int) -> str:
    return f"_versions/{2**64 - 1 - version:020d}.manifest"


def changed(place: Place, act: Callable[[], Any]) -> tuple[set[str], Any]:
    """The files that are new or replaced after the act, none may be gone, and what it returned."""
    before = place.files()
    result = act()
    after = place.files()
    assert set(before) <= set(after)
    return {name for name, inode in after.items() if before.get(name) != inode}, result


def data_files(fragments: Any) -> set[str]:
    return {f"data/{file.path}" for fragment in fragments for file in fragment.files}


def deletion_files(fragments: Any) -> set[str]:
    return {fragment.deletion_file.path(fragment.id) for fragment in fragments}


def without_transaction(names: set[str], uuid: str | None = None, below: str = "") -> set[str]:
    """All but the one ``.txn`` file, which is named by the version that was read and the transaction's id."""
    (transaction,) = (name for name in names if name.endswith(".txn"))
    assert transaction.startswith(f"{below}_transactions/")
    assert uuid is None or transaction.endswith(f"-{uuid}.txn")
    return names - {transaction}


def two_fragments(place: Place) -> LanceDataset:
    base = place.create(rows(1, 2))
    return commit(base, stage_append(base, rows(3, 4)))


# ── staging ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_staged_table_is_its_data_files(disk: Place):
    staged = disk.stage_create(rows(1))
    assert set(disk.files()) == data_files(staged.operation.fragments)


@pytest.mark.parametrize("stage", [stage_append, stage_overwrite])
def test_a_staged_append_or_overwrite_is_its_data_files(disk: Place, stage: Any):
    base = two_fragments(disk)
    new, staged = changed(disk, lambda: stage(base, rows(5)))
    assert new == data_files(staged.operation.fragments)
    assert len(new) == 1


def test_a_data_file_has_another_name_until_it_is_whole(disk: Place):
    """So a name of a data file never stands for a part of one; and who copies leaves out what begins so."""
    base = two_fragments(disk)
    before, seen = set(disk.files()), set[str]()

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(100, 104):
            seen.update(disk.files())
            yield from rows(number).to_batches()

    written = write_fragments(pa.RecordBatchReader.from_batches(rows(1).schema, batches()), base)
    under_way = seen - before
    assert under_way
    assert all(each.startswith("data/.tmp") for each in under_way)
    assert set(disk.files()) - before == data_files(written)


def test_a_staged_overwrite_by_nothing_writes_nothing(disk: Place):
    base = two_fragments(disk)
    assert changed(disk, lambda: stage_overwrite(base, rows()))[0] == set()


def test_a_staged_upsert_is_its_data_files_and_a_deletion_file_per_fragment_that_loses_rows(disk: Place):
    base = two_fragments(disk)
    new, staged = changed(disk, lambda: stage_upsert(base, rows(1, 3, 9, value="b")))
    operation = staged.operation
    assert new == data_files(operation.new_fragments) | deletion_files(operation.updated_fragments)
    assert len(operation.updated_fragments) == 2


@pytest.mark.parametrize(
    "stage", [lambda base: stage_delete(base, "id in ('k1', 'k3')"), lambda base: stage_delete_keys(base, 1, 3)]
)
def test_a_staged_delete_is_a_deletion_file_per_fragment_that_keeps_rows(disk: Place, stage: Any):
    base = two_fragments(disk)
    new, staged = changed(disk, lambda: stage(base))
    assert new == deletion_files(staged.operation.updated_fragments)
    assert len(new) == 2
    again = commit(base, staged)
    assert changed(disk, lambda: stage_delete(again, "id = 'k2'"))[0] == set()


def test_a_deletion_file_says_fragment_and_version_that_was_read(disk: Place):
    base = two_fragments(disk)
    (name,), staged = changed(disk, lambda: stage_delete(base, "id = 'k3'"))
    file = staged.operation.updated_fragments[0].deletion_file
    assert name == f"_deletions/1-2-{file.id}.arrow"


def test_many_deleted_rows_make_a_deletion_file_of_another_kind(disk: Place):
    base = disk.create(rows(*range(10_000)))
    new, staged = changed(disk, lambda: stage_delete(base, "id < 'k8'"))
    assert new == deletion_files(staged.operation.updated_fragments)
    assert {name.rpartition(".")[2] for name in new} == {"bin"}


@pytest.mark.parametrize("kind", ["BTREE", "INVERTED", "IVF_FLAT"])
def test_a_staged_index_is_the_files_that_it_lists(disk: Place, kind: str):
    vectors = pa.FixedSizeListArray.from_arrays(pa.array([float(key) for key in range(40)], pa.float32()), 4)
    base = disk.create(rows(*range(10)).append_column("vector", vectors))
    column, options = ("vector", {"num_partitions": 1, "metric": "l2"}) if kind == "IVF_FLAT" else ("id", {})

    def stage() -> Any:
        segment = base.create_index_uncommitted(column, kind, name="x", fragment_ids=[0], **options)
        return base.merge_existing_index_segments([segment]) if kind == "INVERTED" else segment

    new, index = changed(disk, stage)
    assert new == {f"_indices/{index.uuid}/{file.path}" for file in index.files}
    assert new


# ── committing ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_making_a_table_writes_its_first_manifest_and_the_hint(disk: Place):
    staged = disk.stage_create(rows(1))
    new, _ = changed(disk, lambda: disk.commit_create(staged))
    assert without_transaction(new, staged.uuid) == {manifest(1), HINT}


def test_an_ordinary_commit_writes_a_manifest_and_the_hint(disk: Place):
    base = two_fragments(disk)
    for stage in (lambda: stage_append(base, rows(5)), lambda: stage_upsert(base, rows(1, 6))):
        staged = stage()
        new, after = changed(disk, lambda staged=staged: commit(base, staged))
        assert without_transaction(new, staged.uuid) == {manifest(after.version), HINT}


def test_a_publish_writes_a_manifest_and_the_hint(disk: Place):
    base = two_fragments(disk)
    fragments = [*carried(base), *write_fragments(rows(5), base)]
    new, _ = changed(disk, lambda: overwrite(base, fragments))
    assert without_transaction(new) == {manifest(3), HINT}


def test_a_detached_commit_writes_a_manifest_only(disk: Place):
    base = two_fragments(disk)
    staged = stage_append(base, rows(5))
    new, detached = changed(disk, lambda: commit_detached(base, staged))
    assert without_transaction(new, staged.uuid) == {f"_versions/d{detached.version}.manifest"}


def test_a_restore_writes_a_manifest_and_the_hint(disk: Place):
    base = two_fragments(disk)
    detached = commit_detached(base, stage_append(base, rows(5)))
    new, _ = changed(disk, lambda: promote(base, detached))
    assert without_transaction(new) == {manifest(3), HINT}


def test_a_commit_of_an_index_writes_a_manifest_and_the_hint(disk: Place):
    base = two_fragments(disk)
    index = base.create_index_uncommitted("id", "BTREE", name="x", fragment_ids=[0, 1])
    staged = Transaction(base.version, LanceOperation.CreateIndex([index], []))
    new, _ = changed(disk, lambda: commit(base, staged))
    assert without_transaction(new, staged.uuid) == {manifest(3), HINT}


# ── branches ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_making_a_branch_writes_its_first_manifest_its_hint_and_its_ref(disk: Place):
    base = two_fragments(disk)
    new, _ = changed(disk, lambda: base.create_branch("b1", 2))
    assert without_transaction(new, below="tree/b1/") == {
        f"tree/b1/{manifest(2)}", f"tree/b1/{HINT}", "_refs/branches/b1.json",
    }  # fmt: skip


def test_a_branch_of_a_branch_has_its_ref_beside_that_of_its_parent(disk: Place):
    two_fragments(disk).create_branch("b1", 2)
    branch = disk.open(2, branch="b1")
    new, _ = changed(disk, lambda: branch.create_branch("b2", 2))
    assert without_transaction(new, below="tree/b2/") == {
        f"tree/b2/{manifest(2)}", f"tree/b2/{HINT}", "_refs/branches/b2.json",
    }  # fmt: skip


def test_everything_that_a_branch_writes_lies_below_it(disk: Place):
    two_fragments(disk).create_branch("b1", 2)
    base = disk.open(2, branch="b1")
    new, staged = changed(disk, lambda: stage_upsert(base, rows(1, 9, value="b")))
    operation = staged.operation
    names = data_files(operation.new_fragments) | deletion_files(operation.updated_fragments)
    assert new == {f"tree/b1/{name}" for name in names}
    new, _ = changed(disk, lambda: commit(base, staged))
    assert without_transaction(new, staged.uuid, "tree/b1/") == {f"tree/b1/{manifest(3)}", f"tree/b1/{HINT}"}
    new, index = changed(
        disk, lambda: disk.open(3, branch="b1").create_index_uncommitted("id", "BTREE", name="x", fragment_ids=[0, 1])
    )
    assert new == {f"tree/b1/_indices/{index.uuid}/{file.path}" for file in index.files}


def test_a_read_writes_nothing(disk: Place):
    base = two_fragments(disk)
    base.create_branch("b1", 2)

    def act() -> None:
        for dataset in (disk.open(), disk.open(1), disk.open(2, branch="b1")):
            dataset.to_table(filter="id = 'k1'")
            dataset.read_transaction(dataset.version)
            dataset.count_rows()

    assert changed(disk, act)[0] == set()
