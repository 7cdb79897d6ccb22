"""Branches as users make, list and delete them: what they begin as, what they are called, and what is left of them."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from branch_world import ADD, codes, film, line_of, lines, new_graph, saw

import omnigraph as og
from omnigraph.errors import (
    AlreadyExistsError,
    BranchReplacedError,
    ClosedError,
    InvalidInputError,
    NotFoundError,
    ReadOnlyError,
    StorageCondition,
    StorageError,
)
from omnigraph.failpoints import MUTATION_POST_STAGE_PRE_EFFECT_GATE, PUBLISH_BEFORE_COMMIT
from omnigraph.testing.faults import Call, Fault, FaultyAdapter, Once, armed
from omnigraph.testing.invariants import assert_graph_is_whole
from omnigraph.write.opening import repository_at

SIDE_BY_SIDE = ["a", "a/b", "a%2Fb", "A", "Ü", "a b", "..", "main.json", "feature/#8?x=1", "日本"]


@pytest.fixture
def graph() -> og.Graph:
    return new_graph()


def names(graph: og.Graph) -> list[str]:
    return [each.name for each in graph.branches.list()]


# ── what a branch begins as ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_branch_begins_as_its_base_and_makes_no_commit(graph: og.Graph):
    head = graph.snapshot().commit
    before = datetime.now(UTC) - timedelta(seconds=1)
    made = graph.branches.create("dev")
    assert (made.name, made.head, made.base_commit) == ("dev", head.id, head.id)
    assert before < made.created_at < datetime.now(UTC) + timedelta(seconds=1)
    assert graph.branches.show("dev") == made
    assert graph.snapshot("dev").commit == head
    assert [*graph.export(branch="dev")] == [*graph.export()]
    assert graph.commits.list("dev") == graph.commits.list()
    assert lines(graph, "dev") == {}


def test_a_branch_and_its_base_go_on_apart(graph: og.Graph):
    fork = graph.snapshot().commit
    graph.branches.create("dev")
    on_dev = graph.load([film("f3")], "append", branch="dev").commit
    on_main = graph.load([film("f4")], "append").commit
    assert codes(graph, "dev") == ["f1", "f2", "f3"]
    assert codes(graph) == ["f1", "f2", "f4"]
    assert (on_dev.parent_id, on_main.parent_id) == (fork.id, fork.id)
    assert (on_dev.branch, on_main.branch) == ("dev", "main")
    assert [each.id for each in graph.commits.list("dev", limit=2)] == [on_dev.id, fork.id]
    assert [each.id for each in graph.commits.list(limit=2)] == [on_main.id, fork.id]
    assert graph.branches.show("dev").head == on_dev.id
    assert graph.branches.show("dev").base_commit == fork.id


def test_a_branch_of_a_branch_of_a_branch_begins_as_the_last_one(graph: og.Graph):
    graph.branches.create("a")
    graph.load([film("in a")], "append", branch="a")
    graph.branches.create("b", "a")
    graph.load(saw("bo", "in a"), "append", branch="b")
    graph.branches.create("c", base="b")
    graph.load([film("in c")], "append", branch="c")
    graph.load([film("late in a")], "append", branch="a")
    assert codes(graph, "a") == ["f1", "f2", "in a", "late in a"]
    assert codes(graph, "b") == ["f1", "f2", "in a"]
    assert codes(graph, "c") == ["f1", "f2", "in a", "in c"]
    assert sorted(row["name"] for row in graph.table("Person", branch="c")) == ["ann", "bo"]
    assert codes(graph) == ["f1", "f2"]
    # Each commit was made once, and all who descend from it know it.
    assert [each.branch for each in graph.commits.list("c")] == ["c", "b", "a", "main", "main"]
    for branch in ("a", "b", "c", "main"):
        assert_graph_is_whole(graph, branch)


@pytest.mark.parametrize(
    "moment",
    [
        lambda then: then,
        lambda then: pickle.loads(pickle.dumps(then)),
        lambda then: then.commit,
        lambda then: then.commit.id,
        lambda then: then.commit.manifest_version,
    ],
    ids=["snapshot", "pickled snapshot", "commit", "commit id", "manifest version"],
)
def test_a_branch_begins_as_a_moment_of_the_past(graph: og.Graph, moment: Callable[[og.Snapshot], Any]):
    then = graph.snapshot()
    graph.load([film("f3")], "append")
    graph.load([film("f1")], "overwrite")
    made = graph.branches.create("then", at=moment(then))
    assert (made.head, made.base_commit) == (then.commit.id, then.commit.id)
    assert codes(graph, "then") == ["f1", "f2"]
    assert graph.commits.list("then")[0] == then.commit
    graph.load([film("f5")], "append", branch="then")
    assert codes(graph, "then") == ["f1", "f2", "f5"]
    assert codes(graph) == ["f1"]


def test_a_moment_of_another_branch_needs_no_base_but_a_number_does(graph: og.Graph):
    graph.branches.create("dev")
    on_dev = graph.load([film("f3")], "append", branch="dev").commit
    on_main = graph.load([film("f4")], "append").commit
    assert on_dev.manifest_version == on_main.manifest_version
    graph.branches.create("by id", at=on_dev.id)
    graph.branches.create("by number", "dev", at=on_dev.manifest_version)
    graph.branches.create("main's", at=on_dev.manifest_version)
    assert codes(graph, "by id") == codes(graph, "by number") == ["f1", "f2", "f3"]
    assert codes(graph, "main's") == ["f1", "f2", "f4"]


def test_a_number_is_found_in_the_whole_history_of_a_branch_and_not_beside_it(graph: og.Graph):
    """A branch goes on counting where it began, and what came before it is on the line of its parent."""
    graph.branches.create("dev")
    graph.load([film("f3")], "append", branch="dev")
    graph.branches.create("child", "dev")
    graph.load([film("f4")], "append", branch="child")
    graph.load([film("of main")], "append")
    graph.load([film("of main too")], "append")
    history = {each.manifest_version: each for each in graph.commits.list("child")}
    assert sorted(history) == [1, 2, 3, 4]
    for handle in (graph, og.open(graph.uri, mode="r")):
        seen = [codes(handle, "child", snapshot=number) for number in range(1, 5)]
        assert seen == [[], ["f1", "f2"], ["f1", "f2", "f3"], ["f1", "f2", "f3", "f4"]]
        for number, commit in history.items():
            assert handle.snapshot("child", at=number).commit == commit
        for number in (0, 5):
            with pytest.raises(NotFoundError):
                handle.snapshot("child", at=number)


def test_a_base_or_a_moment_that_is_not_there_makes_no_branch(graph: og.Graph):
    other = new_graph()
    for base, at, error in (
        ("nope", None, NotFoundError),
        ("main", "nope", NotFoundError),
        ("main", 99, NotFoundError),
        ("main", other.snapshot().commit, NotFoundError),
        ("main", other.snapshot(), InvalidInputError),
        ("main", 1.5, InvalidInputError),
        ("", None, InvalidInputError),
    ):
        with pytest.raises(error):
            graph.branches.create("dev", base, at=at)
    assert names(graph) == ["main"]


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_any_names_live_side_by_side(graph: og.Graph):
    for name in SIDE_BY_SIDE:
        graph.branches.create(name)
        graph.load([film(f"of {name}")], "append", branch=name)
    assert names(graph) == ["main", *sorted(SIDE_BY_SIDE)]
    fresh = og.open(graph.uri, mode="r")
    for name in SIDE_BY_SIDE:
        assert codes(fresh, name) == ["f1", "f2", f"of {name}"]
        assert fresh.branches.show(name).name == name
    graph.branches.delete("a")
    assert names(graph) == ["main", *sorted({*SIDE_BY_SIDE} - {"a"})]
    assert codes(graph, "a/b") == ["f1", "f2", "of a/b"]


NO_NAMES = ["", " ", " dev", "dev ", "a//b", "/a", "a/", "a\nb", "a\x00", "\ud800", "x" * 300, None, 7, b"dev"]


@pytest.mark.parametrize("name", [*NO_NAMES, "01ARZ3NDEKTSV4RRFFQ69G5FAV"])
def test_a_name_that_cannot_be_one_is_refused_with_the_reason(graph: og.Graph, name: Any):
    with pytest.raises(InvalidInputError, match="is no branch name") as refused:
        graph.branches.create(name)
    assert refused.value.help
    assert names(graph) == ["main"]


@pytest.mark.parametrize("name", ["dev", "main"])
def test_a_name_that_is_taken_is_refused_and_what_has_it_is_untouched(graph: og.Graph, name: str):
    graph.branches.create("dev")
    graph.load([film("f3")], "append", branch="dev")
    before = graph.branches.list()
    with pytest.raises(AlreadyExistsError, match=f'"{name}"') as refused:
        graph.branches.create(name, at=1)
    assert refused.value.details == {"branch": name}
    assert "branch delete" in refused.value.help
    assert graph.branches.list() == before
    assert codes(graph, "dev") == ["f1", "f2", "f3"]


def test_of_two_that_make_a_branch_of_one_name_one_does(graph: og.Graph):
    other = og.open(graph.uri)
    old = graph.snapshot().commit

    def overtake(_name: str) -> None:
        other.load([film("f3")], "append")
        other.branches.create("dev")

    with armed({"branch_create.post_native": Once(Call(overtake))}), pytest.raises(AlreadyExistsError):
        graph.branches.create("dev", at=old)
    assert codes(graph, "dev") == ["f1", "f2", "f3"]


# ── lists ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_main_comes_first_and_the_others_by_name(graph: og.Graph):
    for name in ("zz", "aa", "main2"):
        graph.branches.create(name)
    head = graph.snapshot().commit.id
    assert [(each.name, each.head) for each in graph.branches.list()] == [
        (name, head) for name in ("main", "aa", "main2", "zz")
    ]
    adapter = graph._repository.adapter
    made = json.loads(adapter.read(adapter.key("_refs/branches/main.json")))
    assert graph.branches.show("main").to_dict() == {
        "name": "main",
        "head": head,
        "base_commit": None,
        "created_at": made["created_at"],
        "problem": None,
    }


def test_a_branch_is_told_as_json(graph: og.Graph):
    made = graph.branches.create("dev")
    micros = (made.created_at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    told = {"name": "dev", "head": made.head, "base_commit": made.head, "created_at": micros, "problem": None}
    assert made.to_dict() == told


def test_objects_that_are_no_branches_are_not_listed(graph: og.Graph):
    graph.branches.create("dev")
    adapter = graph._repository.adapter
    for stray in ("_refs/branches/dev.json.tmp", "_refs/branches/a%2fb.json", "_refs/branches/.json", "_refs/x.json"):
        adapter.write(adapter.key(stray), b"{}")
    assert names(graph) == ["main", "dev"]


def test_a_branch_that_goes_while_they_are_listed_is_left_out(graph: og.Graph):
    for name in ("a", "b", "c"):
        graph.branches.create(name)
    repository = repository_at(
        DeletingAdapter(graph._repository.adapter, "_refs/branches/b.json"), graph._repository.main
    )
    assert [each.name for each in og.Graph(repository).branches.list()] == ["main", "a", "c"]


class DeletingAdapter(FaultyAdapter):
    """Removes one object as soon as objects were listed."""

    def __init__(self, inner: Any, name: str) -> None:
        super().__init__(inner)
        self.name = name

    def _around(self, verb: Any, key: Any, act: Callable[[], Any]) -> Any:
        done = act()
        if verb == "list_dir":
            done = iter([*done])
            self.inner.delete(self.inner.key(self.name))
        return done


# ── deleting ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_deleted_branch_is_gone_for_everybody(graph: og.Graph):
    graph.branches.create("dev")
    other = og.open(graph.uri)
    assert codes(other, "dev") == ["f1", "f2"]
    graph.branches.delete("dev")
    for handle in (graph, other, og.open(graph.uri)):
        assert names(handle) == ["main"]
        for verb in (
            lambda handle=handle: codes(handle, "dev"),
            lambda handle=handle: handle.snapshot("dev"),
            lambda handle=handle: handle.commits.list("dev"),
            lambda handle=handle: handle.branches.show("dev"),
            lambda handle=handle: handle.load([film("f3")], "append", branch="dev"),
            lambda handle=handle: handle.mutate(ADD, params={"code": "f3"}, branch="dev"),
            lambda handle=handle: handle.maintain.ensure_indices("dev"),
            lambda handle=handle: handle.bulk(branch="dev"),
        ):
            with pytest.raises(NotFoundError, match='no branch "dev"') as missing:
                verb()
            assert "branch list" in missing.value.help


def test_main_cannot_be_deleted_and_what_is_missing_is_not_found(graph: og.Graph):
    with pytest.raises(InvalidInputError, match="main cannot be deleted"):
        graph.branches.delete("main")
    with pytest.raises(NotFoundError, match='no branch "dev"'):
        graph.branches.delete("dev")
    assert names(graph) == ["main"]


def test_children_of_a_deleted_branch_go_on_reading_and_writing(graph: og.Graph):
    graph.branches.create("parent")
    graph.load([film("of parent")], "append", branch="parent")
    graph.branches.create("child", "parent")
    graph.branches.delete("parent")
    for handle in (graph, og.open(graph.uri)):
        assert codes(handle, "child") == ["f1", "f2", "of parent"]
    graph.load([film("of child")], "append", branch="child")
    graph.load(saw("bo", "of parent"), "append", branch="child")
    graph.branches.create("grandchild", "child")
    assert codes(og.open(graph.uri), "grandchild") == ["f1", "f2", "of child", "of parent"]
    assert [each.branch for each in graph.commits.list("grandchild")] == ["child", "child", "parent", "main", "main"]
    assert_graph_is_whole(graph, "child")


def test_commits_of_a_deleted_branch_are_read_by_their_ids(graph: og.Graph):
    graph.branches.create("dev")
    first = graph.load([film("f3")], "append", branch="dev").commit
    second = graph.load([film("f4")], "append", branch="dev").commit
    graph.branches.create("other", "dev")
    graph.load([film("f5")], "append", branch="other")
    graph.branches.delete("other")
    graph.branches.delete("dev")
    for handle in (graph, og.open(graph.uri), og.open(graph.uri, mode="r")):
        for moment in (first, first.id):
            assert codes(handle, snapshot=moment) == ["f1", "f2", "f3"]
        assert codes(handle, snapshot=second.id) == ["f1", "f2", "f3", "f4"]
        assert handle.commits.show(second.id) == second
    # So whoever deleted one by mistake has it back.
    graph.branches.create("dev", at=second.id)
    assert codes(graph, "dev") == ["f1", "f2", "f3", "f4"]
    graph.load([film("f6")], "append", branch="dev")
    assert codes(graph, "dev") == ["f1", "f2", "f3", "f4", "f6"]


# ── deleting and making anew ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_branch_made_anew_shows_nothing_of_the_old_one(graph: og.Graph):
    open_all_along = og.open(graph.uri)
    graph.branches.create("dev")
    graph.load([film("old")], "append", branch="dev")
    graph.load([film("older")], "append", branch="dev")
    assert codes(open_all_along, "dev") == ["f1", "f2", "old", "older"]
    old = line_of(graph, "dev")
    graph.branches.delete("dev")
    graph.load([film("f3")], "append")
    graph.branches.create("dev")
    assert line_of(graph, "dev") != old
    for handle in (graph, open_all_along, og.open(graph.uri)):
        assert codes(handle, "dev") == ["f1", "f2", "f3"]
    # Who knew the old one writes to the new one.
    open_all_along.load([film("new")], "append", branch="dev")
    for handle in (graph, open_all_along, og.open(graph.uri)):
        assert codes(handle, "dev") == ["f1", "f2", "f3", "new"]
    assert [each.branch for each in graph.commits.list("dev")] == ["dev", "main", "main", "main"]


@pytest.mark.parametrize("point", [MUTATION_POST_STAGE_PRE_EFFECT_GATE, PUBLISH_BEFORE_COMMIT])
@pytest.mark.parametrize("is_first", [True, False], ids=["first write", "later write"])
@pytest.mark.parametrize("is_made_anew", [True, False], ids=["made anew", "deleted"])
def test_a_writer_that_slept_through_the_end_of_its_branch_is_told_and_the_new_one_has_nothing_of_it(
    graph: og.Graph, point: str, is_first: bool, is_made_anew: bool
):
    other = og.open(graph.uri)
    graph.branches.create("dev")
    if not is_first:
        graph.load([film("f3")], "append", branch="dev")

    def replace(_name: str) -> None:
        other.branches.delete("dev")
        if is_made_anew:
            other.branches.create("dev")
            other.load([film("new")], "append", branch="dev")

    error = BranchReplacedError if is_made_anew else NotFoundError
    with armed({point: Once(Call(replace))}), pytest.raises(error, match="dev"):
        graph.mutate(ADD, params={"code": "late"}, branch="dev")
    assert codes(graph) == ["f1", "f2"]
    assert graph.recoveries.pending() == []
    if is_made_anew:
        for handle in (graph, other, og.open(graph.uri)):
            assert codes(handle, "dev") == ["f1", "f2", "new"]
        graph.mutate(ADD, params={"code": "again"}, branch="dev")
        assert codes(og.open(graph.uri), "dev") == ["again", "f1", "f2", "new"]
        assert_graph_is_whole(graph, "dev")


# ── answers that are lost ────────────────────────────────────────────────────────────────────────────────────────────


def faulty(graph: og.Graph, *faults: Fault) -> og.Graph:
    return og.Graph(repository_at(FaultyAdapter(graph._repository.adapter, *faults), graph._repository.main))


def test_a_branch_whose_answer_was_lost_is_made(graph: og.Graph):
    handle = faulty(graph, Fault(verb="write_if_absent", error=TimeoutError(), moment="after"))
    made = handle.branches.create("dev")
    assert graph.branches.show("dev") == made


def test_a_branch_that_could_not_be_made_is_not_there_and_the_next_try_makes_it(graph: og.Graph):
    handle = faulty(graph, Fault(verb="write_if_absent", error=TimeoutError()))
    with pytest.raises(StorageError):
        handle.branches.create("dev")
    assert names(graph) == ["main"]
    handle.branches.create("dev")
    assert names(graph) == ["main", "dev"]


@pytest.mark.parametrize("lost", ["the look at main", "the answer and the look for it"])
def test_a_branch_of_which_it_is_not_known_whether_it_was_made_says_so(graph: og.Graph, lost: str):
    faults = [Fault(verb="read", error=TimeoutError(), name_contains="main.json")]
    if lost != "the look at main":
        faults = [
            Fault(verb="write_if_absent", error=TimeoutError(), moment="after"),
            Fault(verb="read", error=TimeoutError(), name_contains="dev.json"),
        ]
    with pytest.raises(StorageError, match=r"not known whether .*dev\.json was made") as told:
        faulty(graph, *faults).branches.create("dev")
    assert told.value.condition is StorageCondition.UNKNOWN
    assert names(graph) == ["main", "dev"]


def test_a_lost_answer_does_not_take_another_one_s_branch_for_its_own(graph: og.Graph):
    graph.branches.create("dev", at=1)
    handle = faulty(graph, Fault(verb="write_if_absent", error=TimeoutError(), moment="after"))
    with pytest.raises(AlreadyExistsError):
        handle.branches.create("dev")
    assert codes(graph, "dev") == []


def test_a_delete_whose_answer_was_lost_is_done(graph: og.Graph):
    graph.branches.create("dev")
    faulty(graph, Fault(verb="delete", error=TimeoutError(), moment="after")).branches.delete("dev")
    assert names(graph) == ["main"]


def test_a_delete_that_failed_says_so_and_leaves_the_branch(graph: og.Graph):
    graph.branches.create("dev")
    handle = faulty(graph, Fault(verb="delete", error=TimeoutError()))
    with pytest.raises(StorageError):
        handle.branches.delete("dev")
    assert codes(handle, "dev") == ["f1", "f2"]
    handle.branches.delete("dev")
    assert names(graph) == ["main"]


# ── handles ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_handle_for_reading_reads_branches_and_changes_none(graph: og.Graph):
    graph.branches.create("dev")
    reader = og.open(graph.uri, mode="r")
    assert names(reader) == ["main", "dev"]
    for change in (
        lambda: reader.branches.create("more"),
        lambda: reader.branches.delete("dev"),
        lambda: reader.load([], "append", branch="more", base="main"),
    ):
        with pytest.raises(ReadOnlyError):
            change()
    assert names(graph) == ["main", "dev"]


def test_after_a_close_branches_are_refused(graph: og.Graph):
    branches = graph.branches
    graph.close()
    for call in (lambda: branches.list(), lambda: branches.create("dev"), lambda: graph.branches):
        with pytest.raises(ClosedError):
            call()


# ── load(base=) ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_load_makes_the_branch_that_it_is_for_if_it_is_missing(graph: og.Graph):
    graph.branches.create("base")
    graph.load([film("of base")], "append", branch="base")
    first = graph.load([film("f3")], "append", branch="dev", base="base")
    assert (first.branch, first.base_branch, first.branch_created) == ("dev", "base", True)
    second = graph.load([film("f4")], "append", branch="dev", base="base")
    assert (second.branch, second.base_branch, second.branch_created) == ("dev", "base", False)
    plain = graph.load([film("f5")], "append", branch="dev")
    assert (plain.base_branch, plain.branch_created) == (None, False)
    assert codes(graph, "dev") == ["f1", "f2", "f3", "f4", "f5", "of base"]
    assert {key: first.to_dict()[key] for key in ("branch", "base_branch", "branch_created")} == {
        "branch": "dev",
        "base_branch": "base",
        "branch_created": True,
    }
    # The base was to make it from; now that it is there, it need not be.
    graph.branches.delete("base")
    assert graph.load([film("f6")], "append", branch="dev", base="base").branch_created is False
    assert graph.load([film("f7")], "append", branch="main", base="dev").branch_created is False


def test_without_a_base_a_load_makes_no_branch(graph: og.Graph):
    with pytest.raises(NotFoundError, match='"dev"'):
        graph.load([film("f3")], "append", branch="dev")
    with pytest.raises(NotFoundError, match='"nope"'):
        graph.load([film("f3")], "append", branch="dev", base="nope")
    with pytest.raises(InvalidInputError, match="no load mode"):
        graph.load([film("f3")], "replace", branch="dev", base="main")
    assert names(graph) == ["main"]


def test_a_load_that_fails_leaves_the_branch_that_it_made(graph: og.Graph):
    with pytest.raises(InvalidInputError):
        graph.load([{"type": "Nope", "data": {}}], "append", branch="dev", base="main")
    assert names(graph) == ["main", "dev"]
    assert graph.branches.show("dev").head == graph.snapshot().commit.id
    assert codes(graph, "dev") == ["f1", "f2"]


def test_a_load_repeated_under_its_name_is_known_on_every_branch_that_has_it(graph: og.Graph):
    graph.load([film("f3")], "append", load_id="monday")
    graph.branches.create("dev")
    assert graph.load([film("f3")], "append", branch="dev", load_id="monday").total == 0
    graph.load([film("f4")], "append", branch="dev", load_id="tuesday")
    assert graph.load([film("f4")], "append", load_id="tuesday").total == 1
    assert codes(graph, "dev") == codes(graph) == ["f1", "f2", "f3", "f4"]


def test_each_line_is_named_by_a_ulid_that_is_used_once(graph: og.Graph):
    seen = set()
    for _ in range(3):
        graph.branches.create("dev")
        graph.load([film("x")], "append", branch="dev")
        seen |= {line_of(graph, "dev"), *lines(graph, "dev").values()}
        graph.branches.delete("dev")
    assert len(seen) == 6
    assert all(re.fullmatch(r"b[0-9A-Z]{26}(\.[0-9A-Z]{26})?", each or "") for each in seen)
