"""``Crew``: all writers of a history, as their parent sees them: started, troubled, killed and started again.

    Chaos ── aims at failpoints, kills, stops ──> lives of writers ── notes ──> which failpoints are still to be met

Every writer is forked from one process that has imported everything and used no graph, so that a new life takes
moments. Where a life is to end is drawn from the seed; when it is killed from outside depends on the clock.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import Counter
from dataclasses import dataclass, replace
from multiprocessing.process import BaseProcess
from typing import Final

from omnigraph.testing.history_calls import Creation, Load
from omnigraph.testing.history_life import FOLDING, TICK_SECONDS, Aim, HistoryJob, live, seeded
from omnigraph.testing.history_records import CallRecord, NoteReader

EXTRA_OPERATIONS: Final = 10
"""How many more calls a writer makes that is done, while failpoints still have to be met."""

LAST_NTH: Final = 3
"""A writer is killed at the latest when it reaches its failpoint for the third time, if that is reached often."""

OFTEN: Final = ("publish.", "load.", "mutation.post_stage", "init.table_created")
"""Begin the failpoints that are reached often."""

BIRTH: Final = "recovery."
"""Begins the failpoints that are reached when a graph is opened, beside others that are reached later."""

REPEATED_SHARE: Final = 0.7
"""Of the loads with a name that were not answered, that are repeated."""

_PRELOADED: Final = (
    "pytest",
    "omnigraph.graph.opening",
    "omnigraph.testing.history_life",
    "omnigraph_storage_local.adapter",
    "omnigraph_storage_s3.adapter",
)
"""What is imported once, by the process from which all writers are forked, if it is there; it uses no graph itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chaos:
    """What happens to writers.

    Attributes:
        kills_per_second: how often some writer is ended by SIGKILL, on average.
        stops_per_second: how often some writer is stopped by SIGSTOP.
        stop_seconds: the longest time until it is continued by SIGCONT.
        failpoints: at which writers end themselves by SIGKILL, whatever they do but fold.
        fold_failpoints: at which they do so while they fold.
        hits: how often each of these is met at least.
        aimed_share: of the lives that begin when each was met so often, that are to end at one nevertheless.
        pause_share: of those lives, that stop themselves there for a while and do not end.
        life_calls: after so many calls a writer ends well, and a new one goes on, which may meet another failpoint.
        fault_share: of the requests for control objects, that fail.
    """

    kills_per_second: float = 0.0
    stops_per_second: float = 0.0
    stop_seconds: float = 1.0
    failpoints: tuple[str, ...] = ()
    fold_failpoints: tuple[str, ...] = ()
    hits: int = 5
    aimed_share: float = 0.0
    pause_share: float = 0.0
    life_calls: int | None = None
    fault_share: float = 0.0


@dataclass(slots=True)
class _Writer:
    """A writer as its parent sees it.

    Attributes:
        end: how many calls it is to make.
        size: of its notes when this life began: one that has not grown is still starting.
        resume_at: when it is continued; None while it runs.
    """

    job: HistoryJob
    notes: NoteReader
    end: int
    process: BaseProcess | None = None
    size: int = 0
    resume_at: float | None = None

    def has_begun(self) -> bool:
        return self.job.file.exists() and self.job.file.stat().st_size > self.size


@dataclass(frozen=True, slots=True)
class _Target:
    """A failpoint that is to be met."""

    failpoint: str
    is_fold: bool = False

    @property
    def is_birth(self) -> bool:
        return self.failpoint.startswith(BIRTH)


