"""Row ids and stamps of rewritten and merged rows in their data files, as hidden columns, and not in the manifest.

detached version with the settings ── rewrite, merge ──> fragments that hold for the version itself

A manifest names per fragment the row ids and the versions that created and last updated its rows; every commit writes
all of it again. Lance moves what is longer than a bound to the files, where the table's configuration says so.
"""

from __future__ import annotations

import dataclasses
import json
import os
import random
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation, Transaction
from lance.fragment import FragmentMetadata, RowIdSequence, write_fragments
from substrate_people import KINDS, created, found, people, stage_index
from substrate_steps import (
    Place,
    commit,
    commit_detached,
    promote,
    row_ids,
    rows,
    stage_append,
    stage_delete,
    stage_rewrite,
    stage_upsert,
    stamps,
    values,
)

BOUND = 64
SETTINGS = {"lance.row_lineage.spill": "true", "lance.row_lineage.inline_max_bytes": str(BOUND)}
ROW_ID, CREATED, UPDATED = -3, -4, -5
"""The numbers of the hidden columns."""

MANY = 12
"""Commits of one row whose stamps are longer than the bound."""


def with_settings(base: LanceDataset, settings: dict[str, str] = SETTINGS) -> LanceDataset:
    """A detached version with the same rows."""
    operation = LanceOperation.UpdateConfig(config_updates=LanceOperation.UpdateMap(dict(settings)))
    return commit_detached(base, Transaction(base.version, operation))


def grown(place: Place) -> LanceDataset:
    """A first fragment k100 k101, then fragments of one row each: k0, k1, …"""
    base = place.create(rows(100, 101))
    for key in range(MANY):
        base = commit(base, stage_append(base, rows(key)))
    return base


def stage_fold(base: LanceDataset, settings: dict[str, str] = SETTINGS) -> Transaction:
    """All fragments but the first as one, written through a detached version, for the version itself."""
    fragments = [each.fragment_id for each in base.get_fragments()][1:]
    staged = stage_rewrite(with_settings(base, settings), fragments, max(fragments) + 1)
    return dataclasses.replace(staged, read_version=base.version)


def stage_merge(base: LanceDataset, data: pa.Table) -> Transaction:
    return dataclasses.replace(stage_upsert(with_settings(base), data), read_version=base.version)


def folded(base: LanceDataset) -> LanceDataset:
    return commit(base, stage_fold(base))


def changed_here_and_there(base: LanceDataset) -> LanceDataset:
    """Each of the single rows replaced once, in no order: their row ids are no range any more."""
    for key in random.Random(1).sample(range(MANY), MANY):
        base = commit(base, stage_upsert(base, rows(key, value="b")))
    return base


def last(dataset: LanceDataset) -> FragmentMetadata:
    return dataset.get_fragments()[-1].metadata


def hidden(fragment: FragmentMetadata) -> list[int]:
    return [number for file in fragment.files for number in file.fields if number < 0]


def facts(dataset: LanceDataset) -> tuple[dict[str, str], dict[str, int], dict[str, tuple[int, int]]]:
    return values(dataset), row_ids(dataset), stamps(dataset)


def address_of(dataset: LanceDataset, key: int) -> int:
    return dataset.to_table(columns=[], filter=f"id = 'k{key}'", with_row_address=True)["_rowaddr"].to_pylist()[0]


# ── where they lie ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_rewrite_keeps_stamps_in_the_manifest_unless_the_table_says_otherwise(place: Place):
    base = grown(place)
    for settings in ({}, {"lance.row_lineage.spill": "true"}, {"lance.row_lineage.inline_max_bytes": str(BOUND)}):
        assert hidden(last(commit_detached(base, stage_fold(base, settings)))) == []


def test_a_detached_version_with_the_settings_is_enough(place: Place):
    base = grown(place)
    after = folded(base)
    assert hidden(last(after)) == [CREATED, UPDATED]
    assert (after.config(), place.open().config()) == ({}, {})
    assert facts(place.open()) == facts(base)
    assert after.schema == base.schema


def test_what_is_no_longer_than_the_bound_stays_in_the_manifest(place: Place):
    base = folded(grown(place))
    assert RowIdSequence.from_inline_metadata(last(base).row_id_meta).to_pyarrow().to_pylist() == [*range(2, 2 + MANY)]
    base = commit(base, stage_append(base, rows(50)))
    base = commit(base, stage_append(base, rows(51)))
    two = [each.fragment_id for each in base.get_fragments()][-2:]
    after = commit_detached(base, stage_rewrite(with_settings(base), two, max(two) + 1))
    assert hidden(last(after)) == []


