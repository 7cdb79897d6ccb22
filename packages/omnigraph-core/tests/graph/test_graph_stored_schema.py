"""A graph whose schema today's compiler would refuse opens, and everything that goes through its schema works."""

from __future__ import annotations

import pickle
import uuid
from dataclasses import replace

import pyarrow as pa
import pytest
from publish_world import commit_after

import omnigraph as og
from omnigraph.errors import CheckError, CompileError, ConstraintError
from omnigraph.graph import Graph
from omnigraph.history.commits import CommitKind
from omnigraph.history.schemas import GraphSchema, write_schema
from omnigraph.history.state import schema_row
from omnigraph.schema import compile_schema
from omnigraph.schema.ir import CheckConstraint
from omnigraph.testing.invariants import assert_graph_is_whole

SCHEMA = """
interface Named { name: String @index }
node Film implements Named { code: String @key  year: I32?  @range(year, 1888..)  @check(code, "^[a-z]+$") }
node Person { name: String @key  mail: String? @unique }
edge Saw: Person -> Film @card(0..2) { stars: F64? }
"""
REFUSED = SCHEMA.replace("node Film", "table Film") + "\nview Best { }\n"
ROWS = [
    {"type": "Film", "data": {"code": "alien", "name": "Alien", "year": 1979}},
    {"type": "Film", "data": {"code": "heat", "name": "Heat", "year": 1995}},
    {"type": "Person", "data": {"name": "ann"}},
    {"edge": "Saw", "from": "ann", "to": "alien", "data": {"stars": 4.5}},
]
SEEN = "query seen($who: String) { match { $p: Person  $p saw $f  $p.name = $who } return { $f.code, $f.year } }"
ADD = "query add($code: String) { insert Film { code: $code, name: $code } }"


def give(graph: Graph, schema: GraphSchema) -> None:
    """Publish a schema as a release would have that accepted it."""
    repository = graph._repository
    write_schema(repository.adapter, schema)
    log = repository.newest()
    log.publish(log.stage(commit_after(log, CommitKind.SCHEMA), [schema_row(schema.digest, log.version + 1)]))


def graph_of(text: str, pattern: str | None = None) -> Graph:
    """A graph with rows, opened anew, whose stored text is this one, and its first ``@check`` has this pattern."""
    uri = f"memory://stored-{uuid.uuid4().hex}"
    with og.init(uri, schema=SCHEMA) as made:
        made.load(ROWS, "append")
        ir = made._repository.schema(made._repository.newest().state.schema_digest).ir
        if pattern is not None:
            ir = replace(
                ir, nodes=tuple(replace(each, constraints=tuple(with_pattern(each, pattern))) for each in ir.nodes)
            )
        give(made, GraphSchema.of(text, ir))
    return og.open(uri)


def with_pattern(node, pattern: str):
    for each in node.constraints:
        yield replace(each, pattern=pattern) if isinstance(each, CheckConstraint) else each


def codes(graph: Graph, **moment) -> list[str]:
    return sorted(row["code"] for row in graph.table("Film", **moment))


@pytest.fixture
def graph() -> Graph:
    return graph_of(REFUSED)


def test_the_compiler_does_refuse_the_text():
    with pytest.raises(CompileError):
        compile_schema(REFUSED)


def test_the_graph_opens_and_shows_the_text_as_it_was_written(graph: Graph):
    assert graph.schema.text == REFUSED
    assert_graph_is_whole(graph)
    with og.open(graph.uri, mode="r") as reader:
        assert reader.schema.text == REFUSED


def test_queries_are_checked_compiled_explained_and_run(graph: Graph):
    assert graph.query(SEEN, params={"who": "ann"}).rows() == [{"f.code": "alien", "f.year": 1979}]
    assert "Film" in str(graph.explain(SEEN, params={"who": "ann"}))
    with pytest.raises(CheckError, match="titel"):
        graph.query("query q() { match { $f: Film } return { $f.titel } }")


def test_rows_are_written_and_every_rule_holds(graph: Graph):
    graph.mutate(ADD, params={"code": "brazil"})
    assert codes(graph) == ["alien", "brazil", "heat"]
    with pytest.raises(ConstraintError) as caught:
        graph.mutate(ADD, params={"code": "BIG"})
    assert caught.value.constraint == "@check(code)"
    with pytest.raises(ConstraintError) as caught:
        graph.load([{"type": "Film", "data": {"code": "old", "name": "Old", "year": 1066}}], "append")
    assert caught.value.constraint == "@range(year)"
    two_more = [{"edge": "Saw", "from": "ann", "to": code, "data": {}} for code in ("heat", "brazil")]
    with pytest.raises(ConstraintError) as caught:
        graph.load(two_more, "append")
    assert caught.value.constraint == "@card(0..2)"


def test_branches_old_snapshots_merges_and_bulk_writes_go_through_it(graph: Graph):
    graph.branches.create("review")
    graph.mutate(ADD, params={"code": "stalker"}, branch="review")
    assert graph.query(SEEN, params={"who": "ann"}, branch="review").rows() == [{"f.code": "alien", "f.year": 1979}]
    graph.branches.merge("review")
    loaded = next(each for each in graph.commits.list() if each.kind == "data" and each.manifest_version == 2)
    assert codes(graph, snapshot=loaded.id) == ["alien", "heat"]
    ticket = pickle.loads(pickle.dumps(graph.bulk(["Film"])))
    rows = pa.table({"code": ["solaris"], "name": ["Solaris"], "year": pa.array([1972], "int32")})
    graph.bulk_publish([ticket.write("Film", rows)])
    assert codes(graph) == ["alien", "heat", "solaris", "stalker"]
    assert_graph_is_whole(graph)


# ── patterns ──


@pytest.mark.parametrize("pattern", ["(unclosed", "(?=ahead)", "[z-a]", "a{2,1}", r"\p{NoSuchScript}", r"\w{3000}"])
def test_a_write_under_a_pattern_that_cannot_be_compiled_names_the_constraint_and_changes_nothing(pattern: str):
    graph = graph_of(SCHEMA, pattern)
    head = graph.snapshot().commit.id
    assert graph.query(SEEN, params={"who": "ann"}).rows() == [{"f.code": "alien", "f.year": 1979}]
    for write in (
        lambda: graph.mutate(ADD, params={"code": "brazil"}),
        lambda: graph.load([{"type": "Film", "data": {"code": "brazil", "name": "Brazil"}}], "merge"),
    ):
        with pytest.raises(
            ConstraintError, match=r"@check violation on Film\.code: the pattern .* cannot be used"
        ) as caught:
            write()
        assert (caught.value.constraint, caught.value.type_key) == ("@check(code)", "node:Film")
    graph.load([{"type": "Person", "data": {"name": "bob"}}], "append")
    assert graph.snapshot().commit.parent_id == head
    assert codes(graph) == ["alien", "heat"]


def test_a_long_pattern_that_only_the_compiler_refuses_is_used_as_it_is():
    graph = graph_of(SCHEMA, f"^alien$|{'x' * 60_000}")
    with pytest.raises(ConstraintError, match="does not match the pattern"):
        graph.mutate(ADD, params={"code": "brazil"})
    graph.mutate(ADD, params={"code": "alien"})
