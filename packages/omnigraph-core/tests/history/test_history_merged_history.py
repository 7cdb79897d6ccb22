"""Bases of merges and what they bring, on manifests of real branches, against what follows from all commits ever made.

Merges here are of branches that changed no rows, so that histories of any shape are made quickly. What is known of a
graph from outside is a dict of its commits; distances and bases in it are the matter of test_history_lineage.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

import pytest
from publish_world import another_handle, new_graph, publish_bare

from omnigraph.history import layout
from omnigraph.history.branches import list_branch_names
from omnigraph.history.commits import Commit
from omnigraph.history.lineage import merge_bases, reachable
from omnigraph.history.log import ManifestLog
from omnigraph.history.merged_history import commits_to_bring, finder, parting_commits
from omnigraph.history.repository import Repository
from omnigraph.tables.counting import count_table_calls
from omnigraph.write.branching import delete_branch, make_branch
from omnigraph.write.merge import MergeRequest, MergeResult, merge_branch


@dataclass
class Histories:
    """A graph of which only the commits matter, and every commit that was ever made in it."""

    repository: Repository = field(default_factory=new_graph)
    made: dict[str, Commit] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._note(self.log().state.head)

    def log(self, branch: str = "main") -> ManifestLog:
        return self.repository.newest(branch)

    def head(self, branch: str = "main") -> Commit:
        return self.log(branch).state.head

    def write(self, branch: str = "main", *, times: int = 1) -> Commit:
        """Commits that change nothing."""
        for _ in range(times):
            log = self.log(branch)
            after = publish_bare(log, branch=branch, line=log.branch.physical)
            self.repository.remember(after)
            self._note(after.state.head)
        return self.head(branch)

    def branch(self, name: str, base: str = "main", *, at: Commit | None = None) -> None:
        make_branch(self.repository, name, self.log(base) if at is None else self.repository.at_commit(at))

    def merge(self, source: str, into: str = "main") -> MergeResult:
        result = merge_branch(self.repository, MergeRequest(source=source, into=into))
        if result.commit is not None:
            self._note(result.commit)
        return result

    def base(self, source: str, target: str) -> Commit:
        """By what is known from outside."""
        return merge_bases(self.head(source).id, self.head(target).id, self.made)[0]

    def leading_to(self, branch: str) -> set[str]:
        return {each.id for each in reachable(self.head(branch).id, self.made.values())}

    def branches(self) -> list[str]:
        return ["main", *list_branch_names(self.repository.adapter)]

    def check_all(self) -> None:
        """Each branch knows what led to it, once, and each pair its base and what one of them lacks."""
        for target in self.branches():
            assert sorted(stored_ids(self.log(target))) == sorted(self.leading_to(target)), target
            for source in self.branches():
                self.check_pair(source, target)

    def check_pair(self, source: str, target: str) -> None:
        logs = self.log(source), self.log(target)
        base = self.base(source, target)
        expected = merge_bases(logs[0].state.head.id, logs[1].state.head.id, self.made)
        assert parting_commits(*logs) == expected, (source, target)
        brought = [each.id for each in commits_to_bring(*logs, base_id=base.id)]
        assert sorted(brought) == sorted(self.leading_to(source) - self.leading_to(target)), (source, target)

    def _note(self, commit: Commit) -> None:
        assert commit.id not in self.made
        self.made[commit.id] = commit


def stored_ids(log: ManifestLog) -> list[str]:
    """Every commit that a version has a row of; one that has two rows is there twice."""
    return [*(each.id for _, each in log._history()), *(each.id for each in log.state.recent)]


@pytest.fixture
def few_recent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs know few commits by heart, so that much is history in short stories."""
    monkeypatch.setattr(layout, "RECENT", 4)


@pytest.fixture
def graph() -> Histories:
    return Histories()


# ── any history ──────────────────────────────────────────────────────────────────────────────────────────────────────


def step(graph: Histories, random: Random, names: Iterator[str]) -> None:
    """Something happens to a branch: mostly commits and merges, sometimes a branch comes or goes."""
    branches = graph.branches()
    what = random.choices(["write", "merge", "branch", "branch_at", "delete"], [5, 6, 2, 1, 1])[0]
    one, other = random.choice(branches), random.choice(branches)
    if what == "write":
        graph.write(one, times=random.randint(1, 3))
    elif what == "merge" and one != other:
        graph.merge(one, other)
    elif what == "branch" and len(branches) < 6:
        graph.branch(next(names), one)
    elif what == "branch_at" and len(branches) < 6:
        graph.branch(next(names), at=random.choice([*graph.made.values()]))
    elif what == "delete" and one != "main":
        delete_branch(graph.repository, one)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.usefixtures("few_recent")
def test_bases_and_lacking_commits_are_right_in_any_history(seed: int):
    graph, random = Histories(), Random(seed)
    names = (f"b{number}" for number in range(1_000))
    for _ in range(90):
        step(graph, random, names)
    graph.check_all()
    # A history that is short on merges would show little.
    assert len([each for each in graph.made.values() if each.merged_parent_id]) > 10


@pytest.mark.usefixtures("few_recent")
def test_another_handle_finds_the_same(graph: Histories):
    graph.branch("dev")
    graph.write("dev", times=9)
    graph.write(times=7)
    graph.merge("dev")
    graph.write("dev", times=2)
    graph.repository = another_handle(graph.repository)
    graph.check_all()


