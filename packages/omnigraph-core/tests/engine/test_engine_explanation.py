"""``Graph.explain`` and ``Graph.stats``, logs and spans: what can be seen of queries."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from people_world import PAIRS, QUERIES, people_graph, person

import omnigraph as og
from omnigraph.engine import spans
from omnigraph.engine.reader import MAX_SCHEMAS
from omnigraph.errors import (
    DeadlineError,
    InvalidInputError,
    ResourceLimitError,
)
from omnigraph.history.schemas import GraphSchema
from omnigraph.history.ulids import new_ulid


@pytest.fixture
def graph() -> og.Graph:
    return people_graph()


# ── explain ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_explain_runs_nothing_and_foresees_the_traversal(graph: og.Graph) -> None:
    graph.query(QUERIES, "adults", params={"age": 1})
    reads = graph.stats().reads.queries
    explained = graph.explain(QUERIES, "friends", params={"name": "ann"})
    assert graph.stats().reads.queries == reads
    assert explained.row_count is None
    expand = next(each for each in explained.steps if each.operator.startswith("Expand"))
    assert (expand.facts["traversal"], bool(expand.facts["reason"]), expand.measures) == ("csr", True, None)
    assert "  est. 1 row  read from memory" in str(explained)


def test_explain_knows_the_columns_of_the_result_before_there_is_one() -> None:
    made = og.init(
        f"memory://{new_ulid()}", schema="node Film { code: String @key  at: DateTime?  n: U64?  v: Vector(2)? }"
    )
    text = "query all() { match { $f: Film } return { $f, $f.at as at, $f.n, $f.v } }"
    assert made.explain(text).schema == made.query(text).to_arrow().schema
    text = "query sums() { match { $f: Film } return { count($f) as films, avg($f.n) as mean, max($f.code) as last } }"
    assert made.explain(text).schema == made.query(text).to_arrow().schema


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


def line_of(explained: og.Explanation, word: str) -> str:
    return next(line for line in str(explained).splitlines() if line.lstrip().startswith(word))


def test_explain_needs_values_only_to_run_or_where_some_are_given(graph: og.Graph) -> None:
    explained = graph.explain(QUERIES, "friends")
    assert [each.operator.split()[0] for each in explained.steps] == ["Project", "Sort", "Expand", "NodeScan"]
    with pytest.raises(InvalidInputError, match="parameter 'name' not provided"):
        graph.explain(QUERIES, "friends", analyze=True)
    with pytest.raises(InvalidInputError, match="name expects String"):
        graph.explain(QUERIES, "friends", params={"name": 5})
    with pytest.raises(InvalidInputError, match="parameter 'name' not provided"):
        graph.explain(QUERIES, "friends", params={})


def test_explain_says_one_row_and_two_rows(graph: og.Graph) -> None:
    told = graph.explain(QUERIES, "friends", params={"name": "ann"}, analyze=True)
    assert "  2 rows (est. " in line_of(told, "Expand")
    assert "  1 row (est. 1)  " in line_of(told, "NodeScan")


def test_explain_does_not_count_what_the_step_above_did(graph: og.Graph) -> None:
    first = "query q() { match { $p: Person } return { $p.name } order { $p.name } limit 2 }"
    told = graph.explain(first, analyze=True)
    assert line_of(told, "Sort").endswith("  done by the step above")
    assert [(each["operator"].split()[0], each["rows"], each.get("done")) for each in told.to_dict()["steps"]] == [
        ("Project", 2, None),
        ("Limit", 2, None),
        ("Sort", None, "by the step above"),
        ("NodeScan", 4, None),
    ]
    assert "done" not in str(graph.explain(first))


def test_explain_does_not_count_a_scan_that_a_search_of_storage_did(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_SCAN_MODE", "stored")
    graph = og.init(f"memory://{new_ulid()}", schema="node Doc { k: String @key  v: Vector(2) @index }")
    graph.load([{"type": "Doc", "data": {"k": k, "v": [1.0, n]}} for n, k in enumerate("abc")], mode="append")
    near = "query q($v: Vector(2)) { match { $d: Doc } return { $d.k } order { nearest($d.v, $v) } limit 2 }"
    told = graph.explain(near, params={"v": [1.0, 0.0]}, analyze=True)
    assert line_of(told, "NodeScan").endswith("  done by the step above")
    assert "  2 rows (est. 2)" in line_of(told, "Rank")


def test_explain_tells_that_a_negation_was_not_asked(graph: og.Graph) -> None:
    lonely = "query q($n: String) { match { $p: Person { name: $n }  not { $p knows $_ } } return { $p.name } }"
    inner = "Expand"
    assert line_of(graph.explain(lonely, params={"n": "zed"}, analyze=True), inner).endswith(
        "  done never, no row asks for it"
    )
    assert "  1 row (est. " in line_of(graph.explain(lonely, params={"n": "ann"}, analyze=True), inner)


def test_explain_lists_the_indexes_that_the_query_can_use_and_no_other(graph: og.Graph) -> None:
    graph.maintain.ensure_indices()

    def listed(text: str) -> set[tuple[str, str]]:
        explained = graph.explain(text)
        assert not explained.missing_indexes
        return {(key, each.spec.column) for key, each in explained.indexes}

    ends = {"f": ("edge:Knows", "src"), "b": ("edge:Knows", "dst")}
    assert listed("query q() { match { $p: Person } return { $p.name, $p.age } order { $p.age } }") == set()
    assert listed("query q() { match { $p: Person  $p.age > 5 } return { $p.name } }") == {("node:Person", "age")}
    assert listed('query q() { match { $p: Person { name: "a" }  $p knows $q } return { $q.age } }') == {
        ("node:Person", "name"),
        ends["f"],
    }
    assert listed('query q() { match { $p: Person { name: "a" }  $q knows $p  $q.age = 1 } return { $q } }') == {
        ("node:Person", "name"),
        ("node:Person", "age"),
        ends["b"],
    }
    assert listed('query q() { match { $p: Person } return { $p.name } order { bm25($p.bio, "tea") } limit 3 }') == {
        ("node:Person", "bio")
    }
    assert listed('query q() { match { $p: Person  not { $p knows $q  $q.name = "bo" } } return { $p.age } }') == {
        ("node:Person", "name"),
        ends["f"],
    }
    assert listed("query q() { match { $p: Person  $q: Person  $p.age < $q.age } return { $p } }") == {
        ("node:Person", "age")
    }


def test_one_name_in_two_negations_may_mean_two_types() -> None:
    schema = (
        "node Cat { name: String @key  tag: String? @index }\nnode Dog { name: String @key  tag: String? @index }\n"
    )
    text = """query q() {
        match { $c: Cat  not { $x: Dog  $x.tag < $c.name }  not { $x: Cat  $x.tag < $c.name } } return { $c.name } }"""
    graph = og.init(f"memory://{new_ulid()}", schema=schema)
    assert {(key, each.column) for key, each in graph.explain(text).missing_indexes} == {
        ("node:Cat", "name"),
        ("node:Cat", "tag"),
        ("node:Dog", "tag"),
    }


def test_explain_tells_which_declared_index_is_missing_and_how_to_build_it(graph: og.Graph) -> None:
    hint = "-- no index on {} yet; build it: omnigraph ensure-indices"
    explained = graph.explain(QUERIES, "friends")
    assert str(explained).splitlines()[-2:] == [hint.format("edge:Knows.src"), hint.format("node:Person.name")]
    assert explained.to_dict()["missing_indexes"] == [
        {"type": "edge:Knows", "property": "src", "kind": "btree"},
        {"type": "node:Person", "property": "name", "kind": "btree"},
        {"type": "node:Person", "property": "name", "kind": "inverted"},
    ]
    graph.maintain.ensure_indices()
    built = graph.explain(QUERIES, "friends")
    assert built.missing_indexes == ()
    assert "no index" not in str(built)


def test_the_json_of_an_explanation_has_floats_and_its_target(graph: og.Graph) -> None:
    now = graph.explain(PAIRS).to_dict()
    assert {type(each["estimated_rows"]) for each in now["steps"]} == {float}
    assert now["target"] == {"branch": "main", "snapshot": None}
    then = graph.explain(PAIRS, snapshot=2).to_dict()
    assert then["target"] == {"branch": "main", "snapshot": graph.snapshot().commit.id}


# ── statistics ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_stats_count_queries_rows_failures_and_plans(graph: og.Graph) -> None:
    for _ in range(3):
        graph.query(QUERIES, "friends", params={"name": "ann"})
    with pytest.raises(ResourceLimitError):
        graph.query(PAIRS, budget=og.QueryBudget(max_rows=0))
    stats = graph.stats()
    assert (stats.reads.queries, stats.reads.failures, stats.reads.rows) == (4, 1, 6)
    assert (stats.plans["hits"], stats.plans["misses"], stats.plans["entries"]) == (2, 2, 2)
    assert 0 < sum(each.bytes for each in stats.memory.values()) <= stats.memory_limit
    assert stats.to_dict()["reads"]["queries"] == 4
    assert stats.open_versions >= 2
    assert stats.session_bytes > 0


def test_plans_of_few_schemas_are_remembered_and_the_least_used_leave(graph: og.Graph) -> None:
    schemas = [GraphSchema.new(f"node N{number} {{ k: String @key }}", new_ulid()) for number in range(MAX_SCHEMAS)]
    first = graph._reader.compiler(graph.snapshot().schema)
    for each in schemas:
        assert graph._reader.compiler(each) is graph._reader.compiler(each)
        assert graph._reader.compiler(graph.snapshot().schema) is first
    assert len(graph._reader._compilers) == MAX_SCHEMAS
    assert schemas[0].digest not in graph._reader._compilers


def test_a_closed_graph_keeps_nothing_in_memory(graph: og.Graph) -> None:
    graph.query(PAIRS)
    memory = graph._reader.memory
    graph.close()
    assert all(each.entries == 0 for each in memory.stats().values())


# ── logs and spans ───────────────────────────────────────────────────────────────────────────────────────────────────


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
