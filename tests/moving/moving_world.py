"""A graph with branches of every kind, and everything that it shows, wherever it lies."""

from __future__ import annotations

from typing import Any

import omnigraph as og

SCHEMA = """
node Film { code: String @key  title: String?  year: I32? }
node Person { name: String @key }
edge Saw: Person -> Film
"""

ADD = "query add($code: String) { insert Film { code: $code } }"
DROP = "query drop($code: String) { delete Film where code = $code }"

WHAT_BRANCHES_HOLD = {
    "main": ["m1", "m2"],
    "deep": ["deep", "m1", "review"],
    "fresh": ["m1"],
    "review": ["m1", "review"],
}
"""``fresh`` has no line of a table of its own; ``deep`` began as ``review``, on whose lines it reads."""


def make(root: Any, **options: Any) -> Any:
    with og.init(root, schema=SCHEMA, actor="ann", **options) as graph:
        graph.load([film("m1")], "append")
        graph.branches.create("review")
        graph.branches.create("fresh")
        graph.load([film("review")], "append", branch="review")
        graph.tags.create("reviewed", graph.branches.show("review").head)
        graph.branches.create("deep", "review")
        graph.load([film("deep")], "append", branch="deep")
        graph.load([film("m2")], "append")
        graph.tags.create("second", graph.branches.show("main").head)
    return root


def tell(graph: og.Graph) -> dict[str, object]:
    """Everything that a graph shows: branches, commits, tags, and rows at each commit of each branch."""
    branches = {each.name: each for each in graph.branches.list()}
    commits = {name: graph.commits.list(name) for name in branches}
    return {
        "branches": branches,
        "commits": commits,
        "tags": graph.tags.list(),
        "rows": {
            (name, each.id): sorted(map(str, graph.export(branch=name, snapshot=each)))
            for name, listed in commits.items()
            for each in listed
        },
    }


def film(code: str) -> dict[str, Any]:
    return {"type": "Film", "data": {"code": code}}


def codes(graph: og.Graph, branch: str = "main", **where: Any) -> list[str]:
    return sorted(row["code"] for row in graph.table("Film", ["code"], branch=branch, **where))