class Crew:
    """Starts writers, troubles them, and starts them again."""

    def __init__(self, jobs: list[HistoryJob], chaos: Chaos, seed: int) -> None:
        self.writers = [_Writer(each, NoteReader(each.file), each.last) for each in jobs]
        self.chaos = chaos
        self.kills = self.stops = self.lives = 0
        self._targets = (
            *(_Target(name) for name in chaos.failpoints),
            *(_Target(name, is_fold=True) for name in chaos.fold_failpoints),
        )
        self._tries: Counter[_Target] = Counter()
        self._is_enough = False
        self._random = seeded(seed, -1)
        # Not fork: the parent may run threads, of Lance for instance, that a forked child would lack.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(list(_PRELOADED))

    def run(self, enough_seconds: float | None, seconds: float) -> None:
        begun = time.monotonic()
        for each in self.writers:
            self._start(each)
        job = self.writers[0].job
        while any(each.process is not None for each in self.writers):
            passed = time.monotonic() - begun
            if passed > seconds:
                raise TimeoutError("the writers were not done in time")
            if not job.go.exists() and all(each.job.ready.exists() for each in self.writers):
                job.go.touch()
            if not self._is_enough and enough_seconds is not None and passed > enough_seconds:
                self._is_enough = True
                job.enough.touch()
            for each in self.writers:
                self._look_after(each)
            time.sleep(TICK_SECONDS)

    def end(self) -> None:
        """End every writer that still runs."""
        for each in self.writers:
            if each.process is not None:
                each.process.kill()
                each.process.join()
            each.notes.read()

    def hits(self) -> Counter[tuple[str, str]]:
        """By failpoint and what was under way, how many writers ended there."""
        return sum((each.notes.read().hits for each in self.writers), Counter[tuple[str, str]]())

    # ── where they end ───────────────────────────────────────────────────────────────────────────────────────────────

    def _aims(self) -> tuple[Aim, ...]:
        """Where the next life ends: at a failpoint that is reached at its birth, or at another one, or nowhere."""
        left = self._lacking()
        aims = []
        for is_birth in (True, False):
            wanted = [each for each in left if each.is_birth is is_birth]
            if not wanted and self._random.random() < self.chaos.aimed_share:
                wanted = [each for each in self._targets if each.is_birth is is_birth]
            if wanted:
                # Those that no life was aimed at for long come first; how often each is reached differs a lot.
                target = min(wanted, key=lambda each: (self._tries[each], -left.get(each, 0)))
                self._tries[target] += 1
                is_often = target.failpoint.startswith(OFTEN) and not target.is_fold
                nth = self._random.randint(1, LAST_NTH) if is_often else 1
                is_pause = target not in left and self._random.random() < self.chaos.pause_share
                aims.append(Aim(failpoint=target.failpoint, nth=nth, is_fold=target.is_fold, is_pause=is_pause))
        return tuple({each.failpoint: each for each in aims}.values())

    def _lacking(self) -> dict[_Target, int]:
        """The failpoints that were not met often enough, and how often they still have to be."""
        if not self._targets:
            return {}
        met: Counter[_Target] = Counter()
        for (name, during), count in self.hits().items():
            met[_Target(name, is_fold=during == FOLDING)] += count
        return {each: count for each in self._targets if (count := self.chaos.hits - met[each]) > 0}

    # ── their lives ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _start(self, writer: _Writer, again: CallRecord | None = None) -> None:
        first = len(writer.notes.read().records)
        last = writer.end if self.chaos.life_calls is None else min(writer.end, first + self.chaos.life_calls)
        writer.job = replace(
            writer.job, first=first, last=last, again=again, aims=self._aims(), life=writer.job.life + 1
        )
        writer.job.paused.unlink(missing_ok=True)
        writer.size = writer.job.file.stat().st_size if writer.job.file.exists() else 0
        process = self._context.Process(target=live, args=(writer.job,), daemon=True)
        process.start()
        writer.process = process
        self.lives += 1

    def _look_after(self, writer: _Writer) -> None:
        process = writer.process
        if process is None:
            return
        if process.exitcode is None:
            self._trouble(writer, process)
        elif process.exitcode == 0:
            writer.process = None
            self._go_on(writer)
        elif process.exitcode == -signal.SIGKILL:
            writer.process = writer.resume_at = None
            self._start(writer, self._repeated(writer.notes.read().unanswered))
        else:
            raise RuntimeError(f"writer {writer.job.writer} ended with exit code {process.exitcode}")

    def _go_on(self, writer: _Writer) -> None:
        """Start a writer again whose life ended well, if there is something left to do."""
        if self._is_enough:
            return
        if len(writer.notes.read().records) >= writer.end:
            if not self._lacking():
                return
            writer.end += EXTRA_OPERATIONS
        self._start(writer)

    def _repeated(self, call: CallRecord | None) -> CallRecord | None:
        """A call that was not answered, if the next life is to repeat it: where a name tells that it is the same."""
        match None if call is None else call.work:
            case Creation():
                return call
            case Load(is_named=True):
                return call if self._random.random() < REPEATED_SHARE else None
        return None

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
        if writer.job.paused.exists():
            # Asked for again until it has heard: it may not have stopped yet.
            writer.resume_at = time.monotonic() + self._random.uniform(0, self.chaos.stop_seconds)
        elif self._random.random() < self.chaos.kills_per_second * share:
            self.kills += 1
            process.kill()
        elif self._random.random() < self.chaos.stops_per_second * share:
            self.stops += 1
            os.kill(process.pid, signal.SIGSTOP)
            writer.resume_at = time.monotonic() + self._random.uniform(0, self.chaos.stop_seconds)
