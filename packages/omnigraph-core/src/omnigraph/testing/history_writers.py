"""Writers in processes of their own that change one graph at random, and what they were told; with chaos if wanted.

    world = history_world()
    model = begin_history(uri, world)                        a graph with the first load of the world
    run = run_writers(uri, world=world, processes=8, operations=200, seed=1, directory=tmp_path)
    problems = check_history(graph, model, run.records, since=run.since)

A writer notes each call in a file before it begins and after it ended, so that one that is killed leaves what it was
told. Killed writers are started again and go on with their next call. Which calls are made depends on the seed alone;
how they meet does not.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final, Literal

from omnigraph.errors import ConflictError, ConstraintError, OutcomeUnknownError
from omnigraph.failpoints import arm
from omnigraph.testing.failpoint_actions import Call, OnNth
from omnigraph.testing.histories import CallRecord, Outcome, read_lines, read_records
from omnigraph.testing.model import ModelGraph
from omnigraph.testing.mutation_strategies import MutationWorld, make_mutation
from omnigraph.testing.mutation_text import spell_mutation
from omnigraph.testing.races import end_with_parent

if TYPE_CHECKING:
    from omnigraph.graph import Graph

OnConflict = Literal["fail", "retry"]

TICK_SECONDS: Final = 0.01
EXTRA_OPERATIONS: Final = 10
"""How many more calls a writer makes that is done, while failpoints still have to be met."""

LAST_NTH: Final = 3
"""A writer is killed at the latest when it reaches its failpoint for the third time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chaos:
    """What happens to writers.

    Attributes:
        kills_per_second: how often some writer is ended by SIGKILL, on average.
        stops_per_second: how often some writer is stopped by SIGSTOP.
        stop_seconds: the longest time until it is continued by SIGCONT.
        failpoints: at which writers end themselves by SIGKILL.
        hits: how often each of these is met at least.
    """

    kills_per_second: float = 0.0
    stops_per_second: float = 0.0
    stop_seconds: float = 1.0
    failpoints: tuple[str, ...] = ()
    hits: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRun:
    """What writers did.

    Attributes:
        since: the manifest version that they began with.
        records: every call, by writer and in its order.
        kills: writers that were ended from outside.
        stops: writers that were stopped and continued.
        hits: by failpoint, how many writers ended there.
    """

    since: int
    records: tuple[CallRecord, ...]
    kills: int = 0
    stops: int = 0
    hits: Mapping[str, int] = field(default_factory=dict)

    def count(self, outcome: Outcome) -> int:
        """How many calls ended so."""
        return sum(each.outcome is outcome for each in self.records)


def begin_history(uri: str | Path, world: MutationWorld, *, options: Mapping[str, Any] | None = None) -> ModelGraph:
    """Make a graph that holds the first load of a world; the model of it."""
    import omnigraph

    model = ModelGraph(world.catalog)
    model.load(world.start, "append")
    with omnigraph.init(uri, schema=world.schema, options=options) as graph:
        graph.load(list(world.start), "append")
    return model


def run_writers(
    uri: str | Path,
    *,
    world: MutationWorld,
    processes: int,
    operations: int,
    seed: int,
    directory: Path,
    options: Mapping[str, Any] | None = None,
    branch: str = "main",
    on_conflict: OnConflict = "retry",
    chaos: Chaos | None = None,
    prepare: Callable[[], None] | None = None,
    seconds: float = 600.0,
) -> HistoryRun:
    """Let writers change a graph until each has made its calls.

    Args:
        uri: an existing graph that processes can share.
        world: what they draw their calls from.
        processes: how many there are.
        operations: how many calls each makes; more, while failpoints still have to be met.
        seed: of the calls and of the chaos.
        directory: an empty one for their notes, which stay there.
        options: of the backend.
        branch: which they write to.
        on_conflict: what a call does whose data moved; see ``Graph.mutate``.
        chaos: what happens to them meanwhile.
        prepare: is called by each writer before it opens the graph; a function that pickles.
        seconds: how long they may take.

    Raises:
        TimeoutError: they took longer; all of them were ended.
        RuntimeError: a writer ended with an error of its own.
    """
    import omnigraph

    with omnigraph.open(uri, mode="r", options=options) as graph:
        since = graph.snapshot(branch).commit.manifest_version
    job = _Job(
        uri=str(uri),
        options=dict(options or {}),
        branch=branch,
        world=world,
        seed=seed,
        on_conflict=on_conflict,
        writer=0,
        first=0,
        last=operations,
        notes=directory,
        prepare=prepare,
    )
    crew = _Crew([replace(job, writer=number) for number in range(processes)], chaos or Chaos(), seed)
    try:
        crew.run(time.monotonic() + seconds)
    finally:
        crew.end()
    records = tuple(record for each in crew.writers for record in read_records(each.job.file))
    return HistoryRun(since=since, records=records, kills=crew.kills, stops=crew.stops, hits=dict(crew.hits()))


