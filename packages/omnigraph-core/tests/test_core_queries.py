"""``Graph.query``, ``explain`` and ``stats``: what a user holds, on a graph in memory."""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import omnigraph as og
from omnigraph.engine import postings, spans
from omnigraph.errors import (
    CheckError,
    CompileError,
    DeadlineError,
    InvalidInputError,
    NotFoundError,
    ResourceLimitError,
)
from omnigraph.history.ulids import new_ulid

SCHEMA = """
node Person { name: String @key  age: I64? @index  bio: String? @index }
edge Knows: Person -> Person { since: I64? }
"""
QUERIES = """
query adults($age: I64) { match { $p: Person  $p.age >= $age } return { $p.name, $p.age } order { $p.name } }
query friends($name: String) { match { $p: Person { name: $name }  $p knows $q } return { $q.name } order { $q.name } }
query drop($name: String) { delete Person where name = $name }
"""
PAIRS = "query pairs() { match { $a: Person  $b: Person } return { count($a) as n } }"


def person(name: str, age: int | None = None) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, "age": age, "bio": f"{name} likes tea"}}


def knows(source: str, target: str) -> dict[str, Any]:
    return {"edge": "Knows", "from": source, "to": target}


@pytest.fixture
def graph() -> og.Graph:
    graph = og.init(f"memory://{new_ulid()}", schema=SCHEMA)
    people = [person("ann", 40), person("bo", 17), person("cy"), person("dee", 18)]
    graph.load([*people, knows("ann", "bo"), knows("ann", "cy"), knows("bo", "dee")], mode="append")
    return graph


# ── query ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_query_is_text_a_path_or_the_name_of_a_file(graph: og.Graph, tmp_path: Path) -> None:
    path = tmp_path / "people.gq"
    path.write_text(QUERIES)
    expected = [{"p.name": "ann", "p.age": 40}, {"p.name": "dee", "p.age": 18}]
    for source in (QUERIES, path, str(path)):
        assert graph.query(source, "adults", params={"age": 18}).rows() == expected


def test_a_result_knows_its_query_branch_and_commit(graph: og.Graph) -> None:
    result = graph.query(QUERIES, "friends", params={"name": "ann"})
    head = graph.snapshot().commit.id
    assert (result.query_name, result.branch, result.commit_id, result.snapshot) == ("friends", "main", head, None)
    assert result.columns == ("q.name",)
    assert graph.query(QUERIES, "friends", params={"name": "cy"}).columns == ("q.name",)


def test_the_past_is_asked_by_commit_version_or_snapshot(graph: og.Graph) -> None:
    before = graph.snapshot()
    graph.load([knows("ann", "dee")], mode="append")
    now = [{"q.name": name} for name in ("bo", "cy", "dee")]
    assert graph.query(QUERIES, "friends", params={"name": "ann"}).rows() == now
    for moment in (before, before.commit.id, before.commit.manifest_version):
        result = graph.query(QUERIES, "friends", params={"name": "ann"}, snapshot=moment)
        assert (result.rows(), result.snapshot) == (now[:2], before.commit.id)


def test_a_missing_query_is_answered_with_those_there_are(graph: og.Graph) -> None:
    with pytest.raises(CheckError, match="adults, drop, friends"):
        graph.query(QUERIES, "adult")
    with pytest.raises(CheckError, match="none was named"):
        graph.query(QUERIES)


def test_what_is_wrong_is_told_before_anything_runs_and_the_next_call_works(graph: og.Graph, tmp_path: Path) -> None:
    with pytest.raises(CompileError):
        graph.query("query q() { match { $p: Persn } return { $p } }")
    with pytest.raises(InvalidInputError, match="changes the graph"):
        graph.query(QUERIES, "drop", params={"name": "ann"})
    with pytest.raises(InvalidInputError, match="parameter 'age' not provided"):
        graph.query(QUERIES, "adults")
    with pytest.raises(InvalidInputError, match="could not be read"):
        graph.query(tmp_path / "nothing.gq")
    with pytest.raises(InvalidInputError, match="int is no query"):
        graph.query(5)  # type: ignore[arg-type]
    with pytest.raises(NotFoundError):
        graph.query(QUERIES, "adults", params={"age": 1}, branch="dev")
    with pytest.raises(NotFoundError):
        graph.query(QUERIES, "adults", params={"age": 1}, snapshot=99)
    assert len(graph.query(QUERIES, "adults", params={"age": 1})) == 3


