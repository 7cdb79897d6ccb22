"""``MATRIX``: every place, write, point of death and trigger, with what the specification says must come of it.

The table of stages below is engine.md 5.3 to 5.9 and decision 11 of the design, and nothing else. A combination that
cannot be is listed too, with the reason.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from recovery_writes import WRITES, Write

from omnigraph import failpoints
from omnigraph.failpoints import FAILPOINTS


class Stage(StrEnum):
    """How far a write is when it is cut off."""

    UNANNOUNCED = "nothing is announced"
    INCOMPLETE = "announced, and not every type has its version"
    OVERTAKEN = "every type has its version, and others have changed what it relied on"
    COMPLETE = "every type has its version, and nothing that it relied on has moved"
    PUBLISHED = "the commit is made, and the sidecar lies there"
    OVER = "the commit is made, and the sidecar is gone"


class Outcome(StrEnum):
    """What a recovery does about it."""

    NOTHING = "nothing: there is nothing to recover"
    DEFERRED = "left as it is, for the next opening"
    ROLLED_BACK = "RolledBack"
    ROLLED_FORWARD = "RolledForward"


@dataclass(frozen=True)
class Expected:
    """What is to come of a write that was cut off at some stage.

    Attributes:
        opening: what opening the graph for writing does.
        healing: what the next write and a refresh do.
        is_made: whether the write is part of the graph in the end.
    """

    opening: Outcome
    healing: Outcome
    is_made: bool


EXPECTED: Final = {
    Stage.UNANNOUNCED: Expected(Outcome.NOTHING, Outcome.NOTHING, is_made=False),
    Stage.INCOMPLETE: Expected(Outcome.ROLLED_BACK, Outcome.DEFERRED, is_made=False),
    Stage.OVERTAKEN: Expected(Outcome.ROLLED_BACK, Outcome.DEFERRED, is_made=False),
    Stage.COMPLETE: Expected(Outcome.ROLLED_FORWARD, Outcome.ROLLED_FORWARD, is_made=True),
    Stage.PUBLISHED: Expected(Outcome.ROLLED_FORWARD, Outcome.ROLLED_FORWARD, is_made=True),
    Stage.OVER: Expected(Outcome.NOTHING, Outcome.NOTHING, is_made=True),
}


@dataclass(frozen=True)
class Point:
    """Where a write dies.

    Attributes:
        which: ``first`` or ``last``, of a failpoint that is reached once for each type.
        rival: where another handle publishes first, so that the swap is lost: ``elsewhere``, to the ``same`` types, or
            to ``one`` of them.
        is_of_refusal: only a write comes by that is refused when it has lost.
    """

    failpoint: str
    stage: Stage
    which: str | None = None
    rival: str | None = None
    is_of_refusal: bool = False

    @property
    def name(self) -> str:
        return "-".join(each for each in (self.failpoint, self.which, self.rival) if each)

    def nth(self, write: Write) -> int:
        """At which time the failpoint is reached that the write dies."""
        return write.table_count if self.which == "last" else 1


POINTS: Final = (
    Point(failpoints.LOAD_STAGED, Stage.UNANNOUNCED),
    Point(failpoints.MUTATION_POST_NO_EFFECT_PRE_GATE, Stage.UNANNOUNCED),
    Point(failpoints.MUTATION_DELETE_NODE_PRE_PRIMARY_DELETE, Stage.UNANNOUNCED),
    Point(failpoints.MUTATION_POST_FORK_PRE_COMMIT, Stage.UNANNOUNCED),
    Point(failpoints.MUTATION_POST_STAGE_PRE_EFFECT_GATE, Stage.UNANNOUNCED),
    Point(failpoints.ENSURE_INDICES_POST_STAGE_PRE_COMMIT_BTREE, Stage.UNANNOUNCED),
    Point(failpoints.FOLD_STAGED, Stage.UNANNOUNCED),
    Point(failpoints.PUBLISH_BEFORE_SIDECAR, Stage.UNANNOUNCED),
    Point(failpoints.RECOVERY_SIDECAR_WRITE, Stage.UNANNOUNCED),
    Point(failpoints.PUBLISH_SIDECAR_WRITTEN, Stage.INCOMPLETE),
    Point(failpoints.PUBLISH_TABLE_COMMITTED, Stage.INCOMPLETE, which="first"),
    Point(failpoints.PUBLISH_TABLE_COMMITTED, Stage.COMPLETE, which="last"),
    Point(failpoints.PUBLISH_TABLES_DURABLE, Stage.COMPLETE),
    Point(failpoints.PUBLISH_BEFORE_COMMIT, Stage.COMPLETE),
    Point(failpoints.PUBLISH_LOAD_STATE_RETRYABLE_CONTENTION, Stage.COMPLETE, rival="elsewhere"),
    Point(failpoints.PUBLISH_LOAD_STATE_RETRYABLE_CONTENTION, Stage.OVERTAKEN, rival="same"),
    Point(failpoints.REFUSAL_PRE_PUT_BACK, Stage.OVERTAKEN, rival="same", is_of_refusal=True),
    Point(failpoints.REFUSAL_PRE_PUT_BACK, Stage.OVERTAKEN, rival="one", is_of_refusal=True),
    Point(failpoints.REFUSAL_POST_PUT_BACK, Stage.OVERTAKEN, rival="one", is_of_refusal=True),
    Point(failpoints.PUBLISH_AFTER_COMMIT, Stage.PUBLISHED),
    Point(failpoints.PUBLISH_ACKNOWLEDGED, Stage.PUBLISHED),
    Point(failpoints.RECOVERY_SIDECAR_DELETE, Stage.PUBLISHED),
    Point(failpoints.PUBLISH_SIDECAR_DELETED, Stage.OVER),
)

OF_RECOVERY: Final = (
    failpoints.RECOVERY_SIDECAR_LIST,
    failpoints.RECOVERY_POST_SIDECAR_LIST_PRE_READ,
    failpoints.RECOVERY_POST_LIST_PRE_GATES,
    failpoints.RECOVERY_BEFORE_ROLL_FORWARD_PUBLISH,
    failpoints.RECOVERY_POST_TABLE_RESTORE_PRE_PUBLISH,
    failpoints.RECOVERY_RECORD_AUDIT,
    failpoints.RECOVERY_ORPHAN_DISCARD_AUDIT_APPEND,
    failpoints.RECOVERY_SIDECAR_DELETE,
)
"""Failpoints of a recovery itself; test_recovery_cut_off.py dies at each."""

OUTSIDE: Final = {
    **{
        name: "an init announces no plan: tests/faults/test_fault_kills.py"
        for name in FAILPOINTS
        if name.startswith("init.")
    },
    **{
        name: "a copy and a repair announce no plan: tests/faults/test_fault_copies.py"
        for name in FAILPOINTS
        if name.startswith(("copy.", "relocate."))
    },
    **{
        name: "making and deleting a branch announces no plan: test_recovery_branches.py"
        for name in FAILPOINTS
        if name.startswith(("branch_create.", "branch_delete."))
    },
    **{
        name: "merges die at every point by themselves: test_recovery_merges.py"
        for name in FAILPOINTS
        if name.startswith("branch_merge.")
    },
    **{
        name: "only who looks for cut-off writes comes by: test_recovery_cut_off.py"
        for name in OF_RECOVERY
        if name not in {each.failpoint for each in POINTS}
    },
}
"""Failpoints that no cell is about, and why."""

PLACES: Final = ("memory", "local", "ministack")


class Trigger(StrEnum):
    """What sets a recovery off.

    In the last one the writer is a process that is killed, and a handle of another process, open all the while, makes
    its next write or refreshes, in turn from cell to cell. In the others it is a handle of the same process that died.
    """

    REOPEN = "reopen"
    NEXT_WRITE = "next_write"
    REFRESH = "refresh"
    OTHER_PROCESS = "other_process"


@dataclass(frozen=True)
class Cell:
    """One case.

    Attributes:
        reason: why it cannot be; None when it can.
    """

    place: str
    write: Write
    point: Point
    trigger: Trigger
    reason: str | None

    @property
    def name(self) -> str:
        return f"{self.place}-{self.write.name}-{self.point.name}-{self.trigger}"

    @property
    def expected(self) -> Expected:
        return EXPECTED[self.point.stage]

    @property
    def healed_by(self) -> Trigger:
        """What the survivor does first."""
        if self.trigger is not Trigger.OTHER_PROCESS:
            return self.trigger
        place = [*WRITES].index(self.write.name) + POINTS.index(self.point)
        return Trigger.REFRESH if place % 2 else Trigger.NEXT_WRITE


def reached_by(write: Write) -> list[str]:
    """The failpoints that a write reaches, in order, when nobody is in its way."""
    looks = [failpoints.RECOVERY_SIDECAR_LIST] if write.looks else []
    if not write.has_effect:
        return [*looks, *write.own_points]
    tables = [failpoints.PUBLISH_TABLE_COMMITTED] * write.table_count
    return [
        # Asking for a ticket is a write too, as far as cut-off ones are concerned.
        *(looks * 2 if write.name == "bulk_publish" else looks),
        *write.own_points,
        failpoints.PUBLISH_BEFORE_SIDECAR,
        failpoints.RECOVERY_SIDECAR_WRITE,
        failpoints.PUBLISH_SIDECAR_WRITTEN,
        *tables,
        failpoints.PUBLISH_TABLES_DURABLE,
        failpoints.PUBLISH_BEFORE_COMMIT,
        failpoints.PUBLISH_AFTER_COMMIT,
        failpoints.PUBLISH_ACKNOWLEDGED,
        failpoints.RECOVERY_SIDECAR_DELETE,
        failpoints.PUBLISH_SIDECAR_DELETED,
    ]


_AFTER_A_LOST_SWAP: Final = (
    failpoints.PUBLISH_LOAD_STATE_RETRYABLE_CONTENTION,
    failpoints.REFUSAL_PRE_PUT_BACK,
    failpoints.REFUSAL_POST_PUT_BACK,
)


def _reason(place: str, write: Write, point: Point, trigger: Trigger) -> str | None:
    reached = {*reached_by(write), *(_AFTER_A_LOST_SWAP if write.has_effect else ())}
    if point.is_of_refusal and write.has_effect and not write.is_strict:
        return "the write is prepared again and not refused"
    if point.failpoint not in reached:
        return "the write does not come by"
    if point.which == "first" and write.table_count == 1:
        return "its first type is its last"
    if place == "memory" and trigger is Trigger.OTHER_PROCESS:
        return "no other process reaches the memory of this one"
    return None


def _cells() -> Iterator[Cell]:
    for place, write, point, trigger in itertools.product(PLACES, WRITES.values(), POINTS, Trigger):
        yield Cell(place, write, point, trigger, _reason(place, write, point, trigger))


MATRIX: Final = tuple(_cells())

CELLS: Final = tuple(each for each in MATRIX if each.reason is None)
"""Those that can be."""


def covering(cells: tuple[Cell, ...]) -> tuple[Cell, ...]:
    """A part of the cells of one place in which each point meets each trigger, and the writes take turns."""
    by_case: dict[tuple[Point, Trigger], list[Cell]] = {}
    for cell in cells:
        by_case.setdefault((cell.point, cell.trigger), []).append(cell)
    used = dict.fromkeys(WRITES, 0)
    chosen = []
    for case in by_case.values():
        cell = min(case, key=lambda each: used[each.write.name])
        used[cell.write.name] += 1
        chosen.append(cell)
    return tuple(chosen)
