"""Random mutations and loads for any schema, drawn from a seed; many of them meet, and some break a rule.

    MutationWorld.of(schema) ── make_mutation(random, world) ──> statements of one query
                             └─ make_load(random, world) ──────> a mode and records

A world has a few values for each property: those that its rules allow, the edges of a range among them, and those that
they do not. Keys are few, so that statements find what earlier ones wrote, and ends of edges are ids of these keys.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from omnigraph.lang.types import Scalar, ValueType
from omnigraph.schema import Catalog, Check, EdgeType, NodeType, Range, Unique, compile_schema
from omnigraph.testing.model import Mode, Record, key_id
from omnigraph.testing.mutation_model import (
    ENDS,
    DeleteEdges,
    DeleteNodes,
    InsertEdge,
    InsertNode,
    Statement,
    Update,
    Where,
)

RICH_SCHEMA: Final = """
node Person {
    name: String @key
    mail: String? @unique
    age: I32?
    born: Date?
    mood: enum(good, bad-2)?
    @range(age, 0..99)
}
node Seat {
    hall: String
    row: I32
    day: Date
    note: String?
    price: F64?
    @key(row, hall, day)
    @unique(hall, note)
    @range(price, 0.5..)
}
node Note {
    text: String
    at: DateTime?
    weight: F32?
    flag: Bool?
    size: U32?
    big: I64?
    tags: [String]?
}
edge Knows: Person -> Person { since: Date? }
edge Rated: Person -> Note { stars: I32  @unique(src, dst) }
edge Sits: Person -> Seat @card(0..2)
edge Guards: Seat -> Person @card(1..2) { shift: enum(day, night)  @unique(src, shift) }
edge Cites: Note -> Note @card(2..)
"""
"""Every rule that a mutation is judged by, and a property of nearly every type."""

RICH_START: Final[tuple[Record, ...]] = (
    {"type": "Person", "data": {"name": "ann", "mail": "a", "age": 41}},
    {"type": "Person", "data": {"name": "bo"}},
    {"type": "Seat", "data": {"hall": "a", "row": 1, "day": "2026-02-01", "note": "b"}},
    {"type": "Note", "data": {"id": "n1", "text": "a"}},
    {"type": "Note", "data": {"id": "n2", "text": "b", "weight": 0.5}},
    {"edge": "Rated", "from": "ann", "to": "n1", "data": {"stars": 3}},
    {"edge": "Guards", "from": '["20485","a","1"]', "to": "bo", "data": {"shift": "day"}},
    {"edge": "Cites", "from": "n1", "to": "n2"},
    {"edge": "Cites", "from": "n1", "to": "n1"},
)
"""A first load without accidents, so that later steps have something to meet."""

HISTORY_SCHEMA: Final = """
node Person {
    name: String @key
    mail: String? @unique
    age: I32?
    @range(age, 0..99)
}
node Film { code: String @key  title: String  genre: enum(drama, docu)? }
edge Rated: Person -> Film { stars: I32  @unique(src, dst) }
edge Knows: Person -> Person
edge Owns: Person -> Film @card(0..3)
"""
"""For many writers at once: most calls succeed, and every pair of calls can be in each other's way."""

PEOPLE: Final = ("ann", "bo", "cy", "dee", "eve", "flo", "gus", "hal")
FILMS: Final = ("F1", "F2", "F3", "F4", "F5")

NAMES: Final = ("ann", "bo", "cy", "dee")
"""The keys of a type whose key is one String, beside those that the first load has."""

FEW: Final = 4
"""How many values a part of a key has at least, if there are so many."""

