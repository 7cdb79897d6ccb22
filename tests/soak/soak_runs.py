"""``run_soak``: several processes change one graph in every way there is and are killed at random; then all is checked.

    SoakPlan (seed, calls, seconds) ── run_writers ──> HistoryRun ── check_soak ──> problems
                                                            └────────────────────> SoakReport, one line of JSON

A seed decides what each process is to do, where it ends itself and which requests fail. How processes meet, and what
is under way when one is killed from outside, is the machine's: the same seed makes the same calls, not the same run.
"""

from __future__ import annotations

import json
import multiprocessing
import signal
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from soak_checks import (
    ROLLED_BACK,
    Verdict,
    check_soak,
    left_behind,
    lying_sidecars,
    types_ahead,
)
from soak_haste import hurry

import omnigraph as og
from omnigraph.errors import OmnigraphError
from omnigraph.failpoints import FAILPOINTS, PUBLISH_TABLE_COMMITTED
from omnigraph.plugins import open_adapter
from omnigraph.testing.fault_proxy import FaultProxy
from omnigraph.testing.history_calls import EVERYTHING, Load
from omnigraph.testing.history_crew import Chaos
from omnigraph.testing.history_life import Aim, HistoryJob, live
from omnigraph.testing.history_records import CallRecord, NoteReader
from omnigraph.testing.history_writers import HistoryRun, begin_history, run_writers
from omnigraph.testing.mutation_strategies import history_world

HANG_SECONDS = 240.0
"""How long after its time a run may take to end: more than any deadline of a write and any wait for the dead."""

NOWHERE = {
    "recovery.orphan_discard_audit_append",
    "mutation.post_fork_pre_commit",
    *(name for name in FAILPOINTS if name.startswith(("branch_", "refusal."))),
}
"""Failpoints that are not reached here for sure: all is written to main, no branch is made or deleted, and a call that
lost is mostly made again."""

EVERYWHERE = tuple(name for name in FAILPOINTS if name not in NOWHERE and not name.startswith("fold."))
IN_FOLDS = tuple(name for name in FAILPOINTS if name.startswith(("fold.", "publish.")))


@dataclass(frozen=True, kw_only=True)
class SoakPlace:
    """Where the graph is.

    Attributes:
        options: by which writers reach it, in trouble perhaps.
        direct: by which it is reached without any trouble.
        is_passing: it is gone when the test ends.
    """

    name: str
    uri: str
    options: Mapping[str, Any] = field(default_factory=dict)
    direct: Mapping[str, Any] = field(default_factory=dict)
    is_passing: bool = False


@dataclass(frozen=True, kw_only=True)
class SoakPlan:
    """How much of everything there is.

    Attributes:
        operations: calls, all writers together; more, while failpoints still have to be met.
        seconds: after which no call begins any more.
        is_long: at the end a writer without rivals is killed, too.
    """

    seed: int
    operations: int
    seconds: float
    writers: int
    chaos: Chaos
    is_long: bool = False


@dataclass(frozen=True, kw_only=True)
class SoakReport:
    """What happened in one run.

    Attributes:
        operations: calls by kind.
        outcomes: of calls.
        kills: by failpoint and by what was under way; those from outside are ``at any time``.
        pauses: the same, of those that stopped themselves and were let go on; ``stops`` are those from outside.
        lives: processes that were started.
        repeated: calls that were made again because their answer was missing.
        faults: by what was asked for, or what the network did.
        recoveries: by kind; ``taken_over`` are those whose writers were alive, and went on.
        sidecars_left: how many plans of dead writers lay there when all was over.
        types_ahead: whose newest stored version showed other rows than the published one, before the last write.
        seconds: until the last process ended.
        check_seconds: how long the checks took after that.
    """

    place: str
    seed: int
    operations: Mapping[str, int]
    total: int
    outcomes: Mapping[str, int]
    kills: Mapping[str, Mapping[str, int]]
    killed: int
    pauses: Mapping[str, Mapping[str, int]]
    stops: int
    lives: int
    repeated: int
    faults: Mapping[str, int]
    failed_opens: int
    commits: Mapping[str, int]
    recoveries: Mapping[str, int]
    taken_over: int
    sidecars_left: int
    types_ahead: int
    seconds: float
    check_seconds: float

    def line(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)


def run_soak(
    place: SoakPlace, plan: SoakPlan, directory: Path, *, network: FaultProxy | None = None
) -> tuple[HistoryRun, SoakReport]:
    """Make a graph, let writers change it, check it, and print what happened.

    Raises:
        AssertionError: something is wrong; the message has the seed, and where graph and notes are.
    """
    began = time.monotonic()
    model = begin_history(place.uri, history_world(), options=place.direct)
    try:
        run = let_writers(place, plan, directory)
        ended = time.monotonic()
        stores_fail = plan.chaos.fault_share > 0 or place.options != place.direct
        verdict = check_soak(place.uri, place.direct, model, run, stores_fail=stores_fail)
        report = make_report(place, plan, run, verdict, ended - began, {} if network is None else network.faults)
        print(report.line(), flush=True)
        problems = [
            *verdict.problems,
            *(lone_crash_problems(place, directory) if plan.is_long else ()),
        ]
        assert not problems, "\n".join(problems[:20])
    except (AssertionError, OmnigraphError, TimeoutError, RuntimeError) as error:
        kept = keep_graph(place, directory)
        raise AssertionError(
            f"Seed {plan.seed} on {place.name} failed. The graph is at {kept}, the notes are in {directory}.\n{error}"
        ) from error
    return run, report


