"""What every class of the graph contract stands on: a place for a graph, the story that is loaded there, its oracle.

A backend's author gives the ``place`` fixture. The graph is small and has a bit of everything that a load judges: keys,
a unique tuple of ends, a range, an enum. All its rows have ids that are known beforehand, so exports can be compared.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

import pytest

import omnigraph
from omnigraph.schema import compile_schema
from omnigraph.testing.model import Mode, ModelGraph, Record, content_of_export

if TYPE_CHECKING:
    from omnigraph.graph import Graph

SCHEMA: Final = """
node Person { name: String @key  age: I32?  @range(age, 0..150) }
node Film { code: String @key  title: String  genre: enum(drama, docu)? }
edge Rated: Person -> Film { stars: I32  @unique(src, dst) }
"""


def person(name: str, age: int | None = None) -> Record:
    """A record of a node whose id is its name."""
    return {"type": "Person", "data": {"name": name, "age": age}}


def film(code: str, title: str, genre: str | None = None) -> Record:
    """A record of a node whose id is its code."""
    return {"type": "Film", "data": {"code": code, "title": title, "genre": genre}}


def rated(name: str, code: str, stars: int) -> Record:
    """A record of an edge whose id follows from its ends."""
    return {"edge": "Rated", "from": name, "to": code, "data": {"id": f"{name}-{code}", "stars": stars}}


SEED: Final[tuple[Record, ...]] = (
    rated("ann", "F1", 5),
    person("ann", 41),
    person("bo"),
    film("F1", "Orbit", "drama"),
    film("F2", "Salz & Größe"),
    rated("bo", "F1", 3),
)
"""Records in an order in which an edge comes before its ends."""

STORY: Final[tuple[tuple[Mode, tuple[Record, ...]], ...]] = (
    ("append", SEED),
    ("merge", (person("ann", 42), person("cy", 7), rated("cy", "F2", 1), rated("ann", "F1", 4))),
    ("overwrite", (rated("cy", "F1", 2), rated("bo", "F2", 5))),
    ("append", (film("F3", "Harbor", "docu"),)),
)
"""Loads, one after the other, of every mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPlace:
    """Where a graph of a backend can be made, and how to reach it; pickles into other processes.

    Attributes:
        uri: an empty place that no other test uses.
        options: for the backend of that URI.
    """

    uri: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def init(self, schema: str = SCHEMA, *, force: bool = False) -> Graph:
        return omnigraph.init(self.uri, schema=schema, options=dict(self.options), force=force)

    def open(self, mode: Literal["r", "rw"] = "rw") -> Graph:
        return omnigraph.open(self.uri, mode=mode, options=dict(self.options))


class GraphClauses:
    """Base of the contract classes; holds no clause itself."""

    __omnigraph_contract__: ClassVar[bool] = True

    loads_per_writer: ClassVar[int] = int(os.environ.get("OMNIGRAPH_GRAPH_LOADS", "4"))
    """How many loads each of two racing writers makes."""

    @pytest.fixture
    def place(self) -> GraphPlace:
        """An empty place. Every backend gives this one."""
        raise pytest.UsageError(f"{type(self).__name__} gives no `place` fixture: see docs/reference/contract.md")

    @pytest.fixture
    def graph(self, place: GraphPlace) -> Iterator[Graph]:
        """A new graph without rows."""
        with place.init() as graph:
            yield graph

    @pytest.fixture
    def seeded(self, graph: Graph) -> Graph:
        """A graph that holds ``SEED``."""
        graph.load(SEED, "append")
        return graph


def model_of(*loads: tuple[Mode, Sequence[Record]]) -> ModelGraph:
    """What a graph holds after these loads."""
    model = ModelGraph(compile_schema(SCHEMA))
    for mode, records in loads:
        model.load(records, mode)
    return model


def holds(graph: Graph, model: ModelGraph, branch: str = "main") -> bool:
    """Whether a branch has exactly the rows of a model."""
    return content_of_export(graph.export(branch=branch), model) == model.content()


def lines(records: Sequence[Record]) -> str:
    """Records as the text of a file."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
