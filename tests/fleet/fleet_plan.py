"""``plan_fleet``: what every branch of a fleet is to do, drawn from a seed; nothing here knows a graph.

    seed ── plan_fleet ──> FleetPlan: what main begins with, and for each branch where it begins and what it does

What branches do goes together in whatever order they are merged, so that what comes out is known beforehand:

    own rows        each branch changes rows of its own: some that main begins with, others that it makes
    heirlooms       a branch that begins as another one takes over rows that the other does not touch any more
    shared rows     hubs, commons and the doomed are touched by many, and whoever touches one makes the same change

Branches begin as main is, as main was, as another branch is, or as another branch was. What goes across branches is
kept from crossing: of two states that are merged, one commit is the last that both descend from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Literal

SCHEMA = """
node Person {
    name: String @key
    age: I32?
    mail: String? @unique
    city: String?
}
node Film { code: String @key  title: String? @index }
edge Knows: Person -> Person { label: String  since: I32? }
edge Rated: Person -> Film { label: String  stars: I32? }
"""

HUBS, COMMONS, DOOMED = 4, 4, 4
"""How many rows there are that many branches touch: ends of edges, rows that many make, rows that many delete."""

Record = dict[str, Any]
Effect = list[Any]
"""A change of one row: ``put`` with a record, ``set`` with type, id and values, ``drop`` with type and id of a node and
``cut`` with type and id of an edge. It is a list so that it can be noted as JSON."""

Begins = Literal["main", "older", "branch", "commit"]
BEGINNINGS: Sequence[Begins] = ("main", "branch", "commit", "older", "main")
"""How branches begin, in turn, where they can: as main is or was, as another branch is or was."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """One commit: a load of records, or a mutation."""

    effects: tuple[Effect, ...]


@dataclass(frozen=True, kw_only=True)
class Sync:
    """Main is merged into the branch."""


@dataclass(frozen=True, kw_only=True)
class Absorb:
    """Another branch, which began as this one, is merged into it when it is done."""

    branch: int


@dataclass(frozen=True, kw_only=True)
class Tend:
    """Indexes of the branch are made."""


Work = Change | Sync | Absorb | Tend


@dataclass(frozen=True, kw_only=True)
class BranchPlan:
    """What one branch does.

    Attributes:
        writer: the number of the process that writes to it.
        parent: the branch that it begins as, if it is not main.
        after: it begins as the parent is after so many works.
        made_after: it is made when the parent has done so many.
        heirlooms: rows of the parent that are its own from then on.
        is_deleted: whether it is deleted when it is merged.
    """

    number: int
    name: str
    writer: int
    begins: Begins
    parent: int | None = None
    after: int = 0
    made_after: int = 0
    heirlooms: tuple[str, ...] = ()
    works: tuple[Work, ...]
    is_deleted: bool

    @property
    def changes(self) -> tuple[Change, ...]:
        return tuple(each for each in self.works if isinstance(each, Change))


@dataclass(frozen=True, kw_only=True)
class FleetPlan:
    """What main begins with, and what all branches do."""

    seed: int
    start: tuple[Record, ...]
    branches: tuple[BranchPlan, ...]

    def of_writer(self, writer: int) -> list[BranchPlan]:
        return [each for each in self.branches if each.writer == writer]


def person(name: str, age: int | None = None, city: str | None = None) -> Record:
    return {"type": "Person", "data": {"name": name, "age": age, "mail": f"{name}@fleet", "city": city}}


def film(code: str, title: str | None = None) -> Record:
    return {"type": "Film", "data": {"code": code, "title": title}}


def edge(kind: str, label: str, source: str, target: str, value: int | None = None) -> Record:
    name = "since" if kind == "Knows" else "stars"
    return {"edge": kind, "from": source, "to": target, "data": {"id": label, "label": label, name: value}}


def shared_effect(random: Random, *, is_removal: bool) -> Effect:
    """A change that others make just so, or have made."""
    number = random.randrange(HUBS)
    if is_removal:
        return random.choice([["drop", "Person", f"doomed-{number}"], ["cut", "Knows", f"doomed-{number}"]])
    return random.choice(
        [
            ["put", person(f"common-{number}", number, "anywhere")],
            ["put", edge("Knows", f"common-{number}", f"hub-{number}", f"hub-{(number + 1) % HUBS}", number)],
            ["put", person(f"hub-{number}", None, f"city of {number}")],
        ]
    )


def beginning(branches: int) -> tuple[Record, ...]:
    """What main begins with: shared rows, and some of each branch's own."""
    hubs = [f"hub-{number}" for number in range(HUBS)]
    return (
        *(person(each) for each in hubs),
        *(person(f"doomed-{number}") for number in range(DOOMED)),
        *(edge("Knows", f"doomed-{number}", hubs[number], hubs[number - 1]) for number in range(DOOMED)),
        *(person(name, 0) for number in range(branches) for name in estate(number)),
        *(film(f"b{number}-film") for number in range(branches)),
        *(edge("Knows", f"b{number}-old", *estate(number)[:2], 1) for number in range(branches)),
        *(edge("Rated", f"b{number}-seen", estate(number)[2], f"b{number}-film", 1) for number in range(branches)),
    )


