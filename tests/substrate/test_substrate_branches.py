"""Physical branches of a table: where they live, what they share, and why a name is used once (DESIGN 10).

<uri>/tree/<branch>      opened like a table, at a version; its first version has the number of the fork
substrate.md 0d, 4; engine.md 12.0 P11
"""

from __future__ import annotations

import shutil
import threading
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from lance.commit import CommitConflictError
from lance.fragment import write_fragments
from substrate_steps import (
    Place,
    carried,
    commit,
    ids,
    overwrite,
    publish,
    row_ids,
    rows,
    stage_append,
    stage_delete_keys,
    stage_upsert,
    stamps,
    values,
    versions,
)

BRANCH = "b01jz8qk3v5x6y7z8"


def three_versions(place: Place):
    dataset = place.create(rows(1))
    for key in (2, 3):
        dataset = commit(dataset, stage_append(dataset, rows(key)))
    return dataset


def test_a_branch_is_opened_at_its_own_place_and_begins_with_the_number_of_the_fork(place: Place):
    made = three_versions(place).create_branch(BRANCH, 2)
    assert (made.version, ids(made)) == (2, ["k1", "k2"])
    opened = place.open(2, branch=BRANCH)
    assert (opened.version, ids(opened), versions(opened)) == (2, ["k1", "k2"], [2])
    assert place.open(branch=BRANCH).version == 2


def test_versions_before_the_fork_are_not_on_the_branch(place: Place):
    """So a pin is a branch and a version."""
    three_versions(place).create_branch(BRANCH, 2)
    with pytest.raises(ValueError, match="not found"):
        place.open(1, branch=BRANCH)


def test_a_branch_cannot_be_named_in_the_version(place: Place):
    three_versions(place).create_branch(BRANCH, 2)
    with pytest.raises(OSError, match="version must be an integer or a string"):
        place.open((BRANCH, 2))


def test_a_branch_and_its_parent_do_not_see_each_others_writes(place: Place):
    parent = three_versions(place)
    parent.create_branch(BRANCH, 3)
    branch = place.open(3, branch=BRANCH)
    commit(parent, stage_append(parent, rows(40)))
    branch = commit(branch, stage_upsert(branch, rows(1, 50, value="b")))
    branch = commit(branch, stage_delete_keys(branch, 2))
    assert values(place.open(branch=BRANCH)) == {"k1": "b", "k3": "a", "k50": "b"}
    assert values(place.open()) == {"k1": "a", "k2": "a", "k3": "a", "k40": "a"}
    assert (branch.version, place.open().version) == (5, 4)


def test_a_publish_on_a_branch_is_as_strict_as_on_the_main_line(place: Place):
    three_versions(place).create_branch(BRANCH, 3)
    base = place.open(3, branch=BRANCH)
    after = publish(base, rows(5))
    assert (after.version, ids(after)) == (4, ["k1", "k2", "k3", "k5"])
    with pytest.raises(CommitConflictError):
        publish(base, rows(6))
    assert place.open().version == 3
    assert publish(place.open(), rows(7)).version == 4


def test_metadata_given_with_a_publish_on_a_branch_stays_on_the_branch(place: Place):
    base = place.create(rows(1).replace_schema_metadata({"stamp": "1"}))
    base.create_branch(BRANCH, 1)
    branch = place.open(1, branch=BRANCH)
    assert branch.schema.metadata == {b"stamp": b"1"}
    publish(branch, rows(2), branch.schema.with_metadata({"stamp": "2"}))
    assert place.open(branch=BRANCH).schema.metadata == {b"stamp": b"2"}
    assert place.open().schema.metadata == {b"stamp": b"1"}


def test_a_branch_of_a_branch_lies_beside_its_parent(place: Place):
    three_versions(place).create_branch(BRANCH, 3)
    first = place.open(3, branch=BRANCH)
    first = commit(first, stage_append(first, rows(10)))
    first.create_branch("b2", first.version)
    second = place.open(4, branch="b2")
    second = commit(second, stage_append(second, rows(20)))
    assert ids(place.open(5, branch="b2")) == ["k1", "k2", "k3", "k10", "k20"]
    assert ids(place.open(branch=BRANCH)) == ["k1", "k2", "k3", "k10"]
    listed = place.open().branches.list()
    assert {name: each["parent_branch"] for name, each in listed.items()} == {BRANCH: None, "b2": BRANCH}


def test_a_branch_is_made_from_any_version_of_any_branch(place: Place):
    main = three_versions(place)
    main.create_branch(BRANCH, 1)
    branch = place.open(1, branch=BRANCH)
    commit(branch, stage_append(branch, rows(10)))
    place.open().create_branch("b2", (BRANCH, 2))
    assert ids(place.open(2, branch="b2")) == ["k1", "k10"]


def test_a_name_that_is_taken_is_refused_and_the_branch_untouched(place: Place):
    main = three_versions(place)
    main.create_branch(BRANCH, 2)
    for version in (1, 2, 3):
        with pytest.raises(OSError, match=r"build_manifest|not found"):
            place.open().create_branch(BRANCH, version)
    assert (versions(place.open(branch=BRANCH)), ids(place.open(branch=BRANCH))) == ([2], ["k1", "k2"])


