"""``Scene``: what a writer that died left of one write; one for every kind of thing that a recovery meets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pytest
from recovery_matrix import POINTS, Point
from recovery_world import World, actor_of, check_nothing_is_left, die
from recovery_writes import BRANCH, WRITES, Write

from omnigraph import failpoints
from omnigraph.errors import StorageCondition, StorageError
from omnigraph.failpoints import PUBLISH_TABLES_DURABLE
from omnigraph.history.recoveries import RecoveryKind
from omnigraph.testing.faults import Raise, armed
from omnigraph.testing.graph_contract.clauses import GraphPlace

Dying = Callable[[GraphPlace, Write, int, Point], None]
"""Lets somebody die at a point of a write."""

_FOUND: Final = (
    failpoints.RECOVERY_SIDECAR_LIST,
    failpoints.RECOVERY_POST_SIDECAR_LIST_PRE_READ,
    failpoints.RECOVERY_POST_LIST_PRE_GATES,
    failpoints.RECOVERY_SIDECAR_LIST,
)
_TOLD: Final = (failpoints.RECOVERY_RECORD_AUDIT, failpoints.RECOVERY_SIDECAR_DELETE)


@dataclass(frozen=True)
class Scene:
    """One kind of thing that a writer leaves.

    Attributes:
        kind: of the recovery from it.
        is_made: whether the write is part of the graph in the end.
        is_healed: whether the next write and a refresh settle it; otherwise only an opening does.
        reached: the failpoints that its recovery comes by, in order.
        write: what it is left of, by name.
    """

    name: str
    kind: RecoveryKind
    is_made: bool
    is_healed: bool
    reached: tuple[str, ...]
    leave: Callable[[World, Write, Dying], None]
    write: str = "load_merge"

    def begin(self, world: World, *, dying: Dying = die) -> dict:
        """Bring it about, by a handle of this process or another process that dies; what the sidecar says."""
        write = WRITES[self.write]
        number = world.begin(write)
        self.leave(world, write, dying)
        if self.is_made:
            write.apply(world.model, number)
            world.commits += 1
        (sidecar,) = world.sidecars()
        return sidecar


def point_of(name: str) -> Point:
    """The point of this name."""
    return next(each for each in POINTS if each.name == name)


def _died_at(name: str) -> Callable[[World, Write, Dying], None]:
    return lambda world, write, dying: dying(world.place, write, world.number, point_of(name))


def _given_up(world: World, write: Write, dying: Dying) -> None:
    """The store failed after every type had its version, and its writer said so."""
    error = StorageError("the connection was lost", condition=StorageCondition.TRANSIENT)
    with world.place.open() as graph:
        graph.actor = actor_of(world.number)
        with armed({PUBLISH_TABLES_DURABLE: Raise(error)}), pytest.raises(StorageError, match="lost"):
            write.run(graph, world.number)


def _of_a_branch_that_is_gone(world: World, write: Write, dying: Dying) -> None:
    """A plan that was complete, for a branch that somebody deleted since."""
    _died_at("publish.before_commit")(world, write, dying)
    world.survivor.branches.delete(BRANCH)
    world.lose_branch()


SCENES: Final = {
    each.name: each
    for each in (
        Scene(
            name="complete",
            kind=RecoveryKind.ROLLED_FORWARD,
            is_made=True,
            is_healed=True,
            reached=(
                *_FOUND,
                failpoints.RECOVERY_BEFORE_ROLL_FORWARD_PUBLISH,
                failpoints.PUBLISH_LOAD_STATE_RETRYABLE_CONTENTION,
                failpoints.PUBLISH_BEFORE_COMMIT,
                failpoints.PUBLISH_AFTER_COMMIT,
                *_TOLD,
            ),
            leave=_died_at("publish.before_commit"),
        ),
        Scene(
            name="published",
            kind=RecoveryKind.ROLLED_FORWARD,
            is_made=True,
            is_healed=True,
            reached=(*_FOUND, *_TOLD),
            leave=_died_at("publish.acknowledged"),
        ),
        Scene(
            name="incomplete",
            kind=RecoveryKind.ROLLED_BACK,
            is_made=False,
            is_healed=False,
            reached=(*_FOUND, failpoints.RECOVERY_POST_TABLE_RESTORE_PRE_PUBLISH, *_TOLD),
            leave=_died_at("publish.table_committed-first"),
        ),
        Scene(
            name="given_up",
            kind=RecoveryKind.ROLLED_BACK,
            is_made=False,
            is_healed=True,
            reached=(*_FOUND, *[failpoints.RECOVERY_POST_TABLE_RESTORE_PRE_PUBLISH] * 3, *_TOLD),
            leave=_given_up,
        ),
        Scene(
            name="of_a_branch_that_is_gone",
            kind=RecoveryKind.ORPHANED_BRANCH_DISCARDED,
            is_made=False,
            is_healed=False,
            reached=(*_FOUND, failpoints.RECOVERY_ORPHAN_DISCARD_AUDIT_APPEND, failpoints.RECOVERY_SIDECAR_DELETE),
            leave=_of_a_branch_that_is_gone,
            write="load_merge_on_new_branch",
        ),
    )
}


def check_recovered(world: World, scene: Scene, sidecar: dict) -> None:
    """It is settled once, whoever did it and however often it took, and the next write works: a good end."""
    with world.place.open() as graph:
        world.check_rows(graph)
        (row,) = world.told(graph)
        assert (row.kind, row.operation_id) == (scene.kind, sidecar["operation_id"])
        made = [each.id for each in graph.commits.list(world.branch)]
        assert made.count(sidecar["commit"]["id"]) == scene.is_made
        check_nothing_is_left(graph)
    world.begin(WRITES["load_merge"])
    world.check_rows(world.survivor)
    world.is_in_use = False
