"""Branches that merged each other have several last common commits: what one of them did since is not lost."""

from __future__ import annotations

import secrets

import pytest

import omnigraph as og

SCHEMA = "node Person { name: String @key  age: I32? }"


@pytest.fixture
def graph() -> og.Graph:
    """Main and side each merged the other as it was before: both heads of then are last common commits."""
    graph = og.init(f"memory://crossed-{secrets.token_hex(6)}", schema=SCHEMA)
    add(graph, "main", "ann", 0)
    add(graph, "main", "bo", 0)
    graph.branches.create("side")
    add(graph, "side", "of side", 1)
    add(graph, "side", "ann", 1)
    add(graph, "main", "of main", 1)
    add(graph, "main", "bo", 1)
    graph.branches.create("was-main")
    graph.branches.merge("side")
    graph.branches.merge("was-main", into="side")
    assert people(graph) == people(graph, "side") == {"ann": 1, "bo": 1, "of main": 1, "of side": 1}
    return graph


def add(graph: og.Graph, branch: str, name: str, age: int) -> None:
    graph.load([{"type": "Person", "data": {"name": name, "age": age}}], "merge", branch=branch)


def people(graph: og.Graph, branch: str = "main") -> dict[str, int | None]:
    return {each["name"]: each["age"] for each in graph.table("Person", branch=branch)}


def test_what_main_deleted_since_is_not_brought_back(graph: og.Graph):
    for name in ("of side", "of main"):
        graph.mutate("query gone($name: String) { delete Person where name = $name }", params={"name": name})
    add(graph, "side", "late", 2)
    graph.branches.merge("side")
    assert people(graph) == {"ann": 1, "bo": 1, "late": 2}


def test_what_main_set_back_since_stays_so(graph: og.Graph):
    add(graph, "main", "ann", 0)
    add(graph, "main", "bo", 0)
    add(graph, "side", "late", 2)
    graph.branches.merge("side")
    assert people(graph) == {"ann": 0, "bo": 0, "late": 2, "of main": 1, "of side": 1}


def test_what_only_main_changed_since_is_no_conflict(graph: og.Graph):
    for name in people(graph):
        add(graph, "main", name, 5)
    add(graph, "side", "late", 2)
    graph.branches.merge("side")
    assert people(graph) == {"ann": 5, "bo": 5, "late": 2, "of main": 5, "of side": 5}
