"""A recovery meets a writer that lives: parked in this process, or stopped in another one and wrongly judged dead.

The first is never touched. The second finds, when it goes on, its commit made, or its swap lost, or makes it; nothing
is lost, and nothing is there twice.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import pytest
from other_processes import OtherProcesses
from recovery_matrix import EXPECTED, POINTS, Outcome, Point, Stage
from recovery_scenes import point_of
from recovery_world import World, actor_of, check_nothing_is_left, rival_records, write_until
from recovery_writes import WRITES, Write, news, note

from omnigraph.config import RECOVERY_PATIENCE
from omnigraph.errors import ConflictError, HeadMovedError
from omnigraph.failpoints import LOAD_STAGED, PUBLISH_SIDECAR_DELETED, RECOVERY_RECORD_AUDIT
from omnigraph.history.recoveries import RecoveryKind
from omnigraph.testing.faults import Call, armed
from omnigraph.write.gates import gates_of

PUBLISH_POINTS = [each for each in POINTS if each.failpoint.startswith(("publish.", "refusal."))]


def in_turn(writes: list[Write], *, first: int) -> list[tuple[Write, Point]]:
    """Every point of a publish with one of these writes, which change more than one type and come by there."""
    refused = [each for each in writes if each.is_strict]
    return [
        (among[(first + number) % len(among)], point)
        for number, point in enumerate(PUBLISH_POINTS)
        for among in [refused if point.is_of_refusal else writes]
    ]


CHANGING_WRITES = [each for each in WRITES.values() if each.table_count > 1]
DATA_WRITES = [each for each in CHANGING_WRITES if each.kind != "ensure_indices"]


def name_of(case: tuple[Write, Point]) -> str:
    return f"{case[0].name}-{case[1].name}"


def count_rival(world: World, point: Point) -> None:
    """A rival of the write has published."""
    if point.rival:
        world.model.load(rival_records(point, world.number), "merge")
        world.commits += 1


# ── in this process ──────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def parked(world: World, write: Write, point: Point) -> Iterator[Future[None]]:
    """A write that stands still at a point, in a thread, for as long as the block takes; how it ends."""
    arrived, go_on = threading.Event(), threading.Event()

    def park(name: str) -> None:
        if threading.current_thread() is not threading.main_thread():
            arrived.set()
            assert go_on.wait(60)

    def run() -> None:
        with world.place.open() as graph:
            write_until(graph, world.place, write, world.number, point, park)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run)
        assert arrived.wait(60)
        try:
            yield running
        finally:
            go_on.set()


@pytest.mark.parametrize("case", in_turn(CHANGING_WRITES, first=0), ids=name_of)
def test_a_writer_of_this_process_is_never_touched(world: World, case: tuple[Write, Point]):
    write, point = case
    number = world.begin(write)
    with parked(world, write, point) as running:
        left = world.sidecars()
        world.place.open().close()
        world.survivor.refresh()
        world.write(note(f"-beside-{number}"))
        assert world.sidecars() == left
        assert world.told(world.survivor) == []
        states = [each.state for each in world.survivor.recoveries.pending()]
        assert states == ["under_way"] * len(left)
    count_rival(world, point)
    # Who is overtaken by others decides as always: strict writes fail, and all others are prepared again.
    if point.stage is Stage.OVERTAKEN and write.is_strict:
        with pytest.raises(ConflictError):
            running.result()
    else:
        running.result()
        write.apply(world.model, number)
        world.commits += 1
    world.check_rows(world.survivor)
    assert world.told(world.survivor) == []
    world.check_whole(world.survivor)
    world.is_in_use = False


def test_a_recovery_waits_for_who_is_at_work_on_the_same_types(local_world: World, others: OtherProcesses):
    """And then finds that what was complete is overtaken."""
    world, order = local_world, list[str]()
    arrived, go_on = threading.Event(), threading.Event()

    def park(name: str) -> None:
        arrived.set()
        assert go_on.wait(60)

    number = world.begin(WRITES["load_merge"])
    events = {name: Call(order.append) for name in (PUBLISH_SIDECAR_DELETED, RECOVERY_RECORD_AUDIT)}
    with armed({LOAD_STAGED: Call(park), **events}), ThreadPoolExecutor(2) as pool:
        writing = pool.submit(world.survivor.load, news("-meanwhile"), "merge")
        assert arrived.wait(60)
        others.kill_at(world.place, WRITES["load_merge"], number, point_of("publish.before_commit"))
        opening = pool.submit(world.place.open)
        gates = gates_of(world.survivor._repository.adapter)
        while not gates.waiting():
            assert not opening.done()
        go_on.set()
        writing.result()
        with opening.result() as graph:
            world.model.load(news("-meanwhile"), "merge")
            world.commits += 1
            world.check_rows(graph)
            check_nothing_is_left(graph)
            assert [each.kind for each in world.told(graph)] == [RecoveryKind.ROLLED_BACK]
    assert order == [PUBLISH_SIDECAR_DELETED, RECOVERY_RECORD_AUDIT]


# ── in another process, stopped ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever shows no life for a moment counts as dead."""
    monkeypatch.setenv(RECOVERY_PATIENCE, "0.05")


