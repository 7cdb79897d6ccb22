"""Writers in processes of their own that change one graph at random, and what they were told; with chaos if wanted.

    world = history_world()
    model = begin_history(uri, world)                        a graph with the first load of the world
    run = run_writers(uri, world=world, processes=8, operations=200, seed=1, directory=tmp_path)
    problems = check_history(graph, model, run.records, since=run.since)

A writer notes each call in a file before it begins and after it ended, so that one that is killed leaves what it was
told. Killed writers are started again and go on with their next call, or repeat one that may be repeated. Which calls
are made depends on the seed alone; how they meet, and what is under way when a writer is killed, does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from omnigraph.testing.history_calls import MUTATIONS_ONLY
from omnigraph.testing.history_crew import Chaos, Crew
from omnigraph.testing.history_life import FOLDING, HistoryJob, OnConflict
from omnigraph.testing.history_records import CallRecord, NoteReader, Outcome
from omnigraph.testing.model import ModelGraph
from omnigraph.testing.mutation_strategies import MutationWorld


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRun:
    """What writers did.

    Attributes:
        since: the manifest version that they began with.
        records: every call, by writer and in its order.
        kills: writers that were ended from outside.
        stops: writers that were stopped and continued.
        hits: by failpoint and by what was under way, how many writers ended there.
        lives: processes that were started.
        notes: of each writer.
    """

    since: int
    records: tuple[CallRecord, ...]
    kills: int = 0
    stops: int = 0
    hits: Mapping[tuple[str, str], int] = field(default_factory=dict)
    lives: int = 0
    notes: tuple[NoteReader, ...] = ()

    def count(self, outcome: Outcome) -> int:
        """How many calls ended so."""
        return sum(each.outcome is outcome for each in self.records)

    def hits_at(self, failpoint: str, *, is_fold: bool = False) -> int:
        """How many writers ended at a failpoint, while they folded or while they did not."""
        return sum(
            count for (name, during), count in self.hits.items() if name == failpoint and (during == FOLDING) is is_fold
        )


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
    watch_options: Mapping[str, Any] | None = None,
    branch: str = "main",
    mix: Mapping[str, float] = MUTATIONS_ONLY,
    on_conflict: OnConflict = "retry",
    chaos: Chaos | None = None,
    prepare: Callable[[], None] | None = None,
    enough_seconds: float | None = None,
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
        watch_options: another way to the same store, on which nothing goes wrong; by default the same one.
        branch: which they write to.
        mix: which kinds of calls they make, and how often; see ``history_calls``.
        on_conflict: what a call does whose data moved; see ``Graph.mutate``.
        chaos: what happens to them meanwhile.
        prepare: is called by each writer before it opens the graph; a function that pickles.
        enough_seconds: after which no call begins any more, however few were made.
        seconds: how long they may take.

    Raises:
        TimeoutError: they took longer; all of them were ended.
        RuntimeError: a writer ended with an error of its own.
    """
    import omnigraph

    given = dict(options or {})
    watched = given if watch_options is None else dict(watch_options)
    with omnigraph.open(uri, mode="r", options=watched) as graph:
        since = graph.snapshot(branch).commit.manifest_version
    job = HistoryJob(
        uri=str(uri),
        options=given,
        watch_options=watched,
        branch=branch,
        world=world,
        mix=mix,
        seed=seed,
        on_conflict=on_conflict,
        writer=0,
        first=0,
        last=operations,
        notes=directory,
        prepare=prepare,
        fault_share=0.0 if chaos is None else chaos.fault_share,
    )
    crew = Crew([replace(job, writer=number) for number in range(processes)], chaos or Chaos(), seed)
    try:
        crew.run(enough_seconds, seconds)
    finally:
        crew.end()
    return HistoryRun(
        since=since,
        records=tuple(record for each in crew.writers for record in each.notes.records.values()),
        kills=crew.kills,
        stops=crew.stops,
        hits=dict(crew.hits()),
        lives=crew.lives,
        notes=tuple(each.notes for each in crew.writers),
    )
