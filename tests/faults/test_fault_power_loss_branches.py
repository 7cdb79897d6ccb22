"""Power is lost at every step of making, writing to and deleting branches: what was acknowledged is as it was told.

As in test_fault_power_loss.py, with branches: one that was made is there with all that was written to it, one that was
deleted is not, main is what it was, and what was lost on the way is in nobody's way.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from power_loss import Device, Loss, check_every

import omnigraph as og
from omnigraph.errors import NotFoundError
from omnigraph.history.ulids import new_ulid
from omnigraph.testing.graph_contract.clauses import SCHEMA, SEED, person, rated
from omnigraph.testing.invariants import assert_graph_is_whole

Content = dict[str, set[str]]
"""The names of the people on each branch."""

SEEDED, GROWN, LATE = {"ann", "bo"}, {"ann", "bo", "cy"}, {"ann", "bo", "cy", "di"}


@dataclass(frozen=True)
class Chapter:
    """One act, and what is there afterwards."""

    name: str
    act: Callable[[og.Graph], object]
    after: Content


STORY = [
    Chapter("create", lambda graph: graph.branches.create("dev"), {"main": SEEDED, "dev": SEEDED}),
    Chapter(
        "first write",
        lambda graph: graph.load([person("cy"), rated("cy", "F2", 1)], "append", branch="dev"),
        {"main": SEEDED, "dev": GROWN},
    ),
    Chapter(
        "later write",
        lambda graph: graph.load([person("di")], "append", branch="dev"),
        {"main": SEEDED, "dev": LATE},
    ),
    Chapter(
        "branch of it",
        lambda graph: graph.branches.create("child", "dev"),
        {"main": SEEDED, "dev": LATE, "child": LATE},
    ),
    Chapter("delete", lambda graph: graph.branches.delete("dev"), {"main": SEEDED, "child": LATE}),
    Chapter("create anew", lambda graph: graph.branches.create("dev"), {"main": SEEDED, "dev": SEEDED, "child": LATE}),
]


@dataclass(frozen=True)
class Recording:
    """What happened on a device while the story was told; a loss of phase n came in chapter n."""

    device: Device
    root: Path


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    top = tmp_path_factory.mktemp("disk")
    root = top / "graph"
    with og.init(root, schema=SCHEMA) as graph:
        graph.load(SEED, "append")
    with pytest.MonkeyPatch.context() as patch:
        device = Device(top, patch)
        with device.watch_failpoints(), og.open(root) as graph:
            for number, chapter in enumerate(STORY):
                device.phase = number
                chapter.act(graph)
                device.phase = number + 1
                device.step("acknowledged")
    with pytest.MonkeyPatch.context() as patch:
        # What is checked afterwards need not reach the real device.
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield Recording(device, root)


@pytest.mark.parametrize("phase", range(len(STORY) + 1), ids=[*(each.name for each in STORY), "done"])
def test_what_was_acknowledged_of_branches_is_so_after_a_loss_of_power(recording: Recording, phase: int):
    assert [loss for loss in recording.device.losses if loss.phase == phase]
    check_every(recording.device, lambda loss: check(recording, loss), phase=phase)


def check(recording: Recording, loss: Loss) -> None:
    before: Content = STORY[loss.phase - 1].after if loss.phase else {"main": SEEDED}
    is_under_way = loss.phase < len(STORY) and loss.step != "acknowledged"
    possible = [before, STORY[loss.phase].after] if is_under_way else [before]
    with og.open(recording.root) as graph:
        seen = content(graph)
        assert seen in possible, f"{seen} is neither the old state nor the new one"
        # Whatever was lost is in nobody's way: branches are written to, deleted and made, and commits are looked for.
        with pytest.raises(NotFoundError):
            graph.commits.show(new_ulid())
        graph.branches.create("after")
        for branch in [*seen, "after"]:
            graph.load([person("later"), rated("later", "F1", 1)], "append", branch=branch)
        if "dev" in seen:
            graph.branches.delete("dev")
        graph.branches.create("dev", at=1)
    with og.open(recording.root) as again:
        expected = {**seen, "after": seen["main"]}
        assert content(again) == {name: {*found, "later"} for name, found in expected.items()} | {"dev": set()}
        for branch in ("main", "after", "dev"):
            assert_graph_is_whole(again, branch)


def content(graph: og.Graph) -> Content:
    return {
        each.name: {row["name"] for row in graph.table("Person", ["name"], branch=each.name)}
        for each in graph.branches.list()
    }