def estate(number: int) -> tuple[str, str, str]:
    """The people of a branch that main begins with."""
    return f"b{number}-one", f"b{number}-two", f"b{number}-three"


# ── what one branch does ─────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class _Hand:
    """Draws the commits of a branch, and knows what is there of its own.

    Attributes:
        people: its own, that are there.
        edges: its own, that are there: by id, the type and the ends.
        touched: by person, how many works were drawn when it was last touched.
        alive: by number of works drawn, the people that were there.
    """

    number: int
    random: Random
    people: list[str]
    edges: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    touched: dict[str, int] = field(default_factory=dict)
    alive: list[tuple[str, ...]] = field(default_factory=list)
    works: list[Work] = field(default_factory=list)
    made: int = 0

    def add(self, work: Work) -> None:
        self.works.append(work)
        self.alive.append(tuple(self.people))

    def change(self) -> None:
        """One more commit."""
        choice = self.random.random()
        if choice < 0.35 or len(self.people) < 3:
            effects = self._loaded()
        elif choice < 0.7:
            effects = self._updated()
        elif choice < 0.85 and self.edges:
            effects = self._cut()
        else:
            effects = self._dropped()
        self.add(Change(effects=tuple(effects)))

    def _loaded(self) -> list[Effect]:
        made = [person(self._new_name(), self.random.randrange(90)) for _ in range(self.random.randint(1, 3))]
        self.people += [each["data"]["name"] for each in made]
        records = [*made, film(f"b{self.number}-film", f"take {self.made}")]
        records += [self._new_edge() for _ in range(self.random.randint(0, 2))]
        if self.edges and self.random.random() < 0.5:
            # Written again, with another value.
            label = self.random.choice(list(self.edges))
            kind, source, target = self.edges[label]
            records.append(edge(kind, label, source, target, self.random.randrange(2, 9)))
            self._touch(source, target)
        # One id comes once in a load.
        unique = {each["data"].get("id") or each["data"].get("name") or each["data"]["code"]: each for each in records}
        effects = [["put", each] for each in unique.values()]
        return effects + self._shared(is_removal=False)

    def _updated(self) -> list[Effect]:
        chosen = self.random.sample(self.people, self.random.randint(1, 2))
        self._touch(*chosen)
        return [["set", "Person", each, {"age": self.random.randrange(100, 999)}] for each in chosen]

    def _cut(self) -> list[Effect]:
        label = self.random.choice(list(self.edges))
        kind, source, target = self.edges.pop(label)
        self._touch(source, target)
        return [["cut", kind, label], *self._shared(is_removal=True)]

    def _dropped(self) -> list[Effect]:
        name = self.people.pop(self.random.randrange(len(self.people)))
        self._touch(name)
        self.edges = {label: each for label, each in self.edges.items() if name not in each[1:]}
        return [["drop", "Person", name], *self._shared(is_removal=True)]

    def _shared(self, *, is_removal: bool) -> list[Effect]:
        return [shared_effect(self.random, is_removal=is_removal)] if self.random.random() < 0.3 else []

    def _new_name(self) -> str:
        self.made += 1
        return f"b{self.number}-{self.made}"

    def _new_edge(self) -> Record:
        label, source = self._new_name(), self.random.choice(self.people)
        if self.random.random() < 0.4:
            kind, target = "Rated", f"b{self.number}-film"
        else:
            kind, target = "Knows", self.random.choice([*self.people, f"hub-{self.random.randrange(HUBS)}"])
        self.edges[label] = (kind, source, target)
        self._touch(source, target)
        return edge(kind, label, source, target, 1)

    def _touch(self, *names: str) -> None:
        self.touched |= dict.fromkeys(names, len(self.works) + 1)

    def heirlooms(self, after: int) -> list[str]:
        """The people that are there after so many works, and are not touched any more."""
        return [each for each in self.alive[after - 1] if self.touched.get(each, 0) <= after]


