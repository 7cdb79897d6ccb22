"""``run_fleet``: lets the processes of a fleet work until all branches are merged, and gives what they noted."""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from fleet_plan import SCHEMA, Effect, FleetPlan
from fleet_work import FleetJob, merge_fleet, read_notes, write_fleet

import omnigraph as og

TICK_SECONDS = 0.05

PRELOADED = ("fleet_work", "omnigraph.graph.opening", "omnigraph_storage_local.adapter", "omnigraph_storage_s3.adapter")
"""What is imported once, by the process from which all others are forked; it uses no graph itself."""


@dataclass(frozen=True, kw_only=True)
class FleetPlace:
    """Where the graph of a fleet is."""

    uri: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def open(self) -> og.Graph:
        return og.open(self.uri, options=self.options)


@dataclass(frozen=True, kw_only=True)
class FleetRun:
    """What a fleet was told.

    Attributes:
        first: the id of the commit that main began with.
        notes: of all processes.
        seconds: until the last of them ended.
    """

    plan: FleetPlan
    first: str
    notes: tuple[Mapping[str, Any], ...]
    seconds: float

    @property
    def effects(self) -> dict[str, list[Effect]]:
        """By commit, what it changed; those that changed nothing are not here."""
        start: list[Effect] = [["put", each] for each in self.plan.start]
        return {self.first: start} | {each["commit"]: each["effects"] for each in self.notes if "effects" in each}

    @property
    def acknowledged(self) -> Counter[str]:
        """Every commit that some process was told of, and how often."""
        return Counter(each["commit"] for each in self.notes if each.get("commit") is not None)

    def commits_on(self, branch: str) -> list[str]:
        """The commits with changes that were made on a branch, in their order."""
        return [each["commit"] for each in self.notes if "effects" in each and each["on"] == branch]

    @property
    def merges(self) -> list[Mapping[str, Any]]:
        return [each for each in self.notes if "merged" in each]


def run_fleet(place: FleetPlace, plan: FleetPlan, directory: Path, *, mergers: int, seconds: float) -> FleetRun:
    """Make a graph, let writers and mergers work on it, and wait until all of it is merged.

    Raises:
        RuntimeError: a process ended with an error.
        TimeoutError: they took longer than so many seconds.
    """
    began = time.monotonic()
    with og.init(place.uri, schema=SCHEMA, options=place.options) as graph:
        first = graph.load(list(plan.start), "append").commit.id
    # Not fork: this process may run threads, of Lance for instance, that a forked child would lack.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    finished = context.Queue()
    job = FleetJob(uri=place.uri, options=place.options, plan=plan, notes=directory)
    writers, merging = (
        [
            context.Process(target=target, args=(replace(job, number=number), finished), daemon=True)
            for number in range(count)
        ]
        for target, count in ((write_fleet, 1 + max(each.writer for each in plan.branches)), (merge_fleet, mergers))
    )
    try:
        for each in (*writers, *merging):
            each.start()
        _wait(writers, merging, began + seconds)
        for _ in merging:
            finished.put(None)
        _wait(merging, (), began + seconds)
    finally:
        for each in (*writers, *merging):
            each.kill()
            each.join()
    return FleetRun(plan=plan, first=first, notes=tuple(read_notes(directory)), seconds=time.monotonic() - began)


def _wait(ending: list[BaseProcess], others: tuple[BaseProcess, ...] | list[BaseProcess], until: float) -> None:
    """Return when some processes have ended well, and the others have not ended badly."""
    while any(each.is_alive() for each in ending):
        if time.monotonic() > until:
            raise TimeoutError("the fleet was not done in time")
        _refuse_failed((*ending, *others))
        time.sleep(TICK_SECONDS)
    _refuse_failed((*ending, *others))


def _refuse_failed(processes: tuple[BaseProcess, ...]) -> None:
    failed = [each.name for each in processes if each.exitcode not in (None, 0)]
    if failed:
        raise RuntimeError(f"{', '.join(failed)} ended with an error, which it printed")
