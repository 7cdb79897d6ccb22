"""One entity at one moment: its values, or the news that there is none."""

from __future__ import annotations

from typing import Any

import pytest
from people_world import people_graph
from stored_world import StoredWorld

import omnigraph as og
from omnigraph.engine.entity_at import entity_at
from omnigraph.errors import InvalidInputError, NotFoundError


@pytest.fixture
def graph() -> og.Graph:
    return people_graph()


def test_an_entity_is_shown_as_it_was_at_each_state(graph: og.Graph) -> None:
    graph.mutate('query q() { update Person set { age: 41 } where name = "ann" }')
    graph.mutate('query q() { delete Person where name = "ann" }')
    states = [graph.snapshot(at=each.id) for each in reversed(graph.commits.list())]
    assert [entity_at(each, graph._repository.tables, "node:Person", "ann") for each in states] == [
        None,
        {"id": "ann", "age": 40, "bio": "ann likes tea", "name": "ann"},
        {"id": "ann", "age": 41, "bio": "ann likes tea", "name": "ann"},
        None,
    ]


def test_an_edge_has_its_ends() -> None:
    world = StoredWorld(
        "node N { name: String @key  picture: Blob? }\nedge E: N -> N { since: Date? }",
        {
            "edge:E": [{"id": "e", "src": "a", "dst": "b", "since": 1}],
            "node:N": [{"id": "", "name": "", "picture": b"x"}],
        },
    )
    seen = world.snapshot()
    assert entity_at(seen, world.tables, "E", "e") == {"id": "e", "from": "a", "to": "b", "since": "1970-01-02"}
    assert entity_at(seen, world.tables, "N", "") == {"id": "", "name": "", "picture": "base64:eA=="}


@pytest.mark.parametrize("key", [None, 7, b"ann", "\ud800"])
def test_what_is_no_id_is_refused(graph: og.Graph, key: Any) -> None:
    with pytest.raises(InvalidInputError, match="is no id of a node"):
        entity_at(graph.snapshot(), graph._repository.tables, "Person", key)


def test_an_entity_of_no_type_is_refused(graph: og.Graph) -> None:
    with pytest.raises(NotFoundError, match='no type "Cat"'):
        entity_at(graph.snapshot(), graph._repository.tables, "Cat", "ann")
