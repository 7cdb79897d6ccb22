"""Blob columns: null, empty, inline, packed and dedicated values through every write (DESIGN 10; substrate.md 8; P16).

up to 64 KiB     in the data file
such as 200 KB   packed with others into one data/<stem>/<number>.blob
such as 6 MiB    a file of its own there
"""

from __future__ import annotations

import random
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance import LanceDataset
from lance.optimize import Compaction
from substrate_steps import (
    Place,
    commit,
    commit_detached,
    promote,
    stage_append,
    stage_delete,
    stage_overwrite,
    stage_upsert,
)

NOISE = random.Random(0)
SMALL, PACKED, LARGE = b"hello", NOISE.randbytes(200_000), NOISE.randbytes(6 << 20)
ALL = {"null": None, "empty": b"", "small": SMALL, "packed": PACKED, "large": LARGE}
SCHEMA = pa.schema([pa.field("id", pa.string()), lance.blob_field("data")])


def blobs(values: dict[str, bytes | None]) -> pa.Table:
    return pa.table([pa.array(list(values), pa.string()), lance.blob_array(list(values.values()))], schema=SCHEMA)


def read(dataset: LanceDataset) -> dict[str, bytes | None]:
    found = dataset.to_table(blob_handling="all_binary").to_pylist()
    assert len({row["id"] for row in found}) == len(found)
    return {row["id"]: row["data"] for row in found}


def blob_files(place: Place) -> set[str]:
    return {name for name in place.files() if name.endswith(".blob")}


def test_every_kind_of_value_comes_back_exactly_and_null_is_not_empty(place: Place):
    made = place.commit_create(place.stage_create(blobs(ALL)))
    assert made.data_storage_version == "2.2"
    assert read(place.open(1)) == ALL


def test_a_plain_scan_reads_descriptors_and_no_values(place: Place):
    place.create(blobs(ALL))
    dataset = place.open()
    dataset.io_stats_incremental()
    found = {row["id"]: row["data"] for row in dataset.to_table().to_pylist()}
    assert dataset.io_stats_incremental().read_bytes < 20_000
    assert found["null"] is None
    assert {key: each["size"] for key, each in found.items() if each is not None} == {
        "empty": 0, "small": 5, "packed": 200_000, "large": 6 << 20,
    }  # fmt: skip


def test_values_of_single_rows_are_read_by_their_place(place: Place):
    place.create(blobs(ALL))
    taken = place.open().take_blobs("data", indices=[1, 3])
    assert [each.read() for each in taken] == [b"", PACKED]
    part = place.open().take_blobs("data", indices=[4])[0]
    part.seek(100)
    assert part.read(10) == LARGE[100:110]


def test_null_is_found_by_a_filter(place: Place):
    dataset = place.create(blobs(ALL))
    assert dataset.to_table(columns=["id"], filter="data is null")["id"].to_pylist() == ["null"]


def test_an_append_keeps_values(place: Place):
    base = place.create(blobs({"small": SMALL}))
    staged = stage_append(base, blobs({key: ALL[key] for key in ("null", "empty", "packed", "large")}))
    assert read(commit_detached(base, staged)) == ALL
    assert read(commit(base, staged)) == ALL


def test_an_upsert_keeps_the_values_of_rows_that_it_does_not_touch_and_replaces_the_others(place: Place):
    base = place.create(blobs(ALL))
    changes = {"null": PACKED, "small": None, "large": b"", "new": SMALL}
    staged = stage_upsert(base, blobs(changes))
    assert read(commit(base, staged)) == ALL | changes


def test_a_promoted_version_an_overwrite_and_a_delete_keep_values(place: Place):
    base = place.create(blobs(ALL))
    commit(base, stage_append(base, blobs({"left": SMALL})))
    promoted = promote(base, commit_detached(base, stage_append(base, blobs({"new": PACKED}))))
    assert read(promoted) == ALL | {"new": PACKED}
    shorter = commit(promoted, stage_delete(promoted, "id = 'small'"))
    assert read(shorter) == {key: value for key, value in read(promoted).items() if key != "small"}
    assert read(commit(shorter, stage_overwrite(shorter, blobs({"only": LARGE})))) == {"only": LARGE}


