"""``broken_history`` finds each way in which a history can be wrong, and nothing in one that is right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from commit_graphs import commit
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.history.commits import Commit
from omnigraph.history.history_check import broken_history

#   main   one ── two ── three ─────── five ── six       five merges the branch, six what came on it later
#                  └── left ── right ──┘        │
#   bx                           └── late ──────┘
WHOLE = (
    commit("one", version=1),
    commit("two", "one", version=2),
    commit("three", "two", version=3),
    commit("left", "two", version=3, line="bx", branch="x"),
    commit("right", "left", version=4, line="bx", branch="x"),
    commit("late", "right", version=5, line="bx", branch="x"),
    commit("five", "three", "right", version=4),
    commit("six", "five", "late", version=5),
)


def changed(name: str, **facts: object) -> Callable[[Sequence[Commit]], list[Commit]]:
    return lambda commits: [replace(each, **facts) if each.id == name else each for each in commits]


def without(name: str) -> Callable[[Sequence[Commit]], list[Commit]]:
    return lambda commits: [each for each in commits if each.id != name]


@given(st.permutations(WHOLE))
def test_a_history_with_branches_and_merges_is_right_in_any_order(commits):
    assert broken_history("six", commits) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda commits: [*commits, commits[3]], ["commits are there twice: ['left']"]),
        (without("six"), ["the head six is none of the commits"]),
        (
            without("left"),
            ["commit right has an unknown parent: left"],
        ),
        (
            without("late"),
            ["commit six has an unknown parent: late"],
        ),
        (
            lambda commits: [*commits, commit("zero", version=1, line="by")],
            ["history has 2 beginnings: ['one', 'zero']", "commits did not lead to the head: ['zero']"],
        ),
        (changed("six", merged_parent_id=None), ["commits did not lead to the head: ['late']"]),
        (
            changed("late", line="b0"),
            ["history is no line: on the line b0 late comes after five and follows right"],
        ),
        (
            changed("late", parent_id="left", manifest_version=4),
            ["history is no line: on the line bx right comes after late and follows left"],
        ),
        (
            changed("late", manifest_version=6),
            ["manifest versions have gaps: commit late is 6, and not 5"],
        ),
        (changed("left", manifest_version=2), ["commit left is 2, and not 3", "commit right is 4, and not 3"]),
    ],
    ids=["twice", "head", "parent", "merged", "beginnings", "astray", "mixed", "forked", "gap", "jump"],
)
def test_what_is_wrong_with_a_history_is_told(change, said):
    found = broken_history("six", change(WHOLE))
    assert len(found) >= len(said)
    for expected in said:
        assert any(expected in each for each in found), found


def test_commits_that_descend_from_themselves_are_told():
    commits = [commit("a", "b", version=2), commit("b", "a", version=1)]
    assert any("descend from themselves" in each for each in broken_history("a", commits))
    assert any("0 beginnings" in each for each in broken_history("a", commits))
