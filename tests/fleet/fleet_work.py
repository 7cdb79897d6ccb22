"""The processes of a fleet: writers that make branches and commits, and mergers that bring finished branches to main.

    writers ── branches, commits ──> queue of finished branches ── mergers ──> main
        └────────── notes: every commit, with what it changed ──────────┘

A writer has several branches under way and goes from one to another at random; now and then it writes to main itself.
Every process notes what it was told, in a file of its own. Anything that goes wrong ends its process with an error.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.queues import Queue
from pathlib import Path
from random import Random
from typing import Any

from fleet_plan import Absorb, BranchPlan, Change, Effect, FleetPlan, Sync, Tend, person

import omnigraph as og
from omnigraph.testing.races import end_with_parent
from omnigraph.write import fold_policy

UNDER_WAY = 4
"""How many branches a writer has under way."""

MAIN_SHARE = 0.1
"""Of the works of a writer, after which it writes to main itself."""

LISTED = 40
"""In commits, how far back a branch begins that begins as main was."""

_MUTATIONS = {
    "set": "update Person set {{ age: $age{n} }} where name = $id{n}",
    "drop": "delete Person where name = $id{n}",
    "cut": "delete {kind} where label = $id{n}",
}


@dataclass(frozen=True, kw_only=True)
class FleetJob:
    """What a process of a fleet is given.

    Attributes:
        notes: a directory for the notes of all of them.
        number: of this process among those of its kind.
    """

    uri: str
    options: Mapping[str, Any]
    plan: FleetPlan
    notes: Path
    number: int = 0


class Notes:
    """What a process was told, as lines of JSON that are written at once."""

    def __init__(self, file: Path) -> None:
        self._file = file.open("ab", buffering=0)

    def add(self, **facts: Any) -> None:
        self._file.write(json.dumps(facts, ensure_ascii=False).encode() + b"\n")


def read_notes(directory: Path) -> list[dict[str, Any]]:
    """The notes of all processes."""
    return [json.loads(line) for file in sorted(directory.glob("*.jsonl")) for line in file.read_text().splitlines()]


def write_fleet(job: FleetJob, finished: Queue[str | None]) -> None:
    """The whole life of a writer."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    _fold_soon(job.plan)
    with og.open(job.uri, options=job.options, actor=f"writer {job.number}") as graph:
        _Writer(job, graph, finished).run()


