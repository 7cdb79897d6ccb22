"""Several writers died before anybody came, or others published before one did: what holds is finished, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack

import pytest
from recovery_matrix import EXPECTED, POINTS, Outcome, Point, Stage
from recovery_world import World, check_nothing_is_left, rival_records, write_until
from recovery_writes import CATALOG, WRITES, Write, news

from omnigraph.failpoints import PUBLISH_BEFORE_COMMIT, PUBLISH_LOAD_STATE_RETRYABLE_CONTENTION
from omnigraph.testing.faults import DiedError, DyingAdapter, armed
from omnigraph.testing.graph_contract.faults import opened_through
from omnigraph.testing.invariants import assert_graph_is_whole
from omnigraph.testing.mutation_model import DeleteNodes, Where, mutate
from omnigraph.testing.mutation_text import spell_mutation

REPEATABLE = [WRITES[name] for name in ("load_append", "mutate_insert", "bulk_publish")]
"""Writes that need nothing but themselves."""

POINTS_OF_EACH = [each for each in POINTS if each.failpoint.startswith(("publish.", "recovery."))]


def pile_up(world: World, deaths: list[tuple[Write, Point]]) -> Counter[Outcome]:
    """Let writers die one after the other, all of whom had opened the graph before the first died.

    What is complete is finished by the survivor, which opened it before, too; the rest lies there.
    """
    outcomes: Counter[Outcome] = Counter()
    world.begin(WRITES["load_merge"])
    with ExitStack() as stack:
        handles = [stack.enter_context(opened_through(DyingAdapter, world.place)) for _ in deaths]
        for (write, point), (graph, adapter) in zip(deaths, handles, strict=True):
            world.number += 1
            world.survivor.refresh()
            with pytest.raises(DiedError):
                write_until(graph, world.place, write, world.number, point, adapter.die, rival=world.survivor)
            expected = EXPECTED[point.stage]
            outcomes[expected.opening] += 1
            if point.rival:
                world.model.load(rival_records(point, world.number), "merge")
                world.commits += 1
            if expected.is_made:
                write.apply(world.model, world.number)
                world.commits += 1
    return outcomes


def check_pile(world: World, outcomes: Counter[Outcome]) -> None:
    with world.place.open() as graph:
        world.check_rows(graph)
        check_nothing_is_left(graph)
        told = world.told(graph)
        assert len({each.operation_id for each in told}) == len(told)
        assert Counter(str(each.kind) for each in told) == {
            str(outcome): count for outcome, count in outcomes.items() if outcome is not Outcome.NOTHING
        }
        assert_graph_is_whole(graph)
    world.begin(WRITES["load_merge"])
    world.check_rows(world.survivor)
    world.is_in_use = False


@pytest.mark.parametrize("first", range(len(REPEATABLE)), ids=lambda first: REPEATABLE[first].name)
def test_what_writers_left_one_after_the_other_is_settled_at_once(world: World, first: int):
    deaths = [(REPEATABLE[(first + number) % len(REPEATABLE)], point) for number, point in enumerate(POINTS_OF_EACH)]
    check_pile(world, pile_up(world, deaths))


@pytest.mark.parametrize("stage", [Stage.INCOMPLETE, Stage.OVERTAKEN])
def test_tables_that_several_dead_writers_moved_are_put_right_by_the_last(local_world: World, stage: Stage):
    """As long as another sidecar names a table, that one's recovery is to look at it."""
    world = local_world
    (*_, point) = [each for each in POINTS if each.stage is stage and not each.is_of_refusal]
    outcomes = pile_up(world, [(write, point) for write in REPEATABLE * 2])
    assert outcomes == {Outcome.ROLLED_BACK: 6}
    assert len(world.sidecars()) == 6
    check_pile(world, outcomes)


def test_two_complete_writes_of_one_state_cannot_both_be_finished(world: World):
    """Both relied on the same versions: the older one goes forward, the younger one is taken back."""
    world.begin(WRITES["load_merge"])
    (point,) = [each for each in POINTS if each.name == "publish.before_commit"]
    write = WRITES["load_append"]
    with ExitStack() as stack:
        handles = [stack.enter_context(opened_through(DyingAdapter, world.place)) for _ in range(2)]
        sidecars = {}
        adapter = world.survivor._repository.adapter
        for number, (graph, dying) in enumerate(handles, 10):
            with pytest.raises(DiedError):
                write_until(graph, world.place, write, number, point, dying.die)
            # Out of sight, so that the other one does not finish it.
            (key,) = adapter.list_dir(adapter.key("__recovery"))
            sidecars[key] = adapter.read(key)
            adapter.delete(key)
    for key, data in sidecars.items():
        adapter.write(key, data)
    write.apply(world.model, 10)
    world.commits += 1
    check_pile(world, Counter({Outcome.ROLLED_FORWARD: 1, Outcome.ROLLED_BACK: 1}))


@pytest.mark.parametrize("act", ["open", "refresh", "load"])
def test_a_write_is_not_finished_when_what_it_only_relied_on_is_gone(world: World, act: str):
    """An edge is complete, and meanwhile others deleted the film at its end. It changes no film, and relied on it."""
    world.begin(WRITES["load_merge"])
    # It has no edge yet, so that deleting it changes no edges.
    world.write([{"type": "Film", "data": {"code": "lonely", "title": "Solaris"}}])
    edge = {"edge": "Rated", "from": "p-old", "to": "lonely", "data": {"id": "new", "stars": 1}}
    gone = [DeleteNodes(type="Film", where=Where(property="code", value="lonely"))]

    def delete_film(name: str) -> None:
        text, params = spell_mutation(CATALOG, gone)
        world.survivor.mutate(text, params=params)

    with opened_through(DyingAdapter, world.place) as (graph, adapter):
        actions = {PUBLISH_BEFORE_COMMIT: once(delete_film), PUBLISH_LOAD_STATE_RETRYABLE_CONTENTION: adapter.die}
        with armed(actions), pytest.raises(DiedError):
            graph.load([edge], "append")
    mutate(world.model, gone)
    world.commits += 1
    if act == "refresh":
        world.survivor.refresh()
    elif act == "load":
        world.write(news("-next"))
    check_pile(world, Counter({Outcome.ROLLED_BACK: 1}))


def once(act: Callable[[str], None]) -> Callable[[str], None]:
    """The act, the first time only."""
    acts = [act]
    return lambda name: acts.pop()(name) if acts else None