def test_a_sum_of_nodes_is_refused_when_it_runs(graph: og.Graph) -> None:
    with pytest.raises(InvalidInputError, match="sum"):
        graph.query("query q() { match { $p: Person } return { sum($p) as n } }")


def test_a_graph_that_crossed_a_process_boundary_answers(graph: og.Graph) -> None:
    there = pickle.loads(pickle.dumps(graph))
    assert there.query(PAIRS).rows() == [{"n": 16}]


# ── budgets ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_product_over_the_budget_is_refused_by_name_and_the_next_query_works(graph: og.Graph) -> None:
    with pytest.raises(ResourceLimitError) as told:
        graph.query(PAIRS, budget=og.QueryBudget(max_rows=15))
    assert (told.value.resource, told.value.limit, told.value.actual) == ("max_rows", 15, 16)
    assert str(told.value.operator).startswith("CrossJoin")
    assert graph.query(PAIRS, budget=og.QueryBudget(max_rows=16)).rows() == [{"n": 16}]


def test_a_hop_over_the_budget_is_refused_by_name(graph: og.Graph) -> None:
    hop = "query q() { match { $p: Person  $p knows $q } return { count($q) as n } }"
    with pytest.raises(ResourceLimitError) as told:
        graph.query(hop, budget=og.QueryBudget(max_frontier=2))
    assert (told.value.resource, told.value.actual) == ("max_frontier", 3)
    assert "Knows" in str(told.value.operator)
    assert graph.query(hop, budget=og.QueryBudget(max_frontier=3)).rows() == [{"n": 3}]


def test_a_deadline_that_is_over_stops_a_query_and_no_other(graph: og.Graph) -> None:
    with pytest.raises(DeadlineError) as told:
        graph.query(PAIRS, budget=og.QueryBudget(deadline=0))
    assert told.value.deadline == 0
    assert graph.query(PAIRS).rows() == [{"n": 16}]


def test_bounds_of_bytes_hold_for_what_is_read_from_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_SCAN_MODE", "stored")
    graph = og.init(f"memory://{new_ulid()}", schema=SCHEMA)
    graph.load([person(f"p{number:03d}", number) for number in range(200)], mode="append")
    everything = "query q() { match { $p: Person } return { $p.bio } }"
    with pytest.raises(ResourceLimitError) as told:
        graph.query(everything, budget=og.QueryBudget(max_bytes=500))
    assert told.value.resource == "max_bytes"
    assert len(graph.query(everything)) == 200


def test_the_environment_bounds_queries_that_bring_no_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_QUERY_MAX_ROWS", "1")
    graph = og.init(f"memory://{new_ulid()}", schema=SCHEMA)
    graph.load([person("ann"), person("bo")], mode="append")
    everybody = "query q() { match { $p: Person } return { $p } }"
    with pytest.raises(ResourceLimitError):
        graph.query(everybody)
    assert len(graph.query(everybody, budget=og.QueryBudget())) == 2


# ── explain and stats ────────────────────────────────────────────────────────────────────────────────────────────────


def test_explain_runs_nothing_and_foresees_the_traversal(graph: og.Graph) -> None:
    graph.query(QUERIES, "adults", params={"age": 1})
    reads = graph.stats().reads.queries
    explained = graph.explain(QUERIES, "friends", params={"name": "ann"})
    assert graph.stats().reads.queries == reads
    assert explained.row_count is None
    expand = next(each for each in explained.steps if each.operator.startswith("Expand"))
    assert (expand.facts["traversal"], bool(expand.facts["reason"]), expand.measures) == ("csr", True, None)
    assert "est. 1 rows" in str(explained)


