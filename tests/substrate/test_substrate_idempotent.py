"""A publish repeated: the very same transaction from the same version has no second effect (DESIGN 5, 6).

That is how an answer that was lost is settled: the publisher asks again. What is pinned is how much "the same" means:
the id and the operation. Other files under the same id are a conflict, the same id from a newer version is a new
version, and an Append is never the same.
"""

from __future__ import annotations

import pytest
from lance import LanceDataset, LanceOperation, Transaction
from lance.commit import CommitConflictError
from lance.fragment import FragmentMetadata, write_fragments
from substrate_steps import Place, carried, commit, ids, publish, rows, stage_append, versions

OURS = "0b6d3c5e-53c1-4be5-9d6a-2f0c4a8e7b10"
OTHER = "9f1e8d7c-6b5a-4c3d-8e2f-1a0b9c8d7e6f"


def transaction(base: LanceDataset, new: list[FragmentMetadata], uuid: str = OURS) -> Transaction:
    operation = LanceOperation.Overwrite(base.schema, [*carried(base), *new])
    return Transaction(base.version, operation, uuid, transaction_properties={"commit": "c2"})


def test_the_same_publish_again_gives_the_version_that_it_made(place: Place):
    base = place.create(rows(1))
    new = write_fragments(rows(2), base)
    first = commit(base, transaction(base, new))
    # From the held handle, from another one, and built anew from the same files.
    for handle in (base, place.open(1), base):
        again = commit(handle, transaction(handle, new))
        assert again.version == first.version == 2
        assert ids(again) == ["k1", "k2"]
    assert versions(place.open()) == [1, 2]


def test_it_gives_its_own_version_below_those_that_came_later(place: Place):
    base = place.create(rows(1))
    new = write_fragments(rows(2), base)
    later = commit(base, transaction(base, new))
    for number in (3, 4, 5):
        later = publish(later, rows(number))
    again = commit(base, transaction(base, new))
    assert again.version == 2
    assert ids(again) == ["k1", "k2"]
    assert again.latest_version == later.version == 5
    assert versions(place.open()) == [1, 2, 3, 4, 5]
    # What it gives can be published on no more than the version that it is.
    with pytest.raises(CommitConflictError):
        publish(again, rows(9))


def test_a_publish_that_lost_stays_lost_however_often_it_is_repeated(place: Place):
    base = place.create(rows(1))
    new = write_fragments(rows(2), base)
    publish(base, rows(3))
    for _ in range(2):
        with pytest.raises(CommitConflictError):
            commit(base, transaction(base, new))
    assert ids(place.open()) == ["k1", "k3"]


def test_other_files_under_the_same_id_are_a_conflict(place: Place):
    base = place.create(rows(1))
    commit(base, transaction(base, write_fragments(rows(2), base)))
    with pytest.raises(CommitConflictError):
        commit(base, transaction(base, write_fragments(rows(2), base)))
    assert versions(place.open()) == [1, 2]


def test_the_same_files_under_another_id_are_a_conflict(place: Place):
    base = place.create(rows(1))
    new = write_fragments(rows(2), base)
    commit(base, transaction(base, new))
    with pytest.raises(CommitConflictError):
        commit(base, transaction(base, new, OTHER))
    assert versions(place.open()) == [1, 2]


def test_the_same_id_from_a_newer_version_is_a_new_version(place: Place):
    base = place.create(rows(1))
    after = commit(base, transaction(base, write_fragments(rows(2), base)))
    again = commit(after, transaction(after, write_fragments(rows(3), after)))
    assert again.version == 3
    assert ids(again) == ["k1", "k2", "k3"]


def test_an_append_repeated_appends_again(place: Place):
    base = place.create(rows(1))
    staged = stage_append(base, rows(2))
    commit(base, staged)
    assert commit(base, staged).version == 3
    assert ids(place.open()) == ["k1", "k2", "k2"]


def test_a_create_repeated_fails_and_the_first_version_says_whose_it_is(place: Place):
    """In words that change with the moment: who lost is told by the id of the first version, and by nothing else."""
    ours, theirs = place.stage_create(rows(1)), place.stage_create(rows(2))
    ours.uuid, theirs.uuid = OURS, OTHER
    place.commit_create(ours)
    for staged in (ours, theirs):
        with pytest.raises(OSError, match=r"not found|already exists|conflict"):
            place.commit_create(staged)
    assert place.open(1).read_transaction(1).uuid == OURS
    assert versions(place.open()) == [1]
    assert ids(place.open()) == ["k1"]
    with pytest.raises(OSError, match="already exists"):
        place.stage_create(rows(3))
