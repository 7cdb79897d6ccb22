"""Versions over time: what cleanup removes, what rows say of their versions (DESIGN 6, 11; substrate.md 2, 4, 5; P10).

Garbage collection names the versions that go; nothing goes by itself. Rows say which version made them and which
changed them last, exactly after every single staged step, and not after a chain of them.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pyarrow as pa
import pytest
from lance import LanceOperation, Transaction
from substrate_steps import (
    Place,
    commit,
    commit_detached,
    ids,
    promote,
    row_ids,
    rows,
    stage_append,
    stage_delete_keys,
    stage_overwrite,
    stage_upsert,
    stamps,
    versions,
)


def history(place: Place, length: int):
    dataset = place.create(rows(1))
    for key in range(2, length + 1):
        dataset = commit(dataset, stage_append(dataset, rows(key)))
    return dataset


# ── cleanup ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_cleanup_removes_exactly_the_versions_that_are_named(place: Place):
    dataset = history(place, 6)
    assert dataset.cleanup_old_versions(versions=[2, 4]).old_versions == 2
    assert versions(place.open()) == [1, 3, 5, 6]
    assert ids(place.open()) == [f"k{key}" for key in range(1, 7)]
    assert ids(place.open(3)) == ["k1", "k2", "k3"]
    for gone in (2, 4):
        with pytest.raises(ValueError, match="not found"):
            place.open(gone)


def test_cleanup_removes_the_files_that_only_the_named_versions_used(place: Place):
    base = place.create(rows(1))
    replaced = commit(base, stage_overwrite(base, rows(2)))
    latest = commit(replaced, stage_overwrite(replaced, rows(3)))
    removed = latest.cleanup_old_versions(versions=[2])
    assert (removed.old_versions, removed.data_files_removed) == (1, 1)
    assert (ids(place.open(1)), ids(place.open(3))) == (["k1"], ["k3"])


def test_cleanup_never_removes_the_newest_version(place: Place):
    dataset = history(place, 3)
    assert dataset.cleanup_old_versions(versions=[3]).old_versions == 0
    assert versions(place.open()) == [1, 2, 3]


def test_cleanup_on_a_branch_removes_versions_of_the_branch(place: Place):
    history(place, 2).create_branch("b1", 2)
    branch = place.open(2, branch="b1")
    for key in (10, 11, 12):
        branch = commit(branch, stage_append(branch, rows(key)))
    branch.cleanup_old_versions(versions=[3, 4])
    assert versions(place.open(branch="b1")) == [2, 5]
    assert ids(place.open(5, branch="b1")) == ["k1", "k2", "k10", "k11", "k12"]
    assert versions(place.open()) == [1, 2]


def test_cleanup_keeps_a_version_that_a_branch_began_with(place: Place):
    dataset = history(place, 4)
    dataset.create_branch("b1", 2)
    assert dataset.cleanup_old_versions(versions=[2, 3]).old_versions == 1
    assert versions(place.open()) == [1, 2, 4]
    assert ids(place.open(2, branch="b1")) == ["k1", "k2"]


def test_cleanup_refuses_a_tagged_version_or_leaves_it(place: Place):
    dataset = history(place, 4)
    dataset.tags.create("keep", 2)
    with pytest.raises(OSError, match="tagged version"):
        dataset.cleanup_old_versions(versions=[2, 3])
    assert versions(place.open()) == [1, 2, 3, 4]
    dataset.cleanup_old_versions(versions=[2, 3], error_if_tagged_old_versions=False)
    assert versions(place.open()) == [1, 2, 4]


def test_cleanup_spares_what_is_staged_and_detached_versions_while_they_are_young(place: Place):
    base = history(place, 3)
    staged = stage_upsert(base, rows(1, 9, value="b"))
    detached = commit_detached(base, stage_append(base, rows(8)))
    base.cleanup_old_versions(versions=[1, 2])
    assert ids(place.open(detached.version)) == ["k1", "k2", "k3", "k8"]
    assert sorted(ids(commit(base, staged))) == ["k1", "k2", "k3", "k9"]


def test_cleanup_takes_the_data_of_old_detached_versions_and_of_old_staged_writes(disk: Place):
    """Past seven days only a version protects a file: a detached version is no reference that lasts."""
    base = history(disk, 3)
    staged = stage_append(base, rows(9))
    detached = commit_detached(base, stage_append(base, rows(8)))
    promoted_from = commit_detached(base, stage_append(base, rows(7)))
    promoted = promote(base, promoted_from)
    old = time.time() - 8 * 24 * 3600
    for name in disk.files():
        os.utime(Path(disk.uri(), name), (old, old))
    promoted.cleanup_old_versions(versions=[1])
    assert f"data/{staged.operation.fragments[0].files[0].path}" not in disk.files()
    with pytest.raises((OSError, pa.ArrowInvalid), match=r"[Nn]ot found"):
        disk.open(detached.version).to_table()
    assert ids(disk.open(promoted.version)) == ["k1", "k2", "k3", "k7"]


def test_nothing_is_cleaned_up_by_itself(disk: Place):
    dataset = history(disk, 45)
    assert dataset.config() == {}
    assert versions(disk.open()) == list(range(1, 46))


def test_a_table_made_from_a_staged_write_has_no_configuration_either(place: Place):
    assert place.commit_create(place.stage_create(rows(1))).config() == {}


# ── what rows say of their versions ──────────────────────────────────────────────────────────────────────────────────


def test_rows_say_which_version_made_them_and_which_changed_them_last(place: Place):
    dataset = place.create(rows(1, 2))
    dataset = commit(dataset, stage_append(dataset, rows(3)))
    assert stamps(dataset) == {"k1": (1, 1), "k2": (1, 1), "k3": (2, 2)}
    dataset = commit(dataset, stage_upsert(dataset, rows(1, 4, value="b")))
    assert stamps(dataset) == {"k1": (1, 3), "k2": (1, 1), "k3": (2, 2), "k4": (3, 3)}
    dataset = commit(dataset, stage_delete_keys(dataset, 2))
    assert stamps(place.open()) == {"k1": (1, 3), "k3": (2, 2), "k4": (3, 3)}


def test_a_promoted_version_stamps_the_number_after_its_pin_wherever_it_landed(place: Place):
    """Above the pin and not above its own number, so a comparison with the pin finds exactly its rows."""
    pin = history(place, 2)
    left = commit(pin, stage_append(pin, rows(66)))
    commit(left, stage_append(left, rows(67)))
    promoted = promote(pin, commit_detached(pin, stage_upsert(pin, rows(1, 5, value="b"))))
    assert promoted.version == 5
    assert stamps(promoted) == {"k1": (1, 3), "k2": (2, 2), "k5": (3, 3)}
    after = commit(promoted, stage_upsert(promoted, rows(2, value="c")))
    assert stamps(after)["k2"] == (2, 6)


def test_a_delete_and_an_index_after_the_stamped_step_change_no_stamp(place: Place):
    """So one stamped step per table and commit, first; then deletes; then index segments."""
    pin = history(place, 2)
    first = commit_detached(pin, stage_upsert(pin, rows(1, 5, value="b")))
    second = commit_detached(first, stage_delete_keys(first, 2))
    fragment_ids = [each.fragment_id for each in second.get_fragments()]
    index = second.create_index_uncommitted("id", "BTREE", name="id_btree", fragment_ids=fragment_ids)
    third = commit_detached(second, Transaction(second.version, LanceOperation.CreateIndex([index], [])))
    promoted = promote(pin, third)
    assert stamps(promoted) == {"k1": (1, 3), "k5": (3, 3)}
    assert [each.name for each in promoted.describe_indices()] == ["id_btree"]


def test_a_second_stamped_step_in_a_chain_stamps_nonsense(place: Place):
    pin = history(place, 2)
    first = commit_detached(pin, stage_append(pin, rows(5)))
    second = commit_detached(first, stage_append(first, rows(6)))
    found = stamps(promote(pin, second))
    assert found["k5"] == (3, 3)
    assert min(found["k6"]) >= 2**63


def test_an_overwrite_stamps_all_rows_anew(place: Place):
    base = history(place, 2)
    assert stamps(commit(base, stage_overwrite(base, rows(1, 9)))) == {"k1": (3, 3), "k9": (3, 3)}


@pytest.mark.parametrize("is_stable", [True, False])
def test_stamps_need_stable_row_ids(place: Place, is_stable: bool):
    dataset = place.create(rows(1), enable_stable_row_ids=is_stable)
    dataset = commit(dataset, stage_append(dataset, rows(2)))
    assert (stamps(dataset)["k2"] == (2, 2)) == is_stable


def test_rows_are_found_by_their_stamps_and_by_their_row_ids(place: Place):
    dataset = history(place, 4)
    dataset = commit(dataset, stage_upsert(dataset, rows(1, value="b")))
    changed = dataset.to_table(columns=["id"], filter="_row_last_updated_at_version > 3")
    assert sorted(changed["id"].to_pylist()) == ["k1", "k4"]
    wanted = row_ids(dataset)["k3"]
    assert dataset.to_table(columns=["id"], filter=f"_rowid in ({wanted})")["id"].to_pylist() == ["k3"]
