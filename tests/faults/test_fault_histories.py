"""Many processes change one branch at random: what they were told is explained by the commits that are there.

Small here; ``OMNIGRAPH_HISTORY_WRITERS`` processes make ``OMNIGRAPH_HISTORY_CALLS`` calls each in a long run, and each
failpoint is met ``OMNIGRAPH_HISTORY_HITS`` times.
"""

from __future__ import annotations

import multiprocessing
import os
import secrets
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from small_tails import fold_soon

import omnigraph as og
from omnigraph.failpoints import FAILPOINTS, MUTATION_POST_FORK_PRE_COMMIT, PUBLISH_AFTER_COMMIT
from omnigraph.history.commits import CommitKind
from omnigraph.testing.histories import check_history
from omnigraph.testing.history_crew import Chaos
from omnigraph.testing.history_records import Outcome
from omnigraph.testing.history_writers import HistoryRun, begin_history, run_writers
from omnigraph.testing.invariants import assert_graph_is_whole
from omnigraph.testing.mutation_strategies import history_world
from omnigraph.testing.s3_servers import S3Server, run_s3_server

WRITERS = int(os.environ.get("OMNIGRAPH_HISTORY_WRITERS", "2"))
CALLS = int(os.environ.get("OMNIGRAPH_HISTORY_CALLS", "8"))
HITS = int(os.environ.get("OMNIGRAPH_HISTORY_HITS", "0"))
IS_LONG = HITS > 0
BUCKET = "histories"


def run_and_check(uri: str | Path, directory: Path, *, operations: int = CALLS, **options: Any) -> HistoryRun:
    """Run writers on a new graph, and hold against each other what they were told and what is there."""
    world, reach = history_world(), options.get("options")
    model = begin_history(uri, world, options=reach)
    run = run_writers(
        uri, world=world, processes=WRITERS, operations=operations, directory=directory, prepare=fold_soon, **options
    )
    with og.open(uri, options=reach) as graph:
        problems = check_history(graph, model, run.records, since=run.since)
        assert not problems, "\n".join(problems[:20])
        assert_graph_is_whole(graph, is_settled="chaos" not in options)
    return run


def lost(run: HistoryRun) -> list[tuple[str, Outcome, str | None]]:
    """The calls that should have been made and were not, or were not answered."""
    well = (Outcome.ACKNOWLEDGED, Outcome.NOTHING, Outcome.REFUSED)
    return [(each.call, each.outcome, each.error) for each in run.records if each.outcome not in well]


def test_calls_of_many_processes_are_explained_by_the_one_line_of_their_commits(tmp_path: Path):
    run = run_and_check(tmp_path / "graph", tmp_path, seed=1)
    assert len(run.records) == WRITERS * CALLS
    assert run.count(Outcome.ACKNOWLEDGED) > CALLS // 2
    # A call that may be tried again never loses a race.
    assert not lost(run)
    with og.open(tmp_path / "graph", mode="r") as graph:
        # So few calls as in a short run may leave no tail.
        assert not IS_LONG or any(each.kind is CommitKind.MAINTENANCE for each in graph.commits.list())


def test_calls_that_are_not_tried_again_lose_only_to_somebody(tmp_path: Path):
    run = run_and_check(tmp_path / "graph", tmp_path, seed=2, on_conflict="fail")
    assert run.count(Outcome.FAILED) == run.count(Outcome.UNKNOWN) == 0


def test_nothing_that_was_acknowledged_is_lost_when_writers_are_killed_and_stopped(tmp_path: Path):
    points = tuple(
        name
        for name in FAILPOINTS
        # All is written to main, so nothing is forked.
        if name.startswith(("mutation.", "publish.")) and name != MUTATION_POST_FORK_PRE_COMMIT
    )
    chaos = Chaos(
        kills_per_second=0.3,
        stops_per_second=1.0,
        stop_seconds=1.0,
        failpoints=points if IS_LONG else (PUBLISH_AFTER_COMMIT,),
        hits=max(HITS, 1),
    )
    run = run_and_check(tmp_path / "graph", tmp_path, seed=3, chaos=chaos, seconds=3_000)
    assert all(run.hits_at(name) >= chaos.hits for name in chaos.failpoints)
    # Only calls that a killed writer was about to end have no answer.
    assert 0 < run.count(Outcome.UNKNOWN) <= sum(run.hits.values()) + run.kills
    assert not [each for each in lost(run) if each[1] is not Outcome.UNKNOWN]


def test_writers_that_cannot_go_on_or_take_too_long_are_ended_and_told(tmp_path: Path):
    world = history_world()
    begin_history(tmp_path / "graph", world)
    facts: dict[str, Any] = {"world": world, "processes": 2, "operations": 1, "seed": 6, "directory": tmp_path}
    with pytest.raises(RuntimeError, match="ended with exit code 3"):
        run_writers(tmp_path / "graph", prepare=partial(sys.exit, 3), **facts)
    with pytest.raises(TimeoutError):
        run_writers(tmp_path / "graph", seconds=0, **facts)
    assert not multiprocessing.active_children()


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with run_s3_server("ministack") as server:
        server.create_bucket(BUCKET)
        yield server


def test_processes_that_share_a_bucket_lose_nothing(tmp_path: Path, server: S3Server):
    calls = max(CALLS // 4, 4)
    options = server.options()
    run = run_and_check(
        f"s3://{BUCKET}/{secrets.token_hex(8)}", tmp_path, seed=4, operations=calls, options=options, seconds=3_000
    )
    assert len(run.records) == WRITERS * calls
    assert not lost(run)
