"""Rows that were read by a schema, or lie in files, which may be gone are refused, and the caller is told why."""

from __future__ import annotations

import dataclasses
import uuid

import pyarrow as pa
import pytest
from publish_world import write

import omnigraph as og
from omnigraph.errors import ConflictError, HeadMovedError
from omnigraph.history.commits import CommitKind
from omnigraph.history.schemas import GraphSchema
from omnigraph.write.load import LoadMode, LoadRequest, publish_rows
from omnigraph.write.stage import AttemptFiles

SCHEMA = "node Note { text: String }"
OTHER = GraphSchema.new("node Note { text: String  stars: I32? }", "01JCZZZZZZZZZZZZZZZZZZZZZZ")


@pytest.fixture
def graph() -> og.Graph:
    return og.init(f"memory://overtaken-{uuid.uuid4().hex}", schema=SCHEMA)


def put(graph: og.Graph, text: str) -> og.Commit:
    return graph.load([{"type": "Note", "data": {"text": text}}], mode="append").commit


@pytest.mark.parametrize("mode", list(LoadMode))
def test_a_load_whose_schema_moved_names_the_commit_that_its_rows_were_read_at(graph: og.Graph, mode: LoadMode):
    built_on = put(graph, "before")
    put(graph, "between")
    newest = put(graph, "after")
    repository = graph._repository
    request, files = LoadRequest(mode=mode, branch="main"), AttemptFiles(repository)
    with pytest.raises(HeadMovedError, match=r"^The schema changed while") as caught:
        publish_rows(
            repository, (), OTHER, request, files, start=repository.known(), staged_at=built_on.manifest_version
        )
    error = caught.value
    assert (error.branch, error.expected, error.actual) == ("main", built_on.id, newest.id)
    assert error.members == ("schema",)
    assert error.help == "Repeat the load: its records are read anew, by the new schema."
    assert graph.commits.list()[0] == newest


def test_receipts_of_another_schema_are_refused_with_the_commit_of_their_ticket(graph: og.Graph):
    built_on = put(graph, "before")
    written = graph.bulk().write("Note", pa.table({"text": ["x"]}))
    newest = put(graph, "after")
    with pytest.raises(HeadMovedError) as caught:
        graph.bulk_publish([dataclasses.replace(written, schema_digest=OTHER.digest)])
    error = caught.value
    assert (error.branch, error.expected, error.actual) == ("main", built_on.id, newest.id)
    assert error.members == ("schema",)
    assert error.help == "Ask for a new ticket and write the rows again."
    assert len(graph.table("Note")) == 2


def test_a_receipt_of_a_version_that_this_handle_does_not_know_has_no_expected_commit(graph: og.Graph):
    written = graph.bulk().write("Note", pa.table({"text": ["x"]}))
    with pytest.raises(HeadMovedError) as caught:
        graph.bulk_publish([dataclasses.replace(written, schema_digest=OTHER.digest, staged_at=99)])
    assert caught.value.expected is None


def test_files_that_garbage_collection_may_have_taken_are_a_conflict_of_no_other_kind(graph: og.Graph):
    written = graph.bulk().write("Note", pa.table({"text": ["x"]}))
    write(graph._repository, {}, kind=CommitKind.FENCE)
    with pytest.raises(ConflictError, match="Garbage collection ran") as caught:
        graph.bulk_publish([written])
    assert (caught.value.kind, caught.value.help) == ("conflict", "Repeat the load.")
    assert len(graph.table("Note")) == 0
