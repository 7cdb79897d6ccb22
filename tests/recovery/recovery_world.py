"""``World``: a graph in which writes die one after the other, the handle that survives them, and the model of its rows.

world.begin(write)                  what the write is about to need is there, on its branch
die(world.place, write, n, point)   a handle of this process dies in the middle of it
world.survivor, world.reopen()      whoever comes across what it left
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from recovery_matrix import Point
from recovery_writes import BRANCH, CATALOG, SCHEMA, Write, news, note

import omnigraph as og
from omnigraph.failpoints import PUBLISH_BEFORE_COMMIT
from omnigraph.history.recoveries import Recovery
from omnigraph.testing.failpoint_actions import Action
from omnigraph.testing.faults import DiedError, DyingAdapter, OnNth, armed
from omnigraph.testing.graph_contract.clauses import GraphPlace
from omnigraph.testing.graph_contract.faults import opened_through
from omnigraph.testing.invariants import assert_graph_is_whole
from omnigraph.testing.model import Mode, ModelGraph, content_of_export

BUCKET: Final = "recovery"
SMALL_TAIL: Final = 2
"""So many small parts are worth a fold here."""

USES: Final = 40
"""So many writes die in one graph; then it is looked at as a whole, and another one is made."""


@dataclass(frozen=True)
class Places:
    """Gives an empty place of a backend at each call."""

    new: Callable[[str], tuple[str, Mapping[str, Any]]]

    def __call__(self, backend: str) -> GraphPlace:
        uri, options = self.new(backend)
        return GraphPlace(uri=uri, options=options)


def actor_of(number: int) -> str:
    """Who makes the write of a number that is cut off."""
    return f"writer {number}"


def write_until(
    graph: og.Graph,
    place: GraphPlace,
    write: Write,
    number: int,
    point: Point,
    action: Action,
    *,
    rival: og.Graph | None = None,
) -> None:
    """Make a write through a handle, and let something happen to it at a point on its way.

    Where the point has a rival, it publishes through the handle that is given, or through one of its own.
    """
    graph.actor = actor_of(number)
    actions: dict[str, Action] = {point.failpoint: OnNth(point.nth(write), action)}
    if point.rival is not None:
        opened = place.open if rival is None else lambda: nullcontext(rival)
        actions[PUBLISH_BEFORE_COMMIT] = _Rival(opened, rival_records(point, number), write.branch)
    with armed(actions):
        write.run(graph, number)


class _Rival:
    """Publishes first, once."""

    def __init__(self, opened: Callable[[], AbstractContextManager[og.Graph]], records: list, branch: str) -> None:
        self.opened = opened
        self.records = records
        self.branch = branch
        self.has_written = False

    def __call__(self, name: str) -> None:
        if not self.has_written:
            self.has_written = True
            with self.opened() as rival:
                rival.load(self.records, "merge", branch=self.branch)


def rival_records(point: Point, number: int) -> list:
    """What a rival publishes meanwhile; nothing without one."""
    if point.rival is None:
        return []
    records = note(number) if point.rival == "elsewhere" else news(f"-rival-{number}")
    return records[:1] if point.rival == "one" else records


def die(place: GraphPlace, write: Write, number: int, point: Point) -> None:
    """Let a handle of this process die at a point of a write; what it leaves is what a killed process leaves."""
    with opened_through(DyingAdapter, place) as (graph, adapter), pytest.raises(DiedError):
        write_until(graph, place, write, number, point, adapter.die)


@dataclass
class Line:
    """What a branch should be.

    Attributes:
        commits: how many there are.
    """

    model: ModelGraph
    commits: int


@dataclass
class World:
    """A graph and what it should be.

    Attributes:
        lines: what each of its branches should be.
        branch: the one that the write is about which is about to die.
        number: of that write.
        recoveries: how many were told.
        uses: how many writes died here.
        is_in_use: a test began with it, and did not come to its good end.
    """

    place: GraphPlace
    survivor: og.Graph = field(init=False)
    lines: dict[str, Line] = field(init=False)
    branch: str = "main"
    number: int = 0
    recoveries: int = 0
    uses: int = 0
    is_in_use: bool = False

    def __post_init__(self) -> None:
        self.survivor = self.place.init(SCHEMA)
        self.lines = {"main": Line(ModelGraph(CATALOG), 1)}

    @property
    def model(self) -> ModelGraph:
        """What the branch should hold."""
        return self.lines[self.branch].model

    @property
    def commits(self) -> int:
        """How many commits the branch should have."""
        return self.lines[self.branch].commits

    @commits.setter
    def commits(self, count: int) -> None:
        self.lines[self.branch].commits = count

    def close(self) -> None:
        if not self.is_in_use:
            self.check_whole(self.survivor)
        self.survivor.close()

    def write(self, records: list, mode: Mode = "merge") -> None:
        """The next write of the survivor; it works."""
        self.survivor.load(records, mode, branch=self.branch)
        self.model.load(records, mode)
        self.commits += 1

    def begin(self, write: Write) -> int:
        """Bring about what the next write needs in order to have an effect; its number.

        All that was there before goes, so that the graph stays as small as it was.
        """
        self.number += 1
        self.uses += 1
        self.branch = "main"
        if self.lines.pop(BRANCH, None) is not None:
            self.survivor.branches.delete(BRANCH)
        if write.branch != "main" and not write.is_first:
            self.make_branch()
        if write.kind == "ensure_indices" and self.survivor.maintain.ensure_indices().commit is not None:
            self.commits += 1
        self.write([*news("-old"), *news(self.number)], "overwrite")
        if write.kind == "fold":
            self.write(news("-small"))
        if write.is_first:
            self.make_branch()
        return self.number

    def make_branch(self) -> None:
        """Make the branch of writes that are not on main; it is what writes are about from now on."""
        self.survivor.branches.create(BRANCH)
        self.know_branch()

    def know_branch(self) -> None:
        """Somebody made that branch as main is."""
        self.lines[BRANCH] = copy.deepcopy(self.lines["main"])
        self.branch = BRANCH

    def lose_branch(self) -> None:
        """Somebody deleted it again."""
        del self.lines[BRANCH]
        self.branch = "main"

    # ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def sidecars(self) -> list[dict]:
        """What sidecars say that lie there."""
        adapter = self.survivor._repository.adapter
        return [json.loads(adapter.read(key)) for key in sorted(adapter.list_dir(adapter.key("__recovery")))]

    def told(self, graph: og.Graph) -> list[Recovery]:
        """The recoveries that were told since the last time."""
        found = graph.recoveries.list()
        new = found[: len(found) - self.recoveries]
        self.recoveries = len(found)
        return new

    def check_rows(self, graph: og.Graph) -> str:
        """Each branch has exactly the rows of its model and as many commits as were made; the newest of the write's."""
        assert sorted(each.name for each in graph.branches.list()) == sorted(self.lines)
        for branch, line in self.lines.items():
            assert content_of_export(graph.export(branch=branch), line.model) == line.model.content(), branch
            assert len(graph.commits.list(branch)) == line.commits, branch
        return graph.snapshot(self.branch).commit.id

    def check_whole(self, graph: og.Graph) -> None:
        """Nothing is wrong with any branch."""
        for branch in self.lines:
            assert_graph_is_whole(graph, branch)


def check_nothing_is_left(graph: og.Graph) -> None:
    """No sidecar lies there, and the newest version of every line of a type shows what its own branch published."""
    assert graph.recoveries.pending() == []
    tables = graph._repository.tables
    for branch in graph.branches.list():
        snapshot = graph.snapshot(branch.name)
        for key, entry in snapshot.state.entries.items():
            if snapshot.branch.owns(entry.pin):
                assert tables.newest(entry.pin).shows(entry.pin.version), (branch.name, key)


class Worlds:
    """Gives a world of a place, the same again as long as all is well with it."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._worlds: dict[str, World] = {}

    def at(self, place: str) -> World:
        """One that nobody left in the middle; say ``is_in_use = False`` at the end."""
        world = self._worlds.get(place)
        if world is None or world.is_in_use or world.uses >= USES:
            if world is not None:
                world.close()
            world = self._worlds[place] = World(self._places(place))
        world.is_in_use = True
        return world

    def close(self) -> None:
        for world in self._worlds.values():
            world.close()
