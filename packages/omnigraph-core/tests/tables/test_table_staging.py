"""Every staged write: it moves nothing, it can be read before it is committed, and its commit holds exactly it."""

from __future__ import annotations

import dataclasses

import pyarrow as pa
import pytest

from omnigraph.errors import InternalError, ReadOnlyError, StorageCondition, StorageError
from omnigraph.tables.interface import IndexSpec, SnapshotHandle, TablePin
from omnigraph.tables.lance_tables import LanceTables
from omnigraph.tables.opening import open_dataset, place_of
from omnigraph.tables.row_filters import Compared, OneOf

STAGINGS = {
    "append": (lambda tables, base, rows: tables.stage_append(base, rows(z=9)), {"a": 1, "b": 2, "c": 3, "z": 9}),
    "upsert": (lambda tables, base, rows: tables.stage_upsert(base, rows(b=7, z=9)), {"a": 1, "b": 7, "c": 3, "z": 9}),
    "overwrite": (lambda tables, base, rows: tables.stage_overwrite(base, rows(z=9)), {"z": 9}),
    "overwrite with nothing": (lambda tables, base, rows: tables.stage_overwrite(base, rows()), {}),
    "delete": (lambda tables, base, rows: tables.stage_delete(base, Compared("n", ">=", pa.scalar(2))), {"a": 1}),
    "delete everything": (lambda tables, base, rows: tables.stage_delete(base, Compared("n", ">=", pa.scalar(0))), {}),
    "delete keys": (
        lambda tables, base, rows: tables.stage_delete_keys(base, pa.array(["c", "a", "x"])),
        {"b": 2},
    ),
    "index": (
        lambda tables, base, rows: tables.stage_indexes(base, [IndexSpec(column="id", kind="btree", name="id_btree")]),
        {"a": 1, "b": 2, "c": 3},
    ),
}


def newest_version(tables: LanceTables, location: str = "nodes/person") -> int:
    return open_dataset(place_of(tables._adapter, location, None), version=None, session=None).version


@pytest.mark.parametrize("name", STAGINGS)
def test_a_staged_write_is_seen_by_who_asks_for_it_and_by_nobody_else_until_its_commit(
    name: str, tables, create, rows, contents
):
    stage, expected = STAGINGS[name]
    base = create(rows(a=1, b=2, c=3))
    staged = stage(tables, base, rows)
    assert newest_version(tables) == base.pin.version
    assert contents(base) == {"a": 1, "b": 2, "c": 3}
    assert contents(base, [staged]) == expected
    assert tables.count_rows(base, staged=[staged]) == len(expected)
    assert newest_version(tables) == base.pin.version
    after = tables.commit_exact(base, [staged])
    assert after.pin == dataclasses.replace(base.pin, version=base.pin.version + 1)
    assert contents(after) == expected
    assert contents(base) == {"a": 1, "b": 2, "c": 3}
    assert tables.table_state(after).row_count == len(expected)
    assert after.dataset.has_stable_row_ids


@pytest.mark.parametrize("name", [*STAGINGS, "replace", "delete at", "indexes"])
@pytest.mark.parametrize("is_worn", [False, True], ids=["new", "worn"])
def test_what_a_staged_write_makes_is_known_before_its_commit(name: str, is_worn: bool, tables, create, rows):
    others = {
        "replace": lambda: tables.stage_replace(base, rows(b=7, z=9), address(tables, base, "b")),
        "delete at": lambda: tables.stage_delete_at(base, address(tables, base, "b")),
        "indexes": lambda: tables.stage_indexes(base, [IndexSpec(column="id", kind="btree", name="by_id")]),
    }
    base = create(rows(a=1, b=2, c=3))
    if is_worn:
        base = tables.commit_exact(base, [tables.stage_append(base, rows(d=4, e=5))])
        base = tables.commit_exact(base, [tables.stage_delete_keys(base, pa.array(["c", "d"]))])
    staged = others[name]() if name in others else STAGINGS[name][0](tables, base, rows)
    expected = tables.expected(base, [staged])
    made = tables.commit_exact(base, [staged])
    assert (expected.pin, expected.state) == (made.pin, tables.table_state(made))


def test_of_several_steps_nothing_is_expected(tables, create, rows):
    base = create(rows(a=1, b=2))
    steps = [tables.stage_upsert(base, rows(b=3)), tables.stage_delete_keys(base, pa.array(["a"]))]
    assert tables.expected(base, steps) is None


def address(tables: LanceTables, base: SnapshotHandle, name: str) -> pa.Array:
    return tables.lookup(base, pa.array([name]), columns=["id"], with_address=True)["_rowaddr"].combine_chunks()