@pytest.mark.usefixtures("_hasty")
@pytest.mark.parametrize("case", in_turn(DATA_WRITES, first=0), ids=name_of)
def test_a_writer_that_was_stopped_and_recovered_from_ends_well(
    local_world: World, others: OtherProcesses, case: tuple[Write, Point]
):
    """Nobody else publishes: what it began is made once, by the recovery or by itself."""
    (write, point), world = case, local_world
    expected, number = EXPECTED[point.stage], world.begin(write)
    stopped = others.stop_at(world.place, write, number, point)
    count_rival(world, point)
    with world.place.open() as graph:
        if expected.is_made:
            count_made(world, write)
        world.check_rows(graph)
        check_nothing_is_left(graph)
        assert [each.kind for each in world.told(graph)] == [
            each for each in [expected.opening] if each is not Outcome.NOTHING
        ]
    ended = others.resume(stopped)
    check_end(world, write, ended, is_made=expected.is_made, is_conflict=point.stage is Stage.OVERTAKEN)


@pytest.mark.usefixtures("_hasty")
@pytest.mark.parametrize("is_overtaken", [False, True])
def test_a_write_that_was_rolled_back_and_published_by_its_writer_is_listed_as_both(
    local_world: World, others: OtherProcesses, *, is_overtaken: bool
):
    world, write = local_world, WRITES["load_merge"]
    number = world.begin(write)
    stopped = others.stop_at(world.place, write, number, point_of("publish.table_committed-first"))
    with world.place.open() as graph:
        (row,) = graph.recoveries.list()[:1]
        assert (row.kind, row.published_version) == (RecoveryKind.ROLLED_BACK, None)
    if is_overtaken:
        world.write(news(f"-overtaking-{number}"))
    assert others.resume(stopped)["error"] is None
    count_made(world, write)
    world.check_rows(world.survivor)
    (told,) = world.survivor.recoveries.list(commit=row.graph_commit_id)
    made = world.survivor.commits.show(row.graph_commit_id)
    assert (told.kind, told.published_version) == (RecoveryKind.ROLLED_BACK, made.manifest_version)
    assert replace(told, published_version=None) == row
    # What the recovery made lies after what was published, until the writer shows that again.
    check_nothing_is_left(world.survivor)
    world.recoveries = len(world.survivor.recoveries.list())
    world.is_in_use = False


@pytest.mark.usefixtures("_hasty")
@pytest.mark.parametrize("case", in_turn(DATA_WRITES, first=4), ids=name_of)
def test_a_writer_that_was_stopped_recovered_from_and_overtaken_ends_well(
    local_world: World, others: OtherProcesses, case: tuple[Write, Point]
):
    """Others publish to the same types before it goes on: it finds its commit, is prepared again, or is a conflict."""
    (write, point), world = case, local_world
    expected, number = EXPECTED[point.stage], world.begin(write)
    stopped = others.stop_at(world.place, write, number, point)
    count_rival(world, point)
    world.place.open().close()
    if expected.is_made:
        count_made(world, write)
    world.write(news(f"-overtaking-{number}"))
    ended = others.resume(stopped)
    check_end(world, write, ended, is_made=expected.is_made, is_conflict=True)


def count_made(world: World, write: Write) -> None:
    """The write is part of the graph."""
    write.apply(world.model, world.number)
    world.commits += 1


def check_end(world: World, write: Write, ended: dict, *, is_made: bool, is_conflict: bool) -> None:
    """What a writer was told is so, whether a recovery had made its commit or others had come first."""
    if not is_made and is_conflict and write.is_strict:
        assert ended["error"] == HeadMovedError.kind
    else:
        assert ended["error"] is None, ended
        if not is_made:
            count_made(world, write)
    with world.place.open() as graph:
        world.check_rows(graph)
        assert graph.recoveries.pending() == []
        actors = [each.actor for each in graph.commits.list(world.branch)]
        assert actors.count(actor_of(world.number)) == (ended["error"] is None)
        world.check_whole(graph)
    # Of a write that was taken back and made after all, it is the next write that lets the newest versions show it.
    world.begin(WRITES["load_merge"])
    world.check_rows(world.survivor)
    check_nothing_is_left(world.survivor)
    world.is_in_use = False
