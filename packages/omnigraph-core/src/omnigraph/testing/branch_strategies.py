"""Random histories of a graph with branches: one step after the other, drawn with a view to what the model is now.

    Random, MutationWorld, BranchedModel ── make_step ──> Step ── take_step ──> the model after it

Branches have few names, which are deleted and used again, and values and ids are few, so that two branches often change
the same row. Edges are often loaded under ids of their own, which only then two branches can both insert. Most writes
change something, and most merges are of branches that went different ways.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Final, Literal

from omnigraph.schema import EdgeType, NodeType
from omnigraph.testing.branch_model import MAIN, BranchedModel, ModelMerge
from omnigraph.testing.merge_model import Conflict, Side, Strategy
from omnigraph.testing.model import Mode, ModelGraph, ModelRefusalError, ModelRow, Record
from omnigraph.testing.mutation_model import DeleteEdges, DeleteNodes, InsertEdge, Statement, Where, mutate
from omnigraph.testing.mutation_strategies import MutationWorld, Pool, make_load, make_mutation

NAMES: Final = ("a", "a/b", "b", "ü x")
"""Of branches beside ``main``: paths below each other live side by side, and so does what needs to be quoted."""

PATIENCE: Final = 3
"""How often another step is drawn in place of one that changes nothing; afterwards it is taken nevertheless."""

ULID_LENGTH: Final = 26

SCHEMA: Final = """
node Person {
    name: String @key
    mail: String? @unique
    age: I32?
    mood: enum(good, bad)?
    @range(age, 0..99)
}
node Note {
    text: String
    weight: F64?
    tags: [String]?
}
edge Knows: Person -> Person { since: Date? }
edge Rated: Person -> Note { stars: I32  @unique(src, dst) }
edge Owns: Person -> Note @card(0..2)
edge Cites: Note -> Note @card(2..) { how: enum(plain, warm)? }
"""
"""Every rule that a merge is judged by, in few types, so that branches meet."""

START: Final[tuple[Record, ...]] = (
    {"type": "Person", "data": {"name": "ann", "mail": "a", "age": 41}},
    {"type": "Person", "data": {"name": "bo", "mood": "bad"}},
    {"type": "Note", "data": {"id": "n1", "text": "a", "weight": 0.5, "tags": []}},
    {"type": "Note", "data": {"id": "n2", "text": "b"}},
    {"edge": "Knows", "from": "ann", "to": "bo", "data": {"id": "Knows-start"}},
    {"edge": "Knows", "from": "bo", "to": "bo"},
    {"edge": "Rated", "from": "ann", "to": "n1", "data": {"id": "Rated-start", "stars": 3}},
    {"edge": "Owns", "from": "ann", "to": "n1", "data": {"id": "Owns-start"}},
    {"edge": "Cites", "from": "n1", "to": "n2", "data": {"id": "Cites-start"}},
    {"edge": "Cites", "from": "n1", "to": "n1", "data": {"id": "Cites-more"}},
    {"edge": "Cites", "from": "n1", "to": "n2"},
)
"""What is there before there are branches."""

StrategyName = Literal["fail", "ours", "theirs", "each"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateBranch:
    """A new branch, at the newest commit of ``base`` or at a commit in its history."""

    name: str
    base: str
    at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteBranch:
    """The end of a branch."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRecords:
    """A load to a branch; with ``base`` to one that it makes."""

    branch: str
    mode: Mode
    records: tuple[Record, ...]
    base: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutate:
    """One query that changes a branch."""

    branch: str
    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintain:
    """Another way of storing the same."""

    branch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """A merge of one branch into another, which ends the source when it is to be deleted."""

    source: str
    into: str
    strategy: StrategyName
    deletes_source: bool = False


Step = CreateBranch | DeleteBranch | LoadRecords | Mutate | Maintain | Merge


