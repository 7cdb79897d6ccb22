"""What must hold of a graph when a fleet of branches was merged; each check gives problems, none if all is right.

The rows of every commit are compared with the model, and the history with what the processes were told. The shape of
the history is looked at here once more, by what is said of it and not by what the engine thinks of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from fleet_model import FleetModel, Rows, differences, exported_rows
from fleet_runs import FleetRun

import omnigraph as og
from omnigraph.history.commits import Commit
from omnigraph.write.integrity import check_integrity

SILENT = ("schema", "maintenance")
"""Commits that no process is told of by name: the first one of all, and those of maintenance."""


def history_problems(commits: Sequence[Commit], head_id: str) -> Iterator[str]:
    """Where commits are not one history: one beginning, every parent known, no gaps, all leading to the head."""
    by_id = {each.id: each for each in commits}
    if len(by_id) < len(commits):
        yield "commits are listed twice"
    begun = [each for each in commits if each.parent_id is None]
    if len(begun) != 1 or begun[0].manifest_version != 1 or begun[0].merged_parent_id is not None:
        yield f"history begins with {begun}"
    for each in commits:
        yield from (
            f"{each.id} has the unknown parent {name}"
            for name in (each.parent_id, each.merged_parent_id)
            if name is not None and name not in by_id
        )
        if (each.kind == "merge") is (each.merged_parent_id is None):
            yield f"{each.id} is a {each.kind} commit and has merged {each.merged_parent_id}"
    places = Counter((each.line, each.manifest_version) for each in commits)
    yield from (f"version {version} of {line} was made {n} times" for (line, version), n in places.items() if n > 1)
    # Raises where commits descend from themselves.
    model = FleetModel(commits, {})
    if model.ancestors(head_id) != by_id.keys():
        yield "some commits did not lead to the head"
    chain, each = [by_id[head_id]], by_id[head_id]
    while each.parent_id is not None:
        each = by_id[each.parent_id]
        chain.append(each)
    if [each.manifest_version for each in chain] != list(range(len(chain), 0, -1)):
        yield "the versions of first parents have gaps"
    if len({each.line for each in chain}) > 1:
        yield "main has commits of other lines among its first parents"


def account_problems(commits: Sequence[Commit], run: FleetRun) -> Iterator[str]:
    """Where a history is not what the processes were told: every commit once, and nothing else."""
    listed = {each.id: each for each in commits}
    told = run.acknowledged
    yield from (f"{name} was acknowledged {count} times" for name, count in told.items() if count > 1)
    yield from (f"{name} was acknowledged and is not listed" for name in told if name not in listed)
    yield from (
        f"nobody was told of the {each.kind} commit {each.id}"
        for each in commits
        if each.id not in told and each.id != run.first and each.kind not in SILENT
    )
    for plan in run.plan.branches:
        made = run.commits_on(plan.name)
        if len(made) != len(plan.changes):
            yield f"{plan.name} has {len(made)} commits with changes, and was to make {len(plan.changes)}"
        yield from (
            f"{name} was made on {plan.name}, and is said to be of {listed[name].branch}"
            for name in made
            if name in listed and listed[name].branch != plan.name
        )
    merged = Counter(each["merged"] for each in run.merges if each["into"] == "main")
    yield from (
        f"{each.name} was merged {merged[each.name]} times" for each in run.plan.branches if merged[each.name] != 1
    )


def row_problems(graph: og.Graph, model: FleetModel, commit_ids: Iterable[str]) -> Iterator[str]:
    """Where a graph did not hold at some commits what it must have held."""
    for each in commit_ids:
        found: Rows = exported_rows(graph.export(snapshot=each))
        yield from (f"at {each}: {problem}" for problem in differences(found, model.rows(each))[:5])


def stored_problems(graph: og.Graph, branches: Iterable[str]) -> Iterator[str]:
    """What is damaged of what is stored."""
    for name in branches:
        for each in check_integrity(graph._repository, name):
            if each.is_damage:
                yield f"{name}: {each.kind}: {each.message}"


def feed_problems(graph: og.Graph, expected: Rows) -> Iterator[str]:
    """Where the changes of main, from the first one on, do not amount to what it holds."""
    rows: Rows = {}
    for page in graph.changes.follow(start="beginning"):
        for each in (each for block in page.blocks for each in block.changes):
            if each.after is None:
                rows.pop((each.type, each.id), None)
            elif each.entity == "node":
                rows[each.type, each.id] = {"type": each.type, "data": {"id": each.id, **each.after}}
            else:
                ends = {"from": each.from_id, "to": each.to_id}
                rows[each.type, each.id] = {"edge": each.type, **ends, "data": {"id": each.id, **each.after}}
    yield from (f"by its changes, {problem}" for problem in differences(rows, expected)[:5])
