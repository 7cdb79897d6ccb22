"""Many branches, written by some processes and merged into main by others: nothing is lost, and history is one.

Small here; ``tox run -e fleet`` runs 60 branches of 20 commits with 4 processes that merge and 4 that write:

    OMNIGRAPH_FLEET_BRANCHES      branches; OMNIGRAPH_FLEET_S3_BRANCHES the same on an S3 server
    OMNIGRAPH_FLEET_COMMITS       commits of data of each; OMNIGRAPH_FLEET_S3_COMMITS the same
    OMNIGRAPH_FLEET_PROCESSES     that merge, and as many that write; on an S3 server there are 2 and 1
    OMNIGRAPH_FLEET_SEED          decides what each branch does; how processes meet is the machine's
"""

from __future__ import annotations

import json
import os
import secrets
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from fleet_checks import account_problems, feed_problems, history_problems, row_problems, stored_problems
from fleet_model import FleetModel, differences, exported_rows
from fleet_plan import plan_fleet
from fleet_runs import FleetPlace, FleetRun, run_fleet

from omnigraph.errors import NotFoundError
from omnigraph.testing.s3_servers import S3Server


def number(name: str, otherwise: int) -> int:
    return int(os.environ.get(f"OMNIGRAPH_FLEET_{name}", otherwise))


SEED = number("SEED", 1)
COMMITS = number("COMMITS", 4)
PROCESSES = number("PROCESSES", 2)
SECONDS = 1_500.0
SAMPLE = 60
"""How many commits are looked at again, of those that were made on branches."""


def check_fleet(place: FleetPlace, run: FleetRun) -> None:
    """All that must hold, before and after the branches are gone."""
    with place.open() as graph:
        commits, head = graph.commits.list(), graph.snapshot().commit.id
        assert list(history_problems(commits, head)) == []
        assert list(account_problems(commits, run)) == []
        left = [each for each in graph.branches.list() if each.name != "main"]
        assert {each.name for each in left} == {each.name for each in run.plan.branches if not each.is_deleted}
        known = {each.id: each for branch in left for each in graph.commits.list(branch.name)}
        known |= {each.id: each for each in commits}
        # Small parts of a branch may be folded after it was merged.
        assert {str(each.kind) for each in known.values() if each not in commits} <= {"maintenance"}
        model = FleetModel(known.values(), run.effects)
        assert list(row_problems(graph, model, [head])) == []
        assert list(feed_problems(graph, model.rows(head))) == []
        assert list(row_problems(graph, model, [each.head for each in left])) == []
        made = [each.id for each in commits if each.line is not None]
        sample = Random(run.plan.seed).sample(made, min(SAMPLE, len(made)))
        assert list(row_problems(graph, model, sample)) == []
        some = [each.name for each in left[:5]]
        assert list(stored_problems(graph, ["main", *some])) == []
        for each in left:
            graph.branches.delete(each.name)

    with place.open() as graph:
        assert [each.name for each in graph.branches.list()] == ["main"]
        assert graph.commits.list() == commits
        assert list(row_problems(graph, model, [head, *sample])) == []
        assert list(stored_problems(graph, ["main"])) == []
        with pytest.raises(NotFoundError):
            graph.snapshot(left[0].name)
        # The next write works, and so does a branch that is called as one that is gone.
        graph.branches.create(left[0].name)
        graph.load([{"type": "Person", "data": {"name": "late"}}], "append", branch=left[0].name)
        assert graph.branches.merge(left[0].name).outcome == "fast_forward"
        added = {("Person", "late")}
        now = exported_rows(graph.export())
        assert now.keys() == model.rows(head).keys() | added
        assert differences({key: row for key, row in now.items() if key not in added}, model.rows(head)) == []
    print(json.dumps(figures(run, len(commits), Counter(str(each.kind) for each in commits))), flush=True)


def figures(run: FleetRun, commits: int, kinds: Counter[str]) -> dict[str, object]:
    slowest = max(each["seconds"] for each in run.merges)
    return {
        "seed": run.plan.seed,
        "branches": len(run.plan.branches),
        "begun": dict(Counter(each.begins for each in run.plan.branches)),
        "commits": commits,
        "kinds": dict(kinds),
        "merges": dict(Counter(each["outcome"] for each in run.merges)),
        "slowest_merge_seconds": slowest,
        "seconds": round(run.seconds, 1),
    }


def test_what_processes_merged_on_a_local_disk_is_all_there(tmp_path: Path):
    plan = plan_fleet(SEED, branches=number("BRANCHES", 6), commits=COMMITS, writers=PROCESSES)
    place = FleetPlace(uri=str(tmp_path / "graph"))
    notes = tmp_path / "notes"
    notes.mkdir()
    check_fleet(place, run_fleet(place, plan, notes, mergers=PROCESSES, seconds=SECONDS))


def test_what_processes_merged_on_an_s3_server_is_all_there(tmp_path: Path, ministack: S3Server):
    plan = plan_fleet(SEED, branches=number("S3_BRANCHES", 3), commits=number("S3_COMMITS", 3), writers=1)
    place = FleetPlace(uri=f"s3://fleet/{secrets.token_hex(8)}", options=ministack.options())
    check_fleet(place, run_fleet(place, plan, tmp_path, mergers=2, seconds=SECONDS))
