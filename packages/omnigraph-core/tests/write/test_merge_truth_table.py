"""The tables of the specification about merges, cell by cell, on real graphs and in both directions.

    operations of two branches    49 cells: what one side did and what the other did, and what comes of it
    rows                          14 cells: a row before, on the source and on the target, for nodes and for edges

Expected rows come from the tables and from dicts in this module, not from the model of branches.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import omnigraph as og
from omnigraph.errors import MergeConflictError
from omnigraph.history.commits import CommitKind

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person { year: I32? }
"""
SIDES = {"main": "feature", "feature": "main"}
"""By target: the source."""


@pytest.fixture
def graph() -> Iterator[og.Graph]:
    with og.init(f"memory://merge-{secrets.token_hex(8)}/g", schema=SCHEMA) as graph:
        yield graph


def head(graph: og.Graph, branch: str) -> str:
    return graph.snapshot(branch).commit.id


def exported(graph: og.Graph, branch: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in graph.export(branch=branch)]


# ── operations of two branches ───────────────────────────────────────────────────────────────────────────────────────

BEFORE = [
    {"type": "Person", "data": {"name": "Alice", "age": 30}},
    {"type": "Person", "data": {"name": "Bob", "age": 25}},
    {"type": "Person", "data": {"name": "Carol"}},
    {"edge": "Knows", "from": "Alice", "to": "Bob", "data": {"id": "k1"}},
]

OPERATIONS = {
    "Noop": (),
    "AddNode": ('insert Person { name: "Eve", age: 2$side }',),
    "RemoveNode": ('delete Person where name = "Alice"',),
    "SetProperty": ('update Person set { age: 3$side } where name = "Alice"',),
    "AddEdge": ('insert Knows { from: "Alice", to: "Carol" }',),
    "RemoveEdge": ('delete Knows where to = "Bob"',),
    "NetZeroEdge": ('insert Knows { from: "Alice", to: "Carol" }', 'delete Knows where to = "Carol"'),
}
"""Queries by operation. The source says 1 where it has ``$side``, and the target 2."""

OUTCOMES = {
    # source \ target   Noop AddNode RemoveNode SetProperty AddEdge RemoveEdge NetZeroEdge
    "Noop":        dict(zip(OPERATIONS, ("=", "=", "=", "=", "=", "=", "="), strict=True)),
    "AddNode":     dict(zip(OPERATIONS, (">", "I", "+", "+", "+", "+", "+"), strict=True)),
    "RemoveNode":  dict(zip(OPERATIONS, (">", "+", "+", "D", "O", "+", "+"), strict=True)),
    "SetProperty": dict(zip(OPERATIONS, (">", "+", "D", "U", "+", "+", "+"), strict=True)),
    "AddEdge":     dict(zip(OPERATIONS, (">", "+", "O", "+", "+", "+", "+"), strict=True)),
    "RemoveEdge":  dict(zip(OPERATIONS, (">", "+", "+", "+", "+", "+", "+"), strict=True)),
    "NetZeroEdge": dict(zip(OPERATIONS, (">", "+", "+", "+", "+", "+", "+"), strict=True)),
}  # fmt: skip
"""``=`` already up to date, ``>`` fast-forward, ``+`` merged; a letter is a conflict."""

WORDS = {"=": "already_up_to_date", ">": "fast_forward", "+": "merged"}

People = dict[str, int | None]
Edges = list[tuple[str, str, str]]
"""Id, which is ``new`` where the graph made it, and both ends."""


def add_node(people: People, edges: Edges, side: int) -> None:
    people["Eve"] = 20 + side


def remove_node(people: People, edges: Edges, side: int) -> None:
    people.pop("Alice", None)
    edges[:] = [each for each in edges if "Alice" not in each[1:]]


def set_property(people: People, edges: Edges, side: int) -> None:
    people["Alice"] = 30 + side


def add_edge(people: People, edges: Edges, side: int) -> None:
    edges.append(("new", "Alice", "Carol"))


def remove_edge(people: People, edges: Edges, side: int) -> None:
    edges[:] = [each for each in edges if each[0] != "k1"]


EFFECTS: dict[str, Callable[[People, Edges, int], None]] = {
    "Noop": lambda people, edges, side: None,
    "AddNode": add_node,
    "RemoveNode": remove_node,
    "SetProperty": set_property,
    "AddEdge": add_edge,
    "RemoveEdge": remove_edge,
    "NetZeroEdge": lambda people, edges, side: None,
}


def rows_after(target: str, source: str) -> tuple[People, Edges]:
    people: People = {"Alice": 30, "Bob": 25, "Carol": None}
    edges: Edges = [("k1", "Alice", "Bob")]
    EFFECTS[target](people, edges, 2)
    EFFECTS[source](people, edges, 1)
    return people, sorted(edges)