# ── all of them ──────────────────────────────────────────────────────────────────────────────────────────────────────


def plan_fleet(seed: int, *, branches: int, commits: int, writers: int) -> FleetPlan:
    """Draw what so many branches do in so many commits of data each."""
    random = Random(f"fleet.{seed}")
    plans: list[BranchPlan] = []
    hands: list[_Hand] = []
    children: dict[int, list[int]] = {}
    given: set[str] = set()
    for number in range(branches):
        writer = number * writers // branches
        begins = BEGINNINGS[number % len(BEGINNINGS)]
        before = [each for each in plans if each.writer == writer][-2:]
        parent = random.choice(before) if begins in ("branch", "commit") and before else None
        after, made_after, heirlooms = 0, 0, list[str]()
        if parent is not None:
            after = random.randint(max(1, len(parent.works) // 3), len(parent.works))
            made_after = after if begins == "branch" else random.randint(after, len(parent.works))
            found = [each for each in hands[parent.number].heirlooms(after) if each not in given]
            heirlooms = random.sample(found, min(2, len(found)))
            given.update(heirlooms)
            children.setdefault(parent.number, []).append(number)
        elif begins in ("branch", "commit"):
            begins = "main"
        hand = _Hand(number=number, random=random, people=[*estate(number), *heirlooms])
        for _ in range(commits):
            hand.change()
        hands.append(hand)
        plans.append(
            BranchPlan(
                number=number,
                name=f"team-{writer}/branch {number}" if number % 2 else f"branch-{number}",
                writer=writer,
                begins=begins,
                parent=None if parent is None else parent.number,
                after=after,
                made_after=made_after,
                heirlooms=tuple(heirlooms),
                works=tuple(hand.works),
                is_deleted=random.random() < 0.3,
            )
        )
    return FleetPlan(seed=seed, start=beginning(branches), branches=_meeting(random, plans, children))


def _meeting(random: Random, plans: list[BranchPlan], children: Mapping[int, Sequence[int]]) -> tuple[BranchPlan, ...]:
    """The same with merges between branches, from main, and with maintenance; so that none of it crosses.

    A branch that shares commits with another one, which may come to main without it, takes in nothing of main. Where
    one branch began as it, and no second one, it may take in that one.
    """
    found, absorbed = [], set[int]()
    for plan in plans:
        works, born = list(plan.works), children.get(plan.number, ())
        if not born and plan.parent is None and random.random() < 0.5:
            works.insert(random.randint(1, len(works)), Sync())
        if len(born) == 1 and random.random() < 0.6:
            works.append(Absorb(branch=born[0]))
            absorbed.add(born[0])
        if random.random() < 0.2:
            works.append(Tend())
        found.append(replace(plan, works=tuple(works)))
    # A merger would delete it before it is taken in.
    return tuple(replace(each, is_deleted=each.is_deleted and each.number not in absorbed) for each in found)
