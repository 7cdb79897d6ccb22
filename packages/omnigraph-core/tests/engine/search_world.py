"""A graph of texts and vectors, and what plain Python says a search in it gives."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from stored_world import StoredWorld

from omnigraph.config import Settings
from omnigraph.engine.budget import QueryBudget, Spending
from omnigraph.engine.execution import Execution, Trace
from omnigraph.engine.run import run_plan
from omnigraph.plan.compiler import Compiler
from omnigraph.plan.ir import ReadPlan
from omnigraph.query.params import bind_parameters
from omnigraph.tables.interface import IndexSpec
from omnigraph.testing.text_model import bm25, cosine_distance

SCHEMA = """
node Doc {
    name: String @key
    title: String? @index
    year: I32?
    v: Vector(3)?
}
node Tag { name: String @key }
edge Tagged: Doc -> Tag
"""
WORDS = ("river", "stone", "salt", "gold", "wolf", "the", "houses", "running", "Café")
DIRECTIONS = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [3.0, 3.0, 0.0], [-1.0, 0.5, 2.0], [0.0, 0.0, -2.0])

Doc = dict[str, Any]


def some_docs(seed: int, count: int, *, prefix: str = "d") -> list[Doc]:
    """Documents, some of them without a title, a year or a vector, many of them equal in these."""
    chance = random.Random(seed)
    return [
        {
            "name": f"{prefix}{number:03d}",
            "title": None if chance.random() < 0.15 else " ".join(chance.choices(WORDS, k=chance.randrange(6))),
            "year": chance.choice([None, 1999, 2000, 2001]),
            "v": chance.choice([None, *DIRECTIONS]),
        }
        for number in range(count)
    ]


class SearchWorld(StoredWorld):
    """The documents by name, stored and beside that."""

    def __init__(self, docs: Iterable[Doc] = (), *, mode: str = "auto") -> None:
        super().__init__(SCHEMA)
        self.docs: dict[str, Doc] = {}
        self.tags: dict[str, list[str]] = {}
        self.settings = Settings(scan_mode=mode)
        self.compiler = Compiler(self.schema.catalog)
        self.embedded: dict[str, list[float]] = {}
        self.load(docs)

    def load(self, docs: Iterable[Doc]) -> None:
        """Add documents, or replace those of the same name."""
        found = [{"id": each["name"], **each} for each in docs]
        self.merge("node:Doc", found)
        self.docs.update({each["name"]: each for each in found})

    def tag(self, tags: Mapping[str, list[str]]) -> None:
        """Give documents tags."""
        ends = [(name, tag) for tag, names in tags.items() for name in names]
        self.merge("node:Tag", [{"id": each, "name": each} for each in tags])
        self.merge("edge:Tagged", [{"id": f"{name} {tag}", "src": name, "dst": tag} for name, tag in ends])
        self.tags.update(tags)

    def remove(self, *names: str) -> None:
        self.delete("node:Doc", names)
        for each in names:
            del self.docs[each]

    def index(self, column: str, kind: str) -> None:
        """Build an index over the documents that there are."""
        spec = IndexSpec(column=column, kind=kind, name=f"{column}_{kind}")
        self._commit("node:Doc", self.tables.stage_indexes(self.handles["node:Doc"], [spec]))

    def ask(self, match: str, result: str, *, trace: Trace | None = None, **params: Any) -> list[dict[str, Any]]:
        """The rows of a query; parameters come as type and value."""
        declared = ", ".join(f"${name}: {kind}" for name, (kind, _) in params.items())
        plan = self.compiler.plan(f"query q({declared}) {{ match {{ {match} }} {result} }}")
        assert isinstance(plan, ReadPlan)
        execution = Execution(
            source=self.source(settings=self.settings),
            parameters=bind_parameters(plan, {name: value for name, (_, value) in params.items()}),
            now=0,
            spending=Spending(QueryBudget()),
            settings=self.settings,
            embed=lambda text, _: np.float32(self.embedded[text]),
            trace=trace,
        )
        found: list[dict[str, Any]] = run_plan(plan, execution).to_pylist()
        return found

    def names(self, match: str, result: str = "return { $d.name as name }", **params: Any) -> list[str]:
        return [each["name"] for each in self.ask(match, result, **params)]

    # ── what plain Python says ──

    def where(self, holds: Callable[[Doc], bool]) -> list[str]:
        return sorted(name for name, doc in self.docs.items() if holds(doc))

    def text_score(self, doc: Doc, query: str) -> float | None:
        texts = [each["title"] for each in self.docs.values() if each["title"] is not None]
        score = None if doc["title"] is None else bm25(doc["title"], query, texts)
        return None if score is None else round(score, 12)

    def distance(self, doc: Doc, vector: Sequence[float]) -> float | None:
        return None if doc["v"] is None else round(max(0.0, cosine_distance(doc["v"], vector)), 12)

    def best(
        self,
        score: Callable[[Doc], float | None],
        *,
        among: Iterable[str] | None = None,
        before: Callable[[Doc], Any] = lambda _: (),
    ) -> list[tuple[str, float]]:
        """Names and scores of the documents that have one, by ascending score, then by what is before, then by name."""
        scored = [(score(self.docs[each]), each) for each in (self.docs if among is None else among)]
        found = [(value, before(self.docs[name]), name) for value, name in scored if value is not None]
        return [(name, value) for value, _, name in sorted(found)]


def fused(arms: Sequence[Sequence[str]], k: int = 60) -> list[tuple[str, float]]:
    """Names and scores by reciprocal rank fusion; of equal scores as in the first arm, then as in the second."""
    scores: dict[str, float] = {}
    for arm in arms:
        for rank, name in enumerate(arm, 1):
            scores[name] = scores.get(name, 0.0) + 1 / (k + rank)
    return sorted(scores.items(), key=lambda each: -each[1])
