"""What merge-insert does not guard, so that the engine must (DESIGN 5; substrate.md 1, 3; engine.md 12.0 P1).

Keys are unique because validation and the publish make them so, not because Lance does: it refuses only two source
rows that match one row of the table, and a staged one forgets which keys it inserted.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation
from lance.commit import CommitConflictError
from substrate_steps import Place, commit, commit_detached, ids, rows, stage_append, stage_upsert


def stage_insert(base, data: pa.Table):
    return base.merge_insert("id").when_matched_fail().when_not_matched_insert_all().execute_uncommitted(data)[0]


def test_two_source_rows_for_one_row_are_refused(place: Place):
    base = place.create(rows(1, 2))
    with pytest.raises(OSError, match="Ambiguous merge insert"):
        stage_upsert(base, rows(1, 1))
    assert place.open().version == base.version


def test_two_source_rows_with_one_new_key_are_both_inserted(place: Place):
    base = place.create(rows(1))
    assert ids(commit(base, stage_upsert(base, rows(7, 7)))) == ["k1", "k7", "k7"]


def test_two_source_rows_with_one_new_key_pass_a_strict_insert_too(place: Place):
    base = place.create(rows(1))
    assert ids(commit(base, stage_insert(base, rows(7, 7)))) == ["k1", "k7", "k7"]


def test_rows_without_a_key_are_inserted_each_time(place: Place):
    base = place.create(rows(1))
    nameless = pa.table({"id": pa.array([None, None], pa.string()), "v": ["x", "y"]})
    for expected in (2, 4):
        base = commit(base, stage_upsert(base, nameless))
        assert base.count_rows("id is null") == expected


def test_a_strict_insert_of_a_key_that_is_there_is_refused_while_staging(place: Place):
    base = place.create(rows(1, 2))
    with pytest.raises(OSError, match='found matching row with key values: id = "k1"'):
        stage_insert(base, rows(5, 1))
    assert place.open().version == base.version
    assert ids(commit(base, stage_insert(base, rows(5)))) == ["k1", "k2", "k5"]


@pytest.mark.parametrize("stage", [stage_upsert, stage_insert])
def test_a_key_inserted_from_one_base_twice_is_there_twice(place: Place, stage):
    """P1: also with the primary-key annotation. The publish decides, and its loser stages anew."""
    field = pa.field("id", pa.string(), nullable=False, metadata={"lance-schema:unenforced-primary-key": "true"})
    schema = pa.schema([field, pa.field("v", pa.string())])
    base = place.create(rows(1).cast(schema))
    first, second = stage(base, rows(7).cast(schema)), stage(base, rows(7, value="b").cast(schema))
    commit(base, first)
    assert ids(commit(base, second)) == ["k1", "k7", "k7"]


def test_two_staged_upserts_of_one_row_conflict(place: Place):
    base = place.create(rows(1))
    first, second = stage_upsert(base, rows(1, value="b")), stage_upsert(base, rows(1, value="c"))
    commit(base, first)
    with pytest.raises(CommitConflictError) as caught:
        commit(base, second)
    assert caught.value.retryable


def test_an_upsert_finds_keys_with_and_without_an_index_on_them(place: Place):
    base = place.create(rows(*range(20)))
    index = base.create_index_uncommitted("id", "BTREE", name="id_btree", fragment_ids=[0])
    indexed = LanceDataset.commit(base, LanceOperation.CreateIndex([index], []), read_version=base.version)
    tailed = commit(indexed, stage_append(indexed, rows(30)))
    after = commit_detached(tailed, stage_upsert(tailed, rows(3, 30, 40, value="b")))
    assert sorted(after.to_table(filter="v = 'b'")["id"].to_pylist()) == ["k3", "k30", "k40"]
    assert after.count_rows() == 22


def test_an_upsert_takes_columns_by_name(place: Place):
    base = place.create(rows(1))
    swapped = pa.table({"v": ["b"], "id": ["k1"]})
    after = commit(base, stage_upsert(base, swapped))
    assert after.to_table().to_pylist() == [{"id": "k1", "v": "b"}]


def test_an_upsert_of_some_columns_keeps_the_others(place: Place):
    base = place.create(pa.table({"id": ["k1", "k2"], "v": ["a", "a"], "w": [1, 2]}))
    builder = base.merge_insert("id").when_matched_update_all()
    after = commit(base, builder.execute_uncommitted(pa.table({"id": ["k2"], "v": ["b"]}))[0])
    assert sorted(map(tuple, (row.values() for row in after.to_table().to_pylist()))) == [
        ("k1", "a", 1), ("k2", "b", 2),
    ]  # fmt: skip


def test_keys_are_compared_exactly(place: Place):
    base = place.create(pa.table({"id": ["é", "a", "A", ""], "v": ["1", "2", "3", "4"]}))
    source = pa.table({"id": ["e\u0301", "A", ""], "v": ["x", "x", "x"]})
    after = commit(base, stage_upsert(base, source))
    assert {row["id"]: row["v"] for row in after.to_table().to_pylist()} == {
        "é": "1", "a": "2", "A": "x", "": "x", "e\u0301": "x",
    }  # fmt: skip