_VALUES: Final[Mapping[Scalar, tuple[Any, ...]]] = {
    Scalar.STRING: ("a", "b", "", "ä", 'say "so" \\ now\n'),
    Scalar.BOOL: (True, False),
    Scalar.I32: (0, 1, 2, -1, 2**31 - 1),
    Scalar.I64: (0, 1, 2, -1, 2**53 + 1),
    Scalar.U32: (0, 1, 2, 2**32 - 1),
    Scalar.U64: (0, 1, 2, 2**53 + 1),
    Scalar.F32: (0.0, 0.5, 1.5, -2.0),
    Scalar.F64: (0.0, 0.5, 0.1, 1e21, -2.0),
    Scalar.DATE: ("1969-12-31", "2020-02-29", "2026-02-01"),
    Scalar.DATETIME: ("1969-12-31T23:59:59.999Z", "2026-02-01T12:00:00.500Z", "2026-02-02T00:00:00.000Z"),
}
_KEYS: Final[Mapping[Scalar, tuple[Any, ...]]] = {
    **_VALUES,
    Scalar.STRING: ("a", "b"),
    Scalar.I32: (1, 2),
    Scalar.I64: (1, 2),
    Scalar.DATE: ("2026-02-01",),
}
"""Members of a key, of which there are to be few."""

