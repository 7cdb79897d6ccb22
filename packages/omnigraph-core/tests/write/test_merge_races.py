"""Merges that others come in between of: nothing of theirs is lost or overwritten, and nothing is brought twice."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from merging_world import (
    NOTE,
    PERSON,
    again,
    age_of,
    check_history,
    content,
    counted_writes,
    drop,
    film,
    ids,
    log_of,
    meanwhile,
    new_graph,
    note,
    person,
    pin_of,
    put,
    rated,
)
from publish_world import sidecars, swaps, write_elsewhere

import omnigraph as og
from omnigraph import failpoints
from omnigraph.errors import (
    BranchReplacedError,
    MergeConflictError,
    MergeConflictKind,
    NotFoundError,
    StorageCondition,
    StorageError,
)
from omnigraph.failpoints import BRANCH_MERGE_POST_CANDIDATE_VALIDATION as JUDGED
from omnigraph.history.commits import CommitKind
from omnigraph.history.lineage import first_parents
from omnigraph.testing.faults import Barrier, armed, recorded
from omnigraph.testing.invariants import assert_graph_is_whole

BEFORE_THE_SWAP = (
    failpoints.BRANCH_MERGE_POST_AUTHORITY_CAPTURE,
    JUDGED,
    failpoints.PUBLISH_BEFORE_SIDECAR,
    failpoints.PUBLISH_SIDECAR_WRITTEN,
    failpoints.PUBLISH_TABLES_DURABLE,
    failpoints.PUBLISH_BEFORE_COMMIT,
)
AT_EACH = pytest.mark.parametrize("moment", BEFORE_THE_SWAP)


@pytest.fixture
def graph() -> og.Graph:
    """A branch "dev" with a changed person, a new one and a new rating."""
    graph = new_graph()
    graph.branches.create("dev")
    put(graph, "dev", person("ann", 31), person("eve", 20), rated("r2", "eve", "f1"))
    return graph


def elsewhere(graph: og.Graph, act: Callable[[og.Graph], object]) -> Callable[[], None]:
    """Something that another process does."""

    def run() -> None:
        with again(graph) as other:
            act(other)

    return run


def line_of(graph: og.Graph, branch: str = "main") -> list[og.Commit]:
    """The first parents of a branch, newest first."""
    log = log_of(graph, branch)
    return [*first_parents(log.state.head.id, log.lineage().get)]


def check_merged(graph: og.Graph, branch: str = "main") -> None:
    """The rows of "dev" are there, and the history is right."""
    assert (age_of(graph, "ann", branch), age_of(graph, "eve", branch)) == (31, 20)
    assert "r2" in ids(graph, "Rated", branch)
    check_history(graph, branch)
    assert sidecars(graph._repository) == []
    if branch == "main":
        assert_graph_is_whole(graph)


# ── writers on the target ────────────────────────────────────────────────────────────────────────────────────────────


@AT_EACH
def test_a_writer_to_another_type_is_neither_lost_nor_in_the_way(graph: og.Graph, moment: str):
    with (
        meanwhile(moment, elsewhere(graph, lambda other: put(other, "main", note("n2")))),
        counted_writes() as writes,
    ):
        result = graph.branches.merge("dev")
    check_merged(graph)
    assert ids(graph, "Note") == ["n1", "n2"]
    assert result.outcome == "merged"
    newest, second, *_ = line_of(graph)
    assert (newest, second.kind) == (result.commit, CommitKind.DATA)
    # Rows are written once, the note of the other among them.
    assert writes["write_rows"] == 3


@AT_EACH
def test_a_writer_to_another_row_of_the_type_makes_the_merge_think_again(graph: og.Graph, moment: str):
    with meanwhile(moment, elsewhere(graph, lambda other: put(other, "main", person("bob", 41), person("fay")))):
        graph.branches.merge("dev")
    check_merged(graph)
    assert age_of(graph, "bob") == 41
    assert ids(graph, "Person") == ["ann", "bob", "eve", "fay"]


@AT_EACH
def test_a_writer_to_the_same_row_is_a_conflict_and_not_overwritten(graph: og.Graph, moment: str):
    with (
        meanwhile(moment, elsewhere(graph, lambda other: put(other, "main", person("ann", 32)))),
        pytest.raises(MergeConflictError) as caught,
    ):
        graph.branches.merge("dev")
    assert [(each.kind, each.id) for each in caught.value.conflicts] == [(MergeConflictKind.DIVERGENT_UPDATE, "ann")]
    assert age_of(graph, "ann") == 32
    assert ids(graph, "Person") == ["ann", "bob"]
    assert sidecars(graph._repository) == []
    graph.branches.merge("dev", strategy="theirs")
    check_merged(graph)


@AT_EACH
def test_a_writer_that_did_the_same_is_no_conflict(graph: og.Graph, moment: str):
    same = elsewhere(graph, lambda other: put(other, "main", person("ann", 31), person("eve", 20)))
    with meanwhile(moment, same):
        assert graph.branches.merge("dev").outcome == "merged"
    check_merged(graph)


@pytest.mark.parametrize("moment", [JUDGED, failpoints.PUBLISH_BEFORE_COMMIT])
@pytest.mark.parametrize(
    ("write", "kind"),
    [
        (lambda other: put(other, "main", person("zoe", mail="x@y.org")), MergeConflictKind.UNIQUE_VIOLATION),
        (lambda other: put(other, "main", rated("r9", "bob", "f1")), MergeConflictKind.ORPHAN_EDGE),
        (lambda other: drop(other, "main", "Film", "code", "f1"), MergeConflictKind.ORPHAN_EDGE),
    ],
    ids=["takes the value", "rates who is deleted", "deletes what is rated"],
)
def test_a_writer_that_breaks_a_rule_together_with_the_merge_is_a_conflict(
    graph: og.Graph, moment: str, write: Callable[[og.Graph], object], kind: MergeConflictKind
):
    put(graph, "dev", person("eve", 20, mail="x@y.org"))
    drop(graph, "dev", "Person", "name", "bob")
    with meanwhile(moment, elsewhere(graph, write)), pytest.raises(MergeConflictError) as caught:
        graph.branches.merge("dev")
    assert {each.kind for each in caught.value.conflicts} == {kind}
    assert "eve" not in ids(graph, "Person")
    assert_graph_is_whole(graph)


@AT_EACH
def test_maintenance_of_the_target_is_in_nobodys_way(graph: og.Graph, moment: str):
    with meanwhile(moment, elsewhere(graph, lambda other: other.maintain.ensure_indices())):
        graph.branches.merge("dev")
    check_merged(graph)
    assert [each.kind for each in line_of(graph)[:2]] == [CommitKind.MERGE, CommitKind.MAINTENANCE]


@AT_EACH
def test_a_fence_makes_the_merge_write_its_rows_again(graph: og.Graph, moment: str):
    def fence() -> None:
        write_elsewhere(graph._repository, {}, CommitKind.FENCE)

    with meanwhile(moment, fence), counted_writes() as writes:
        graph.branches.merge("dev")
    check_merged(graph)
    # What was staged when garbage collection began may be gone; only at the first moment nothing is.
    assert writes["write_rows"] == (2 if moment == BEFORE_THE_SWAP[0] else 4)


@AT_EACH
def test_a_type_that_was_to_be_pointed_to_is_merged_by_rows_when_the_target_touches_it(graph: og.Graph, moment: str):
    graph.branches.create("release")
    with meanwhile(moment, elsewhere(graph, lambda other: put(other, "release", person("bob", 41)))):
        graph.branches.merge("dev", "release")
    check_merged(graph, "release")
    assert age_of(graph, "bob", "release") == 41
    assert log_of(graph, "release").branch.owns(pin_of(graph, PERSON, "release"))


# ── writers on the source ────────────────────────────────────────────────────────────────────────────────────────────


@AT_EACH
def test_what_comes_to_the_source_meanwhile_is_left_for_the_next_merge(graph: og.Graph, moment: str):
    captured = graph.snapshot("dev").commit
    late = elsewhere(graph, lambda other: put(other, "dev", person("late"), note("late")))
    with meanwhile(moment, late):
        result = graph.branches.merge("dev")
    assert result.commit is not None
    assert result.source_commit == result.commit.merged_parent_id == captured.id
    check_merged(graph)
    assert "late" not in ids(graph, "Person")
    assert graph.branches.merge("dev").outcome == "merged"
    assert "late" in ids(graph, "Person")
    assert ids(graph, "Note") == ["late", "n1"]
    check_history(graph, "main", "dev")


@AT_EACH
def test_a_source_that_is_deleted_meanwhile_is_merged_as_it_was(graph: og.Graph, moment: str):
    captured = graph.snapshot("dev").commit
    with meanwhile(moment, elsewhere(graph, lambda other: other.branches.delete("dev"))):
        result = graph.branches.merge("dev")
    assert result.commit is not None
    assert result.commit.merged_parent_id == captured.id
    check_merged(graph)
    assert graph.commits.show(captured.id) == captured
    assert content(graph, captured.id)["Person", "eve"]["data"]["age"] == 20


@AT_EACH
def test_a_source_that_is_made_anew_meanwhile_is_merged_as_it_was(graph: og.Graph, moment: str):
    def make_anew(other: og.Graph) -> None:
        other.branches.delete("dev")
        other.branches.create("dev")
        put(other, "dev", note("of the new one"))

    with meanwhile(moment, elsewhere(graph, make_anew)):
        graph.branches.merge("dev")
    check_merged(graph)
    assert ids(graph, "Note") == ["n1"]
    assert graph.branches.merge("dev").outcome == "merged"
    assert ids(graph, "Note") == ["n1", "of the new one"]
    check_history(graph, "main", "dev")


# ── the target goes ──────────────────────────────────────────────────────────────────────────────────────────────────


@AT_EACH
@pytest.mark.parametrize("is_pointed", [True, False])
def test_a_target_that_is_deleted_meanwhile_is_told(graph: og.Graph, moment: str, is_pointed: bool):
    graph.branches.create("release")
    if not is_pointed:
        put(graph, "release", person("bob", 41))
    with (
        meanwhile(moment, elsewhere(graph, lambda other: other.branches.delete("release"))),
        pytest.raises(NotFoundError, match="release"),
    ):
        graph.branches.merge("dev", "release")
    assert [each.name for each in graph.branches.list()] == ["main", "dev"]
    assert ids(graph, "Person") == ["ann", "bob"]
    assert sidecars(graph._repository) == []
    graph.branches.merge("dev")
    check_merged(graph)


@pytest.mark.parametrize("moment", BEFORE_THE_SWAP[1:])
def test_a_target_that_is_made_anew_meanwhile_is_told_and_shows_nothing_of_the_merge(graph: og.Graph, moment: str):
    graph.branches.create("release")

    def make_anew(other: og.Graph) -> None:
        other.branches.delete("release")
        other.branches.create("release")

    with meanwhile(moment, elsewhere(graph, make_anew)), pytest.raises(BranchReplacedError):
        graph.branches.merge("dev", "release")
    assert content(graph, "release") == content(graph)
    assert sidecars(graph._repository) == []
    graph.branches.merge("dev", "release")
    check_merged(graph, "release")


# ── other merges ─────────────────────────────────────────────────────────────────────────────────────────────────────


def merge_at_once(graph: og.Graph, *merges: tuple[str, str], moment: str) -> list[og.MergeResult]:
    """Merges by handles of their own that meet at a failpoint."""

    def merge(names: tuple[str, str]) -> og.MergeResult:
        with again(graph) as handle:
            return handle.branches.merge(*names)

    with armed({moment: Barrier(len(merges))}), ThreadPoolExecutor() as threads:
        return list(threads.map(merge, merges))


@pytest.mark.parametrize("moment", [JUDGED, failpoints.PUBLISH_TABLES_DURABLE, failpoints.PUBLISH_BEFORE_COMMIT])
def test_two_merges_into_one_branch_both_land(graph: og.Graph, moment: str):
    graph.branches.create("other")
    put(graph, "other", person("bob", 41), film("f2"), rated("r3", "bob", "f2"))
    heads = {graph.snapshot(each).commit.id for each in ("dev", "other")}
    done = merge_at_once(graph, ("dev", "main"), ("other", "main"), moment=moment)
    assert sorted(each.outcome for each in done) == ["fast_forward", "merged"]
    check_merged(graph)
    assert (age_of(graph, "bob"), ids(graph, "Rated"), ids(graph, "Film")) == (41, ["r1", "r2", "r3"], ["f1", "f2"])
    newest, second, *rest = line_of(graph)
    assert {newest.merged_parent_id, second.merged_parent_id} == heads
    assert (newest.parent_id, second.parent_id) == (second.id, rest[0].id)


@pytest.mark.parametrize("moment", [JUDGED, failpoints.PUBLISH_TABLES_DURABLE, failpoints.PUBLISH_BEFORE_COMMIT])
def test_a_branch_that_two_merge_at_once_is_merged_once(graph: og.Graph, moment: str):
    done = merge_at_once(graph, ("dev", "main"), ("dev", "main"), moment=moment)
    assert sorted(each.outcome for each in done) == ["already_up_to_date", "fast_forward"]
    check_merged(graph)
    assert [each.kind for each in line_of(graph)].count(CommitKind.MERGE) == 1


@pytest.mark.parametrize("moment", [failpoints.PUBLISH_BEFORE_SIDECAR, failpoints.PUBLISH_BEFORE_COMMIT])
def test_a_branch_without_changes_that_two_merge_at_once_is_merged_once(moment: str):
    """No type moves, so that only the history tells the second one that it is too late."""
    graph = new_graph()
    graph.branches.create("dev")
    put(graph, "dev", note("n2"))
    drop(graph, "dev", "Note", "text", "n2")
    done = merge_at_once(graph, ("dev", "main"), ("dev", "main"), moment=moment)
    assert sorted(each.outcome for each in done) == ["already_up_to_date", "fast_forward"]
    check_history(graph, "main")
    assert [each.kind for each in line_of(graph)].count(CommitKind.MERGE) == 1


@pytest.mark.parametrize("moment", [JUDGED, failpoints.PUBLISH_BEFORE_COMMIT])
def test_a_merge_that_somebody_decided_otherwise_meanwhile_is_not_decided_again(moment: str):
    graph = new_graph()
    graph.branches.create("dev")
    put(graph, "dev", person("ann", 31))
    put(graph, "main", person("ann", 32))
    # It moves no type either.
    ours = elsewhere(graph, lambda other: other.branches.merge("dev", strategy="ours"))
    with meanwhile(moment, ours):
        result = graph.branches.merge("dev", strategy="theirs")
    assert result.outcome == "already_up_to_date"
    assert age_of(graph, "ann") == 32
    check_history(graph, "main")


def test_branches_that_merge_each_other_at_once_both_land(graph: og.Graph):
    put(graph, "main", person("bob", 41))
    heads = graph.snapshot("dev").commit.id, graph.snapshot().commit.id
    done = merge_at_once(graph, ("dev", "main"), ("main", "dev"), moment=failpoints.PUBLISH_BEFORE_COMMIT)
    assert [each.outcome for each in done] == ["merged", "merged"]
    assert tuple(each.commit and each.commit.merged_parent_id for each in done) == heads
    assert content(graph) == content(graph, "dev")
    # Two bases from here on: both heads as they were before.
    for source, into in (("dev", "main"), ("main", "dev")):
        put(graph, source, note(f"of {source}"))
        graph.branches.merge(source, into)
        check_history(graph, "main", "dev")
    assert content(graph) == content(graph, "dev")


@pytest.mark.parametrize("moment", [JUDGED, failpoints.PUBLISH_BEFORE_COMMIT])
def test_a_branch_of_the_source_that_is_merged_meanwhile_brings_its_part_once(graph: og.Graph, moment: str):
    graph.branches.create("child", "dev")
    put(graph, "child", note("of child"))
    child = elsewhere(graph, lambda other: other.branches.merge("child"))
    put(graph, "dev", film("f2"))
    with meanwhile(moment, child):
        graph.branches.merge("dev")
    check_merged(graph)
    assert (ids(graph, "Note"), ids(graph, "Film")) == (["n1", "of child"], ["f1", "f2"])


# ── answers that are lost ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_merge_whose_answer_was_lost_is_found_and_not_made_again(graph: og.Graph):
    lost = StorageError("the connection was lost", condition=StorageCondition.TRANSIENT)
    with swaps(("after", lost)):
        result = graph.branches.merge("dev")
    assert result.outcome == "fast_forward"
    assert graph.snapshot().commit == result.commit
    check_merged(graph)
    assert [each.kind for each in line_of(graph)].count(CommitKind.MERGE) == 1


def test_a_merge_comes_by_its_failpoints_in_this_order(graph: og.Graph):
    with recorded() as reached:
        graph.branches.merge("dev")
    assert [each for each in reached if each in BEFORE_THE_SWAP] == list(BEFORE_THE_SWAP)
    assert pin_of(graph, NOTE) == pin_of(graph, NOTE, "dev")
