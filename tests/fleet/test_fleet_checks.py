"""The checks of a fleet tell what is wrong, and what they expect does not depend on the order of merges."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest
from fleet_checks import account_problems, history_problems
from fleet_model import FleetModel, Rows, change, differences, exported_rows
from fleet_plan import Change, FleetPlan, edge, film, person, plan_fleet
from fleet_runs import FleetRun

from omnigraph.history.commits import Commit, CommitKind


def commit(name: str, version: int, *parents: str, line: str | None = None, **facts: Any) -> Commit:
    first, merged = (*parents, None, None)[:2]
    kind = CommitKind.SCHEMA if first is None else CommitKind.DATA if merged is None else CommitKind.MERGE
    known = {"parent_id": first, "merged_parent_id": merged, "manifest_version": version, "kind": kind, "line": line}
    created_at = datetime(2026, 2, 1, tzinfo=UTC)
    return Commit(**{"id": name, "branch": line or "main", "created_at": created_at} | known | facts)


COMMITS = (
    commit("merge", 4, "main", "right"),
    commit("main", 3, "seed"),
    commit("right", 4, "left", line="branch-0"),
    commit("left", 3, "seed", line="branch-0"),
    commit("seed", 2, "zero"),
    commit("zero", 1),
)


# ── the model ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_rows_of_a_commit_are_what_led_to_it_and_nothing_else():
    effects = {
        "seed": [["put", person("a")], ["put", person("b")], ["put", edge("Knows", "k", "a", "b")]],
        "left": [["set", "Person", "b", {"age": 1}]],
        "right": [["drop", "Person", "a"]],
        "main": [["put", film("f")], ["put", edge("Rated", "r", "b", "f")]],
    }
    model = FleetModel(COMMITS, effects)
    assert model.rows("zero") == {}
    assert model.rows("left").keys() == {("Person", "a"), ("Person", "b"), ("Knows", "k")}
    assert model.rows("left")["Person", "b"]["data"]["age"] == 1
    # An edge goes with either of its ends.
    assert model.rows("right").keys() == {("Person", "b")}
    assert model.rows("main").keys() == model.rows("seed").keys() | {("Film", "f"), ("Rated", "r")}
    assert model.rows("merge").keys() == {("Person", "b"), ("Film", "f"), ("Rated", "r")}
    assert model.rows("merge")["Person", "b"]["data"]["age"] == 1


def test_an_edge_can_be_cut_and_what_differs_is_told():
    rows: Rows = {}
    for effect in (["put", person("a")], ["put", edge("Knows", "k", "a", "a", 3)], ["cut", "Knows", "k"]):
        change(rows, effect)
    line = '{"type":"Person","data":{"id":"a","name":"a","age":null,"mail":"a@fleet","city":null}}'
    assert differences(exported_rows([line]), rows) == []
    (told,) = differences(exported_rows([line.replace("a@fleet", "b@fleet")]), rows)
    assert "('Person', 'a') is" in told
    assert len(differences({}, rows)) == len(differences(rows, {})) == 1
    with pytest.raises(ValueError, match="exported twice"):
        exported_rows([line, line])


@pytest.mark.parametrize("seed", range(20))
def test_what_branches_do_comes_to_the_same_in_whatever_order_they_are_merged(seed: int):
    plan = plan_fleet(seed, branches=8, commits=6, writers=2)
    assert plan == plan_fleet(seed, branches=8, commits=6, writers=2)
    random = Random(seed)
    results = [rows_in_some_order(plan, random) for _ in range(6)]
    assert all(each == results[0] for each in results)
    assert {each.begins for each in plan.branches} == {"main", "older", "branch", "commit"}
    assert any(each.heirlooms for each in plan.branches)


def rows_in_some_order(plan: FleetPlan, random: Random) -> Rows:
    """What comes out when branches bring their commits one after the other, and each those that it began with."""
    rows: Rows = {}
    for record in plan.start:
        change(rows, ["put", record])
    brought = [0] * len(plan.branches)

    def bring(number: int, count: int) -> None:
        branch = plan.branches[number]
        if branch.parent is not None:
            bring(branch.parent, branch.after)
        for work in branch.works[brought[number] : count]:
            for effect in work.effects if isinstance(work, Change) else ():
                change(rows, effect)
        brought[number] = max(brought[number], count)

    for branch in random.sample(plan.branches, len(plan.branches)):
        bring(branch.number, len(branch.works))
    return rows


# ── histories ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_history_that_is_right_has_no_problems():
    assert list(history_problems(COMMITS, "merge")) == []


@pytest.mark.parametrize(
    ("place", "facts", "said"),
    [
        (1, {"parent_id": None}, "history begins with"),
        (2, {"merged_parent_id": "main"}, "right is a data commit and has merged main"),
        (0, {"merged_parent_id": None}, "merge is a merge commit and has merged None"),
        (0, {"merged_parent_id": "left"}, "did not lead to the head"),
        (2, {"manifest_version": 3}, "version 3 of branch-0 was made 2 times"),
        (0, {"manifest_version": 5}, "have gaps"),
        (1, {"line": "other"}, "main has commits of other lines"),
    ],
)
def test_what_is_wrong_with_a_history_is_told(place: int, facts: dict[str, Any], said: str):
    commits = [replace(each, **facts) if number == place else each for number, each in enumerate(COMMITS)]
    assert any(said in each for each in history_problems(commits, "merge"))


def test_commits_that_are_listed_twice_or_follow_nobody_are_told():
    assert "commits are listed twice" in list(history_problems([*COMMITS, COMMITS[0]], "merge"))
    problems = history_problems([each for each in COMMITS if each.id != "left"], "merge")
    assert next(problems) == "right has the unknown parent left"


# ── what processes were told ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def run() -> FleetRun:
    plan = plan_fleet(1, branches=1, commits=2, writers=1)
    plan = replace(plan, branches=(replace(plan.branches[0], name="branch-0", works=plan.branches[0].changes),))
    notes = (
        {"commit": "left", "on": "branch-0", "effects": []},
        {"commit": "right", "on": "branch-0", "effects": []},
        {"commit": "main", "on": "main", "effects": []},
        {"merged": "branch-0", "into": "main", "commit": "merge"},
    )
    return FleetRun(plan=plan, first="seed", notes=notes, seconds=0.0)


def test_a_history_of_what_was_told_has_no_problems(run: FleetRun):
    assert list(account_problems(COMMITS, run)) == []


def test_a_history_that_is_not_what_was_told_is_told(run: FleetRun):
    def problems(*notes: dict[str, Any], commits: tuple[Commit, ...] = COMMITS) -> list[str]:
        return list(account_problems(commits, replace(run, notes=notes)))

    left, right, main, merge = run.notes
    assert problems(left, right, main, merge, {**main}) == ["main was acknowledged 2 times"]
    assert problems(left, right, main, merge, commits=COMMITS[1:]) == ["merge was acknowledged and is not listed"]
    assert problems(left, right, merge) == ["nobody was told of the data commit main"]
    assert "branch-0 has 1 commits with changes, and was to make 2" in problems(left, main, merge)
    assert "branch-0 was merged 0 times" in problems(left, right, main)
    wrong = tuple(replace(each, branch="main") for each in COMMITS)
    assert "left was made on branch-0, and is said to be of main" in problems(*run.notes, commits=wrong)