def test_explain_with_analyze_tells_rows_of_every_step(graph: og.Graph) -> None:
    explained = graph.explain(QUERIES, "friends", params={"name": "ann"}, analyze=True)
    rows = {each.operator.split()[0]: each.measures.rows for each in explained.steps if each.measures is not None}
    assert rows == {"Project": 2, "Sort": 2, "Expand": 2, "NodeScan": 1}
    assert explained.row_count == 2
    cold = explained.steps[-1].measures
    assert cold is not None
    assert cold.requests > 0
    assert cold.read_bytes > 0
    again = graph.explain(QUERIES, "friends", params={"name": "ann"}, analyze=True)
    assert sum(each.measures.requests for each in again.steps if each.measures is not None) == 0


def test_explain_shows_how_far_indexes_reach(graph: og.Graph) -> None:
    graph.maintain.ensure_indices()
    graph.load([person("eve")], mode="append")
    explained = graph.explain(QUERIES, "adults", params={"age": 1})
    covered = {(key, each.spec.column): (each.covered_rows, each.uncovered_rows) for key, each in explained.indexes}
    assert covered["node:Person", "age"] == (4, 1)
    assert "-- index node:Person.age (btree) covers 4 of 5" in str(explained)


def test_stats_count_queries_rows_failures_and_plans(graph: og.Graph) -> None:
    for _ in range(3):
        graph.query(QUERIES, "friends", params={"name": "ann"})
    with pytest.raises(DeadlineError):
        graph.query(PAIRS, budget=og.QueryBudget(deadline=0))
    stats = graph.stats()
    assert (stats.reads.queries, stats.reads.failures, stats.reads.rows) == (4, 1, 6)
    assert (stats.plans["hits"], stats.plans["misses"], stats.plans["entries"]) == (2, 2, 2)
    assert 0 < sum(each.bytes for each in stats.memory.values()) <= stats.memory_limit
    assert stats.to_dict()["reads"]["queries"] == 4


def test_a_closed_graph_keeps_nothing_in_memory(graph: og.Graph) -> None:
    graph.query(PAIRS)
    memory = graph._reader.memory
    graph.close()
    assert all(each.entries == 0 for each in memory.stats().values())


# ── what applications observe ────────────────────────────────────────────────────────────────────────────────────────


def test_a_query_is_logged_on_debug_and_nothing_is_by_default(
    graph: og.Graph, caplog: pytest.LogCaptureFixture
) -> None:
    graph.query(PAIRS)
    assert not caplog.records
    with caplog.at_level(logging.DEBUG, "omnigraph.query"):
        graph.query(PAIRS)
    (record,) = [each for each in caplog.records if each.name == "omnigraph.query"]
    assert record.getMessage().startswith("pairs: 1 rows of main at ")


def test_warnings_stay_silent_in_an_application_that_configured_no_logging() -> None:
    told = "import omnigraph, logging; logging.getLogger('omnigraph.write.publish').warning('lost')"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_query_is_a_span_where_telemetry_is_installed(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    spans._tracer.cache_clear()
    try:
        graph.query(PAIRS)
        with pytest.raises(DeadlineError):
            graph.query(PAIRS, budget=og.QueryBudget(deadline=0))
    finally:
        spans._tracer.cache_clear()
    good, bad = exporter.get_finished_spans()
    assert good.name == "omnigraph.query"
    assert dict(good.attributes or {}) == {
        "omnigraph.branch": "main",
        "omnigraph.commit": graph.snapshot().commit.id,
        "omnigraph.rows": 1,
    }
    assert not bad.status.is_ok


def test_without_telemetry_nothing_is_missed(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    spans._tracer.cache_clear()
    try:
        assert graph.query(PAIRS).rows() == [{"n": 16}]
    finally:
        spans._tracer.cache_clear()


# ── after commits ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_postings_follow_commits_that_nobody_searched_after(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    search = 'query q() { match { $p: Person  search($p.bio, "coffee") } return { $p.name } order { $p.name } }'
    assert graph.query(search).rows() == []
    made: list[object] = []
    monkeypatch.setattr(postings, "make_postings", lambda *texts, **_: made.append(texts))
    for name in ("eve", "aaron", "zed"):
        graph.load([{"type": "Person", "data": {"name": name, "bio": "only coffee"}}], mode="append")
        graph.query(QUERIES, "adults", params={"age": 1})
    assert graph.query(search).rows() == [{"p.name": "aaron"}, {"p.name": "eve"}, {"p.name": "zed"}]
    assert not made
