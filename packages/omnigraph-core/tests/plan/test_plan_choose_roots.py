"""Rule 2: each part starts at its most selective variable."""

from __future__ import annotations

import pytest

from omnigraph.plan import explain, lower_query
from omnigraph.plan.rules import choose_roots, push_filters
from omnigraph.query import compile_query
from omnigraph.schema import compile_schema

CATALOG = compile_schema(
    """
    node P {
        k: String @key
        u: String? @unique
        x: I64? @index
        n: I64?
        t: String?
        v: Vector(2)?
    }
    node Q { a: String  b: String  n: I64?  tags: [String]?  @key(a, b)  @unique(n, a) }
    edge Likes: P -> Q { w: I64? }
    edge Knows: P -> P
    """
)


def tree(clauses: str, rest: str = "") -> tuple[str, str]:
    """The operators of a query before and after the rule; the root and columns are left out."""
    read = compile_query(f"query q() {{ match {{ {clauses} }} return {{ 1 }} {rest} }}", CATALOG)
    plan = push_filters(lower_query(read, CATALOG), CATALOG)
    return shown(plan), shown(choose_roots(plan, CATALOG))


def shown(plan) -> str:
    lines = explain(plan).splitlines()[2:]
    return "\n".join(line[2:].split(" columns ")[0] for line in lines)


def lines(*parts: str) -> str:
    return "\n".join(parts)


def test_the_variable_with_a_whole_key_is_scanned_and_the_edge_followed_backward():
    before, after = tree('$p: P  $p likes $q  $q: Q { a: "1", b: "2" }')
    assert before == lines(
        'Expand $p Likes -> $q: Q where $q.a = "1" and $q.b = "2"',
        "  NodeScan $p: P",
    )
    assert after == lines(
        "Expand $q Likes <- $p: P",
        '  NodeScan $q: Q where $q.a = "1" and $q.b = "2"',
    )


def test_conditions_of_the_old_root_go_with_it():
    _, after = tree('$p: P { n: 1 }  $p likes $q  $q: Q { a: "1", b: "2" }')
    assert after == lines(
        "Expand $q Likes <- $p: P where $p.n = 1",
        '  NodeScan $q: Q where $q.a = "1" and $q.b = "2"',
    )


def test_a_chain_is_walked_from_its_end():
    before, after = tree('$a: P  $a knows $b  $b knows $c  $c: P { k: "z" }')
    assert before == lines(
        'Expand $b Knows -> $c: P where $c.k = "z"',
        "  Expand $a Knows -> $b: P",
        "    NodeScan $a: P",
    )
    assert after == lines(
        "Expand $b Knows <- $a: P",
        "  Expand $c Knows <- $b: P",
        '    NodeScan $c: P where $c.k = "z"',
    )


def test_a_chain_is_walked_both_ways_from_its_middle():
    _, after = tree('$a: P  $a knows $b  $b knows $c  $b: P { k: "z" }')
    assert after == lines(
        "Expand $b Knows -> $c: P",
        "  Expand $b Knows <- $a: P",
        '    NodeScan $b: P where $b.k = "z"',
    )


def test_the_traversal_that_closes_a_circle_may_be_another_one():
    before, after = tree('$a: P { n: 1 }  $a knows $b  $b knows $c  $c knows $a  $c: P { k: "z" }')
    assert before == lines(
        "Expand $c Knows -> $a (bound)",
        '  Expand $b Knows -> $c: P where $c.k = "z"',
        "    Expand $a Knows -> $b: P",
        "      NodeScan $a: P where $a.n = 1",
    )
    assert after == lines(
        "Expand $a Knows -> $b (bound)",
        "  Expand $c Knows -> $a: P where $a.n = 1",
        "    Expand $c Knows <- $b: P",
        '      NodeScan $c: P where $c.k = "z"',
    )


