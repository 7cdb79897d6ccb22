"""What travels between processes that share nothing: handles, snapshots, commits, results and errors."""

from __future__ import annotations

import multiprocessing
import operator
from collections.abc import Iterator
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.errors import ConstraintError
from omnigraph.graph import Graph

SCHEMA = "node Film { code: String @key }"
CODES = "query codes() { match { $f: Film } return { $f.code } order { $f.code } }"


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Pool]:
    """One process that was spawned: it inherits nothing, and does what it is sent."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        yield pool


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    made = og.init(tmp_path / "films.omni", schema=SCHEMA, actor="ann")
    made.load(films("f1"), "append")
    return made


def films(*codes: str) -> list[dict[str, Any]]:
    return [{"type": "Film", "data": {"code": code}} for code in codes]


def test_a_handle_reads_and_writes_in_another_process_as_who_opened_it(graph: Graph, elsewhere: Pool):
    loaded = elsewhere.apply(operator.methodcaller("load", films("f2"), "append"), (graph,))
    assert isinstance(loaded, og.LoadResult)
    assert (loaded.nodes, loaded.commit.actor) == ({"Film": 1}, "ann")
    assert graph.commits.list()[0] == loaded.commit
    found = elsewhere.apply(operator.methodcaller("query", CODES), (graph,))
    assert found.rows() == [{"f.code": "f1"}, {"f.code": "f2"}]
    assert found.commit_id == loaded.commit.id


def test_a_handle_that_may_only_read_may_only_read_elsewhere(graph: Graph, elsewhere: Pool):
    reader = og.open(graph.uri, mode="r")
    assert elsewhere.apply(operator.attrgetter("mode"), (reader,)) == "r"
    with pytest.raises(og.errors.ReadOnlyError):
        elsewhere.apply(operator.methodcaller("load", films("f2"), "append"), (reader,))


def test_a_snapshot_names_the_same_moment_in_another_process(graph: Graph, elsewhere: Pool):
    then = graph.snapshot()
    graph.load(films("f2"), "append")
    assert elsewhere.apply(operator.methodcaller("to_dict"), (then,)) == then.to_dict()
    found = elsewhere.apply(operator.methodcaller("query", CODES, snapshot=then), (graph,))
    assert found.rows() == [{"f.code": "f1"}]
    back = elsewhere.apply(operator.methodcaller("snapshot", at=then), (graph,))
    assert back == then


def test_a_scan_reads_the_same_rows_in_another_process(graph: Graph, elsewhere: Pool):
    scan = graph.scan("Film", ["id"])
    graph.load(films("f2"), "append")
    # Nothing of this module: the other process could not import it, and would never answer.
    given = {"scan": scan, "parts": [each.number for each in scan.parts], "where": [("id", "=", "f1")]}
    assert elsewhere.apply(eval, ("scan.read(parts, where).read_all().to_pylist()", given)) == [{"id": "f1"}]


def test_a_commit_and_a_result_of_a_load_are_the_same_elsewhere(graph: Graph, elsewhere: Pool):
    loaded = graph.load(films("f2"), "append", load_id="night")
    for value in (loaded, loaded.commit):
        assert elsewhere.apply(operator.methodcaller("to_dict"), (value,)) == value.to_dict()
        assert elsewhere.apply(operator.methodcaller("__eq__", value), (value,)) is True


def test_what_goes_wrong_elsewhere_is_told_here_with_all_its_facts(graph: Graph, elsewhere: Pool):
    with pytest.raises(ConstraintError) as caught:
        elsewhere.apply(operator.methodcaller("load", films("f1"), "append"), (graph,))
    assert caught.value.details["total"] == 1
