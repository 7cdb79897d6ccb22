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

from omnigraph.history.warm import KnownStep, WarmColumns, _Kept
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


STEP = st.tuples(
    st.sampled_from(["append", "replace", "delete", "merge", "read"]), st.sets(st.integers(0, 20), max_size=6)
)
STEPS = st.lists(STEP, max_size=10)


@settings(max_examples=30)
@given(STEPS, st.sampled_from([["id"], ["id", "n"], ["id", "n", "t"], ["n"]]), st.booleans())
def test_what_is_followed_is_what_a_read_would_give(steps, columns, is_own):
    """Rows that this process wrote cost nothing; what another one wrote is read, and no more than that."""
    tables, handle = created({str(each): each for each in range(10)})
    wanted = [*columns, "_rowaddr"]
    warm, ids = WarmColumns(), {str(each) for each in range(10)}
    warm.columns(tables, handle, wanted, row_count=len(ids))
    for value, (what, numbers) in enumerate(steps, 1):
        names = {str(each) for each in numbers}
        names = {"append": names - ids, "merge": names, "read": set()}.get(what, names & ids)
        if names:
            before = handle
            staged, step = stage(tables, handle, what, sorted(names), value)
            handle = tables.commit_exact(handle, [staged])
            ids = ids - names if what == "delete" else ids | names
            if is_own and step is not None:
                warm.follow(tables, before.pin, handle, step)
            with count_table_calls() as counts:
                warm.columns(tables, handle, wanted, row_count=len(ids))
            if is_own and step is not None:
                assert counts == {}
        assert contents(warm.columns(tables, handle, wanted, row_count=len(ids))) == with_addresses(
            tables, handle, columns
        )


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 2), st.booleans(), STEP), max_size=10))
def test_what_is_known_of_one_line_of_a_table_serves_the_others_and_is_never_mistaken(steps):
    """Each line begins as another one is; both have the same parts, and then each deletes and adds of its own."""
    tables, handle = created({str(each): each for each in range(10)})
    columns = ["id", "n"]
    wanted = [*columns, "_rowaddr"]
    warm = WarmColumns()
    lines = {0: (handle, {str(each) for each in range(10)})}
    for value, (line, is_own, (what, numbers)) in enumerate(steps, 1):
        if line not in lines:
            parent, known = lines[line - 1] if line - 1 in lines else lines[0]
            lines[line] = tables.fork(parent, f"line{line}"), known
            assert tables.parts(lines[line][0]) == tables.parts(parent)
        base, ids = lines[line]
        warm.columns(tables, base, wanted, row_count=len(ids))
        names = {str(each) for each in numbers}
        names = {"append": names - ids, "merge": names, "read": set()}.get(what, names & ids)
        if names:
            staged, step = stage(tables, base, what, sorted(names), value)
            made = tables.commit_exact(base, [staged])
            lines[line] = made, ids - names if what == "delete" else ids | names
            if is_own and step is not None:
                warm.follow(tables, base.pin, made, step)
        for found, there in lines.values():
            rows = warm.columns(tables, found, wanted, row_count=len(there))
            assert contents(rows) == with_addresses(tables, found, columns)


def test_the_first_write_to_a_line_of_its_own_leaves_what_is_known_of_the_parent():
    tables, parent = created({"a": 1, "b": 2})
    warm = WarmColumns()
    warm.columns(tables, parent, ["id"], row_count=2)
    fork = tables.fork(parent, "line")
    rows = table({"c": 3})
    made = tables.commit_exact(fork, [tables.stage_append(fork, rows)])
    with count_table_calls() as counts:
        warm.follow(tables, parent.pin, made, KnownStep(added=rows, removed=pa.array([], pa.uint64())))
        on_fork = warm.columns(tables, made, ["id"], row_count=3)
        on_parent = warm.columns(tables, parent, ["id"], row_count=2)
    assert counts == {}
    assert (contents(on_fork), contents(on_parent)) == ([("a",), ("b",), ("c",)], [("a",), ("b",)])


def stage(tables: LanceTables, handle: SnapshotHandle, what: str, names: list[str], value: int):
    """A staged write, and what its writer knows of it: nothing of a merge, whose rows come in Lance's order."""
    rows = table(dict.fromkeys(names, value))
    nothing = pa.array([], pa.uint64())
    if what == "append":
        return tables.stage_append(handle, rows), KnownStep(added=rows, removed=nothing)
    if what == "merge":
        return tables.stage_upsert(handle, rows), None
    found = tables.lookup(handle, pa.array(names), columns=["id"], with_address=True).sort_by("id")
    places = found["_rowaddr"].combine_chunks()
    if what == "delete":
        return tables.stage_delete_at(handle, places), KnownStep(added=SCHEMA.empty_table(), removed=places)
    rows = rows.sort_by("id")
    return tables.stage_replace(handle, rows, places), KnownStep(added=rows, removed=places)


def with_addresses(tables: LanceTables, handle: SnapshotHandle, columns: Sequence[str]) -> list[tuple]:
    return contents(tables.read(handle, columns=list(columns), with_address=True).read_all())


def test_what_another_process_added_is_all_that_is_read():
    tables, handle = created({str(number): number for number in range(100)})
    warm = WarmColumns()
    warm.columns(tables, handle, ["id", "n"], row_count=100)
    for number in range(3):
        rows = table({f"new-{number}": number})
        handle = tables.commit_exact(handle, [tables.stage_append(handle, rows)])
    seen = []

    class Watched:
        """Tables that note which parts are read."""

        def __getattr__(self, name: str):
            return getattr(tables, name)

        def read(self, *arguments, **options):
            seen.append(options["parts"])
            return tables.read(*arguments, **options)

    found = warm.columns(Watched(), handle, ["id", "n"], row_count=103)
    assert contents(found) == fresh(tables, handle, ["id", "n"])
    assert seen == [[1, 2, 3]]


