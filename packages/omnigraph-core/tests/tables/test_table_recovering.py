"""What a cut-off write left on a table: its version is found by name, and the newest one shows the pin again."""

from __future__ import annotations

import pyarrow as pa
import pytest

from omnigraph.history.ulids import new_ulid
from omnigraph.tables.facts import NewestVersion

COMMIT = new_ulid()


def test_a_version_is_found_by_its_transaction_and_its_commit(tables, create, rows, contents):
    base = create(rows(a=1))
    staged = tables.stage_append(base, rows(b=2))
    assert tables.find_committed(base.pin, staged.transaction_id, commit_id=COMMIT).handle is None
    made = tables.commit_exact(base, [staged], commit_id=COMMIT)
    found = tables.find_committed(base.pin, staged.transaction_id, commit_id=COMMIT)
    assert found.handle.pin == made.pin
    assert not found.is_misplaced
    assert contents(found.handle) == {"a": 1, "b": 2}


def test_the_same_transaction_for_another_commit_is_not_it(tables, create, rows):
    base = create(rows(a=1))
    staged = tables.stage_append(base, rows(b=2))
    tables.commit_exact(base, [staged], commit_id=COMMIT)
    found = tables.find_committed(base.pin, staged.transaction_id, commit_id=new_ulid())
    assert (found.handle, found.is_misplaced) == (None, False)


@pytest.mark.parametrize("strays", [1, 3])
def test_a_version_that_steps_over_others_is_found_where_it_lies(tables, create, rows, contents, strays):
    base = create(rows(a=1))
    for number in range(strays):
        tables.commit_exact(base, [tables.stage_append(base, rows(**{f"stray{number}": 0}))])
    staged = tables.stage_append(base, rows(b=2))
    made = tables.commit_exact(base, [staged], commit_id=COMMIT)
    assert made.pin.version > base.pin.version + strays
    found = tables.find_committed(base.pin, staged.transaction_id, commit_id=COMMIT)
    assert found.handle.pin == made.pin
    assert contents(found.handle) == {"a": 1, "b": 2}


def test_an_append_that_landed_among_others_and_was_cut_off_there_is_misplaced(tables, create, rows, monkeypatch):
    from omnigraph.tables import committing

    base = create(rows(a=1))
    tables.commit_exact(base, [tables.stage_append(base, rows(stray=0))])
    staged = tables.stage_append(base, rows(b=2))

    def cut_off(*_arguments: object) -> None:
        raise KeyboardInterrupt

    # The other version came right after the look for it.
    monkeypatch.setattr(committing, "is_foreign_newest", lambda _base: False)
    monkeypatch.setattr(committing, "_promote", cut_off)
    with pytest.raises(KeyboardInterrupt):
        tables.commit_exact(base, [staged], commit_id=COMMIT)
    found = tables.find_committed(base.pin, staged.transaction_id, commit_id=COMMIT)
    assert (found.handle, found.is_misplaced) == (None, True)


def test_several_steps_of_one_commit_are_found_as_one_version(tables, create, rows, contents):
    base = create(rows(a=1, b=2))
    staged = [tables.stage_upsert(base, rows(b=3, c=4)), tables.stage_delete_keys(base, pa.array(["a"]))]
    made = tables.commit_exact(base, staged, commit_id=COMMIT)
    found = tables.find_committed(base.pin, staged[-1].transaction_id, commit_id=COMMIT)
    assert found.handle.pin == made.pin
    assert contents(found.handle) == {"b": 3, "c": 4}


def test_restoring_makes_the_newest_version_show_the_pin_and_takes_nothing_away(tables, create, rows, contents):
    base = create(rows(a=1))
    stray = tables.commit_exact(base, [tables.stage_append(base, rows(stray=0))])
    assert not tables.newest(base.pin).shows(base.pin.version)
    version = tables.restore(base.pin)
    assert tables.newest(base.pin) == NewestVersion(version=version, restores=base.pin.version)
    assert tables.newest(base.pin).shows(base.pin.version)
    assert not tables.newest(base.pin).shows(stray.pin.version)
    assert contents(tables.open_at(base.pin)) == {"a": 1}
    assert contents(stray) == {"a": 1, "stray": 0}


def test_a_write_after_a_restore_is_an_exact_child_of_the_pin(tables, create, rows, contents):
    base = create(rows(a=1))
    tables.commit_exact(base, [tables.stage_append(base, rows(stray=0))])
    tables.restore(base.pin)
    made = tables.commit_exact(base, [tables.stage_append(base, rows(b=2))], commit_id=COMMIT)
    assert contents(made) == {"a": 1, "b": 2}
    assert tables.newest(base.pin).shows(made.pin.version)


def test_lines_of_a_table_are_put_right_apart(tables, create, rows, contents):
    base = create(rows(a=1))
    forked = tables.fork(base, "b1")
    tables.commit_exact(forked, [tables.stage_append(forked, rows(stray=0))])
    tables.restore(forked.pin)
    assert tables.newest(forked.pin).shows(forked.pin.version)
    assert tables.newest(base.pin) == NewestVersion(version=base.pin.version)
