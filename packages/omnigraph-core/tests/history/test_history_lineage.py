"""Merge bases, first parents and orders, against what follows from the distances of all pairs of commits."""

from __future__ import annotations

import math
from itertools import product

import pytest
from commit_graphs import chain, commit, histories
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.errors import FormatError
from omnigraph.history.commits import Commit
from omnigraph.history.lineage import first_parents, in_order, merge_bases, parents_of, reachable


class Store:
    """Commits by id, which notes what it was asked for."""

    def __init__(self, *commits: Commit) -> None:
        self.commits = {each.id: each for each in commits}
        self.asked: list[str] = []

    def find(self, commit_id: str) -> Commit | None:
        self.asked.append(commit_id)
        return self.commits.get(commit_id)


def merge_base(source: str, target: str, commits: dict[str, Commit]) -> Commit | None:
    return next(iter(merge_bases(source, target, commits)), None)


def all_distances(commits: dict[str, Commit]) -> dict[tuple[str, str], float]:
    """The steps from each commit to each other one, by Floyd and Warshall."""
    steps = {(one, other): 0 if one == other else math.inf for one, other in product(commits, repeat=2)}
    steps |= {(each.id, parent): 1 for each in commits.values() for parent in parents_of(each) if parent in commits}
    for middle, one, other in product(commits, repeat=3):
        steps[one, other] = min(steps[one, other], steps[one, middle] + steps[middle, other])
    return steps


def naive_base(source: str, target: str, commits: dict[str, Commit]) -> Commit | None:
    if source not in commits or target not in commits:
        return None
    steps = all_distances(commits)
    sums = {each: steps[source, each] + steps[target, each] for each in commits}
    common = [each for each in commits if sums[each] < math.inf]
    tops = [each for each in common if not any(0 < steps[other, each] < math.inf for other in common)]
    nearest = [commits[each] for each in tops if sums[each] == min(sums[top] for top in tops)]
    return max(nearest, key=lambda each: (each.manifest_version, each.created_at, each.id), default=None)


# ── merge bases ──────────────────────────────────────────────────────────────────────────────────────────────────


@given(histories(), st.data())
@settings(max_examples=400)
def test_the_base_is_the_nearest_common_commit_whatever_the_shape(history, data):
    names = [each.id for each in history]
    gone = data.draw(st.sets(st.sampled_from(names), max_size=2))
    source, target = data.draw(st.sampled_from(names)), data.draw(st.sampled_from(names))
    known = {each.id: each for each in history if each.id not in gone}
    assert merge_base(source, target, known) == naive_base(source, target, known)


def test_what_another_common_commit_descends_from_is_no_base_however_near_it_is():
    # s merged a long line that began at f into a: f is four steps away, and a is two.
    line = chain(["a", "f", "x1", "x2", "x3"])
    merged = commit("s", "a", "x3", at=9)
    known = Store(*line, merged).commits
    assert merge_base("s", "f", known) == merge_base("f", "s", known) == known["f"]


def test_two_branches_are_compared_with_the_commit_that_both_began_at():
    main = chain("abc")
    source, target = chain(["s1", "s2"], after="b"), chain(["t1"], after="b")
    assert merge_base("s2", "t1", Store(*main, *source, *target).commits) == main[1]


def test_a_head_that_descends_from_the_other_has_it_as_base():
    store = Store(*chain("abcde"))
    assert merge_base("e", "c", store.commits) == merge_base("c", "e", store.commits) == store.commits["c"]
    assert merge_base("c", "c", store.commits) == store.commits["c"]


def test_after_a_merge_the_merged_head_is_the_base():
    main, side = chain("ab"), chain(["s1", "s2"], after="a", at=2)
    merge = commit("m", "b", "s2", at=5)
    later = chain(["s3"], after="s2", at=6)
    assert merge_base("s3", "m", Store(*main, *side, merge, *later).commits) == side[1]