def test_of_makers_of_one_branch_racing_exactly_one_wins(place: Place):
    three_versions(place)
    barrier = threading.Barrier(3)
    won: list[int] = []

    def race(version: int) -> None:
        mine = place.open(version)
        barrier.wait()
        with suppress(OSError):
            mine.create_branch(BRANCH, version)
            won.append(version)

    threads = [threading.Thread(target=race, args=(version,)) for version in (3, 3, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [3]
    assert ids(place.open(3, branch=BRANCH)) == ["k1", "k2", "k3"]


def test_a_branch_whose_ref_was_never_written_opens_and_keeps_its_name(disk: Place):
    """What a crash in the middle of making one leaves: the ref comes last."""
    three_versions(disk).create_branch(BRANCH, 3)
    Path(disk.uri(), "_refs", "branches", f"{BRANCH}.json").unlink()
    assert disk.open().branches.list() == {}
    assert ids(disk.open(3, branch=BRANCH)) == ["k1", "k2", "k3"]
    with pytest.raises(OSError, match="build_manifest"):
        disk.open().create_branch(BRANCH, 3)


def test_row_ids_and_stamps_of_a_branch_repeat_those_of_its_parent(place: Place):
    """Neither is an identity across branches."""
    main = three_versions(place)
    main.create_branch(BRANCH, 3)
    branch = place.open(3, branch=BRANCH)
    main = commit(main, stage_append(main, rows(40)))
    branch = commit(branch, stage_append(branch, rows(50)))
    assert row_ids(main)["k40"] == row_ids(branch)["k50"]
    assert stamps(main)["k40"] == stamps(branch)["k50"] == (4, 4)


def test_every_making_of_a_branch_has_a_mark_of_its_own(place: Place):
    """P11: a witness that a name was re-used."""
    main = place.create(rows(1))
    main.create_branch(BRANCH, 1)
    first = place.open().branches.list()[BRANCH]["branch_identifier"]
    place.open().branches.delete(BRANCH)
    place.open().create_branch(BRANCH, 1)
    second = place.open().branches.list()[BRANCH]["branch_identifier"]
    assert [version for version, _ in first] == [version for version, _ in second] == [1]
    assert first != second


def test_a_handle_on_a_deleted_branch_publishes_into_a_dead_place(place: Place):
    """The writer is told that it succeeded. The ref of the engine, not Lance, says whether a branch lives."""
    main = place.create(rows(1))
    main.create_branch(BRANCH, 1)
    paused = place.open(1, branch=BRANCH)
    place.open().branches.delete(BRANCH)
    assert publish(paused, rows(2)).version == 2
    assert place.open().branches.list() == {}
    assert ids(place.open(branch=BRANCH)) == ["k1", "k2"]


def test_a_paused_writer_destroys_a_branch_made_anew_under_its_name(place: Place):
    """Why a physical name is never used twice."""
    main = place.create(rows(1))
    main.create_branch(BRANCH, 1)
    paused = place.open(1, branch=BRANCH)
    staged = [*carried(paused), *write_fragments(rows(2), paused)]
    place.open().branches.delete(BRANCH)
    place.open().create_branch(BRANCH, 1)
    assert overwrite(paused, staged).version == 2
    assert place.open(branch=BRANCH).version == 2
    with pytest.raises((OSError, pa.ArrowInvalid), match=r"[Nn]ot found"):
        place.open(branch=BRANCH).to_table()


def test_a_branch_with_children_cannot_be_deleted(place: Place):
    main = place.create(rows(1))
    main.create_branch(BRANCH, 1)
    place.open(1, branch=BRANCH).create_branch("b2", 1)
    with pytest.raises(OSError, match="is referenced by"):
        place.open().branches.delete(BRANCH)
    assert set(place.open().branches.list()) == {BRANCH, "b2"}


def test_deleting_a_branch_that_is_not_there_says_so(place: Place):
    with pytest.raises(ValueError, match="does not exist"):
        place.create(rows(1)).branches.delete(BRANCH)


@pytest.mark.parametrize("name", ["main", "a..b", "x.lock", "/x", "x/", "a b", "a#b"])
def test_names_that_lance_refuses(disk: Place, name: str):
    with pytest.raises(OSError, match="Ref is invalid"):
        disk.create(rows(1)).create_branch(name, 1)


def test_a_branch_holds_the_path_of_its_parent_as_it_was_given(disk: Place, tmp_path):
    """A moved graph keeps its main line and loses its branches; so tables are opened by canonical absolute URI."""
    three_versions(disk).create_branch(BRANCH, 3)
    branch = disk.open(3, branch=BRANCH)
    commit(branch, stage_append(branch, rows(9)))
    shutil.move(disk.uri("t"), disk.uri("moved"))
    assert ids(disk.open(name="moved")) == ["k1", "k2", "k3"]
    with pytest.raises((OSError, pa.ArrowInvalid), match=f"[Nn]ot found: {tmp_path}/t/data/"):
        disk.open(4, name="moved", branch=BRANCH).to_table()
    shutil.move(disk.uri("moved"), disk.uri("t"))
    assert ids(disk.open(4, branch=BRANCH)) == ["k1", "k2", "k3", "k9"]


def test_a_relative_path_is_held_relative(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Place(".", {}).create(rows(1)).create_branch(BRANCH, 1)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    with pytest.raises((OSError, pa.ArrowInvalid), match=r"[Nn]ot found"):
        Place(str(tmp_path), {}).open(1, branch=BRANCH).to_table()
