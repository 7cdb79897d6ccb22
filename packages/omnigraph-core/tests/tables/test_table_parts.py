"""The parts of a version: what two versions share is seen by name, and rows are read and found again by address."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from lance import LanceDataset

from omnigraph.errors import InternalError
from omnigraph.tables import parts as table_parts
from omnigraph.tables.interface import IndexSpec
from omnigraph.tables.row_filters import AllOf, Compared, NullTest, OneOf

AT_LEAST_THREE = Compared("n", ">=", pa.scalar(3))

SIZE = 2**32
BLOBS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("data", pa.large_binary(), metadata={b"omnigraph.blob": b"true"}),
    ]
)


@pytest.fixture
def three(tables, create, rows):
    """Three parts: a b c | d e | f."""
    handle = create(rows(a=1, b=2, c=3))
    for more in (rows(d=4, e=5), rows(f=6)):
        handle = tables.commit_exact(handle, [tables.stage_append(handle, more)])
    return handle


def addresses(tables, handle, **keywords) -> dict[str, int]:
    found = tables.read(handle, columns=["id"], with_address=True, **keywords).read_all()
    assert found.schema.names == ["id", "_rowaddr"]
    assert found.schema.field("_rowaddr").type == pa.uint64()
    return dict(zip(found["id"].to_pylist(), found["_rowaddr"].to_pylist(), strict=True))


def delete(tables, handle, *keys):
    return tables.commit_exact(handle, [tables.stage_delete_keys(handle, pa.array(keys))])


# ── parts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_commit_leaves_the_parts_that_it_did_not_touch(tables, three, rows):
    before = tables.parts(three)
    assert [(each.number, each.row_count, each.live_count, each.deletions) for each in before] == [
        (0, 3, 3, None),
        (1, 2, 2, None),
        (2, 1, 1, None),
    ]
    assert len({each.files for each in before}) == 3
    after = tables.parts(tables.commit_exact(three, [tables.stage_append(three, rows(g=7))]))
    assert after[:3] == before
    assert after[3].files not in {each.files for each in before}


def test_a_delete_changes_the_deletions_of_its_part_alone(tables, three):
    before = tables.parts(three)
    first = tables.parts(delete(tables, three, "b"))
    assert first[1:] == before[1:]
    assert first[0].files == before[0].files
    assert (first[0].row_count, first[0].live_count) == (3, 2)
    other = tables.parts(delete(tables, three, "c"))
    assert None not in (first[0].deletions, other[0].deletions)
    assert first[0].deletions != other[0].deletions


def test_every_delete_has_a_name_of_its_own_and_a_part_without_rows_is_gone(tables, three):
    once = delete(tables, three, "a")
    twice = delete(tables, once, "b")
    names = {tables.parts(each)[0].deletions for each in (three, once, twice)}
    assert len(names) == 3
    assert [each.number for each in tables.parts(delete(tables, twice, "c"))] == [1, 2]


def test_an_upsert_moves_a_row_to_a_new_part(tables, three, rows):
    after = tables.commit_exact(three, [tables.stage_upsert(three, rows(e=50, z=9))])
    assert [(each.number, each.live_count) for each in tables.parts(after)] == [(0, 3), (1, 1), (2, 1), (3, 2)]


def test_a_fork_has_the_parts_of_what_it_was_forked_from(tables, three, rows):
    three = delete(tables, three, "b")
    fork = tables.fork(three, "b1")
    assert tables.parts(fork) == tables.parts(three)
    ahead = tables.commit_exact(fork, [tables.stage_append(fork, rows(x=1))])
    beside = tables.commit_exact(three, [tables.stage_append(three, rows(y=1))])
    assert tables.parts(ahead)[:3] == tables.parts(beside)[:3]
    assert tables.parts(ahead)[3].number == tables.parts(beside)[3].number
    assert tables.parts(ahead)[3].files != tables.parts(beside)[3].files


def test_an_overwrite_shares_nothing(tables, three, rows):
    after = tables.commit_exact(three, [tables.stage_overwrite(three, rows(a=1))])
    assert {each.files for each in tables.parts(after)}.isdisjoint(each.files for each in tables.parts(three))


def test_an_index_leaves_every_part_as_it_is(tables, three):
    after = tables.commit_exact(three, [tables.stage_indexes(three, [IndexSpec(column="id", kind="btree", name="i")])])
    assert tables.parts(after) == tables.parts(three)


def test_parts_cost_no_request(tables, three):
    handle = tables.open_at(three.pin)
    LanceDataset.drop(three.place.uri)
    assert len(tables.parts(handle)) == 3
    assert tables.parts(handle) is tables.parts(handle)


def test_an_empty_table_has_no_parts(tables, create):
    handle = create()
    assert tables.parts(handle) == ()
    assert addresses(tables, handle) == {}
    assert addresses(tables, handle, parts=[]) == {}


# ── reading parts and addresses ──────────────────────────────────────────────────────────────────────────────────────


def test_an_address_is_the_part_and_the_offset(tables, three):
    assert addresses(tables, three) == {"a": 0, "b": 1, "c": 2, "d": SIZE, "e": SIZE + 1, "f": 2 * SIZE}


def test_a_delete_moves_no_other_row(tables, three):
    expected = {"a": 0, "c": 2, "e": SIZE + 1, "f": 2 * SIZE}
    assert addresses(tables, delete(tables, three, "b", "d")) == expected


def test_only_the_rows_of_the_parts_asked_for_are_read(tables, three):
    assert addresses(tables, three, parts=[2, 0]) == {"a": 0, "b": 1, "c": 2, "f": 2 * SIZE}
    assert addresses(tables, three, parts=[1, 1]) == {"d": SIZE, "e": SIZE + 1}
    assert addresses(tables, three, parts=[0, 2], predicate=AT_LEAST_THREE) == {"c": 2, "f": 2 * SIZE}
    assert list(addresses(tables, three, parts=[2, 1, 0])) == ["a", "b", "c", "d", "e", "f"]
    plain = tables.read(three, parts=[1]).read_all()
    assert plain.to_pydict() == {"id": ["d", "e"], "n": [4, 5]}


def test_no_parts_are_no_rows_and_not_all(tables, three, schema):
    found = tables.read(three, parts=[]).read_all()
    assert len(found) == 0
    assert found.schema.equals(schema)


def test_addresses_alone_can_be_read(tables, three):
    three = delete(tables, three, "a", "c")
    found = tables.read(three, columns=[], parts=[0], with_address=True).read_all()
    assert found.to_pydict() == {"_rowaddr": [1]}
    everything = tables.read(three, columns=[], with_address=True).read_all()
    assert everything["_rowaddr"].to_pylist() == [1, SIZE, SIZE + 1, 2 * SIZE]


def test_an_index_gives_the_same_addresses_for_a_predicate(tables, three, rows):
    indexed = tables.commit_exact(three, [tables.stage_indexes(three, [IndexSpec(column="n", kind="btree", name="i")])])
    tailed = tables.commit_exact(indexed, [tables.stage_append(indexed, rows(g=7))])
    wanted = OneOf("n", pa.array([2, 5, 7], pa.int32()))
    assert addresses(tables, tailed, predicate=wanted) == {"b": 1, "e": SIZE + 1, "g": 3 * SIZE}
    assert addresses(tables, tailed, predicate=wanted, parts=[1, 3]) == {"e": SIZE + 1, "g": 3 * SIZE}


def test_staged_writes_are_seen_with_their_addresses(tables, three, rows):
    staged = tables.stage_append(three, rows(g=7))
    assert addresses(tables, three, staged=[staged], parts=[3]) == {"g": 3 * SIZE}


def test_a_part_that_is_not_there_is_refused(tables, three):
    with pytest.raises(InternalError, match="no part 7"):
        tables.read(three, parts=[0, 7])


@pytest.mark.parametrize("more", [{"parts": [0]}, {"with_address": True}], ids=["parts", "addresses"])
def test_an_order_by_id_is_over_the_whole_version(more, tables, three):
    with pytest.raises(InternalError, match="by id"):
        tables.read(three, order_by_id=True, **more)


@pytest.mark.parametrize("name", ["u32", "when", "many"])
def test_addresses_come_with_filters_that_lance_refuses(name, tables):
    given = pa.table(
        {
            "id": pa.array(["a", "b", "c"]),
            "many": pa.array([[1], None, []], pa.list_(pa.uint32())),
            "u32": pa.array([1, 2, None], pa.uint32()),
            "when": pa.array([5, 9, None], pa.date64()),
        }
    )
    schema = given.schema
    handle = tables.commit_create(tables.stage_create("nodes/odd", schema, given))
    handle = tables.commit_exact(handle, [tables.stage_append(handle, given)])
    predicate = AllOf((NullTest(name, False), Compared("id", ">", pa.scalar("a"))))
    expected = {"u32": {"b": SIZE + 1}, "when": {"b": SIZE + 1}, "many": {"c": SIZE + 2}}[name]
    assert addresses(tables, handle, predicate=predicate, parts=[1]) == expected
    alone = tables.read(handle, columns=[], predicate=predicate, parts=[1], with_address=True).read_all()
    assert alone["_rowaddr"].to_pylist() == list(expected.values())


# ── take ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


WAYS = {"part by part": (0, 4), "by a filter": (0, 0), "by a pass over the parts": (1_000, 4)}


def go(way: str, monkeypatch) -> None:
    share, parts = WAYS[way]
    monkeypatch.setattr(table_parts, "SCAN_SHARE", share)
    monkeypatch.setattr(table_parts, "MAX_PARTS_IN_TURN", parts)


def taken(tables, handle, *at, columns=("n", "id")) -> list[tuple]:
    found = tables.take(handle, pa.array(at, pa.uint64()), columns)
    assert found.schema.names == list(columns)
    return list(zip(*found.to_pydict().values(), strict=True))


def looked_at(tables, handle, is_known: bool):
    """A version of which the lists of deleted rows are known, or not."""
    if is_known:
        tables.deleted(handle, [each.number for each in tables.parts(handle)])
    return handle


KNOWN = pytest.mark.parametrize("is_known", [False, True], ids=["lists unknown", "lists known"])


@KNOWN
@pytest.mark.parametrize("way", WAYS)
def test_rows_are_taken_in_the_order_asked_for(way, is_known, tables, three, monkeypatch):
    go(way, monkeypatch)
    assert taken(tables, three, 2 * SIZE, 0, SIZE + 1, 0) == [(6, "f"), (1, "a"), (5, "e"), (1, "a")]
    holed = looked_at(tables, delete(tables, three, "a", "d"), is_known)
    assert taken(tables, holed, SIZE + 1, 2) == [(5, "e"), (3, "c")]
    assert taken(tables, holed, 2, 1) == [(3, "c"), (2, "b")]


@pytest.mark.parametrize("way", WAYS)
def test_rows_are_taken_from_one_whole_part(way, tables, three, monkeypatch):
    go(way, monkeypatch)
    assert taken(tables, three, 2, 0) == [(3, "c"), (1, "a")]
    assert taken(tables, three, 1) == [(2, "b")]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("at", [(3,), (0, 3), (7 * SIZE,), (SIZE + 2, 0)], ids=str)
def test_an_address_without_a_row_is_refused(at, way, tables, three, monkeypatch):
    go(way, monkeypatch)
    with pytest.raises(InternalError):
        taken(tables, three, *at)


@KNOWN
@pytest.mark.parametrize("way", WAYS)
def test_a_deleted_row_cannot_be_taken(way, is_known, tables, three, monkeypatch):
    go(way, monkeypatch)
    holed = looked_at(tables, delete(tables, three, "b"), is_known)
    with pytest.raises(InternalError, match="1 of 2 addresses"):
        taken(tables, holed, 0, 1)


def test_taking_nothing_asks_nothing(tables, three):
    handle = tables.open_at(three.pin)
    LanceDataset.drop(three.place.uri)
    assert tables.take(handle, pa.array([], pa.uint64()), ["id"]).to_pydict() == {"id": []}


@KNOWN
@pytest.mark.parametrize("way", WAYS)
def test_many_rows_are_the_rows_of_their_addresses(way, is_known, tables, create, schema, monkeypatch):
    go(way, monkeypatch)
    count = 9_000
    given = pa.table(
        [pa.array([f"k{each}" for each in range(count)]), pa.array(range(count), pa.int32())], schema=schema
    )
    handle = create(given)
    handle = tables.commit_exact(handle, [tables.stage_append(handle, given.slice(0, 100))])
    gone = pa.array(range(3, count, 10), pa.int32())
    handle = tables.commit_exact(handle, [tables.stage_delete(handle, OneOf("n", pa.array(gone, pa.int32())))])
    looked_at(tables, handle, is_known)
    live = np.array([each for each in range(count) if each % 10 != 3], np.uint64)
    asked = np.random.default_rng(5).permutation(live)[:5_000]
    assert tables.take(handle, pa.array(asked), ["n"])["n"].to_pylist() == asked.tolist()


def test_blobs_are_taken_as_bytes(tables):
    given = pa.table([pa.array(["a", "b", "c"]), pa.array([b"x", None, b""], pa.large_binary())], schema=BLOBS)
    handle = tables.commit_create(tables.stage_create("nodes/blob", BLOBS, given))
    assert taken(tables, handle, 2, 0, 1, columns=("data", "id")) == [(b"", "c"), (b"x", "a"), (None, "b")]
    found = tables.read(handle, parts=[0], with_address=True).read_all()
    assert found.to_pydict() == {"id": ["a", "b", "c"], "data": [b"x", None, b""], "_rowaddr": [0, 1, 2]}