def test_a_bound_edge_keeps_its_conditions_when_it_is_turned():
    _, after = tree('$p: P  $p $e:likes $q  $e.w > 1  $q: Q { a: "1", b: "2" }')
    assert after == lines(
        "EdgeExpand $q $e:Likes <- $p: P where $e.w > 1",
        '  NodeScan $q: Q where $q.a = "1" and $q.b = "2"',
    )


def test_an_undirected_edge_stays_undirected():
    _, after = tree('$a: P  $a <knows>{1,3} $b  $b: P { k: "z" }')
    assert after == lines(
        "Expand $b <Knows>{1,3} $a: P",
        '  NodeScan $b: P where $b.k = "z"',
    )


def test_nameless_ends_stay_with_their_variable():
    _, after = tree('$a: P  $a likes $_  $a knows $b  $b: P { k: "z" }')
    assert after == lines(
        "Expand $a Likes -> $_: Q",
        "  Expand $b Knows <- $a: P",
        '    NodeScan $b: P where $b.k = "z"',
    )


def test_a_search_from_one_hop_on_is_turned():
    _, after = tree('$a: P  $a knows{1,3} $b  $b: P { k: "z" }')
    assert after == lines(
        "Expand $b Knows{1,3} <- $a: P",
        '  NodeScan $b: P where $b.k = "z"',
    )


def test_a_search_from_two_hops_on_is_never_turned():
    before, after = tree('$a: P  $a knows{2,3} $b  $b: P { k: "z" }')
    assert (
        before
        == after
        == lines(
            'Expand $a Knows{2,3} -> $b: P where $b.k = "z"',
            "  NodeScan $a: P",
        )
    )


def test_a_root_behind_a_search_from_two_hops_on_gives_way_to_the_next_best():
    _, after = tree('$a: P  $a knows{2,3} $b  $c knows $a  $b: P { k: "z" }  $c.x = 1')
    assert after == lines(
        'Expand $a Knows{2,3} -> $b: P where $b.k = "z"',
        "  Expand $c Knows -> $a: P",
        "    NodeScan $c: P where $c.x = 1",
    )


def test_a_root_on_the_far_side_of_another_traversal_reaches_the_source_of_the_search():
    # The search must start at $a; from $c one can walk to $a first.
    _, after = tree('$a: P  $a knows{2,2} $b  $a knows $c  $b knows $c  $c: P { k: "z" }')
    assert after == lines(
        "Expand $a Knows{2,2} -> $b (bound)",
        "  Expand $c Knows <- $b: P",
        "    Expand $c Knows <- $a: P",
        '      NodeScan $c: P where $c.k = "z"',
    )


def test_conditions_on_several_variables_find_their_place_again():
    _, after = tree('$a: P  $a knows $b  $b knows $c  $a.n < $b.n  $c: P { k: "z" }')
    assert after == lines(
        "Filter $a.n < $b.n",
        "  Expand $b Knows <- $a: P",
        "    Expand $c Knows <- $b: P",
        '      NodeScan $c: P where $c.k = "z"',
    )


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ('$b.k = "z"', '$a.u = "y"'),
        ('$b.u = "y"', "$a.x = 1"),
        ("$b.x = 1", "$a.n = 1"),
        ("$b.n = 1", '$a.k starts_with "z"'),
        ("$b.n = 1", 'search($a.t, "z")'),
        ('search($b.t, "z")', "$a.n > 1"),
        ("$b.n > 1", "$a.n != 1"),
        ('"z" = $b.k', "$a.n = 1"),
        ('$b.k = "z"', "$a.t = $a.k"),
    ],
)
def test_the_more_selective_condition_wins(better, worse):
    _, after = tree(f"$a: P  $a knows $b  {better}  {worse}")
    assert after.splitlines()[1].startswith("  NodeScan $b: P")
    # The same the other way round: it is the condition that wins, not the place.
    swapped = f"{better}  {worse}".replace("$b", "$c").replace("$a", "$b").replace("$c", "$a")
    _, kept = tree(f"$a: P  $a knows $b  {swapped}")
    assert kept.splitlines()[1].startswith("  NodeScan $a: P")


