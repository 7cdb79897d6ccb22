"""``Graph.query``: what a user holds, on a graph in memory."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from people_world import PAIRS, QUERIES, SCHEMA, knows, people_graph, person

import omnigraph as og
from omnigraph.engine import postings, predicates, run
from omnigraph.errors import (
    CheckError,
    CompileError,
    DeadlineError,
    InvalidInputError,
    NotFoundError,
    ResourceLimitError,
)
from omnigraph.history.ulids import new_ulid
from omnigraph.lang import SourceText


@pytest.fixture
def graph() -> og.Graph:
    return people_graph()


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


def test_a_text_with_a_name_is_called_by_it_in_diagnostics(graph: og.Graph) -> None:
    text = "query q() { match { $p: Persn } return { $p } }"
    for ask in (graph.query, graph.explain):
        with pytest.raises(CompileError) as told:
            ask(SourceText.of(text, "people.gq"))
        assert [each.source.name for each in told.value.diagnostics] == ["people.gq"]
    assert len(graph.query(SourceText.of(PAIRS, "ends in .gq"))) == 1


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
