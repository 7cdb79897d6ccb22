"""The sealed surfaces over Lance, and the probe that proves a location."""

from __future__ import annotations

import inspect

import pytest

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import LanceLocation
from omnigraph.tables import interface
from omnigraph.tables.probe import probe_lance

SEALED = [interface.TableStorage, interface.SnapshotHandle, interface.StagedHandle]


@pytest.mark.parametrize("sealed", SEALED, ids=lambda each: each.__name__)
def test_a_stranger_may_not_subclass_the_table_layer(sealed: type):
    with pytest.raises(TypeError, match=f"{sealed.__name__}: it is sealed to the package") as caught:
        type("Mine", (sealed,), {"__module__": "somebody.else"})
    assert "omnigraph.storage.StorageAdapter" in str(caught.value)


@pytest.mark.parametrize("sealed", SEALED, ids=lambda each: each.__name__)
def test_core_itself_may_subclass_the_table_layer(sealed: type):
    type("Ours", (sealed,), {"__module__": "omnigraph.tables.lance_tables"})


def test_a_package_whose_name_merely_begins_alike_is_a_stranger():
    with pytest.raises(TypeError, match="sealed"):
        type("Mine", (interface.TableStorage,), {"__module__": "omnigraph_storage_xyz.tables"})


def test_table_storage_has_reads_staged_writes_and_explicit_commits_only():
    methods = {name for name, _ in inspect.getmembers(interface.TableStorage, inspect.isfunction)}
    reads = {
        "open_at", "schema", "read", "count_rows", "lookup", "read_written", "table_state", "indexes",
        "parts", "take", "deleted", "coverage", "count_vectors", "search_text", "nearest", "read_counts",
        "kept_handles", "forget", "newest", "find_committed", "expected", "read_places",
        "named_files",
    }  # fmt: skip
    files = {"write_rows", "fold_rows", "continue_rows", "mark_parts", "sync_staged", "sync_committed", "close"}
    others = {name for name in methods - reads - files if not name.startswith(("_", "stage_"))}
    # The first three make a version that no manifest names yet, and the fourth one that shows what it names already.
    # The others take away what no manifest ever named: a table, or versions that cannot be read.
    assert others == {"commit_create", "commit_exact", "fork", "restore", "drop", "quarantine"}


def test_every_method_of_the_surface_is_made():
    from omnigraph.tables.lance_tables import LanceTables

    assert LanceTables.__abstractmethods__ == frozenset()
    for name, promised in inspect.getmembers(interface.TableStorage, inspect.isfunction):
        if not name.startswith("_"):
            made = inspect.signature(getattr(LanceTables, name))
            assert list(made.parameters) == list(inspect.signature(promised).parameters), name


def test_the_probe_accepts_a_place_where_lance_commits_exclude_each_other(tmp_path):
    probe_lance(LanceLocation(str(tmp_path / "table")))
    assert (tmp_path / "table" / "_versions").is_dir()


def test_the_probe_refuses_a_place_that_lance_cannot_write(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError) as caught:
        probe_lance(LanceLocation(str(tmp_path / "file" / "table")))
    assert caught.value.condition is StorageCondition.CONFIGURATION
    assert caught.value.help


def test_the_probe_refuses_a_place_where_a_lost_race_is_not_noticed(tmp_path, monkeypatch):
    from omnigraph.tables import probe

    commit = probe._commit_appended

    def commit_on_whatever_is_newest(base, rows):
        import lance

        return commit(lance.dataset(base.uri), rows)

    monkeypatch.setattr(probe, "_commit_appended", commit_on_whatever_is_newest)
    with pytest.raises(StorageError, match="do not exclude each other"):
        probe_lance(LanceLocation(str(tmp_path / "table")))
