"""One life of a writer, in a process of its own: it opens a graph, makes its calls, and may end at a failpoint.

    HistoryJob ── live ──> notes: each call before it begins and after it ended, what became of each sidecar, each fault

Which calls it makes follows from the seed, its number and theirs, and from nothing else. ``history_crew`` starts
lives, ends them and begins new ones.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final, Literal

from omnigraph.errors import (
    AlreadyExistsError,
    ConflictError,
    ConstraintError,
    InvalidInputError,
    NotFoundError,
    OutcomeUnknownError,
    StorageError,
)
from omnigraph.failpoints import arm
from omnigraph.testing.failpoint_actions import Action, Call, Once, OnNth
from omnigraph.testing.history_calls import (
    MUTATIONS_ONLY,
    Creation,
    How,
    Load,
    Look,
    Mutation,
    Upkeep,
    digest_of_export,
    digest_of_traversal,
    make_work,
    traversal,
)
from omnigraph.testing.history_records import CallRecord, Outcome
from omnigraph.testing.history_stores import BESIDE, Note, watch_stores
from omnigraph.testing.mutation_strategies import MutationWorld
from omnigraph.testing.mutation_text import spell_mutation
from omnigraph.testing.races import end_with_parent

if TYPE_CHECKING:
    from omnigraph.graph import Graph

OnConflict = Literal["fail", "retry"]

TICK_SECONDS: Final = 0.01
FOLD_THREAD: Final = "omnigraph-fold"
"""The thread in which tails are folded; what it does is no part of the call that is under way."""

FOLDING: Final = "fold"
"""What is under way in that thread."""

OPEN_ATTEMPTS: Final = 20
"""How often a graph is opened whose store fails on purpose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """A failpoint at which a life ends.

    Attributes:
        nth: the time that it is reached.
        is_fold: only times count at which a fold reaches it; otherwise, only those at which something else does.
        is_pause: it does not end there, but is stopped, until somebody lets it go on.
    """

    failpoint: str
    nth: int = 1
    is_fold: bool = False
    is_pause: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryJob:
    """What one life of a writer is to do.

    Attributes:
        watch_options: of the backend, for the handle that only asks for the newest version; never in trouble.
        writer: its number.
        first: the number of the first call.
        last: that of the first one that it does not make.
        again: a call of an earlier life that was not answered, and is to be repeated first.
        prepare: is called before the graph is opened.
        aims: where it ends before it is done.
        fault_share: of its requests for control objects, that fail.
        life: counts the lives of this writer.
    """

    uri: str
    options: Mapping[str, Any]
    watch_options: Mapping[str, Any]
    branch: str
    world: MutationWorld
    mix: Mapping[str, float] = field(default_factory=lambda: MUTATIONS_ONLY)
    seed: int
    on_conflict: OnConflict
    writer: int
    first: int
    last: int
    again: CallRecord | None = None
    notes: Path
    prepare: Callable[[], None] | None = None
    aims: tuple[Aim, ...] = ()
    fault_share: float = 0.0
    life: int = 0

    @property
    def file(self) -> Path:
        """Its notes."""
        return self.notes / f"writer-{self.writer}.jsonl"

    @property
    def ready(self) -> Path:
        """Is there when the writer could begin."""
        return self.notes / f"writer-{self.writer}.ready"

    @property
    def paused(self) -> Path:
        """Is there while the writer has stopped itself."""
        return self.notes / f"writer-{self.writer}.paused"

    @property
    def go(self) -> Path:
        """Is there when all of them may begin: else the first are done before the last have started."""
        return self.notes / "go"

    @property
    def enough(self) -> Path:
        """Is there when no further call is to begin."""
        return self.notes / "enough"


def live(job: HistoryJob) -> None:
    """A writer's whole life."""
    import omnigraph

    threading.Thread(target=end_with_parent, daemon=True).start()
    if job.prepare is not None:
        job.prepare()
    with (
        job.file.open("ab", buffering=0) as file,
        # What is asked of it makes the writer's own handle no wiser.
        omnigraph.open(job.uri, mode="r", options=job.watch_options) as watcher,
    ):

        def note(facts: Mapping[str, Any]) -> None:
            file.write(json.dumps(facts, ensure_ascii=False).encode() + b"\n")

        _Life(job, watcher, note).run()


