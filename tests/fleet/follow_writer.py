"""The writer that consumers follow: commits of every kind to main, drawn from a seed, until there are so many.

Rows are loaded, changed, deleted and replaced whole; branches come and are merged; indexes are made, and small parts
folded all the time. Some commits are larger than a page, some ids longer than a token keeps them.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import omnigraph as og
from omnigraph.testing.races import end_with_parent
from omnigraph.write import fold_policy

SCHEMA = """
node Person {
    name: String @key
    age: I32?
    born: Date?
    score: F64?
    tags: [String]?
    note: String? @index
}
node Film { code: String @key  title: String? }
edge Saw: Person -> Film { stars: F32?  at: DateTime? }
"""

PEOPLE = [f"person {number} é" for number in range(40)] + ["p" * 300 + str(number) for number in range(3)]
FILMS = [f"film-{number}" for number in range(6)]
CROWD = 150
"""How many rows the largest commits have."""

Record = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class WriterJob:
    """What the writer is given.

    Attributes:
        commits: how many versions main is to have, at least.
        done: a file that is there when it has.
    """

    uri: str
    options: Mapping[str, Any]
    seed: int
    commits: int
    done: Path


def write_history(job: WriterJob) -> None:
    """The whole life of the writer."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    fold_policy.TAIL_PARTS = 8
    with og.open(job.uri, options=job.options, actor="writer") as graph:
        writer = _Writer(graph, Random(f"writer.{job.seed}"))
        while graph.snapshot().commit.manifest_version < job.commits:
            writer.act()
        # Folds that are under way end with the graph.
    job.done.touch()


class _Writer:
    def __init__(self, graph: og.Graph, random: Random) -> None:
        self.graph = graph
        self.random = random
        self.numbers = itertools.count()
        self.load(*({"type": "Film", "data": {"code": each, "title": None}} for each in FILMS))
        self.load(*map(self.person, PEOPLE[:10]))

    def act(self) -> None:
        """One commit, a few of them, or none."""
        kinds = {"change": 20, "branch": 2, "indices": 1, "crowd": 0.4, "gone": 0.4, "edges": 1, "films": 0.5}
        match self.random.choices(list(kinds), list(kinds.values()))[0]:
            case "change":
                self.change()
            case "branch":
                self.branch()
            case "indices":
                self.graph.maintain.ensure_indices()
            case "crowd":
                names = (f"crowd {next(self.numbers)}" for _ in range(CROWD))
                self.load(*({"type": "Person", "data": {"name": each, "note": "crowd"}} for each in names))
            case "gone":
                self.graph.mutate('query gone() { delete Person where note = "crowd" }')
            case "edges":
                # All of them anew, under names that some had before.
                self.load(*self.edges("main", 8), mode="overwrite")
            case "films":
                code = self.random.choice(FILMS)
                self.load({"type": "Film", "data": {"code": code, "title": f"take {next(self.numbers)}"}})

    def branch(self) -> None:
        """Some commits on a branch, and its merge; where main has moved on, the branch has only made new rows."""
        name, moves_on = f"side/{next(self.numbers)}", self.random.random() < 0.5
        self.graph.branches.create(name)
        for _ in range(self.random.randint(1, 4)):
            if moves_on:
                self.load(self.person(f"new {next(self.numbers)}"), branch=name)
            else:
                self.change(name)
        if moves_on:
            self.change()
        self.graph.branches.merge(name, delete_branch=True)

    def change(self, branch: str = "main") -> None:
        here = self.here(branch)
        match self.random.randrange(6):
            case 0 | 1:
                chosen = self.random.sample(PEOPLE, self.random.randint(1, 4))
                self.load(*map(self.person, chosen), branch=branch)
            case 2 | 3:
                self.load(*self.edges(branch, self.random.randint(1, 4)), branch=branch)
            case 4:
                source = "query set($name: String, $age: I32) { update Person set { age: $age } where name = $name }"
                params = {"name": self.random.choice(here), "age": self.random.randrange(1_000)}
                self.graph.mutate(source, params=params, branch=branch)
            case _ if len(here) > 5:
                source = "query drop($name: String) { delete Person where name = $name }"
                self.graph.mutate(source, params={"name": self.random.choice(here)}, branch=branch)

    def here(self, branch: str) -> list[str]:
        rows = self.graph.table("Person", ["name", "note"], branch=branch)
        return sorted(each["name"] for each in rows if each["note"] != "crowd")

    def person(self, name: str) -> Record:
        draw = self.random.random
        values = {
            "age": self.random.randrange(100) if draw() < 0.7 else None,
            "born": f"19{self.random.randrange(10, 99)}-02-0{self.random.randint(1, 9)}" if draw() < 0.5 else None,
            # Numbers that all writers of JSON spell alike.
            "score": self.random.choice([0.1, -2.5, 3.0, 1234567.875]) if draw() < 0.5 else None,
            "tags": self.random.sample(["a", "ü", '"', "\\"], self.random.randrange(4)) if draw() < 0.5 else None,
            "note": self.random.choice(["", "two\nlines", "\u2028 ☃ \U0001f600"]) if draw() < 0.5 else None,
        }
        return {"type": "Person", "data": {"name": name, **values}}

    def edges(self, branch: str, count: int) -> list[Record]:
        here = self.here(branch)
        return [
            {
                "edge": "Saw",
                "from": self.random.choice(here),
                "to": self.random.choice(FILMS),
                "data": {
                    "id": f"saw {number}",
                    "stars": self.random.choice([None, 0.1, 4.5]),
                    "at": self.random.choice([None, "2026-02-01T10:30:00.250Z"]),
                },
            }
            for number in self.random.sample(range(60), count)
        ]

    def load(self, *records: Record, mode: str = "merge", branch: str = "main") -> None:
        self.graph.load(list(records), mode, branch=branch)
