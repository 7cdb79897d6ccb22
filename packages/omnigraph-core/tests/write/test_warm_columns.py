"""``WarmColumns``: what is kept is what a read would give, within bounds, and never stale."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from publish_world import PERSON, appending, intent, new_adapter, new_graph, plan, write

from omnigraph.history.warm import WarmColumns
from omnigraph.tables.counting import count_table_calls
from omnigraph.tables.interface import SnapshotHandle, TablePin
from omnigraph.tables.lance_tables import LanceTables
from omnigraph.write.committed import CommittedRows
from omnigraph.write.deadlines import Deadline
from omnigraph.write.publish import publish

SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("n", pa.int32()), pa.field("t", pa.string())])


def table(values: dict[str, int | None]) -> pa.Table:
    texts = [None if each is None else f"text {each}" for each in values.values()]
    return pa.table([list(values), list(values.values()), texts], schema=SCHEMA)


def created(values: dict[str, int | None]) -> tuple[LanceTables, SnapshotHandle]:
    tables = LanceTables(new_adapter())
    made = tables.commit_create(tables.stage_create("nodes/x", SCHEMA, table(values)))
    return tables, tables.open_at(made.pin)


def contents(rows: pa.Table | None) -> list[tuple]:
    assert rows is not None
    return sorted(map(tuple, (each.values() for each in rows.to_pylist())), key=repr)


def fresh(tables: LanceTables, handle: SnapshotHandle, columns: Sequence[str]) -> list[tuple]:
    return contents(tables.read(handle, columns=list(columns)).read_all())


def test_columns_are_read_once_and_given_in_the_order_asked_for():
    tables, handle = created({"a": 1, "b": None})
    warm = WarmColumns()
    with count_table_calls() as counts:
        first = warm.columns(tables, handle, ["n", "id"], row_count=2)
        again = warm.columns(tables, handle, ["id"], row_count=2)
    assert counts == {"read": 1}
    assert first.column_names == ["n", "id"]
    assert contents(first) == fresh(tables, handle, ["n", "id"])
    assert again.column_names == ["id"]


def test_a_column_that_is_missing_is_read_together_with_the_others():
    tables, handle = created({"a": 1, "b": 2})
    warm = WarmColumns()
    warm.columns(tables, handle, ["id"], row_count=2)
    with count_table_calls() as counts:
        both = warm.columns(tables, handle, ["id", "t"], row_count=2)
        warm.columns(tables, handle, ["t", "id"], row_count=2)
    assert counts == {"read": 1}
    assert contents(both) == fresh(tables, handle, ["id", "t"])


STEPS = st.lists(
    st.tuples(st.sampled_from(["append", "upsert", "read"]), st.sets(st.integers(0, 20), max_size=6)), max_size=10
)


@settings(max_examples=20)
@given(STEPS, st.sampled_from([["id"], ["id", "n"], ["id", "n", "t"], ["n"]]))
def test_what_is_carried_over_is_what_a_read_would_give(steps, columns):
    tables, handle = created({"0": 0})
    warm, ids, value = WarmColumns(), {"0"}, 0
    warm.columns(tables, handle, columns, row_count=1)
    for what, numbers in steps:
        names = {str(each) for each in numbers} if what == "upsert" else {str(each) for each in numbers} - ids
        value += 1
        if what == "read" or not names:
            assert contents(warm.columns(tables, handle, columns, row_count=len(ids))) == fresh(tables, handle, columns)
            continue
        rows = table(dict.fromkeys(sorted(names), value))
        stage = tables.stage_append if what == "append" else tables.stage_upsert
        after = tables.commit_exact(handle, [stage(handle, rows)])
        warm.carry_over(handle.pin, after.pin, rows, replaces=what == "upsert")
        handle, ids = after, ids | names
        with count_table_calls() as counts:
            kept = warm.columns(tables, handle, columns, row_count=len(ids))
        # Without ids nobody can tell which rows an upsert replaced.
        is_known = what == "append" or "id" in columns
        assert counts == ({} if is_known else {"read": 1})
        assert contents(kept) == fresh(tables, handle, columns)


def test_rows_that_were_replaced_are_gone():
    tables, handle = created({"a": 1, "b": 2})
    warm = WarmColumns()
    warm.columns(tables, handle, ["id", "n"], row_count=2)
    new = TablePin(location="nodes/x", branch=None, version=9)
    warm.carry_over(handle.pin, new, table({"b": 5, "c": 6}), replaces=True)
    assert contents(warm._held(new)) == [("a", 1), ("b", 5), ("c", 6)]
    assert warm._held(handle.pin) is None


@pytest.mark.parametrize("added", [None, table({})])
def test_without_the_rows_nothing_is_carried_over_and_no_rows_change_nothing(added):
    tables, handle = created({"a": 1})
    warm = WarmColumns()
    warm.columns(tables, handle, ["id"], row_count=1)
    new = TablePin(location="nodes/x", branch=None, version=9)
    warm.carry_over(handle.pin, new, added, replaces=True)
    held = warm._held(new)
    assert held is None if added is None else contents(held) == [("a",)]


def test_what_was_never_kept_is_not_carried_over():
    warm = WarmColumns()
    pins = [TablePin(location="nodes/x", branch=None, version=each) for each in (1, 2)]
    warm.carry_over(pins[0], pins[1], table({"a": 1}), replaces=False)
    assert warm._held(pins[1]) is None


def test_many_small_commits_are_kept_in_few_pieces():
    tables, handle = created({"a": 1})
    warm = WarmColumns()
    warm.columns(tables, handle, ["id"], row_count=1)
    pin = handle.pin
    for version in range(2, 300):
        new = TablePin(location="nodes/x", branch=None, version=version)
        warm.carry_over(pin, new, table({str(version): 1}), replaces=False)
        pin = new
    held = warm._held(pin)
    assert held.num_rows == 299
    assert held.column(0).num_chunks <= 65


# ── bounds ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_table_with_too_many_rows_is_not_read():
    tables, handle = created({"a": 1, "b": 2})
    warm = WarmColumns(max_rows=1)
    with count_table_calls() as counts:
        assert warm.columns(tables, handle, ["id"], row_count=2) is None
    assert counts == {}


def test_columns_that_are_too_large_are_given_up_while_they_are_read_and_not_read_again():
    tables, handle = created({str(number): number for number in range(20_000)})
    warm = WarmColumns(max_bytes=150_000)
    with count_table_calls() as counts:
        assert warm.columns(tables, handle, ["id", "t"], row_count=20_000) is None
        assert warm.columns(tables, handle, ["t", "id"], row_count=20_000) is None
    assert counts == {"read": 1}
    # Others of the same version may still fit.
    assert warm.columns(tables, handle, ["n"], row_count=20_000) is not None
    assert warm.columns(tables, handle, ["id", "t"], row_count=20_000) is None
    assert warm.columns(tables, handle, ["n"], row_count=20_000) is not None


def test_columns_that_do_not_fit_beside_those_that_are_kept_are_kept_in_their_place():
    tables, handle = created({str(number): number for number in range(10_000)})
    texts = tables.read(handle, columns=["t"]).read_all().nbytes
    warm = WarmColumns(max_bytes=texts + 1_000)
    assert warm.columns(tables, handle, ["n"], row_count=10_000) is not None
    assert warm.columns(tables, handle, ["t"], row_count=10_000) is not None
    with count_table_calls() as counts:
        warm.columns(tables, handle, ["t"], row_count=10_000)
    assert counts == {}


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 400)), max_size=30))
def test_all_that_is_kept_stays_within_the_bounds_and_the_least_used_goes_first(steps):
    warm = WarmColumns(max_bytes=4_000, max_rows=300)
    used: list[int] = []
    for number, rows in steps:
        pin = TablePin(location=f"nodes/{number}", branch=None, version=1)
        warm._keep(pin, table({f"{row:04}": row for row in range(rows)}))
        if warm._held(pin) is not None:
            used = [*(each for each in used if each != number), number]
        sizes = [size for _, size in warm._kept.values()]
        assert warm._bytes == sum(sizes) <= 4_000
        assert all(kept.nbytes == size and kept.num_rows <= 300 for kept, size in warm._kept.values())
        kept = [int(each.location.partition("/")[2]) for each in warm._kept]
        # What went is what was used longest ago.
        assert kept == used[len(used) - len(kept) :]
        used = kept


def test_threads_can_share_it():
    tables, handle = created({str(number): number for number in range(100)})
    warm = WarmColumns(max_bytes=20_000)
    expected = {name: fresh(tables, handle, [name]) for name in ("id", "n", "t")}
    met = threading.Barrier(6)

    def read(number: int) -> None:
        met.wait()
        for turn in range(30):
            name = ("id", "n", "t")[(number + turn) % 3]
            assert contents(warm.columns(tables, handle, [name], row_count=100)) == expected[name]

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(read, range(6)))
    assert warm._bytes == sum(size for _, size in warm._kept.values())


# ── committed rows ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_write_after_a_write_looks_ids_up_without_a_request():
    repository = new_graph()
    write(repository, {PERSON: appending("ann")})
    log = repository.newest()
    person = repository.snapshot(log).schema.node("Person")
    first = CommittedRows(repository.snapshot(log), repository.tables, repository.warm)
    assert first.lookup(person, pa.array(["ann", "bob"]), columns=["id"])["id"].to_pylist() == ["ann"]
    started = plan(repository, log, {PERSON: appending("bob")}, of=intent())
    published = publish(repository, started, Deadline())
    entry = published.log.state.entries[PERSON]
    repository.warm.carry_over(log.state.entries[PERSON].pin, entry.pin, pa.table({"id": ["bob"]}), replaces=False)
    again = CommittedRows(repository.snapshot(published.log), repository.tables, repository.warm)
    with count_table_calls() as counts:
        found = again.lookup(person, pa.array(["bob", "cem"]), columns=["id"])
    assert counts == {}
    assert found["id"].to_pylist() == ["bob"]
