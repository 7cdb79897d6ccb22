"""What one call of a writer is about: drawn from a seed, written down as JSON, carried out on the model.

    make_work(random, world, mix) ──> Mutation | Load | Upkeep | Look | Creation ── change ──> the next state of a model
                                                                                 └─ to_json ──> a writer's notes

Only mutations and loads change rows. Upkeep makes commits that change none, and must not. What a look has seen is kept
as a digest and held against the state of the version that it saw. ``history_life`` makes the calls on a real graph.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from random import Random
from typing import Any, Final, Literal

from omnigraph.schema import Catalog, EdgeType
from omnigraph.testing.model import Mode, ModelGraph, Record
from omnigraph.testing.mutation_model import (
    Image,
    Statement,
    mutate,
    statements_of_json,
    statements_to_json,
)
from omnigraph.testing.mutation_strategies import MutationWorld, make_load, make_mutation

How = Literal["export", "export_read_only", "query", "refresh", "reopen"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """``Graph.mutate``."""

    statements: tuple[Statement, ...]

    @property
    def kind(self) -> str:
        return "mutate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """``Graph.load``.

    Attributes:
        is_named: it has a load id, so that whoever finds its answer missing may repeat it.
    """

    mode: Mode
    records: tuple[Record, ...]
    is_named: bool = False

    @property
    def kind(self) -> str:
        return f"load_{self.mode}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """``Graph.maintain.ensure_indices``."""

    @property
    def kind(self) -> str:
        return "ensure_indices"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A read: an export through the writer's handle or one that only reads, a traversal, a refresh, a new handle."""

    how: How

    @property
    def kind(self) -> str:
        return self.how


@dataclass(frozen=True, slots=True, kw_only=True)
class Creation:
    """``init`` of a graph beside the one that all share, with the first load of the world, and an export of it."""

    @property
    def kind(self) -> str:
        return "init"


Work = Mutation | Load | Upkeep | Look | Creation

MUTATIONS_ONLY: Final[Mapping[str, float]] = {"mutate": 1}

EVERYTHING: Final[Mapping[str, float]] = {
    "mutate": 51,
    "load": 20,
    "ensure_indices": 5,
    "export": 4,
    "export_read_only": 4,
    "query": 7,
    "refresh": 4,
    "reopen": 2,
    "init": 3,
}
"""How often each kind of work is drawn, in shares."""


RESTOCK_SHARE: Final = 0.2
"""Of the loads, that bring back what the first load of a world had."""


def make_work(random: Random, world: MutationWorld, mix: Mapping[str, float] = MUTATIONS_ONLY) -> Work:
    """One call; ``mix`` says how often each kind is drawn, as ``EVERYTHING`` does."""
    kinds = [*mix]
    kind = kinds[0] if len(kinds) == 1 else random.choices(kinds, weights=[*mix.values()])[0]
    match kind:
        case "mutate":
            return Mutation(statements=make_mutation(random, world))
        case "load":
            # Overwrites and deletes leave less and less; now and then all that was there at first comes back.
            is_named = random.random() < 0.5
            if random.random() < RESTOCK_SHARE:
                return Load(mode="merge", records=world.start, is_named=is_named)
            mode, records = make_load(random, world)
            return Load(mode=mode, records=tuple(records), is_named=is_named)
        case "ensure_indices":
            return Upkeep()
        case "init":
            return Creation()
        case "export" | "export_read_only" | "query" | "refresh" | "reopen":
            return Look(how=kind)
    raise ValueError(f"There is no kind of work {kind!r}. There are: {', '.join(EVERYTHING)}")


def change(model: ModelGraph, work: Mutation | Load) -> tuple[int, int]:
    """Carry out a call that changes rows; the nodes and edges that its caller is told of.

    Raises:
        ModelRefusalError: it breaks a rule; the model is as it was.
    """
    if isinstance(work, Mutation):
        return mutate(model, work.statements)
    model.load(work.records, work.mode)
    nodes = sum("type" in each for each in work.records)
    return nodes, len(work.records) - nodes


# ── notes ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_OTHERS: Final[Mapping[str, Callable[..., Work]]] = {each.__name__: each for each in (Load, Upkeep, Look, Creation)}


def work_to_json(work: Work) -> dict[str, Any]:
    """Work as a JSON value; ``work_of_json`` reads it."""
    facts = {"statements": statements_to_json(work.statements)} if isinstance(work, Mutation) else asdict(work)
    return {"work": type(work).__name__, **facts}


def work_of_json(facts: Mapping[str, Any]) -> Work:
    """The work that ``work_to_json`` wrote."""
    fields = dict(facts)
    name = fields.pop("work")
    if name == "Mutation":
        return Mutation(statements=statements_of_json(fields["statements"]))
    if name == "Load":
        fields["records"] = tuple(fields["records"])
    return _OTHERS[name](**fields)


# ── what was seen ────────────────────────────────────────────────────────────────────────────────────────────────────


def digest_of_export(lines: Iterable[str]) -> str:
    """What an export shows, without ids: where no key gives them, model and graph give others."""
    found = []
    for line in lines:
        record = json.loads(line)
        name = f"node:{record['type']}" if "type" in record else f"edge:{record['edge']}"
        values = {key: value for key, value in record["data"].items() if key != "id"}
        found.append(_spelled(name, record.get("from"), record.get("to"), values))
    return _digest(found)


def digest_of_image(image: Image) -> str:
    """What an export of this state shows."""
    return _digest(
        _spelled(name, row.source, row.target, row.values) for name, rows in image.items() for row in rows.values()
    )


def traversal(catalog: Catalog) -> str:
    """A query along every edge of the first edge type whose nodes have a key each; see ``digest_of_traversal``."""
    edge = _traversed(catalog)
    source, target = catalog.nodes[edge.source], catalog.nodes[edge.target]
    verb = edge.name[0].lower() + edge.name[1:]
    return (
        f"query along() {{ match {{ $s: {edge.source} $s {verb} $t $t: {edge.target} }} "
        f"return {{ $s.{source.key[0]} as a, $t.{target.key[0]} as b }} }}"
    )


def digest_of_traversal(rows: Iterable[Mapping[str, Any]]) -> str:
    """Which pairs ``traversal`` has found, however often each."""
    return _digest({json.dumps([row["a"], row["b"]], ensure_ascii=False) for row in rows})


def digest_of_edges(model: ModelGraph) -> str:
    """Which pairs ``traversal`` finds in this state."""
    edge = _traversed(model.catalog)
    keys = {name: model.catalog.nodes[name].key[0] for name in (edge.source, edge.target)}
    ends = (
        [
            model.rows[f"node:{edge.source}"][str(row.source)].values[keys[edge.source]],
            model.rows[f"node:{edge.target}"][str(row.target)].values[keys[edge.target]],
        ]
        for row in model.rows[f"edge:{edge.name}"].values()
    )
    return _digest({json.dumps(each, ensure_ascii=False) for each in ends})


def _traversed(catalog: Catalog) -> EdgeType:
    keyed = {name for name, node in catalog.nodes.items() if node.key}
    return next(edge for _, edge in sorted(catalog.edges.items()) if {edge.source, edge.target} <= keyed)


def _spelled(name: str, source: str | None, target: str | None, values: Mapping[str, Any]) -> str:
    return json.dumps([name, source, target, dict(values)], ensure_ascii=False, sort_keys=True)


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16]
