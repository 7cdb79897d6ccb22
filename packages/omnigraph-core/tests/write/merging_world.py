"""A small graph for tests of merges at their boundary: what is asked for, what comes of it, what is written for it.

Which rows a merge makes of which is the matter of others; here rows are few, and compared as an export spells them.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import omnigraph as og
from omnigraph.history.log import ManifestLog
from omnigraph.history.repository import SnapshotLike
from omnigraph.tables.counting import TableCounts, count_table_calls
from omnigraph.testing.faults import Once, armed

SCHEMA = """
node Person { name: String @key  age: I32?  mail: String? @unique }
node Film { code: String @key  title: String? }
node Note { text: String @key }
edge Rated: Person -> Film { stars: I32? }
"""
PERSON, FILM, NOTE, RATED = "node:Person", "node:Film", "node:Note", "edge:Rated"

Record = Mapping[str, Any]

READS = frozenset(
    {
        "open",
        "read",
        "read_deleted",
        "lookup",
        "take",
        "count",
        "indexes",
        "log.open",
        "log.read",
        "log.probe",
        "log.lines",
    }
)
"""Calls to tables and to the manifest that leave nothing there."""


def person(name: str, age: int | None = None, mail: str | None = None) -> Record:
    return {"type": "Person", "data": {"name": name, "age": age, "mail": mail}}


def film(code: str, title: str | None = None) -> Record:
    return {"type": "Film", "data": {"code": code, "title": title}}


def note(text: str) -> Record:
    return {"type": "Note", "data": {"text": text}}


def rated(name: str, source: str, target: str, stars: int | None = None) -> Record:
    return {"edge": "Rated", "from": source, "to": target, "data": {"id": name, "stars": stars}}


SEED: Sequence[Record] = (
    person("ann", 30),
    person("bob", 40),
    film("f1", "Orbit"),
    note("n1"),
    rated("r1", "ann", "f1", 3),
)


def new_graph(schema: str = SCHEMA, seed: Sequence[Record] = SEED) -> og.Graph:
    graph = og.init(f"memory://merging-{secrets.token_hex(8)}/graph", schema=schema)
    if seed:
        graph.load(seed, "append")
    return graph


def again(graph: og.Graph) -> og.Graph:
    """The same graph as another process would hold it: nothing is known yet."""
    return og.open(graph.uri)


def put(graph: og.Graph, branch: str, *records: Record) -> og.Commit:
    """Rows that come, or take the place of others of equal id, as one commit."""
    commit = graph.load(records, "merge", branch=branch).commit
    assert commit is not None
    return commit


def drop(graph: og.Graph, branch: str, type_name: str, prop: str, value: str) -> None:
    """Delete nodes, and their edges."""
    text = f"query drop($value: String) {{ delete {type_name} where {prop} = $value }}"
    assert graph.mutate(text, params={"value": value}, branch=branch).commit is not None


def content(graph: og.Graph, at: SnapshotLike = "main") -> dict[tuple[str, str], dict[str, Any]]:
    """All rows of a state, by type and id."""
    found = (json.loads(line) for line in graph.export(snapshot=at))
    return {(each.get("type") or each["edge"], each["data"]["id"]): each for each in found}


def ids(graph: og.Graph, type_name: str, at: SnapshotLike = "main") -> list[str]:
    return sorted(key for name, key in content(graph, at) if name == type_name)


def age_of(graph: og.Graph, name: str, at: SnapshotLike = "main") -> int | None:
    return content(graph, at)["Person", name]["data"].get("age")


def log_of(graph: og.Graph, branch: str = "main") -> ManifestLog:
    return graph._repository.newest(branch)


def pin_of(graph: og.Graph, key: str, branch: str = "main") -> Any:
    return log_of(graph, branch).state.entries[key].pin


def stored_ids(graph: og.Graph, branch: str = "main") -> list[str]:
    """Every commit that a manifest has a row of; one that has two rows is there twice."""
    log = log_of(graph, branch)
    return sorted([*(each.id for _, each in log._history()), *(each.id for each in log.state.recent)])


def check_history(graph: og.Graph, *branches: str) -> None:
    """The manifest of each branch has a row of every commit that led to it, and of no other one, once."""
    for branch in branches:
        assert stored_ids(graph, branch) == sorted(each.id for each in graph.commits.list(branch)), branch


@contextmanager
def counted_writes() -> Iterator[TableCounts]:
    """What is written to tables and to the manifest meanwhile, by name of the call."""
    found = TableCounts()
    with count_table_calls() as counts:
        yield found
    found.update({name: count for name, count in counts.items() if name not in READS})


def meanwhile(moment: str, act: Callable[[], object]) -> AbstractContextManager[None]:
    """Let something happen when a merge comes to a failpoint, the first time that anybody does."""

    def happen(_name: str) -> None:
        act()

    return armed({moment: Once(happen)})
