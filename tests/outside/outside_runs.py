"""What all runs share: a graph in a directory of its own, its writers, its judge, and how a run is told and ended."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from oracle import USUAL, Finding, Oracle
from outside_children import Child, import_everything, join, start
from outside_journal import JournalReader
from outside_observer import observe
from outside_plans import PEOPLE, Planner
from outside_writer import write

LOOK_SECONDS = 120.0


@dataclass(slots=True)
class World:
    """One graph, the journals of its writers and the judge of both.

    Attributes:
        directory: of journals, logs and, unless ``root`` lies elsewhere, of the graph.
        environment: what every process that opens the graph has in addition.
    """

    directory: Path
    root: str
    planner: Planner
    oracle: Oracle
    options: Mapping[str, Any] | None = None
    environment: dict[str, str] = field(default_factory=dict)
    is_local: bool = True
    _files: int = 0

    def writer(
        self,
        operations: list[dict[str, Any]],
        *,
        options: Mapping[str, Any] | None = None,
        wait: Callable[[], None] | None = None,
    ) -> Child:
        """Start a process that does these operations one after the other."""
        self._files += 1
        journal = self.directory / f"{self._files:05}.journal"
        reached = self.options if options is None else options
        return start(
            lambda bell: write(self.root, reached, journal, bell, operations, wait),
            self.directory / "log",
            self.environment,
        )

    def look(self, mode: str, *, is_settled: bool) -> bool:
        """Let a fresh process look at the graph, and judge what it saw; whether it saw one."""
        self._files += 1
        random = self.planner.random
        output = self.directory / f"{self._files:05}.seen"
        main = list(self.oracle.states)
        asked = {
            "than": random.randrange(90),
            "name": f"p{random.randrange(PEOPLE)}",
            "past": [random.choice(main)] if main and random.random() < 0.5 else [],
        }
        if asked["past"] and not self._is_reachable(asked["past"][0]):
            asked["past"] = []
        child = start(
            lambda _: observe(self.root, self.options, mode, asked, output, self.is_local),
            self.directory / "log",
            self.environment,
        )
        self.oracle.listen()
        if not join(child, LOOK_SECONDS):
            self.oracle.find("overrun", f"a look at the graph ({mode}) took more than {LOOK_SECONDS:.0f} s")
            return False
        if child.exit_code != 0:
            self.oracle.find("untyped", f"a look at the graph ({mode}) ended with {child.exit_code}, see the log")
            return False
        seen = json.loads(output.read_text()) | {"asked": asked}
        output.unlink()
        self.oracle.judge(seen, is_settled=is_settled)
        self.planner.states = dict(self.oracle.heads) or self.planner.states
        self.planner.tags = tuple(self.oracle.tags)
        return "missing" not in seen and "error" not in seen

    def _is_reachable(self, commit_id: str) -> bool:
        """Whether a branch that is there still has a commit, so that it can be read."""
        return self.oracle.commits[commit_id]["branch"] == "main"

    def go_on(self) -> None:
        """A write that nothing speaks against has to succeed, whatever happened before."""
        operation = self.planner.simple()
        child = self.writer([self.planner.opening(), operation])
        is_over = join(child, LOOK_SECONDS)
        self.oracle.listen()
        entry = self.oracle.journal.entries.get(operation["number"])
        if not is_over or entry is None or not entry.is_acknowledged:
            refusal = entry.refusal if entry is not None else "the graph was not opened for writing"
            self.oracle.find("unreadable", f"operation {operation['number']}, which had to succeed: {refusal}")


@dataclass(slots=True)
class Run:
    """One call of a script: its seed, where it works, and what it found."""

    name: str
    seed: int
    directory: Path
    random: Random
    counts: Counter[str] = field(default_factory=Counter)
    findings: list[tuple[Finding, Path]] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    worlds: int = 0

    def warm_up(self, root: str | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Import everything that children need, by what a first graph needs."""
        import_everything(self.directory, root or str(self.directory / "first"), options)

    @contextmanager
    def world(
        self,
        *,
        root: str | None = None,
        allowed: frozenset[str] = frozenset(),
        shares: Mapping[str, int] | None = None,
        note_bytes: int = 8,
        **members: Any,
    ) -> Iterator[World]:
        """A new world; it is removed at the end unless something was found in it."""
        self.worlds += 1
        directory = self.directory / f"world-{self.worlds}"
        directory.mkdir(parents=True)
        planner = Planner(Random(self.random.random()), note_bytes=note_bytes)
        if shares is not None:
            planner.shares = shares
        oracle = Oracle(JournalReader(directory), allowed=USUAL | allowed)
        world = World(directory, root or str(directory / "graph"), planner, oracle, **members)
        try:
            yield world
        finally:
            oracle.listen()
            self.counts += oracle.summary()
            self.findings += [(each, directory) for each in oracle.findings]
            for each in oracle.findings:
                print(f"{self.name} seed {self.seed}: {each.kind}: {each.text[:1500]} ({directory})", file=sys.stderr)
            if not oracle.findings:
                shutil.rmtree(directory, ignore_errors=True)

    def tell(self, **facts: Any) -> int:
        """Print the line that says how it went; the exit code."""
        kinds = Counter(finding.kind for finding, _ in self.findings)
        told = {
            "script": self.name,
            "seed": self.seed,
            **facts,
            "seconds": round(time.monotonic() - self.began),
            "lost": kinds["lost"],
            "partial": kinds["partial"],
            "overruns": kinds["overrun"],
            "findings": dict(kinds),
            "counts": dict(sorted(self.counts.items())),
        }
        print(json.dumps(told), flush=True)
        return 1 if self.findings else 0


@contextmanager
def run_of(name: str, asked: argparse.Namespace) -> Iterator[Run]:
    """A run in a directory that is removed at the end unless something was found."""
    directory = Path(tempfile.mkdtemp(prefix=f"outside-{name}-", dir=asked.directory))
    run = Run(name, asked.seed, directory, Random(asked.seed))
    try:
        yield run
    finally:
        if not run.findings:
            shutil.rmtree(directory, ignore_errors=True)


def arguments(description: str, count: int, what: str) -> argparse.ArgumentParser:
    """The arguments that every script has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--count", type=int, default=count, help=f"{what} (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="decides what is done and when (%(default)s)")
    parser.add_argument("--directory", help="where to work; by default where temporary files go")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin nothing new after so many seconds")
    return parser
