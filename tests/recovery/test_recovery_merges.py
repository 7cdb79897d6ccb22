"""Merges die at every point on their way: afterwards the target is as it was, or merged as a whole, with both parents.

A merge changes types in two ways, by rows and by pointing to the version of the source, and takes a history along; all
three happen together or not at all. What the stages are called and what must come of them is said in the matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pytest
from recovery_matrix import EXPECTED, OUTSIDE, Outcome, Stage, Trigger
from recovery_world import Places, check_nothing_is_left
from recovery_writes import SCHEMA, news, note

import omnigraph as og
from omnigraph import failpoints
from omnigraph.errors import StorageCondition, StorageError
from omnigraph.history.recoveries import RecoveryKind
from omnigraph.testing.faults import DiedError, DyingAdapter, OnNth, Raise, armed, recorded
from omnigraph.testing.graph_contract.clauses import GraphPlace
from omnigraph.testing.graph_contract.faults import opened_through

ACTOR: Final = "the merger"


@dataclass(frozen=True)
class Merge:
    """One way to merge "dev".

    Attributes:
        into: a branch that began as main did, or main.
        is_touched: whether the target has changed a type of its own.
        by_rows: how many types are written.
        is_forked: whether the target shows that change as a merge pointed it to, so that its line is forked on the way.
    """

    name: str
    into: str
    is_touched: bool
    by_rows: int
    is_forked: bool = False

    @property
    def points(self) -> tuple[tuple[str, Stage], ...]:
        """The failpoints that it comes by, in order, and how far it is there."""
        begun = Stage.INCOMPLETE if self.by_rows else Stage.COMPLETE
        tables = [(failpoints.PUBLISH_TABLE_COMMITTED, Stage.INCOMPLETE)] * (self.by_rows - 1)
        tables += [(failpoints.PUBLISH_TABLE_COMMITTED, Stage.COMPLETE)] * (self.by_rows > 0)
        return (
            (failpoints.RECOVERY_SIDECAR_LIST, Stage.UNANNOUNCED),
            (failpoints.BRANCH_MERGE_POST_AUTHORITY_CAPTURE, Stage.UNANNOUNCED),
            (failpoints.BRANCH_MERGE_POST_CANDIDATE_VALIDATION, Stage.UNANNOUNCED),
            *([(failpoints.MUTATION_POST_FORK_PRE_COMMIT, Stage.UNANNOUNCED)] if self.is_forked else []),
            (failpoints.PUBLISH_BEFORE_SIDECAR, Stage.UNANNOUNCED),
            (failpoints.RECOVERY_SIDECAR_WRITE, Stage.UNANNOUNCED),
            (failpoints.PUBLISH_SIDECAR_WRITTEN, begun),
            *tables,
            (failpoints.PUBLISH_TABLES_DURABLE, Stage.COMPLETE),
            (failpoints.PUBLISH_BEFORE_COMMIT, Stage.COMPLETE),
            (failpoints.PUBLISH_AFTER_COMMIT, Stage.PUBLISHED),
            (failpoints.PUBLISH_ACKNOWLEDGED, Stage.PUBLISHED),
            (failpoints.RECOVERY_SIDECAR_DELETE, Stage.PUBLISHED),
            (failpoints.PUBLISH_SIDECAR_DELETED, Stage.OVER),
        )

    def time_of(self, place: int) -> int:
        """How often the failpoint at a place of ``points`` has been reached there."""
        names = [name for name, _ in self.points]
        return names[: place + 1].count(names[place])


ROWS: Final = Merge("by_rows", "main", is_touched=True, by_rows=3)
BOTH: Final = Merge("by_rows_and_pointers", "release", is_touched=True, by_rows=1)
FORKED: Final = Merge("by_rows_on_a_fork", "release", is_touched=True, by_rows=1, is_forked=True)
POINTERS: Final = Merge("by_pointers", "release", is_touched=False, by_rows=0)
MERGES: Final = (ROWS, BOTH, FORKED, POINTERS)


class Merging:
    """A graph whose branch "dev" is merged.

    Attributes:
        head: the commit of "dev" that is merged.
        parent: the commit of the target that it is merged into.
        before: the rows of the target.
        after: its rows when the merge is made.
    """

    def __init__(self, place: GraphPlace, merge: Merge) -> None:
        self.place, self.merge = place, merge
        self.survivor = place.init(SCHEMA)
        self.survivor.load([*news(1), *note(1)], "append")
        for name in ("dev", "release"):
            self.survivor.branches.create(name)
        self.survivor.load(news(2), "append", branch="dev")
        self.survivor.load(news(1, age=7)[:1], "merge", branch="dev")
        mine = [{"type": "Person", "data": {"name": "mine"}}]
        if merge.is_forked:
            self.survivor.load(mine, "append", branch="helper", base="main")
            self.survivor.branches.merge("helper", merge.into, delete_branch=True)
        elif merge.is_touched:
            # Its line is the target's own from here on.
            self.survivor.load(mine, "append", branch=merge.into)
        self.head = self.survivor.snapshot("dev").commit
        self.parent = self.survivor.snapshot(merge.into).commit
        self.before = self.rows(self.survivor)
        own = {each for each in self.before if '"mine"' in each}
        self.after = {*self.survivor.export(branch="dev"), *own}

    def rows(self, graph: og.Graph) -> set[str]:
        return {*graph.export(branch=self.merge.into)}

    def run(self, graph: og.Graph) -> og.MergeResult:
        return graph.branches.merge("dev", self.merge.into, actor=ACTOR)

    def die(self, failpoint: str, nth: int = 1) -> None:
        """Let a handle die at a point of the merge."""
        with (
            opened_through(DyingAdapter, self.place) as (graph, adapter),
            armed({failpoint: OnNth(nth, adapter.die)}),
            pytest.raises(DiedError),
        ):
            self.run(graph)

    def check(self, graph: og.Graph, *, is_made: bool) -> None:
        """The target is as it was, or merged as a whole."""
        assert self.rows(graph) == (self.after if is_made else self.before)
        newest = graph.snapshot(self.merge.into).commit
        if not is_made:
            assert newest == self.parent
        else:
            assert (newest.parent_id, newest.merged_parent_id) == (self.parent.id, self.head.id)
            assert (newest.actor, str(newest.kind)) == (ACTOR, "merge")
            entries = {each: graph.snapshot(each).state.entries for each in ("dev", self.merge.into)}
            same = [key for key in entries["dev"] if entries["dev"][key].pin == entries[self.merge.into][key].pin]
            assert len(same) == 4 - self.merge.by_rows
        self.check_history(graph)

    def check_history(self, graph: og.Graph) -> None:
        """The manifest has a row of every commit that led to the target, once."""
        log = graph._repository.newest(self.merge.into)
        stored = [*(each.id for _, each in log._history()), *(each.id for each in log.state.recent)]
        assert sorted(stored) == sorted(each.id for each in graph.commits.list(self.merge.into))

    def check_next(self, graph: og.Graph, *, is_made: bool) -> None:
        """Nothing is left of it, and the same merge and the next one work."""
        check_nothing_is_left(graph)
        assert (self.run(graph).outcome == "already_up_to_date") == is_made
        assert self.rows(graph) == self.after
        graph.load(note("next"), "append", branch="dev")
        assert self.run(graph).commit is not None
        assert self.rows(graph) - self.after == {'{"type":"Note","data":{"id":"nnext","text":"nnext"}}'}
        self.check_history(graph)


def settle(merging: Merging, trigger: Trigger) -> None:
    """Let the survivor come across what was left."""
    if trigger is Trigger.REOPEN:
        merging.survivor.close()
        merging.survivor = merging.place.open()
    elif trigger is Trigger.REFRESH:
        merging.survivor.refresh()
    else:
        # On a branch of its own, so that the target is what the merge made of it.
        merging.survivor.load(note("survivor"), "append", branch="elsewhere", base="main")


CASES = [
    (merge, place, trigger)
    for merge in MERGES
    for place in range(len(merge.points))
    for trigger in (Trigger.REOPEN, Trigger.NEXT_WRITE if place % 2 else Trigger.REFRESH)
]


def name_of(case: object) -> str:
    return case.name if isinstance(case, Merge) else str(case)


def test_every_point_of_a_merge_is_died_at():
    died_at = {name for merge in MERGES for name, _ in merge.points}
    assert died_at >= {name for name in OUTSIDE if name.startswith("branch_merge.")}


@pytest.mark.parametrize("merge", MERGES, ids=name_of)
def test_a_merge_comes_by_the_points_that_it_dies_at(places: Places, merge: Merge):
    merging = Merging(places("memory"), merge)
    with recorded() as reached:
        merging.run(merging.survivor)
    assert reached == [name for name, _ in merge.points]
    merging.check(merging.survivor, is_made=True)
    merging.check_next(merging.survivor, is_made=True)


@pytest.mark.parametrize(("merge", "place", "trigger"), CASES, ids=name_of)
def test_a_merge_that_was_cut_off_is_settled(places: Places, merge: Merge, place: int, trigger: Trigger):
    merging = Merging(places("memory"), merge)
    failpoint, stage = merge.points[place]
    expected = EXPECTED[stage]
    merging.die(failpoint, merge.time_of(place))
    settle(merging, trigger)
    outcome = expected.opening if trigger is Trigger.REOPEN else expected.healing
    merging.check(merging.survivor, is_made=expected.is_made)
    if outcome is Outcome.DEFERRED:
        assert len(merging.survivor.recoveries.pending()) == 1
        settle(merging, Trigger.REOPEN)
        merging.check(merging.survivor, is_made=expected.is_made)
        outcome = expected.opening
    told = merging.survivor.recoveries.list()
    assert [(str(each.kind), each.writer_kind, each.recovery_for_actor) for each in told] == (
        [] if outcome is Outcome.NOTHING else [(str(outcome), "branch_merge", ACTOR)]
    )
    merging.check_next(merging.survivor, is_made=expected.is_made)


# ── what happens before it is settled ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("merge", MERGES, ids=name_of)
@pytest.mark.parametrize("happens", ["goes", "goes on", "is made anew"])
def test_a_merge_is_finished_with_the_source_as_it_was_whatever_becomes_of_that(
    places: Places, merge: Merge, happens: str
):
    merging = Merging(places("memory"), merge)
    merging.die(failpoints.PUBLISH_BEFORE_COMMIT)
    with merging.place.open("r") as reader:
        rows = {*reader.export(snapshot=merging.head)}
    repository = merging.survivor._repository
    if happens == "goes on":
        with pytest.MonkeyPatch.context() as patch:
            # A write would finish the merge first.
            patch.setattr("omnigraph.graph.handle.heal", lambda repository: ())
            merging.survivor.load(note("late"), "append", branch="dev")
    else:
        merging.survivor.branches.delete("dev")
        if happens == "is made anew":
            merging.survivor.branches.create("dev")
    assert len(merging.survivor.recoveries.pending()) == 1
    assert repository.newest(merge.into).state.head == merging.parent
    settle(merging, Trigger.REOPEN)
    assert [each.kind for each in merging.survivor.recoveries.list()] == [RecoveryKind.ROLLED_FORWARD]
    newest = merging.survivor.snapshot(merge.into).commit
    assert (newest.parent_id, newest.merged_parent_id) == (merging.parent.id, merging.head.id)
    assert merging.rows(merging.survivor) == merging.after
    assert merging.survivor.commits.show(merging.head.id) == merging.head
    assert {*merging.survivor.export(snapshot=merging.head.id)} == rows
    merging.check_history(merging.survivor)
    check_nothing_is_left(merging.survivor)


@pytest.mark.parametrize("merge", MERGES, ids=name_of)
def test_a_merge_that_somebody_else_made_meanwhile_is_taken_back(places: Places, merge: Merge):
    merging = Merging(places("memory"), merge)
    merging.die(failpoints.PUBLISH_BEFORE_COMMIT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("omnigraph.write.branches.heal", lambda repository: ())
        other = merging.survivor.branches.merge("dev", merge.into, actor="somebody else").commit
    settle(merging, Trigger.REOPEN)
    assert [each.kind for each in merging.survivor.recoveries.list()] == [RecoveryKind.ROLLED_BACK]
    assert merging.survivor.snapshot(merge.into).commit == other
    assert merging.rows(merging.survivor) == merging.after
    merging.check_history(merging.survivor)
    merging.check_next(merging.survivor, is_made=True)


def test_a_merge_without_changes_that_somebody_else_made_meanwhile_is_taken_back(places: Places):
    """It moves no type, so that only the history says that it is made already."""
    place = places("memory")
    with place.init(SCHEMA) as graph:
        graph.branches.create("dev")
        graph.load(note(1), "append", branch="dev")
        graph.mutate('query d() { delete Note where text = "n1" }', branch="dev")
        with (
            opened_through(DyingAdapter, place) as (dying, adapter),
            armed({failpoints.PUBLISH_BEFORE_COMMIT: adapter.die}),
            pytest.raises(DiedError),
        ):
            dying.branches.merge("dev")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("omnigraph.write.branches.heal", lambda repository: ())
            other = graph.branches.merge("dev").commit
    with place.open() as graph:
        assert [each.kind for each in graph.recoveries.list()] == [RecoveryKind.ROLLED_BACK]
        assert graph.snapshot().commit == other
        assert len([each for each in graph.commits.list() if each.merged_parent_id]) == 1


@pytest.mark.parametrize("merge", [BOTH, FORKED, POINTERS], ids=name_of)
def test_a_merge_into_a_branch_that_is_gone_is_left_alone(places: Places, merge: Merge):
    merging = Merging(places("memory"), merge)
    merging.die(failpoints.PUBLISH_TABLES_DURABLE)
    merging.survivor.branches.delete(merge.into)
    settle(merging, Trigger.REOPEN)
    assert [each.kind for each in merging.survivor.recoveries.list()] == [RecoveryKind.ORPHANED_BRANCH_DISCARDED]
    assert [each.name for each in merging.survivor.branches.list()] == ["main", "dev"]
    assert merging.survivor.branches.merge("dev").outcome == "fast_forward"


@pytest.mark.parametrize("merge", MERGES, ids=name_of)
def test_a_type_that_others_changed_meanwhile_takes_the_merge_back(places: Places, merge: Merge):
    merging = Merging(places("memory"), merge)
    merging.die(failpoints.PUBLISH_BEFORE_COMMIT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("omnigraph.graph.handle.heal", lambda repository: ())
        # A type that is pointed to where there is one.
        merging.survivor.load(news(3)[1:2], "append", branch=merge.into)
    settle(merging, Trigger.REOPEN)
    assert [each.kind for each in merging.survivor.recoveries.list()] == [RecoveryKind.ROLLED_BACK]
    news_of_others = merging.rows(merging.survivor) - merging.before
    assert len(news_of_others) == 1
    check_nothing_is_left(merging.survivor)
    assert merging.run(merging.survivor).outcome == "merged"
    assert merging.rows(merging.survivor) == merging.after | news_of_others
    merging.check_history(merging.survivor)


@pytest.mark.parametrize("merge", MERGES, ids=name_of)
@pytest.mark.parametrize("failpoint", [failpoints.PUBLISH_SIDECAR_WRITTEN, failpoints.PUBLISH_TABLES_DURABLE])
def test_a_merge_that_failed_and_said_so_is_made_by_nobody(places: Places, merge: Merge, failpoint: str):
    merging = Merging(places("memory"), merge)
    error = StorageError("the disk is full", condition=StorageCondition.CONFIGURATION)
    with armed({failpoint: Raise(error)}), pytest.raises(StorageError, match="disk is full"):
        merging.run(merging.survivor)
    settle(merging, Trigger.REOPEN)
    merging.check(merging.survivor, is_made=False)
    merging.check_next(merging.survivor, is_made=False)
