"""The two tables of recovery: each line of them, and which line counts where several hold."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from omnigraph.write.recovery.verdict import (
    Decision,
    OwnVersion,
    PlanFacts,
    TableClass,
    TableFacts,
    classify,
    decide,
)

UNTOUCHED = TableFacts(
    key="node:Film", expected=7, pinned=7, newest=7, restores=None, own=OwnVersion.NONE, is_published=False
)
"""A table that was to be built on version 7, and is at version 7."""

EXACT, MISPLACED = OwnVersion.EXACT, OwnVersion.MISPLACED

CLASSES = {
    "the newest version is older than the published one": ({"newest": 6}, TableClass.INVARIANT_VIOLATION),
    "its commit is in the history": (
        {"is_published": True, "pinned": 8, "newest": 8},
        TableClass.ROLLED_PAST_EXPECTED,
    ),
    "the branch shows the table no more": ({"pinned": None, "newest": None}, TableClass.NO_MOVEMENT),
    "others have published since": ({"pinned": 8, "newest": 8}, TableClass.UNEXPECTED_AT_P1),
    "its own version is there": ({"newest": 8, "own": EXACT}, TableClass.ROLLED_PAST_EXPECTED),
    "its own version is there, below others": ({"newest": 11, "own": EXACT}, TableClass.ROLLED_PAST_EXPECTED),
    "its own version is there, and was taken back": (
        {"newest": 9, "restores": 7, "own": EXACT},
        TableClass.ROLLED_PAST_EXPECTED,
    ),
    "its transaction landed among others": ({"newest": 9, "own": MISPLACED}, TableClass.INCOMPLETE_PHASE_B),
    "nothing happened": ({}, TableClass.NO_MOVEMENT),
    "the newest version shows the published one again": ({"newest": 9, "restores": 7}, TableClass.NO_MOVEMENT),
    "somebody else's version lies there": ({"newest": 8}, TableClass.UNEXPECTED_EFFECT_IDENTITY),
    "several of others lie there": ({"newest": 9}, TableClass.UNEXPECTED_MULTISTEP),
    "several lie there, and the newest shows another one": (
        {"newest": 9, "restores": 6},
        TableClass.UNEXPECTED_MULTISTEP,
    ),
}
"""Each line of the table of classes, with nothing else that holds before it."""


@pytest.mark.parametrize("line", CLASSES)
def test_what_lies_there_has_the_class_of_its_line(line: str):
    facts, expected = CLASSES[line]
    assert classify(replace(UNTOUCHED, **facts)) is expected


CLASS_ORDER = [
    (
        "an older newest version counts before a commit",
        {"newest": 6, "is_published": True},
        TableClass.INVARIANT_VIOLATION,
    ),
    (
        "an older newest version counts before what others published",
        {"pinned": 9, "newest": 8},
        TableClass.INVARIANT_VIOLATION,
    ),
    (
        "a commit counts before what others published",
        {"is_published": True, "pinned": 9, "newest": 9},
        TableClass.ROLLED_PAST_EXPECTED,
    ),
    (
        "a commit counts where the table is not shown any more",
        {"is_published": True, "pinned": None, "newest": None},
        TableClass.ROLLED_PAST_EXPECTED,
    ),
    (
        "what others published counts before its own version",
        {"pinned": 8, "newest": 8, "own": EXACT},
        TableClass.UNEXPECTED_AT_P1,
    ),
    (
        "what others published counts before its transaction",
        {"pinned": 8, "newest": 9, "own": MISPLACED},
        TableClass.UNEXPECTED_AT_P1,
    ),
    (
        "its transaction counts before a newest version that was put right",
        {"newest": 9, "restores": 7, "own": MISPLACED},
        TableClass.INCOMPLETE_PHASE_B,
    ),
]


@pytest.mark.parametrize(
    ("facts", "expected"), [case[1:] for case in CLASS_ORDER], ids=[case[0] for case in CLASS_ORDER]
)
def test_of_lines_that_hold_the_first_is_the_class(facts: dict, expected: TableClass):
    assert classify(replace(UNTOUCHED, **facts)) is expected


def test_everything_that_can_lie_there_has_a_class():
    """And only a table that is behind is one that must not be touched."""
    for pinned, newest, restores, own, is_published in itertools.product(
        [None, 6, 7, 8, 9], [None, 5, 6, 7, 8, 9, 10], [None, 6, 7, 8], OwnVersion, [False, True]
    ):
        if (pinned is None) != (newest is None):
            continue
        facts = replace(UNTOUCHED, pinned=pinned, newest=newest, restores=restores, own=own, is_published=is_published)
        is_behind = pinned is not None and newest is not None and newest < pinned
        assert (classify(facts) is TableClass.INVARIANT_VIOLATION) == is_behind


# ── decisions ────────────────────────────────────────────────────────────────────────────────────────────────────────

WHOLE = (TableClass.ROLLED_PAST_EXPECTED, TableClass.ROLLED_PAST_EXPECTED)
COMPLETE = PlanFacts(has_branch=True, is_published=False, is_withdrawn=False, holds=True, tables=WHOLE)
BEHIND = (TableClass.ROLLED_PAST_EXPECTED, TableClass.INVARIANT_VIOLATION)

DECISIONS = {
    "its branch is gone": ({"has_branch": False, "tables": (), "holds": False}, Decision.ABANDON),
    "a table is behind": ({"tables": BEHIND}, Decision.ABORT),
    "its commit is in the history": ({"is_published": True}, Decision.CLEAN_UP),
    "its writer gave it up": ({"is_withdrawn": True}, Decision.DISCARD),
    "all of it is there and holds": ({}, Decision.ROLL_FORWARD),
    "it changes no table and holds": ({"tables": ()}, Decision.ROLL_FORWARD),
    "what it relied on has moved": ({"holds": False}, Decision.DISCARD),
    "not all of it is there": (
        {"tables": (TableClass.ROLLED_PAST_EXPECTED, TableClass.NO_MOVEMENT)},
        Decision.DISCARD,
    ),
}
"""Each line of the table of decisions, with nothing else that holds before it."""


@pytest.mark.parametrize("line", DECISIONS)
def test_what_is_done_is_the_decision_of_its_line(line: str):
    facts, expected = DECISIONS[line]
    assert decide(replace(COMPLETE, **facts)) is expected


DECISION_ORDER = [
    (
        "a branch that is gone counts before a table that is behind",
        {"has_branch": False, "tables": BEHIND},
        Decision.ABANDON,
    ),
    ("a table that is behind counts before a commit", {"tables": BEHIND, "is_published": True}, Decision.ABORT),
    ("a table that is behind counts before giving up", {"tables": BEHIND, "is_withdrawn": True}, Decision.ABORT),
    ("a commit counts before giving up", {"is_published": True, "is_withdrawn": True}, Decision.CLEAN_UP),
    ("a commit counts though it would not hold", {"is_published": True, "holds": False}, Decision.CLEAN_UP),
    ("giving up counts before completeness", {"is_withdrawn": True, "holds": True}, Decision.DISCARD),
]


@pytest.mark.parametrize(
    ("facts", "expected"), [case[1:] for case in DECISION_ORDER], ids=[case[0] for case in DECISION_ORDER]
)
def test_of_lines_that_hold_the_first_decides(facts: dict, expected: Decision):
    assert decide(replace(COMPLETE, **facts)) is expected


@pytest.mark.parametrize("odd", [each for each in TableClass if each is not TableClass.ROLLED_PAST_EXPECTED])
def test_one_table_that_is_not_there_is_enough_not_to_publish(odd: TableClass):
    for tables in itertools.permutations([*WHOLE, odd]):
        expected = Decision.ABORT if odd is TableClass.INVARIANT_VIOLATION else Decision.DISCARD
        assert decide(replace(COMPLETE, tables=tables)) is expected


def test_nothing_is_published_but_what_is_whole_and_holds_and_was_not_given_up():
    for has_branch, is_published, is_withdrawn, holds in itertools.product([True, False], repeat=4):
        for tables in itertools.product(TableClass, repeat=2):
            facts = PlanFacts(
                has_branch=has_branch,
                is_published=is_published,
                is_withdrawn=is_withdrawn,
                holds=holds,
                tables=tables,
            )
            may_go_forward = has_branch and not is_published and not is_withdrawn and holds and tables == WHOLE
            assert (decide(facts) is Decision.ROLL_FORWARD) == may_go_forward