def test_row_ids_that_are_no_range_go_to_the_file_too_and_cannot_be_taken_from_the_manifest(place: Place):
    base = changed_here_and_there(grown(place))
    after = folded(base)
    assert hidden(last(after)) == [ROW_ID, CREATED, UPDATED]
    assert last(after).row_id_meta.json() == '"Column"'
    with pytest.raises(NotImplementedError):
        RowIdSequence.from_inline_metadata(last(after).row_id_meta)
    assert facts(place.open()) == facts(base)
    assert {stamp for _, stamp in stamps(after).values()} == {1, *range(2 + MANY, 2 + 2 * MANY)}


def test_a_merge_writes_the_row_ids_of_many_rows_to_a_file_of_their_own(place: Place):
    """And rows that are new to a fragment of their own."""
    base = place.create(rows(*range(1_000)))
    some = random.Random(1).sample(range(1_000), 100)
    after = commit(base, stage_merge(base, rows(*some, 5_000, value="b")))
    assert [each.metadata.physical_rows for each in after.get_fragments()] == [1_000, 100, 1]
    changed, new = [each.metadata for each in after.get_fragments()][1:]
    assert (hidden(changed), hidden(new)) == ([ROW_ID], [])
    assert {row_ids(base)[f"k{key}"] for key in some} == {row_ids(after)[f"k{key}"] for key in some}
    assert {stamps(after)[f"k{key}"] for key in some} == {(1, 2)}
    assert stamps(after)["k5000"] == (2, 2)


def test_a_manifest_then_grows_with_fragments_and_not_with_rows(disk: Place):
    def size(dataset: LanceDataset) -> int:
        name = f"{2**64 - 1 - dataset.version:020d}.manifest"
        return os.path.getsize(Path(disk.uri(), "_versions", name))

    base = disk.create(rows(*range(3_000)))
    few, many = (random.Random(1).sample(range(3_000), count) for count in (100, 2_000))
    sizes = []
    for some in (few, many):
        base = commit(base, stage_merge(base, rows(*some, value="b")))
        sizes.append(size(base))
    assert sizes[1] < sizes[0] + 500
    plain = commit(base, stage_upsert(base, rows(*many, value="c")))
    assert size(plain) > 2 * len(many)


# ── what is done with such fragments ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(params=["range", "scattered"])
def spilled(request: pytest.FixtureRequest, place: Place) -> LanceDataset:
    """A fragment whose stamps lie in its file, and in one case its row ids."""
    base = grown(place)
    return folded(changed_here_and_there(base) if request.param == "scattered" else base)


def test_a_row_is_found_by_its_id_and_its_stamps(spilled: LanceDataset):
    wanted = row_ids(spilled)["k7"]
    assert spilled.to_table(columns=["id"], filter=f"_rowid in ({wanted})")["id"].to_pylist() == ["k7"]
    newest = max(stamp for _, stamp in stamps(spilled).values())
    by_stamp = spilled.to_table(columns=["id"], filter=f"_row_last_updated_at_version >= {newest}")
    assert by_stamp["id"].to_pylist() == [key for key, (_, stamp) in stamps(spilled).items() if stamp == newest]


def test_a_replaced_row_keeps_its_id_and_the_version_that_created_it(place: Place, spilled: LanceDataset):
    """As the engine replaces rows: by hand, with the row id that a read gave."""
    address = address_of(spilled, 7)
    (new,) = write_fragments(rows(7, value="c"), spilled)
    sequence = RowIdSequence([row_ids(spilled)["k7"]])
    fragment = spilled.get_fragment(address >> 32)
    operation = LanceOperation.Update(
        updated_fragments=[fragment.delete_rows([address & 0xFFFF_FFFF])],
        new_fragments=[dataclasses.replace(new, row_id_meta=sequence.to_inline_metadata())],
        fields_for_preserving_frag_bitmap=[0, 1],
        update_mode="rewrite_rows",
    )
    after = commit(spilled, Transaction(spilled.version, operation))
    expected = stamps(spilled) | {"k7": (stamps(spilled)["k7"][0], after.version)}
    assert facts(place.open()) == (values(spilled) | {"k7": "c"}, row_ids(spilled), expected)


def test_other_writes_go_on_as_before(place: Place, spilled: LanceDataset):
    before = facts(spilled)
    after = commit(spilled, stage_delete(spilled, "id in ('k3', 'k4')"))
    after = commit(after, stage_upsert(after, rows(5, 60, value="c")))
    after = commit(after, stage_append(after, rows(61)))
    kept = [key for key in before[0] if key not in ("k3", "k4", "k5")]
    read = facts(place.open())
    assert all(each[key] == was[key] for each, was in zip(read, before, strict=True) for key in kept)
    assert sorted(read[0]) == sorted({*kept, "k5", "k60", "k61"})
    assert (read[1]["k5"], read[2]["k5"][0]) == (before[1]["k5"], before[2]["k5"][0])
    assert len({*read[1].values()}) == len(read[1])


