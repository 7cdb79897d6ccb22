"""Small parts folded into one: every row, its stable id and its stamps as before, and every index reaching it."""

from __future__ import annotations

import pyarrow as pa
import pytest
from lance import LanceDataset

from omnigraph.tables.handles import snapshot_of
from omnigraph.tables.interface import IndexSpec, SnapshotHandle
from omnigraph.tables.lance_tables import LanceTables

BY_ID = IndexSpec(column="id", kind="btree", name="id_btree")
BY_N = IndexSpec(column="n", kind="btree", name="n_btree")


def everything(handle: SnapshotHandle) -> list[dict[str, object]]:
    """Every row with its stable id and its stamps, by id."""
    dataset: LanceDataset = snapshot_of(handle).dataset
    names = ["id", "n", "_row_created_at_version", "_row_last_updated_at_version"]
    return sorted(dataset.to_table(columns=names, with_row_id=True).to_pylist(), key=lambda each: each["id"])


def numbers(tables: LanceTables, handle: SnapshotHandle) -> list[int]:
    return [each.number for each in tables.parts(handle)]


def fold(tables: LanceTables, handle: SnapshotHandle, parts: list[int], specs: list[IndexSpec]):
    """What is staged when these parts are folded."""
    folded = tables.fold_rows(handle, parts)
    return () if folded is None else tables.stage_fold(handle, folded, specs)


def uncovered(tables: LanceTables, handle: SnapshotHandle) -> dict[str, int]:
    return {each.spec.name: each.uncovered_rows for each in tables.coverage(handle)}


@pytest.fixture
def tailed(tables, create, rows):
    """An indexed first part, then five small ones, of which one has a deleted row."""
    handle = create(rows(a=1, b=2, c=3))
    handle = tables.commit_exact(handle, [tables.stage_indexes(handle, [BY_ID, BY_N])])
    for number in range(5):
        more = rows(**{f"t{number}": number, f"u{number}": 10 + number})
        handle = tables.commit_exact(handle, [tables.stage_append(handle, more)])
    found = tables.lookup(handle, pa.array(["u3"]), columns=["id"], with_address=True)
    return tables.commit_exact(handle, [tables.stage_delete_at(handle, found["_rowaddr"].combine_chunks())])


def test_folded_parts_are_one_and_every_row_is_as_before(tables, tailed):
    before = everything(tailed)
    made = tables.commit_exact(tailed, fold(tables, tailed, numbers(tables, tailed)[1:], [BY_ID, BY_N]))
    assert everything(made) == before
    first, folded = tables.parts(made)
    assert first == tables.parts(tailed)[0]
    assert (folded.row_count, folded.live_count, folded.deletions) == (9, 9, None)
    assert uncovered(tables, made) == {"id_btree": 0, "n_btree": 0}


def test_what_is_staged_changes_nothing_until_it_is_committed(tables, tailed):
    before = numbers(tables, tailed)
    fold(tables, tailed, before[1:], [BY_ID])
    assert numbers(tables, tables.open_at(tailed.pin)) == before


def test_indexes_find_rows_of_a_folded_part(tables, tailed):
    made = tables.commit_exact(tailed, fold(tables, tailed, numbers(tables, tailed)[1:], [BY_ID, BY_N]))
    assert tables.lookup(made, pa.array(["t4"]))["n"].to_pylist() == [4]
    assert tables.lookup(made, pa.array([12, 13], pa.int32()), key="n")["id"].to_pylist() == ["u2"]


def test_a_fold_is_exact_whatever_others_left_on_the_table(tables, tailed, rows):
    before = everything(tailed)
    steps = fold(tables, tailed, numbers(tables, tailed)[1:], [BY_ID])
    tables.commit_exact(tailed, [tables.stage_append(tailed, rows(loser=99))])
    made = tables.commit_exact(tailed, steps)
    assert everything(made) == before
    assert len(tables.parts(made)) == 2


def test_parts_that_were_folded_and_indexed_are_folded_again(tables, tailed, rows):
    handle = tables.commit_exact(tailed, fold(tables, tailed, numbers(tables, tailed)[1:], [BY_ID, BY_N]))
    for number in range(3):
        handle = tables.commit_exact(handle, [tables.stage_append(handle, rows(**{f"v{number}": number}))])
    before = everything(handle)
    made = tables.commit_exact(handle, fold(tables, handle, numbers(tables, handle)[1:], [BY_ID, BY_N]))
    assert everything(made) == before
    assert len(tables.parts(made)) == 2
    assert uncovered(tables, made) == {"id_btree": 0, "n_btree": 0}
    # The segment that covered what is gone now is gone too.
    segments = [each for index in snapshot_of(made).dataset.describe_indices() for each in index.segments]
    assert len(segments) == 4


