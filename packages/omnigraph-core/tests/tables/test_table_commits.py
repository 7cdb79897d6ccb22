"""A commit is an exact child of the pinned version, whatever others left on the table meanwhile."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation
from lance.dataset import Transaction

from omnigraph.errors import InternalError, StorageCondition, StorageError
from omnigraph.tables.counting import count_table_calls
from omnigraph.tables.interface import IndexSpec
from omnigraph.tables.lance_tables import LanceTables
from omnigraph.tables.row_filters import Compared

STAMPS = ["id", "_row_created_at_version", "_row_last_updated_at_version"]


def foreign_append(tables, base, rows):
    return tables.commit_exact(base, [tables.stage_append(base, rows(foreign=66))])


def foreign_upsert(tables, base, rows):
    return tables.commit_exact(base, [tables.stage_upsert(base, rows(b=66))])


def foreign_delete(tables, base, rows):
    return tables.commit_exact(base, [tables.stage_delete_keys(base, pa.array(["a"]))])


def foreign_overwrite(tables, base, rows):
    return tables.commit_exact(base, [tables.stage_overwrite(base, rows(foreign=66))])


def foreign_restore(tables, base, rows):
    left = foreign_append(tables, base, rows)
    LanceDataset.commit(left.dataset, LanceOperation.Restore(1), read_version=left.pin.version)
    return left


FOREIGN = [foreign_append, foreign_upsert, foreign_delete, foreign_overwrite, foreign_restore]

OURS = {
    "append": (lambda tables, base, rows: tables.stage_append(base, rows(z=9)), {"a": 1, "b": 2, "z": 9}),
    "upsert": (lambda tables, base, rows: tables.stage_upsert(base, rows(b=7, z=9)), {"a": 1, "b": 7, "z": 9}),
    "overwrite": (lambda tables, base, rows: tables.stage_overwrite(base, rows(z=9)), {"z": 9}),
    "delete": (lambda tables, base, rows: tables.stage_delete(base, Compared("n", "=", pa.scalar(2))), {"a": 1}),
    "index": (
        lambda tables, base, rows: tables.stage_indexes(base, [IndexSpec(column="id", kind="btree", name="id_btree")]),
        {"a": 1, "b": 2},
    ),
}


@pytest.mark.parametrize("foreign", FOREIGN, ids=lambda each: each.__name__)
@pytest.mark.parametrize("ours", OURS)
def test_what_another_writer_left_on_the_table_does_not_leak_in(foreign, ours, tables, create, rows, contents):
    stage, expected = OURS[ours]
    base = create(rows(a=1, b=2))
    staged = stage(tables, base, rows)
    left = foreign(tables, base, rows)
    theirs = contents(left)
    after = tables.commit_exact(base, [staged])
    assert contents(after) == expected
    assert after.dataset.read_transaction(after.pin.version).uuid == staged.transaction_id
    # A fresh process sees the same, and the other writer's version is as it was.
    fresh = LanceTables(tables._adapter)
    assert fresh.count_rows(fresh.open_at(after.pin)) == len(expected)
    assert contents(left) == theirs
    assert tables.indexes(after) == (
        (IndexSpec(column="id", kind="btree", name="id_btree"),) if ours == "index" else ()
    )


def test_a_commit_with_nobody_in_between_is_one_ordinary_commit(tables, create, rows):
    base = tables.open_at(create(rows(a=1)).pin)
    staged = tables.stage_append(base, rows(b=2))
    with count_table_calls() as counts:
        after = tables.commit_exact(base, [staged])
    assert counts == {"commit": 1}
    assert after.pin.version == base.pin.version + 1


def test_thirty_commits_from_one_pin_are_thirty_versions_each_with_its_own_content(tables, create, rows, contents):
    base = create(rows(a=1))
    start = threading.Barrier(6)

    def commit_five(worker: int) -> list[tuple[str, str, object]]:
        start.wait()
        made = []
        for turn in range(5):
            name = f"w{worker}t{turn}"
            staged = tables.stage_append(base, rows(**{name: turn}))
            made.append((name, staged.transaction_id, tables.commit_exact(base, [staged])))
        return made

    with ThreadPoolExecutor(6) as pool:
        made = [each for some in pool.map(commit_five, range(6)) for each in some]
    assert len({handle.pin.version for _, _, handle in made}) == 30
    fresh = LanceTables(tables._adapter)
    for name, transaction_id, handle in made:
        again = fresh.open_at(handle.pin)
        assert set(fresh.read(again).read_all()["id"].to_pylist()) == {"a", name}
        assert again.dataset.read_transaction(handle.pin.version).uuid == transaction_id


def test_versions_that_are_pinned_survive_many_commits(tables, create, rows, contents):
    first = handle = create(rows(a=1))
    for turn in range(25):
        handle = tables.commit_exact(handle, [tables.stage_append(handle, rows(**{f"n{turn}": turn}))])
    fresh = LanceTables(tables._adapter)
    assert fresh.count_rows(fresh.open_at(first.pin)) == 1
    assert fresh.count_rows(fresh.open_at(handle.pin)) == 26


# ── several staged writes ────────────────────────────────────────────────────────────────────────────────────────────


def test_several_appends_are_one_version_with_distinct_row_ids(tables, create, rows, contents):
    base = create(rows(a=1))
    staged = [tables.stage_append(base, rows(**{name: 2})) for name in ("b", "c", "d")]
    assert contents(base, staged) == {"a": 1, "b": 2, "c": 2, "d": 2}
    after = tables.commit_exact(base, staged)
    assert contents(after) == {"a": 1, "b": 2, "c": 2, "d": 2}
    assert after.pin.version == base.pin.version + 1
    found = after.dataset.to_table(columns=[], with_row_id=True)["_rowid"].to_pylist()
    assert len(set(found)) == 4
    assert after.dataset.read_transaction(after.pin.version).uuid == staged[-1].transaction_id


def test_a_delete_after_an_upsert_sees_what_the_upsert_wrote(tables, create, rows, contents):
    base = create(rows(a=1, b=2, c=3))
    staged = [tables.stage_upsert(base, rows(a=50, z=60)), tables.stage_delete(base, Compared("n", ">=", pa.scalar(3)))]
    assert contents(base, staged) == {"b": 2}
    after = tables.commit_exact(base, staged)
    assert contents(after) == {"b": 2}
    assert after.dataset.read_transaction(after.pin.version).uuid == staged[-1].transaction_id


def test_an_upsert_and_a_delete_of_the_same_fragment_do_not_undo_each_other(tables, create, rows, contents):
    base = create(rows(a=1, b=2, c=3))
    staged = [tables.stage_upsert(base, rows(a=10)), tables.stage_delete_keys(base, pa.array(["b"]))]
    assert contents(tables.commit_exact(base, staged)) == {"a": 10, "c": 3}


def test_a_delete_that_has_nothing_left_to_delete_is_left_out(tables, create, rows, contents):
    base = create(rows(a=1, b=2))
    staged = [tables.stage_overwrite(base, rows(z=1)), tables.stage_delete(base, Compared("n", "=", pa.scalar(2)))]
    after = tables.commit_exact(base, staged)
    assert contents(after) == {"z": 1}
    assert after.dataset.read_transaction(after.pin.version).uuid == staged[-1].transaction_id


@pytest.mark.parametrize("foreign", [None, foreign_append], ids=["alone", "foreign"])
@pytest.mark.parametrize("has_delete", [False, True])
def test_written_rows_are_stamped_with_the_version_after_the_pin(foreign, has_delete, tables, create, rows):
    base = create(rows(a=1, b=2))
    staged = [tables.stage_upsert(base, rows(b=7, z=9))]
    if has_delete:
        staged.append(tables.stage_delete_keys(base, pa.array(["a"])))
    if foreign is not None:
        foreign(tables, base, rows)
    after = tables.commit_exact(base, staged)
    found = {row.pop("id"): tuple(row.values()) for row in after.dataset.to_table(columns=STAMPS).to_pylist()}
    expected = {"a": (1, 1), "b": (1, 2), "z": (2, 2)}
    if has_delete:
        del expected["a"]
    assert found == expected


@pytest.mark.parametrize(
    "stages",
    [
        lambda tables, base, rows: [],
        lambda tables, base, rows: [tables.stage_delete_keys(base, pa.array(["a"])), tables.stage_append(base, rows())],
        lambda tables, base, rows: [tables.stage_append(base, rows(z=1)), tables.stage_overwrite(base, rows(y=1))],
        lambda tables, base, rows: [
            tables.stage_overwrite(base, rows(z=1)),
            tables.stage_indexes(base, [IndexSpec(column="id", kind="btree", name="id_btree")]),
        ],
    ],
)
def test_steps_that_cannot_be_one_commit_are_refused(stages, tables, create, rows):
    base = create(rows(a=1))
    with pytest.raises(InternalError):
        tables.commit_exact(base, stages(tables, base, rows))


def test_a_write_staged_on_another_version_is_refused(tables, create, rows):
    base = create(rows(a=1))
    staged = tables.stage_append(base, rows(b=2))
    after = tables.commit_exact(base, [tables.stage_append(base, rows(c=3))])
    with pytest.raises(InternalError, match="cannot be committed on"):
        tables.commit_exact(after, [staged])


# ── failures ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def failing_commits(monkeypatch):
    """The next commits raise these errors, after their effect or before it."""
    plan: list[tuple[str, Exception]] = []
    commit = LanceDataset.commit

    def fail(*arguments, **options):
        moment, error = plan.pop(0) if plan else ("never", OSError())
        if moment == "before":
            raise error
        made = commit(*arguments, **options)
        if moment == "after":
            raise error
        return made

    monkeypatch.setattr(LanceDataset, "commit", staticmethod(fail))
    return plan


def test_a_commit_whose_answer_was_lost_is_found_and_not_made_twice(tables, create, rows, contents, failing_commits):
    base = create(rows(a=1))
    staged = tables.stage_append(base, rows(b=2))
    failing_commits.append(("after", OSError("Generic S3 error: error sending request")))
    after = tables.commit_exact(base, [staged])
    assert after.pin.version == base.pin.version + 1
    assert contents(after) == {"a": 1, "b": 2}
    assert after.dataset.latest_version == after.pin.version


def test_a_create_whose_answer_was_lost_is_found(tables, schema, rows, contents, failing_commits):
    staged = tables.stage_create("nodes/person", schema, rows(a=1))
    failing_commits.append(("after", OSError("operation timed out")))
    assert contents(tables.commit_create(staged)) == {"a": 1}


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("LanceError(IO): No space left on device (os error 28)", StorageCondition.CONFIGURATION),
        ("Generic S3 error: error sending request", StorageCondition.TRANSIENT),
        ("something new", StorageCondition.UNKNOWN),
    ],
)
def test_a_store_in_trouble_fails_the_commit_and_leaves_no_version(
    text, condition, tables, create, rows, failing_commits
):
    base = create(rows(a=1))
    staged = tables.stage_append(base, rows(b=2))
    failing_commits.append(("before", OSError(text)))
    with pytest.raises(StorageError) as caught:
        tables.commit_exact(base, [staged])
    assert caught.value.condition is condition
    assert isinstance(caught.value.__cause__, OSError)
    assert base.dataset.latest_version == base.pin.version
    # The same staged write can be committed when the store is well.
    assert tables.count_rows(tables.commit_exact(base, [staged])) == 2


def test_a_create_in_trouble_fails_and_can_be_repeated(tables, schema, rows, failing_commits):
    staged = tables.stage_create("nodes/person", schema, rows(a=1))
    failing_commits.append(("before", OSError("Permission denied (os error 13)")))
    with pytest.raises(StorageError) as caught:
        tables.commit_create(staged)
    assert caught.value.condition is StorageCondition.CONFIGURATION
    assert tables.count_rows(tables.commit_create(staged)) == 1


def test_lance_alone_would_have_leaked(tables, create, rows):
    """Why commits are exact: the hazard itself, so that a change in Lance is noticed."""
    base = create(rows(a=1))
    staged = tables.stage_append(base, rows(b=2))
    foreign_append(tables, base, rows)
    landed = LanceDataset.commit(base.dataset, staged.transaction, max_retries=0)
    assert set(landed.to_table()["id"].to_pylist()) == {"a", "b", "foreign"}


def test_a_restore_orphans_what_was_appended_before_it(tables, create, rows):
    """Why the newest version means nothing: promotion puts older content on top of an unpublished version."""
    base = create(rows(a=1))
    left = foreign_append(tables, base, rows)
    restore = Transaction(read_version=base.pin.version, operation=LanceOperation.Restore(base.pin.version))
    made = LanceDataset.commit(base.dataset, restore)
    assert made.version == left.pin.version + 1
    assert made.to_table()["id"].to_pylist() == ["a"]