@pytest.mark.parametrize("name", STAGINGS)
def test_a_version_tells_the_transaction_id_that_was_planned(name: str, tables, create, rows):
    base = create(rows(a=1, b=2, c=3))
    staged = STAGINGS[name][0](tables, base, rows)
    planned = staged.transaction_id
    after = tables.commit_exact(base, [staged])
    assert after.dataset.read_transaction(after.pin.version).uuid == planned


def test_each_staged_write_has_an_id_of_its_own(tables, create, rows):
    base = create()
    ids = {tables.stage_append(base, rows(a=1)).transaction_id for _ in range(5)}
    assert len(ids) == 5


# ── create ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("first", [{}, {"a": 1}])
def test_a_staged_create_is_no_table_until_its_commit(first, tables, rows, schema):
    staged = tables.stage_create("nodes/person", schema, rows(**first) if first else None)
    with pytest.raises(StorageError) as caught:
        tables.open_at(TablePin(location="nodes/person", branch=None, version=1))
    assert caught.value.condition is StorageCondition.NOT_FOUND
    made = tables.commit_create(staged)
    assert made.pin == TablePin(location="nodes/person", branch=None, version=1)
    assert tables.read(made).read_all().to_pydict()["id"] == list(first)
    assert made.dataset.read_transaction(1).uuid == staged.transaction_id


def test_a_created_table_has_what_every_table_must_have(tables, create):
    made = create()
    assert made.dataset.has_stable_row_ids
    assert made.dataset.data_storage_version == "2.2"
    assert made.dataset.config() == {}


def test_the_second_creator_loses_and_the_first_one_s_table_is_untouched(tables, create, rows, schema, contents):
    late = tables.stage_create("nodes/person", schema, rows(z=9))
    winner = create(rows(a=1))
    with pytest.raises(StorageError) as caught:
        tables.commit_create(late)
    assert caught.value.condition is StorageCondition.PRECONDITION
    assert contents(winner) == {"a": 1}
    assert newest_version(tables) == 1


def test_a_table_that_is_there_is_not_created_again(tables, create, rows, schema, contents):
    handle = create(rows(a=1))
    for first in (rows(z=9), None):
        with pytest.raises(StorageError) as caught:
            tables.commit_create(tables.stage_create("nodes/person", schema, first))
        assert caught.value.condition is StorageCondition.PRECONDITION
    assert contents(handle) == {"a": 1}
    assert newest_version(tables) == 1


def test_a_creator_loses_against_a_table_that_grew_meanwhile(tables, create, rows, schema, contents):
    late = tables.stage_create("nodes/person", schema)
    first = create(rows(a=1))
    second = tables.commit_exact(first, [tables.stage_append(first, rows(b=2))])
    with pytest.raises(StorageError) as caught:
        tables.commit_create(late)
    assert caught.value.condition is StorageCondition.PRECONDITION
    assert contents(second) == {"a": 1, "b": 2}
    assert newest_version(tables) == 2


# ── upsert ────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_upsert_of_new_keys_alone_is_an_append(tables, create, rows, contents):
    base = create(rows(a=1))
    staged = tables.stage_upsert(base, rows(b=2, c=3))
    assert staged.kind == "append"
    assert contents(tables.commit_exact(base, [staged])) == {"a": 1, "b": 2, "c": 3}


def test_an_upsert_takes_a_stream(tables, create, rows, contents):
    base = create(rows(a=1, b=2))
    staged = tables.stage_upsert(base, rows(b=7, c=3).to_reader())
    assert contents(tables.commit_exact(base, [staged])) == {"a": 1, "b": 7, "c": 3}


def test_an_upsert_keeps_the_row_ids_of_what_it_replaces(tables, create, rows):
    base = create(rows(a=1, b=2))
    after = tables.commit_exact(base, [tables.stage_upsert(base, rows(b=7))])
    ids = [
        dict(zip(found["id"].to_pylist(), found["_rowid"].to_pylist(), strict=True))
        for found in (each.dataset.to_table(columns=["id"], with_row_id=True) for each in (base, after))
    ]
    assert ids[0] == ids[1]


@pytest.mark.parametrize("keys", [["a", "a"], ["a", None]])
def test_keys_that_are_null_or_come_twice_are_refused(keys, tables, create):
    base = create()
    # A table of pyarrow takes a null where its schema forbids one.
    bad = pa.table({"id": pa.array(keys, pa.string()), "n": pa.array([1, 2], pa.int32())}, schema=None)
    with pytest.raises(InternalError, match="null or repeated"):
        tables.stage_upsert(base, bad)


