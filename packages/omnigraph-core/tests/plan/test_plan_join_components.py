"""Rule 3: parts are joined on equal properties, smallest first."""

from __future__ import annotations

from omnigraph.plan import explain, lower_query
from omnigraph.plan.rules import join_components, push_filters
from omnigraph.query import compile_query
from omnigraph.schema import compile_schema

CATALOG = compile_schema(
    """
    node P { k: String @key  n: I64?  m: F64?  x: I64? @index }
    node Q { k: String @key  n: I64? }
    edge Likes: P -> Q { w: I64? }
    """
)


def tree(clauses: str) -> tuple[str, str]:
    """The operators of a query before and after the rule; the root and columns are left out."""
    read = compile_query(f"query q() {{ match {{ {clauses} }} return {{ 1 }} }}", CATALOG)
    plan = push_filters(lower_query(read, CATALOG), CATALOG)
    return shown(plan), shown(join_components(plan, CATALOG))


def shown(plan) -> str:
    lines = explain(plan).splitlines()[2:]
    return "\n".join(line[2:].split(" columns ")[0] for line in lines)


def lines(*parts: str) -> str:
    return "\n".join(parts)


def test_an_equality_between_parts_becomes_the_key_of_a_join():
    before, after = tree("$p: P  $q: Q  $p.n = $q.n")
    assert before == lines(
        "Filter $p.n = $q.n",
        "  CrossJoin",
        "    NodeScan $p: P",
        "    NodeScan $q: Q",
    )
    assert after == lines(
        "Join $p.n = $q.n",
        "  NodeScan $p: P",
        "  NodeScan $q: Q",
    )


def test_the_smaller_part_comes_first_and_keys_follow_the_sides():
    _, after = tree('$p: P  $q: Q { k: "z" }  $p.n = $q.n')
    assert after == lines(
        "Join $q.n = $p.n",
        '  NodeScan $q: Q where $q.k = "z"',
        "  NodeScan $p: P",
    )


def test_several_equalities_make_several_keys_and_the_rest_is_filtered():
    _, after = tree("$p: P  $q: Q  $p.n = $q.n  $p.n < $q.n  $q.k = $p.k")
    assert after == lines(
        "Filter $p.n < $q.n",
        "  Join $p.n = $q.n and $p.k = $q.k",
        "    NodeScan $p: P",
        "    NodeScan $q: Q",
    )


def test_numbers_of_different_types_are_joined_too():
    _, after = tree("$p: P  $q: Q  $p.m = $q.n")
    assert after.splitlines()[0] == "Join $p.m = $q.n"


def test_a_cross_product_starts_with_the_smallest_part():
    before, after = tree('$a: P  $b: P { x: 1 }  $c: P { k: "z" }')
    assert before == lines(
        "CrossJoin",
        "  CrossJoin",
        "    NodeScan $a: P",
        "    NodeScan $b: P where $b.x = 1",
        '  NodeScan $c: P where $c.k = "z"',
    )
    assert after == lines(
        "CrossJoin",
        "  CrossJoin",
        '    NodeScan $c: P where $c.k = "z"',
        "    NodeScan $b: P where $b.x = 1",
        "  NodeScan $a: P",
    )


def test_parts_that_equalities_connect_are_joined_before_any_cross_product():
    _, after = tree("$a: P { x: 1 }  $b: P  $c: P  $d: P  $b.n = $d.n")
    assert after == lines(
        "CrossJoin",
        "  CrossJoin",
        "    NodeScan $a: P where $a.x = 1",
        "    Join $b.n = $d.n",
        "      NodeScan $b: P",
        "      NodeScan $d: P",
        "  NodeScan $c: P",
    )


def test_a_chain_of_equalities_joins_one_part_after_the_other():
    _, after = tree('$a: P  $b: P  $c: P { k: "z" }  $a.n = $b.n  $b.k = $c.k')
    assert after == lines(
        "Join $b.n = $a.n",
        "  Join $c.k = $b.k",
        '    NodeScan $c: P where $c.k = "z"',
        "    NodeScan $b: P",
        "  NodeScan $a: P",
    )


def test_whole_parts_are_joined_with_their_traversals():
    _, after = tree("$p: P  $p $e:likes $q  $r: P  $e.w = $r.n")
    assert after == lines(
        "Join $e.w = $r.n",
        "  EdgeExpand $p $e:Likes -> $q: Q",
        "    NodeScan $p: P",
        "  NodeScan $r: P",
    )


def test_an_equality_within_a_part_stays_a_condition():
    before, after = tree('$p: P  $p likes $q  $r: P { k: "z" }  $p.n = $q.n')
    assert before == lines(
        "CrossJoin",
        "  Filter $p.n = $q.n",
        "    Expand $p Likes -> $q: Q",
        "      NodeScan $p: P",
        '  NodeScan $r: P where $r.k = "z"',
    )
    assert after == lines(
        "CrossJoin",
        '  NodeScan $r: P where $r.k = "z"',
        "  Filter $p.n = $q.n",
        "    Expand $p Likes -> $q: Q",
        "      NodeScan $p: P",
    )


def test_conditions_on_three_parts_stand_as_low_as_they_can():
    _, after = tree("$a: P  $b: P  $c: P  $a.n < $b.n  $b.n < $c.n")
    assert after == lines(
        "Filter $b.n < $c.n",
        "  CrossJoin",
        "    Filter $a.n < $b.n",
        "      CrossJoin",
        "        NodeScan $a: P",
        "        NodeScan $b: P",
        "    NodeScan $c: P",
    )


def test_the_outer_row_of_a_negation_stays_first():
    _, after = tree('$p: P  not { $q: Q { k: "z" }  $p.n = $q.n }')
    assert after == lines(
        "AntiJoin",
        "  NodeScan $p: P",
        "  Join $p.n = $q.n",
        "    OuterRows $p",
        '    NodeScan $q: Q where $q.k = "z"',
    )