def test_such_a_fragment_is_rewritten_again(place: Place, spilled: LanceDataset):
    base = commit(spilled, stage_delete(spilled, "id = 'k3'"))
    base = commit(base, stage_append(base, rows(60)))
    after = folded(base)
    assert len(after.get_fragments()) == 2
    assert facts(place.open()) == facts(base)


def test_a_rewrite_without_the_settings_takes_them_back(spilled: LanceDataset):
    base = commit(spilled, stage_append(spilled, rows(60)))
    after = commit(base, stage_fold(base, {}))
    assert hidden(last(after)) == []
    assert facts(after) == facts(base)


def test_promotion_and_branches_carry_them(place: Place, spilled: LanceDataset):
    rival = commit(spilled, stage_append(spilled, rows(66)))
    promoted = promote(rival, commit_detached(spilled, stage_delete(spilled, "id = 'k3'")))
    assert facts(place.open(promoted.version)) == facts(promoted)
    spilled.create_branch("b1", spilled.version)
    branch = place.open(branch="b1")
    assert facts(branch) == facts(spilled)
    branch = commit(branch, stage_upsert(branch, rows(7, value="c")))
    assert row_ids(branch) == row_ids(spilled)
    assert stamps(branch)["k7"] == (stamps(spilled)["k7"][0], branch.version)
    again = folded(branch)
    assert facts(place.open(branch="b1")) == facts(branch) == facts(again)


def test_columns_are_renamed_dropped_and_added(place: Place, spilled: LanceDataset):
    before, stamped = row_ids(spilled), stamps(spilled)
    dataset = place.open()
    dataset.alter_columns({"path": "v", "name": "x"})
    dataset.drop_columns(["x"])
    assert (row_ids(dataset), stamps(dataset)) == (before, stamped)
    dataset.add_columns({"w": "concat(id, '!')"})
    dataset = place.open()
    assert {row["id"]: row["w"] for row in dataset.to_table().to_pylist()} == {key: f"{key}!" for key in before}
    # A column that is added counts as a change of every row, wherever its stamps lay.
    assert (row_ids(dataset), stamps(dataset)) == (before, {key: (stamped[key][0], dataset.version) for key in before})


@pytest.mark.parametrize("kind", KINDS)
def test_indexes_are_built_over_them_and_find_their_rows(place: Place, kind: str):
    base = place.create(people(*range(10)))
    for key in range(10, 10 + MANY):
        base = commit(base, stage_append(base, people(key)))
    for key in random.Random(1).sample(range(10, 10 + MANY), MANY):
        base = commit(base, stage_upsert(base, people(key)))
    after = folded(base)
    assert hidden(last(after)) == [ROW_ID, CREATED, UPDATED]
    options = {"num_partitions": 1} if kind == "IVF_FLAT" else {}
    after = commit(after, created(after, stage_index(after, kind, **options)))
    read = place.open()
    assert [found(read, kind, key) for key in (3, 10, 15, 21)] == [["k3"], ["k10"], ["k15"], ["k21"]]


def test_files_hold_for_a_later_version_that_has_the_same_fragments(place: Place):
    base = changed_here_and_there(grown(place))
    staged = stage_fold(base)
    ((before, (new,)),) = ((each.old_fragments, each.new_fragments) for each in staged.operation.groups)
    later = commit(base, stage_append(base, rows(60)))
    # From JSON: a fold writes its files once and stages them as often as it takes.
    new = FragmentMetadata.from_json(json.dumps(new.to_json() | {"id": 1_000}))
    group = LanceOperation.RewriteGroup(before, [new])
    after = commit(later, Transaction(later.version, LanceOperation.Rewrite([group], [])))
    assert len(after.get_fragments()) == 3
    assert facts(place.open()) == facts(later)


def test_blobs_are_rewritten_with_them(place: Place):
    schema = pa.schema([pa.field("id", pa.string()), lance.blob_field("data")])

    def blobs(*keys: int) -> pa.Table:
        return pa.table(
            [pa.array([f"k{key}" for key in keys]), lance.blob_array([bytes([key]) * 9 for key in keys])], schema=schema
        )

    base = place.create(blobs(100), data_storage_version="2.2")
    for key in range(MANY):
        base = commit(base, stage_append(base, blobs(key)))
    after = folded(base)
    read = place.open().to_table(blob_handling="all_binary").to_pylist()
    assert {row["id"]: row["data"] for row in read} == {f"k{key}": bytes([key]) * 9 for key in (100, *range(MANY))}
    assert (row_ids(after), stamps(after)) == (row_ids(base), stamps(base))
