"""Random mutations and loads, one after the other: a real graph and the model affect, refuse and hold the same.

Two handles take turns, so that each is often out of date. What the engine does depends on how many rows there are, so
it is tried in three ways: columns are kept in memory, or read each time while tails are folded, or rows count as many.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.errors import ConstraintError, InvalidInputError
from omnigraph.history.commits import CommitKind
from omnigraph.testing.graph_contract.clauses import SCHEMA, SEED
from omnigraph.testing.invariants import assert_graph_is_whole
from omnigraph.testing.model import ModelGraph, ModelRefusalError, content_of_export
from omnigraph.testing.mutation_model import Statement, mutate
from omnigraph.testing.mutation_strategies import MutationWorld, make_load, make_mutation, rich_world
from omnigraph.testing.mutation_text import spell_mutation
from omnigraph.write import fold_policy
from omnigraph.write.validation.changes import validate_changes
from omnigraph.write.validation.sets import Limits

EXAMPLES = int(os.environ.get("OMNIGRAPH_MODEL_EXAMPLES", "8"))
STEPS = 8
WORLDS = {"contract": MutationWorld.of(SCHEMA, SEED), "rich": rich_world()}
WAYS = ("kept", "folded", "many")

REFUSED = "refused"


@pytest.fixture(params=WAYS)
def open_graph(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], og.Graph]:
    """Opens handles of a graph that go about rows in one of the ways."""
    if request.param == "folded":
        monkeypatch.setattr(fold_policy, "TAIL_PARTS", 3)
        monkeypatch.setattr(fold_policy, "_ASK_AGAIN", 1)
    if request.param == "many":
        limits = Limits(lookup_keys=0, memory_rows=0, build_rows=3, hash_rows=4)
        monkeypatch.setitem(validate_changes.__kwdefaults__, "limits", limits)

    def make(uri: str) -> og.Graph:
        graph = og.open(uri)
        if request.param != "kept":
            graph._repository.warm.max_rows = 0
        return graph

    return make


@pytest.mark.parametrize("name", WORLDS)
def test_a_graph_agrees_with_the_model_after_every_step(name: str, open_graph: Callable[[str], og.Graph]):
    world = WORLDS[name]

    @settings(max_examples=EXAMPLES)
    @given(st.randoms(use_true_random=False), st.integers(1, STEPS))
    def run(random: Random, steps: int) -> None:
        model = ModelGraph(world.catalog)
        uri = f"memory://mutations-{secrets.token_hex(8)}/g"
        og.init(uri, schema=world.schema).close()
        with open_graph(uri) as one, open_graph(uri) as other:
            load_both(one, model, world.start, "append")
            for _ in range(steps):
                graph = random.choice((one, other))
                if random.random() < 0.8:
                    mutate_both(graph, model, make_mutation(random, world), seed=random.randint(0, 2**20))
                else:
                    mode, records = make_load(random, world)
                    load_both(graph, model, records, mode)
                assert content_of_export(graph.export(), model) == model.content()
        with og.open(uri) as graph:
            assert content_of_export(graph.export(), model) == model.content()
            assert_graph_is_whole(graph)

    run()


def load_both(graph: og.Graph, model: ModelGraph, records: Any, mode: Any) -> None:
    before = newest_change(graph)
    expected, found = outcome_of(lambda: model.load(records, mode)), outcome_of(lambda: graph.load(records, mode))
    assert (expected == REFUSED) == (found == REFUSED), f"{mode} {records}: {expected}, {found}"
    assert (newest_change(graph) == before) == (found == REFUSED)


def mutate_both(graph: og.Graph, model: ModelGraph, statements: tuple[Statement, ...], *, seed: int) -> None:
    before = newest_change(graph)
    source, params = spell_mutation(model.catalog, statements, seed=seed)
    told = f"{source}{params}\nof {statements}"
    expected = outcome_of(lambda: mutate(model, statements))
    found = outcome_of(lambda: graph.mutate(source, params=params))
    if found == REFUSED or expected == REFUSED:
        assert found == expected, told
        assert newest_change(graph) == before, told
        return
    assert (found.affected_nodes, found.affected_edges) == expected, told
    assert (found.commit is None) == (expected == (0, 0)), told
    assert newest_change(graph) == (before if found.commit is None else found.commit.id), told


def newest_change(graph: og.Graph) -> str:
    """The newest commit that is not maintenance, which may come at any time."""
    return next(each.id for each in graph.commits.list() if each.kind is not CommitKind.MAINTENANCE)


def outcome_of(call: Any) -> Any:
    """What a call gives, or that it was refused."""
    try:
        return call()
    except (ModelRefusalError, ConstraintError, InvalidInputError):
        return REFUSED
