"""A small graph in memory, made without a writer so that edges may lead nowhere, and the rules of traversal in plain
Python over it. Tests of both traversal engines compare with these.
"""

from __future__ import annotations

import datetime as dt
import random
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.config import Settings
from omnigraph.engine.budget import QueryBudget, Spending
from omnigraph.engine.entities import HeldRows
from omnigraph.engine.execution import Execution, Trace
from omnigraph.engine.frame import Bound, Frame
from omnigraph.engine.memory import Memory
from omnigraph.engine.source import Source
from omnigraph.history.branches import BranchRef
from omnigraph.history.commits import Commit, CommitKind
from omnigraph.history.schemas import GraphSchema
from omnigraph.history.snapshot import Snapshot
from omnigraph.history.state import GraphState, head_row, pin_row, registration_row, schema_row
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.plan.ir import OuterRows
from omnigraph.query.ast import Operator
from omnigraph.query.checked import Comparison, Constant, Direction, PropertyRef
from omnigraph.storage import parse_uri
from omnigraph.storage.memory import MemoryAdapter
from omnigraph.tables.interface import IndexSpec
from omnigraph.tables.lance_tables import LanceTables

MAIN = BranchRef.of_line("main", "b0")

SCHEMA = """
node Person { handle: String @key  age: I64? }
node Film { code: String @key  stars: I64? }
edge Knows: Person -> Person { since: I64? }
edge Rented: Person -> Film { days: I64? }
"""
ENDS = {"Knows": ("Person", "Person"), "Rented": ("Person", "Film")}
NUMBER = ValueType(Scalar.I64, is_nullable=True)
INPUT = OuterRows(())
"""Stands below operators whose input is handed to them."""


@dataclass
class Edge:
    id: str
    src: str
    dst: str
    number: int | None


@dataclass
class World:
    """Nodes by type and id with a number each, edges by type, and the tables that hold them."""

    nodes: dict[str, dict[str, int | None]]
    edges: dict[str, list[Edge]]
    tables: LanceTables = field(init=False)
    snapshot: Snapshot = field(init=False)
    coverage: str = "none"

    def __post_init__(self) -> None:
        self.tables = LanceTables(MemoryAdapter(parse_uri(f"memory://traversal-{secrets.token_hex(6)}")))
        schema = GraphSchema.new(SCHEMA, "0" * 26)
        commit = Commit(
            id="01J",
            parent_id=None,
            branch="main",
            line="b0",
            manifest_version=1,
            kind=CommitKind.DATA,
            created_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        )
        facts = [commit.to_row(), head_row(commit, MAIN.incarnation), schema_row(schema.digest, 1)]
        for key, target in schema.tables.items():
            handle = self._written(key, target, pa.Table.from_pylist(self._rows(key), target.schema))
            state = self.tables.table_state(handle)
            facts += [registration_row(key, target.identity, 1), pin_row(key, target.identity, handle.pin, state, 1)]
        self.snapshot = Snapshot(branch=MAIN, state=GraphState.of(facts, 1), schema=schema)

    def _rows(self, key: str) -> list[dict[str, Any]]:
        kind, _, name = key.partition(":")
        if kind == "node":
            number = "age" if name == "Person" else "stars"
            own = "handle" if name == "Person" else "code"
            return [{"id": each, own: each, number: value} for each, value in self.nodes.get(name, {}).items()]
        number = "since" if name == "Knows" else "days"
        return [{"id": e.id, "src": e.src, "dst": e.dst, number: e.number} for e in self.edges.get(name, [])]

    def _written(self, key: str, target: Any, rows: pa.Table) -> Any:
        """The rows as one version; with partial coverage the second half of them came after the indexes."""
        half = len(rows) // 2 if self.coverage == "partial" else len(rows)
        handle = self.tables.commit_create(
            self.tables.stage_create(target.location, target.schema, rows.slice(0, half))
        )
        if self.coverage != "none":
            columns = ("id", "src", "dst") if key.startswith("edge:") else ("id",)
            specs = [IndexSpec(column=each, kind="btree", name=f"{each}_btree") for each in columns]
            handle = self.tables.commit_exact(handle, [self.tables.stage_indexes(handle, specs)])
        if half < len(rows):
            handle = self.tables.commit_exact(handle, [self.tables.stage_append(handle, rows.slice(half))])
        return handle

    def execution(
        self, mode: str = "auto", *, memory: Memory | None = None, budget: QueryBudget | None = None, **settings: Any
    ) -> Execution:
        """A run with an empty memory of its own, unless one is given; with a trace."""
        wanted = replace(Settings(), traversal_mode=mode, **settings)
        kept = Memory(wanted.cache_bytes) if memory is None else memory
        return Execution(
            source=Source(self.snapshot, self.tables, kept, wanted),
            parameters={},
            now=0,
            spending=Spending(budget or QueryBudget()),
            settings=wanted,
            embed=None,  # type: ignore[arg-type]  # nothing is embedded
            trace=Trace(read_counts=lambda: (0, 0)),
        )

    # ── the rules, as language.md 9.4 to 9.7 tell them ──

    def leads(self, edge: str, direction: Direction) -> list[tuple[str, str, Edge]]:
        """Each edge with existing ends as near end, far end, edge; both ways where it is undirected, a loop once."""
        start, end = ENDS[edge]
        found = []
        for each in self.edges[edge]:
            if each.src not in self.nodes[start] or each.dst not in self.nodes[end]:
                continue
            if direction is not Direction.BACKWARD:
                found.append((each.src, each.dst, each))
            if direction is Direction.BACKWARD or (direction is Direction.UNDIRECTED and each.src != each.dst):
                found.append((each.dst, each.src, each))
        return found

    def reached(self, edge: str, direction: Direction, start: str, bounds: tuple[int, int]) -> list[str]:
        """The targets of a traversal, ascending.

        Nodes at a distance within the bounds, the start being at distance 0 and never one of them; and nodes with an
        edge to themselves that are expanded at a hop within the bounds, which is the one after their distance.
        """
        near: dict[str, set[str]] = {}
        for one, other, _ in self.leads(edge, direction):
            near.setdefault(one, set()).add(other)
        if bounds == (1, 1):
            return sorted(near.get(start, ()))
        distance = {start: 0}
        queue = [start]
        for node in queue:
            for other in sorted(near.get(node, ())):
                if other not in distance:
                    distance[other] = distance[node] + 1
                    queue.append(other)
        low, high = bounds
        found = {node for node, hops in distance.items() if hops > 0 and low <= hops <= high}
        found |= {node for node, hops in distance.items() if node in near.get(node, ()) and low <= hops + 1 <= high}
        return sorted(found)


