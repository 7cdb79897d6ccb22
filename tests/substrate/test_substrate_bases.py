"""Where a fork finds the files of the line that it came from: by an absolute place in each of its versions.

Lance calls such a place a base. What stands here is why a graph that was moved with other tools needs its forks to be
relocated, why that is done in the files of their versions, and that nothing else of a version depends on the place.
See docs/adr/0023-copies-and-moves.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from lance import DatasetBasePath, LanceDataset, LanceOperation
from lance.file import LanceFileSession
from substrate_steps import STAMPS, Place

from omnigraph.tables.manifest_bases import bases_of, with_bases

LINES = {None: (1, 2), "b1": (2, 3, 4, 5), "b2": (5, 6)}


@pytest.fixture(params=["local", "s3"])
def place(request: pytest.FixtureRequest) -> Place:
    """Shared memory has no files that could be moved."""
    found: Place = request.getfixturevalue("disk" if request.param == "local" else "counted")
    return found


def rows(*ids: str) -> pa.Table:
    return pa.table({"id": list(ids), "word": [each * 3 for each in ids]})


def grow(place: Place) -> None:
    """A table with an index; ``b1`` with rows of its own and rows that are gone; ``b2``, which began as ``b1``."""
    place.create(rows("a", "b", "c")).create_scalar_index("id", "BTREE")
    place.open().create_branch("b1", 2)
    place.open(branch="b1").insert(rows("d"))
    place.open(branch="b1").delete("id = 'a'")
    place.open(branch="b1").insert(rows("e"))
    place.open(branch="b1").create_branch("b2", 5)
    place.open(branch="b2").delete("id = 'd'")


def shown(dataset: LanceDataset) -> Any:
    """Rows with their ids, addresses and stamps, and what an index finds."""
    facts = dataset.scanner(columns=["id", "word", *STAMPS], with_row_id=True, with_row_address=True).to_table()
    by_index = dataset.scanner(columns=["word"], filter="id >= 'c'")
    assert "ScalarIndexQuery" in by_index.explain_plan() or dataset.version == 1
    return facts.to_pydict(), by_index.to_table()["word"].to_pylist()


def everything(place: Place, name: str) -> dict[tuple[str | None, int], Any]:
    return {
        (line, version): shown(place.open(version, name=name, branch=line))
        for line, of_line in LINES.items()
        for version in of_line
    }


class Files:
    """The files of a table, and those of another place with the same names."""

    def __init__(self, place: Place, scratch: Path, name: str = "t") -> None:
        self.uri = place.uri(name)
        self.session = LanceFileSession(self.uri, storage_options=dict(place.options))
        self.scratch = scratch / "file"

    def read(self, name: str) -> bytes:
        self.session.download_file(name, self.scratch)
        return self.scratch.read_bytes()

    def write(self, name: str, data: bytes) -> None:
        self.scratch.write_bytes(data)
        self.session.upload_file(self.scratch, name)

    def versions(self) -> list[str]:
        return [each for each in self.session.list() if each.startswith("tree/") and each.endswith(".manifest")]

    def copy_to(self, other: Files) -> None:
        for each in self.session.list():
            other.write(each, self.read(each))

    def remove(self) -> None:
        for each in self.session.list():
            self.session.delete_file(each)


def test_every_version_of_a_fork_names_the_place_of_its_table_and_none_of_the_main_line_does(
    place: Place, tmp_path: Path
):
    grow(place)
    for version in LINES[None]:
        assert place.open(version).base_paths() == {}
    for line, bases in (("b1", [place.uri()]), ("b2", [place.uri(), place.uri(branch="b1")])):
        for version in LINES[line]:
            dataset = place.open(version, branch=line)
            assert sorted(each.path for each in dataset.base_paths().values()) == bases
    files = Files(place, tmp_path)
    found = {each: sorted(bases_of(files.read(each))) for each in files.versions()}
    assert {tuple(each) for each in found.values()} == {(place.uri(),), (place.uri(), place.uri(branch="b1"))}


def test_a_fork_that_was_copied_reads_the_files_of_the_original_in_silence(place: Place, tmp_path: Path):
    grow(place)
    original, copy = Files(place, tmp_path), Files(place, tmp_path, "there")
    original.copy_to(copy)
    for each in copy.session.list():
        if each.startswith("data/"):
            copy.session.delete_file(each)
    # Its rows lie in files that the copy does not have any more.
    assert place.open(name="there", branch="b2").to_table()["id"].to_pylist() == ["b", "c", "e"]
    original.remove()
    with pytest.raises((OSError, ValueError), match="Not found"):
        place.open(name="there", branch="b2").to_table()


def test_a_version_whose_bases_are_replaced_in_its_file_is_what_it_was(place: Place, tmp_path: Path):
    grow(place)
    original, there = Files(place, tmp_path), Files(place, tmp_path, "there")
    before = everything(place, "t")
    original.copy_to(there)
    original.remove()
    for each in there.versions():
        data = there.read(each)
        changed = with_bases(data, lambda base: base.replace(original.uri, there.uri))
        assert with_bases(changed, lambda base: base.replace(there.uri, original.uri)) == data
        there.write(each, changed)
    assert everything(place, "there") == before
    # It goes on as any other: rows, an index over them, a branch of the branch.
    place.open(name="there", branch="b2").insert(rows("f"))
    place.open(name="there", branch="b2").optimize.optimize_indices()
    grown = place.open(name="there", branch="b2")
    assert grown.scanner(filter="id = 'f'").to_table()["word"].to_pylist() == ["fff"]
    third = grown.create_branch("b3", grown.version)
    third.delete("id = 'b'")
    assert place.open(name="there", branch="b3").to_table()["id"].to_pylist() == ["c", "e", "f"]


def test_the_call_that_adds_bases_helps_the_newest_version_only_and_no_index(disk: Place, tmp_path: Path):
    """Why it was not taken: tags and older commits of a branch, and merges of branches of it, need older versions."""
    grow(disk)
    newest = disk.open(branch="b1")
    Files(disk, tmp_path).copy_to(Files(disk, tmp_path, "there"))
    Files(disk, tmp_path).remove()
    there = disk.open(name="there", branch="b1")
    there.add_bases([DatasetBasePath(path=disk.uri("there"), id=7, name="here", is_dataset_root=True)])
    there = disk.open(name="there", branch="b1")
    assert there.version == newest.version + 1
    parts = []
    for fragment in (each.metadata for each in there.get_fragments()):
        for file in fragment.files:
            if file.base_id is not None:
                file.base_id = 7
        parts.append(fragment)
    update = LanceOperation.Update(updated_fragments=parts, update_mode="rewrite_rows")
    LanceDataset.commit(there, update, read_version=there.version, max_retries=0)
    there = disk.open(name="there", branch="b1")
    assert there.to_table()["id"].to_pylist() == ["b", "c", "d", "e"]
    with pytest.raises((OSError, ValueError), match="Not found"):
        there.scanner(filter="id >= 'c'").to_table()
    for version in (*LINES["b1"], newest.version + 1):
        with pytest.raises((OSError, ValueError), match="Not found"):
            disk.open(version, name="there", branch="b1").to_table()
