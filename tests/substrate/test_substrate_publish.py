"""The publish of ``__manifest``: a strict Overwrite that carries the fragments (DESIGN 2, 5; substrate.md 0b, 3).

It is the one compare-and-swap of a graph. What is pinned: it lands on base+1 or conflicts whatever came between, keeps
rows, their order and their row ids, replaces the schema's metadata, and costs no read. And its one hole: a version
number that cleanup freed can be taken again from an old base.
"""

from __future__ import annotations

import random
import threading

import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation
from lance.commit import CommitConflictError
from lance.fragment import write_fragments
from substrate_steps import (
    Place,
    carried,
    commit,
    commit_detached,
    ids,
    overwrite,
    promote,
    publish,
    row_ids,
    rows,
    stage_append,
    stage_delete_keys,
    stage_overwrite,
    stage_upsert,
    versions,
)


def restore_first(base: LanceDataset) -> LanceDataset:
    return LanceDataset.commit(base, LanceOperation.Restore(1), read_version=base.version)


def index_ids(base: LanceDataset) -> LanceDataset:
    index = base.create_index_uncommitted("id", "BTREE", name="id_btree", fragment_ids=[0])
    return LanceDataset.commit(base, LanceOperation.CreateIndex([index], []), read_version=base.version)


RIVALS = {
    "publish": lambda base: publish(base, rows(2)),
    "overwrite": lambda base: commit(base, stage_overwrite(base, rows(2))),
    "append": lambda base: commit(base, stage_append(base, rows(2))),
    "upsert": lambda base: commit(base, stage_upsert(base, rows(1, value="b"))),
    "delete": lambda base: commit(base, stage_delete_keys(base, 1)),
    "restore": restore_first,
    "index": index_ids,
    "promotion": lambda base: promote(base, commit_detached(base, stage_append(base, rows(2)))),
}


def test_a_publish_appends_as_an_exact_child(place: Place):
    base = place.create(rows(1))
    after = publish(base, rows(2, 3))
    assert after.version == base.version + 1
    assert ids(place.open()) == ["k1", "k2", "k3"]
    assert ids(place.open(base.version)) == ["k1"]


@pytest.mark.parametrize("rival", RIVALS)
def test_a_publish_conflicts_whatever_came_first(place: Place, rival: str):
    base = place.create(rows(1))
    first = RIVALS[rival](base)
    with pytest.raises(CommitConflictError) as caught:
        publish(base, rows(9))
    assert caught.value.retryable
    assert place.open().version == first.version
    assert "k9" not in ids(place.open())


def test_a_detached_version_is_no_rival(place: Place):
    base = place.create(rows(1))
    commit_detached(base, stage_append(base, rows(2)))
    assert publish(base, rows(3)).version == base.version + 1


def test_a_publish_from_far_behind_conflicts_too(place: Place):
    base = place.create(rows(1))
    latest = base
    for key in (2, 3, 4):
        latest = publish(latest, rows(key))
    with pytest.raises(CommitConflictError):
        publish(base, rows(9))


def test_of_publishes_racing_from_one_base_exactly_one_wins(place: Place):
    base = place.create(rows(0))
    barrier = threading.Barrier(4)
    outcomes: list[object] = []

    def race(key: int) -> None:
        mine = place.open(base.version)
        staged = [*carried(mine), *write_fragments(rows(key), mine)]
        barrier.wait()
        try:
            outcomes.append(overwrite(mine, staged).version)
        except CommitConflictError as error:
            outcomes.append(type(error))

    threads = [threading.Thread(target=race, args=(key,)) for key in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, outcomes)) == sorted(map(str, [base.version + 1] + [CommitConflictError] * 3))
    assert place.open().version == base.version + 1
    assert len(ids(place.open())) == 2


def test_a_lost_publish_leaves_no_version_and_no_transaction_behind(disk: Place):
    base = disk.create(rows(1))
    publish(base, rows(2))
    staged = [*carried(base), *write_fragments(rows(3), base)]
    before = disk.files()
    with pytest.raises(CommitConflictError):
        overwrite(base, staged)
    assert disk.files() == before


def test_fragments_keep_the_order_in_which_they_are_given(place: Place):
    """Live state first, history behind it: the order is ours, not that of fragment ids."""
    handle = place.create(rows(1))
    for key in (2, 3, 4):
        handle = publish(handle, rows(key))
    first, second, third, fourth = carried(handle)
    again = overwrite(handle, [third, first, fourth, second])
    assert ids(again) == ["k3", "k1", "k4", "k2"]
    assert ids(place.open()) == ["k3", "k1", "k4", "k2"]
    assert ids(publish(again, rows(5))) == ["k3", "k1", "k4", "k2", "k5"]


def test_a_publish_may_leave_fragments_out(place: Place):
    handle = publish(publish(place.create(rows(1)), rows(2)), rows(3))
    first, _, third = carried(handle)
    assert ids(overwrite(handle, [first, third])) == ["k1", "k3"]
    assert ids(place.open(handle.version)) == ["k1", "k2", "k3"]