# ── one writer, in its own process ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What one life of a writer is to do: the calls from ``first`` to ``last``, and where to end before that."""

    uri: str
    options: Mapping[str, Any]
    branch: str
    world: MutationWorld
    seed: int
    on_conflict: OnConflict
    writer: int
    first: int
    last: int
    notes: Path
    prepare: Callable[[], None] | None = None
    failpoint: str | None = None
    nth: int = 1

    @property
    def file(self) -> Path:
        """Its notes."""
        return self.notes / f"writer-{self.writer}.jsonl"

    @property
    def ready(self) -> Path:
        """Is there when the writer could begin."""
        return self.notes / f"writer-{self.writer}.ready"

    @property
    def go(self) -> Path:
        """Is there when all of them may begin: else the first are done before the last have started."""
        return self.notes / "go"


def _live(job: _Job) -> None:
    """A writer's whole life."""
    import omnigraph

    threading.Thread(target=end_with_parent, daemon=True).start()
    if job.prepare is not None:
        job.prepare()
    with (
        job.file.open("ab", buffering=0) as file,
        omnigraph.open(job.uri, options=job.options) as graph,
        # What is asked of it makes the writer's own handle no wiser.
        omnigraph.open(job.uri, mode="r", options=job.options) as watcher,
    ):

        def note(facts: Mapping[str, Any]) -> None:
            file.write(json.dumps(facts, ensure_ascii=False).encode() + b"\n")

        def die(name: str) -> None:
            note({"hit": name})
            os.kill(os.getpid(), signal.SIGKILL)

        if job.failpoint is not None:
            arm(job.failpoint, OnNth(job.nth, Call(die)))
        job.ready.touch()
        while not job.go.exists():
            time.sleep(TICK_SECONDS)
        for number in range(job.first, job.last):
            statements = make_mutation(_random(job.seed, job.writer, number), job.world)
            planned = CallRecord(
                call=f"writer-{job.writer}.{number}", statements=statements, before=_newest(watcher, job.branch)
            )
            note(planned.intent())
            ended = _call(graph, planned, job, number)
            note(replace(ended, after=_newest(watcher, job.branch)).ending())


def _call(graph: Graph, planned: CallRecord, job: _Job, number: int) -> CallRecord:
    source, params = spell_mutation(job.world.catalog, planned.statements, seed=number)
    try:
        result = graph.mutate(source, params=params, branch=job.branch, actor=planned.call, on_conflict=job.on_conflict)
    except ConstraintError as error:
        return replace(planned, outcome=Outcome.REFUSED, error=str(error))
    except ConflictError as error:
        return replace(planned, outcome=Outcome.CONFLICT, error=f"{type(error).__name__}: {error}")
    except OutcomeUnknownError as error:
        return replace(planned, outcome=Outcome.UNKNOWN, commit_id=error.commit_id, error=str(error))
    except Exception as error:  # noqa: BLE001 - whatever it is, it belongs into the history
        return replace(planned, outcome=Outcome.FAILED, error=f"{type(error).__name__}: {error}")
    affected = (result.affected_nodes, result.affected_edges)
    if result.commit is None:
        return replace(planned, outcome=Outcome.NOTHING, affected=affected)
    return replace(planned, outcome=Outcome.ACKNOWLEDGED, commit_id=result.commit.id, affected=affected)


def _newest(graph: Graph, branch: str) -> int:
    return graph.snapshot(branch).commit.manifest_version


def _random(*seeds: int) -> Random:
    return Random(".".join(map(str, seeds)))  # noqa: S311 - the same again from the same seed