IDS = ["ann", "Zoe", "émile", "bo", "ß", "a", "aa", "Ω", "x-1", "x-10", "x-2", "\U0001f40d"]
"""Ids whose order by code point is none that a language would give them."""


def random_world(seed: int, *, coverage: str = "none", dangling: bool = True) -> World:
    """A dozen nodes with loops, parallel edges, edges both ways, nodes without edges, and edges that lead nowhere."""
    rng = random.Random(seed)
    people, films = IDS[: rng.randint(4, 12)], [f"f{n}" for n in range(rng.randint(1, 5))]
    nodes = {"Person": _numbered(people, rng), "Film": _numbered(films, rng)}
    edges: dict[str, list[Edge]] = {}
    for name, (start, end) in ENDS.items():
        starts, ends = list(nodes[start]), list(nodes[end])
        if dangling:
            starts, ends = [*starts, "nobody"], [*ends, "nobody"]
        count = rng.choice([0, len(starts), 2 * len(starts), 3 * len(starts)]) if seed else 3 * len(starts)
        drawn = [(rng.choice(starts), rng.choice(ends)) for _ in range(count)]
        if start == end:
            drawn += [(each, each) for each in rng.sample(people, 2)]
        drawn += drawn[:3]
        edges[name] = [Edge(f"{rng.choice('EeÉ')}{n:03}", src, dst, _number(rng)) for n, (src, dst) in enumerate(drawn)]
    return World(nodes=nodes, edges=edges, coverage=coverage)


def _numbered(ids: Iterable[str], rng: random.Random) -> dict[str, int | None]:
    return {each: _number(rng) for each in ids}


def _number(rng: random.Random) -> int | None:
    return rng.choice([None, 1, 2, 3, 4, 5])


def at_least(variable: str, name: str, value: int, *, is_edge: bool = False) -> Comparison:
    return Comparison(PropertyRef(variable, name, NUMBER, is_edge), Operator.GE, Constant(value, ValueType(Scalar.I64)))


def rows_of(execution: Execution, *, held: bool = False, **variables: tuple[str, Sequence[str]]) -> Frame:
    """A frame of numbered rows, whose variables are nodes given by type and ids.

    The number of a row is the variable ``row``. Nodes are looked up one by one where ``held``; else the whole type is
    at hand.
    """
    count = len(next(iter(variables.values()))[1])
    numbers = HeldRows("node:Row", pa.table({"id": [f"{n:04}" for n in range(count)]}))
    bound = {"row": Bound(numbers, np.arange(count))}
    for name, (type_name, ids) in variables.items():
        key, source = f"node:{type_name}", execution.source
        entities = source.rows(key, pa.array(ids, pa.string()), ["id"]) if held else source.image(key)
        assert entities is not None
        bound[name] = Bound(entities, entities.find(pa.array(ids, pa.string())))
    return Frame(row_count=count, bound=bound)


def pairs_of(frame: Frame, *names: str) -> list[tuple[Any, ...]]:
    """The rows of a frame: the number of the input row, then the ids of variables."""
    columns = [[int(each) for each in frame.ids("row").to_pylist()]]
    columns += [frame.ids(name).to_pylist() for name in names]
    assert all(len(each) == frame.row_count for each in columns)
    return list(zip(*columns, strict=True))
