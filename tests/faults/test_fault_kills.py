"""A process is killed at every failpoint of an init and of loads of every mode; what it leaves is the old or the new.

The parent opens the graph afterwards: no lock of the dead process is in the way, every commit that it had been told of
is there, and the load that it died in can be repeated.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from workers import Ended, Worker

import omnigraph as og
from omnigraph.errors import AlreadyExistsError, NotFoundError
from omnigraph.failpoints import FAILPOINTS, INIT_AFTER_GENESIS, PUBLISH_LOAD_STATE_RETRYABLE_CONTENTION
from omnigraph.testing.faults import recorded
from omnigraph.testing.graph_contract.clauses import SCHEMA, STORY, holds, model_of
from omnigraph.testing.invariants import assert_graph_is_whole

INIT_POINTS = [name for name in FAILPOINTS if name.startswith("init.")]
LOAD_POINTS = [
    name
    for name in FAILPOINTS
    # The other one is reached only where a race is lost.
    if name.startswith(("load.", "publish.")) and name != PUBLISH_LOAD_STATE_RETRYABLE_CONTENTION
]


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as worker:
        yield worker


@pytest.fixture(scope="module")
def made(worker: Worker, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The graph after its init and after each load of the story, each as a directory to copy."""
    root = tmp_path_factory.mktemp("made") / "graph"
    states = []
    with og.init(root, schema=SCHEMA) as graph:
        for number, load in enumerate([None, *STORY]):
            if load is not None:
                graph.load(load[1], load[0])
            states.append(root.with_name(f"state-{number}"))
            shutil.copytree(root, states[-1])
    return states


def reached_by(number: int, made: list[Path], tmp_path: Path) -> Counter[str]:
    """How often each failpoint is reached by one load of the story."""
    root = shutil.copytree(made[number], tmp_path / "counted")
    mode, records = STORY[number]
    with recorded() as reached, og.open(root) as graph:
        graph.load(records, mode)
    return Counter(reached)


def test_a_worker_that_is_not_killed_tells_the_whole_story(worker: Worker, tmp_path: Path):
    ended = worker.run(tmp_path / "graph", STORY, is_new=True)
    assert ended.exit_code == 0, ended.printed
    with og.open(tmp_path / "graph") as graph:
        assert [commit.id for commit in graph.commits.list()] == list(ended.acknowledged)[::-1]
        assert holds(graph, model_of(*STORY))
        assert_graph_is_whole(graph)


@pytest.mark.parametrize("number", range(len(STORY)), ids=lambda number: f"{STORY[number][0]}-{number}")
def test_a_load_that_is_killed_at_any_failpoint_leaves_the_old_state_or_the_new_one(
    worker: Worker, made: list[Path], tmp_path: Path, number: int
):
    counts = reached_by(number, made, tmp_path)
    assert {name for name in counts if not name.startswith("recovery.")} == set(LOAD_POINTS)
    for name, count in counts.items():
        for nth in range(1, count + 1):
            root = shutil.copytree(made[number], tmp_path / f"{name}-{nth}")
            ended = worker.run(root, [STORY[number]], failpoints=f"{name}=kill@{nth}")
            assert ended.is_killed, ended.printed
            check_after_kill(root, number, ended, f"killed at {name}, time {nth}")


def check_after_kill(root: Path, number: int, ended: Ended, what: str) -> None:
    assert ended.acknowledged == (), what
    old, new = model_of(*STORY[:number]), model_of(*STORY[: number + 1])
    mode, records = STORY[number]
    with og.open(root) as graph:
        assert len(graph.commits.list()) in (number + 1, number + 2), what
        is_new = holds(graph, new)
        assert is_new or holds(graph, old), what
        assert is_new == (len(graph.commits.list()) == number + 2), what
        assert_graph_is_whole(graph)
        # An append of what is there already would be refused, and rightly so.
        graph.load(records, "merge" if is_new and mode == "append" else mode)
        assert holds(graph, new), what
        assert_graph_is_whole(graph)


@pytest.mark.parametrize("name", INIT_POINTS)
def test_an_init_that_is_killed_leaves_a_graph_or_none(worker: Worker, tmp_path: Path, name: str):
    root = tmp_path / "graph"
    ended = worker.run(root, is_new=True, failpoints=f"{name}=kill")
    assert ended.is_killed, ended.printed
    assert ended.acknowledged == ()
    if name == INIT_AFTER_GENESIS:
        with og.open(root) as graph:
            assert_graph_is_whole(graph)
    else:
        with pytest.raises(NotFoundError):
            og.open(root)
        with pytest.raises(AlreadyExistsError, match=r"init.*force=True"):
            og.init(root, schema=SCHEMA)
        og.init(root, schema=SCHEMA, force=True).close()
    with og.open(root) as graph:
        graph.load(STORY[0][1], "append")
        assert holds(graph, model_of(STORY[0]))
        assert_graph_is_whole(graph)


def test_an_init_that_is_repeated_after_each_kill_succeeds_in_the_end(worker: Worker, tmp_path: Path):
    """Each attempt gets a little further than the one before it, over what all of them left."""
    root = tmp_path / "graph"
    for name in INIT_POINTS[:-1]:
        assert worker.run(root, is_new=True, force=True, failpoints=f"{name}=kill").is_killed
    ended = worker.run(root, STORY, is_new=True, force=True)
    assert ended.exit_code == 0, ended.printed
    with og.open(root) as graph:
        assert holds(graph, model_of(*STORY))
        assert_graph_is_whole(graph)


def test_a_graph_that_was_killed_again_and_again_still_takes_writes(worker: Worker, made: list[Path], tmp_path: Path):
    """What each dead writer leaves on the tables is stepped over by the next one, and by the last one too."""
    root = shutil.copytree(made[1], tmp_path / "graph")
    names = [name for name in FAILPOINTS if name.startswith("publish.")]
    for name in names[: names.index("publish.after_commit")]:
        assert worker.run(root, [STORY[1]], failpoints=f"{name}=kill").is_killed
        with og.open(root, mode="r") as reader:
            assert holds(reader, model_of(*STORY[:1])), name
    ended = worker.run(root, STORY[1:])
    assert ended.exit_code == 0, ended.printed
    with og.open(root) as graph:
        assert holds(graph, model_of(*STORY))
        assert_graph_is_whole(graph)
