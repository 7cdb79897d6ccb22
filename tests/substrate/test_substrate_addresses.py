"""Fragments, deletion files and row addresses: what a cache that follows a table from version to version rests on.

address   fragment << 32 | offset; a delete moves no other row, so it holds as long as the fragment lives
name      data files and deletion files are never written twice under one name
counts    io_stats belong to the object store of a session, and end with its last dataset
"""

from __future__ import annotations

import gc

import pytest
from lance import LanceDataset
from lance.dataset import ColumnOrdering, Session
from substrate_steps import Place, commit, commit_detached, rows, stage_append, stage_delete, stage_delete_keys

ADDRESS = "_rowaddr"


def grown(place: Place) -> LanceDataset:
    """Two fragments, k1 k2 k3 | k4 k5, without k2."""
    base = place.create(rows(1, 2, 3))
    base = commit(base, stage_append(base, rows(4, 5)))
    return commit(base, stage_delete(base, "id = 'k2'"))


def addresses(dataset: LanceDataset, **keywords) -> list[int]:
    return dataset.scanner(columns=[], with_row_address=True, **keywords).to_table()[ADDRESS].to_pylist()


def test_the_addresses_of_one_fragment_are_read_without_a_column(place: Place):
    dataset = grown(place)
    first, second = dataset.get_fragments()
    assert addresses(dataset, fragments=[first]) == [0, 2]
    assert addresses(dataset, fragments=[second]) == [2**32, 2**32 + 1]
    assert addresses(dataset) == [0, 2, 2**32, 2**32 + 1]


def test_an_empty_list_of_fragments_is_none_and_not_all(disk: Place):
    assert addresses(grown(disk), fragments=[]) == []


def test_a_filter_by_address_fetches_rows_and_does_not_scan(place: Place):
    dataset = grown(place)
    wanted = {"columns": ["id"], "filter": f"{ADDRESS} IN ({2**32 + 1}, 0, 1, 77)", "with_row_address": True}
    found = dataset.scanner(**wanted).to_table()
    # A deleted row and one that never was are left out; the order is that of the table.
    assert found.to_pydict() == {"id": ["k1", "k5"], ADDRESS: [0, 2**32 + 1]}
    plan = dataset.scanner(**wanted).explain_plan()
    assert "full_filter=--" in plan
    assert "OneShotStream" in plan


def test_the_take_of_a_fragment_counts_only_rows_that_are_there(disk: Place):
    first, second = grown(disk).get_fragments()
    assert first.take([1], columns=["id"])["id"].to_pylist() == ["k3"]
    assert second.take([0, 1], columns=["id"])["id"].to_pylist() == ["k4", "k5"]
    with pytest.raises(OSError, match="not strictly increasing"):
        second.take([1, 0], columns=["id"])


def test_the_name_of_a_deletion_file_tells_fragment_version_and_a_random_number(place: Place):
    base = place.create(rows(1, 2, 3))
    base = commit(base, stage_append(base, rows(4)))
    names = set()
    for staged in (stage_delete(base, "id = 'k1'"), stage_delete(base, "id = 'k1'"), stage_delete_keys(base, 2)):
        found = commit_detached(base, staged).get_fragments()[0].metadata.deletion_file
        assert (found.read_version, found.file_type, found.num_deleted_rows) == (2, "array", 1)
        assert found.path(0) == f"_deletions/0-2-{found.id}.arrow"
        names.add(found.path(0))
    assert len(names) == 3


def test_an_appended_or_deleted_row_leaves_the_names_of_other_fragments(place: Place):
    before = place.create(rows(1, 2, 3))
    after = grown_from(before)
    assert [each.path for each in after.get_fragments()[0].data_files()] == [
        each.path for each in before.get_fragments()[0].data_files()
    ]
    assert after.get_fragments()[0].metadata.deletion_file is None
    assert after.get_fragments()[1].metadata.deletion_file is not None


def grown_from(base: LanceDataset) -> LanceDataset:
    base = commit(base, stage_append(base, rows(4, 5)))
    return commit(base, stage_delete(base, "id = 'k5'"))


def test_reads_are_counted_for_all_datasets_of_a_session_and_apart_from_other_sessions(place: Place):
    place.create(rows(1, 2, 3))
    place.create(rows(4), name="u")
    session = Session()
    one, two = place.open(1, session=session), place.open(1, name="u", session=session)
    other = place.open(1, session=Session())
    before, apart = one.io_stats_snapshot(), other.io_stats_snapshot()
    two.to_table()
    after = one.io_stats_snapshot()
    assert (after.read_iops, after.read_bytes) > (before.read_iops, before.read_bytes)
    assert after.read_bytes == two.io_stats_snapshot().read_bytes
    assert other.io_stats_snapshot().read_bytes == apart.read_bytes
    assert one.session().is_same_as(session)
    assert not other.session().is_same_as(session)


def test_the_count_ends_with_the_last_dataset(disk: Place):
    disk.create(rows(1, 2, 3))
    session = Session()
    dataset = disk.open(1, session=session)
    dataset.to_table()
    counted = dataset.io_stats_snapshot().read_iops
    del dataset
    gc.collect()
    assert disk.open(1, session=session).io_stats_snapshot().read_iops < counted


def test_an_order_by_a_column_that_is_neither_read_nor_filtered_cannot_be_planned(disk: Place):
    dataset = disk.create(rows(2, 1))
    options = {"order_by": [ColumnOrdering("id")], "late_materialization": False}
    with pytest.raises(ValueError, match="TakeExec requires"):
        dataset.scanner(columns=["v"], **options).to_table()
    assert dataset.scanner(columns=["v", "id"], **options).to_table()["id"].to_pylist() == ["k1", "k2"]
