"""Mutations on which a graph once differed from the model, each in its smallest form."""

from __future__ import annotations

import secrets

import omnigraph as og


def test_a_delete_that_finds_nothing_may_come_before_one_of_the_same_type_that_does():
    place = f"memory://found-{secrets.token_hex(8)}/g"
    with og.init(place, schema="node Person { name: String @key  age: I32? }") as graph:
        graph.load([{"type": "Person", "data": {"name": name}} for name in ("ann", "bo")], "append")
    with og.open(place) as graph:
        result = graph.mutate('query q() { delete Person where age = 1  delete Person where name = "ann" }')
        assert (result.affected_nodes, len(graph.table("Person"))) == (1, 1)
