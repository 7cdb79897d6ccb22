"""What reads cost, as Lance counts it: never less than before, whoever reads and whatever leaves the cache."""

from __future__ import annotations

import gc
import itertools
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from omnigraph.tables.lance_tables import LanceTables


@pytest.fixture
def pins(create, schema):
    count = 2_000
    given = pa.table(
        [pa.array([f"k{each}" for each in range(count)]), pa.array(range(count), pa.int32())], schema=schema
    )
    return [create(given, location=f"nodes/t{each}").pin for each in range(3)]


def test_a_read_is_counted_in_requests_and_bytes(adapter, pins):
    tables = LanceTables(adapter)
    assert tables.read_counts() == (0, 0)
    handle = tables.open_at(pins[0])
    requests, size = tables.read_counts()
    tables.read(handle, columns=["n"]).read_all()
    after = tables.read_counts()
    # 2,000 numbers below 2,000 take 11 bits each, however they are packed.
    assert after[0] > requests
    assert after[1] - size > 2_000 * 11 / 8
    assert tables.read_counts() == after


def test_what_needs_no_request_counts_nothing(adapter, pins):
    tables = LanceTables(adapter)
    handle = tables.open_at(pins[0])
    before = tables.read_counts()
    assert tables.open_at(pins[0]) is handle
    tables.parts(handle)
    tables.schema(handle)
    tables.count_rows(handle)
    assert tables.read_counts() == before
    tables.coverage(handle)
    known = tables.read_counts()
    tables.coverage(handle)
    assert tables.read_counts() == known


def test_counts_outlive_handles_and_a_close(adapter, pins):
    tables = LanceTables(adapter, handle_cache=1)
    seen = [tables.read_counts()]
    for pin in (*pins, *pins):
        tables.read(tables.open_at(pin)).read_all()
        gc.collect()
        seen.append(tables.read_counts())
    assert all(later[0] > earlier[0] and later[1] > earlier[1] for earlier, later in itertools.pairwise(seen))
    tables.close()
    assert tables.read_counts() == seen[-1]
    handle = tables.open_at(pins[0])
    opened = tables.read_counts()
    tables.read(handle).read_all()
    assert seen[-1] <= opened < tables.read_counts()


def test_a_close_while_somebody_reads_counts_nothing_twice(adapter, pins):
    tables = LanceTables(adapter)
    held = tables.open_at(pins[0])
    tables.read(held).read_all()
    before = tables.read_counts()
    tables.close()
    tables.open_at(pins[1])
    assert tables.read_counts()[1] < before[1] * 2
    assert tables.read_counts() >= before


def test_a_table_that_was_just_made_hides_no_other(tables, create, rows, pins):
    """Lance gives a new table a session of its own, and with it a count of its own."""
    made = create(rows(a=1))
    tables.commit_exact(made, [tables.stage_append(made, rows(b=2))])
    handle = tables.open_at(pins[0])
    before = tables.read_counts()
    tables.read(handle).read_all()
    assert tables.read_counts() > before


def test_two_graphs_count_apart(adapter, pins):
    one, other = LanceTables(adapter), LanceTables(adapter)
    one.read(one.open_at(pins[0])).read_all()
    other.open_at(pins[0])
    before = other.read_counts()
    one.read(one.open_at(pins[1])).read_all()
    assert other.read_counts() == before


def test_readers_in_threads_are_all_counted(adapter, pins):
    def cost(work) -> int:
        tables = LanceTables(adapter)
        handles = [tables.open_at(pin) for pin in pins]
        before = tables.read_counts()[1]
        work(tables, handles)
        return tables.read_counts()[1] - before

    def in_turn(tables, handles) -> None:
        for handle in handles * 4:
            tables.read(handle, columns=["id"]).read_all()

    def at_once(tables, handles) -> None:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda handle: tables.read(handle, columns=["id"]).read_all(), handles * 4))

    # Threads that come first may each read what the session then knows; nobody's data goes uncounted.
    assert cost(at_once) >= cost(in_turn) > 0
