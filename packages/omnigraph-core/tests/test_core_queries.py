"""``Graph.query``, ``explain`` and ``stats``: what a user holds, on a graph in memory."""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import omnigraph as og
from omnigraph.engine import postings, predicates, run, spans
from omnigraph.engine.reader import MAX_SCHEMAS
from omnigraph.errors import (
    CheckError,
    CompileError,
    DeadlineError,
    InvalidInputError,
    NotFoundError,
    ResourceLimitError,
)
from omnigraph.history.schemas import GraphSchema
from omnigraph.history.ulids import new_ulid
from omnigraph.lang import SourceText

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


def test_a_look_up_by_key_judges_every_other_condition(graph: og.Graph) -> None:
    def found(conditions: str) -> list[str]:
        text = f'query q() {{ match {{ $p: Person {{ name: "ann" }} {conditions} }} return {{ $p.name }} }}'
        return [row["p.name"] for row in graph.query(text).rows()]

    assert found("") == ["ann"]
    assert found("$p.age = 40") == ["ann"]
    assert found("$p.age = 41") == []
    assert found('$p.name = "ann"') == ["ann"]
    assert found('$p.name = "bo"') == []
    assert found('$p.name != "ann"') == []
    assert found('$p: Person { name: "bo" }') == []


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
    assert "  est. 1 row  read from memory" in str(explained)


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


# ── in and out ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_moment_can_be_a_commit_and_a_budget_must_be_one(graph: og.Graph) -> None:
    first = graph.commits.list()[-1]
    assert graph.query(PAIRS, snapshot=first).rows() == [{"n": 0}]
    with pytest.raises(InvalidInputError, match="5 is no budget"):
        graph.query(PAIRS, budget=5)  # type: ignore[arg-type]


def test_a_point_in_time_that_goes_out_by_pandas_comes_back_to_the_millisecond() -> None:
    graph = og.init(f"memory://{new_ulid()}", schema="node E { k: String @key  at: DateTime  all: [DateTime]? }")
    moment = "2025-01-02T03:04:05.678Z"
    graph.load([{"type": "E", "data": {"k": "a", "at": moment, "all": [moment]}}], mode="append")
    before = list(graph.export())
    for form in (graph.table("E").to_pandas(), graph.table("E").to_polars(), graph.table("E").to_arrow()):
        graph.load({"E": form}, mode="merge")
        assert list(graph.export()) == before


def test_a_condition_over_many_rows_is_judged_in_parts(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    older = "query q() { match { $a: Person  $b: Person  $a.age > $b.age } return { $a.name, $b.name } }"
    whole = graph.query(older).rows()
    assert len(whole) == 3
    monkeypatch.setattr(predicates, "PART_ROWS", 5)
    assert graph.query(older).rows() == whole


# ── what newcomers met ───────────────────────────────────────────────────────────────────────────────────────────────


def line_of(explained: og.Explanation, word: str) -> str:
    return next(line for line in str(explained).splitlines() if line.lstrip().startswith(word))


def test_a_text_with_a_name_is_called_by_it_in_diagnostics(graph: og.Graph) -> None:
    text = "query q() { match { $p: Persn } return { $p } }"
    for ask in (graph.query, graph.explain):
        with pytest.raises(CompileError) as told:
            ask(SourceText.of(text, "people.gq"))
        assert [each.source.name for each in told.value.diagnostics] == ["people.gq"]
    assert len(graph.query(SourceText.of(PAIRS, "ends in .gq"))) == 1


def test_explain_needs_values_only_to_run(graph: og.Graph) -> None:
    explained = graph.explain(QUERIES, "friends")
    assert [each.operator.split()[0] for each in explained.steps] == ["Project", "Sort", "Expand", "NodeScan"]
    with pytest.raises(InvalidInputError, match="parameter 'name' not provided"):
        graph.explain(QUERIES, "friends", analyze=True)
    with pytest.raises(InvalidInputError, match="name expects String"):
        graph.explain(QUERIES, "friends", params={"name": 5})


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


# ── what is too large ────────────────────────────────────────────────────────────────────────────────────────────────


def test_look_ups_never_read_a_column_that_is_too_large_to_be_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_CACHE_BYTES", str(8 << 20))
    count = 60_000
    numbers = np.random.default_rng(0).standard_normal(count * 32, dtype=np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(numbers), 32)
    graph = og.init(f"memory://{new_ulid()}", schema="node D { k: String @key  v: Vector(32)? }")
    graph.load({"D": pa.table({"k": [f"d{number}" for number in range(count)], "v": vectors})}, mode="append")
    graph.query("query q() { match { $d: D } return { count($d) as n } }")
    before = graph.stats().read_bytes
    for number in range(5):
        look_up = f'query q() {{ match {{ $d: D {{ k: "d{number}" }} }} return {{ $d.v }} }}'
        assert graph.query(look_up).rows() == [{"d.v": numbers[32 * number : 32 * number + 32].tolist()}]
    # The column has 7.7 MB; ids are held.
    assert graph.stats().read_bytes - before < 1 << 20
    assert graph.stats().memory["types"].entries == 1


def test_values_that_a_condition_on_two_variables_fetches_count_against_the_budget() -> None:
    graph = og.init(f"memory://{new_ulid()}", schema="node N { k: String @key  t: String }")
    graph.load([{"type": "N", "data": {"k": f"n{number}", "t": f"{number} " * 500}} for number in range(30)], "append")
    text = "query q() { match { $a: N  $b: N  $a.t contains $b.t } return { count($a) as n } }"
    with pytest.raises(ResourceLimitError) as told:
        graph.query(text, budget=og.QueryBudget(max_bytes=1_000_000))
    assert (told.value.resource, told.value.operator) == ("max_bytes", "Filter")
    assert graph.query(text, budget=og.QueryBudget(max_bytes=10_000_000)).rows() == [{"n": 30}]


def test_texts_that_arrow_cannot_hold_at_once_are_a_limit_and_not_a_crash(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overflow(*_: object) -> None:
        raise pa.ArrowInvalid("offset overflow while concatenating arrays")

    monkeypatch.setattr(run, "project", overflow)
    with pytest.raises(ResourceLimitError, match="2 GiB"):
        graph.query(PAIRS)


@pytest.mark.parametrize(("source", "name"), [(PAIRS, 5), ("a\0.gq", None)])
def test_arguments_that_mean_nothing_are_told_by_typed_errors(graph: og.Graph, source: str, name: Any) -> None:
    with pytest.raises(InvalidInputError):
        graph.query(source, name)