# ── all writers, from outside ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class _Writer:
    """A writer as its parent sees it.

    Attributes:
        size: of its notes when this life began: one that has not grown is still starting.
        resume_at: when it is continued; None while it runs.
    """

    job: _Job
    process: BaseProcess | None = None
    size: int = 0
    resume_at: float | None = None

    def has_begun(self) -> bool:
        return self.job.file.exists() and self.job.file.stat().st_size > self.size


class _Crew:
    """Starts writers, troubles them, and starts them again."""

    def __init__(self, jobs: list[_Job], chaos: Chaos, seed: int) -> None:
        self.writers = [_Writer(each) for each in jobs]
        self.chaos = chaos
        self.kills = 0
        self.stops = 0
        self._random = _random(seed, -1)
        # Not fork: the parent may run threads, of Lance for instance, that a forked child would lack.
        self._context = multiprocessing.get_context("spawn")

    def run(self, deadline: float) -> None:
        for each in self.writers:
            self._start(each)
        go = self.writers[0].job.go
        while any(each.process is not None for each in self.writers):
            if time.monotonic() > deadline:
                raise TimeoutError("the writers were not done in time")
            if not go.exists() and all(each.job.ready.exists() for each in self.writers):
                go.touch()
            for each in self.writers:
                self._look_after(each)
            time.sleep(TICK_SECONDS)

    def end(self) -> None:
        """End every writer that still runs."""
        for each in self.writers:
            if each.process is not None:
                each.process.kill()
                each.process.join()

    def hits(self) -> Counter[str]:
        """By failpoint, how many writers ended there."""
        lines = (line for each in self.writers for line in read_lines(each.job.file))
        return Counter(line["hit"] for line in lines if "hit" in line)

    def _start(self, writer: _Writer) -> None:
        lacking = self._lacking()
        if lacking:
            # Those that other lives are about to meet come last.
            pending = Counter(each.job.failpoint for each in self.writers if each.process is not None)
            failpoint = min(lacking, key=lambda name: (pending[name], -lacking[name]))
            writer.job = replace(writer.job, failpoint=failpoint, nth=self._random.randint(1, LAST_NTH))
        else:
            writer.job = replace(writer.job, failpoint=None)
        writer.size = writer.job.file.stat().st_size if writer.job.file.exists() else 0
        process = self._context.Process(target=_live, args=(writer.job,), daemon=True)
        process.start()
        writer.process = process

    def _lacking(self) -> dict[str, int]:
        """The failpoints that were not met often enough, and how often they still have to be."""
        hits = self.hits() if self.chaos.failpoints else Counter()
        left = {name: self.chaos.hits - hits[name] for name in self.chaos.failpoints}
        return {name: count for name, count in left.items() if count > 0}

    def _look_after(self, writer: _Writer) -> None:
        process = writer.process
        if process is None:
            return
        if process.exitcode is None:
            self._trouble(writer, process)
        elif process.exitcode == 0:
            writer.process = None
            if self._lacking():
                last = writer.job.last
                writer.job = replace(writer.job, first=last, last=last + EXTRA_OPERATIONS)
                self._start(writer)
        elif process.exitcode == -signal.SIGKILL:
            writer.process = writer.resume_at = None
            begun = sum("intent" in line for line in read_lines(writer.job.file))
            writer.job = replace(writer.job, first=begun)
            self._start(writer)
        else:
            raise RuntimeError(f"writer {writer.job.writer} ended with exit code {process.exitcode}")

    def _trouble(self, writer: _Writer, process: BaseProcess) -> None:
        """Stop, continue or end a writer that runs, or let it be."""
        if process.pid is None or not writer.has_begun():
            return
        if writer.resume_at is not None:
            if time.monotonic() >= writer.resume_at:
                os.kill(process.pid, signal.SIGCONT)
                writer.resume_at = None
            return
        share = TICK_SECONDS / len(self.writers)
        if self._random.random() < self.chaos.kills_per_second * share:
            self.kills += 1
            process.kill()
        elif self._random.random() < self.chaos.stops_per_second * share:
            self.stops += 1
            os.kill(process.pid, signal.SIGSTOP)
            writer.resume_at = time.monotonic() + self._random.uniform(0, self.chaos.stop_seconds)