def test_carried_fragments_get_new_fragment_ids(place: Place):
    """So a fragment is known by its data file; an index on ``__manifest`` would lose its coverage."""
    handle = publish(place.create(rows(1)), rows(2))
    before = [each.fragment_id for each in handle.get_fragments()]
    after = publish(handle, rows(3))
    assert not set(before) & {each.fragment_id for each in after.get_fragments()}
    paths = [each.files[0].path for each in carried(handle)]
    assert [each.files[0].path for each in carried(after)][:2] == paths


def test_row_ids_stay_on_and_unique_through_publishes_and_folds(place: Place):
    handle = place.create(rows(1))
    for key in range(2, 7):
        handle = publish(handle, rows(key))
    assert row_ids(handle) == {f"k{key}": key - 1 for key in range(1, 7)}
    folded = write_fragments(rows(1, 2, 3, 4), handle)
    handle = publish(overwrite(handle, [*folded, *carried(handle)[4:]]), rows(7))
    found = row_ids(place.open())
    assert place.open().has_stable_row_ids
    assert set(found) == {f"k{key}" for key in range(1, 8)}
    assert len(set(found.values())) == 7
    assert (found["k5"], found["k6"]) == (4, 5)


def test_a_publish_stamps_every_row_with_its_own_version(place: Place):
    """Why manifest rows carry ``seq`` themselves: Lance's own stamps do not survive the next publish."""
    handle = publish(publish(place.create(rows(1)), rows(2)), rows(3))
    stamped = handle.to_table(columns=["_row_created_at_version"])["_row_created_at_version"].to_pylist()
    assert stamped == [3, 3, 3]


def test_metadata_given_with_a_publish_replaces_the_old(place: Place):
    handle = place.create(rows(1).replace_schema_metadata({"stamp": "1", "old": "x"}))
    assert publish(handle, rows(2)).schema.metadata == {b"stamp": b"1", b"old": b"x"}
    handle = place.open()
    changed = publish(handle, rows(3), handle.schema.with_metadata({"stamp": "2"}))
    assert changed.schema.metadata == {b"stamp": b"2"}
    assert place.open().schema.metadata == {b"stamp": b"2"}
    assert place.open(handle.version).schema.metadata == {b"stamp": b"1", b"old": b"x"}
    assert ids(place.open()) == ["k1", "k2", "k3"]
    assert not publish(changed, rows(4), handle.schema.remove_metadata()).schema.metadata


def test_a_publish_refuses_fragments_with_deleted_rows(place: Place):
    """Nothing in ``__manifest`` is ever updated or deleted in place; Lance insists on it."""
    base = place.create(rows(1, 2))
    after = commit(base, stage_delete_keys(base, 1))
    with pytest.raises(OSError, match="must be newly written"):
        publish(after, rows(3))


def test_a_publish_with_no_fragments_empties_the_table(place: Place):
    base = place.create(rows(1))
    after = overwrite(base, [])
    assert after.version == base.version + 1
    assert (after.count_rows(), after.schema, after.has_stable_row_ids) == (0, base.schema, True)
    assert ids(publish(after, rows(2))) == ["k2"]


def test_a_publish_reads_nothing_and_writes_the_same_at_any_length(disk: Place):
    """On local disk: transaction, manifest and hint, beside the one data file that was staged."""
    handle = disk.create(rows(0))
    for key in range(1, 41):
        staged = write_fragments(rows(key), handle)
        handle.io_stats_incremental()
        fragments = [*carried(handle), *staged]
        after = overwrite(handle, fragments)
        spent = handle.io_stats_incremental()
        assert (spent.read_iops, spent.write_iops) == (0, 3)
        handle = after
    assert len(ids(handle)) == 41


@pytest.mark.parametrize(
    ("count", "reads_elsewhere", "reads_on_s3"), [(1, 1, 1), (40, 1, 1), (900, 3, 1), (1100, 3, 3)]
)
def test_a_data_file_of_one_block_is_read_with_one_request(
    place: Place, count: int, reads_elsewhere: int, reads_on_s3: int
):
    """A block is 64 KiB on S3 and 4 KiB elsewhere. Each row below takes 64 bytes of the file that no encoding saves."""
    noise = random.Random(0)
    place.create(pa.table({"id": pa.array([noise.randbytes(64) for _ in range(count)], pa.binary(64))}))
    handle = place.open(1)
    handle.io_stats_incremental()
    assert handle.to_table().num_rows == count
    expected = reads_on_s3 if place.root.startswith("s3://") else reads_elsewhere
    assert handle.io_stats_incremental().read_iops == expected


def test_a_publish_takes_a_number_that_cleanup_freed(place: Place):
    """The hole in the compare-and-swap (DESIGN 11): it asks whether base+1 exists, not whether base is the newest.

    A writer that slept while garbage collection removed base+1 is told that it published, and nobody sees it. So
    versions of ``__manifest`` may not be removed under a writer that could still hold the one before.
    """
    base = place.create(rows(1))
    latest = base
    for key in (2, 3, 4):
        latest = publish(latest, rows(key))
    latest.cleanup_old_versions(versions=[2])
    assert publish(base, rows(9)).version == 2
    assert place.open().version == latest.version
    assert versions(place.open()) == [1, 2, 3, 4]
    assert "k9" not in ids(place.open())
