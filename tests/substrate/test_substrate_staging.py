"""Staged writes: data on the store, no version yet, readable by whoever staged it (DESIGN 1, 6; substrate.md 1; P6).

Every form leaves HEAD where it was; a detached commit shows what it would give; dropping it loses nothing but space.
Also here: a table made from nothing, which exactly one of several creators makes.
"""

from __future__ import annotations

import threading
from collections import defaultdict

import lance
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from lance import LanceDataset, LanceOperation, Transaction
from lance.fragment import write_fragments
from substrate_steps import (
    Place,
    commit,
    commit_detached,
    ids,
    row_ids,
    rows,
    stage_append,
    stage_delete,
    stage_delete_keys,
    stage_overwrite,
    stage_upsert,
    values,
    versions,
)


def stage_delete_expression(base: LanceDataset, predicate: pc.Expression) -> Transaction:
    """By address: a fragment's own delete takes SQL text only."""
    found = base.to_table(filter=predicate, columns=[], with_row_address=True)["_rowaddr"].to_pylist()
    offsets: dict[int, list[int]] = defaultdict(list)
    for address in found:
        offsets[address >> 32].append(address & 0xFFFFFFFF)
    after = {each: base.get_fragment(each).delete_rows(rows_of) for each, rows_of in offsets.items()}
    updated = [each for each in after.values() if each is not None]
    removed = [key for key, each in after.items() if each is None]
    return Transaction(base.version, LanceOperation.Delete(updated, removed, "by address"))


STAGED = {
    "append": (lambda base: stage_append(base, rows(5)), {"k1": "a", "k2": "a", "k3": "a", "k5": "a"}),
    "upsert": (lambda base: stage_upsert(base, rows(1, 5, value="b")), {"k1": "b", "k2": "a", "k3": "a", "k5": "b"}),
    "overwrite": (lambda base: stage_overwrite(base, rows(1, value="c")), {"k1": "c"}),
    "overwrite by nothing": (lambda base: stage_overwrite(base, rows()), {}),
    "delete by predicate": (lambda base: stage_delete(base, "id in ('k1', 'k3')"), {"k2": "a"}),
    "delete by key": (lambda base: stage_delete_keys(base, 1, 3, 99), {"k2": "a"}),
    "delete by expression": (lambda base: stage_delete_expression(base, pc.field("id") != "k2"), {"k2": "a"}),
    "delete of everything": (lambda base: stage_delete(base, "true"), {}),
}


def two_fragments(place: Place) -> LanceDataset:
    base = place.create(rows(1, 2))
    return commit(base, stage_append(base, rows(3)))


@pytest.mark.parametrize("kind", STAGED)
def test_a_staged_write_is_seen_by_nobody_and_readable_by_its_writer(place: Place, kind: str):
    stage, expected = STAGED[kind]
    base = two_fragments(place)
    staged = stage(base)
    assert (base.version, base.latest_version, versions(place.open())) == (2, 2, [1, 2])
    assert values(commit_detached(base, staged)) == expected
    assert values(place.open()) == {"k1": "a", "k2": "a", "k3": "a"}
    assert values(commit(base, staged)) == expected
    assert values(place.open(3)) == expected


@pytest.mark.parametrize("kind", STAGED)
def test_a_staged_write_can_be_dropped(place: Place, kind: str):
    base = two_fragments(place)
    STAGED[kind][0](base)
    after = commit(base, stage_append(base, rows(4)))
    assert (after.version, sorted(ids(after))) == (3, ["k1", "k2", "k3", "k4"])


def test_a_fragment_whose_last_row_goes_is_reported_as_gone_by_every_delete(place: Place):
    base = two_fragments(place)
    by_predicate = stage_delete(base, "id = 'k3'").operation
    by_address = stage_delete_expression(base, pc.field("id") == "k3").operation
    by_key = stage_delete_keys(base, 3).operation
    assert (by_predicate.deleted_fragment_ids, by_predicate.updated_fragments) == ([1], [])
    assert (by_address.deleted_fragment_ids, by_address.updated_fragments) == ([1], [])
    assert (by_key.removed_fragment_ids, by_key.updated_fragments) == ([1], [])


def test_a_delete_that_matches_nothing_can_be_told_before_it_is_committed(place: Place):
    """Committed, it would be an empty version."""
    base = two_fragments(place)
    nothing = stage_delete(base, "id = 'zz'").operation
    assert (nothing.updated_fragments, nothing.deleted_fragment_ids) == ([], [])
    builder = base.merge_insert("id").when_matched_delete()
    transaction, counts = builder.execute_uncommitted(pa.table({"id": ["zz"]}))
    assert counts["num_deleted_rows"] == 0
    assert commit(base, transaction).version == base.version + 1


def test_a_delete_by_predicate_takes_no_expression(place: Place):
    base = place.create(rows(1))
    with pytest.raises(TypeError):
        base.get_fragments()[0].delete(pc.field("id") == "k1")