def test_compaction_keeps_values(place: Place):
    dataset = place.create(blobs({"null": None}))
    for key in ("empty", "small", "packed"):
        dataset = commit(dataset, stage_append(dataset, blobs({key: ALL[key]})))
    dataset = place.open()
    results = [
        task.execute(dataset) for task in Compaction.plan(dataset, options={"target_rows_per_fragment": 1000}).tasks
    ]
    Compaction.commit(dataset, results)
    assert len(place.open().get_fragments()) == 1
    assert read(place.open()) == {key: ALL[key] for key in ("null", "empty", "small", "packed")}


def test_a_branch_reads_values_of_its_parent_and_adds_its_own(place: Place):
    place.create(blobs(ALL)).create_branch("b1", 1)
    branch = place.open(1, branch="b1")
    branch = commit(branch, stage_append(branch, blobs({"new": PACKED})))
    assert read(place.open(2, branch="b1")) == ALL | {"new": PACKED}
    assert read(place.open()) == ALL


def test_cleanup_removes_the_blob_files_of_removed_versions_only(disk: Place):
    base = disk.create(blobs({"old": PACKED}))
    old = blob_files(disk)
    replaced = commit(base, stage_overwrite(base, blobs({"new": LARGE})))
    assert old < blob_files(disk)
    replaced.cleanup_old_versions(versions=[1])
    assert len(blob_files(disk)) == 1
    assert not old & blob_files(disk)
    assert read(disk.open()) == {"new": LARGE}


# ── the files, which durability has to know (DESIGN 8) ───────────────────────────────────────────────────────────────


def stem(fragment) -> str:
    (file,) = fragment.files
    return file.path.removesuffix(".lance")


def test_blob_files_lie_in_a_directory_named_after_their_data_file(disk: Place):
    base = disk.create(blobs({"small": SMALL}))
    assert blob_files(disk) == set()
    (fragment,) = stage_append(base, blobs(ALL)).operation.fragments
    packed, dedicated = (f"data/{stem(fragment)}/{name}.blob" for name in ("1" + "0" * 31, "01" + "0" * 30))
    assert blob_files(disk) == {packed, dedicated}
    assert Path(disk.uri(), packed).read_bytes() == PACKED
    assert Path(disk.uri(), dedicated).read_bytes() == LARGE


def test_values_of_one_data_file_are_packed_together_and_named_by_a_running_number(disk: Place):
    """The name is the number's 32 bits, lowest first; how many there are, only the directory says."""
    base = disk.create(blobs({}))
    values = {"a": PACKED, "b": LARGE, "c": PACKED, "d": LARGE}
    (fragment,) = stage_append(base, blobs(values)).operation.fragments
    names = sorted(name.rpartition("/")[2].removesuffix(".blob") for name in blob_files(disk))
    assert sorted(int(name[::-1], 2) for name in names) == [1, 2, 3]
    assert all(name.startswith(f"data/{stem(fragment)}/") for name in blob_files(disk))


def test_an_upsert_writes_blob_files_beside_its_new_data_file(disk: Place):
    base = disk.create(blobs({"small": SMALL}))
    (fragment,) = stage_upsert(base, blobs({"small": PACKED, "new": LARGE})).operation.new_fragments
    assert {name.rpartition("/")[0] for name in blob_files(disk)} == {f"data/{stem(fragment)}"}


@pytest.mark.parametrize(("size", "count"), [(1 << 16, 0), ((1 << 16) + 1, 1)])
def test_values_up_to_64_kib_make_no_blob_file(disk: Place, size: int, count: int):
    disk.create(blobs({"one": b"x" * size}))
    assert len(blob_files(disk)) == count
    assert read(disk.open()) == {"one": b"x" * size}
