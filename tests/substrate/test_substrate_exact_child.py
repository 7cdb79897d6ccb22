"""Committing a table as an exact child of its pin (DESIGN 1; substrate.md 0, 0c, 3; engine.md 12.0 P3, P9).

    pin ── ordinary commit ──> pin+1: exact           the common case
    pin ── rival's version ──> ordinary commit        rebased: the rival's rows are inside, or a conflict
    pin ── detached commit ──> Restore                exact, whatever HEAD is

So an ordinary commit is accepted only on pin+1, and everything else goes by Restore.
"""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from lance import LanceDataset, LanceOperation
from lance.commit import CommitConflictError
from lance.optimize import Compaction
from substrate_steps import (
    Place,
    commit,
    commit_detached,
    ids,
    promote,
    publish,
    row_ids,
    rows,
    stage_append,
    stage_delete,
    stage_delete_keys,
    stage_overwrite,
    stage_upsert,
    values,
    versions,
)

STAGED = {
    "append": (lambda base: stage_append(base, rows(5)), {"k1": "a", "k2": "a", "k5": "a"}),
    "upsert of a new key": (lambda base: stage_upsert(base, rows(5)), {"k1": "a", "k2": "a", "k5": "a"}),
    "upsert": (lambda base: stage_upsert(base, rows(1, 5, value="b")), {"k1": "b", "k2": "a", "k5": "b"}),
    "delete by predicate": (lambda base: stage_delete(base, "id = 'k1'"), {"k2": "a"}),
    "delete by key": (lambda base: stage_delete_keys(base, 1), {"k2": "a"}),
    "overwrite": (lambda base: stage_overwrite(base, rows(5)), {"k5": "a"}),
}
REBASED = ["append", "upsert of a new key", "upsert", "delete by predicate", "delete by key"]


@pytest.mark.parametrize("kind", STAGED)
def test_an_ordinary_commit_on_the_newest_version_lands_on_the_next(place: Place, kind: str):
    stage, expected = STAGED[kind]
    base = place.create(rows(1, 2))
    after = commit(base, stage(base))
    assert after.version == base.version + 1
    assert values(after) == expected


@pytest.mark.parametrize("kind", REBASED)
def test_an_ordinary_commit_takes_a_rivals_rows_along_although_it_may_not_retry(place: Place, kind: str):
    """The leak; the version that it landed on is what tells."""
    stage, expected = STAGED[kind]
    base = place.create(rows(1, 2))
    staged = stage(base)
    commit(base, stage_append(base, rows(66)))
    after = commit(base, staged)
    assert after.version == base.version + 2
    assert values(after) == expected | {"k66": "a"}


def test_two_staged_changes_of_one_fragment_conflict(place: Place):
    base = place.create(rows(1, 2))
    upsert, delete = stage_upsert(base, rows(1, value="b")), stage_delete_keys(base, 2)
    commit(base, stage_delete(base, "id = 'k2'"))
    for staged in (upsert, delete):
        with pytest.raises(CommitConflictError) as caught:
            commit(base, staged)
        assert caught.value.retryable


@pytest.mark.parametrize("kind", REBASED)
def test_an_ordinary_commit_after_a_foreign_restore_conflicts_for_good(place: Place, kind: str):
    base = place.create(rows(1, 2))
    staged = STAGED[kind][0](base)
    promote(base, commit_detached(base, stage_append(base, rows(66))))
    with pytest.raises(CommitConflictError, match="Restore") as caught:
        commit(base, staged)
    assert not caught.value.retryable


def leave_nothing(_base: LanceDataset) -> None:
    pass


def leave_append(base: LanceDataset) -> None:
    commit(base, stage_append(base, rows(66)))


def leave_several(base: LanceDataset) -> None:
    after = commit(base, stage_upsert(base, rows(1, 67, value="x")))
    commit(after, stage_delete_keys(after, 2))


def leave_overwrite(base: LanceDataset) -> None:
    commit(base, stage_overwrite(base, rows(66)))


def leave_promoted(base: LanceDataset) -> None:
    promote(base, commit_detached(base, stage_append(base, rows(66))))


