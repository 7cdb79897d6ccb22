"""Rows replaced and deleted where they lie: nothing is searched, and what they were stays what it was."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from lance import LanceDataset

from omnigraph.errors import InternalError
from omnigraph.tables.counting import count_table_calls
from omnigraph.tables.handles import snapshot_of
from omnigraph.tables.interface import IndexSpec, SnapshotHandle
from omnigraph.tables.lance_tables import LanceTables

BY_ID = IndexSpec(column="id", kind="btree", name="id_btree")


def addresses(tables: LanceTables, handle: SnapshotHandle, *names: str) -> pa.Array:
    found = tables.lookup(handle, pa.array(names), columns=["id"], with_address=True)
    by_name = dict(zip(found["id"].to_pylist(), found["_rowaddr"].to_pylist(), strict=True))
    return pa.array([by_name[each] for each in names], pa.uint64())


def stamps(handle: SnapshotHandle) -> dict[str, tuple[int, int, int]]:
    """Per row its stable id, the version that made it, the version that last changed it."""
    dataset: LanceDataset = snapshot_of(handle).dataset
    names = ["id", "_row_created_at_version", "_row_last_updated_at_version"]
    found = dataset.to_table(columns=names, with_row_id=True).to_pylist()
    return {each["id"]: (each["_rowid"], each[names[1]], each[names[2]]) for each in found}


def test_rows_at_addresses_are_replaced_and_others_are_added(tables, create, rows, contents):
    first = create(rows(a=1, b=2, c=3))
    staged = tables.stage_replace(first, rows(c=30, a=10, d=4), addresses(tables, first, "c", "a"))
    assert contents(first) == {"a": 1, "b": 2, "c": 3}
    made = tables.commit_exact(first, [staged])
    assert contents(made) == {"a": 10, "b": 2, "c": 30, "d": 4}


def test_a_replaced_row_keeps_its_stable_id_and_its_birth(tables, create, rows):
    first = create(rows(a=1, b=2))
    second = tables.commit_exact(first, [tables.stage_append(first, rows(c=3))])
    before = stamps(second)
    staged = tables.stage_replace(second, rows(c=30, a=10, d=4), addresses(tables, second, "c", "a"))
    after = stamps(tables.commit_exact(second, [staged]))
    version = second.pin.version + 1
    assert after["a"] == (before["a"][0], before["a"][1], version)
    assert after["c"] == (before["c"][0], before["c"][1], version)
    assert after["b"] == before["b"]
    assert after["d"][1:] == (version, version)
    assert len({each[0] for each in after.values()}) == 4


def test_rows_are_replaced_again_and_again_wherever_they_lie_now(tables, create, rows, contents):
    handle = create(rows(a=1, b=2, c=3))
    for number in range(5):
        staged = tables.stage_replace(handle, rows(b=number), addresses(tables, handle, "b"))
        handle = tables.commit_exact(handle, [staged])
    assert contents(handle) == {"a": 1, "b": 4, "c": 3}


def test_a_replacement_is_exact_whatever_others_left_on_the_table(tables, create, rows, contents):
    first = create(rows(a=1, b=2))
    where = addresses(tables, first, "a")
    tables.commit_exact(first, [tables.stage_append(first, rows(loser=9))])
    made = tables.commit_exact(first, [tables.stage_replace(first, rows(a=10), where)])
    assert contents(made) == {"a": 10, "b": 2}


def test_an_index_finds_replaced_rows_by_what_they_are_now(tables, create, rows):
    first = create(rows(a=1, b=2))
    by_n = IndexSpec(column="n", kind="btree", name="n_btree")
    indexed = tables.commit_exact(first, [tables.stage_indexes(first, [BY_ID, by_n])])
    made = tables.commit_exact(indexed, [tables.stage_replace(indexed, rows(a=10), addresses(tables, indexed, "a"))])
    assert tables.lookup(made, pa.array([1], pa.int32()), key="n").num_rows == 0
    assert tables.lookup(made, pa.array([10], pa.int32()), key="n")["id"].to_pylist() == ["a"]
    assert tables.lookup(made, pa.array(["a"]))["n"].to_pylist() == [10]


SEARCHED = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("tags", pa.list_(pa.string())),
        pa.field("text", pa.string()),
        pa.field("v", pa.list_(pa.field("item", pa.float32()), 2)),
    ]
)
SEARCH_INDEXES = [
    IndexSpec(column="text", kind="inverted", name="text_inverted"),
    IndexSpec(column="v", kind="vector", name="v_vector"),
]


def documents(**texts: str) -> pa.Table:
    """The vector of a text turns by a tenth of a radian with each of its letters."""
    vectors = [[math.cos(len(each) / 10), math.sin(len(each) / 10)] for each in texts.values()]
    return pa.table([[*texts], [[]] * len(texts), [*texts.values()], vectors], schema=SEARCHED)


def test_a_search_finds_replaced_rows_by_what_they_are_now(tables):
    handle = tables.commit_create(tables.stage_create("nodes/document", SEARCHED, documents(a="lynx", b="caribou")))
    handle = tables.commit_exact(handle, [tables.stage_indexes(handle, SEARCH_INDEXES)])
    staged = tables.stage_replace(handle, documents(a="hippopotamus", c="ox"), addresses(tables, handle, "a"))
    made = tables.commit_exact(handle, [staged])
    words = {each: tables.search_text(made, "text", each, columns=["id"]) for each in ("lynx", "hippopotamus", "ox")}
    assert {word: found["id"].to_pylist() for word, found in words.items()} == {
        "lynx": [], "hippopotamus": ["a"], "ox": ["c"],
    }  # fmt: skip
    for letters, wanted in ((2, "c"), (4, "c"), (7, "b"), (12, "a")):
        direction = [math.cos(letters / 10), math.sin(letters / 10)]
        assert tables.nearest(made, "v", direction, 1, columns=["id"])["id"].to_pylist() == [wanted]
    # What was replaced waits for the next build like any new row.
    assert {each.spec.name: each.uncovered_rows for each in tables.coverage(made)} == {
        "text_inverted": 2, "v_vector": 2,
    }  # fmt: skip


def test_rows_that_lie_in_files_already_replace_too(tables, create, rows, schema, contents):
    first = create(rows(a=1, b=2))
    written = tables.write_rows(first.pin, rows(b=20, e=5), schema=schema)
    made = tables.commit_exact(first, [tables.stage_replace(first, [written], addresses(tables, first, "b"))])
    assert contents(made) == {"a": 1, "b": 20, "e": 5}


def test_replacing_touches_the_parts_of_the_replaced_rows_only(tables, create, rows):
    handle = create(rows(a=0))
    for number in range(20):
        handle = tables.commit_exact(handle, [tables.stage_append(handle, rows(**{f"p{number}": number}))])
    where = addresses(tables, handle, "p7")
    before = tables.parts(handle)
    with count_table_calls() as calls:
        staged = tables.stage_replace(handle, rows(p7=70), where)
    assert calls == {"stage_replace": 1}
    after = tables.parts(tables.commit_exact(handle, [staged]))
    # The part that held only p7 is gone, one part came, and the others are as they were.
    assert set(before) - set(after) == {before[8]}
    assert len(set(after) - set(before)) == 1


@pytest.mark.parametrize("bad", [[0, 0], [99], [1 << 40]], ids=["twice", "no such row", "no such part"])
def test_an_address_that_cannot_be_meant_is_refused(tables, create, rows, contents, bad):
    first = create(rows(a=1, b=2))
    where = pa.array(bad, pa.uint64())
    with pytest.raises(InternalError):
        tables.stage_replace(first, rows(a=1, b=2), where)
    with pytest.raises(InternalError):
        tables.stage_delete_at(first, where)
    assert contents(first) == {"a": 1, "b": 2}


def test_more_addresses_than_rows_are_refused(tables, create, rows):
    first = create(rows(a=1, b=2))
    with pytest.raises(InternalError, match="2 rows cannot be replaced by fewer"):
        tables.stage_replace(first, rows(a=1), addresses(tables, first, "a", "b"))


def test_rows_are_deleted_by_address(tables, create, rows, contents):
    first = create(rows(a=1, b=2))
    second = tables.commit_exact(first, [tables.stage_append(first, rows(c=3))])
    staged = tables.stage_delete_at(second, addresses(tables, second, "a", "c"))
    made = tables.commit_exact(second, [staged])
    assert contents(made) == {"b": 2}
    assert tables.stage_delete_at(second, pa.array([], pa.uint64())) is None


def test_a_look_up_tells_addresses_that_rows_can_be_fetched_by(tables, create, rows):
    first = create(rows(a=1, b=2))
    handle = tables.commit_exact(first, [tables.stage_append(first, rows(c=3))])
    found = tables.lookup(handle, pa.array(["c", "a", "zed"]), columns=["n"], with_address=True)
    assert found.schema.names == ["n", "_rowaddr"]
    again = tables.take(handle, found["_rowaddr"].combine_chunks(), ["n"])
    assert again["n"].to_pylist() == found["n"].to_pylist()
    assert sorted(again["n"].to_pylist()) == [1, 3]