def test_after_a_fold_only_the_folded_part_is_read():
    tables, handle = created({str(number): number for number in range(100)})
    for number in range(4):
        handle = tables.commit_exact(handle, [tables.stage_append(handle, table({f"new-{number}": number}))])
    warm = WarmColumns()
    warm.columns(tables, handle, ["id"], row_count=104)
    folded = tables.commit_exact(handle, tables.stage_fold(handle, tables.fold_rows(handle, [1, 2, 3, 4]), []))
    found = warm.columns(tables, folded, ["id", "_rowaddr"], row_count=104)
    assert contents(found) == with_addresses(tables, folded, ["id"])


def test_a_step_that_does_not_say_all_is_not_believed():
    tables, handle = created({"a": 1, "b": 2})
    warm = WarmColumns()
    warm.columns(tables, handle, ["id"], row_count=2)
    after = tables.commit_exact(handle, [tables.stage_append(handle, table({"c": 3, "d": 4}))])
    warm.follow(tables, handle.pin, after, KnownStep(added=table({"c": 3}), removed=pa.array([], pa.uint64())))
    assert warm._held(after.pin) is None
    assert contents(warm.columns(tables, after, ["id"], row_count=4)) == fresh(tables, after, ["id"])


def test_many_small_commits_are_kept_in_few_pieces():
    tables, handle = created({"a": 1})
    warm = WarmColumns()
    warm.columns(tables, handle, ["id"], row_count=1)
    for number in range(80):
        rows = table({str(number): 1})
        after = tables.commit_exact(handle, [tables.stage_append(handle, rows)])
        warm.follow(tables, handle.pin, after, KnownStep(added=rows, removed=pa.array([], pa.uint64())))
        handle = after
    held = warm._held(handle.pin)
    assert held.rows.num_rows == 81
    assert held.rows.column(0).num_chunks <= 65
    assert len(warm._kept) == 1


# ── bounds ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_table_with_too_many_rows_is_not_read():
    tables, handle = created({"a": 1, "b": 2})
    warm = WarmColumns(max_rows=1)
    with count_table_calls() as counts:
        assert warm.columns(tables, handle, ["id"], row_count=2) is None
    assert counts == {}


def test_columns_that_are_too_large_are_given_up_while_they_are_read_and_not_read_again():
    tables, handle = created({str(number): number for number in range(20_000)})
    warm = WarmColumns(max_bytes=300_000)
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
    texts = tables.read(handle, columns=["t"], with_address=True).read_all().nbytes
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
        warm._keep(pin, _Kept(table({f"{row:04}": row for row in range(rows)}), ()))
        if warm._held(pin) is not None:
            used = [*(each for each in used if each != number), number]
        sizes = [each.nbytes for each in warm._kept.values()]
        assert warm._bytes == sum(sizes) <= 4_000
        assert all(kept.rows.num_rows <= 300 for kept in warm._kept.values())
        kept = [int(each.location.partition("/")[2]) for each in warm._kept]
        # What went is what was used longest ago.
        assert kept == used[len(used) - len(kept) :]
        used = kept


def test_of_one_line_of_a_table_two_versions_are_kept():
    """A fold, or what another process wrote, is not always followed, and nobody asks for the version before again."""
    tables, handle = created({"a": 1})
    fork = tables.fork(handle, "fork")
    warm = WarmColumns()
    for _ in range(4):
        for line in (handle, fork):
            warm.columns(tables, line, ["id"], row_count=1)
        # So many rows that they are read anew and not followed.
        staged = tables.stage_overwrite(handle, table({"b": 1}))
        handle = tables.commit_exact(handle, [staged])
    assert [(each.branch, each.version) for each in warm._kept] == [(None, 3), (None, 4), ("fork", 1)]


def test_of_all_tables_few_versions_are_kept_and_those_that_are_let_go_take_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("omnigraph.history.warm.MAX_KEPT", 3)
    warm = WarmColumns()
    for number in range(5):
        warm._keep(TablePin(location=f"nodes/{number}", branch=None, version=1), _Kept(table({"a": 1}), ()))
    assert [each.location for each in warm._kept] == ["nodes/2", "nodes/3", "nodes/4"]
    warm.forget(lambda pin: pin.location != "nodes/3")
    assert [each.location for each in warm._kept] == ["nodes/3"]
    warm.forget(lambda _: True)
    assert warm._bytes == 0


def test_the_description_of_parts_counts_as_kept():
    tables, handle = created({"a": 1})
    parts = tables.parts(handle)
    few, many = _Kept(table({"a": 1}), parts), _Kept(table({"a": 1}), parts * 101)
    assert 10_000 < many.nbytes - few.nbytes < 50_000


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
    assert warm._bytes == sum(each.nbytes for each in warm._kept.values())


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
    made = repository.tables.open_at(published.log.state.entries[PERSON].pin)
    step = KnownStep(added=pa.table({"id": ["bob"]}), removed=pa.array([], pa.uint64()))
    repository.warm.follow(repository.tables, log.state.entries[PERSON].pin, made, step)
    again = CommittedRows(repository.snapshot(published.log), repository.tables, repository.warm)
    with count_table_calls() as counts:
        found = again.lookup(person, pa.array(["bob", "cem"]), columns=["id"])
    assert counts == {}
    assert found["id"].to_pylist() == ["bob"]
