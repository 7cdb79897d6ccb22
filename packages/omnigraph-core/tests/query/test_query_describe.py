"""The operation of a query: which columns it gives, which types it reads and writes."""

from __future__ import annotations

from typing import Any

import pytest

from omnigraph.query import compile_queries
from omnigraph.query.describe import Operation, describe_query
from omnigraph.schema import compile_schema

SCHEMA = """
node Film {
    code: String @key
    genre: enum(drama, docu)
    title: String?
    seen: Bool
    votes: I32
    views: I64?
    seats: U32
    gross: U64
    stars: F32?
    rating: F64
    released: Date?
    added: DateTime
    tags: [String]?
    marks: [I64]
    plot: Vector(4)?
    poster: Blob?
}
node Person { handle: String @key }
node Studio { name: String @key }
edge Directed: Person -> Film
edge Rented: Person -> Film { on: Date? }
edge Follows: Person -> Person
edge Owns: Studio -> Studio
"""
CATALOG = compile_schema(SCHEMA)


def operation(body: str, parameters: str = "") -> Operation:
    (query,) = compile_queries(f"query q({parameters}) {{ {body} }}", CATALOG)
    return describe_query(query, CATALOG)


def columns(returned: str, parameters: str = "") -> list[dict[str, Any]]:
    read = f"match {{ $p: Person  $p $r:rented $f }} return {{ {returned} }}"
    return operation(read, parameters).to_dict()["result"]


def column(returned: str, parameters: str = "") -> dict[str, Any]:
    (only,) = columns(returned, parameters)
    return only


# ── kinds ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "kind", "nullable"),
    [
        ("code", "string", False),
        ("genre", "string", False),
        ("title", "string", True),
        ("seen", "bool", False),
        ("votes", "int", False),
        ("views", "bigint", True),
        ("seats", "int", False),
        ("gross", "bigint", False),
        ("stars", "float", True),
        ("rating", "float", False),
        ("released", "date", True),
        ("added", "datetime", False),
    ],
)
def test_a_property_has_the_kind_and_the_nullability_of_its_type(name: str, kind: str, nullable: bool) -> None:
    assert column(f"$f.{name}") == {"name": name, "kind": kind, "nullable": nullable}


def test_a_list_has_the_kind_of_its_items_too() -> None:
    assert columns("$f.tags, $f.marks") == [
        {"name": "tags", "kind": "list", "item_kind": "string", "nullable": True},
        {"name": "marks", "kind": "list", "item_kind": "bigint", "nullable": False},
    ]


def test_a_vector_has_its_dimension() -> None:
    assert column("$f.plot") == {"name": "plot", "kind": "vector", "vector_dim": 4, "nullable": True}


def test_a_node_is_an_object_and_never_null() -> None:
    assert column("$f") == {"name": "f", "kind": "object", "nullable": False}


def test_a_property_of_an_edge_is_described_like_one_of_a_node() -> None:
    assert column("$r.on") == {"name": "on", "kind": "date", "nullable": True}


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        ("$x: String", {"kind": "string", "nullable": False}),
        ("$x: Date?", {"kind": "date", "nullable": True}),
        ("$x: [I32]", {"kind": "list", "item_kind": "int", "nullable": False}),
        ("$x: Vector(3)", {"kind": "vector", "vector_dim": 3, "nullable": False}),
    ],
)
def test_a_parameter_has_the_kind_of_its_declaration(parameter: str, expected: dict[str, Any]) -> None:
    assert column("$x", parameter) == {"name": "x"} | expected


@pytest.mark.parametrize(
    ("literal", "kind"),
    [('"text"', "string"), ("7", "bigint"), ("0.5", "float"), ("true", "bool"), ('date("2026-01-01")', "date")],
)
def test_a_literal_is_called_literal_and_never_null(literal: str, kind: str) -> None:
    assert column(literal) == {"name": "literal", "kind": kind, "nullable": False}


def test_now_is_a_datetime_called_now() -> None:
    assert column("now()") == {"name": "now", "kind": "datetime", "nullable": False}


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_alias_is_the_name_of_whatever_it_stands_at() -> None:
    returned = "$f.title as a, $f as b, 7 as c, now() as d, $x as e"
    assert [each["name"] for each in columns(returned, "$x: I32")] == ["a", "b", "c", "d", "e"]
    assert column("count($f) as n")["name"] == "n"


def test_an_alias_that_repeats_the_argument_of_an_aggregate_is_still_the_name() -> None:
    assert column("count($f) as f")["name"] == "f"