LEFT = {"nothing": leave_nothing, "append": leave_append, "several": leave_several, "overwrite": leave_overwrite,
        "promoted": leave_promoted}  # fmt: skip


@pytest.mark.parametrize("left", LEFT)
@pytest.mark.parametrize("kind", STAGED)
def test_a_promoted_version_is_the_pin_plus_the_staged_write_whatever_was_left_behind(
    place: Place, kind: str, left: str
):
    stage, expected = STAGED[kind]
    pin = place.create(rows(1, 2))
    LEFT[left](pin)
    head = place.open().version
    detached = commit_detached(pin, stage(pin))
    assert values(detached) == expected
    promoted = promote(pin, detached)
    assert promoted.version == head + 1
    assert values(place.open(promoted.version)) == expected
    assert versions(place.open()) == list(range(1, head + 2))


def test_a_detached_version_is_never_the_newest_and_in_no_list(place: Place):
    base = place.create(rows(1))
    detached = commit_detached(base, stage_append(base, rows(2)))
    assert detached.version >= 2**63
    assert (place.open().version, versions(place.open())) == (base.version, [base.version])
    assert ids(place.open(detached.version)) == ["k1", "k2"]


def test_detached_versions_chain_and_promote_as_one(place: Place):
    """How several staged steps on one table become one version: stage each on the detached one before."""
    pin = place.create(rows(1, 2, 3))
    commit(pin, stage_append(pin, rows(66)))
    first = commit_detached(pin, stage_upsert(pin, rows(1, 5, value="b")))
    second = commit_detached(first, stage_delete_keys(first, 2))
    promoted = promote(pin, second)
    assert values(promoted) == {"k1": "b", "k3": "a", "k5": "b"}
    assert promoted.version == pin.version + 2


def test_nothing_but_detached_commits_can_be_built_on_a_detached_version(place: Place):
    base = place.create(rows(1))
    detached = commit_detached(base, stage_append(base, rows(2)))
    with pytest.raises(OSError, match="detached"):
        commit(detached, stage_append(detached, rows(3)))
    assert place.open().version == base.version


def test_a_promoted_version_does_not_need_the_detached_manifest(disk: Place):
    pin = disk.create(rows(1))
    detached = commit_detached(pin, stage_append(pin, rows(2)))
    promoted = promote(pin, detached)
    Path(disk.uri(), "_versions", f"d{detached.version}.manifest").unlink()
    assert ids(disk.open(promoted.version)) == ["k1", "k2"]
    after = commit(disk.open(promoted.version), stage_upsert(promoted, rows(1, 3, value="b")))
    assert values(after) == {"k1": "b", "k2": "a", "k3": "b"}


def test_promotion_keeps_row_ids_and_never_gives_one_twice(place: Place):
    pin = place.create(rows(1, 2))
    commit(pin, stage_append(pin, rows(66, 67)))
    promoted = promote(pin, commit_detached(pin, stage_upsert(pin, rows(2, 5, value="b"))))
    found = row_ids(promoted)
    assert (found["k1"], found["k2"]) == (row_ids(pin)["k1"], row_ids(pin)["k2"])
    after = row_ids(commit(promoted, stage_append(promoted, rows(6))))
    assert {key: after[key] for key in found} == found
    assert len(set(after.values())) == 4


def test_promotion_keeps_indexes(place: Place):
    base = place.create(rows(*range(50)))
    index = base.create_index_uncommitted("id", "BTREE", name="id_btree", fragment_ids=[0])
    pin = LanceDataset.commit(base, LanceOperation.CreateIndex([index], []), read_version=base.version)
    commit(pin, stage_append(pin, rows(66)))
    promoted = promote(pin, commit_detached(pin, stage_append(pin, rows(77))))
    assert [each.name for each in promoted.describe_indices()] == ["id_btree"]
    assert "ScalarIndexQuery" in promoted.scanner(filter="id = 'k7'").explain_plan()
    assert [promoted.count_rows(f"id = 'k{key}'") for key in (7, 77, 66)] == [1, 1, 0]


