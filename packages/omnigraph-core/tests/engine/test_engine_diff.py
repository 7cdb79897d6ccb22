"""The diff of two snapshots: which changes, in which order, in which form, and that what is equal is not looked at."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from people_world import knows, people_graph, person
from stored_world import StoredWorld

import omnigraph as og
from omnigraph.engine.change_filter import ChangeFilter
from omnigraph.engine.diff import ARROW_SCHEMA, Change, Diff
from omnigraph.errors import ClosedError, InvalidInputError, NotFoundError
from omnigraph.history.schemas import GraphSchema
from omnigraph.history.snapshot import Snapshot
from omnigraph.lang.diagnostics import Report
from omnigraph.lang.source import SourceText
from omnigraph.schema import compile_schema
from omnigraph.schema.identity import resolve_identities
from omnigraph.tables.counting import count_table_calls


@pytest.fixture
def graph() -> og.Graph:
    """Two commits: people who know each other, then one of everything that can happen."""
    made = people_graph()
    made.mutate('query q() { update Person set { age: 41 } where name = "ann" }')
    made.mutate('query q() { delete Person where name = "dee" }')
    made.load([person("eve", 5), knows("eve", "ann")], "append")
    return made


def states(graph: og.Graph) -> list[Snapshot]:
    """Every state, the oldest first."""
    return [graph.snapshot(at=each.id) for each in reversed(graph.commits.list())]


def diff(graph: og.Graph, before: int = 1, after: int = -1, **words: Sequence[str]) -> Diff:
    found = states(graph)
    return Diff(found[before], found[after], graph._repository.tables, ChangeFilter.of(**words))


def shown(changes: Diff) -> list[tuple[str, str, str]]:
    """Op, type and id; of an edge its ends, for its id is made up."""
    return [
        (each.op, each.type, each.id if each.entity == "node" else f"{each.from_id} {each.to_id}") for each in changes
    ]


def test_every_change_is_told_nodes_first_and_by_id(graph: og.Graph) -> None:
    found = [*diff(graph)]
    nodes, edges = found[:3], found[3:]
    assert nodes == [
        Change(
            entity="node",
            type="Person",
            id="ann",
            op="update",
            before={"age": 40, "bio": "ann likes tea", "name": "ann"},
            after={"age": 41, "bio": "ann likes tea", "name": "ann"},
        ),
        Change(
            entity="node",
            type="Person",
            id="dee",
            op="delete",
            before={"age": 18, "bio": "dee likes tea", "name": "dee"},
            after=None,
        ),
        Change(
            entity="node",
            type="Person",
            id="eve",
            op="insert",
            before=None,
            after={"age": 5, "bio": "eve likes tea", "name": "eve"},
        ),
    ]
    assert {(each.op, each.from_id, each.to_id) for each in edges} == {
        ("delete", "bo", "dee"),
        ("insert", "eve", "ann"),
    }
    assert [each.id for each in edges] == sorted(each.id for each in edges)
    assert {each.op: (each.before, each.after) for each in edges} == {
        "delete": ({"since": None}, None),
        "insert": (None, {"since": None}),
    }


def test_the_way_back_is_the_same_diff_with_the_sides_changed(graph: og.Graph) -> None:
    mirrored = {"insert": "delete", "update": "update", "delete": "insert"}
    there, back = [*diff(graph)], [*diff(graph, -1, 1)]
    assert [(mirrored[each.op], each.id, each.after, each.before) for each in there] == [
        (each.op, each.id, each.before, each.after) for each in back
    ]


def test_a_state_does_not_differ_from_itself(graph: og.Graph) -> None:
    for number in range(len(states(graph))):
        assert [*diff(graph, number, number)] == []


def test_a_diff_is_read_anew_each_time(graph: og.Graph) -> None:
    found = diff(graph)
    assert [*found] == [*found]
    assert len([*found]) == 5


def test_the_first_state_of_a_graph_has_nothing(graph: og.Graph) -> None:
    assert {each.op for each in diff(graph, 0, 1)} == {"insert"}
    assert diff(graph, 0, 1).summary().inserts == 7


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"kinds": ["node"]}, ["delete dee", "insert eve", "update ann"]),
        ({"kinds": ["edge"]}, ["delete bo dee", "insert eve ann"]),
        ({"kinds": ["edge", "node"], "ops": ["insert"]}, ["insert eve", "insert eve ann"]),
        ({"types": ["Person"]}, ["delete dee", "insert eve", "update ann"]),
        ({"types": ["edge:Knows"], "ops": ["delete", "update"]}, ["delete bo dee"]),
        ({"types": ["Knows"], "kinds": ["node"]}, []),
        ({"ops": ["update"]}, ["update ann"]),
        ({"ops": []}, []),
        ({"types": []}, []),
        ({"kinds": []}, []),
    ],
    ids=str,
)
def test_a_filter_shows_what_it_asks_for(graph: og.Graph, words: dict[str, list[str]], expected: list[str]) -> None:
    found = diff(graph, **words)
    assert sorted(f"{op} {name}" for op, _, name in shown(found)) == expected
    summary = found.summary()
    assert summary.inserts + summary.updates + summary.deletes == len(expected)


@pytest.mark.parametrize(
    ("words", "error", "message", "move"),
    [
        ({"kinds": ["nodes"]}, InvalidInputError, '"nodes" is none of the kinds', '"node", "edge"'),
        ({"ops": ["added"]}, InvalidInputError, '"added" is none of the ops', '"insert", "update", "delete"'),
        ({"ops": "insert"}, InvalidInputError, "'insert' is no list of ops", "Write a list"),
        ({"kinds": [1]}, InvalidInputError, r"\[1\] is no list of kinds", "Write a list"),
        ({"types": "Person"}, InvalidInputError, "'Person' is no list of type names", "Write a list"),
        ({"types": ["Persn"]}, NotFoundError, 'no type "Persn". Did you mean "Person"', "Person"),
    ],
    ids=str,
)
def test_a_filter_that_means_nothing_is_refused_with_what_would(
    graph: og.Graph, words: dict[str, Any], error: type[Exception], message: str, move: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        diff(graph, **words)
    assert move in caught.value.help


def test_filters_of_the_same_words_are_equal() -> None:
    one = ChangeFilter.of(kinds=["edge", "node", "edge"], types=["b", "a", "b"], ops=["delete", "insert"])
    assert one == ChangeFilter.of(kinds=["node", "edge"], types=["a", "b"], ops=["insert", "delete"])
    assert one.to_dict() == {"kinds": ["node", "edge"], "types": ["a", "b"], "ops": ["insert", "delete"]}
    assert ChangeFilter().to_dict() == {"kinds": None, "types": None, "ops": None}


# ── forms ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_diff_says_what_it_is_between_and_how_much_it_is(graph: og.Graph) -> None:
    found = diff(graph, ops=["insert", "update", "delete"])
    newest, *_, loaded, _ = graph.commits.list()
    assert (found.from_commit, found.to_commit) == (loaded, newest)
    assert repr(found) == f"<Diff from commit {loaded.id} to {newest.id}>"
    facts = found.to_dict()
    assert json.loads(json.dumps(facts)) == facts
    assert (
        facts["summary"]
        == found.summary().to_dict()
        == {
            "inserts": 2,
            "updates": 1,
            "deletes": 2,
            "types_affected": ["edge:Knows", "node:Person"],
        }
    )
    assert (facts["from_commit"], facts["to_commit"]) == (loaded.to_dict(), newest.to_dict())
    assert facts["filter"] == {"kinds": None, "types": None, "ops": ["insert", "update", "delete"]}
    assert facts["changes"] == [each.to_dict() for each in found]
    assert list(facts["changes"][0]) == ["entity", "type", "id", "op", "before", "after", "from_id", "to_id"]


def test_a_table_of_the_changes_has_the_same_in_json(graph: og.Graph) -> None:
    table = diff(graph).to_arrow()
    assert table.schema == ARROW_SCHEMA
    rows = [
        {
            name: json.loads(cell) if name in ("before", "after") and cell is not None else cell
            for name, cell in row.items()
        }
        for row in table.to_pylist()
    ]
    assert rows == [{name: change[name] for name in table.column_names} for change in diff(graph).to_dict()["changes"]]
    assert diff(graph, 1, 1).to_arrow().schema == ARROW_SCHEMA


def test_values_have_the_json_form_of_results() -> None:
    world = StoredWorld(
        "node N { key: String @key  blob: Blob?  day: Date?  floats: [F64]?  vector: Vector(2)? }\nedge E: N -> N",
        {"edge:E": [{"id": "e", "src": "a", "dst": "b"}]},
    )
    before = world.snapshot()
    row = {"id": "a", "key": "a", "blob": b"\x00", "day": 1, "floats": [float("inf"), None], "vector": [0.5, -0.0]}
    world.append("node:N", [row])
    world.merge("edge:E", [{"id": "e", "src": "b", "dst": "b"}])
    found = Diff(before, world.snapshot(), world.tables)
    added, moved = found
    assert added.after == {
        "blob": "base64:AA==",
        "day": "1970-01-02",
        "floats": ["Infinity", None],
        "key": "a",
        "vector": [0.5, -0.0],
    }
    # A type without properties has empty images, and an edge shows the ends that it has now.
    assert (moved.op, moved.before, moved.after) == ("update", {}, {})
    assert (moved.from_id, moved.to_id) == ("b", "b")
    texts = found.to_arrow()["after"].to_pylist()
    assert [json.loads(each) for each in texts] == [added.after, moved.after]


# ── types ────────────────────────────────────────────────────────────────────────────────────────────────────────────


FIRST = "node Person { name: String @key }\nnode Gone { name: String @key }\nnode Again { name: String @key }"


def evolved(world: StoredWorld, source: str) -> None:
    """Give a world another schema: what is of the same identity keeps its table, the rest begins empty."""
    ir = resolve_identities(compile_schema(source), world.schema.ir, Report(SourceText.of(source, "<schema>")))
    schema = GraphSchema.of(source, ir)
    tables = {world.schema.tables[key].identity: handle for key, handle in world.handles.items()}
    world.schema = schema
    world.handles = {
        key: tables.get(target.identity)
        or world.tables.commit_create(world.tables.stage_create(target.location, target.schema))
        for key, target in schema.tables.items()
    }


def named(*ids: str) -> list[dict[str, str]]:
    return [{"id": each, "name": each} for each in ids]


@pytest.fixture
def evolution() -> tuple[StoredWorld, Snapshot]:
    """Person becomes Human, Gone goes, New comes, and Again goes and comes as another type."""
    world = StoredWorld(FIRST, {key: named("a", "b") for key in ("node:Person", "node:Gone", "node:Again")})
    before = world.snapshot()
    evolved(world, 'node Human @rename_from("Person") { name: String @key }')
    evolved(world, "node Human { name: String @key }\nnode New { name: String @key }\nnode Again { name: String @key }")
    world.append("node:Again", named("c"))
    world.append("node:New", named("d"))
    return world, before


def test_a_type_on_one_side_only_is_all_inserts_or_all_deletes(evolution: tuple[StoredWorld, Snapshot]) -> None:
    world, before = evolution
    found = shown(Diff(before, world.snapshot(), world.tables))
    assert sorted(found) == [
        ("delete", "Again", "a"),
        ("delete", "Again", "b"),
        ("delete", "Gone", "a"),
        ("delete", "Gone", "b"),
        ("insert", "Again", "c"),
        ("insert", "New", "d"),
    ]
    back = shown(Diff(world.snapshot(), before, world.tables))
    assert {("insert", "Gone", "a"), ("delete", "New", "d"), ("delete", "Again", "c")} <= {*back}


def test_a_rename_is_no_change_and_either_name_finds_the_type(evolution: tuple[StoredWorld, Snapshot]) -> None:
    world, before = evolution
    for name in ("Person", "Human"):
        assert [*Diff(before, world.snapshot(), world.tables, ChangeFilter.of(types=[name]))] == []
    world.append("node:Human", named("h"))
    for name in ("Person", "Human"):
        found = Diff(before, world.snapshot(), world.tables, ChangeFilter.of(types=[name]))
        assert shown(found) == [("insert", "Human", "h")]


def test_a_name_that_was_used_twice_shows_both_types(evolution: tuple[StoredWorld, Snapshot]) -> None:
    world, before = evolution
    found = shown(Diff(before, world.snapshot(), world.tables, ChangeFilter.of(types=["Again"])))
    assert found == [("delete", "Again", "a"), ("delete", "Again", "b"), ("insert", "Again", "c")]


def test_types_come_by_their_stable_number() -> None:
    world = StoredWorld("node B { name: String @key }\nedge A: B -> B\nnode Z { name: String @key }")
    evolved(world, world.schema.source + "\nnode A { name: String @key }")
    before = world.snapshot()
    for key in ("node:A", "node:B", "node:Z"):
        world.append(key, named("x"))
    world.append("edge:A", [{"id": "e", "src": "x", "dst": "x"}])
    found = [(each.entity, each.type) for each in Diff(before, world.snapshot(), world.tables)]
    assert found == [("node", "B"), ("node", "Z"), ("node", "A"), ("edge", "A")]


# ── cost and the close ───────────────────────────────────────────────────────────────────────────────────────────────


def test_types_that_did_not_change_are_not_opened(graph: og.Graph) -> None:
    fresh = og.open(graph.uri)
    changed, same = diff(fresh, 1, 2), diff(fresh, 2, 2)
    with count_table_calls() as counts:
        assert shown(changed) == [("update", "Person", "ann")]
    # Both versions of Person: which rows of the older part are left, the row as it was and the row as it is.
    assert counts == {"open": 2, "read_deleted": 1, "read": 1, "take": 1}
    with count_table_calls() as counts:
        assert [*same] == []
    assert counts == {}


def test_after_a_close_no_change_comes(graph: og.Graph) -> None:
    before, *_, after = states(graph)
    found = Diff(before, after, graph._repository.tables, lifetime=graph._lifetime)
    changes = iter(found)
    next(changes)
    graph.close()
    with pytest.raises(ClosedError):
        next(changes)
    for ask in (found.summary, found.to_arrow, found.to_dict):
        with pytest.raises(ClosedError):
            ask()
    # What was told stays.
    assert found.from_commit == before.commit