def test_an_upsert_counts_what_it_did(place: Place):
    base = two_fragments(place)
    builder = base.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    _, counts = builder.execute_uncommitted(rows(1, 3, 7))
    assert counts == {"num_inserted_rows": 1, "num_updated_rows": 2, "num_deleted_rows": 0}


def test_an_upsert_keeps_row_ids_and_an_overwrite_gives_new_ones(place: Place):
    base = two_fragments(place)
    kept = row_ids(base)
    upserted = row_ids(commit(base, stage_upsert(base, rows(1, 5, value="b"))))
    assert {key: upserted[key] for key in kept} == kept
    base = place.open()
    replaced = row_ids(commit(base, stage_overwrite(base, rows(1, 2))))
    assert not set(replaced.values()) & set(upserted.values())


def test_a_staged_write_survives_being_written_in_several_fragments(place: Place):
    base = place.create(rows(1))
    staged = write_fragments(rows(2, 3, 4, 5), base, return_transaction=True, max_rows_per_file=2)
    assert len(staged.operation.fragments) == 2
    assert sorted(ids(commit(base, staged))) == ["k1", "k2", "k3", "k4", "k5"]


# ── a table from nothing ─────────────────────────────────────────────────────────────────────────────────────────────


def test_staging_for_a_table_that_is_not_there_makes_none(place: Place):
    place.stage_create(rows(1))
    with pytest.raises(ValueError, match="not found"):
        place.open()


def test_a_staged_table_is_made_by_its_commit(place: Place):
    made = place.commit_create(place.stage_create(rows(1, 2)))
    assert (made.version, made.has_stable_row_ids, made.data_storage_version) == (1, True, "2.2")
    assert ids(place.open(1)) == ["k1", "k2"]


def test_row_ids_are_stable_only_when_the_commit_says_so(place: Place):
    """What the staging said about them is lost on the way."""
    staged = write_fragments(
        rows(1), place.uri(), mode="create", return_transaction=True, enable_stable_row_ids=True,
        storage_options=dict(place.options),
    )  # fmt: skip
    assert not place.commit_create(staged, enable_stable_row_ids=False).has_stable_row_ids


def test_a_table_of_no_rows_is_made_from_its_schema_alone(place: Place):
    metadata = {"property": "17"}
    schema = pa.schema([pa.field("id", pa.string(), nullable=False, metadata=metadata), pa.field("v", pa.string())])
    made = place.commit_create(LanceOperation.Overwrite(schema, []))
    assert (made.version, made.count_rows(), made.has_stable_row_ids) == (1, 0, True)
    assert place.open().schema.equals(schema, check_metadata=True)
    assert ids(commit(made, stage_append(made, rows(1).cast(schema)))) == ["k1"]
    assert place.open().data_storage_version == "2.2"


def test_a_second_creator_is_refused_and_the_table_of_the_first_untouched(place: Place):
    first, second = place.stage_create(rows(1)), place.stage_create(rows(2))
    place.commit_create(first)
    with pytest.raises(OSError, match=r"not found|already exists"):
        place.commit_create(second)
    assert (versions(place.open()), ids(place.open())) == ([1], ["k1"])


def test_a_creator_is_refused_even_where_the_first_version_was_removed(place: Place):
    staged = place.stage_create(rows(9))
    base = place.create(rows(1))
    commit(base, stage_append(base, rows(2))).cleanup_old_versions(versions=[1])
    with pytest.raises(OSError, match=r"not found|already exists"):
        place.commit_create(staged)
    assert versions(place.open()) == [2]


def test_of_creators_racing_exactly_one_wins(place: Place):
    staged = {key: place.stage_create(rows(key)) for key in (1, 2, 3, 4)}
    barrier = threading.Barrier(len(staged))
    won: list[int] = []
    refused: list[str] = []

    def race(key: int) -> None:
        barrier.wait()
        try:
            place.commit_create(staged[key])
            won.append(key)
        except OSError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=race, args=(key,)) for key in staged]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(refused)) == (1, 3)
    assert (versions(place.open()), ids(place.open())) == ([1], [f"k{won[0]}"])


def test_columns_keep_their_order_and_their_metadata(place: Place):
    """DESIGN 10: property ids live in field metadata."""
    fields = [pa.field("z", pa.int32(), metadata={"p": "1"}), pa.field("a", pa.float64(), metadata={"p": "2"})]
    data = pa.table({"z": pa.array([1], pa.int32()), "a": [0.5]}, schema=pa.schema(fields))
    base = place.commit_create(place.stage_create(data))
    after = commit(base, stage_append(base, data))
    assert after.schema.names == ["z", "a"]
    assert [each.metadata for each in lance.dataset(after.uri, storage_options=dict(place.options)).schema] == [
        {b"p": b"1"}, {b"p": b"2"},
    ]  # fmt: skip
