"""``World``: a graph in which writes die one after the other, the handle that survives them, and the model of its rows.

world.begin(write)                  what the write is about to need is there
die(world.place, write, n, point)   a handle of this process dies in the middle of it
world.survivor, world.reopen()      whoever comes across what it left
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from recovery_matrix import Point
from recovery_writes import CATALOG, SCHEMA, Write, news, note

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
        actions[PUBLISH_BEFORE_COMMIT] = _Rival(opened, rival_records(point, number))
    with armed(actions):
        write.run(graph, number)


class _Rival:
    """Publishes first, once."""

    def __init__(self, opened: Callable[[], AbstractContextManager[og.Graph]], records: list) -> None:
        self.opened = opened
        self.records = records
        self.has_written = False

    def __call__(self, name: str) -> None:
        if not self.has_written:
            self.has_written = True
            with self.opened() as rival:
                rival.load(self.records, "merge")


def rival_records(point: Point, number: int) -> list:
    """What a rival publishes meanwhile; nothing without one."""
    if point.rival is None:
        return []
    return note(number) if point.rival == "elsewhere" else news(f"-rival-{number}")


def die(place: GraphPlace, write: Write, number: int, point: Point) -> None:
    """Let a handle of this process die at a point of a write; what it leaves is what a killed process leaves."""
    with opened_through(DyingAdapter, place) as (graph, adapter), pytest.raises(DiedError):
        write_until(graph, place, write, number, point, adapter.die)


@dataclass
class World:
    """A graph and what it should be.

    Attributes:
        number: of the write that is about to die.
        commits: how many there are.
        recoveries: how many were told.
        uses: how many writes died here.
        is_in_use: a test began with it, and did not come to its good end.
    """

    place: GraphPlace
    survivor: og.Graph = field(init=False)
    model: ModelGraph = field(init=False)
    number: int = 0
    commits: int = 1
    recoveries: int = 0
    uses: int = 0
    is_in_use: bool = False

    def __post_init__(self) -> None:
        self.survivor = self.place.init(SCHEMA)
        self.model = ModelGraph(CATALOG)

    def close(self) -> None:
        if not self.is_in_use:
            assert_graph_is_whole(self.survivor)
        self.survivor.close()

    def write(self, records: list, mode: Mode = "merge") -> None:
        """The next write of the survivor; it works."""
        self.survivor.load(records, mode)
        self.model.load(records, mode)
        self.commits += 1

    def begin(self, write: Write) -> int:
        """Bring about what the next write needs in order to have an effect; its number.

        All that was there before goes, so that the graph stays as small as it was.
        """
        self.number += 1
        self.uses += 1
        if write.kind == "ensure_indices" and self.survivor.maintain.ensure_indices().commit is not None:
            self.commits += 1
        self.write([*news("-old"), *news(self.number)], "overwrite")
        if write.kind == "fold":
            self.write(news("-small"))
        return self.number

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
        """The graph has exactly the rows of the model, and as many commits as were made; the newest of them."""
        assert content_of_export(graph.export(), self.model) == self.model.content()
        commits = graph.commits.list()
        assert len(commits) == self.commits
        return commits[0].id


def check_nothing_is_left(graph: og.Graph) -> None:
    """No sidecar lies there, and every type's newest version shows what is published."""
    assert graph.recoveries.pending() == []
    tables = graph._repository.tables
    for key, entry in graph.snapshot().state.entries.items():
        assert tables.newest(entry.pin).shows(entry.pin.version), key


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
