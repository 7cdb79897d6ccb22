"""A small graph whose branches are written to and looked at: codes of films, and on whose line a type is.

Films and people are keyed nodes, ``Saw`` is an edge, and ``Note`` a type that no test writes to.
"""

from __future__ import annotations

import secrets
from typing import Any

import omnigraph as og

SCHEMA = """
node Film { code: String @key  title: String?  year: I32? }
node Person { name: String @key }
node Note { text: String @key }
edge Saw: Person -> Film
"""

ADD = "query add($code: String) { insert Film { code: $code } }"
RENAME = "query rename($code: String, $title: String) { update Film set { title: $title } where code = $code }"
DROP = "query drop($code: String) { delete Film where code = $code }"


def place() -> str:
    return f"memory://branches-{secrets.token_hex(8)}"


def film(code: str, title: str | None = None) -> dict[str, Any]:
    return {"type": "Film", "data": {"code": code, "title": title}}


def saw(who: str, code: str) -> list[dict[str, Any]]:
    """Somebody new who saw a film."""
    return [{"type": "Person", "data": {"name": who}}, {"edge": "Saw", "from": who, "to": code}]


def new_graph(uri: str | None = None, schema: str = SCHEMA) -> og.Graph:
    """Two films and somebody who saw one, on main."""
    graph = og.init(uri or place(), schema=schema, actor="ann")
    graph.load([film("f1"), film("f2"), *saw("ann", "f1")], "append")
    return graph


def codes(graph: og.Graph, branch: str = "main", **where: Any) -> list[str]:
    return sorted(row["code"] for row in graph.table("Film", ["code"], branch=branch, **where))


def lines(graph: og.Graph, branch: str = "main") -> dict[str, str | None]:
    """The physical line of each type that is not on the main line, by name."""
    shown = graph.snapshot(branch).to_dict()["types"]
    return {each["name"]: each["physical_branch"] for each in shown if each["physical_branch"] is not None}


def line_of(graph: og.Graph, branch: str) -> str | None:
    """The physical line of a branch's manifest."""
    return graph.snapshot(branch).branch.physical


def own_lines(graph: og.Graph, branch: str) -> set[str]:
    """The types of which a branch has a line of its own, made by its own operations."""
    prefix = f"{line_of(graph, branch)}."
    return {name for name, line in lines(graph, branch).items() if (line or "").startswith(prefix)}
