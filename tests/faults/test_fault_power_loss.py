"""Power is lost at every step of an init and of loads of every mode: nothing that was acknowledged is lost with it.

At each failpoint and after each sync the directory is brought to what the device held then: everything that was not
synced is gone, or its bytes alone, or its names alone, or a random part. The graph must open for writing, show the old
state or the new one, and take the next load, without anybody's help.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from power_loss import Device, Loss, check_every

import omnigraph as og
from omnigraph.errors import AlreadyExistsError, FormatError, NotFoundError
from omnigraph.plugins import open_adapter
from omnigraph.testing.faults import Call, OnNth, armed
from omnigraph.testing.graph_contract.clauses import SCHEMA, SEED, STORY, holds, model_of, person
from omnigraph.testing.invariants import assert_graph_is_whole
from omnigraph.testing.model import Mode, Record


@dataclass
class Recording:
    """What happened on a device while a story was told.

    Attributes:
        acknowledged: the commit of the init and of each load, in order; a loss of phase n came after the first n.
    """

    device: Device
    root: Path
    acknowledged: list[str] = field(default_factory=list)

    def acknowledge(self, commit: str) -> None:
        self.acknowledged.append(commit)
        self.device.phase = len(self.acknowledged)
        self.device.step("acknowledged")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    """An init and every load of the story, on a device that was watched."""
    top = tmp_path_factory.mktemp("disk")
    with pytest.MonkeyPatch.context() as patch:
        device = Device(top, patch)
        made = Recording(device, top / "graph")
        with device.watch_failpoints(), og.init(made.root, schema=SCHEMA) as graph:
            made.acknowledge(graph.commits.list()[0].id)
            for mode, records in STORY:
                made.acknowledge(graph.load(records, mode).commit.id)
    with pytest.MonkeyPatch.context() as patch:
        # What is checked afterwards need not reach the real device.
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield made


def check(recording: Recording, loss: Loss) -> None:
    if loss.phase == 0:
        check_init(recording)
        return
    done = loss.phase - 1
    is_under_way = done < len(STORY) and loss.step != "acknowledged"
    check_graph(recording, loss.phase, STORY[:done], STORY[: done + is_under_way])


def check_graph(recording: Recording, phase: int, *stories: Sequence[tuple[Mode, Sequence[Record]]]) -> None:
    """The first commits are there, what is shown is what one of the stories tells, and the next load works."""
    with og.open(recording.root) as graph:
        listed = {commit.id for commit in graph.commits.list()}
        assert set(recording.acknowledged[:phase]) <= listed, "an acknowledged commit is lost"
        told = next((story for story in stories if holds(graph, model_of(*story))), None)
        assert told is not None, "neither the old state nor the new one"
        graph.load([person("after")], "append")
    with og.open(recording.root) as again:
        assert holds(again, model_of(*told, ("append", [person("after")])))
        assert_graph_is_whole(again)


def check_init(recording: Recording) -> None:
    """There is a graph, or there is none and one can be made; its commit was not acknowledged."""
    try:
        graph = og.open(recording.root)
    except (NotFoundError, FormatError):
        # The second one where the very first version is there and cannot be read.
        try:
            graph = og.init(recording.root, schema=SCHEMA)
        except AlreadyExistsError:
            # The claim of an init that may only be slow is never taken over unasked.
            graph = og.init(recording.root, schema=SCHEMA, force=True)
    with graph:
        graph.load(SEED, "append")
        assert holds(graph, model_of(("append", SEED)))
    with og.open(recording.root) as again:
        assert holds(again, model_of(("append", SEED)))
        assert_graph_is_whole(again)


def test_losses_are_tried_at_many_moments(recording: Recording):
    assert len(recording.device.losses) > 100
    # The last phase begins when the last load is acknowledged.
    assert {loss.phase for loss in recording.device.losses} >= set(range(len(STORY) + 1))


@pytest.mark.parametrize("phase", range(len(STORY) + 2), ids=["init", *(mode for mode, _ in STORY), "done"])
def test_nothing_that_was_acknowledged_is_lost_and_no_step_needs_help(recording: Recording, phase: int):
    check_every(recording.device, lambda loss: check(recording, loss), phase=phase)


@pytest.mark.parametrize(("step", "is_finished"), [("publish.table_committed", False), ("publish.after_commit", True)])
def test_power_may_be_lost_again_while_a_graph_comes_back(recording: Recording, step: str, is_finished: bool):
    """What the first loss left unreadable is moved out of the way by a writer that loses power in its turn.

    After the first loss the tables of the load are whole or not; it is finished, or taken back.
    """
    lost = [loss for loss in recording.device.losses if (loss.phase, loss.kind) == (2, "bytes")]
    reached = [number for number, name in enumerate(recording.device.steps, 1) if name == step]
    at = max(number for number in reached if number <= lost[-1].number)
    # A loss that is no different from the one before it is not kept.
    first = [loss for loss in lost if loss.number <= at][-1]
    first.restore(recording.device.top)
    with pytest.MonkeyPatch.context() as patch:
        device = Device(recording.device.top, patch)
        with device.watch_failpoints(), og.open(recording.root) as graph:
            assert holds(graph, model_of(*STORY[: 1 + is_finished]))
            if not is_finished:
                graph.load(*reversed(STORY[1]))
    assert any("__quarantine" in path for path in device.losses[-1].files)
    check_every(device, lambda loss: check_graph(recording, 2, STORY[:1], STORY[:2]))


class Cut(BaseException):
    """Ends a writer at a failpoint."""


def cut_off(root: Path, load: tuple[Mode, Sequence[Record]]) -> None:
    """A load whose process ends when the last of its tables is committed and none is synced."""
    kept: dict[Path, bytes] = {}

    def stop(_name: str) -> None:
        kept.update({each: each.read_bytes() for each in root.glob("__recovery/*.json")})
        raise Cut

    tables = len({record.get("type") or record.get("edge") for record in load[1]})
    dying = armed({"publish.table_committed": OnNth(tables, Call(stop))})
    with og.open(root) as graph, dying, pytest.raises(Cut):
        graph.load(load[1], load[0])
    for each in root.glob("__recovery/*.json"):
        each.unlink()
    adapter = open_adapter(root)
    for path, data in kept.items():
        adapter.write(adapter.key(f"__recovery/{path.name}"), data)


def test_power_may_be_lost_while_a_write_is_finished_for_another(tmp_path: Path):
    """From the moment that the graph is open, the commit of the writer that was cut off is as durable as any."""
    root = tmp_path / "disk" / "graph"
    root.parent.mkdir()
    with og.init(root, schema=SCHEMA) as graph:
        made = [graph.commits.list()[0].id, graph.load(STORY[0][1], STORY[0][0]).commit.id]
    with pytest.MonkeyPatch.context() as patch:
        device = Device(root.parent, patch)
        recording = Recording(device, root, made)
        cut_off(root, STORY[1])
        device.losses.clear()
        with device.watch_failpoints(), og.open(root) as graph:
            assert holds(graph, model_of(*STORY[:2]))
            recording.acknowledge(graph.commits.list()[0].id)
    device.losses = [loss for loss in device.losses if loss.kind in ("everything", "bytes")]
    assert {loss.phase for loss in device.losses} == {0, 3}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        check_every(device, lambda loss: check_graph(recording, 2, STORY[:1], STORY[:2]), phase=0)
        check_every(device, lambda loss: check_finished(recording), phase=3)


def check_finished(recording: Recording) -> None:
    with og.open(recording.root, mode="r") as graph:
        assert [each.graph_commit_id for each in graph.recoveries.list()] == recording.acknowledged[2:]
    check_graph(recording, 3, STORY[:2])


def test_a_reader_of_a_graph_that_lost_power_is_told_what_to_do_or_reads_it(recording: Recording):
    """Nothing is repaired by opening for reading, and nothing is misread."""
    unreadable = 0
    for loss in [loss for loss in recording.device.losses if loss.phase == 2 and loss.kind in ("everything", "bytes")]:
        loss.restore(recording.device.top)
        try:
            with og.open(recording.root, mode="r") as reader:
                assert holds(reader, model_of(*STORY[:1])) or holds(reader, model_of(*STORY[:2])), loss.title
        except FormatError as error:
            unreadable += "Open it once for writing" in str(error)
        assert [path for path in loss.files if not (recording.device.top / path).exists()] == [], loss.title
    assert unreadable > 0, "no loss made the newest version unreadable: the test has lost its point"
