"""A directory of a graph that was moved or copied with the tools of the system: main works, each branch says one thing.

A line of a branch names the place where it was made. What lies elsewhere may be gone, or be another graph by now, so
it is never read.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from branch_world import ADD, SCHEMA, codes, film

import omnigraph as og
from omnigraph.errors import FormatError, RelocationRequiredError
from omnigraph.failpoints import PUBLISH_BEFORE_COMMIT
from omnigraph.testing.faults import Raise, armed

WHAT_BRANCHES_HOLD = {
    "main": ["m1", "m2"],
    "deep": ["deep", "m1", "review"],
    "fresh": ["m1"],
    "review": ["m1", "review"],
}
"""``fresh`` has no line of a table of its own; ``deep`` began as ``review``, on whose lines it reads."""


def make(root: Path) -> Path:
    with og.init(root, schema=SCHEMA, actor="ann") as graph:
        graph.load([film("m1")], "append")
        graph.branches.create("review")
        graph.branches.create("fresh")
        graph.load([film("review")], "append", branch="review")
        graph.tags.create("reviewed", graph.branches.show("review").head)
        graph.branches.create("deep", "review")
        graph.load([film("deep")], "append", branch="deep")
        graph.load([film("m2")], "append")
        graph.tags.create("second", graph.branches.show("main").head)
    return root


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
