"""Row ids and makers in a file that we write ourselves, beside rows that replace others, are as good as Lance's own.

write_fragments(rows) ── + a file of the hidden columns -3 and -4 ──> Update ──> rows that continue those they replace
"""

from __future__ import annotations

import json
import random
import uuid

import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation, Transaction
from lance.file import LanceFileReader, LanceFileWriter
from lance.fragment import FragmentMetadata
from substrate_people import KINDS, found, indexed, people
from substrate_steps import Place, commit, row_ids, rows, stage_append, stage_rewrite, stage_upsert, stamps, values
from test_substrate_row_facts import CREATED, MANY, ROW_ID, grown, stage_merge

HIDDEN = pa.schema([
    pa.field("_rowid", pa.uint64(), nullable=False),
    pa.field("_row_created_at_version", pa.uint64(), nullable=False),
])  # fmt: skip


def stage_continued(base: LanceDataset, place: Place, data: pa.Table) -> Transaction:
    """What a merge of rows that all replace others comes to, by hand."""
    known = base.to_table(columns=["id", "_rowid", "_rowaddr", "_row_created_at_version"]).to_pylist()
    by_id = {each["id"]: each for each in known}
    old = [by_id[each] for each in data["id"].to_pylist()]
    (fragment,) = stage_append(base, data).operation.fragments
    name = f"{uuid.uuid4()}.lance"
    columns = [pa.array([each[field.name] for each in old], pa.uint64()) for field in HIDDEN]
    with LanceFileWriter(
        f"{base.uri}/data/{name}", HIDDEN, version="2.2", storage_options=dict(place.options)
    ) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=HIDDEN))
    facts = fragment.to_json()
    facts["files"].append({
        "fields": [ROW_ID, CREATED], "column_indices": [0, 1], "file_major_version": 2, "file_minor_version": 2,
        "file_size_bytes": writer.size_bytes, "base_id": None, "path": name,
    })  # fmt: skip
    facts |= {"row_id_meta": "Column", "created_at_version_meta": {"column": {}}}
    changed, gone = [], []
    for part in base.get_fragments():
        offsets = [each["_rowaddr"] & 0xFFFF_FFFF for each in old if each["_rowaddr"] >> 32 == part.fragment_id]
        if offsets:
            left = part.delete_rows(offsets)
            changed += [] if left is None else [left]
            gone += [part.fragment_id] if left is None else []
    operation = LanceOperation.Update(
        removed_fragment_ids=gone,
        updated_fragments=changed,
        new_fragments=[FragmentMetadata.from_json(json.dumps(facts))],
        fields_for_preserving_frag_bitmap=[each.id() for each in base.lance_schema.fields()],
        update_mode="rewrite_rows",
    )
    return Transaction(base.version, operation)


CHANGED = (11, 3, 100, 7, 0)
"""Rows of several fragments and makers, in no order."""


def test_rows_row_ids_and_stamps_are_those_of_lances_own_merge(place: Place):
    base = grown(place)
    ours = commit(base, stage_continued(base, place, rows(*CHANGED, value="b")))
    other = Place(f"{place.root}/other", place.options)
    base = grown(other)
    theirs = commit(base, stage_merge(base, rows(*CHANGED, value="b")))
    assert (values(ours), row_ids(ours), stamps(ours)) == (values(theirs), row_ids(theirs), stamps(theirs))
    assert ours.get_fragments()[-1].metadata.row_id_meta.json() == '"Column"'


def test_lance_writes_the_same_two_columns_itself(place: Place):
    base = place.create(rows(*range(1_000)))
    for first in range(1_000, 1_000 + 10 * MANY, 10):
        base = commit(base, stage_append(base, rows(*range(first, first + 10))))
    # Twice: rows of a part that was merged have makers in no order.
    for seed in (1, 2):
        base = commit(base, stage_merge(base, rows(*random.Random(seed).sample(range(1_000 + 10 * MANY), 500))))
    newest = base.get_fragments()[-1].metadata
    (file,) = [each for each in newest.files if min(each.fields) < 0]
    assert (newest.row_id_meta.json(), [*file.fields]) == ('"Column"', [ROW_ID, CREATED])
    schema = LanceFileReader(f"{base.uri}/data/{file.path}", storage_options=dict(place.options)).metadata().schema
    assert schema == HIDDEN


def test_such_rows_are_merged_rewritten_and_followed_like_any_others(place: Place):
    base = grown(place)
    made = commit(base, stage_continued(base, place, rows(*CHANGED, value="b")))
    kept = row_ids(made)
    again = commit(made, stage_upsert(made, rows(3, 7, 200, value="c")))
    assert {key: row_ids(again)[key] for key in kept} == kept
    assert values(again)["k3"] == "c"
    numbers = [each.fragment_id for each in again.get_fragments()]
    before = (values(again), row_ids(again), stamps(again))
    folded = commit(again, stage_rewrite(again, numbers, max(numbers) + 1))
    assert (values(folded), row_ids(folded), stamps(folded)) == before
    later = commit(folded, stage_append(folded, rows(300)))
    assert row_ids(later)["k300"] not in row_ids(folded).values()
    wanted = sorted(kept.values())[:3]
    assert sorted(later.to_table(filter=f"_rowid in {tuple(wanted)}", with_row_id=True)["_rowid"].to_pylist()) == wanted


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_finds_such_rows_by_what_they_are_now(place: Place, kind: str):
    base = indexed(place, kind)
    changed = people(103, 105).set_column(0, "id", pa.array(["k3", "k5"]))
    made = commit(base, stage_continued(base, place, changed))
    if kind == "BTREE":
        assert found(made, kind, 5) == ["k5"]
    else:
        assert found(made, kind, 105) == ["k5"]
        assert "k5" not in found(made, kind, 5)