def let_writers(place: SoakPlace, plan: SoakPlan, directory: Path) -> HistoryRun:
    return run_writers(
        place.uri,
        world=history_world(),
        processes=plan.writers,
        operations=-(-plan.operations // plan.writers),
        seed=plan.seed,
        directory=directory,
        options=place.options,
        watch_options=place.direct,
        mix=EVERYTHING,
        chaos=plan.chaos,
        prepare=hurry,
        enough_seconds=plan.seconds,
        seconds=plan.seconds + HANG_SECONDS,
    )


def lone_crash_problems(place: SoakPlace, directory: Path) -> list[str]:
    """What is wrong after a writer without rivals died between two of its types, and the graph was opened again.

    Nobody has lost a race to it, so every type's newest stored version has to show what is published.
    """
    problems = []
    for nth in (1, 2):
        notes = directory / f"alone-{nth}"
        notes.mkdir()
        end_between_types(place, notes, nth)
        with og.open(place.uri, options=place.direct) as graph:
            (left,) = left_behind(NoteReader(notes / "writer-0.jsonl").read().sidecars)
            kinds = [str(each.kind) for each in graph.recoveries.list() if each.operation_id == left]
            if kinds != [ROLLED_BACK] or lying_sidecars(graph):
                problems.append(f"the write of a lone writer was recovered as {kinds}")
            problems += [f"{each} is not what is published after a lone writer died" for each in types_ahead(graph)]
    return problems


def end_between_types(place: SoakPlace, notes: Path, nth: int) -> None:
    """Let one writer make one load of three types, and end when so many of them are committed."""
    records = (
        {"type": "Person", "data": {"name": "ann", "age": nth}},
        {"type": "Film", "data": {"code": "F1", "title": str(nth)}},
        {"edge": "Rated", "from": "ann", "to": "F1", "data": {"stars": nth}},
    )
    job = HistoryJob(
        uri=place.uri,
        options=place.direct,
        watch_options=place.direct,
        branch="main",
        world=history_world(),
        seed=0,
        on_conflict="retry",
        writer=0,
        first=0,
        last=0,
        again=CallRecord(call=f"alone-{nth}", work=Load(mode="merge", records=records), before=0),
        notes=notes,
        prepare=hurry,
        aims=(Aim(failpoint=PUBLISH_TABLE_COMMITTED, nth=nth),),
    )
    job.go.touch()
    process = multiprocessing.get_context("forkserver").Process(target=live, args=(job,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL


def keep_graph(place: SoakPlace, directory: Path) -> str:
    """Where the graph can be looked at: a copy, if its server ends with the test."""
    if not place.is_passing:
        return place.uri
    kept = directory / "graph"
    with open_adapter(place.uri, options=place.direct) as adapter:
        for key in adapter.list():
            file = kept / key.value
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(adapter.read(key))
    return str(kept)


def grouped(counts: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    """By failpoint, and then by what was under way."""
    found: dict[str, dict[str, int]] = {}
    for (name, during), count in sorted(counts.items()):
        found.setdefault(name, {})[during] = count
    return found


def make_report(
    place: SoakPlace, plan: SoakPlan, run: HistoryRun, verdict: Verdict, seconds: float, network: Mapping[str, int]
) -> SoakReport:
    kills = grouped(run.hits)
    if run.kills:
        kills["at any time"] = {"any": run.kills}
    faults = sum((each.faults for each in run.notes), Counter(network))
    return SoakReport(
        place=place.name,
        seed=plan.seed,
        operations=dict(sorted(Counter(each.work.kind for each in run.records).items())),
        total=len(run.records),
        outcomes=dict(sorted(Counter(str(each.outcome) for each in run.records).items())),
        kills=kills,
        pauses=grouped(sum((each.pauses for each in run.notes), Counter[tuple[str, str]]())),
        killed=sum(sum(each.values()) for each in kills.values()),
        stops=run.stops,
        lives=run.lives,
        repeated=sum(each.attempts > 1 for each in run.records),
        faults=dict(sorted(faults.items())),
        failed_opens=sum(each.failed_opens for each in run.notes),
        commits=verdict.commits,
        recoveries=verdict.recoveries,
        taken_over=verdict.taken_over,
        sidecars_left=verdict.sidecars_left,
        types_ahead=len(verdict.ahead),
        seconds=round(seconds, 1),
        check_seconds=round(verdict.seconds, 1),
    )
