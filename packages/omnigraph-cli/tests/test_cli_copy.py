"""``omnigraph copy`` and ``omnigraph repair --relocate``, as a person and as a script use them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import omnigraph as og
from omnigraph.failpoints import COPY_FILE_COPIED
from omnigraph.testing.faults import Raise, armed
from omnigraph_cli.main import cli


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


def document(*words: str, code: int = 0) -> dict[str, Any]:
    done = run(*words, "--json")
    assert done.exit_code == code, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with og.init("g.omni", schema="node Film { code: String @key }") as graph:
        graph.load([{"type": "Film", "data": {"code": "a"}}], "append")
        graph.branches.create("review")
        graph.load([{"type": "Film", "data": {"code": "b"}}], "append", branch="review")
        graph.tags.create("v1")
    return tmp_path


def films(place: str) -> list[str]:
    with og.open(place, mode="r") as graph:
        return sorted(row["code"] for row in graph.table("Film", branch="review"))


def test_a_graph_is_copied_and_the_copy_is_told(root: Path):
    done = document("copy", "g.omni", "copy.omni")
    assert (done["source"], done["target"]) == (str(root / "g.omni"), str(root / "copy.omni"))
    assert (done["branches"], done["tags"], done["lost"]) == (["main", "review"], ["v1"], [])
    assert films("copy.omni") == ["a", "b"]
    told = run("copy", "copy.omni", "second.omni", "--no-verify")
    first, second = told.stdout.splitlines()
    head = f"copied {root / 'copy.omni'} to {root / 'second.omni'}: {done['files']} files, "
    # The names of places are of different lengths.
    assert re.fullmatch(rf"{re.escape(head)}\d+,\d+ bytes", first)
    assert second == "kept   2 branches and 1 tag, with all commits"
    assert told.stderr.startswith(f"copy {root / 'second.omni'} (direct, local)")


def test_what_is_lost_is_told(root: Path):
    for each in root.glob("g.omni/nodes/*/tree/*/data/*"):
        each.unlink()
    assert [(each["kind"], each["name"]) for each in document("copy", "g.omni", "copy.omni")["lost"]] == [
        ("branch", "review")
    ]
    assert "lost   branch review: " in run("copy", "g.omni", "other.omni").stdout


def test_a_target_where_something_is_ends_with_1(root: Path):
    document("copy", "g.omni", "copy.omni")
    for words in (("copy", "g.omni", "copy.omni"), ("copy", "g.omni", "copy.omni", "--force")):
        assert document(*words, code=1)["error"]["kind"] == "already_exists"
    assert document("copy", "nowhere.omni", "copy2.omni", code=1)["error"]["kind"] == "not_found"
    assert document("copy", "g.omni", "g.omni/below", code=3)["error"]["kind"] == "invalid_input"


def test_a_copy_that_is_interrupted_leaves_nothing_and_says_so(root: Path):
    with armed({COPY_FILE_COPIED: Raise(KeyboardInterrupt())}):
        done = run("copy", "g.omni", "copy.omni")
    assert done.exit_code == 130
    assert "Nothing is left at" in done.stderr
    assert document("copy", "g.omni", "copy.omni")["lost"] == []


def test_a_graph_that_was_moved_names_the_command_that_repairs_it(root: Path):
    (root / "g.omni").rename(root / "moved.omni")
    text = "query q() { match { $f: Film } return { $f.code } }"
    error = document("query", "moved.omni", "-e", text, "--branch", "review", code=1)["error"]
    assert error["kind"] == "relocation_required"
    assert error["details"]["branch"] == "review"
    assert f"omnigraph repair {root / 'moved.omni'} --relocate" in error["help"]
    assert "--relocate" in run("branch", "list", "moved.omni").stdout
    assert run("query", "moved.omni", "-e", text).exit_code == 0
    done = document("repair", "moved.omni", "--relocate")
    assert done == {"uri": str(root / "moved.omni"), "relocated": ["review"], "versions": done["versions"]}
    assert films("moved.omni") == ["a", "b"]
    assert "nothing to do" in run("repair", "moved.omni", "--relocate").stdout
    (root / "moved.omni").rename(root / "again.omni")
    assert "relocated review: " in run("repair", "again.omni", "--relocate").stdout


def test_a_repair_of_nothing_is_a_wrong_command_line(root: Path):
    done = run("repair", "g.omni")
    assert done.exit_code == 2
    assert "--relocate" in done.stderr