def merge_fleet(job: FleetJob, finished: Queue[str | None]) -> None:
    """The whole life of a merger: it ends when the queue says that there are no more."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    _fold_soon(job.plan)
    notes = Notes(job.notes / f"merger-{job.number}.jsonl")
    deleted = {each.name: each.is_deleted for each in job.plan.branches}
    with og.open(job.uri, options=job.options, actor=f"merger {job.number}") as graph:
        while (name := finished.get()) is not None:
            _merge(graph, notes, name, "main", delete_branch=deleted[name])


def _fold_soon(plan: FleetPlan) -> None:
    """Take so few small parts for a tail that types of branches are folded, too, before they are done."""
    fold_policy.TAIL_PARTS = max(4, len(plan.branches[0].changes) * 3 // 5)


def _merge(graph: og.Graph, notes: Notes, source: str, into: str, *, delete_branch: bool = False) -> None:
    began = time.monotonic()
    result = graph.branches.merge(source, into=into, delete_branch=delete_branch)
    if result.branch_deleted is not delete_branch:
        raise RuntimeError(f"{source} was not deleted: {result.branch_delete_error}")
    notes.add(
        merged=source,
        into=into,
        outcome=result.outcome,
        commit=None if result.commit is None else result.commit.id,
        source_commit=result.source_commit,
        seconds=round(time.monotonic() - began, 3),
    )


class _Writer:
    def __init__(self, job: FleetJob, graph: og.Graph, finished: Queue[str | None]) -> None:
        self.graph = graph
        self.finished = finished
        self.notes = Notes(job.notes / f"writer-{job.number}.jsonl")
        self.number = job.number
        self.random = Random(f"{job.plan.seed}.{job.number}")
        self.plans = {each.number: each for each in job.plan.of_writer(job.number)}
        self.waiting = [each for each in self.plans.values() if each.parent is None]
        self.open: list[BranchPlan] = []
        self.done: dict[int, int] = {}
        self.commits: dict[int, list[str]] = {}
        self.on_main = 0

    def run(self) -> None:
        while self.waiting or self.open:
            while self.waiting and len(self.open) < UNDER_WAY:
                self._begin(self.waiting.pop(0))
            self._work(self.random.choice(self.open))
            if self.random.random() < MAIN_SHARE:
                self._write_to_main()

    def _begin(self, plan: BranchPlan) -> None:
        base, at = "main", None
        if plan.begins == "older":
            # Not the first commit of all: it holds nothing.
            at = self.random.choice(self.graph.commits.list(limit=LISTED)[:-1])
        elif plan.parent is not None:
            base = self.plans[plan.parent].name
            at = self.commits[plan.parent][plan.after - 1] if plan.begins == "commit" else None
        made = self.graph.branches.create(plan.name, base, at=at)
        self.notes.add(branch=plan.name, number=plan.number, begins=plan.begins, base_commit=made.base_commit)
        self.open.append(plan)
        self.done[plan.number], self.commits[plan.number] = 0, []

    def _work(self, plan: BranchPlan) -> None:
        match plan.works[self.done[plan.number]]:
            case Change(effects=effects):
                commit_id = self._write(effects, plan.name)
            case Sync():
                _merge(self.graph, self.notes, "main", plan.name)
                commit_id = self.graph.branches.show(plan.name).head
            case Absorb(branch=number):
                while self.done.get(number, 0) < len(self.plans[number].works):
                    self._work(self.plans[number])
                _merge(self.graph, self.notes, self.plans[number].name, plan.name)
                commit_id = self.graph.branches.show(plan.name).head
            case Tend():
                self.graph.maintain.ensure_indices(plan.name)
                commit_id = self.graph.branches.show(plan.name).head
        self.done[plan.number] += 1
        self.commits[plan.number].append(commit_id)
        for each in self.plans.values():
            if each.parent == plan.number and each.made_after == self.done[plan.number]:
                self._begin(each)
        if self.done[plan.number] == len(plan.works):
            self.open.remove(plan)
            self.finished.put(plan.name)

    def _write_to_main(self) -> None:
        self.on_main += 1
        name = f"m{self.number}-{self.on_main}"
        if self.on_main % 3 == 0:
            # Of the one before it, which is there.
            effects: list[Effect] = [["set", "Person", f"m{self.number}-{self.on_main - 1}", {"age": self.on_main}]]
        else:
            effects = [["put", person(name, 1)]]
        self._write(effects, "main")

    def _write(self, effects: Sequence[Effect], branch: str) -> str:
        """One commit; its id."""
        if effects[0][0] == "put":
            commit = self.graph.load([each[1] for each in effects], "merge", branch=branch).commit
        else:
            source, params = spell(effects)
            commit = self.graph.mutate(source, params=params, branch=branch, on_conflict="retry").commit
        if commit is None:
            raise RuntimeError(f"nothing matched on {branch}: {effects}")
        self.notes.add(commit=commit.id, on=branch, effects=list(effects))
        return commit.id


def spell(effects: Sequence[Effect]) -> tuple[str, dict[str, Any]]:
    """Changes of rows that are there, as one mutation and its parameters."""
    declared, statements, params = list[str](), list[str](), dict[str, Any]()
    for number, (verb, kind, name, *rest) in enumerate(effects):
        declared.append(f"$id{number}: String")
        params[f"id{number}"] = name
        if verb == "set":
            declared.append(f"$age{number}: I32")
            params[f"age{number}"] = rest[0]["age"]
        statements.append(_MUTATIONS[verb].format(n=number, kind=kind))
    return f"query change({', '.join(declared)}) {{ {' '.join(statements)} }}", params