# ── shapes that are known to be hard ─────────────────────────────────────────────────────────────────────────────────


def test_branches_that_each_merged_the_other_have_two_bases_and_bring_nothing_twice(graph: Histories):
    graph.branch("one")
    graph.branch("two")
    first, second = graph.write("one"), graph.write("two")
    # As if both were merged at the same moment.
    graph.branch("one-then", at=first)
    graph.merge("two", "one")
    graph.merge("one-then", "two")
    assert {first.id, second.id} <= graph.leading_to("one") & graph.leading_to("two")
    graph.check_all()
    graph.write("one")
    assert graph.merge("one", "two").base_commit in (first.id, second.id)
    graph.check_all()


def test_what_a_branch_of_a_branch_brought_is_not_brought_again(graph: Histories):
    graph.branch("parent")
    graph.write("parent", times=3)
    graph.branch("child", "parent")
    graph.write("child")
    graph.merge("child")
    graph.write("parent")
    graph.merge("child", "parent")
    graph.check_all()
    graph.merge("parent")
    graph.check_all()


def test_a_branch_that_keeps_merging_main_brings_only_its_own(graph: Histories):
    graph.branch("dev")
    for _ in range(3):
        graph.write("dev", times=2)
        graph.write(times=2)
        graph.merge("main", "dev")
        graph.check_all()
    graph.merge("dev")
    assert graph.merge("dev").outcome == "already_up_to_date"
    graph.check_all()


def test_a_branch_merged_long_ago_that_took_main_in_since_brings_only_what_is_new(graph: Histories):
    graph.branch("dev")
    graph.write("dev", times=2)
    graph.merge("dev")
    graph.write(times=40)
    graph.merge("main", "dev")
    graph.write("dev")
    brought = commits_to_bring(graph.log("dev"), graph.log(), base_id=graph.base("dev", "main").id)
    assert len(brought) == 2
    graph.merge("dev")
    graph.check_all()


def test_commits_of_a_branch_that_is_gone_are_brought_by_whoever_merged_them(graph: Histories):
    graph.branch("helper")
    gone = graph.write("helper", times=2)
    graph.branch("dev")
    graph.merge("helper", "dev")
    delete_branch(graph.repository, "helper")
    graph.merge("dev")
    assert gone.id in {each.id for each in graph.log().lineage().values()}
    assert graph.repository.at_commit(gone).state.head == gone
    graph.check_all()


def test_more_commits_than_are_known_by_heart_are_found_on_both_sides(graph: Histories):
    graph.branch("dev")
    graph.write("dev", times=layout.RECENT + 3)
    graph.write(times=layout.RECENT + 3)
    graph.check_all()
    assert graph.merge("dev").outcome == "merged"
    graph.check_all()


# ── what it costs ────────────────────────────────────────────────────────────────────────────────────────────────────


def reads_of(graph: Histories, source: str, target: str) -> tuple[int, int]:
    """How many fragments are read for the base, and for what the target lacks."""
    logs, base = (graph.log(source), graph.log(target)), graph.base(source, target)
    with count_table_calls() as for_base:
        parting_commits(*logs)
    with count_table_calls() as for_bringing:
        commits_to_bring(*logs, base_id=base.id)
    assert {*for_base, *for_bringing} <= {"log.read"}
    return for_base["log.read"], for_bringing["log.read"]


def test_a_branch_that_was_just_made_is_compared_without_reading_history(graph: Histories):
    graph.write(times=layout.RECENT + 5)
    graph.branch("dev")
    graph.write("dev", times=5)
    graph.write(times=5)
    assert len(graph.log()._history()) >= layout.RECENT
    assert reads_of(graph, "dev", "main") == (0, 0)
    assert reads_of(graph, "main", "dev") == (0, 0)


def test_a_branch_that_is_merged_again_and_again_is_compared_without_reading_history(graph: Histories):
    graph.write(times=layout.RECENT + 5)
    graph.branch("dev")
    for _ in range(3):
        graph.write("dev")
        graph.write()
        assert reads_of(graph, "dev", "main") == (0, 0)
        graph.merge("dev")


def test_a_base_on_the_line_of_main_is_found_without_reading_history_however_often_a_branch_took_main_in(
    graph: Histories,
):
    graph.write(times=layout.RECENT + 5)
    graph.branch("dev")
    for _ in range(3):
        graph.write("dev")
        graph.write()
        graph.merge("main", "dev")
    graph.write("dev")
    assert reads_of(graph, "dev", "main")[0] == 0


def test_what_others_merged_into_the_target_is_read_because_it_may_hold_commits_of_the_source(graph: Histories):
    graph.branch("one")
    graph.branch("two")
    graph.write("one")
    graph.write("two")
    graph.merge("one")
    for_base, for_bringing = reads_of(graph, "two", "main")
    assert for_base == len(graph.log().table.fragment_rows) - 1
    assert for_bringing == 0
    graph.check_all()


def test_a_finder_reads_history_once_and_only_for_what_is_old(graph: Histories):
    first = graph.head()
    graph.write(times=layout.RECENT + 5)
    log = graph.log()
    find = finder(log)
    with count_table_calls() as counts:
        assert find(log.state.head.id) == log.state.head
        assert not counts
        assert find(first.id) == first
        assert find("nowhere") is None
    assert counts == {"log.read": len(log.table.fragment_rows) - 1}
