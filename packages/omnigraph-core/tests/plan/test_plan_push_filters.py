"""Rule 1: conditions go to where their variables are bound."""

from __future__ import annotations

from dataclasses import replace

import pytest

from omnigraph.plan import explain, lower_query
from omnigraph.plan.ir import AntiJoin, Filter
from omnigraph.plan.rules import push_filters
from omnigraph.query import compile_query
from omnigraph.schema import compile_schema

CATALOG = compile_schema(
    """
    node P { k: String @key  n: I64?  t: String?  v: Vector(2)? }
    node Q { k: String @key  n: I64? }
    edge Likes: P -> Q { w: I64? }
    edge Knows: P -> P
    """
)


def tree(clauses: str, rest: str = "") -> tuple[str, str]:
    """The operators of a query before and after the rule; the root and columns are left out."""
    read = compile_query(f"query q() {{ match {{ {clauses} }} return {{ 1 }} {rest} }}", CATALOG)
    plan = lower_query(read, CATALOG)
    return shown(plan), shown(push_filters(plan, CATALOG))


def shown(plan) -> str:
    lines = explain(plan).splitlines()[2:]
    return "\n".join(line[2:].split(" columns ")[0] for line in lines)


def lines(*parts: str) -> str:
    return "\n".join(parts)


def test_a_condition_on_a_scanned_variable_goes_into_the_scan():
    before, after = tree('$p: P { k: "a" }  $p.n > 1')
    assert before == lines(
        "Filter $p.n > 1",
        '  NodeScan $p: P where $p.k = "a"',
    )
    assert after == 'NodeScan $p: P where $p.k = "a" and $p.n > 1'


def test_a_condition_on_a_reached_variable_goes_into_the_expansion():
    before, after = tree("$p: P  $p likes $q  $q.n = 1  $p.n = 2")
    assert before == lines(
        "Filter $q.n = 1 and $p.n = 2",
        "  Expand $p Likes -> $q: Q",
        "    NodeScan $p: P",
    )
    assert after == lines(
        "Expand $p Likes -> $q: Q where $q.n = 1",
        "  NodeScan $p: P where $p.n = 2",
    )


def test_a_condition_on_a_bound_edge_goes_into_the_expansion():
    before, after = tree("$p: P  $p $e:likes $q  $e.w >= 3  $q.n = 1")
    assert before == lines(
        "Filter $e.w >= 3 and $q.n = 1",
        "  EdgeExpand $p $e:Likes -> $q: Q",
        "    NodeScan $p: P",
    )
    assert after == lines(
        "EdgeExpand $p $e:Likes -> $q: Q where $e.w >= 3 and $q.n = 1",
        "  NodeScan $p: P",
    )


def test_a_condition_on_an_edge_and_its_end_stands_right_above():
    _, after = tree("$p: P  $p $e:likes $q  $p knows $r  $e.w = $q.n")
    assert after == lines(
        "Expand $p Knows -> $r: P",
        "  Filter $e.w = $q.n",
        "    EdgeExpand $p $e:Likes -> $q: Q",
        "      NodeScan $p: P",
    )


def test_a_condition_on_two_variables_stands_where_both_are_bound_first():
    before, after = tree("$p: P  $p knows $r  $p likes $q  $p.n < $r.n")
    assert before == lines(
        "Filter $p.n < $r.n",
        "  Expand $p Likes -> $q: Q",
        "    Expand $p Knows -> $r: P",
        "      NodeScan $p: P",
    )
    assert after == lines(
        "Expand $p Likes -> $q: Q",
        "  Filter $p.n < $r.n",
        "    Expand $p Knows -> $r: P",
        "      NodeScan $p: P",
    )


def test_a_condition_passes_a_traversal_between_bound_ends():
    _, after = tree("$p: P  $p knows $r  $p knows $r  $r.n = 1")
    assert after == lines(
        "Expand $p Knows -> $r (bound)",
        "  Expand $p Knows -> $r: P where $r.n = 1",
        "    NodeScan $p: P",
    )


