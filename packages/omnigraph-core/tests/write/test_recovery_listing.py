"""What was taken back and published all the same is listed as both, also when its branch is gone.

Rows of the audit are written by hand: no process of these tests can be stopped and continued.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

import omnigraph as og
from omnigraph.history.recoveries import Recovery, RecoveryKind, record_recovery

SCHEMA = "node Book { isbn: String @key }"


def note_taken_back(graph: og.Graph, commit: og.Commit, number: int = 0) -> None:
    taken_back = Recovery(
        graph_commit_id=commit.id,
        kind=RecoveryKind.ROLLED_BACK,
        recovery_for_actor=None,
        operation_id=f"01ARZ3NDEKTSV4RRFFQ69G5FA{number}",
        writer_kind="load",
        branch=commit.branch,
        tables=(),
        created_at=commit.created_at + timedelta(microseconds=1),
    )
    record_recovery(graph._repository.manifests, taken_back)


@pytest.mark.parametrize("is_made_anew", [False, True])
def test_a_write_that_was_published_after_it_was_taken_back_says_so_when_its_branch_was_deleted(is_made_anew: bool):
    with og.init(f"memory://taken-back-{is_made_anew}", schema=SCHEMA) as graph:
        graph.branches.create("side")
        made = graph.load([{"type": "Book", "data": {"isbn": "b1"}}], "append", branch="side").commit
        note_taken_back(graph, made)
        graph.branches.delete("side")
        if is_made_anew:
            graph.branches.create("side")
        (told,) = graph.recoveries.list()
        assert told.published_version == made.manifest_version
        assert told.published_version == graph.commits.show(made.id).manifest_version
