"""Stable ids and versions of rows lie with the rows where a version would have to name many of them."""

from __future__ import annotations

import json
import random

import pyarrow as pa
import pytest

from omnigraph.tables import replacing
from omnigraph.tables.counting import count_table_calls
from omnigraph.tables.handles import snapshot_of
from omnigraph.tables.interface import SnapshotHandle
from omnigraph.tables.lance_tables import LanceTables
from omnigraph.tables.row_facts import MAX_DESCRIBED_BYTES

MANY = 40
"""Commits of one row, of which a version would have to name more than it may."""


def facts(handle: SnapshotHandle) -> dict[str, tuple[int, int, int]]:
    """Per row its stable id, the version that made it, the version that last changed it."""
    names = ["id", "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]
    found = snapshot_of(handle).dataset.to_table(columns=names).to_pylist()
    return {each["id"]: tuple(each[name] for name in names[1:]) for each in found}


def places(tables: LanceTables, handle: SnapshotHandle, *names: str) -> pa.Array:
    found = tables.lookup(handle, pa.array(names), columns=["id"], with_address=True)
    by_name = dict(zip(found["id"].to_pylist(), found["_rowaddr"].to_pylist(), strict=True))
    return pa.array([by_name[each] for each in names], pa.uint64())


def described(handle: SnapshotHandle) -> list[int]:
    """How much the version says of each part."""
    return [len(json.dumps(each.metadata.to_json())) for each in snapshot_of(handle).dataset.get_fragments()]


def fold(tables: LanceTables, handle: SnapshotHandle) -> SnapshotHandle:
    """All parts but the first as one."""
    folded = tables.fold_rows(handle, [each.number for each in tables.parts(handle)][1:])
    return tables.commit_exact(handle, tables.stage_fold(handle, folded, []))


@pytest.fixture
def grow(tables, create, rows):
    """``grow(5)`` has two first rows, and five that were committed one by one: t0, t1, …"""

    def make(count: int) -> SnapshotHandle:
        handle = create(rows(a=1, b=2), location=f"nodes/{count}")
        for number in range(count):
            handle = tables.commit_exact(handle, [tables.stage_append(handle, rows(**{f"t{number}": number}))])
        return handle

    return make


@pytest.fixture
def scattered(tables, grow, rows):
    """Those rows replaced once each, in no order, and folded: their ids lie with them."""
    handle = grow(MANY)
    for number in random.Random(1).sample(range(MANY), MANY):
        name = f"t{number}"
        staged = tables.stage_replace(handle, rows(**{name: number}), places(tables, handle, name))
        handle = tables.commit_exact(handle, [staged])
    before = facts(handle)
    handle = fold(tables, handle)
    assert facts(handle) == before
    assert snapshot_of(handle).dataset.get_fragments()[-1].metadata.row_id_meta.json() == '"Column"'
    return handle


def test_what_a_version_says_of_a_folded_part_does_not_grow_with_its_rows(tables, grow):
    few, many = (grow(count) for count in (MANY, 4 * MANY))
    before = facts(many)
    few, many = fold(tables, few), fold(tables, many)
    assert abs(described(many)[-1] - described(few)[-1]) < 20
    assert facts(many) == before


def test_what_is_short_stays_in_the_version(tables, grow):
    made = fold(tables, grow(3))
    (file,) = snapshot_of(made).dataset.get_fragments()[-1].metadata.files
    assert all(number >= 0 for number in file.fields)


@pytest.mark.parametrize("few", [1, 1_000], ids=["as a whole", "by address"])
def test_rows_whose_ids_lie_with_them_are_replaced_and_keep_them(tables, scattered, rows, monkeypatch, few):
    monkeypatch.setattr(replacing, "MAX_ADDRESSES_IN_FILTER", few)
    gone = tables.stage_delete_at(scattered, places(tables, scattered, "t2", "t30"))
    handle = tables.commit_exact(scattered, [gone])
    before = facts(handle)
    # Of two parts and in no order; the last one is new.
    names = ["t31", "a", "t3", "t39", "t0"]
    new = rows(**dict.fromkeys(names, 7), new=8)
    made = tables.commit_exact(handle, [tables.stage_replace(handle, new, places(tables, handle, *names))])
    version = made.pin.version
    assert facts(made) == (
        before
        | {name: (*before[name][:2], version) for name in names}
        | {"new": (max(each[0] for each in before.values()) + 1, version, version)}
    )
    assert tables.lookup(made, pa.array(["t3", "t4"]))["n"].to_pylist() in ([7, 4], [4, 7])


def test_such_parts_are_folded_again(tables, scattered, rows):
    handle = tables.commit_exact(scattered, [tables.stage_delete_at(scattered, places(tables, scattered, "t2"))])
    handle = tables.commit_exact(handle, [tables.stage_append(handle, rows(z=26))])
    before = facts(handle)
    made = fold(tables, handle)
    assert len(tables.parts(made)) == 2
    assert facts(made) == before


def test_a_merge_of_many_rows_leaves_their_ids_out_of_the_version(tables, create, rows, contents):
    count = 2_000
    first = create(rows(**{f"r{number}": number for number in range(count)}))
    changed = {f"r{number}": -number for number in random.Random(1).sample(range(count), count // 2)}
    staged = tables.stage_upsert(first, rows(**changed, new=1).to_reader())
    made = tables.commit_exact(first, [staged])
    assert contents(made) == {f"r{number}": number for number in range(count)} | changed | {"new": 1}
    assert sum(described(made)) < sum(described(first)) + 4 * 4 * MAX_DESCRIBED_BYTES
    before, after = facts(first), facts(made)
    assert {name: each[:2] for name, each in after.items() if name != "new"} == {
        name: each[:2] for name, each in before.items()
    }
    assert {name for name, each in after.items() if each[2] == made.pin.version} == {*changed, "new"}


def test_a_merge_of_few_rows_needs_no_version_for_it(tables, create, rows):
    first = create(rows(a=1, b=2))
    with count_table_calls() as counts:
        tables.stage_upsert(first, rows(a=10))
    assert "commit_detached" not in counts


def test_nothing_of_it_is_seen_in_the_version(tables, scattered):
    dataset = snapshot_of(scattered).dataset
    assert dataset.config() == {}
    assert dataset.schema.names == ["id", "n"]
    assert tables.schema(scattered).names == ["id", "n"]