def rows_of(graph: og.Graph, branch: str) -> tuple[People, Edges]:
    records = exported(graph, branch)
    people = {each["data"]["id"]: each["data"]["age"] for each in records if "type" in each}
    edges = [
        ("k1" if each["data"]["id"] == "k1" else "new", each["from"], each["to"]) for each in records if "edge" in each
    ]
    return people, sorted(edges)


def new_edge(graph: og.Graph, *branches: str) -> str:
    (found,) = {
        each["data"]["id"]
        for branch in branches
        for each in exported(graph, branch)
        if "edge" in each and each["data"]["id"] != "k1"
    }
    return str(found)


@pytest.mark.parametrize("into", SIDES)
@pytest.mark.parametrize("target", OPERATIONS)
@pytest.mark.parametrize("source", OPERATIONS)
def test_what_two_branches_did_is_merged_or_told_as_the_table_says(
    graph: og.Graph, source: str, target: str, into: str
):
    came_from = SIDES[into]
    graph.load(BEFORE, "append")
    graph.branches.create("feature")
    for side, (branch, operation) in enumerate([(came_from, source), (into, target)], start=1):
        for query in OPERATIONS[operation]:
            graph.mutate(f"query change() {{ {query.replace('$side', str(side))} }}", branch=branch)
    heads = {each: head(graph, each) for each in SIDES}
    exports = {each: exported(graph, each) for each in SIDES}
    expected = OUTCOMES[source][target]
    if expected not in WORDS:
        kind, entity, type_, id_ = {
            "I": ("divergent_insert", "node", "Person", "Eve"),
            "U": ("divergent_update", "node", "Person", "Alice"),
            "D": ("delete_vs_update", "node", "Person", "Alice"),
            "O": ("orphan_edge", "edge", "Knows", None),
        }[expected]
        with pytest.raises(MergeConflictError) as raised:
            graph.branches.merge(came_from, into)
        (conflict,) = raised.value.conflicts
        assert (conflict.kind, conflict.entity, conflict.type) == (kind, entity, type_)
        assert conflict.id == (id_ or new_edge(graph, *SIDES))
        assert (raised.value.source, raised.value.branch) == (came_from, into)
        assert {each: head(graph, each) for each in SIDES} == heads
        assert {each: exported(graph, each) for each in SIDES} == exports
        return
    result = graph.branches.merge(came_from, into)
    assert result.outcome == WORDS[expected]
    assert rows_of(graph, into) == rows_after(target, source)
    assert (head(graph, came_from), exported(graph, came_from)) == (heads[came_from], exports[came_from])
    if expected == "=":
        assert (result.commit, head(graph, into)) == (None, heads[into])
        return
    commit = graph.commits.show(head(graph, into))
    assert commit.id == result.commit.id
    assert (commit.parent_id, commit.merged_parent_id) == (heads[into], heads[came_from])
    assert (commit.kind, commit.branch) == (CommitKind.MERGE, into)
    # Whatever was merged is merged: a second time there is nothing to do.
    assert graph.branches.merge(came_from, into).outcome == "already_up_to_date"


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

ROW_TABLE = {
    # base, source, target: digits are values, and - is no row
    "--2": "2",
    "-1-": "1",
    "-11": "1",
    "-12": "divergent_insert",
    "0--": "-",
    "0-0": "-",
    "0-2": "delete_vs_update",
    "00-": "-",
    "000": "0",
    "002": "2",
    "01-": "delete_vs_update",
    "010": "1",
    "011": "1",
    "012": "divergent_update",
}
CONFLICTS = {cell: kind for cell, kind in ROW_TABLE.items() if len(kind) > 1}


def records_of(place: int) -> Iterator[dict[str, Any]]:
    """A node and an edge for each cell that has a row there; the ends of all edges are one node that stays."""
    yield {"type": "Person", "data": {"name": "hub"}}
    for cell in ROW_TABLE:
        if cell[place] != "-":
            value = int(cell[place])
            yield {"type": "Person", "data": {"name": cell, "age": value}}
            yield {"edge": "Knows", "from": "hub", "to": "hub", "data": {"id": cell, "year": value}}


def overwrite(graph: og.Graph, branch: str, place: int) -> None:
    graph.load(list(records_of(place)), "overwrite", branch=branch)


def change_row_by_row(graph: og.Graph, branch: str, place: int) -> None:
    """Only rows that differ are written; an edge is deleted by a value that no other one has at that time."""
    changed = [cell for cell in ROW_TABLE if cell[place] not in ("-", cell[0])]
    records = [each for each in records_of(place) if each["data"].get("id", each["data"].get("name")) in changed]
    graph.load(records, "merge", branch=branch)
    for number, cell in enumerate(cell for cell in ROW_TABLE if cell[0] != "-" and cell[place] == "-"):
        marked = {"edge": "Knows", "from": "hub", "to": "hub", "data": {"id": cell, "year": 100 + number}}
        graph.load([marked], "merge", branch=branch)
        graph.mutate(f"query gone() {{ delete Knows where year = {100 + number} }}", branch=branch)
        graph.mutate(f'query gone() {{ delete Person where name = "{cell}" }}', branch=branch)