def seeded(*seeds: int) -> Random:
    """A source of chance that is the same again for the same numbers."""
    return Random(".".join(map(str, seeds)))  # noqa: S311 - the same again from the same seed


class _Life:
    def __init__(self, job: HistoryJob, watcher: Graph, note: Note) -> None:
        self.job = job
        self.watcher = watcher
        self.note = note
        self.doing = "open"

    def run(self) -> None:
        job = self.job
        watch_stores(self.note, seeded(job.seed, job.writer, job.life, -1), job.fault_share)
        for aim in job.aims:
            arm(aim.failpoint, self._action(aim))
        self.graph = self._opened()
        try:
            job.ready.touch()
            while not job.go.exists():
                time.sleep(TICK_SECONDS)
            if job.again is not None:
                self._call(replace(job.again, attempts=job.again.attempts + 1), job.first - 1)
            for number in range(job.first, job.last):
                if job.enough.exists():
                    break
                work = make_work(seeded(job.seed, job.writer, number), job.world, job.mix)
                self._call(CallRecord(call=f"writer-{job.writer}.{number}", work=work, before=self._newest()), number)
        finally:
            self.doing = "close"
            self.graph.close()

    def _action(self, aim: Aim) -> Action:
        """What happens at a failpoint."""
        act = Once(Call(self._pause)) if aim.is_pause else Call(self._end)
        counted = OnNth(aim.nth, act)
        return lambda name: counted(name) if _is_fold() is aim.is_fold else None

    def _end(self, name: str) -> None:
        self.note({"hit": name, "during": self._doing})
        os.kill(os.getpid(), signal.SIGKILL)

    def _pause(self, name: str) -> None:
        self.note({"pause": name, "during": self._doing})
        self.job.paused.touch()
        os.kill(os.getpid(), signal.SIGSTOP)
        self.job.paused.unlink()

    @property
    def _doing(self) -> str:
        return FOLDING if _is_fold() else self.doing

    def _opened(self) -> Graph:
        """The graph, for reading and writing; in spite of trouble that is there on purpose."""
        import omnigraph

        attempts = OPEN_ATTEMPTS if self._is_in_trouble else 1
        while True:
            attempts -= 1
            try:
                return omnigraph.open(self.job.uri, options=self.job.options)
            except (StorageError, OutcomeUnknownError) as error:
                if attempts == 0:
                    raise
                self.note({"open": f"{type(error).__name__}: {error}"})

    @property
    def _is_in_trouble(self) -> bool:
        return self.job.fault_share > 0 or self.job.options != self.job.watch_options

    def _newest(self) -> int:
        return self.watcher.snapshot(self.job.branch).commit.manifest_version

    def _call(self, planned: CallRecord, number: int) -> None:
        self.doing = planned.work.kind
        self.note(planned.intent())
        ended = self._told(planned, number)
        self.note(replace(ended, after=self._newest()).ending())

    def _told(self, planned: CallRecord, number: int) -> CallRecord:
        """The call, with what came of it."""
        try:
            match planned.work:
                case Mutation():
                    return self._mutate(planned, planned.work, number)
                case Load():
                    return self._load(planned, planned.work)
                case Upkeep():
                    return self._upkeep(planned)
                case Look():
                    return self._look(planned, planned.work.how)
                case Creation():
                    return self._create(planned)
        except (ConstraintError, InvalidInputError) as error:
            return replace(planned, outcome=Outcome.REFUSED, error=str(error))
        except ConflictError as error:
            return replace(planned, outcome=Outcome.CONFLICT, error=f"{type(error).__name__}: {error}")
        except OutcomeUnknownError as error:
            return replace(planned, outcome=Outcome.UNKNOWN, commit_id=error.commit_id, error=str(error))
        except StorageError as error:
            return replace(planned, outcome=Outcome.TROUBLE, error=f"{type(error).__name__}: {error}")
        except Exception as error:  # noqa: BLE001 - whatever it is, it belongs into the history
            return replace(planned, outcome=Outcome.FAILED, error=f"{type(error).__name__}: {error}")

    # ── the calls ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _mutate(self, planned: CallRecord, work: Mutation, number: int) -> CallRecord:
        job = self.job
        source, params = spell_mutation(job.world.catalog, work.statements, seed=number)
        result = self.graph.mutate(
            source, params=params, branch=job.branch, actor=planned.call, on_conflict=job.on_conflict
        )
        affected = (result.affected_nodes, result.affected_edges)
        if result.commit is None:
            return replace(planned, outcome=Outcome.NOTHING, affected=affected)
        return replace(planned, outcome=Outcome.ACKNOWLEDGED, commit_id=result.commit.id, affected=affected)

    def _load(self, planned: CallRecord, work: Load) -> CallRecord:
        result = self.graph.load(
            list(work.records),
            work.mode,
            branch=self.job.branch,
            actor=planned.call,
            load_id=planned.call if work.is_named else None,
        )
        # A load that was made already counts nothing.
        affected = (sum(result.nodes.values()), sum(result.edges.values())) if planned.attempts == 1 else None
        return replace(planned, outcome=Outcome.ACKNOWLEDGED, commit_id=result.commit.id, affected=affected)

    def _upkeep(self, planned: CallRecord) -> CallRecord:
        self.graph.actor = planned.call
        try:
            commit = self.graph.maintain.ensure_indices(self.job.branch).commit
        finally:
            self.graph.actor = None
        if commit is None:
            return replace(planned, outcome=Outcome.NOTHING)
        return replace(planned, outcome=Outcome.ACKNOWLEDGED, commit_id=commit.id)

    def _look(self, planned: CallRecord, how: How) -> CallRecord:
        import omnigraph

        branch, digest = self.job.branch, None
        match how:
            case "export":
                commit_id, digest = _exported(self.graph, branch)
            case "export_read_only":
                with omnigraph.open(self.job.uri, mode="r", options=self.job.options) as reader:
                    commit_id, digest = _exported(reader, branch)
            case "query":
                result = self.graph.query(traversal(self.job.world.catalog), branch=branch)
                commit_id, digest = result.commit_id, digest_of_traversal(result.rows())
            case "refresh":
                commit_id = self.graph.refresh().id
            case "reopen":
                self.graph.close()
                self.graph = self._opened()
                commit_id = self.graph.snapshot(branch).commit.id
        return replace(planned, outcome=Outcome.SEEN, commit_id=commit_id, digest=digest)

    def _create(self, planned: CallRecord) -> CallRecord:
        uri, world = f"{self.job.uri}{BESIDE}{planned.call}", self.job.world
        tries, is_begun = OPEN_ATTEMPTS if self._is_in_trouble else 0, planned.attempts > 1
        while True:
            try:
                with self._made(uri, is_begun) as graph:
                    graph.load(list(world.start), "merge")
                    return replace(planned, outcome=Outcome.ACKNOWLEDGED, digest=digest_of_export(graph.export()))
            except (AlreadyExistsError, StorageError, OutcomeUnknownError):
                if tries == 0:
                    raise
                tries, is_begun = tries - 1, True

    def _made(self, uri: str, is_begun: bool) -> Graph:
        """A new graph; where its making was begun before, the one that is there, or a new one over what is left."""
        import omnigraph

        if is_begun:
            with suppress(NotFoundError):
                return omnigraph.open(uri, options=self.job.options)
        return omnigraph.init(uri, schema=self.job.world.schema, options=self.job.options, force=is_begun)


def _exported(graph: Graph, branch: str) -> tuple[str, str]:
    snapshot = graph.snapshot(branch)
    return snapshot.commit.id, digest_of_export(graph.export(branch=branch, snapshot=snapshot))


def _is_fold() -> bool:
    return threading.current_thread().name == FOLD_THREAD
