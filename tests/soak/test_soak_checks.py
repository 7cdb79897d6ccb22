"""The checks of a soak tell what they are for: each of them is shown something wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from soak_checks import (
    last_words,
    left_behind,
    lying_sidecars,
    next_write_problems,
    recovery_problems,
    sidecar_problems,
    taken_over,
    types_ahead,
)
from workers import Worker

import omnigraph as og
from omnigraph.testing.history_records import SidecarNote
from omnigraph.testing.history_writers import begin_history
from omnigraph.testing.mutation_strategies import history_world

OWNER, OTHER = 1, 2


def notes(*words: tuple[str, int, str]) -> list[SidecarNote]:
    """Notes in the order in which they were made: operation, process, what it did."""
    return [
        SidecarNote(operation_id=operation, process=process, what=what, at=float(number))
        for number, (operation, process, what) in enumerate(words)
    ]


def row(operation_id: str, kind: str = "RolledBack", commit_id: str = "commit") -> SimpleNamespace:
    return SimpleNamespace(operation_id=operation_id, kind=kind, graph_commit_id=commit_id)


WHOLE = (("a", OWNER, "writing"), ("a", OWNER, "written"), ("a", OWNER, "deleting"), ("a", OWNER, "deleted"))
KILLED = WHOLE[:2]
HEALED = (*KILLED, ("a", OTHER, "deleting"), ("a", OTHER, "deleted"))


def test_a_sidecar_was_left_behind_if_its_writer_had_it_written_and_did_not_begin_to_delete_it():
    assert left_behind(notes(*KILLED)) == {"a"}
    assert left_behind(notes(*HEALED)) == {"a"}
    assert left_behind(notes(*KILLED, ("a", OWNER, "withdrawing"), ("a", OWNER, "withdrawn"))) == {"a"}
    assert left_behind(notes(*WHOLE)) == left_behind(notes(*WHOLE[:1])) == left_behind(notes(*WHOLE[:3])) == set()
    # The order is that of time, not that of the files.
    assert last_words(reversed(notes(*HEALED))) == {"a": "written"}


def test_a_write_was_taken_over_if_its_writer_went_on_after_somebody_had_removed_its_sidecar():
    assert taken_over(notes(*HEALED)) == taken_over(notes(*WHOLE)) == set()
    assert taken_over(notes(*HEALED, ("a", OWNER, "deleting"))) == {"a"}


def test_a_sidecar_that_nobody_wrote_or_that_was_deleted_does_not_lie_there():
    assert sidecar_problems(notes(*KILLED), {"a"}) == []
    assert sidecar_problems(notes(*WHOLE), set()) == []
    assert sidecar_problems(notes(*WHOLE), {"a"}) == ["the sidecar of a lies there, and was deleted"]
    assert sidecar_problems([], {"a"}) == ["the sidecar of a lies there, and no writer wrote it"]


def test_each_sidecar_that_was_left_behind_is_gone_and_has_one_row_in_the_audit():
    healed = notes(*HEALED)
    assert recovery_problems(healed, set(), [row("a")], set()) == []
    assert recovery_problems(notes(*WHOLE), set(), [], set()) == []
    # Killed while it deleted the sidecar, so that nobody or somebody found it.
    assert recovery_problems(notes(*WHOLE[:3]), set(), [], set()) == []
    assert recovery_problems(notes(*WHOLE[:3]), set(), [row("a")], set()) == []
    assert recovery_problems(healed, set(), [], set()) == ["a was left behind, and is not in the audit"]
    assert recovery_problems(healed, set(), [row("a"), row("a")], set()) == ["a has 2 rows in the audit"]
    assert recovery_problems(healed, {"a"}, [row("a")], set()) == ["the sidecar of a still lies there"]
    assert recovery_problems(healed, set(), [row("a"), row("b")], set()) == [
        "b is in the audit, and no writer wrote its sidecar"
    ]


def test_what_was_rolled_forward_is_in_the_log():
    healed = notes(*HEALED)
    assert recovery_problems(healed, set(), [row("a", "RolledForward")], {"commit"}) == []
    assert recovery_problems(healed, set(), [row("a", "RolledForward")], set()) == [
        "a was rolled forward, and its commit commit is not there"
    ]
    assert recovery_problems(healed, set(), [row("a", "OrphanedBranchDiscarded")], set()) == [
        "a was OrphanedBranchDiscarded"
    ]


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as worker:
        yield worker


def test_what_a_dead_writer_left_on_a_type_is_seen_and_the_next_write_steps_over_it(worker: Worker, tmp_path: Path):
    world = history_world()
    begin_history(tmp_path / "graph", world)
    load = ("merge", [{"type": "Person", "data": {"name": "ann", "age": 5}}])
    assert worker.run(tmp_path / "graph", [load], failpoints="publish.tables_durable=kill").is_killed
    with og.open(tmp_path / "graph", mode="r") as graph:
        assert types_ahead(graph) == ["node:Person"]
        assert len(lying_sidecars(graph)) == 1
    with og.open(tmp_path / "graph") as graph:
        assert next_write_problems(graph, world.catalog) == []
        assert types_ahead(graph) == []
