"""What must be durable before and after a commit, on a disk: every file of a write, and no other."""

from __future__ import annotations

import secrets
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from table_rows import BLOBS, PERSON, SCHEMA, create, files_below, ids, rows

from omnigraph.errors import StorageError
from omnigraph.storage import StorageAdapter, parse_uri
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.tables.interface import IndexSpec, SnapshotHandle, StagedHandle
from omnigraph.tables.lance_tables import LanceTables
from omnigraph.tables.opening import manifest_name
from omnigraph.testing.faults import WrappedAdapter
from omnigraph_storage_local.adapter import LocalAdapter


class Recording(WrappedAdapter):
    """Notes what is to be made durable, and lets it be done."""

    def __init__(self, inner: StorageAdapter) -> None:
        super().__init__(inner)
        self.synced: list[list[str]] = []

    def make_durable(self, files) -> None:
        kept = list(files)
        self.synced.append([key.value for key in kept])
        super().make_durable(kept)


def needs_no_sync(name: str) -> bool:
    return "/_transactions/" in name or name.endswith("latest_version_hint.json")


def stage_steps(tables: LanceTables, base: SnapshotHandle) -> StagedHandle:
    """A merge by its steps: one row that replaces another, and one that is new."""
    new, ours = (tables.write_rows(base.pin, each, schema=SCHEMA) for each in (rows(z=1), rows(b=9)))
    places = tables.read_places(base, [each.number for each in tables.parts(base)]).read_all()
    found = places.filter(pc.field("id") == "b")
    continued = tables.continue_rows(base, ours, found.select(["row_id", "made_at"]))
    marked = tables.mark_parts(base, found["address"].combine_chunks())
    return tables.stage_marked(base, [continued, new], marked)


STAGES: dict[str, Callable] = {
    "append": lambda tables, base: tables.stage_append(base, rows(z=1)),
    "written": lambda tables, base: tables.stage_append(base, [tables.write_rows(base.pin, rows(z=1), schema=SCHEMA)]),
    "upsert": lambda tables, base: tables.stage_upsert(base, rows(b=9, z=1)),
    "upsert of a stream": lambda tables, base: tables.stage_upsert(base, rows(b=9, z=1).to_reader()),
    "replace": lambda tables, base: tables.stage_replace(base, rows(b=9, z=1), pa.array([1], pa.uint64())),
    "steps of a merge": stage_steps,
    "overwrite": lambda tables, base: tables.stage_overwrite(base, rows(z=1)),
    "delete": lambda tables, base: tables.stage_delete_keys(base, pa.array(["a"])),
    "delete by address": lambda tables, base: tables.stage_delete_at(base, pa.array([0, 2], pa.uint64())),
    "index": lambda tables, base: tables.stage_indexes(
        base,
        [IndexSpec(column="id", kind="btree", name="b"), IndexSpec(column="id", kind="inverted", name="i")],
    ),
}


@pytest.mark.parametrize("on_branch", [False, True], ids=["main", "branch"])
@pytest.mark.parametrize("name", STAGES)
def test_every_file_of_a_write_is_made_durable_before_and_after_its_commit(name, on_branch, local):
    adapter = Recording(local)
    tables = LanceTables(adapter)
    base = create(tables, rows(a=1, b=2, c=3))
    if on_branch:
        base = tables.fork(base, "b1")
    before = files_below(local)
    staged = STAGES[name](tables, base)
    written = files_below(local) - before
    assert written
    tables.sync_staged([staged])
    after = tables.commit_exact(base, [staged])
    committed = files_below(local) - before - written
    tables.sync_committed([after])
    first, second = adapter.synced
    assert set(first) == written
    assert set(second) == {each for each in committed if not needs_no_sync(each)}


@pytest.mark.parametrize("has_delete", [False, True])
def test_every_file_of_a_promotion_is_made_durable(has_delete, local):
    adapter = Recording(local)
    tables = LanceTables(adapter)
    base = create(tables, rows(a=1, b=2, c=3))
    foreign = tables.stage_append(base, rows(foreign=6))
    before = files_below(local)
    staged = [tables.stage_upsert(base, rows(b=9, z=1))]
    if has_delete:
        staged.append(tables.stage_delete_keys(base, pa.array(["a"])))
    tables.sync_staged(staged)
    tables.commit_exact(base, [foreign])
    after = tables.commit_exact(base, staged)
    tables.sync_committed([after])
    assert ids(tables, after) == {"a", "b", "c", "z"} - ({"a"} if has_delete else set())
    synced = {each for some in adapter.synced for each in some}
    needed = referenced(after, local) - before
    assert needed <= synced
    assert f"{PERSON}/{manifest_name(after.pin.version)}" in needed


