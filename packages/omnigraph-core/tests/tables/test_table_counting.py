"""The counters that cost tests install."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from omnigraph.tables.counting import count_table_calls, note
from omnigraph.tables.row_filters import Compared


def test_each_call_is_counted_under_its_name(tables, create, rows, schema):
    import pyarrow as pa

    with count_table_calls() as counts:
        base = tables.open_at(create(rows(a=1, b=2)).pin)
        tables.read(base).read_all()
        tables.count_rows(base)
        tables.lookup(base, pa.array(["a"]))
        written = tables.write_rows(base.pin, rows(c=3), schema=schema)
        tables.read_written(written, columns=["id"]).read_all()
        staged = tables.stage_append(base, [written])
        tables.stage_upsert(base, rows(a=4))
        tables.stage_overwrite(base, rows(a=4))
        tables.stage_delete(base, Compared("n", "=", pa.scalar(1)))
        after = tables.commit_exact(base, [staged])
        tables.indexes(after)
        tables.fork(after, "b1")
    # The fork is taken over into the session of these tables.
    assert counts == {
        "stage_create": 1, "commit": 2, "open": 2, "read": 1, "count": 1, "lookup": 1, "write_rows": 1,
        "read_written": 1, "stage_append": 1, "stage_upsert": 1, "stage_overwrite": 1,
        "stage_delete": 1, "indexes": 1, "fork": 1,
    }  # fmt: skip


def test_a_promotion_is_counted_as_one(tables, create, rows):
    base = tables.open_at(create(rows(a=1)).pin)
    staged = tables.stage_append(base, rows(b=2))
    tables.commit_exact(base, [tables.stage_append(base, rows(c=3))])
    with count_table_calls() as counts:
        tables.commit_exact(base, [staged])
    # The newest version is seen to be another one, and is opened for its settings.
    assert counts == {"open_newest": 1, "promote": 1, "commit_detached": 1}


def test_a_view_of_the_same_staged_writes_is_made_once(tables, create, rows):
    base = create(rows(a=1))
    staged = tables.stage_append(base, rows(b=2))
    with count_table_calls() as counts:
        tables.read(base, staged=[staged]).read_all()
        tables.count_rows(base, staged=[staged])
    assert counts["commit_detached"] == 1


def test_counters_nest_and_stop_when_their_block_ends():
    with count_table_calls() as outer:
        note("x")
        with count_table_calls() as inner:
            note("x")
        note("x")
    note("x")
    assert (outer["x"], inner["x"]) == (3, 1)


def test_threads_count_together():
    with count_table_calls() as counts, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: [note("x") for _ in range(500)], range(8)))
    assert counts["x"] == 4_000
