"""Graphs that are followed, and ``Mirror``: a consumer that makes dicts of what it is told, as an export has them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from publish_world import commit_after

import omnigraph as og
from omnigraph.engine.diff import Change
from omnigraph.engine.feed_pages import FeedPage
from omnigraph.graph import Graph
from omnigraph.history.commits import CommitKind
from omnigraph.history.schemas import GraphSchema, write_schema
from omnigraph.history.state import schema_row
from omnigraph.lang.diagnostics import Report
from omnigraph.lang.source import SourceText
from omnigraph.schema import compile_schema
from omnigraph.schema.identity import resolve_identities

SCHEMA = """
node Person { name: String @key  age: I32? }
node Film { title: String @key }
edge Saw: Person -> Film { stars: F64? }
"""

Record = dict[str, Any]
Row = tuple[str | None, str | None, Mapping[str, Any]]


def new_graph(place: Path | None = None, schema: str = SCHEMA) -> Graph:
    return og.init(f"memory://feed-{secrets.token_hex(6)}" if place is None else place, schema=schema)


def person(name: str, age: int | None = None) -> Record:
    return {"type": "Person", "data": {"name": name, "age": age}}


def film(title: str) -> Record:
    return {"type": "Film", "data": {"title": title}}


def saw(row_id: str, who: str, what: str, stars: float | None = None) -> Record:
    return {"edge": "Saw", "from": who, "to": what, "data": {"id": row_id, "stars": stars}}


def add(graph: Graph, *records: Record, mode: str = "merge", branch: str = "main") -> str:
    """One commit; its id."""
    return graph.load(list(records), mode, branch=branch).commit.id


def set_age(graph: Graph, name: str, age: int, *, branch: str = "main") -> str:
    text = "query set($name: String, $age: I32) { update Person set { age: $age } where name = $name }"
    commit = graph.mutate(text, params={"name": name, "age": age}, branch=branch).commit
    assert commit is not None
    return commit.id


def remove(graph: Graph, name: str) -> str:
    commit = graph.mutate("query gone($n: String) { delete Person where name = $n }", params={"n": name}).commit
    assert commit is not None
    return commit.id


def change_schema(graph: Graph) -> str:
    """A commit that adds a property, made by hand; its id."""
    repository = graph._repository
    log = repository.newest()
    text = SCHEMA.replace("age: I32?", "age: I32?  mail: String?")
    accepted = repository.schema(log.state.schema_digest).ir
    schema = GraphSchema.of(text, resolve_identities(compile_schema(text), accepted, Report(SourceText.of(text))))
    write_schema(repository.adapter, schema)
    commit = commit_after(log, CommitKind.SCHEMA)
    log.publish(log.stage(commit, [schema_row(schema.digest, log.version + 1)]))
    return commit.id


def told(change: Change) -> tuple[str, str, str]:
    return change.op, change.type, change.id


def all_told(pages: Iterable[FeedPage]) -> list[tuple[str, str, str]]:
    return [told(change) for page in pages for block in page.blocks for change in block.changes]


@dataclass
class Mirror:
    """What a consumer made of the changes it was told of; ``rows`` is by kind, type and id."""

    rows: dict[tuple[str, str, str], Row] = field(default_factory=dict)

    def apply(self, change: Change, *, is_strict: bool = False) -> None:
        """Make one change; strictly, it must be about what is there."""
        name = (change.entity, change.type, change.id)
        if is_strict:
            held = self.rows.get(name)
            assert (held and held[2]) == change.before, change
        if change.after is None:
            self.rows.pop(name, None)
        else:
            self.rows[name] = (change.from_id, change.to_id, change.after)

    def load(self, lines: Iterable[str]) -> None:
        """Take over what an export says."""
        for record in map(json.loads, lines):
            kind = "edge" if "edge" in record else "node"
            row_id = record["data"].pop("id")
            row = (record.get("from"), record.get("to"), record["data"])
            self.rows[kind, record.get("edge") or record["type"], row_id] = row


def exported(graph: Graph, branch: str = "main") -> dict[tuple[str, str, str], Row]:
    """What a graph holds, by its export."""
    mirror = Mirror()
    mirror.load(graph.export(branch=branch))
    return mirror.rows