# ── delete ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_delete_that_matches_nothing_is_no_write(tables, create, rows):
    base = create(rows(a=1))
    assert tables.stage_delete(base, Compared("n", "=", pa.scalar(5))) is None
    assert tables.stage_delete_keys(base, pa.array(["x"])) is None
    assert tables.stage_delete_keys(base, pa.array([], pa.string())) is None


def test_a_delete_reaches_every_fragment(tables, create, rows, contents):
    handle = create(rows(a=1, b=2))
    for name in ("c", "d"):
        handle = tables.commit_exact(handle, [tables.stage_append(handle, rows(**{name: 5}))])
    staged = tables.stage_delete(handle, OneOf("id", pa.array(["b", "c"])))
    assert contents(tables.commit_exact(handle, [staged])) == {"a": 1, "d": 5}


def test_a_delete_of_more_keys_than_a_predicate_holds(tables, create, contents, schema, monkeypatch):
    from omnigraph.tables import reading

    monkeypatch.setattr(reading, "MAX_KEYS_IN_PREDICATE", 3)
    names = [f"k{each}" for each in range(20)]
    base = create(pa.table([pa.array(names), pa.array(range(20), pa.int32())], schema=schema))
    staged = tables.stage_delete_keys(base, pa.array([*names[5:], "unknown"]))
    assert set(contents(tables.commit_exact(base, [staged]))) == set(names[:5])


def test_a_delete_in_a_table_with_deleted_rows_keeps_them_deleted(tables, create, rows, contents):
    base = create(rows(a=1, b=2, c=3))
    first = tables.commit_exact(base, [tables.stage_delete_keys(base, pa.array(["a"]))])
    second = tables.commit_exact(first, [tables.stage_delete_keys(first, pa.array(["c"]))])
    assert contents(second) == {"b": 2}
    assert tables.stage_delete_keys(second, pa.array(["a", "c"])) is None


# ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_rows_of_other_columns_are_refused(tables, create):
    base = create()
    for other in ({"id": ["a"], "m": pa.array([1], pa.int32())}, {"id": ["a"], "n": [1]}, {"id": ["a"]}):
        with pytest.raises(InternalError, match=r"\['id: string', 'n: int32'\] are needed"):
            tables.stage_append(base, pa.table(other))


def test_rows_without_a_value_that_the_schema_requires_are_refused(tables, create):
    base = create()
    bad = pa.table({"id": pa.array(["a", None]), "n": pa.array([1, 2], pa.int32())})
    with pytest.raises(InternalError, match="no value for 'id'"):
        tables.stage_append(base, bad)
    with pytest.raises(InternalError, match="no value for 'id'"):
        tables.write_rows(base.pin, bad.to_reader(), schema=tables.schema(base))


@pytest.mark.parametrize("way", ["write_rows", "stage_upsert"])
def test_what_the_source_of_the_rows_raises_reaches_who_gave_it(way, tables, create, rows, schema):
    base = create(rows(a=1))
    mine = ZeroDivisionError("in the middle of the stream")

    def broken():
        yield rows(b=2).to_batches()[0]
        raise mine

    source = pa.RecordBatchReader.from_batches(schema, broken())
    write = {
        "write_rows": lambda: tables.write_rows(base.pin, source, schema=schema),
        "stage_upsert": lambda: tables.stage_upsert(base, source),
    }[way]
    with pytest.raises(ZeroDivisionError) as caught:
        write()
    assert caught.value is mine
    assert newest_version(tables) == base.pin.version


def test_a_root_opened_for_reading_takes_no_write(adapter, tables, create, rows, schema):
    base = create(rows(a=1))
    adapter.is_read_only = True
    calls = {
        "write_rows": lambda: tables.write_rows(base.pin, rows(b=2), schema=schema),
        "stage_create": lambda: tables.stage_create("nodes/x", schema),
        "stage_append": lambda: tables.stage_append(base, rows(b=2)),
        "stage_upsert": lambda: tables.stage_upsert(base, rows(b=2)),
        "stage_overwrite": lambda: tables.stage_overwrite(base, rows(b=2)),
        "stage_delete": lambda: tables.stage_delete(base, Compared("n", "=", pa.scalar(1))),
        "stage_delete_keys": lambda: tables.stage_delete_keys(base, pa.array(["a"])),
        "stage_indexes": lambda: tables.stage_indexes(base, []),
        "fork": lambda: tables.fork(base, "b1"),
    }
    for call in calls.values():
        with pytest.raises(ReadOnlyError):
            call()
    assert tables.count_rows(base) == 1