def test_a_part_that_is_indexed_together_with_one_that_stays_is_left_out(tables, create, rows):
    handle = create(rows(a=1))
    handle = tables.commit_exact(handle, [tables.stage_append(handle, rows(b=2))])
    handle = tables.commit_exact(handle, [tables.stage_indexes(handle, [BY_ID])])
    for number in range(2):
        handle = tables.commit_exact(handle, [tables.stage_append(handle, rows(**{f"t{number}": number}))])
    first, second, third, fourth = numbers(tables, handle)
    made = tables.commit_exact(handle, fold(tables, handle, [second, third, fourth], [BY_ID]))
    assert numbers(tables, made)[:2] == [first, second]
    assert len(tables.parts(made)) == 3


def test_fewer_than_two_parts_are_nothing_to_fold(tables, tailed):
    assert fold(tables, tailed, numbers(tables, tailed)[-1:], [BY_ID]) == ()
    assert fold(tables, tailed, [], [BY_ID]) == ()


def test_a_new_part_never_takes_the_number_of_one_that_an_index_still_names(tables, create, rows):
    """Otherwise that index would seem to cover rows that it has never seen."""
    handle = create(rows(a=1))
    for number in range(3):
        handle = tables.commit_exact(handle, [tables.stage_append(handle, rows(**{f"t{number}": number}))])
    handle = tables.commit_exact(handle, [tables.stage_indexes(handle, [BY_ID])])
    last = tables.lookup(handle, pa.array(["t2"]), columns=["id"], with_address=True)["_rowaddr"].combine_chunks()
    handle = tables.commit_exact(handle, [tables.stage_delete_at(handle, last)])
    made = tables.commit_exact(handle, fold(tables, handle, numbers(tables, handle), []))
    assert len(tables.parts(made)) == 1
    assert tables.lookup(made, pa.array(["t1"]))["n"].to_pylist() == [1]
    assert tables.lookup(made, pa.array(["t2"])).num_rows == 0


def test_a_line_of_versions_goes_on_after_a_fold(tables, tailed, rows, contents):
    before = contents(tailed)
    made = tables.commit_exact(tailed, fold(tables, tailed, numbers(tables, tailed)[1:], [BY_ID]))
    after = tables.commit_exact(made, [tables.stage_append(made, rows(z=26))])
    assert contents(after) == before | {"z": 26}
    ids = [each["_rowid"] for each in everything(after)]
    assert len(set(ids)) == len(ids)
    assert len(set(numbers(tables, after))) == 3


def test_folded_rows_hold_for_a_later_version_that_has_their_parts(tables, tailed, rows):
    folded = tables.fold_rows(tailed, numbers(tables, tailed)[1:])
    later = tables.commit_exact(tailed, [tables.stage_append(tailed, rows(z=26))])
    before = everything(later)
    made = tables.commit_exact(later, tables.stage_fold(later, folded, [BY_ID, BY_N]))
    assert everything(made) == before
    assert len(tables.parts(made)) == 3
    assert uncovered(tables, made) == {"id_btree": 0, "n_btree": 0}


def test_folded_rows_are_void_when_one_of_them_is_deleted_or_replaced(tables, tailed):
    folded = tables.fold_rows(tailed, numbers(tables, tailed)[1:])
    place = tables.lookup(tailed, pa.array(["t1"]), columns=["id"], with_address=True)["_rowaddr"].combine_chunks()
    later = tables.commit_exact(tailed, [tables.stage_delete_at(tailed, place)])
    assert tables.stage_fold(later, folded, [BY_ID]) == ()


def test_folded_rows_are_void_when_an_index_came_to_cover_them_with_others(tables, tailed, rows):
    folded = tables.fold_rows(tailed, numbers(tables, tailed)[1:])
    later = tables.commit_exact(tailed, [tables.stage_append(tailed, rows(z=26))])
    later = tables.commit_exact(later, [tables.stage_indexes(later, [BY_ID])])
    assert tables.stage_fold(later, folded, [BY_ID]) == ()