OPERATORS: Final = ("=", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """What a property is given: values that its rules allow, and values that they do not."""

    good: tuple[Any, ...]
    wrong: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationWorld:
    """A schema with values for it.

    Attributes:
        schema: its text.
        start: a first load that is right.
        pools: by property, as ``Person.age``.
        ids: of nodes, by type; the last one of each is of no node that is ever inserted.
        wrong_share: how often a value is one that the rules forbid.
    """

    schema: str
    catalog: Catalog
    start: tuple[Record, ...] = ()
    pools: Mapping[str, Pool]
    ids: Mapping[str, tuple[str, ...]]
    wrong_share: float = 0.02

    @classmethod
    def of(cls, schema: str, start: Iterable[Record] = (), *, pools: Mapping[str, Pool] | None = None) -> MutationWorld:
        """A world for a schema. Only a property with a ``@check`` needs a pool of its own."""
        catalog, given, first = compile_schema(schema), pools or {}, tuple(start)
        owners: list[NodeType | EdgeType] = [*catalog.nodes.values(), *catalog.edges.values()]
        found = {
            f"{owner.name}.{name}": given.get(f"{owner.name}.{name}") or _pool(owner, name, first)
            for owner in owners
            for name in owner.by_name
        }
        ids = {name: (*_ids(node, found, first), "nobody") for name, node in catalog.nodes.items()}
        return cls(schema=schema, catalog=catalog, start=first, pools=found, ids=ids)


def rich_world() -> MutationWorld:
    """The world of ``RICH_SCHEMA``."""
    return MutationWorld.of(RICH_SCHEMA, RICH_START)


def history_world() -> MutationWorld:
    """The world of ``HISTORY_SCHEMA``, in which every key is there at first."""
    people = [{"type": "Person", "data": {"name": name}} for name in PEOPLE]
    films = [{"type": "Film", "data": {"code": code, "title": code}} for code in FILMS]
    mails = Pool(good=tuple(f"{name}@x" for name in PEOPLE))
    return MutationWorld.of(HISTORY_SCHEMA, (*people, *films), pools={"Person.mail": mails})


# ── mutations and loads ──────────────────────────────────────────────────────────────────────────────────────────────


def make_mutation(random: Random, world: MutationWorld) -> tuple[Statement, ...]:
    """The statements of one query: inserts and updates, or deletes; one to four of them."""
    draw = _Draw(random, world)
    if random.random() < 0.2:
        return tuple(draw.delete() for _ in range(random.choice((1, 1, 1, 2, 3))))
    handover = draw.handover() if random.random() < 0.1 else ()
    if handover:
        return handover
    statements: list[Statement] = []
    for _ in range(random.choice((1, 1, 1, 2, 3, 4))):
        before = statements[-1] if statements else None
        if isinstance(before, InsertEdge) and random.random() < 0.5:
            # A least number of edges is reached only by several from one node in one write.
            statements.append(draw.insert_edge(before.type, before.source))
        else:
            statements.append(draw.write())
    return tuple(statements)


def make_load(random: Random, world: MutationWorld) -> tuple[Mode, list[Record]]:
    """A load of up to four records; in overwrite mode, which leaves little behind, only seldom."""
    draw = _Draw(random, world)
    mode: Mode = random.choice(("append", "merge", "merge", "merge", "overwrite"))
    return mode, [draw.record() for _ in range(random.randint(0, 4))]


@dataclass(slots=True)
class _Draw:
    random: Random
    world: MutationWorld
    _nodes: tuple[NodeType, ...] = field(init=False)
    _edges: tuple[EdgeType, ...] = field(init=False)

    def __post_init__(self) -> None:
        self._nodes = tuple(self.world.catalog.nodes.values())
        self._edges = tuple(self.world.catalog.edges.values())

    def write(self) -> Statement:
        lot = self.random.random()
        updatable = [node for node in self._nodes if set(node.by_name) - set(node.key)]
        if lot < 0.3 and updatable:
            return self.update(self.random.choice(updatable))
        if lot < 0.65 and self._edges:
            return self.insert_edge(self.random.choice(self._edges).name)
        return self.insert_node(self.random.choice(self._nodes))

    def delete(self) -> Statement:
        # Those that delete much leave little for later calls.
        if not self._edges or self.random.random() < 0.25:
            node = self.random.choice(self._nodes)
            return DeleteNodes(type=node.name, where=self.where(node, usual=0.95))
        edge = self.random.choice(self._edges)
        return DeleteEdges(type=edge.name, where=self.where(edge, usual=0.8))

    def record(self) -> Record:
        if self._edges and self.random.random() < 0.5:
            edge = self.insert_edge(self.random.choice(self._edges).name)
            return {"edge": edge.type, "from": edge.source, "to": edge.target, "data": dict(edge.values)}
        node = self.random.choice(self._nodes)
        data = dict(self.insert_node(node).values)
        *known, _ = self.world.ids[node.name]
        if known and not node.key and self.random.random() < 0.7:
            # Only a load can give such a node an id that edges know.
            data["id"] = self.random.choice(known)
        return {"type": node.name, "data": data}

    def insert_node(self, node: NodeType) -> InsertNode:
        return InsertNode(type=node.name, values=self.values(node, list(node.by_name)))

    def insert_edge(self, name: str, source: str | None = None) -> InsertEdge:
        edge = self.world.catalog.edges[name]
        return InsertEdge(
            type=name,
            source=source or self.end(edge.source),
            target=self.end(edge.target),
            values=self.values(edge, list(edge.by_name)),
        )

    def update(self, node: NodeType) -> Update:
        names = sorted(set(node.by_name) - set(node.key))
        chosen = self.random.sample(names, self.random.randint(1, min(2, len(names))))
        values = {name: self.value(node, name) for name in chosen}
        return Update(type=node.name, values=values, where=self.where(node))

    def handover(self) -> tuple[Statement, ...]:
        """A value that must be unique, taken from whoever has it and given to another; nothing without such a one."""
        found = [
            (node, rule.columns[0])
            for node in self._nodes
            for rule in node.constraints
            if isinstance(rule, Unique) and len(rule.columns) == 1 and node.by_name[rule.columns[0]].type.is_nullable
        ]
        if not found:
            return ()
        node, name = self.random.choice(found)
        value = self.random.choice(self.pool(node, name).good)
        taken = Update(type=node.name, values={name: None}, where=Where(property=name, value=value))
        given = Update(type=node.name, values={name: value}, where=self.where(node, usual=0.95))
        return taken, given

    def values(self, owner: NodeType | EdgeType, names: Sequence[str]) -> dict[str, Any]:
        """Values for a new row: every required one, and some of the others."""
        chosen = [name for name in names if not owner.by_name[name].type.is_nullable or self.random.random() < 0.6]
        return {name: self.value(owner, name) for name in chosen}

    def value(self, owner: NodeType | EdgeType, name: str) -> Any:
        if owner.by_name[name].type.is_nullable and self.random.random() < 0.15:
            return None
        pool = self.pool(owner, name)
        is_wrong = bool(pool.wrong) and self.random.random() < self.world.wrong_share
        return self.random.choice(pool.wrong if is_wrong else pool.good)

    def end(self, node: str) -> str:
        *known, unknown = self.world.ids[node]
        return self.random.choice(known) if known and self.random.random() > self.world.wrong_share else unknown

    def where(self, owner: NodeType | EdgeType, *, usual: float = 0.6) -> Where:
        """A predicate; usually a key or an end that equals a value."""
        names = [name for name, each in owner.by_name.items() if _is_comparable(each.type)]
        if isinstance(owner, EdgeType):
            names += ENDS
        keys = owner.key if isinstance(owner, NodeType) else tuple(ENDS)
        name = self.random.choice(keys if keys and self.random.random() < usual else names)
        if isinstance(owner, EdgeType) and name in ENDS:
            value: Any = self.end(owner.source if name == "from" else owner.target)
        else:
            value = None if self.random.random() < 0.05 else self.random.choice(self.pool(owner, name).good)
        is_equal = self.random.random() < usual
        return Where(property=name, operator="=" if is_equal else self.random.choice(OPERATORS), value=value)

    def pool(self, owner: NodeType | EdgeType, name: str) -> Pool:
        return self.world.pools[f"{owner.name}.{name}"]


# ── pools ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _pool(owner: NodeType | EdgeType, name: str, start: Sequence[Record]) -> Pool:
    kind = owner.by_name[name].type
    if kind.enum_values is not None:
        return Pool(good=kind.enum_values, wrong=("neither-nor",))
    for rule in owner.constraints:
        if isinstance(rule, Check) and rule.property == name:
            raise ValueError(f"{owner.name}.{name} has a @check: give its pool")
        if isinstance(rule, Range) and rule.property == name:
            return _pool_of_range(rule, kind)
    if isinstance(owner, NodeType) and name in owner.key:
        there = [each["data"][name] for each in start if each.get("type") == owner.name]
        more = NAMES if owner.key == (name,) and kind.scalar is Scalar.STRING else _KEYS[kind.scalar]
        return Pool(good=tuple(dict.fromkeys((*there, *more)))[: max(len(there), FEW)])
    if kind.scalar is Scalar.VECTOR:
        return Pool(good=([0.5] * (kind.dimension or 1), [-1.0] * (kind.dimension or 1)))
    if kind.is_list:
        return Pool(good=([], list(_VALUES[kind.scalar][:2]), [_VALUES[kind.scalar][-1]]))
    return Pool(good=_VALUES[kind.scalar])


def _pool_of_range(rule: Range, kind: ValueType) -> Pool:
    """The bounds and their neighbours on both sides."""
    step = 0.5 if kind.scalar.is_float else 1
    low, high = rule.minimum, rule.maximum
    good = [*([] if low is None else [low, low + step]), *([] if high is None else [high, high - step])]
    wrong = [*([] if low is None else [low - step]), *([] if high is None else [high + step])]
    as_number = float if kind.scalar.is_float else int
    return Pool(good=tuple(map(as_number, good)), wrong=tuple(map(as_number, wrong)))


def _ids(node: NodeType, pools: Mapping[str, Pool], start: Sequence[Record]) -> tuple[str, ...]:
    """The ids that inserts of a type can make; of a type without a key, those that the first load names."""
    if not node.key:
        named = (each["data"].get("id") for each in start if each.get("type") == node.name)
        return tuple(each for each in named if each is not None)
    keys = itertools.product(*(pools[f"{node.name}.{name}"].good for name in node.key))
    return tuple(str(key_id(node, dict(zip(node.key, each, strict=True)))) for each in keys)


def _is_comparable(kind: ValueType) -> bool:
    return not kind.is_list and kind.scalar not in (Scalar.VECTOR, Scalar.BLOB)
