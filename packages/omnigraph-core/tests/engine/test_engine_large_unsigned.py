"""Every U64 can be stored, asked for, changed, connected, exported and loaded again: keys and other properties."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph import Graph
from omnigraph.errors import InvalidInputError

SCHEMA = """
node Star {
    code: U64 @key
    mass: U64? @index
    tags: [U64]?
    name: String?
}
edge Orbits: Star -> Star {
    years: U64?
}
"""
LAST = str(2**64 - 1)
LARGE = [0, 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1]


def star(code: int, **others: Any) -> dict[str, Any]:
    return {"type": "Star", "data": {"code": code, **others}}


def new_graph() -> Graph:
    return og.init(f"memory://unsigned-{uuid.uuid4().hex}", schema=SCHEMA)


@pytest.fixture(params=["memory", "stored"])
def graph(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Graph:
    monkeypatch.setenv("OMNIGRAPH_SCAN_MODE", request.param)
    made = new_graph()
    made.load([star(each, mass=each, tags=[each, 7], name=str(each)) for each in LARGE], "append")
    made.load(
        [{"edge": "Orbits", "from": str(each), "to": str(2**64 - 1), "data": {"years": each}} for each in LARGE],
        "append",
    )
    made.maintain.ensure_indices()
    return made


def codes(graph: Graph, clauses: str, declared: str = "", **params: Any) -> list[int]:
    text = f"query q({declared}) {{ match {{ {clauses} }} return {{ $s.code }} order {{ $s.code }} }}"
    return [each["s.code"] for each in graph.query(text, params=params).rows()]


@pytest.mark.parametrize("code", LARGE)
def test_a_node_is_found_by_its_key_given_as_a_literal_a_number_or_a_text(graph: Graph, code: int):
    assert codes(graph, f"$s: Star {{ code: {code} }}") == [code]
    assert codes(graph, "$s: Star { code: $c }", "$c: U64", c=code) == [code]
    assert codes(graph, "$s: Star { code: $c }", "$c: U64", c=str(code)) == [code]


@pytest.mark.parametrize("bound", LARGE)
@pytest.mark.parametrize("column", ["code", "mass"])
def test_comparisons_are_exact_up_to_the_largest(graph: Graph, column: str, bound: int):
    assert codes(graph, f"$s: Star $s.{column} > {bound}") == [each for each in LARGE if each > bound]
    assert codes(graph, f"$s: Star {bound} >= $s.{column}") == [each for each in LARGE if each <= bound]
    assert codes(graph, f"$s: Star $s.{column} != $b", "$b: U64", b=bound) == [each for each in LARGE if each != bound]
    assert codes(graph, f"$s: Star $s.tags contains {bound}") == [bound]
    assert codes(graph, f"$s: Star [1, {bound}] contains $s.{column}") == sorted({1, bound})


def test_a_signed_property_is_never_equal_to_what_it_cannot_hold():
    graph = og.init(f"memory://unsigned-{uuid.uuid4().hex}", schema="node Thing { n: I64 }")
    graph.load([{"type": "Thing", "data": {"n": 2**63 - 1}}, {"type": "Thing", "data": {"n": -1}}], "append")
    found = graph.query("query q() { match { $t: Thing $t.n < 9223372036854775808 } return { $t.n } order { $t.n } }")
    assert [each["t.n"] for each in found.rows()] == [-1, 2**63 - 1]
    assert graph.query("query q() { match { $t: Thing $t.n = 18446744073709551615 } return { $t.n } }").rows() == []


def test_least_greatest_sum_and_order_do_not_wrap_around(graph: Graph):
    (row,) = graph.query(
        "query q() { match { $s: Star } return { min($s.mass) as low max($s.mass) as high sum($s.mass) as all } }"
    ).rows()
    assert (row["low"], row["high"], row["all"]) == (0, 2**64 - 1, float(sum(LARGE)))
    text = "query q() { match { $s: Star } return { $s.code } order { $s.mass desc } }"
    assert [each["s.code"] for each in graph.query(text).rows()] == LARGE[::-1]


def test_results_have_all_digits_as_json_and_as_arrow(graph: Graph):
    text = """
    query q($c: U64) {
        match { $s: Star { code: $c } }
        return { $s.code $c as given 18446744073709551614 as literal }
    }
    """
    found = graph.query(text, params={"c": 2**64 - 1})
    assert json.loads(json.dumps(found.to_dict()))["rows"] == [
        {"s.code": 2**64 - 1, "given": 2**64 - 1, "literal": 2**64 - 2}
    ]
    assert set(found.to_arrow().schema.types) == {pa.uint64()}


def test_mutations_insert_match_change_connect_and_delete(graph: Graph):
    graph.mutate("query i($c: U64) { insert Star { code: $c, mass: 18446744073709551613 } }", params={"c": 2**64 - 3})
    graph.mutate("query i() { insert Star { code: 18446744073709551612 } }")
    assert codes(graph, "$s: Star $s.code > 18446744073709551611") == [2**64 - 4, 2**64 - 3, 2**64 - 2, 2**64 - 1]
    done = graph.mutate('query u() { update Star set { name: "changed" } where code = 18446744073709551613 }')
    assert done.affected_nodes == 1
    done = graph.mutate(
        "query u($m: U64) { update Star set { mass: 18446744073709551615 } where mass = $m }", params={"m": 2**64 - 3}
    )
    assert done.affected_nodes == 1
    assert codes(graph, '$s: Star { name: "changed", mass: 18446744073709551615 }') == [2**64 - 3]
    graph.mutate(
        'query e() { insert Orbits { from: "18446744073709551613", to: "9223372036854775808",'
        " years: 9223372036854775809 } }"
    )
    assert codes(graph, "$t: Star { code: 18446744073709551613 } $t orbits $s") == [2**63]
    done = graph.mutate("query d($c: U64) { delete Star where code = $c }", params={"c": 2**64 - 3})
    assert (done.affected_nodes, done.affected_edges) == (1, 1)
    done = graph.mutate("query d() { delete Orbits where years = 18446744073709551614 }")
    assert done.affected_edges == 1


def test_an_export_loads_as_the_same_graph(graph: Graph):
    lines = list(graph.export())
    other = new_graph()
    other.load([json.loads(each) for each in lines], "append")
    assert sorted(other.export()) == sorted(lines)
    assert codes(other, "$s: Star { code: 18446744073709551615 }") == [2**64 - 1]


def test_beyond_the_largest_there_is_nothing(graph: Graph):
    with pytest.raises(og.errors.CompileError, match="the largest is 18446744073709551615"):
        codes(graph, "$s: Star { code: 18446744073709551616 }")
    with pytest.raises(InvalidInputError, match="outside 0 to 18446744073709551615"):
        codes(graph, "$s: Star { code: $c }", "$c: U64", c=2**64)
    with pytest.raises(og.errors.CompileError, match="exceeds I64 range"):
        new_graph_of_i64().mutate("query i() { insert Thing { n: 9223372036854775808 } }")


def new_graph_of_i64() -> Graph:
    return og.init(f"memory://unsigned-{uuid.uuid4().hex}", schema="node Thing { n: I64 }")
