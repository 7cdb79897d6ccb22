"""What a write that lost tells its caller: what was expected, what was found, and the next move."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from omnigraph.errors import (
    BranchReplacedError,
    ContentionError,
    HeadMovedError,
    MergeConflict,
    MergeConflictError,
    MergeConflictKind,
    RecoveryRequiredError,
)


@pytest.mark.parametrize(
    ("members", "told"),
    [
        (("pin:node:Film",), "Node type Film changed while this write to main was under way."),
        (("pin:edge:Rented",), "Edge type Rented changed while this write to main was under way."),
        (("schema",), "The schema changed while this write to main was under way."),
        (
            ("pin:edge:Rented", "pin:node:Film", "schema"),
            "Edge type Rented, node type Film, the schema changed while this write to main was under way.",
        ),
    ],
)
def test_a_head_that_moved_is_told_by_what_moved_in_the_words_of_users(members: tuple[str, ...], told: str) -> None:
    error = HeadMovedError(branch="main", expected="01A", actual="01B", members=members)
    assert error.message == told
    assert error.help is not None
    assert error.help.startswith("Look at what changed")
    assert (error.branch, error.expected, error.actual, error.members) == ("main", "01A", "01B", members)


def test_a_commit_that_is_not_the_newest_is_told_with_both_ids() -> None:
    error = HeadMovedError(branch="review", expected="01A", actual="01B")
    assert error.message == "The newest commit of review is 01B, and this write asks for 01A."
    assert error.help is not None
    assert (error.members, error.details["members"]) == ((), [])


def test_whoever_knows_a_better_next_move_says_it() -> None:
    error = HeadMovedError(branch="main", expected="01A", actual="01B", members=("schema",), help="Load it again.")
    assert error.help == "Load it again."


def test_a_branch_made_anew_is_told_with_both_incarnations() -> None:
    error = BranchReplacedError(branch="review", expected="i1", actual="i2")
    assert error.message == "The branch review was deleted and made anew while this write was under way."
    assert (error.branch, error.expected, error.actual) == ("review", "i1", "i2")


def test_a_write_that_never_came_first_says_how_long_and_how_often_it_tried() -> None:
    error = ContentionError(purpose="publish it", attempts=7, deadline_seconds=60.0)
    assert error.message == "Others kept publishing first: could not publish it in 60 seconds and 7 attempts."
    assert (error.branch, error.attempts, error.deadline_seconds) == (None, 7, 60.0)
    assert ContentionError(purpose="do it", attempts=1, deadline_seconds=0.5, branch="main").branch == "main"


def test_an_interrupted_write_is_named() -> None:
    error = RecoveryRequiredError("A write was cut off.", operation_id="01C", help="Open the graph for writing.")
    assert error.operation_id == "01C"


# ── merges ───────────────────────────────────────────────────────────────────────────────────────────────────────


def conflict(name: str | None, **values: Any) -> MergeConflict:
    facts = {"kind": MergeConflictKind.DIVERGENT_INSERT, "entity": "node", "type": "Film", "message": "two of them"}
    return MergeConflict(**(facts | {"id": name} | values))


def test_the_kinds_of_merge_conflicts_are_those_of_the_design() -> None:
    assert [each.value for each in MergeConflictKind] == [
        "divergent_insert",
        "divergent_update",
        "delete_vs_update",
        "orphan_edge",
        "unique_violation",
        "cardinality_violation",
        "value_constraint_violation",
    ]


def test_a_merge_conflict_has_the_fields_of_the_design() -> None:
    made = conflict("F1", source={"stars": 2})
    names = ["kind", "entity", "type", "id", "message", "base", "source", "target"]
    assert [each.name for each in dataclasses.fields(made)] == names
    assert list(made.to_dict()) == names
    assert made.to_dict() | {"kind": None} == {
        "kind": None,
        "entity": "node",
        "type": "Film",
        "id": "F1",
        "message": "two of them",
        "base": None,
        "source": {"stars": 2},
        "target": None,
    }


@pytest.mark.parametrize(
    ("count", "lines"),
    [
        (1, ["1 conflict between review and main, so nothing was merged:", "  node Film 'F0': two of them"]),
        (
            3,
            [
                "3 conflicts between review and main, so nothing was merged:",
                "  node Film 'F0': two of them",
                "  node Film 'F1': two of them",
                "  node Film 'F2': two of them",
            ],
        ),
        (
            5,
            [
                "5 conflicts between review and main, so nothing was merged:",
                "  node Film 'F0': two of them",
                "  node Film 'F1': two of them",
                "  node Film 'F2': two of them",
                "  and 2 more",
            ],
        ),
    ],
)
def test_a_merge_shows_three_conflicts_and_holds_all(count: int, lines: list[str]) -> None:
    conflicts = tuple(conflict(f"F{number}") for number in range(count))
    error = MergeConflictError(conflicts, source="review", branch="main")
    assert error.message.split("\n") == lines
    assert error.conflicts == conflicts
    assert [each["id"] for each in error.details["conflicts"]] == [f"F{number}" for number in range(count)]
    assert (error.source, error.branch) == ("review", "main")


def test_a_conflict_about_no_single_thing_is_told_by_its_type() -> None:
    made = conflict(None, entity="edge", type="Rented", message="ann has 3 edges")
    assert str(made) == "edge Rented: ann has 3 edges"
