"""Fragments rewritten as one by a Rewrite that is built by hand, without the two versions of Lance's own compaction.

CompactionTask.from_json ── execute ──> files ── a number above all used ones ──> Rewrite: one commit or detached step

The number is what Lance's compaction reserves in a version of its own. A commit that is an exact child of the version
it was built on needs no reservation, if the number is free: no fragment has it, and no index names it.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

import pytest
from lance import LanceDataset, LanceOperation, Transaction
from lance.commit import CommitConflictError
from lance.optimize import Compaction, CompactionTask
from substrate_people import KINDS, covered, created, found, people, segments, stage_index, uncovered_rows
from substrate_steps import (
    REWRITE_OPTIONS,
    Place,
    commit,
    commit_detached,
    ids,
    promote,
    rewritten,
    row_ids,
    rows,
    stage_append,
    stage_delete,
    stage_replace,
    stage_rewrite,
    stamps,
    values,
    versions,
)

ONE_PARTITION = {"num_partitions": 1}


def grown(place: Place) -> LanceDataset:
    """Four fragments, k0 k10 | k1 k11 | k2 k12 | k3 k13."""
    base = place.create(rows(0, 10))
    for key in (1, 2, 3):
        base = commit(base, stage_append(base, rows(key, 10 + key)))
    return base


def numbers(dataset: LanceDataset) -> list[int]:
    return [each.fragment_id for each in dataset.get_fragments()]


# ── one commit ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_rewrite_with_a_free_number_is_one_version_without_a_reservation(place: Place):
    base = grown(place)
    staged = stage_rewrite(base, [1, 2, 3], 4)
    assert versions(place.open()) == [1, 2, 3, 4]
    after = commit(base, staged)
    assert (after.version, numbers(after)) == (5, [0, 4])
    assert values(place.open()) == values(base)
    assert isinstance(after.read_transaction(5).operation, LanceOperation.Rewrite)


def test_rows_keep_their_row_ids_and_both_stamps(place: Place):
    base = grown(place)
    base = commit(base, stage_replace(base, rows(2, value="b"), [2 << 32]))
    base = commit(base, stage_delete(base, "id = 'k3'"))
    after = commit(base, stage_rewrite(base, [1, 2, 3, 4], 5))
    assert numbers(after) == [0, 5]
    assert values(after) == values(base)
    assert row_ids(after) == row_ids(base)
    assert stamps(after) == stamps(base)
    assert stamps(after)["k2"] == (3, 5)


def test_deleted_rows_are_gone_from_the_new_fragment(place: Place):
    base = grown(place)
    base = commit(base, stage_delete(base, "id in ('k1', 'k12')"))
    after = commit(base, stage_rewrite(base, [1, 2], 4))
    made = after.get_fragment(4).metadata
    assert (made.physical_rows, made.deletion_file) == (2, None)


def test_a_task_made_from_json_needs_no_more_than_lances_own_tasks_tell(place: Place):
    base = grown(place)
    (planned,) = Compaction.plan(base, options={"target_rows_per_fragment": 1000}).tasks
    facts = json.loads(planned.json())
    assert set(facts) == {"task", "read_version", "options"}
    assert set(facts["task"]) == {"fragments"}
    assert set(REWRITE_OPTIONS) <= set(facts["options"])
    facts["task"]["fragments"] = facts["task"]["fragments"][1:3]
    (new,) = CompactionTask.from_json(json.dumps(facts)).execute(base).new_fragments
    assert new.physical_rows == 4
    for name in REWRITE_OPTIONS:
        with pytest.raises(ValueError, match=f"missing field `{name}`"):
            CompactionTask.from_json(
                json.dumps(
                    facts | {"options": {each: REWRITE_OPTIONS[each] for each in REWRITE_OPTIONS if each != name}}
                )
            )


def test_fragments_need_not_lie_side_by_side(place: Place):
    base = grown(place)
    after = commit(base, stage_rewrite(base, [0, 2], 4))
    assert numbers(after) == [1, 3, 4]
    # The rows that were rewritten come last now.
    assert ids(after) == ["k1", "k11", "k3", "k13", "k0", "k10", "k2", "k12"]
    assert (row_ids(after), stamps(after)) == (row_ids(base), stamps(base))


def test_a_number_that_is_taken_is_refused(place: Place):
    base = grown(place)
    with pytest.raises(OSError, match="two fragments with id 3"):
        commit(base, stage_rewrite(base, [1, 2], 3))
    assert versions(place.open()) == [1, 2, 3, 4]


def test_a_task_leaves_the_number_0_for_which_lance_gives_the_next_that_was_never_used(place: Place):
    """On another version, such as one with a rival's rows, too: then it rebases."""
    base = grown(place)
    assert [each.id for each in rewritten(base, [1, 2])] == [0]
    base = commit(base, stage_delete(base, "id in ('k3', 'k13')"))
    assert numbers(base) == [0, 1, 2]
    staged = stage_rewrite(base, [1, 2], 0)
    assert numbers(commit_detached(base, staged)) == [0, 4]
    commit(base, stage_append(base, rows(66)))
    assert numbers(commit(base, staged)) == [0, 4, 5]


