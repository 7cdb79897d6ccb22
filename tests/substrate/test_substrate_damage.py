"""What is left of a table after a loss of power on a local disk, and what Lance makes of it (DESIGN 8).

A manifest that was linked and never synced may come back empty. Then nothing opens the newest version and nothing
commits, while every older version opens: a read-write open moves such a file away, of tables as of ``__manifest``.
The hint and the transaction files may be lost without harm.
"""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation
from lance.commit import CommitConflictError
from substrate_steps import (
    Place,
    commit,
    commit_detached,
    ids,
    promote,
    publish,
    rows,
    stage_append,
    stage_delete_keys,
    versions,
)

DAMAGES = {"empty": 0, "cut short": 100}
UNREADABLE = r"object of size 0 bytes|file size is too small"


def manifest(place: Place, version: int, name: str = "t") -> Path:
    return Path(place.uri(name), "_versions", f"{2**64 - 1 - version:020d}.manifest")


def hint(place: Place) -> Path:
    return Path(place.uri(), "_versions", "latest_version_hint.json")


def history(place: Place, length: int) -> LanceDataset:
    dataset = place.create(rows(1))
    for key in range(2, length + 1):
        dataset = commit(dataset, stage_append(dataset, rows(key)))
    return dataset


def keys(last: int) -> list[str]:
    return [f"k{key}" for key in range(1, last + 1)]


# ── manifests ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_newest_manifest_makes_the_newest_version_unopenable_and_no_other(disk: Place, damage: str):
    history(disk, 4)
    os.truncate(manifest(disk, 4), DAMAGES[damage])
    for version in (None, 4):
        with pytest.raises((ValueError, OSError), match=UNREADABLE):
            disk.open(version)
    assert [ids(disk.open(version)) for version in (1, 2, 3)] == [keys(1), keys(2), keys(3)]
    assert disk.open(3).latest_version == 4


@pytest.mark.parametrize("damage", DAMAGES)
def test_nothing_but_a_detached_commit_works_above_a_damaged_newest_manifest(disk: Place, damage: str):
    """So a damaged version of a table that was never published blocks its pin as well."""
    history(disk, 4)
    os.truncate(manifest(disk, 4), DAMAGES[damage])
    pin = disk.open(3)
    with pytest.raises(OSError, match=UNREADABLE):
        commit(pin, stage_append(pin, rows(9)))
    detached = commit_detached(pin, stage_append(pin, rows(9)))
    assert ids(detached) == [*keys(3), "k9"]
    with pytest.raises(OSError, match=UNREADABLE):
        promote(pin, detached)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_publish_onto_a_damaged_version_does_not_know_its_outcome(disk: Place, damage: str):
    """It is no conflict: Lance cannot read who holds the number."""
    history(disk, 4)
    os.truncate(manifest(disk, 4), DAMAGES[damage])
    with pytest.raises(OSError, match="Commit result for version 4 is unknown") as caught:
        publish(disk.open(3), rows(9))
    assert not isinstance(caught.value, CommitConflictError)
    assert manifest(disk, 4).stat().st_size == DAMAGES[damage]


def test_a_damaged_newest_manifest_that_is_moved_away_leaves_the_version_before(disk: Place):
    """The quarantine: any name that does not end in .manifest will do, in the same directory."""
    history(disk, 4)
    os.truncate(manifest(disk, 4), 0)
    manifest(disk, 4).rename(manifest(disk, 4).with_suffix(".manifest.damaged"))
    assert (disk.open().version, ids(disk.open()), versions(disk.open())) == (3, keys(3), [1, 2, 3])
    assert publish(disk.open(), rows(9)).version == 4
    assert ids(disk.open()) == [*keys(3), "k9"]


def test_a_manifest_that_never_reached_its_directory_leaves_the_version_before(disk: Place):
    history(disk, 4)
    manifest(disk, 4).unlink()
    assert (disk.open().version, ids(disk.open())) == (3, keys(3))
    after = commit(disk.open(), stage_append(disk.open(), rows(9)))
    assert (after.version, ids(after)) == (4, [*keys(3), "k9"])


def test_a_damaged_version_below_the_newest_stops_only_what_has_to_pass_it(disk: Place):
    """Lance reads every version after the one that was read. A Restore may say that it read the newest."""
    history(disk, 5)
    os.truncate(manifest(disk, 4), 0)
    assert ids(disk.open()) == keys(5)
    pin = disk.open(3)
    detached = commit_detached(pin, stage_append(pin, rows(9)))
    with pytest.raises(OSError, match=UNREADABLE):
        commit(pin, stage_append(pin, rows(8)))
    with pytest.raises(OSError, match=UNREADABLE):
        promote(pin, detached)
    operation = LanceOperation.Restore(detached.version)
    promoted = LanceDataset.commit(pin, operation, read_version=pin.latest_version, max_retries=0)
    assert (promoted.version, ids(promoted)) == (6, [*keys(3), "k9"])


