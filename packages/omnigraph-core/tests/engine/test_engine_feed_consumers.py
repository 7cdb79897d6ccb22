"""Consumers that follow a graph while it changes: killed at any point they end up with what the graph holds.

Histories are random, and so are the sizes of pages and the points where a consumer dies. What a consumer stored before
its death is there afterwards, and nothing else: neither page tokens nor a cursor that it was about to store.
"""

from __future__ import annotations

import json
from contextlib import suppress
from random import Random

import pytest
from feed_world import Mirror, Record, add, exported, film, new_graph, person, saw, set_age

from omnigraph.errors import MergeConflictError
from omnigraph.graph import Graph

PEOPLE = [*"abcdefgh", "p" * 300 + "1", "p" * 300 + "2"]
FILMS = [*"xyz"]
SEEDS = pytest.mark.parametrize("seed", range(4))


class KilledError(Exception):
    """A consumer died."""


class History:
    """A graph that changes at random."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.graph = new_graph()
        add(self.graph, *map(film, FILMS), *map(person, PEOPLE[:3]))

    def change(self, branch: str = "main") -> None:
        """One commit, or none when nothing matched."""
        here = sorted(row for _, name, row in exported(self.graph, branch) if name == "Person")
        match self.random.randrange(8):
            case 0 | 1:
                chosen = self.random.sample(PEOPLE, self.random.randrange(1, 5))
                add(self.graph, *(person(each, self.random.randrange(3)) for each in chosen), branch=branch)
            case 2 | 3 if here:
                add(self.graph, *self.edges(here), branch=branch)
            case 4 if here:
                set_age(self.graph, self.random.choice(here), self.random.randrange(3, 9), branch=branch)
            case 5 if here:
                gone = "query gone($name: String) { delete Person where name = $name }"
                self.graph.mutate(gone, params={"name": self.random.choice(here)}, branch=branch)
            case 6 if here:
                # All edges anew; some as they were.
                add(self.graph, *self.edges(here), mode="overwrite", branch=branch)
            case _:
                self.graph.maintain.ensure_indices(branch)

    def merge(self, source: str, into: str) -> None:
        """A merge, unless the two do not go together."""
        with suppress(MergeConflictError):
            self.graph.branches.merge(source, into=into, strategy=self.random.choice(["ours", "theirs"]))

    def edges(self, here: list[str]) -> list[Record]:
        names = self.random.sample(range(8), self.random.randrange(1, 6))
        ends = [(self.random.choice(here), self.random.choice(FILMS)) for _ in names]
        return [saw(f"s{name}", *pair, self.random.choice([None, 1.5])) for name, pair in zip(names, ends, strict=True)]


class Consumer:
    """Follows a graph; ``mirror`` and ``cursor`` are what it stored."""

    def __init__(
        self, graph: Graph, random: Random, *, branch: str = "main", deaths: float = 0.0, is_strict: bool = False
    ) -> None:
        self.graph = graph
        self.branch = branch
        self.random = random
        self.deaths = deaths
        self.is_strict = is_strict
        self.mirror = Mirror()
        self.cursor: str | None = None

    def run(self) -> None:
        """Follow until the head, in pages of some size or other, unless it dies before."""
        start = None if self.cursor else "beginning"
        bounds = {"limit": self.random.choice([1, 2, 3, 1_000]), "max_commits": self.random.choice([1, 2, 128])}
        for page in self.graph.changes.follow(self.branch, start=start, cursor=self.cursor, **bounds):
            for change in (each for block in page.blocks for each in block.changes):
                self.may_die()
                self.mirror.apply(change, is_strict=self.is_strict)
            self.may_die()
            if page.cursor is not None:
                self.cursor = page.cursor
            self.may_die()

    def may_die(self) -> None:
        if self.random.random() < self.deaths:
            raise KilledError


@SEEDS
def test_a_consumer_that_is_killed_again_and_again_ends_up_with_what_the_graph_holds(seed: int) -> None:
    random = Random(seed)
    history = History(random)
    consumer = Consumer(history.graph, random, deaths=0.05)
    deaths = 0
    for _ in range(30):
        history.change()
        if random.random() < 0.7:
            try:
                consumer.run()
            except KilledError:
                deaths += 1
    consumer.deaths = 0.0
    consumer.run()
    assert deaths > 0
    assert consumer.mirror.rows == exported(history.graph)


@SEEDS
def test_a_consumer_that_never_dies_is_told_everything_once(seed: int) -> None:
    random = Random(seed)
    history = History(random)
    # A strict mirror refuses a change that is not about what it holds: one that comes twice, or too early.
    consumer = Consumer(history.graph, random, is_strict=True)
    for _ in range(30):
        history.change()
        if random.random() < 0.4:
            consumer.run()
            assert consumer.mirror.rows == exported(history.graph)
    consumer.run()
    assert consumer.mirror.rows == exported(history.graph)


@SEEDS
def test_who_begins_with_a_baseline_is_told_what_came_after_it_and_nothing_before(seed: int) -> None:
    random = Random(seed)
    history = History(random)
    for _ in range(random.randrange(8)):
        history.change()
    lines = history.graph.changes.baseline()
    # It is of the moment of the call, whatever comes while it is read.
    history.change()
    *rows, last = lines
    consumer = Consumer(history.graph, random, is_strict=True)
    consumer.mirror.load(rows)
    consumer.cursor = json.loads(last)["baseline"]["resume_cursor"]
    for _ in range(8):
        history.change()
        consumer.run()
    assert consumer.mirror.rows == exported(history.graph)


@SEEDS
def test_consumers_of_branches_that_are_merged_into_each_other_end_up_with_what_each_holds(seed: int) -> None:
    random = Random(seed)
    history = History(random)
    history.graph.branches.create("one")
    consumers = {"main": Consumer(history.graph, random, is_strict=True)}
    for step in range(30):
        if step == 8:
            history.graph.branches.create("two", "one")
        for name in [each.name for each in history.graph.branches.list()]:
            if name not in consumers:
                consumers[name] = Consumer(history.graph, random, branch=name, is_strict=True)
        branch = random.choice([*consumers])
        if random.random() < 0.25:
            history.merge(random.choice([each for each in consumers if each != branch]), into=branch)
        else:
            history.change(branch)
        if random.random() < 0.3:
            consumers[branch].run()
    for name, consumer in consumers.items():
        consumer.run()
        assert consumer.mirror.rows == exported(history.graph, name), name
    told = {block.cause.kind for name in consumers for block in history.graph.changes(name, start="beginning").blocks}
    assert told == {"schema", "data", "merge", "maintenance"}


@pytest.mark.parametrize("seed", range(3))
def test_a_consumer_of_one_type_ends_up_with_the_rows_of_that_type(seed: int) -> None:
    random = Random(seed)
    history = History(random)
    *rows, last = history.graph.changes.baseline(types=["Saw"])
    mirror = Mirror()
    mirror.load(rows)
    cursor = json.loads(last)["baseline"]["resume_cursor"]
    for _ in range(20):
        history.change()
    for page in history.graph.changes.follow(cursor=cursor, types=["Saw"], limit=2):
        for change in (each for block in page.blocks for each in block.changes):
            mirror.apply(change, is_strict=True)
    assert mirror.rows == {name: row for name, row in exported(history.graph).items() if name[1] == "Saw"}