def values_of(graph: og.Graph, branch: str) -> tuple[dict[str, str], dict[str, str]]:
    records = exported(graph, branch)
    nodes = {each["data"]["id"]: str(each["data"]["age"]) for each in records if "type" in each}
    edges = {each["data"]["id"]: str(each["data"]["year"]) for each in records if "edge" in each}
    del nodes["hub"]
    return nodes, edges


def ours_for_inserts(conflict: Any) -> str:
    return "ours" if conflict.kind == "divergent_insert" else "theirs"


STRATEGIES: dict[str, tuple[Any, Callable[[str], int]]] = {
    # Which place of a cell is taken where both sides changed it.
    "ours": ("ours", lambda cell: 2),
    "theirs": ("theirs", lambda cell: 1),
    "one by one": (ours_for_inserts, lambda cell: 2 if CONFLICTS[cell] == "divergent_insert" else 1),
}


@pytest.fixture(params=[overwrite, change_row_by_row], ids=["overwritten", "row by row"])
def changed(request: pytest.FixtureRequest, graph: og.Graph) -> Callable[[str], None]:
    """Makes the base, and both branches from it, whichever of them is the target."""

    def change(into: str) -> None:
        graph.load(list(records_of(0)), "append")
        graph.branches.create("feature")
        request.param(graph, SIDES[into], 1)
        request.param(graph, into, 2)

    return change


@pytest.mark.parametrize("into", SIDES)
def test_rows_that_both_sides_changed_differently_are_all_told(
    graph: og.Graph, changed: Callable[[str], None], into: str
):
    changed(into)
    before = head(graph, into), exported(graph, into)
    with pytest.raises(MergeConflictError) as raised:
        graph.branches.merge(SIDES[into], into)
    found = {(each.entity, each.type, each.id): each for each in raised.value.conflicts}
    assert len(found) == len(raised.value.conflicts)
    names = {"node": ("Person", "age"), "edge": ("Knows", "year")}
    assert {key: str(each.kind) for key, each in found.items()} == {
        (entity, type_, cell): kind for cell, kind in CONFLICTS.items() for entity, (type_, _) in names.items()
    }
    for (entity, _, cell), conflict in found.items():
        rows = [conflict.base, conflict.source, conflict.target]
        shown = ["-" if row is None else str(row[names[entity][1]]) for row in rows]
        assert "".join(shown) == cell
    assert (head(graph, into), exported(graph, into)) == before


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("into", SIDES)
def test_every_row_becomes_what_the_table_says(
    graph: og.Graph, changed: Callable[[str], None], into: str, strategy: str
):
    changed(into)
    decide, place_of = STRATEGIES[strategy]
    assert graph.branches.merge(SIDES[into], into, strategy=decide).outcome == "merged"
    after = {cell: cell[place_of(cell)] if cell in CONFLICTS else result for cell, result in ROW_TABLE.items()}
    expected = {cell: value for cell, value in after.items() if value != "-"}
    assert values_of(graph, into) == (expected, expected)


def test_a_strategy_that_says_neither_is_refused_and_nothing_happens(graph: og.Graph, changed: Callable[[str], None]):
    changed("main")
    before = head(graph, "main")
    with pytest.raises((ValueError, TypeError)):
        graph.branches.merge("feature", strategy=lambda _: "both")
    with pytest.raises((ValueError, TypeError)):
        graph.branches.merge("feature", strategy="both")
    assert head(graph, "main") == before


@pytest.mark.parametrize("into", SIDES)
def test_a_dry_run_tells_the_changes_or_the_conflicts_and_does_nothing(
    graph: og.Graph, changed: Callable[[str], None], into: str
):
    changed(into)
    before = head(graph, into), exported(graph, into)
    told = graph.branches.merge(SIDES[into], into, dry_run=True)
    assert {each.id for each in told.conflicts} == set(CONFLICTS)
    decided = graph.branches.merge(SIDES[into], into, dry_run=True, strategy="theirs")
    assert (decided.outcome, tuple(decided.conflicts)) == ("merged", ())
    assert (head(graph, into), exported(graph, into)) == before
    wanted = {
        (entity, cell, "insert" if cell[2] == "-" else "delete" if result == "-" else "update")
        for cell, result in {cell: cell[1] if cell in CONFLICTS else each for cell, each in ROW_TABLE.items()}.items()
        for entity in ("node", "edge")
        if result != cell[2]
    }
    assert {(each["entity"], each["id"], each["op"]) for each in decided.changes.to_pylist()} == wanted
