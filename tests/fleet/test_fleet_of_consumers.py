"""Consumers that are killed and begin again from what they stored end up with the branch, byte for byte.

Small here; ``tox run -e fleet`` has a thousand commits:

    OMNIGRAPH_FLEET_FEED_COMMITS    commits of the branch that is followed
    OMNIGRAPH_FLEET_FEED_KILLS      how often each consumer is killed
    OMNIGRAPH_FLEET_SEED            decides what is written, and at which points consumers end themselves
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from follow_consumer import stored_commit, stored_lines
from follow_runs import Consumer, FollowPlan, follow_history

import omnigraph as og

OMNIGRAPH = Path(sys.executable).with_name("omnigraph")


def number(name: str, otherwise: int) -> int:
    return int(os.environ.get(f"OMNIGRAPH_FLEET_{name}", otherwise))


COMMITS = number("FEED_COMMITS", 30)
KILLS = number("FEED_KILLS", 3)
SEED = number("SEED", 1)


def test_consumers_that_are_killed_hold_the_branch_byte_for_byte(tmp_path: Path):
    graph_path = tmp_path / "graph"
    # Lives end all along the history, and the last of them before it is told.
    points = min(15 * COMMITS // KILLS, max(20, COMMITS // 4))
    plan = FollowPlan(seed=SEED, commits=COMMITS, kills=KILLS, points=points)
    began = time.monotonic()
    looked_at: list[str] = []

    def look(consumer: Consumer) -> None:
        """Who stores rows and cursor together holds what some commit held, wherever it is killed."""
        commit_id = stored_commit(consumer.job.database)
        if consumer.job.kind == "together" and commit_id is not None:
            with og.open(graph_path, mode="r") as graph:
                assert stored_lines(consumer.job.database) == list(graph.export(snapshot=commit_id))
            looked_at.append(commit_id)

    consumers = follow_history(str(graph_path), {}, plan, tmp_path, after_kill=look)
    with og.open(graph_path, mode="r") as graph:
        exported = list(graph.export())
        commits = graph.commits.list()
        chain = graph.snapshot().commit.manifest_version
    for each in consumers:
        assert each.kills + each.kills_outside == plan.kills
        assert "\n".join(stored_lines(each.job.database)).encode() == "\n".join(exported).encode()
    assert chain >= plan.commits
    assert looked_at
    # Whoever comes with that cursor by the command line is told that nothing happened since.
    (apart,) = (each for each in consumers if each.job.kind == "apart")
    told = poll_by_command(graph_path, json.loads(apart.job.cursor_file.read_text())["cursor"])
    assert (told["blocks"], told["caught_up"], told["head"]) == ([], True, commits[0].id)
    print(json.dumps(figures(consumers, Counter(str(each.kind) for each in commits), began)), flush=True)


def poll_by_command(graph_path: Path, cursor: str) -> dict[str, object]:
    command = [OMNIGRAPH, "changes", "poll", graph_path, "--cursor", cursor, "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def figures(consumers: list[Consumer], kinds: Counter[str], began: float) -> dict[str, object]:
    return {
        "seed": SEED,
        "commits": kinds.total(),
        "kinds": dict(kinds),
        "seconds": round(time.monotonic() - began, 1),
        "consumers": {
            each.job.kind: {
                "kills": each.kills,
                "kills_outside": each.kills_outside,
                **{name: sum(note[name] for note in each.notes()) for name in ("pages", "inside", "changes", "points")},
            }
            for each in consumers
        },
    }
