"""The table layer on memory, a disk and an S3 server: exact commits under races, blobs, searches, processes."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from table_rows import BLOBS, PERSON, SCHEMA, create, ids, rows

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.history.branches import BranchRef
from omnigraph.history.log import Manifests, move_damage_away
from omnigraph.storage import ObjectKey, StorageAdapter
from omnigraph.tables import quarantine
from omnigraph.tables.arrow_schema import physical_schema
from omnigraph.tables.counting import count_table_calls
from omnigraph.tables.interface import IndexSpec, TablePin
from omnigraph.tables.lance_tables import LanceTables
from omnigraph.tables.log import LogStore
from omnigraph.tables.quarantine import quarantine_unreadable
from omnigraph.tables.row_filters import Compared


def test_a_table_lives_through_all_its_staged_writes(tables, adapter):
    handle = create(tables)
    part = tables.write_rows(handle.pin, rows(a=1, b=2), schema=SCHEMA)
    assert tables.read_written(part).read_all().num_rows == 2
    handle = tables.commit_exact(handle, [tables.stage_append(handle, [part])])
    staged = [tables.stage_upsert(handle, rows(b=5, c=3)), tables.stage_delete_keys(handle, pa.array(["a"]))]
    handle = tables.commit_exact(handle, staged)
    handle = tables.commit_exact(
        handle, [tables.stage_indexes(handle, [IndexSpec(column="id", kind="btree", name="i")])]
    )
    fork = tables.fork(handle, "b1")
    fork = tables.commit_exact(fork, [tables.stage_append(fork, rows(z=9))])
    tables.sync_committed([handle, fork])
    fresh = LanceTables(adapter)
    assert ids(fresh, fresh.open_at(handle.pin)) == {"b", "c"}
    assert ids(fresh, fresh.open_at(fork.pin)) == {"b", "c", "z"}
    tables.drop(PERSON)
    with pytest.raises(StorageError) as caught:
        LanceTables(adapter).open_at(handle.pin)
    assert caught.value.condition is StorageCondition.NOT_FOUND
    assert not adapter.exists(adapter.key(PERSON))


def test_the_steps_of_a_merge_can_be_done_by_several_and_are_staged_by_one(tables, adapter):
    base = create(tables, rows(a=1, b=2, c=3))
    base = tables.commit_exact(base, [tables.stage_append(base, rows(d=4))])
    base = tables.fork(base, "b1")
    one, other = LanceTables(adapter), LanceTables(adapter)
    written = one.write_rows(base.pin, rows(d=40, b=20), schema=SCHEMA)
    places = {each["id"]: each for each in one.read_places(one.open_at(base.pin), [0, 1]).read_all().to_pylist()}
    found = pa.table(
        {name: pa.array([places[key][name] for key in "db"], pa.uint64()) for name in ("row_id", "made_at")}
    )
    continued = other.continue_rows(other.open_at(base.pin), written, found)
    assert other.read_written(continued, columns=["n"]).read_all()["n"].to_pylist() == [40, 20]
    marked = [
        mark
        for layer, key in ((one, "b"), (other, "d"))
        for mark in layer.mark_parts(layer.open_at(base.pin), pa.array([places[key]["address"]], pa.uint64()))
    ]
    assert [(each.number, each.fragment is None) for each in marked] == [(0, False), (1, True)]
    staged = tables.stage_marked(base, [continued, one.write_rows(base.pin, rows(e=5), schema=SCHEMA)], marked)
    assert tables.expected(base, [staged]).state.row_count == 5
    # Others may have moved the line on meanwhile.
    tables.commit_exact(base, [tables.stage_append(base, rows(foreign=6))])
    made = tables.commit_exact(base, [staged])
    fresh = LanceTables(adapter)
    read = fresh.read(fresh.open_at(made.pin), columns=["id", "n"], order_by_id=True).read_all().to_pylist()
    assert [(each["id"], each["n"]) for each in read] == [("a", 1), ("b", 20), ("c", 3), ("d", 40), ("e", 5)]
    kept = {each["id"]: each for each in fresh.read_places(fresh.open_at(made.pin), [0, 2, 3]).read_all().to_pylist()}
    for key in "abcd":
        assert (kept[key]["row_id"], kept[key]["made_at"]) == (places[key]["row_id"], places[key]["made_at"])


def test_commits_from_one_pin_are_versions_each_with_its_own_content(tables, adapter):
    base = create(tables, rows(a=1))
    start = threading.Barrier(4)

    def commit_some(worker: int) -> list[tuple[str, str, TablePin]]:
        start.wait()
        made = []
        for turn in range(3):
            staged = tables.stage_append(base, rows(**{f"w{worker}t{turn}": turn}))
            made.append((f"w{worker}t{turn}", staged.transaction_id, tables.commit_exact(base, [staged]).pin))
        return made

    with ThreadPoolExecutor(4) as pool:
        made = [each for some in pool.map(commit_some, range(4)) for each in some]
    assert len({pin.version for _, _, pin in made}) == 12
    fresh = LanceTables(adapter)
    for name, transaction_id, pin in made:
        handle = fresh.open_at(pin)
        assert ids(fresh, handle) == {"a", name}
        assert handle.dataset.read_transaction(pin.version).uuid == transaction_id


def test_of_several_creators_one_wins(tables, adapter):
    staged = [tables.stage_create(PERSON, SCHEMA, rows(**{f"c{each}": each})) for each in range(4)]
    start = threading.Barrier(4)

    def commit(each):
        start.wait()
        try:
            return tables.commit_create(each)
        except StorageError as error:
            return error.condition

    with ThreadPoolExecutor(4) as pool:
        ended = list(pool.map(commit, staged))
    winners = [number for number, each in enumerate(ended) if not isinstance(each, StorageCondition)]
    assert len(winners) == 1
    assert [each for each in ended if isinstance(each, StorageCondition)] == [StorageCondition.PRECONDITION] * 3
    fresh = LanceTables(adapter)
    pin = TablePin(location=PERSON, branch=None, version=1)
    assert ids(fresh, fresh.open_at(pin)) == {f"c{winners[0]}"}


def test_blobs_of_every_size_come_back(tables):
    values = {"null": None, "empty": b"", "small": b"abc", "packed": b"p" * 200_000, "large": b"l" * 5_000_000}
    given = pa.table([pa.array(values, pa.string()), pa.array(values.values(), pa.large_binary())], schema=BLOBS)
    base = create(tables, schema=BLOBS)
    part = tables.write_rows(base.pin, given, schema=BLOBS)
    staged = tables.stage_append(base, [part])
    tables.sync_staged([staged])
    after = tables.commit_exact(base, [staged])
    tables.sync_committed([after])
    for found in (tables.read_written(part), tables.read(after), tables.read(after, order_by_id=True)):
        assert {row["id"]: row["data"] for row in found.read_all().to_pylist()} == values


def detached(adapter: StorageAdapter) -> list[str]:
    return [key.value for key in adapter.list(adapter.key(PERSON)) if "/_versions/d" in key.value]


def test_promotion_leaves_no_detached_version_behind(tables, adapter):
    base = create(tables, rows(a=1))
    staged = tables.stage_append(base, rows(b=2))
    tables.read(base, staged=[staged]).read_all()
    tables.commit_exact(base, [tables.stage_append(base, rows(foreign=6))])
    tables.commit_exact(base, [staged])
    assert detached(adapter) == []


def test_an_indexed_table_can_be_read_with_its_staged_writes_and_after_a_promotion(tables, adapter):
    """Lance reads the indexes of a version late, from its manifest, which has to be there still."""
    base = create(tables, rows(a=1, b=2))
    base = tables.commit_exact(base, [tables.stage_indexes(base, [IndexSpec(column="id", kind="btree", name="i")])])
    staged = tables.stage_upsert(base, rows(b=5, c=3))
    for name, found in (("a", [1]), ("b", [5]), ("c", [3]), ("x", [])):
        read = tables.read(base, staged=[staged], predicate=Compared("id", "=", pa.scalar(name)), columns=["n"])
        assert read.read_all()["n"].to_pylist() == found
    tables.commit_exact(base, [tables.stage_append(base, rows(foreign=6))])
    after = tables.commit_exact(base, [staged])
    for layer in (tables, LanceTables(adapter)):
        handle = layer.open_at(after.pin)
        assert sorted(layer.lookup(handle, pa.array(["a", "b", "c", "foreign"]))["n"].to_pylist()) == [1, 3, 5]
    assert detached(adapter) == []


def test_the_file_of_a_view_stays_while_it_is_read_and_goes_afterwards(local):
    tables = LanceTables(local)
    base = create(tables, rows(**{f"k{each:03d}": each for each in range(100)}))
    base = tables.commit_exact(base, [tables.stage_indexes(base, [IndexSpec(column="id", kind="btree", name="i")])])
    reader = tables.read(base, staged=[tables.stage_append(base, rows(z=1))], order_by_id=True)
    (of_reader,) = detached(local)
    for turn in range(10):
        tables.count_rows(base, staged=[tables.stage_append(base, rows(**{f"y{turn}": 1}))])
    assert of_reader in detached(local)
    assert reader.read_all().num_rows == 101
    del reader
    tables.close()
    assert detached(local) == []


def test_nothing_is_moved_from_a_table_that_can_be_read(tables, adapter):
    base = create(tables, rows(a=1))
    for _ in range(3):
        tables.commit_exact(base, [tables.stage_append(base, rows(b=2))])
    assert quarantine_unreadable(adapter, PERSON, None, above=0) == ()


@pytest.mark.parametrize("adapter", ["s3"], indirect=True)
def test_nothing_is_moved_on_a_server_however_it_reads(tables, adapter, monkeypatch):
    """It loses no power: what cannot be read there was garbled on its way, and may be published."""
    base = create(tables, rows(a=1))
    tables.commit_exact(base, [tables.stage_append(base, rows(b=2))])

    def garbled(*_args, **_keywords):
        raise StorageError("garbled", condition=StorageCondition.PERMANENT)

    monkeypatch.setattr(quarantine, "open_dataset", garbled)
    assert quarantine_unreadable(adapter, PERSON, None, above=1) == ()
    assert quarantine.quarantine_newest(adapter, PERSON, None) == ()
    garbled_on_its_way = StorageError("garbled", condition=StorageCondition.PERMANENT)
    main = BranchRef.of_line("main", "b0")
    with pytest.raises(StorageError, match="garbled"):
        move_damage_away(Manifests(LogStore(adapter), main), main, garbled_on_its_way)


SEARCHED = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("text", pa.string()),
        pa.field("u", pa.uint64()),
        pa.field("v", pa.list_(pa.field("item", pa.float32()), 2)),
    ]
)
SEARCH_INDEXES = (
    IndexSpec(column="id", kind="btree", name="id_btree"),
    IndexSpec(column="text", kind="inverted", name="text_inverted"),
    IndexSpec(column="u", kind="btree", name="u_btree"),
    IndexSpec(column="v", kind="vector", name="v_vector"),
)


def documents(*numbers: int) -> pa.Table:
    """Vectors turn by a tenth of a radian from number to number; every fifth row has none."""
    vectors = [None if each % 5 == 4 else [math.cos(each / 10), math.sin(each / 10)] for each in numbers]
    columns = [
        pa.array([f"k{each:02d}" for each in numbers]),
        pa.array([f"Running w{each % 3}" for each in numbers]),
        pa.array(numbers, pa.uint64()),
        pa.array(vectors, SEARCHED.field("v").type),
    ]
    return pa.table(columns, schema=SEARCHED)


def test_searches_see_covered_rows_the_tail_and_no_deleted_ones(tables, adapter):
    handle = create(tables, documents(*range(20)), SEARCHED)
    handle = tables.commit_exact(handle, [tables.stage_indexes(handle, SEARCH_INDEXES)])
    handle = tables.commit_exact(handle, [tables.stage_append(handle, documents(*range(20, 30)))])
    handle = tables.commit_exact(handle, [tables.stage_delete_keys(handle, pa.array(["k03", "k21"]))])
    fork = tables.fork(handle, "b1")
    fork = tables.commit_exact(fork, [tables.stage_indexes(fork, SEARCH_INDEXES)])
    live = [each for each in range(30) if each not in (3, 21)]
    fresh = LanceTables(adapter)
    for pin, covered in ((handle.pin, 19), (fork.pin, 28)):
        opened = fresh.open_at(pin)
        assert [each.covered_rows for each in fresh.coverage(opened)] == [covered] * 4
        assert [each.covered_rows + each.uncovered_rows for each in fresh.coverage(opened)] == [28] * 4
        found = fresh.search_text(opened, "text", "w1 runs", columns=["id"])["id"].to_pylist()
        assert sorted(found) == [f"k{each:02d}" for each in live]
        assert set(found[: len([each for each in live if each % 3 == 1])]) == {
            f"k{each:02d}" for each in live if each % 3 == 1
        }
        wanted = [math.cos(2.16), math.sin(2.16)]
        assert fresh.nearest(opened, "v", wanted, 3, columns=["id"])["id"].to_pylist() == ["k22", "k23", "k20"]
        refused = Compared("u", "<", pa.scalar(20, pa.uint64()))
        near = fresh.nearest(opened, "v", wanted, 2, columns=["id"], predicate=refused)
        assert near["id"].to_pylist() == ["k18", "k17"]


def test_parts_and_addresses_lead_from_version_to_version(tables, adapter):
    first = create(tables, rows(a=1, b=2, c=3))
    second = tables.commit_exact(first, [tables.stage_append(first, rows(d=4))])
    third = tables.commit_exact(second, [tables.stage_upsert(second, rows(b=20, e=5))])
    fresh = LanceTables(adapter)
    before, after = fresh.open_at(second.pin), fresh.open_at(third.pin)
    known = {(each.number, each.files, each.deletions) for each in fresh.parts(before)}
    changed = [each for each in fresh.parts(after) if (each.number, each.files, each.deletions) not in known]
    assert [(each.number, each.live_count) for each in changed] == [(0, 2), (2, 2)]
    alive = fresh.read(after, columns=[], parts=[0], with_address=True).read_all()["_rowaddr"].to_pylist()
    assert alive == [0, 2]
    added = fresh.read(after, parts=[2], with_address=True).read_all().to_pylist()
    assert {each["id"]: each["n"] for each in added} == {"b": 20, "e": 5}
    at = pa.array([each["_rowaddr"] for each in added] + [2, 2**32], pa.uint64())
    assert fresh.take(after, at, ["id"])["id"].to_pylist() == [each["id"] for each in added] + ["c", "d"]


def test_reads_are_counted(tables, adapter):
    pin = create(tables, rows(**{f"k{each}": each for each in range(1_000)})).pin
    fresh = LanceTables(adapter)
    handle = fresh.open_at(pin)
    fresh.parts(handle)
    opened = fresh.read_counts()
    fresh.read(handle).read_all()
    after = fresh.read_counts()
    assert after[0] > opened[0]
    assert after[1] - opened[1] > 1_000
    fresh.parts(handle)
    assert fresh.read_counts() == after


# ── other processes ──────────────────────────────────────────────────────────────────────────────────────────────────

WORKER = """
import dataclasses, json, pickle, sys
import pyarrow as pa
from omnigraph.tables.lance_tables import LanceTables