def test_conditions_go_to_their_side_of_a_cross_product():
    before, after = tree("$p: P  $q: Q  $p.n = 1  $q.n = 2  $p.n < $q.n")
    assert before == lines(
        "Filter $p.n = 1 and $q.n = 2 and $p.n < $q.n",
        "  CrossJoin",
        "    NodeScan $p: P",
        "    NodeScan $q: Q",
    )
    assert after == lines(
        "Filter $p.n < $q.n",
        "  CrossJoin",
        "    NodeScan $p: P where $p.n = 1",
        "    NodeScan $q: Q where $q.n = 2",
    )


def test_a_comparison_of_what_is_given_is_asked_once_at_the_bottom():
    _, after = tree("$p: P  $p likes $q  1 = 2")
    assert after == lines(
        "Expand $p Likes -> $q: Q",
        "  Filter 1 = 2",
        "    NodeScan $p: P",
    )


def test_text_clauses_go_down_like_any_condition():
    _, after = tree('$r: P  $r knows $p  search($p.t, "x")  match_text($p.t, "y")')
    assert after == lines(
        'Expand $r Knows -> $p: P where search($p.t, "x") and match_text($p.t, "y")',
        "  NodeScan $r: P",
    )


def test_conditions_pass_a_negation_and_stay_inside_of_one():
    before, after = tree("$p: P  $p.n = 1  not { $p likes $q  $q.n = 2  $p.n > $q.n  $p.n < 9 }")
    assert before == lines(
        "AntiJoin",
        "  Filter $p.n = 1",
        "    NodeScan $p: P",
        "  Filter $q.n = 2 and $p.n > $q.n and $p.n < 9",
        "    Expand $p Likes -> $q: Q",
        "      OuterRows $p",
    )
    assert after == lines(
        "AntiJoin",
        "  NodeScan $p: P where $p.n = 1",
        "  Filter $p.n > $q.n",
        "    Expand $p Likes -> $q: Q where $q.n = 2",
        "      Filter $p.n < 9",
        "        OuterRows $p",
    )


def test_a_condition_above_a_negation_goes_below_it():
    read = compile_query("query q() { match { $p: P  $p.n = 1  not { $p likes $_ } } return { 1 } }", CATALOG)
    plan = lower_query(read, CATALOG)
    negation = plan.root.input
    turned = Filter(AntiJoin(negation.input.input, negation.inner), negation.input.predicates)
    expected = AntiJoin(replace(negation.input.input, predicates=negation.input.predicates), negation.inner)

    assert push_filters(replace(plan, root=replace(plan.root, input=turned)), CATALOG).root.input == expected


def test_conditions_never_pass_a_rank():
    order = "order { nearest($p.v, [1.0, 0.0]) } limit 3"
    before, after = tree("$p: P  $p likes $q  $p.n = 1  $p.n < $q.n", order)
    assert before.splitlines()[2:] == [
        "    Filter $p.n < $q.n",
        "      Expand $p Likes -> $q: Q",
        "        Rank nearest($p.v, [1.0, 0.0]) first 3",
        "          Filter $p.n = 1",
        "            NodeScan $p: P",
    ]
    assert after.splitlines()[2:] == [
        "    Filter $p.n < $q.n",
        "      Expand $p Likes -> $q: Q",
        "        Rank nearest($p.v, [1.0, 0.0]) first 3",
        "          NodeScan $p: P where $p.n = 1",
    ]


def test_conditions_on_other_variables_pass_a_rank_join():
    order = "order { nearest($p.v, [1.0, 0.0]) } limit 3"
    _, after = tree("$q: Q  $p likes $q  $q.n = 1", order)
    assert after.splitlines()[2:] == [
        "    RankJoin $p",
        "      Expand $q Likes <- $p: P",
        "        NodeScan $q: Q where $q.n = 1",
        "      Rank nearest($p.v, [1.0, 0.0]) first 3",
        "        NodeScan $p: P",
    ]


@pytest.mark.parametrize("clauses", ["$p: P", "$p: P  $p likes $q", "$p: P  not { $p likes $_ }"])
def test_a_plan_without_conditions_stays_as_it_is(clauses):
    before, after = tree(clauses)
    assert before == after
