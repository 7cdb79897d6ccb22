"""A directory of a graph that was moved or copied with the tools of the system: main works, each branch says one thing.

A line of a branch names the place where it was made. What lies elsewhere may be gone, or be another graph by now, so
it is never read.
"""

from __future__ import annotations

import itertools
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from moving_world import ADD, SCHEMA, WHAT_BRANCHES_HOLD, codes, film, make, tell

import omnigraph as og
from omnigraph.errors import (
    DeadlineError,
    FormatError,
    InvalidInputError,
    ReadOnlyError,
    RelocationRequiredError,
)
from omnigraph.failpoints import PUBLISH_BEFORE_COMMIT, RELOCATE_TABLES_DONE
from omnigraph.tables import relocating
from omnigraph.testing.faults import Raise, armed
from omnigraph.testing.invariants import assert_graph_is_whole


@pytest.fixture(scope="module", params=["moved", "copied"])
def elsewhere(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a graph that was made at another place; if it was copied, the first one is there still."""
    folder = tmp_path_factory.mktemp("elsewhere")
    root = make(folder / "here" / "graph")
    if request.param == "moved":
        return root.rename(folder / "there")
    shutil.copytree(root, folder / "there")
    with og.open(root) as graph:
        # What the copy must not show.
        graph.load([film("later")], "append", branch="review")
    return folder / "there"


@pytest.fixture
def moved(elsewhere: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(elsewhere, tmp_path / "a graph"))


def test_main_of_a_moved_graph_is_read_and_written(moved: Path):
    with og.open(moved, mode="r") as graph:
        assert codes(graph) == ["m1", "m2"]
        assert codes(graph, snapshot="second") == ["m1", "m2"]
        assert len(graph.commits.list()) == 3
    with og.open(moved) as graph:
        graph.mutate(ADD, params={"code": "m3"})
        graph.branches.create("new")
        graph.load([film("new")], "append", branch="new")
        assert codes(graph, "new") == ["m1", "m2", "m3", "new"]
        graph.branches.merge("new")
        graph.maintain.ensure_indices()
    with og.open(moved) as graph:
        assert codes(graph) == ["m1", "m2", "m3", "new"]


ASKED: dict[str, Callable[[og.Graph, str], object]] = {
    "read": lambda graph, name: graph.table("Film", branch=name),
    "snapshot": lambda graph, name: graph.snapshot(name),
    "show": lambda graph, name: graph.branches.show(name),
    "diff": lambda graph, name: list(graph.diff("main", name)),
    "export": lambda graph, name: list(graph.export(branch=name)),
    "commits": lambda graph, name: graph.commits.list(name),
    "load": lambda graph, name: graph.load([film("x")], "append", branch=name),
    "mutate": lambda graph, name: graph.mutate(ADD, params={"code": "x"}, branch=name),
    "merge": lambda graph, name: graph.branches.merge(name),
    "merge into": lambda graph, name: graph.branches.merge("main", name),
    "branch of": lambda graph, name: graph.branches.create("other", name),
    "indices": lambda graph, name: graph.maintain.ensure_indices(name),
}


def test_every_verb_on_a_branch_of_a_moved_graph_names_the_way_out(moved: Path):
    with og.open(moved) as graph:
        for name, ask in itertools.product(("deep", "fresh", "review"), ASKED.values()):
            with pytest.raises(
                RelocationRequiredError, match=f"^{name} .*omnigraph repair '?{moved}'? --relocate"
            ) as caught:
                ask(graph, name)
            assert isinstance(caught.value, FormatError)
            assert caught.value.details["branch"] == name
            assert caught.value.details["uri"] == str(moved)


def test_the_listing_of_a_moved_graph_marks_its_branches_and_no_other(moved: Path):
    with og.open(moved) as graph:
        graph.branches.create("new")
        found = {each.name: each for each in graph.branches.list()}
    assert list(found) == ["main", "deep", "fresh", "new", "review"]
    assert [name for name, each in found.items() if each.problem is None] == ["main", "new"]
    for name in ("deep", "fresh", "review"):
        assert found[name].head is None
        assert "--relocate" in str(found[name].problem)


def test_tags_and_commits_of_a_branch_of_a_moved_graph_name_the_way_out(moved: Path):
    with og.open(moved, mode="r") as graph:
        tag = next(each for each in graph.tags.list() if each.name == "reviewed")
        for at in ("reviewed", tag.commit_id):
            with pytest.raises(RelocationRequiredError, match="--relocate"):
                graph.table("Film", snapshot=at)


def test_a_branch_of_a_moved_graph_can_be_deleted(moved: Path):
    with og.open(moved) as graph:
        graph.branches.delete("review")
        assert [each.name for each in graph.branches.list()] == ["main", "deep", "fresh"]


def test_a_graph_that_is_reached_by_another_name_was_not_moved(tmp_path: Path):
    root = make(tmp_path / "graph")
    (tmp_path / "link").symlink_to(root)
    moved = root.rename(tmp_path / "real")
    root.symlink_to(moved)
    for name in ("link", "graph", "real"):
        with og.open(tmp_path / name) as graph:
            assert {each.name: codes(graph, each.name) for each in graph.branches.list()} == WHAT_BRANCHES_HOLD


def test_a_cut_off_write_to_a_branch_does_not_keep_a_moved_graph_from_being_opened(tmp_path: Path):
    root = make(tmp_path / "graph")
    cut_off = armed({PUBLISH_BEFORE_COMMIT: Raise(KeyboardInterrupt())})
    with og.open(root) as graph, cut_off, pytest.raises(KeyboardInterrupt):
        graph.load([film("cut")], "append", branch="review")
    there = root.rename(tmp_path / "there")
    with og.open(there) as graph:
        assert codes(graph) == ["m1", "m2"]
        graph.load([film("m3")], "append")


# ── and then it is repaired ──────────────────────────────────────────────────────────────────────────────────────────


def relocated(root: Path) -> dict[str, object]:
    with og.open(root) as graph:
        report = graph.maintain.repair(relocate=True)
        assert report.to_dict() == {"relocated": ["deep", "fresh", "review"], "versions": report.versions}
        assert report.versions > 3
        # This handle sees it too.
        found = tell(graph)
    with og.open(root) as again:
        assert tell(again) == found
        assert again.maintain.repair(relocate=True).to_dict() == {"relocated": [], "versions": 0}
    return found


@pytest.mark.parametrize("is_copied", [True, False])
def test_a_graph_that_was_repaired_shows_what_it_showed_where_it_was(tmp_path: Path, is_copied: bool):
    root, there = make(tmp_path / "here" / "graph"), tmp_path / "there"
    with og.open(root) as graph:
        before = tell(graph)
    if is_copied:
        shutil.copytree(root, there)
        assert relocated(there) == before
        with og.open(root) as graph:
            assert tell(graph) == before
        shutil.rmtree(root)
    else:
        root.rename(there)
        assert relocated(there) == before
    with og.open(there) as graph:
        assert tell(graph) == before
        assert_graph_is_whole(graph)


def test_branches_that_were_repaired_are_written_and_merged(moved: Path):
    relocated(moved)
    with og.open(moved) as graph:
        # It reads what review had when deep began, which is an older version of review now.
        graph.mutate(ADD, params={"code": "r2"}, branch="review")
        graph.mutate(ADD, params={"code": "f1"}, branch="fresh")
        assert graph.branches.merge("review", "deep").outcome == "merged"
        assert codes(graph, "deep") == ["deep", "m1", "r2", "review"]
        graph.branches.merge("deep")
        graph.branches.merge("fresh")
        assert codes(graph) == ["deep", "f1", "m1", "m2", "r2", "review"]
        assert codes(graph, snapshot="reviewed") == ["m1", "review"]
        graph.maintain.ensure_indices("deep")
        graph.branches.create("deeper", "deep")
        graph.load([film("deeper")], "append", branch="deeper")
        assert_graph_is_whole(graph)


def test_a_handle_that_was_refused_reads_the_branch_when_another_one_repaired_it(moved: Path):
    with og.open(moved, mode="r") as reader:
        with pytest.raises(RelocationRequiredError):
            reader.table("Film", branch="deep")
        relocated(moved)
        assert codes(reader, "deep") == WHAT_BRANCHES_HOLD["deep"]


def test_a_repair_that_was_cut_off_leaves_branches_refused_or_whole_and_is_repeated(moved: Path):
    with og.open(moved) as graph, armed({RELOCATE_TABLES_DONE: Raise(KeyboardInterrupt())}):
        with pytest.raises(KeyboardInterrupt):
            graph.maintain.repair(relocate=True)
        with pytest.raises(RelocationRequiredError):
            graph.table("Film", branch="review")
    relocated(moved)


def test_a_damaged_version_is_named_and_the_others_are_repaired(moved: Path):
    refs = {each.stem: json.loads(each.read_text())["physical"] for each in (moved / "_refs/branches").iterdir()}
    damaged = next(moved.glob(f"__manifest/*/tree/{refs['fresh']}/_versions/*.manifest"))
    damaged.write_bytes(b"nothing of Lance")
    with og.open(moved) as graph:
        with pytest.raises(FormatError, match=re.escape(damaged.name)) as caught:
            graph.maintain.repair(relocate=True)
        assert not isinstance(caught.value, RelocationRequiredError)
        assert codes(graph, "deep") == WHAT_BRANCHES_HOLD["deep"]
        graph.branches.delete("fresh")


def test_a_repair_says_what_it_needs(tmp_path: Path):
    root = make(tmp_path / "graph")
    with og.open(root) as graph:
        with pytest.raises(InvalidInputError, match="relocate=True"):
            graph.maintain.repair()
        with pytest.raises(DeadlineError):
            graph.maintain.repair(relocate=True, deadline=0)
        assert graph.maintain.repair(relocate=True).versions == 0
    with og.open(root, mode="r") as graph, pytest.raises(ReadOnlyError):
        graph.maintain.repair(relocate=True)
    with og.init("memory://repaired", schema=SCHEMA) as graph:
        graph.branches.create("review")
        assert graph.maintain.repair(relocate=True).versions == 0


def test_a_write_that_was_cut_off_before_the_move_is_settled_after_the_repair(tmp_path: Path):
    root = make(tmp_path / "graph")
    with og.open(root) as graph, armed({PUBLISH_BEFORE_COMMIT: Raise(SystemError())}), pytest.raises(SystemError):
        graph.load([film("cut")], "append", branch="review")
    there = root.rename(tmp_path / "there")
    with og.open(there) as graph:
        graph.maintain.repair(relocate=True)
    with og.open(there) as graph:
        assert graph.recoveries.pending() == []
        assert codes(graph, "review") in (["m1", "review"], ["cut", "m1", "review"])
        assert_graph_is_whole(graph)


def test_versions_too_large_for_a_control_object_are_relocated_too(moved: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(relocating, "MAX_OBJECT_BYTES", 0)
    relocated(moved)