def test_fragments_that_come_later_get_higher_numbers_and_new_row_ids(place: Place):
    base = grown(place)
    after = commit(base, stage_rewrite(base, [1, 2, 3], 7))
    later = commit(after, stage_append(after, rows(99)))
    assert numbers(later) == [0, 7, 8]
    assert row_ids(later)["k99"] not in row_ids(base).values()


def test_a_rewrite_after_a_rivals_append_is_refused_and_after_its_delete_a_conflict(place: Place):
    """The one says that the number is taken, which is no conflict to Lance."""
    base = grown(place)
    staged = stage_rewrite(base, [1, 2], 4)
    commit(base, stage_append(base, rows(66)))
    with pytest.raises(OSError, match="two fragments with id 4"):
        commit(base, staged)
    base = place.open()
    staged = stage_rewrite(base, [1, 2], 5)
    commit(base, stage_delete(base, "id = 'k1'"))
    with pytest.raises(CommitConflictError):
        commit(base, staged)
    assert sorted(values(place.open())) == ["k0", "k10", "k11", "k12", "k13", "k2", "k3", "k66"]


def test_the_files_of_a_task_hold_for_a_later_version_that_has_the_same_fragments(place: Place):
    base = grown(place)
    (new,) = rewritten(base, [1, 2])
    later = commit(base, stage_append(base, rows(4)))
    before = [later.get_fragment(each).metadata for each in (1, 2)]
    group = LanceOperation.RewriteGroup(before, [dataclasses.replace(new, id=5)])
    after = commit(later, Transaction(later.version, LanceOperation.Rewrite([group], [])))
    assert numbers(after) == [0, 3, 4, 5]
    assert (values(after), row_ids(after), stamps(after)) == (values(later), row_ids(later), stamps(later))


# ── with indexes ─────────────────────────────────────────────────────────────────────────────────────────────────────


def indexed(place: Place, kind: str, *fragments: Sequence[int]) -> LanceDataset:
    """Four fragments of ten people each, and a segment over each of these groups of them."""
    base = place.create(people(*range(10)))
    for first in (10, 20, 30):
        base = commit(base, stage_append(base, people(*range(first, first + 10))))
    for number, each in enumerate(fragments):
        options = ONE_PARTITION if kind == "IVF_FLAT" else {}
        base = commit(base, created(base, stage_index(base, kind, list(each), replace=bool(number), **options)))
    return base


def found_everywhere(dataset: LanceDataset, kind: str) -> bool:
    return all(found(dataset, kind, key) == [f"k{key}"] for key in (3, 13, 23, 33))