def test_promotion_works_on_a_branch_and_leaves_the_parent_alone(place: Place):
    place.create(rows(1)).create_branch("b1", 1)
    pin = place.open(1, branch="b1")
    commit(pin, stage_append(pin, rows(66)))
    promoted = promote(pin, commit_detached(pin, stage_upsert(pin, rows(1, 5, value="b"))))
    assert promoted.version == 3
    assert values(place.open(3, branch="b1")) == {"k1": "b", "k5": "b"}
    assert (place.open().version, ids(place.open())) == (1, ["k1"])


def test_a_version_made_by_a_strict_overwrite_can_be_a_pin(place: Place):
    pin = publish(place.create(rows(1)), rows(2))
    commit(pin, stage_append(pin, rows(66)))
    assert ids(promote(pin, commit_detached(pin, stage_append(pin, rows(3))))) == ["k1", "k2", "k3"]


def test_concurrent_promotions_from_one_pin_all_land_each_with_its_own_content(place: Place):
    pin = place.create(rows(0))
    barrier = threading.Barrier(4)
    landed: dict[int, int] = {}

    def race(key: int) -> None:
        mine = place.open(pin.version)
        detached = commit_detached(mine, stage_append(mine, rows(key)))
        barrier.wait()
        operation = LanceOperation.Restore(detached.version)
        landed[key] = LanceDataset.commit(mine, operation, read_version=mine.version).version

    threads = [threading.Thread(target=race, args=(key,)) for key in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(landed.values()) == [2, 3, 4, 5]
    assert {key: ids(place.open(version)) for key, version in landed.items()} == {
        key: ["k0", f"k{key}"] for key in (1, 2, 3, 4)
    }


def test_a_pin_can_be_built_upon_after_the_versions_behind_it_were_removed(place: Place):
    """Garbage collection may leave gaps between a pin and HEAD; neither way to commit stumbles over them."""
    pin = place.create(rows(1))
    left = pin
    for key in (66, 67, 68):
        left = commit(left, stage_append(left, rows(key)))
    place.open().cleanup_old_versions(versions=[2, 3])
    assert ids(commit(pin, stage_append(pin, rows(2)))) == ["k1", "k66", "k67", "k68", "k2"]
    promoted = promote(pin, commit_detached(pin, stage_append(pin, rows(3))))
    assert (promoted.version, ids(promoted)) == (6, ["k1", "k3"])


def test_restore_brings_the_newest_version_back_to_the_pin(place: Place):
    """How compaction, repair and recovery make other Lance tools see the published data again."""
    pin = place.create(rows(1))
    left = commit(pin, stage_append(pin, rows(66)))
    commit(left, stage_delete_keys(left, 1))
    LanceDataset.commit(pin, LanceOperation.Restore(pin.version), read_version=pin.version, max_retries=0)
    assert (place.open().version, ids(place.open())) == (4, ["k1"])


def compact(base: LanceDataset) -> LanceDataset:
    plan = Compaction.plan(base, options={"target_rows_per_fragment": 1000})
    results = [task.execute(base) for task in plan.tasks]
    assert base.latest_version == base.version
    Compaction.commit(base, results)
    return base


def test_compaction_adds_exactly_two_versions_and_keeps_the_rows(place: Place):
    """DESIGN 6: the one commit that cannot be staged."""
    pin = place.create(rows(1))
    for key in (2, 3):
        pin = commit(pin, stage_append(pin, rows(key)))
    kept, version = row_ids(pin), pin.version
    after = compact(place.open(version))
    assert after.version == version + 2
    assert len(after.get_fragments()) == 1
    assert row_ids(after) == kept
    assert isinstance(after.read_transaction(version + 2).operation, LanceOperation.Rewrite)


def test_compaction_takes_a_rivals_rows_along(place: Place):
    """Why it is accepted only when exactly its own two versions were added."""
    pin = commit(place.create(rows(1)), stage_append(place.open(), rows(2)))
    mine = place.open(pin.version)
    results = [task.execute(mine) for task in Compaction.plan(mine, options={"target_rows_per_fragment": 1000}).tasks]
    commit(pin, stage_append(pin, rows(66)))
    Compaction.commit(mine, results)
    assert mine.version == pin.version + 3
    assert sorted(ids(mine)) == ["k1", "k2", "k66"]
