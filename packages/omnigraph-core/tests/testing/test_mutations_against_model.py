"""Random mutations and loads, one after the other: a real graph and the model affect, refuse and hold the same."""

from __future__ import annotations

import os
import secrets
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.errors import ConstraintError, InvalidInputError
from omnigraph.testing.graph_contract.clauses import SCHEMA, SEED
from omnigraph.testing.invariants import assert_graph_is_whole
from omnigraph.testing.model import ModelGraph, ModelRefusalError, content_of_export
from omnigraph.testing.mutation_model import Statement, mutate
from omnigraph.testing.mutation_strategies import MutationWorld, make_load, make_mutation, rich_world
from omnigraph.testing.mutation_text import spell_mutation

EXAMPLES = int(os.environ.get("OMNIGRAPH_MODEL_EXAMPLES", "15"))
STEPS = 8
WORLDS = {"contract": MutationWorld.of(SCHEMA, SEED), "rich": rich_world()}

REFUSED = "refused"


@pytest.mark.parametrize("name", WORLDS)
def test_a_graph_agrees_with_the_model_after_every_step(name: str):
    world = WORLDS[name]

    @settings(max_examples=EXAMPLES)
    @given(st.randoms(use_true_random=False), st.integers(1, STEPS))
    def run(random: Random, steps: int) -> None:
        model = ModelGraph(world.catalog)
        with og.init(f"memory://mutations-{secrets.token_hex(8)}/g", schema=world.schema) as graph:
            load_both(graph, model, world.start, "append")
            for _ in range(steps):
                if random.random() < 0.8:
                    mutate_both(graph, model, make_mutation(random, world), seed=random.randint(0, 2**20))
                else:
                    mode, records = make_load(random, world)
                    load_both(graph, model, records, mode)
                assert content_of_export(graph.export(), model) == model.content()
            assert_graph_is_whole(graph)

    run()


def load_both(graph: og.Graph, model: ModelGraph, records: Any, mode: Any) -> None:
    before = graph.snapshot().commit.id
    expected, found = outcome_of(lambda: model.load(records, mode)), outcome_of(lambda: graph.load(records, mode))
    assert (expected == REFUSED) == (found == REFUSED), f"{mode} {records}: {expected}, {found}"
    assert (graph.snapshot().commit.id == before) == (found == REFUSED)


def mutate_both(graph: og.Graph, model: ModelGraph, statements: tuple[Statement, ...], *, seed: int) -> None:
    before = graph.snapshot().commit.id
    source, params = spell_mutation(model.catalog, statements, seed=seed)
    told = f"{source}{params}\nof {statements}"
    expected = outcome_of(lambda: mutate(model, statements))
    found = outcome_of(lambda: graph.mutate(source, params=params))
    if found == REFUSED or expected == REFUSED:
        assert found == expected, told
        assert graph.snapshot().commit.id == before, told
        return
    assert (found.affected_nodes, found.affected_edges) == expected, told
    assert (found.commit is None) == (expected == (0, 0)), told
    assert graph.snapshot().commit.id == (before if found.commit is None else found.commit.id), told


def outcome_of(call: Any) -> Any:
    """What a call gives, or that it was refused."""
    try:
        return call()
    except (ModelRefusalError, ConstraintError, InvalidInputError):
        return REFUSED
