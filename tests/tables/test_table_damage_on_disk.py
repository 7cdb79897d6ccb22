"""Versions that a loss of power damaged, on a disk: moved out of the way, and nobody is stopped by them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from table_rows import PERSON, create, ids, rows

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.tables.interface import TablePin
from omnigraph.tables.lance_tables import LanceTables
from omnigraph.tables.opening import manifest_name, open_dataset, place_of
from omnigraph.tables.quarantine import quarantine_unreadable
from omnigraph_storage_local.adapter import LocalAdapter


def path_of(local: LocalAdapter, version: int, branch: str | None = None) -> Path:
    line = Path(local.root.path) / PERSON / (f"tree/{branch}" if branch else "")
    return line / manifest_name(version)


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "zeroed": lambda data: bytes(len(data)),
    "zeroed inside": lambda data: data[:10] + bytes(len(data) - 40) + data[-30:],
}


def damaged_after(local: LocalAdapter, how: str, *, versions: int, branch: str | None = None):
    """A table of one pinned version with ``versions`` unpublished ones after it, the last of them damaged."""
    tables = LanceTables(local)
    base = create(tables, rows(a=1))
    if branch is not None:
        base = tables.fork(base, branch)
    for _ in range(versions):
        last = tables.commit_exact(base, [tables.stage_append(base, rows(lost=6))])
    path = path_of(local, last.pin.version, branch)
    path.write_bytes(DAMAGE[how](path.read_bytes()))
    return base.pin, last.pin


@pytest.mark.parametrize("branch", [None, "b1"], ids=["main", "branch"])
@pytest.mark.parametrize("versions", [1, 2])
@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_version_after_the_pin_does_not_stop_a_commit(how, versions, branch, local, caplog):
    pin, lost = damaged_after(local, how, versions=versions, branch=branch)
    tables = LanceTables(local)
    base = tables.open_at(pin)
    staged = tables.stage_append(base, rows(b=2))
    with caplog.at_level(logging.WARNING, logger="omnigraph"):
        after = tables.commit_exact(base, [staged])
    fresh = LanceTables(local)
    assert ids(fresh, fresh.open_at(after.pin)) == {"a", "b"}
    assert fresh.open_at(after.pin).dataset.read_transaction(after.pin.version).uuid == staged.transaction_id
    line = f"{PERSON}/tree/{branch}" if branch else PERSON
    kept = local.key(f"__quarantine/{line}/{manifest_name(lost.version)}")
    assert local.exists(kept)
    assert "cannot be read" in caplog.text
    # The table goes on as if nothing had been.
    again = fresh.open_at(after.pin)
    assert ids(fresh, fresh.commit_exact(again, [fresh.stage_append(again, rows(c=3))])) == {"a", "b", "c"}


@pytest.mark.parametrize("how", DAMAGE)
def test_only_the_damaged_version_is_moved(how, local):
    pin, lost = damaged_after(local, how, versions=3)
    moved = quarantine_unreadable(local, PERSON, None, above=pin.version)
    assert moved == (f"__quarantine/{PERSON}/{manifest_name(lost.version)}",)
    assert quarantine_unreadable(local, PERSON, None, above=pin.version) == ()
    tables = LanceTables(local)
    for version in range(pin.version, lost.version):
        assert tables.count_rows(tables.open_at(TablePin(location=PERSON, branch=None, version=version)))


@pytest.mark.parametrize("how", DAMAGE)
def test_opening_the_newest_version_notices_every_damage(how, local):
    damaged_after(local, how, versions=1)
    with pytest.raises(StorageError) as caught:
        open_dataset(place_of(local, PERSON, None), version=None, session=None)
    assert caught.value.condition is StorageCondition.PERMANENT


def test_what_was_moved_before_is_not_overwritten(local):
    for _ in range(2):
        pin = TablePin(location=PERSON, branch=None, version=1)
        tables = LanceTables(local)
        if not local.exists(local.key(PERSON)):
            create(tables, rows(a=1))
        base = tables.open_at(pin)
        last = tables.commit_exact(base, [tables.stage_append(base, rows(lost=6))])
        assert last.pin.version == 2
        path_of(local, 2).write_bytes(b"")
        quarantine_unreadable(local, PERSON, None, above=1)
    kept = {key.name for key in local.list(local.key("__quarantine"))}
    name = Path(manifest_name(2)).name
    assert kept == {name, f"{name}.2"}


@pytest.mark.parametrize("first", [None, {"a": 1}], ids=["empty", "rows"])
@pytest.mark.parametrize("how", ["empty", "zeroed"])
def test_a_damaged_first_version_does_not_stop_a_create(how, first, local):
    create(LanceTables(local), rows(lost=6))
    path_of(local, 1).write_bytes(DAMAGE[how](path_of(local, 1).read_bytes()))
    made = create(LanceTables(local), rows(**first) if first else None)
    fresh = LanceTables(local)
    assert ids(fresh, fresh.open_at(made.pin)) == set(first or ())


def test_a_version_at_or_below_the_known_one_is_never_moved(local):
    _, lost = damaged_after(local, "empty", versions=1)
    assert quarantine_unreadable(local, PERSON, None, above=lost.version) == ()
    assert path_of(local, lost.version).exists()


def test_a_version_that_a_newer_lance_wrote_is_not_damaged(local, monkeypatch):
    pin, lost = damaged_after(local, "empty", versions=1)
    path_of(local, lost.version).write_bytes(path_of(local, pin.version).read_bytes())
    from omnigraph.tables import quarantine

    def refuse(place, *, version, session, counted):
        raise StorageError("flag 2048", condition=StorageCondition.CONFIGURATION)

    monkeypatch.setattr(quarantine, "open_dataset", refuse)
    assert quarantine_unreadable(local, PERSON, None, above=pin.version) == ()