adapter, pin, schema, name = pickle.loads(bytes.fromhex(sys.stdin.read()))
ids = pa.array([name + str(each) for each in range(1000)])
table = pa.table([ids, pa.array(range(1000), pa.int32())], schema=schema)
print(json.dumps(dataclasses.asdict(LanceTables(adapter).write_rows(pin, table.to_reader(100), schema=schema))))
"""


def test_rows_written_by_other_processes_become_one_version(local):
    import json
    import pickle

    from omnigraph.tables.interface import WrittenRows

    tables = LanceTables(local)
    base = create(tables, rows(a=1))
    running = []
    for name in ("p", "q"):
        given = pickle.dumps((local, base.pin, SCHEMA, name)).hex()
        running.append(
            subprocess.Popen(
                [sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ
            )
        )
        running[-1].stdin.write(given)
        running[-1].stdin.close()
    parts = []
    for process in running:
        facts = json.loads(process.stdout.read())
        assert process.wait(60) == 0
        process.stdout.close()
        parts.append(WrittenRows(**{**facts, "fragments": tuple(facts["fragments"])}))
    with count_table_calls() as counts:
        after = tables.commit_exact(base, [tables.stage_append(base, parts)])
    assert counts["commit"] == 1
    assert tables.count_rows(after) == 2_001
    assert tables.read_written(parts[1], columns=["id"]).read_all()["id"][0].as_py() == "q0"


def test_the_physical_schema_is_what_lance_stores(tables):
    handle = create(tables, schema=BLOBS)
    assert handle.dataset.schema.equals(physical_schema(BLOBS), check_metadata=True)


def test_keys_of_files_are_keys_of_the_adapter(local):
    tables = LanceTables(local)
    staged = tables.stage_create(PERSON, SCHEMA, rows(a=1))
    assert all(isinstance(each, ObjectKey) and local.exists(each) for each in staged.files)
