"""Random histories with branches: a real graph and the model refuse, merge, conflict and hold the same at every step.

Loads, mutations and maintenance on several branches, branches from heads and from old commits, names that are deleted
and used again, merges with every strategy; at the end every commit that is still reached is read again, and compared
with others. What the engine does depends on how many rows there are, so columns are kept in memory in one history and
read each time in the next.
"""

from __future__ import annotations

import os
from contextlib import closing
from random import Random

import pytest
from branch_trial import BranchTrial

from omnigraph.testing.branch_strategies import branch_world, make_step
from omnigraph.testing.mutation_strategies import rich_world
from omnigraph.write import fold_policy

EXAMPLES = int(os.environ.get("OMNIGRAPH_MODEL_EXAMPLES", "8"))
SEED = int(os.environ.get("OMNIGRAPH_MODEL_SEED", "1"))
STEPS = 16
WORLDS = {"branches": branch_world(), "rich": rich_world()}


@pytest.fixture(autouse=True)
def few_parts_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is folded in the background, so that both have the same commits; a step that folds finds enough to do."""
    monkeypatch.setenv("OMNIGRAPH_TAIL_MAINTENANCE", "off")
    monkeypatch.setattr(fold_policy, "TAIL_PARTS", 3)
    monkeypatch.setattr(fold_policy, "_ASK_AGAIN", 1)


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("number", range(EXAMPLES))
def test_a_graph_with_branches_agrees_with_the_model_after_every_step(
    number: int, name: str, request: pytest.FixtureRequest
):
    random = Random(f"{SEED} {name} {number}")
    origin = f"OMNIGRAPH_MODEL_SEED={SEED} OMNIGRAPH_MODEL_EXAMPLES={EXAMPLES} pytest '{request.node.nodeid}'"
    with closing(BranchTrial(origin, WORLDS[name], random)) as trial:
        if number % 2:
            for handle in trial.handles:
                handle._repository.warm.max_rows = 0
        for _ in range(STEPS):
            trial.take(make_step(random, trial.world, trial.model))
        trial.look_back()