def test_a_branch_with_a_damaged_manifest_leaves_the_others_alone(disk: Place):
    base = history(disk, 2)
    for name in ("b1", "b2"):
        base.create_branch(name, 2)
        branch = disk.open(2, branch=name)
        commit(branch, stage_append(branch, rows(9)))
    os.truncate(manifest(disk, 3, "t/tree/b1"), 0)
    with pytest.raises((ValueError, OSError), match=UNREADABLE):
        disk.open(branch="b1")
    assert ids(disk.open(2, branch="b1")) == keys(2)
    assert ids(disk.open(branch="b2")) == [*keys(2), "k9"]
    assert ids(disk.open()) == keys(2)


# ── the hint ─────────────────────────────────────────────────────────────────────────────────────────────────────────

HINTS = {
    "missing": None, "empty": b"", "zeros": b"\0" * 13, "no json": b"{'", "stale": b'{"version":1}',
    "beyond": b'{"version":9}', "huge": b'{"version":18446744073709551615}',
}  # fmt: skip


@pytest.mark.parametrize("kind", HINTS)
def test_the_hint_is_never_believed(disk: Place, kind: str):
    """It only says where to begin to look; the directory of versions is the truth."""
    history(disk, 4)
    content = HINTS[kind]
    hint(disk).unlink() if content is None else hint(disk).write_bytes(content)
    assert (disk.open().version, ids(disk.open())) == (4, keys(4))
    pin = disk.open(3)
    with pytest.raises(CommitConflictError):
        publish(pin, rows(8))
    assert ids(promote(pin, commit_detached(pin, stage_append(pin, rows(8))))) == [*keys(3), "k8"]
    newest = disk.open()
    assert (newest.version, ids(newest)) == (5, [*keys(3), "k8"])
    assert commit(newest, stage_append(newest, rows(9))).version == 6
    assert hint(disk).read_bytes() == b'{"version":6}'


def test_a_stale_hint_before_a_gap_lets_a_commit_land_in_the_gap_as_an_exact_child(disk: Place):
    """Not on the newest version, but on pin+1 and right; DESIGN 1 asks for no more."""
    pin = history(disk, 1)
    newest = pin
    for key in (66, 67, 68):
        newest = commit(newest, stage_append(newest, rows(key)))
    newest.cleanup_old_versions(versions=[2])
    hint(disk).write_bytes(b'{"version":1}')
    after = commit(pin, stage_append(pin, rows(9)))
    assert (after.version, ids(after)) == (2, ["k1", "k9"])
    assert disk.open().version == 4


# ── other files ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("is_removed", [True, False])
def test_lost_transaction_files_are_not_missed(disk: Place, is_removed: bool):
    history(disk, 4)
    for path in Path(disk.uri(), "_transactions").iterdir():
        path.unlink() if is_removed else os.truncate(path, 0)
    assert ids(disk.open()) == keys(4)
    assert [disk.open().read_transaction(version).read_version for version in (2, 3, 4)] == [1, 2, 3]
    pin = disk.open(3)
    assert ids(commit(pin, stage_append(pin, rows(9)))) == [*keys(4), "k9"]
    assert ids(promote(pin, commit_detached(pin, stage_append(pin, rows(8))))) == [*keys(3), "k8"]


def test_unfinished_files_of_an_interrupted_commit_are_passed_over(disk: Place):
    """The names under which Lance writes before it links or renames."""
    base = history(disk, 3)
    top = Path(disk.uri())
    for name in (f"{manifest(disk, 4).name}#1", ".tmpAbCdEf", "7.manifest.damaged"):
        (top / "_versions" / name).write_bytes(b"")
    (top / "data" / ".tmpAbCdEf").write_bytes(b"")
    (top / "_transactions" / ".tmpAbCdEf").write_bytes(b"")
    assert (disk.open().version, versions(disk.open())) == (3, [1, 2, 3])
    assert commit(base, stage_append(base, rows(4))).version == 4
    assert publish(disk.open(), rows(5)).version == 5
    assert ids(disk.open()) == keys(5)


def test_an_emptied_data_file_is_an_error_for_those_who_read_it_and_for_nobody_else(disk: Place):
    base = history(disk, 1)
    after = commit(base, stage_append(base, rows(2)))
    (file,) = after.get_fragments()[1].metadata.files
    os.truncate(Path(disk.uri(), "data", file.path), 0)
    with pytest.raises((OSError, pa.ArrowInvalid)):
        disk.open().to_table()
    assert ids(disk.open(1)) == keys(1)
    assert ids(promote(base, commit_detached(base, stage_append(base, rows(3))))) == ["k1", "k3"]


def test_an_emptied_deletion_file_is_an_error_and_never_brings_rows_back(disk: Place):
    base = disk.create(rows(1, 2))
    after = commit(base, stage_delete_keys(base, 1))
    fragment = after.get_fragments()[0].metadata
    os.truncate(Path(disk.uri(), fragment.deletion_file.path(fragment.id)), 0)
    with pytest.raises((OSError, pa.ArrowInvalid)):
        disk.open().to_table()
    assert ids(disk.open(1)) == keys(2)