@pytest.mark.parametrize("on_branch", [False, True], ids=["main", "branch"])
def test_every_file_of_a_fold_is_made_durable(on_branch, local):
    adapter = Recording(local)
    tables = LanceTables(adapter)
    specs = [IndexSpec(column="id", kind="btree", name="b"), IndexSpec(column="id", kind="inverted", name="i")]
    base = create(tables, rows(a=1, b=2, c=3))
    if on_branch:
        base = tables.fork(base, "b1")
    base = tables.commit_exact(base, [tables.stage_append(base, rows(d=4))])
    base = tables.commit_exact(base, [tables.stage_indexes(base, specs)])
    before = files_below(local)
    steps = tables.stage_fold(base, tables.fold_rows(base, [0, 1]), specs)
    written = files_below(local) - before
    tables.sync_staged(steps)
    made = tables.commit_exact(base, steps)
    tables.sync_committed([made])
    first, second = adapter.synced
    assert set(first) == written
    # Those of the index are written when the rewrite has a version; the detached versions are gone again.
    assert set(second) == {each for each in files_below(local) - before - written if not needs_no_sync(each)}
    assert [each for each in second if "/_indices/" in each]
    assert ids(LanceTables(local), made) == {"a", "b", "c", "d"}


def test_a_merge_that_breaks_off_leaves_no_version_behind(local):
    tables = LanceTables(local)
    base = create(tables, rows(a=1))
    before = files_below(local)

    def broken():
        yield from rows(a=2).to_batches()
        raise OSError("the source broke off")

    with pytest.raises((OSError, StorageError), match="the source broke off"):
        tables.stage_upsert(base, pa.RecordBatchReader.from_batches(SCHEMA, broken()))
    assert all("/data/" in each for each in files_below(local) - before)


def test_a_version_does_not_say_more_of_parts_that_were_folded_from_more(local):
    tables = LanceTables(local)
    sizes = []
    for count in (40, 120):
        handle = tables.commit_create(tables.stage_create(f"nodes/{count}", SCHEMA, rows(a=1)))
        for number in range(count):
            handle = tables.commit_exact(handle, [tables.stage_append(handle, rows(**{f"t{number}": number}))])
        folded = tables.fold_rows(handle, [each.number for each in tables.parts(handle)][1:])
        made = tables.commit_exact(handle, tables.stage_fold(handle, folded, []))
        # What the commit that made it did is told too; the next one leaves that out.
        made = tables.commit_exact(made, [tables.stage_append(made, rows(z=1))])
        sizes.append(len(local.read(local.key(f"nodes/{count}/{manifest_name(made.pin.version)}"))))
    assert abs(sizes[1] - sizes[0]) < 40, sizes


def referenced(handle, local: LocalAdapter) -> set[str]:
    """The files that a version needs, as its own manifest tells."""
    found = {f"{PERSON}/{manifest_name(handle.pin.version)}"}
    for fragment in handle.dataset.get_fragments():
        found.update(f"{PERSON}/data/{each.path}" for each in fragment.data_files())
        if fragment.metadata.deletion_file is not None:
            found.add(f"{PERSON}/{fragment.metadata.deletion_file.path(fragment.fragment_id)}")
    assert found <= files_below(local)
    return found


def test_every_file_of_a_create_and_of_a_fork_is_made_durable(local):
    adapter = Recording(local)
    tables = LanceTables(adapter)
    staged = tables.stage_create(PERSON, SCHEMA, rows(a=1))
    tables.sync_staged([staged])
    base = tables.commit_create(staged)
    tables.sync_committed([base])
    before = files_below(local)
    assert {each for some in adapter.synced for each in some} == {each for each in before if not needs_no_sync(each)}
    fork = tables.fork(base, "b1")
    tables.sync_committed([fork])
    made = files_below(local) - before
    assert set(adapter.synced[-1]) == {each for each in made if not needs_no_sync(each)}
    assert f"{PERSON}/_refs/branches/b1.json" in made


def test_every_blob_file_is_made_durable(local):
    adapter = Recording(local)
    tables = LanceTables(adapter)
    base = create(tables, schema=BLOBS)
    before = files_below(local)
    data = pa.array([b"x" * 200_000, b"y" * 5_000_000, b"", None], pa.large_binary())
    given = pa.table([pa.array(["a", "b", "c", "d"]), data], schema=BLOBS)
    for stage in (
        lambda: tables.stage_append(base, given),
        lambda: tables.stage_append(base, [tables.write_rows(base.pin, given, schema=BLOBS)]),
        lambda: tables.stage_upsert(base, given.to_reader()),
        lambda: tables.stage_replace(base, given, pa.array([], pa.uint64())),
    ):
        staged = stage()
        written = files_below(local) - before
        before |= written
        assert [each for each in written if each.endswith(".blob")]
        tables.sync_staged([staged])
        assert set(adapter.synced[-1]) == written
    for _ in range(2):
        base = tables.commit_exact(base, [tables.stage_append(base, given)])
    before = files_below(local)
    steps = tables.stage_fold(base, tables.fold_rows(base, [0, 1]), [])
    tables.sync_staged(steps)
    written = files_below(local) - before
    assert [each for each in written if each.endswith(".blob")]
    assert set(adapter.synced[-1]) == written


def test_nothing_is_synced_where_tables_are_no_files():
    adapter = Recording(MemoryAdapter(parse_uri(f"memory://backends-{secrets.token_hex(6)}")))
    tables = LanceTables(adapter)
    base = create(tables, rows(a=1))
    staged = tables.stage_append(base, rows(b=2))
    tables.sync_staged([staged])
    tables.sync_committed([tables.commit_exact(base, [staged])])
    assert adapter.synced == []