@pytest.mark.parametrize("matches", ['a: "1"', 'tags: "x"', 'a: "1", n: 1'])
def test_half_a_key_is_no_key(matches):
    _, after = tree(f'$q: Q {{ {matches} }}  $p likes $q  $p: P {{ k: "z" }}')
    assert after.splitlines()[1] == '  NodeScan $p: P where $p.k = "z"'


def test_a_composite_unique_counts_when_all_of_it_is_given():
    both = '$p: P { x: 1 }  $p likes $q  $q: Q { n: 1, a: "1" }'
    assert tree(both)[1].splitlines()[1] == '  NodeScan $q: Q where $q.n = 1 and $q.a = "1"'
    # Half of it is like an indexed property at best, because "n" is in no key or index.
    half = "$p: P { x: 1 }  $p likes $q  $q: Q { n: 1 }"
    assert tree(half)[1].splitlines()[1] == "  NodeScan $p: P where $p.x = 1"


def test_among_equals_the_first_of_the_text_stays():
    before, after = tree("$a: P { x: 1 }  $a knows $b  $b: P { x: 2 }")
    assert before == after


def test_a_ranked_variable_becomes_the_root_with_its_rank():
    before, after = tree("$q: Q  $p likes $q  $p.n = 1", "order { nearest($p.v, [1.0, 0.0]) } limit 3")
    assert before.splitlines()[2:] == [
        "    RankJoin $p",
        "      Expand $q Likes <- $p: P",
        "        NodeScan $q: Q",
        "      Rank nearest($p.v, [1.0, 0.0]) first 3",
        "        NodeScan $p: P where $p.n = 1",
    ]
    assert after.splitlines()[2:] == [
        "    Expand $p Likes -> $q: Q",
        "      Rank nearest($p.v, [1.0, 0.0]) first 3",
        "        NodeScan $p: P where $p.n = 1",
    ]


def test_a_key_is_a_better_root_than_a_ranked_variable():
    clauses = '$q: Q { a: "1", b: "2" }  $p likes $q'
    before, after = tree(clauses, "order { nearest($p.v, [1.0, 0.0]) } limit 3")
    assert before == after


def test_the_rank_of_a_variable_stays_joined_when_another_becomes_the_root():
    clauses = '$q: Q  $p likes $q  $p knows $r  $r: P { k: "z" }'
    _, after = tree(clauses, "order { nearest($p.v, [1.0, 0.0]) } limit 3")
    assert after.splitlines()[2:] == [
        "    RankJoin $p",
        "      Expand $p Likes -> $q: Q",
        "        Expand $r Knows <- $p: P",
        '          NodeScan $r: P where $r.k = "z"',
        "      Rank nearest($p.v, [1.0, 0.0]) first 3",
        "        NodeScan $p: P",
    ]


def test_a_part_that_is_ranked_at_its_root_stays():
    before, after = tree('$p: P  $p knows $b  $b: P { k: "z" }', "order { nearest($p.v, [1.0, 0.0]) } limit 3")
    assert before == after


def test_parts_around_the_outer_row_stay_and_others_inside_a_negation_do_not():
    before, after = tree(
        '$p: P  not { $p knows $a  $a: P { k: "y" }  $b: P  $b knows $c  $c: P { k: "z" }  $p.n = $b.n }'
    )
    assert before == lines(
        "AntiJoin",
        "  NodeScan $p: P",
        "  Filter $p.n = $b.n",
        "    CrossJoin",
        '      Expand $p Knows -> $a: P where $a.k = "y"',
        "        OuterRows $p",
        '      Expand $b Knows -> $c: P where $c.k = "z"',
        "        NodeScan $b: P",
    )
    assert after == lines(
        "AntiJoin",
        "  NodeScan $p: P",
        "  Filter $p.n = $b.n",
        "    CrossJoin",
        '      Expand $p Knows -> $a: P where $a.k = "y"',
        "        OuterRows $p",
        "      Expand $c Knows <- $b: P",
        '        NodeScan $c: P where $c.k = "z"',
    )