def branch_world() -> MutationWorld:
    """The world of ``SCHEMA``."""
    return MutationWorld.of(SCHEMA, START, pools={"Person.mail": Pool(good=("a", "b"))})


def decide_by_id(conflict: Conflict) -> Side:
    """Decides a row conflict by nothing but what it is about, so that model and graph decide alike.

    An id that a graph made is another one in every run, so it does not count.
    """
    named = "" if len(conflict.id) == ULID_LENGTH else conflict.id
    return "ours" if sum(f"{conflict.type}{named}".encode()) % 2 else "theirs"


STRATEGIES: Final[Mapping[StrategyName, Strategy]] = {
    "fail": "fail",
    "ours": "ours",
    "theirs": "theirs",
    "each": decide_by_id,
}


def make_step(random: Random, world: MutationWorld, model: BranchedModel) -> Step:
    """The next step. What it names is there, and what it makes is not; rows may break rules."""
    names = sorted(model.branches)
    missing = sorted({*NAMES} - {*names})
    lot = random.random()
    if missing and lot < (0.1 if len(names) > 2 else 0.3):
        return _create(random, world, model, random.choice(missing))
    if len(names) > 1 and lot < 0.35:
        return _merge(random, model)
    if len(names) > 2 and lot < 0.4:
        return DeleteBranch(name=random.choice([each for each in names if each != MAIN]))
    branch = random.choice(names)
    return Maintain(branch=branch) if lot < 0.43 else _write(random, world, model, branch)


def take_step(model: BranchedModel, step: Step) -> ModelMerge | tuple[int, int] | None:
    """Let the model take a step: what a merge gives, how many rows a mutation affected, or nothing.

    Raises:
        ModelRefusalError: it breaks a rule; the model is as it was.
    """
    match step:
        case CreateBranch():
            model.create(step.name, step.base, step.at)
        case DeleteBranch():
            model.delete(step.name)
        case LoadRecords():
            if step.base is not None:
                model.create(step.branch, step.base)
            model.load(step.records, step.mode, step.branch)
        case Mutate():
            return model.mutate(step.statements, step.branch)
        case Maintain():
            model.maintain(step.branch)
        case Merge():
            merged = model.merge(step.source, step.into, STRATEGIES[step.strategy])
            if step.deletes_source and not merged.conflicts:
                model.delete(step.source)
            return merged
    return None


def _create(random: Random, world: MutationWorld, model: BranchedModel, name: str) -> Step:
    base = random.choice(sorted(model.branches))
    lot = random.random()
    if lot < 0.3:
        return CreateBranch(name=name, base=base, at=random.choice(sorted(model.history(base))))
    # A load that is refused may leave the branch behind that it made, or not; so only one that is not makes a branch.
    load = _load(random, world, name, base)
    return load if lot < 0.5 and _changes(model, load) else CreateBranch(name=name, base=base)


def _merge(random: Random, model: BranchedModel) -> Merge:
    source, into = random.sample(sorted(model.branches), 2)
    for _ in range(PATIENCE):
        base = model.merge_base(model.branch(source).head, model.branch(into).head)
        if base not in (model.branch(source).head, model.branch(into).head):
            break
        source, into = random.sample(sorted(model.branches), 2)
    return Merge(
        source=source,
        into=into,
        strategy=random.choice(("fail", "fail", "fail", "ours", "theirs", "each")),
        deletes_source=source != MAIN and random.random() < 0.15,
    )


def _write(random: Random, world: MutationWorld, model: BranchedModel, branch: str) -> LoadRecords | Mutate:
    step = _any_write(random, world, model, branch)
    for _ in range(PATIENCE):
        if _changes(model, step):
            break
        step = _any_write(random, world, model, branch)
    return step


