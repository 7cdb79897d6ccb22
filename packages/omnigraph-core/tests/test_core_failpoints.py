"""The registry of failpoints: nothing happens at one that is not armed, and only there are names known."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import omnigraph
from omnigraph import failpoints
from omnigraph.failpoints import FAILPOINTS, PUBLISH_ACKNOWLEDGED, PUBLISH_BEFORE_COMMIT, arm, disarm, reach
from omnigraph.testing.faults import recorded


def test_a_failpoint_that_is_not_armed_does_nothing():
    for name in FAILPOINTS:
        reach(name)


def test_an_armed_failpoint_calls_its_action_with_its_name_until_it_is_disarmed():
    called: list[str] = []
    arm(PUBLISH_BEFORE_COMMIT, called.append)
    try:
        reach(PUBLISH_BEFORE_COMMIT)
        reach(PUBLISH_ACKNOWLEDGED)
        reach(PUBLISH_BEFORE_COMMIT)
    finally:
        disarm(PUBLISH_BEFORE_COMMIT)
    reach(PUBLISH_BEFORE_COMMIT)
    assert called == ["publish.before_commit", "publish.before_commit"]


def test_disarming_what_is_not_armed_is_no_mistake():
    disarm(PUBLISH_BEFORE_COMMIT)


def test_a_name_that_is_not_registered_cannot_be_armed_and_the_refusal_lists_those_there_are():
    with pytest.raises(ValueError, match=r"'publish\.before_comit'.*publish\.before_commit"):
        arm("publish.before_comit", print)


def test_every_constant_holds_its_own_name():
    constants = {name: value for name, value in vars(failpoints).items() if isinstance(value, str) and name.isupper()}
    assert constants == {name.replace(".", "_").upper(): name for name in FAILPOINTS}


def test_names_are_a_step_and_a_place_and_every_place_is_described():
    for name, where in FAILPOINTS.items():
        assert re.fullmatch(r"[a-z_]+\.[a-z_]+", name)
        assert where.strip()


def test_an_init_a_load_a_mutation_and_a_branch_reach_every_failpoint_in_the_order_of_the_registry():
    by_verb: dict[str, list[str]] = {}
    with recorded() as reached, omnigraph.init("memory://failpoints/g", schema="node Person { name: String }") as graph:
        by_verb["init"] = reached.copy()
        reached.clear()
        graph.load([{"type": "Person", "data": {"name": "ann"}}], "append")
        by_verb["load"] = reached.copy()
        reached.clear()
        graph.mutate('query forget() { delete Person where name = "bob" }')
        graph.mutate('query forget() { delete Person where name = "ann" }')
        by_verb["mutate"] = reached.copy()
        reached.clear()
        graph.branches.create("dev")
        graph.branches.delete("dev")
        by_verb["branch"] = reached.copy()
        reached.clear()
        graph.load([{"type": "Person", "data": {"name": "bo"}}], "append", branch="late", base="main")
        by_verb["first write"] = reached.copy()
        reached.clear()
        graph.branches.merge("late")
        by_verb["merge"] = reached.copy()
    registry = [name for name in FAILPOINTS if not name.startswith(("recovery.", "copy.", "relocate."))]
    # Those of recovery are reached where something was cut off, those of copies and repairs by these verbs, three where
    # a race is lost, two by maintenance.
    by_verb = {verb: [name for name in names if name in registry] for verb, names in by_verb.items()}
    found = {name for names in by_verb.values() for name in names}
    elsewhere = {
        failpoints.PUBLISH_LOAD_STATE_RETRYABLE_CONTENTION,
        failpoints.REFUSAL_PRE_PUT_BACK,
        failpoints.REFUSAL_POST_PUT_BACK,
        failpoints.ENSURE_INDICES_POST_STAGE_PRE_COMMIT_BTREE,
        failpoints.FOLD_STAGED,
    }
    assert found == {*registry} - elsewhere
    for names in (by_verb["init"], by_verb["load"], by_verb["branch"], by_verb["merge"]):
        order = [registry.index(name) for name in dict.fromkeys(names)]
        assert order == sorted(order)
    # The first of the two found nothing.
    found_nothing = by_verb["mutate"].index("mutation.post_no_effect_pre_gate")
    order = [registry.index(name) for name in dict.fromkeys(by_verb["mutate"][found_nothing + 1 :])]
    assert order == sorted(order)


def test_what_a_user_imports_brings_no_action_and_reads_no_variable():
    """Armed by the variable alone, a failpoint of a user's process stays silent."""
    code = (
        "import sys, omnigraph, omnigraph.failpoints as f; "
        "[f.reach(name) for name in f.FAILPOINTS]; "
        "assert not any(name.startswith('omnigraph.testing') for name in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={"OMNIGRAPH_FAILPOINTS": "publish.before_commit=kill"}, check=False
    )
    assert done.returncode == 0
