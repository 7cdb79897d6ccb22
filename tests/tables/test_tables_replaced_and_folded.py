"""Rows replaced, deleted and folded where they lie, on memory, a disk and an S3 server: on a main line and on branches.

Every version is read again through a table layer of its own, which knows nothing but what is stored.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from table_rows import BLOBS, blobs, contents, create, rows

from omnigraph.tables.handles import snapshot_of
from omnigraph.tables.interface import IndexSpec, SnapshotHandle
from omnigraph.tables.lance_tables import LanceTables

BY_ID = IndexSpec(column="id", kind="btree", name="id_btree")
BY_N = IndexSpec(column="n", kind="btree", name="n_btree")
TEXT = IndexSpec(column="id", kind="inverted", name="id_inverted")
INDEXES = (BY_ID, BY_N, TEXT)

SMALL, PACKED, LARGE = b"abc", b"p" * 200_000, b"l" * 5_000_000
"""Within the rows, packed in a file with others, in a file of its own."""


@pytest.fixture(params=["main", "branch"])
def line(request: pytest.FixtureRequest, tables: LanceTables) -> SnapshotHandle:
    """An indexed part a b c, then d e | f | g; the last two written where the test goes on."""
    handle = create(tables, rows(a=1, b=2, c=3))
    handle = tables.commit_exact(handle, [tables.stage_indexes(handle, INDEXES)])
    handle = tables.commit_exact(handle, [tables.stage_append(handle, rows(d=4, e=5))])
    if request.param == "branch":
        handle = tables.fork(handle, "b1")
    for name, n in (("f", 6), ("g", 7)):
        handle = tables.commit_exact(handle, [tables.stage_append(handle, rows(**{name: n}))])
    return handle


def at(tables: LanceTables, handle: SnapshotHandle, *names: str) -> pa.Array:
    found = tables.lookup(handle, pa.array(names), columns=["id"], with_address=True)
    by_name = dict(zip(found["id"].to_pylist(), found["_rowaddr"].to_pylist(), strict=True))
    return pa.array([by_name[each] for each in names], pa.uint64())


def numbers(tables: LanceTables, handle: SnapshotHandle) -> list[int]:
    return [each.number for each in tables.parts(handle)]


def fold(tables: LanceTables, handle: SnapshotHandle, parts: list[int], specs=INDEXES) -> SnapshotHandle:
    folded = tables.fold_rows(handle, parts)
    assert folded is not None
    steps = tables.stage_fold(handle, folded, specs)
    tables.sync_staged(steps)
    made = tables.commit_exact(handle, steps)
    tables.sync_committed([made])
    return made


def facts(handle: SnapshotHandle) -> dict[str, tuple[int, int, int]]:
    """Per row its stable id, the version that made it, the version that last changed it."""
    names = ["id", "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]
    found = snapshot_of(handle).dataset.to_table(columns=names).to_pylist()
    return {each["id"]: tuple(each[name] for name in names[1:]) for each in found}


def anew(adapter, handle: SnapshotHandle) -> tuple[LanceTables, SnapshotHandle]:
    """The same version as a process that has just started opens it."""
    fresh = LanceTables(adapter)
    return fresh, fresh.open_at(handle.pin)


LINE = {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7}


def test_rows_are_replaced_wherever_they_lie(tables, adapter, line):
    before = facts(line)
    staged = tables.stage_replace(line, rows(d=40, a=10, g=70, z=26), at(tables, line, "d", "a", "g"))
    tables.sync_staged([staged])
    made = tables.commit_exact(line, [staged])
    tables.sync_committed([made])
    fresh, opened = anew(adapter, made)
    assert contents(fresh, opened) == LINE | {"d": 40, "a": 10, "g": 70, "z": 26}
    after, version = facts(opened), made.pin.version
    for name in LINE:
        is_replaced = name in ("d", "a", "g")
        assert after[name] == ((*before[name][:2], version) if is_replaced else before[name])
    assert after["z"][1:] == (version, version)
    # The part that held only g is gone, and indexes answer with the rows as they are.
    assert numbers(fresh, opened) == [0, 1, 2, 4]
    assert sorted(fresh.lookup(opened, pa.array(["a", "g"]))["n"].to_pylist()) == [10, 70]
    assert fresh.lookup(opened, pa.array([1, 70], pa.int32()), key="n")["id"].to_pylist() == ["g"]
    found = fresh.search_text(opened, "id", "b d z", columns=["id", "n"]).to_pylist()
    assert sorted((each["id"], each["n"]) for each in found) == [("b", 2), ("d", 40), ("z", 26)]


def test_rows_are_deleted_wherever_they_lie(tables, adapter, line):
    staged = tables.stage_delete_at(line, at(tables, line, "b", "e", "f"))
    tables.sync_staged([staged])
    made = tables.commit_exact(line, [staged])
    tables.sync_committed([made])
    fresh, opened = anew(adapter, made)
    assert contents(fresh, opened) == {"a": 1, "c": 3, "d": 4, "g": 7}
    assert numbers(fresh, opened) == [0, 1, 3]
    assert fresh.lookup(opened, pa.array(["b", "f", "g"]))["id"].to_pylist() == ["g"]
    assert contents(*anew(adapter, line)) == LINE


def test_parts_are_folded_and_every_row_is_as_before(tables, adapter, line):
    line = tables.commit_exact(line, [tables.stage_delete_at(line, at(tables, line, "e"))])
    line = tables.commit_exact(line, [tables.stage_replace(line, rows(f=60), at(tables, line, "f"))])
    before = facts(line)
    made = fold(tables, line, numbers(tables, line)[1:])
    fresh, opened = anew(adapter, made)
    assert contents(fresh, opened) == {"a": 1, "b": 2, "c": 3, "d": 4, "f": 60, "g": 7}
    assert facts(opened) == before
    assert [each.live_count for each in fresh.parts(opened)] == [3, 3]
    assert [(each.spec.name, each.uncovered_rows) for each in fresh.coverage(opened)] == [
        ("id_btree", 0), ("id_inverted", 0), ("n_btree", 0),
    ]  # fmt: skip
    assert sorted(fresh.lookup(opened, pa.array([6, 7, 60], pa.int32()), key="n")["id"].to_pylist()) == ["f", "g"]
    # The line goes on, and its next fold takes what this one made.
    more = tables.commit_exact(made, [tables.stage_append(made, rows(h=8))])
    again = fold(tables, more, numbers(tables, more)[1:])
    assert contents(*anew(adapter, again)) == contents(tables, more)
    assert facts(again) == facts(more)
    assert len(tables.parts(again)) == 2


@pytest.mark.parametrize("specs", [(), INDEXES], ids=["one step", "several steps"])
def test_a_fold_is_exact_after_others_wrote_to_the_table(tables, adapter, line, specs):
    """One step alone is refused by Lance, because the loser's part has the number that the new one was to have."""
    folded = tables.fold_rows(line, [1, 2, 3])
    steps = tables.stage_fold(line, folded, specs)
    tables.commit_exact(line, [tables.stage_append(line, rows(loser=9))])
    made = tables.commit_exact(line, steps)
    fresh, opened = anew(adapter, made)
    assert contents(fresh, opened) == LINE
    assert facts(opened) == facts(line)


