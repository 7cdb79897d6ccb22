"""A transaction's id and properties come back from the version that it made (DESIGN 3; engine.md 12.0 P4).

The sidecar holds planned ids; recovery asks the history of each table for them. So "is this mine" is looked up, never
guessed. An id is a witness and no guard: only a publish recognises its own repetition.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from lance import LanceDataset, LanceOperation, Transaction
from lance.commit import CommitConflictError
from lance.fragment import write_fragments
from substrate_steps import (
    Place,
    carried,
    commit,
    commit_detached,
    ids,
    publish,
    rows,
    stage_append,
    stage_delete,
    stage_delete_keys,
    stage_overwrite,
    stage_upsert,
    versions,
)

PLANNED = "0f5a8a70-0000-4000-8000-00000000000a"
PROPERTIES = {"omnigraph.operation": "01JZ", "empty": "", "text": "ü 日本 'quoted'"}


def signed(transaction: Transaction, uuid: str = PLANNED) -> Transaction:
    transaction.uuid = uuid
    transaction.transaction_properties = PROPERTIES
    return transaction


def restore_of_the_base(base: LanceDataset) -> Transaction:
    return Transaction(base.version, LanceOperation.Restore(base.version))


def index_of_ids(base: LanceDataset) -> Transaction:
    index = base.create_index_uncommitted("id", "BTREE", name="id_btree", fragment_ids=[0])
    return Transaction(base.version, LanceOperation.CreateIndex([index], []))


STAGED = {
    "append": lambda base: stage_append(base, rows(5)),
    "upsert": lambda base: stage_upsert(base, rows(1, 5)),
    "delete by predicate": lambda base: stage_delete(base, "id = 'k1'"),
    "delete by key": lambda base: stage_delete_keys(base, 1),
    "overwrite": lambda base: stage_overwrite(base, rows(5)),
    "publish": lambda base: Transaction(base.version, LanceOperation.Overwrite(base.schema, carried(base))),
    "restore": restore_of_the_base,
    "index": index_of_ids,
}


@pytest.mark.parametrize("kind", STAGED)
def test_the_id_and_the_properties_of_a_commit_come_back_from_its_version(place: Place, kind: str):
    base = place.create(rows(1, 2))
    version = commit(base, signed(STAGED[kind](base))).version
    for reader in (place.open(version), place.open(base.version)):
        found = reader.read_transaction(version)
        assert (found.uuid, found.transaction_properties, found.read_version) == (PLANNED, PROPERTIES, base.version)


def test_the_first_version_has_its_id_and_properties_too(place: Place):
    place.commit_create(signed(place.stage_create(rows(1))))
    assert place.open().read_transaction(1).uuid == PLANNED
    assert place.open().read_transaction(1).transaction_properties == PROPERTIES


def test_a_detached_version_has_the_id_of_its_own_step_and_the_promoted_one_that_of_the_restore(place: Place):
    pin = place.create(rows(1))
    detached = commit_detached(pin, signed(stage_append(pin, rows(2))))
    assert place.open(detached.version).read_transaction(detached.version).uuid == PLANNED
    other = PLANNED.replace("a", "b")
    promoted = commit(pin, signed(Transaction(pin.version, LanceOperation.Restore(detached.version)), other))
    found = place.open(promoted.version).read_transaction(promoted.version)
    assert found.uuid == other
    assert isinstance(found.operation, LanceOperation.Restore)
    assert found.operation.version == detached.version


def test_a_rebased_commit_keeps_its_id(place: Place):
    base = place.create(rows(1))
    staged = signed(stage_append(base, rows(2)))
    commit(base, stage_append(base, rows(66)))
    after = commit(base, staged)
    found = place.open().read_transaction(after.version)
    assert (found.uuid, found.read_version) == (PLANNED, base.version)


def test_an_id_need_not_be_a_uuid(place: Place):
    base = place.create(rows(1))
    after = commit(base, signed(stage_append(base, rows(2)), "01JZ8QK3V5-Person"))
    assert place.open().read_transaction(after.version).uuid == "01JZ8QK3V5-Person"


def test_ids_are_found_below_a_branch(place: Place):
    place.create(rows(1)).create_branch("b1", 1)
    base = place.open(1, branch="b1")
    commit(base, signed(stage_append(base, rows(2))))
    assert place.open(2, branch="b1").read_transaction(2).uuid == PLANNED


def test_the_history_is_read_without_the_transaction_files(disk: Place):
    """Each manifest holds its transaction; the files beside it need not be durable."""
    base = disk.create(rows(1))
    staged = signed(stage_append(base, rows(2)))
    staged.transaction_properties = {"large": "x" * 1_000_000}
    commit(base, staged)
    for name in disk.files():
        if name.startswith("_transactions/"):
            Path(disk.uri(), name).unlink()
    found = disk.open().read_transaction(2)
    assert (found.uuid, len(found.transaction_properties["large"])) == (PLANNED, 1_000_000)
    assert ids(commit(base, stage_append(base, rows(3)))) == ["k1", "k2", "k3"]


def test_committing_one_transaction_twice_writes_its_rows_twice(place: Place):
    """An id is a witness, not a guard: whoever retries looks for it first."""
    base = place.create(rows(1))
    staged = signed(stage_append(base, rows(2)))
    commit(base, staged)
    assert ids(commit(base, staged)) == ["k1", "k2", "k2"]


def test_publishing_one_transaction_again_answers_with_the_version_that_it_made(place: Place):
    """Lance looks who holds base+1 before it calls a conflict; so a lost answer may simply be asked for again."""
    base = place.create(rows(1))
    staged = signed(STAGED["publish"](base))
    first = commit(base, staged)
    publish(first, rows(3))
    assert commit(base, staged).version == first.version
    assert versions(place.open()) == [1, 2, 3]
    assert ids(place.open()) == ["k1", "k3"]


def test_publishing_other_rows_under_a_used_id_conflicts(place: Place):
    base = place.create(rows(1))
    commit(base, signed(STAGED["publish"](base)))
    fragments = [*carried(base), *write_fragments(rows(9), base)]
    with pytest.raises(CommitConflictError):
        commit(base, signed(Transaction(base.version, LanceOperation.Overwrite(base.schema, fragments))))


def test_equal_publishes_under_two_ids_conflict(place: Place):
    base = place.create(rows(1))
    commit(base, signed(STAGED["publish"](base)))
    with pytest.raises(CommitConflictError):
        commit(base, signed(STAGED["publish"](base), PLANNED.replace("a", "b")))