@pytest.mark.parametrize("kind", KINDS)
def test_what_an_index_covers_stays_covered_when_others_are_rewritten(place: Place, kind: str):
    base = indexed(place, kind, [0])
    after = commit(base, stage_rewrite(base, [1, 2, 3], 4))
    assert covered(after, kind.lower()) == [[0]]
    assert uncovered_rows(after, kind) == 30
    assert found_everywhere(place.open(), kind)


@pytest.mark.parametrize("kind", KINDS)
def test_dropping_rewriting_and_indexing_become_one_version_by_detached_steps(place: Place, kind: str):
    base = indexed(place, kind, [0], [1, 2])
    dropped = [each for each in segments(base, kind.lower()) if 1 in each.fragment_ids]
    rival = commit(base, stage_append(base, people(66)))
    first = commit_detached(base, created(base, removed=dropped))
    staged = stage_rewrite(base, [1, 2, 3], 4)
    second = commit_detached(first, dataclasses.replace(staged, read_version=first.version))
    options = ONE_PARTITION if kind == "IVF_FLAT" else {}
    third = commit_detached(second, created(second, stage_index(second, kind, [4], replace=True, **options)))
    promoted = promote(rival, third)
    for dataset in (third, place.open(promoted.version)):
        assert numbers(dataset) == [0, 4]
        assert covered(dataset, kind.lower()) == [[0], [4]]
        assert found_everywhere(dataset, kind)
        assert (row_ids(dataset), stamps(dataset)) == (row_ids(base), stamps(base))
    assert "k66" in ids(place.open(rival.version))


@pytest.mark.parametrize("kind", ["INVERTED", "IVF_FLAT"])
@pytest.mark.parametrize("covering", [[[0, 1]], [[1], [2]]], ids=["one segment", "two segments"])
def test_fragments_that_a_segment_covers_only_some_of_cannot_be_rewritten(place: Place, kind: str, covering):
    base = indexed(place, kind, *covering)
    with pytest.raises(OSError, match="a split of indexed and non-indexed data"):
        commit(base, stage_rewrite(base, [1, 2], 4))
    assert place.open().version == base.version


def test_a_tree_that_covers_only_some_of_them_loses_those(place: Place):
    """And its segments stay, with nothing that they cover."""
    base = indexed(place, "BTREE", [0], [1], [2])
    after = commit(base, stage_rewrite(base, [1, 2, 3], 4))
    assert covered(after, "btree") == [[], [], [0]]
    assert found_everywhere(after, "BTREE")


@pytest.mark.parametrize(("kind", "left"), [("BTREE", []), ("INVERTED", [4]), ("IVF_FLAT", [4])])
def test_a_segment_over_all_of_them_covers_the_new_fragment_unless_it_is_a_tree(place: Place, kind: str, left):
    base = indexed(place, kind, [1, 2])
    after = commit(base, stage_rewrite(base, [1, 2], 4))
    assert covered(after, kind.lower()) == [left]
    assert found_everywhere(place.open(), kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_that_an_index_still_names_hides_rows(place: Place, kind: str):
    """The trap: a fragment is gone, its number is above all others, and an index seems to cover whoever has it."""
    base = indexed(place, kind, [3])
    base = commit(
        base, stage_delete(base, "id in ('k30', 'k31', 'k32', 'k33', 'k34', 'k35', 'k36', 'k37', 'k38', 'k39')")
    )
    assert (numbers(base), covered(base, kind.lower())) == ([0, 1, 2], [[3]])
    assert commit_detached(base, stage_append(base, people(50))).get_fragments()[-1].fragment_id == 4
    hidden = commit_detached(base, stage_rewrite(base, [0, 1, 2], 3))
    assert hidden.count_rows() == 30
    assert [found(hidden, kind, key) for key in (3, 13, 23)] == [[], [], []]
    free = commit(base, stage_rewrite(base, [0, 1, 2], 4))
    assert [found(free, kind, key) for key in (3, 13, 23)] == [["k3"], ["k13"], ["k23"]]