def test_a_branch_changes_what_it_has_from_its_parent_and_the_parent_keeps_it(tables, adapter):
    parent = create(tables, rows(a=1, b=2))
    for name, n in (("c", 3), ("d", 4)):
        parent = tables.commit_exact(parent, [tables.stage_append(parent, rows(**{name: n}))])
    parent = tables.commit_exact(parent, [tables.stage_indexes(parent, [BY_ID])])
    before, parts = facts(parent), tables.parts(parent)
    child = tables.fork(parent, "b1")
    child = tables.commit_exact(child, [tables.stage_replace(child, rows(a=10, c=30), at(tables, child, "a", "c"))])
    child = fold(tables, child, numbers(tables, child), [BY_ID])
    child = tables.commit_exact(child, [tables.stage_delete_at(child, at(tables, child, "d"))])
    grandchild = tables.fork(child, "b2")
    grandchild = tables.commit_exact(grandchild, [tables.stage_append(grandchild, rows(e=5))])
    grandchild = fold(tables, grandchild, numbers(tables, grandchild), [BY_ID])
    # The parent folds the same parts, and gives the new one the number that the branch gave to another.
    folded = fold(tables, parent, numbers(tables, parent), [BY_ID])
    for handle, wanted in (
        (parent, {"a": 1, "b": 2, "c": 3, "d": 4}),
        (folded, {"a": 1, "b": 2, "c": 3, "d": 4}),
        (child, {"a": 10, "b": 2, "c": 30}),
        (grandchild, {"a": 10, "b": 2, "c": 30, "e": 5}),
    ):
        fresh, opened = anew(adapter, handle)
        assert contents(fresh, opened) == wanted
        found = fresh.lookup(opened, pa.array(["a", "c", "d"]))
        assert dict(zip(found["id"].to_pylist(), found["n"].to_pylist(), strict=True)) == {
            name: wanted[name] for name in ("a", "c", "d") if name in wanted
        }
    fresh, opened = anew(adapter, parent)
    assert (facts(opened), fresh.parts(opened)) == (before, parts)
    assert facts(folded) == before
    assert {name: each[0] for name, each in facts(child).items()} == {name: before[name][0] for name in ("a", "b", "c")}


@pytest.mark.parametrize("on_branch", [False, True], ids=["main", "branch"])
def test_blobs_of_every_size_survive_a_replacement_and_a_fold(tables, adapter, on_branch):
    held = {"none": None, "empty": b"", "small": SMALL, "packed": PACKED, "large": LARGE}
    handle = create(tables, blobs(**held), BLOBS)
    if on_branch:
        handle = tables.fork(handle, "b1")
    first = handle
    new = {"small": LARGE + b"!", "large": None, "none": PACKED + b"!", "added": SMALL}
    staged = tables.stage_replace(handle, blobs(**new), at(tables, handle, "small", "large", "none"))
    tables.sync_staged([staged])
    handle = tables.commit_exact(handle, [staged])
    handle = tables.commit_exact(handle, [tables.stage_append(handle, blobs(last=LARGE))])
    wanted = held | new | {"last": LARGE}
    assert contents(*anew(adapter, handle)) == wanted
    made = fold(tables, handle, numbers(tables, handle), [BY_ID])
    fresh, opened = anew(adapter, made)
    assert len(fresh.parts(opened)) == 1
    assert contents(fresh, opened) == wanted
    assert facts(opened) == facts(handle)
    assert contents(*anew(adapter, first)) == held
    parent = LanceTables(adapter).open_at(replace(first.pin, branch=None))
    assert contents(tables, parent) == held