def test_of_bases_that_are_equally_near_the_newest_is_taken():
    # Two branches that each merged the other.
    root, one, two = commit("r"), commit("x", "r", version=2), commit("y", "r", version=2)
    crossed = [commit("p", "x", "y", at=3), commit("q", "y", "x", at=3)]
    assert merge_base("p", "q", Store(root, one, two, *crossed).commits) == two
    newer = commit("x", "r", version=2, at=1)
    assert merge_base("p", "q", Store(root, newer, two, *crossed).commits) == newer
    newest = commit("y", "r", version=3)
    assert merge_base("p", "q", Store(root, newer, newest, *crossed).commits) == newest


def test_commits_that_share_nothing_have_no_base():
    store = Store(*chain("ab"), *chain("xy"))
    assert merge_base("b", "y", store.commits) is None
    assert merge_base("b", "nowhere", store.commits) is None
    assert merge_base("nowhere", "b", store.commits) is None
    assert merge_base("nowhere", "nowhere", store.commits) is None


def test_a_parent_that_is_not_known_ends_its_path():
    assert merge_base("s", "t", Store(commit("s", "gone"), commit("t", "gone")).commits) is None


# ── first parents ────────────────────────────────────────────────────────────────────────────────────────────────


def test_first_parents_are_followed_and_merged_ones_are_not():
    main, side = chain("abc"), chain("xy", after="a")
    store = Store(*main, *side, commit("m", "c", "y"))
    assert [each.id for each in first_parents("m", store.find)] == ["m", "c", "b", "a"]


def test_first_parents_are_asked_for_as_they_are_wanted():
    store = Store(*chain("abc"))
    walk = first_parents("c", store.find)
    assert not store.asked
    assert next(walk).id == "c"
    assert store.asked == ["c"]


def test_first_parents_end_where_history_does():
    assert list(first_parents("nowhere", Store().find)) == []
    assert [each.id for each in first_parents("b", Store(commit("b", "gone")).find)] == ["b"]


# ── orders ───────────────────────────────────────────────────────────────────────────────────────────────────────


def naive_order(commits: list[Commit]) -> list[Commit]:
    """Again and again the newest of those whose children have all come."""
    left, found = list(commits), []
    while left:
        waiting = {parent for each in left for parent in parents_of(each)}
        found.append(
            max((each for each in left if each.id not in waiting), key=lambda each: (each.created_at, each.id))
        )
        left.remove(found[-1])
    return found


@given(histories(), st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_commits_come_before_their_parents_and_else_newest_first(history, random):
    expected = naive_order(history)
    random.shuffle(history)
    assert list(in_order(history)) == expected


def test_a_commit_that_is_given_twice_comes_once():
    main = chain("abc")
    assert [each.id for each in in_order([*main, *main])] == ["c", "b", "a"]


def test_parents_that_are_not_given_do_not_matter():
    main = chain("abcd")
    assert [each.id for each in in_order(main[2:])] == ["d", "c"]
    assert in_order([]) == ()


def test_a_long_history_is_put_in_order_at_once():
    main = chain([f"m{number:05}" for number in range(20_000)])
    assert list(in_order(main)) == main[::-1]


@pytest.mark.parametrize("circle", [[commit("a", "a")], [commit("a", "b"), commit("b", "a"), commit("c", "a")]])
def test_commits_that_descend_from_themselves_are_damage(circle):
    with pytest.raises(FormatError, match="descend from themselves"):
        in_order(circle)


@given(histories(), st.data())
def test_what_a_head_descends_from_is_reachable_and_nothing_else(history, data):
    head = data.draw(st.sampled_from(history))
    steps = all_distances({each.id: each for each in history})
    assert reachable(head.id, history) == tuple(each for each in history if steps[head.id, each.id] < math.inf)
    assert reachable("nowhere", history) == ()


def test_equal_parents_count_once():
    assert parents_of(commit("a", "b", "b")) == ("b",)
    assert parents_of(commit("a", "b", "c")) == ("b", "c")
    assert parents_of(commit("a")) == ()
