"""``follow_history``: a writer and consumers that are killed and begin again, until each holds what the writer made.

Where a life ends itself, at which of its points, is drawn from the seed. Every third life is ended from outside
instead, at a moment that is drawn, whatever it does then: a poll, for instance.
"""

from __future__ import annotations

import json
import multiprocessing
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random
from typing import Any

from fleet_runs import PRELOADED, TICK_SECONDS
from follow_consumer import ConsumerJob, Kind, consume
from follow_writer import SCHEMA, WriterJob, write_history

import omnigraph as og

LONGEST_LIFE_SECONDS = 0.6
"""For how long a life goes on at most that is ended from outside."""


@dataclass(frozen=True, kw_only=True)
class FollowPlan:
    """How much of everything there is.

    Attributes:
        commits: versions of main, at least.
        kills: lives of each consumer that are ended.
        points: within which a life ends itself; few enough that so many lives are not done before.
    """

    seed: int
    commits: int
    kills: int
    points: int
    kinds: Sequence[Kind] = ("together", "apart")
    seconds: float = 1_500.0


@dataclass
class Consumer:
    """A consumer as its parent sees it.

    Attributes:
        kills: lives that ended by their own hand.
        kills_outside: those that were ended.
        ends_at: when this life is ended.
    """

    job: ConsumerJob
    random: Random
    kills: int = 0
    kills_outside: int = 0
    process: BaseProcess | None = None
    is_outside: bool = False
    ends_at: float | None = None
    is_done: bool = False

    def notes(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.job.notes.read_text().splitlines()]


def follow_history(
    uri: str,
    options: Mapping[str, Any],
    plan: FollowPlan,
    directory: Path,
    after_kill: Callable[[Consumer], None] = lambda _consumer: None,
) -> list[Consumer]:
    """Let a writer write and consumers follow, and end when all of them are done.

    Args:
        uri: where the graph is made.
        options: of the backend.
        plan: how much there is of everything.
        directory: where consumers store things.
        after_kill: is told of each consumer that was killed, before it begins again.

    Raises:
        RuntimeError: a process ended with an error of its own.
        TimeoutError: they took too long.
    """
    with og.init(uri, schema=SCHEMA, options=options):
        pass
    # Not fork: this process may run threads, of Lance for instance, that a forked child would lack.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    done, until = directory / "done", time.monotonic() + plan.seconds
    job = WriterJob(uri=uri, options=options, seed=plan.seed, commits=plan.commits, done=done)
    writer = context.Process(target=write_history, args=(job,), daemon=True)
    consumers = []
    for kind in plan.kinds:
        own = directory / kind
        own.mkdir()
        first = ConsumerJob(uri=uri, options=options, kind=kind, directory=own, done=done, seed=plan.seed)
        consumers.append(Consumer(job=first, random=Random(f"{plan.seed}.{kind}")))
    try:
        writer.start()
        for each in consumers:
            _begin(context, each, plan)
        while not all(each.is_done for each in consumers):
            if time.monotonic() > until:
                raise TimeoutError("the consumers were not done in time")
            if writer.exitcode not in (None, 0):
                raise RuntimeError(f"the writer ended with exit code {writer.exitcode}")
            for each in consumers:
                if _look_after(each):
                    after_kill(each)
                    _begin(context, each, plan)
            time.sleep(TICK_SECONDS / 5)
        writer.join()
    finally:
        for process in (writer, *(each.process for each in consumers if each.process is not None)):
            process.kill()
            process.join()
    return consumers


def _begin(context: Any, consumer: Consumer, plan: FollowPlan) -> None:
    """Begin the next life, and draw how it ends."""
    life = consumer.job.life + 1
    is_last = consumer.kills + consumer.kills_outside >= plan.kills
    consumer.is_outside = not is_last and life % 3 == 0
    point = consumer.random.randint(1, plan.points)
    consumer.job = replace(consumer.job, life=life, dies_at=None if is_last or consumer.is_outside else point)
    consumer.ends_at = None
    consumer.process = context.Process(target=consume, args=(consumer.job,), daemon=True)
    consumer.process.start()


def _look_after(consumer: Consumer) -> bool:
    """Whether a consumer was killed, and has to begin again."""
    process = consumer.process
    if process is None or consumer.is_done:
        return False
    if process.exitcode is None:
        if consumer.is_outside and consumer.ends_at is None and consumer.job.ready.exists():
            consumer.ends_at = time.monotonic() + consumer.random.uniform(0, LONGEST_LIFE_SECONDS)
        if consumer.ends_at is not None and time.monotonic() > consumer.ends_at:
            process.kill()
            process.join()
    if process.exitcode is None:
        return False
    if process.exitcode == 0:
        consumer.is_done = True
        return False
    if process.exitcode != -signal.SIGKILL:
        raise RuntimeError(f"a consumer ended with exit code {process.exitcode}")
    consumer.kills += not consumer.is_outside
    consumer.kills_outside += consumer.is_outside
    return True
