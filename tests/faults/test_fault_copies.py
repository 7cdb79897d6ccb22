"""A process is killed at every failpoint of a copy and of a repair; what it leaves is no graph, or a whole one.

The graph that is copied is never changed. What a dead copy left is in the way of a second one until it is told to begin
anew; a repair is simply repeated.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.errors import AlreadyExistsError, NotFoundError, RelocationRequiredError
from omnigraph.failpoints import COPY_AFTER_MAIN, COPY_FILE_COPIED, FAILPOINTS, RELOCATE_TABLES_DONE
from omnigraph.testing.faults import FAILPOINTS_VARIABLE, recorded
from omnigraph.testing.invariants import assert_graph_is_whole

SCHEMA = "node Film { code: String @key  title: String? @index }\n"
COPY_POINTS = [name for name in FAILPOINTS if name.startswith("copy.")]
HELD = {"main": ["m1"], "deep": ["deep", "m1", "review"], "fresh": ["m1"], "review": ["m1", "review"]}

WORKER = """
import sys
import omnigraph as og
from omnigraph.testing.faults import arm_from_environment
arm_from_environment()
if sys.argv[1] == "copy":
    og.copy(sys.argv[2], sys.argv[3], force=sys.argv[4] == "force")
else:
    with og.open(sys.argv[2]) as graph:
        graph.maintain.repair(relocate=True)
"""


def film(code: str) -> dict[str, object]:
    return {"type": "Film", "data": {"code": code, "title": code}}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("made") / "graph"
    with og.init(root, schema=SCHEMA) as graph:
        graph.load([film("m1")], "append")
        graph.maintain.ensure_indices()
        for name, base in (("review", "main"), ("fresh", "main"), ("deep", "review")):
            graph.branches.create(name, base)
            if name != "fresh":
                graph.load([film(name)], "append", branch=name)
    return root


def files(root: Path) -> dict[str, bytes]:
    return {str(each.relative_to(root)): each.read_bytes() for each in root.rglob("*") if each.is_file()}


def die(failpoints: str, *words: str) -> None:
    """Run a verb in a process that is killed there."""
    environment = os.environ | {FAILPOINTS_VARIABLE: failpoints}
    done = subprocess.run([sys.executable, "-c", WORKER, *words], env=environment, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


def check_whole(root: Path) -> None:
    with og.open(root) as graph:
        held = {
            each.name: [row["code"] for row in graph.table("Film", branch=each.name)] for each in graph.branches.list()
        }
        assert {name: sorted(codes) for name, codes in held.items()} == HELD
        assert_graph_is_whole(graph)
        graph.load([film("later")], "append", branch="deep")


def times(made: Path, target: Path) -> Counter[str]:
    with recorded() as reached:
        og.copy(made, target)
    return Counter(reached)


@pytest.mark.parametrize("name", COPY_POINTS)
def test_a_copy_that_is_killed_leaves_no_graph_or_a_whole_one(made: Path, tmp_path: Path, name: str):
    before = files(made)
    # In the middle, where it is reached often.
    nth = max(1, times(made, tmp_path / "counted")[name] // 2)
    assert nth > 10 or name != COPY_FILE_COPIED
    target = tmp_path / "copy"
    die(f"{name}=kill@{nth}", "copy", str(made), str(target), "no")
    if name != COPY_AFTER_MAIN:
        left = files(target)
        with pytest.raises(NotFoundError, match=r"a copy.*cut off.*force"):
            og.open(target)
        with pytest.raises(AlreadyExistsError, match="force"):
            og.copy(made, target)
        assert files(target) == left
        og.copy(made, target, force=True)
    check_whole(target)
    assert files(made) == before


def test_a_copy_that_is_begun_anew_after_a_kill_may_be_killed_again(made: Path, tmp_path: Path):
    target = tmp_path / "copy"
    die(f"{COPY_POINTS[-2]}=kill", "copy", str(made), str(target), "no")
    die(f"{COPY_POINTS[1]}=kill", "copy", str(made), str(target), "force")
    og.copy(made, target, force=True)
    check_whole(target)


def test_a_repair_that_is_killed_is_repeated(made: Path, tmp_path: Path):
    there = Path(shutil.copytree(made, tmp_path / "there"))
    die(f"{RELOCATE_TABLES_DONE}=kill", "repair", str(there))
    with og.open(there) as graph:
        for name in ("deep", "fresh", "review"):
            with pytest.raises(RelocationRequiredError):
                graph.table("Film", branch=name)
        assert graph.maintain.repair(relocate=True).relocated == ("deep", "fresh", "review")
    check_whole(there)