@pytest.mark.parametrize(
    ("call", "name", "kind"),
    [
        ('bm25($f.title, "x")', "bm25", "float"),
        ("nearest($f.plot, [1.0, 0.0, 0.0, 0.0])", "nearest", "float"),
        ('rrf(bm25($f.title, "x"), nearest($f.plot, [1.0, 0.0, 0.0, 0.0]))', "rrf", "float"),
    ],
)
def test_a_score_is_called_by_its_function_and_may_be_null(call: str, name: str, kind: str) -> None:
    assert column(call) == {"name": name, "kind": kind, "nullable": True}


def test_columns_come_in_the_order_of_the_projections() -> None:
    assert [each["name"] for each in columns("$f.votes, $p.handle, $f.code")] == ["votes", "handle", "code"]


# ── aggregates ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("call", "name", "kind"),
    [
        ("count($f)", "count", "bigint"),
        ("count($f.code)", "count", "bigint"),
        ("sum($f.votes)", "sum", "float"),
        ("avg($f.rating)", "avg", "float"),
        ("min($f.votes)", "min", "int"),
        ("max($f.gross)", "max", "bigint"),
        ("max($f.code)", "max", "string"),
        ("min($f)", "min", "object"),
    ],
)
def test_an_aggregate_is_called_by_its_function_and_may_be_null(call: str, name: str, kind: str) -> None:
    assert column(call) == {"name": name, "kind": kind, "nullable": True}


# ── reads and writes ─────────────────────────────────────────────────────────────────────────────────────────────────


def touched(of: Operation) -> tuple[list[str], list[str]]:
    """What is read and what is written, as ``kind:name``."""
    facts = of.to_dict()
    return tuple([f"{each['kind']}:{each['type_name']}" for each in facts[side]] for side in ("reads", "writes"))  # type: ignore[return-value]


def test_a_read_reads_its_bound_types_and_writes_nothing() -> None:
    assert touched(operation("match { $s: Studio  $p: Person } return { $s, $p }")) == (
        ["node:Person", "node:Studio"],
        [],
    )


def test_a_traversal_reads_its_edge_and_both_endpoint_types() -> None:
    both = ["node:Film", "node:Person", "edge:Rented"]
    assert touched(operation("match { $p rented $f } return { $f }"))[0] == both
    assert touched(operation("match { $f: Film  $f rented $_ } return { $f }"))[0] == both


def test_what_is_mentioned_inside_not_is_read_too() -> None:
    body = "match { $p: Person  not { $p follows $q  not { $q rented $_ } } } return { $p }"
    assert touched(operation(body))[0] == ["node:Film", "node:Person", "edge:Follows", "edge:Rented"]


def test_nodes_come_before_edges_then_by_name_each_once() -> None:
    body = "match { $s: Studio  $s owns $t  $p: Person  $p follows $q  $q follows $p } return { $p, $s }"
    assert touched(operation(body))[0] == ["node:Person", "node:Studio", "edge:Follows", "edge:Owns"]


@pytest.mark.parametrize(
    ("statement", "reads", "writes"),
    [
        ('insert Person { handle: "ann" }', ["node:Person"], ["node:Person"]),
        ('update Film set { votes: 3 } where code = "x"', ["node:Film"], ["node:Film"]),
        (
            'insert Rented { from: "ann", to: "x" }',
            ["node:Film", "node:Person", "edge:Rented"],
            ["edge:Rented"],
        ),
        (
            'delete Film where code = "x"',
            ["node:Film", "edge:Directed", "edge:Rented"],
            ["node:Film", "edge:Directed", "edge:Rented"],
        ),
        ('delete Rented where from = "ann"', ["edge:Rented"], ["edge:Rented"]),
    ],
)
def test_a_change_reads_and_writes_its_target_and_what_goes_with_it(
    statement: str, reads: list[str], writes: list[str]
) -> None:
    assert touched(operation(statement)) == (reads, writes)


def test_several_statements_are_one_operation_without_a_result() -> None:
    facts = operation('insert Person { handle: "ann" }  insert Follows { from: "ann", to: "bo" }').to_dict()
    assert facts == {
        "result": [],
        "reads": [{"kind": "node", "type_name": "Person"}, {"kind": "edge", "type_name": "Follows"}],
        "writes": [{"kind": "node", "type_name": "Person"}, {"kind": "edge", "type_name": "Follows"}],
    }
