"""Reading one version: columns, predicates, look-ups, order, the handle cache, forks."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from lance import LanceDataset

from omnigraph.errors import InternalError, StorageCondition, StorageError
from omnigraph.tables import reading
from omnigraph.tables.counting import count_table_calls
from omnigraph.tables.interface import TablePin
from omnigraph.tables.lance_tables import LanceTables
from omnigraph.tables.row_filters import AllOf, Compared


def test_columns_come_in_the_order_asked_for(tables, create, rows):
    found = tables.read(create(rows(a=1)), columns=["n", "id"]).read_all()
    assert found.to_pydict() == {"n": [1], "id": ["a"]}


def test_the_schema_is_the_one_that_was_given(tables, create, schema):
    assert tables.schema(create()).equals(schema, check_metadata=True)


def test_an_empty_table_reads_as_no_rows_of_its_schema(tables, create, schema):
    found = tables.read(create()).read_all()
    assert found.schema.equals(schema)
    assert len(found) == 0


def test_a_predicate_narrows_reads_and_counts_alike(tables, create, rows):
    handle = create(rows(a=1, b=2, c=3))
    wanted = AllOf((Compared("n", ">=", pa.scalar(2)), Compared("id", "!=", pa.scalar("c"))))
    assert tables.read(handle, predicate=wanted).read_all()["id"].to_pylist() == ["b"]
    assert tables.count_rows(handle, predicate=wanted) == 1
    assert tables.count_rows(handle) == 3


def test_values_in_predicates_are_values_and_never_syntax(tables, create, rows):
    nasty = "x' OR '1'='1"
    handle = create(rows(**{"a": 1, nasty: 2}))
    assert tables.read(handle, predicate=Compared("id", "=", pa.scalar(nasty))).read_all()["n"].to_pylist() == [2]
    assert tables.lookup(handle, pa.array([nasty]))["n"].to_pylist() == [2]


@pytest.mark.parametrize("limit", [10_000, 2], ids=["by predicate", "by a pass over the keys"])
def test_a_look_up_finds_the_keys_that_are_there(limit, tables, create, rows, monkeypatch):
    monkeypatch.setattr(reading, "MAX_KEYS_IN_PREDICATE", limit)
    handle = create(rows(a=1, b=2, c=3, d=4))
    found = tables.lookup(handle, pa.array(["c", "x", "a", "y"]))
    assert sorted(zip(*found.to_pydict().values(), strict=True)) == [("a", 1), ("c", 3)]
    values = tables.lookup(handle, pa.array(["d", "x", "b"]), columns=["n"])
    assert values.schema.names == ["n"]
    assert sorted(values["n"].to_pylist()) == [2, 4]
    assert tables.lookup(handle, pa.array([1, 2, 9], pa.int32()), key="n", columns=["id"])["id"].to_pylist() == [
        "a",
        "b",
    ]


def test_a_look_up_of_nothing_asks_nothing(tables, create, rows):
    handle = create(rows(a=1))
    # With its files gone, whoever asks Lance fails.
    LanceDataset.drop(handle.place.uri)
    found = tables.lookup(handle, pa.array([], pa.string()), columns=["id"])
    assert found.schema.names == ["id"]
    assert len(found) == 0


@pytest.mark.parametrize("limit", [200_000, 7], ids=["at once", "in ranges"])
def test_rows_by_id_come_in_byte_order(limit, tables, create, schema, monkeypatch):
    monkeypatch.setattr("omnigraph.tables.ordering.MAX_ROWS_AT_ONCE", limit)
    ids = ["", "Z", "a", "a b", "aa", "é", "z", "€", "\U0001f600", "￿", "10", "9", "~", "\x01"]
    ids += [f"n{each}" for each in range(60)]
    shuffled = random.Random(4).sample(ids, len(ids))
    handle = create()
    for part in (shuffled[:20], shuffled[20:]):
        staged = tables.stage_append(handle, pa.table([pa.array(part), pa.nulls(len(part), pa.int32())], schema=schema))
        handle = tables.commit_exact(handle, [staged])
    found = tables.read(handle, order_by_id=True).read_all()
    assert found["id"].to_pylist() == sorted(ids, key=str.encode)
    after = Compared("id", ">", pa.scalar("n"))
    some = tables.read(handle, columns=["n"], predicate=after, order_by_id=True).read_all()
    assert len(some) == len([each for each in ids if each.encode() > b"n"])
    assert some.schema.names == ["n"]


def test_an_open_asks_lance_once_per_pin(tables, create, rows):
    handle = create(rows(a=1))
    with count_table_calls() as counts:
        first = tables.open_at(handle.pin)
        second = tables.open_at(handle.pin)
    assert first is second
    assert counts == {"open": 1}


def test_a_committed_version_needs_no_open(tables, create, rows):
    base = create(rows(a=1))
    after = tables.commit_exact(base, [tables.stage_append(base, rows(b=2))])
    with count_table_calls() as counts:
        assert tables.open_at(after.pin) is after
    assert counts == {}


def test_the_least_recently_used_handle_leaves_the_cache(adapter, create, rows):
    pins = [create(rows(a=1), location=f"nodes/t{each}").pin for each in range(3)]
    small = LanceTables(adapter, handle_cache=2)
    first, _ = small.open_at(pins[0]), small.open_at(pins[1])
    assert small.open_at(pins[0]) is first
    small.open_at(pins[2])
    with count_table_calls() as counts:
        assert small.open_at(pins[0]) is first
        small.open_at(pins[1])
    assert counts == {"open": 1}


@pytest.mark.parametrize(
    "pin",
    [
        TablePin(location="nodes/person", branch=None, version=7),
        TablePin(location="nodes/person", branch="b1", version=1),
        TablePin(location="nodes/other", branch=None, version=1),
    ],
)
def test_a_version_that_is_not_there_is_not_found(pin, tables, create):
    create()
    with pytest.raises(StorageError) as caught:
        tables.open_at(pin)
    assert caught.value.condition is StorageCondition.NOT_FOUND
    assert caught.value.help


def test_the_newest_version_of_a_line_is_known_without_moving_the_handle(tables, create, rows, contents):
    first = create(rows(a=1))
    second = tables.commit_exact(first, [tables.stage_append(first, rows(b=2))])
    forked = tables.fork(first, "b1")
    assert tables.newest(first.pin).version == tables.newest(second.pin).version == second.pin.version
    assert tables.newest(forked.pin).version == forked.pin.version
    assert contents(first) == {"a": 1}


def test_a_stranger_s_handle_is_refused(tables):
    with pytest.raises(InternalError, match="not a handle"):
        tables.count_rows("nodes/person")
    with pytest.raises(InternalError, match="not a staged write"):
        tables.sync_staged(["x"])


# ── branches ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_fork_is_a_line_of_its_own(tables, create, rows, contents):
    base = create(rows(a=1))
    fork = tables.fork(base, "b1")
    assert fork.pin == TablePin(location="nodes/person", branch="b1", version=base.pin.version)
    assert contents(fork) == {"a": 1}
    on_branch = tables.commit_exact(fork, [tables.stage_append(fork, rows(b=2))])
    on_main = tables.commit_exact(base, [tables.stage_append(base, rows(m=5))])
    assert contents(on_branch) == {"a": 1, "b": 2}
    assert contents(on_main) == {"a": 1, "m": 5}
    fresh = LanceTables(tables._adapter)
    assert fresh.count_rows(fresh.open_at(on_branch.pin)) == 2


def test_a_fork_of_a_fork_lies_beside_it(tables, create, rows, contents):
    base = create(rows(a=1))
    first = tables.fork(base, "b1")
    first = tables.commit_exact(first, [tables.stage_upsert(first, rows(a=2, b=3))])
    second = tables.fork(first, "b2")
    second = tables.commit_exact(second, [tables.stage_delete_keys(second, pa.array(["b"]))])
    assert contents(second) == {"a": 2}
    assert contents(first) == {"a": 2, "b": 3}
    fresh = LanceTables(tables._adapter)
    assert fresh.count_rows(fresh.open_at(TablePin(location="nodes/person", branch="b2", version=3))) == 1


def test_the_name_of_a_fork_is_used_once(tables, create, rows, contents):
    base = create(rows(a=1))
    fork = tables.fork(base, "b1")
    with pytest.raises(StorageError) as caught:
        tables.fork(base, "b1")
    assert caught.value.condition is StorageCondition.PRECONDITION
    assert contents(fork) == {"a": 1}


def test_a_fork_starts_at_the_pinned_version_and_not_at_the_newest(tables, create, rows, contents):
    base = create(rows(a=1))
    tables.commit_exact(base, [tables.stage_append(base, rows(b=2))])
    assert contents(tables.fork(base, "b1")) == {"a": 1}


def test_what_another_writer_left_on_a_branch_does_not_leak_in(tables, create, rows, contents):
    fork = tables.fork(create(rows(a=1)), "b1")
    staged = tables.stage_append(fork, rows(b=2))
    tables.commit_exact(fork, [tables.stage_append(fork, rows(foreign=66))])
    assert contents(tables.commit_exact(fork, [staged])) == {"a": 1, "b": 2}


# ── drop ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_dropped_table_is_gone_and_its_place_can_be_used_again(tables, create, rows, contents):
    handle = create(rows(a=1))
    tables.open_at(handle.pin)
    tables.drop("nodes/person")
    with pytest.raises(StorageError):
        tables.open_at(handle.pin)
    again = create(rows(z=9))
    assert contents(tables.open_at(again.pin)) == {"z": 9}


def test_dropping_a_table_that_is_not_there_is_success(tables):
    tables.drop("nodes/person")