def _any_write(random: Random, world: MutationWorld, model: BranchedModel, branch: str) -> LoadRecords | Mutate:
    lot = random.random()
    there = [(key, row) for key, rows in sorted(model.graph(branch).rows.items()) for _, row in sorted(rows.items())]
    if there and lot < 0.35:
        touched = random.sample(there, min(len(there), random.randint(1, 4)))
        records = tuple(_touched(random, world, *each) for each in touched)
        return LoadRecords(branch=branch, mode="merge", records=records)
    if there and lot < 0.42:
        return Mutate(branch=branch, statements=(_removal(model, *random.choice(there)),))
    if lot < 0.55:
        made = _connection(random, world, model.graph(branch))
        if random.random() < 0.4:
            return Mutate(branch=branch, statements=(made,))
        record = {"edge": made.type, "from": made.source, "to": made.target, "data": dict(made.values)}
        return LoadRecords(branch=branch, mode="append", records=(_with_id(record),))
    if lot < 0.68:
        return _load(random, world, branch)
    return Mutate(branch=branch, statements=make_mutation(random, world))


def _touched(random: Random, world: MutationWorld, key: str, row: ModelRow) -> Record:
    """A row that is there, with another value or another end."""
    entity, _, name = key.partition(":")
    owner = world.catalog.nodes[name] if entity == "node" else world.catalog.edges[name]
    free = [each for each in owner.by_name if not isinstance(owner, NodeType) or each not in owner.key]
    values = {**row.values, "id": row.id}
    if free:
        chosen = random.choice(free)
        values[chosen] = random.choice(world.pools[f"{name}.{chosen}"].good)
    if not isinstance(owner, EdgeType):
        return {"type": name, "data": values}
    *ends, _ = world.ids[owner.target]
    moved = random.choice(ends) if not free or random.random() < 0.3 else row.target
    return {"edge": name, "from": row.source, "to": moved, "data": values}


def _connection(random: Random, world: MutationWorld, graph: ModelGraph) -> InsertEdge:
    """An edge between nodes that are there, if there are any."""
    name = random.choice(sorted(world.catalog.edges))
    edge = world.catalog.edges[name]
    source, target = (
        random.choice(sorted(graph.rows[f"node:{end}"]) or ["nobody"]) for end in (edge.source, edge.target)
    )
    values = {each: random.choice(world.pools[f"{name}.{each}"].good) for each in edge.by_name}
    return InsertEdge(type=name, source=source, target=target, values=values)


def _removal(model: BranchedModel, key: str, row: ModelRow) -> Statement:
    """A deletion of a row that is there, with others that look alike."""
    entity, _, name = key.partition(":")
    if entity == "edge":
        return DeleteEdges(type=name, where=Where(property="from", value=row.source))
    node = model.catalog.nodes[name]
    by = node.key[0] if node.key else next(each for each, held in node.by_name.items() if not held.type.is_nullable)
    return DeleteNodes(type=name, where=Where(property=by, value=row.values[by]))


def _load(random: Random, world: MutationWorld, branch: str, base: str | None = None) -> LoadRecords:
    mode, records = make_load(random, world)
    if mode == "overwrite" and random.random() < 0.7:
        # One that removes most rows leaves little for branches to meet in.
        mode = "merge"
    named = tuple(_with_id(each) if "edge" in each and random.random() < 0.5 else each for each in records)
    return LoadRecords(branch=branch, mode=mode, records=named, base=base)


def _with_id(edge: Record) -> Record:
    """An edge under the one id that loads give edges of its type."""
    return {**edge, "data": {**edge["data"], "id": f"{edge['edge']}-loaded"}}


def _changes(model: BranchedModel, step: LoadRecords | Mutate) -> bool:
    """Whether the step changes rows, and breaks no rule."""
    graph = model.graph((step.base if isinstance(step, LoadRecords) else None) or step.branch)
    before = graph.rows
    try:
        if isinstance(step, LoadRecords):
            graph.load(step.records, step.mode)
        else:
            mutate(graph, step.statements)
    except ModelRefusalError:
        return False
    return graph.rows != before
