"""Rule 4: only columns that something reads are fetched."""

from __future__ import annotations

from omnigraph.plan import explain, lower_query
from omnigraph.plan.rules import prune_columns, push_filters
from omnigraph.query import compile_query
from omnigraph.schema import compile_schema

CATALOG = compile_schema(
    """
    node P { k: String @key  n: I64?  t: String?  raw: Blob?  v: Vector(2)? }
    node Q { k: String @key  n: I64?  idle: Bool? }
    edge Likes: P -> Q { w: I64?  x: I64? }
    """
)


def trees(text: str) -> tuple[list[str], list[str]]:
    """The lines of a plan from its rows on, before and after the rule."""
    plan = push_filters(lower_query(compile_query(f"query q() {{ {text} }}", CATALOG), CATALOG), CATALOG)
    return explain(plan).splitlines()[2:], explain(prune_columns(plan, CATALOG)).splitlines()[2:]


def test_a_scan_fetches_what_is_returned():
    before, after = trees("match { $p: P } return { $p.t }")
    assert before == ["  NodeScan $p: P columns $p.k, $p.n, $p.t, $p.v"]
    assert after == ["  NodeScan $p: P columns $p.t"]


def test_ids_need_no_column():
    _, after = trees("match { $p: P  $p likes $q } return { $p, count($q) as c }")
    assert after == [
        "  Aggregate by p = $p to c = count($q)",
        "    Expand $p Likes -> $q: Q",
        "      NodeScan $p: P",
    ]


def test_expansions_fetch_what_is_read_of_the_edge_and_of_the_node():
    before, after = trees("match { $p: P  $p $e:likes $q } return { $e.x, $q.n }")
    assert before == [
        "  EdgeExpand $p $e:Likes -> $q: Q columns $e.w, $e.x, $q.idle, $q.k, $q.n",
        "    NodeScan $p: P columns $p.k, $p.n, $p.t, $p.v",
    ]
    assert after == [
        "  EdgeExpand $p $e:Likes -> $q: Q columns $e.x, $q.n",
        "    NodeScan $p: P",
    ]


def test_conditions_inside_a_scan_need_no_column():
    _, after = trees('match { $p: P  search($p.t, "x")  $p.n > 1 } return { $p.k }')
    assert after == ['  NodeScan $p: P where search($p.t, "x") and $p.n > 1 columns $p.k']


def test_conditions_above_need_theirs():
    _, after = trees("match { $p: P  $q: Q  $p.n < $q.n } return { $p.k }")
    assert after == [
        "  Filter $p.n < $q.n",
        "    CrossJoin",
        "      NodeScan $p: P columns $p.k, $p.n",
        "      NodeScan $q: Q columns $q.n",
    ]


def test_sort_keys_and_group_keys_need_theirs():
    _, after = trees("match { $p: P } return { $p.k } order { $p.n }")
    assert after == ["  Sort $p.n, $p", "    NodeScan $p: P columns $p.k, $p.n"]
    _, after = trees("match { $p: P } return { $p.t, max($p.n) as m }")
    assert after == ["  Aggregate by p.t = $p.t to m = max($p.n)", "    NodeScan $p: P columns $p.n, $p.t"]


def test_a_negation_reads_columns_of_the_outer_row_and_none_of_its_own_for_the_result():
    _, after = trees("match { $p: P  not { $p likes $q  $p.n < $q.n  not { $q.k = $p.t } } } return { $p.k }")
    assert after == [
        "  AntiJoin",
        "    NodeScan $p: P columns $p.k, $p.n, $p.t",
        "    AntiJoin",
        "      Filter $p.n < $q.n",
        "        Expand $p Likes -> $q: Q columns $q.k, $q.n",
        "          OuterRows $p",
        "      Filter $q.k = $p.t",
        "        OuterRows $p, $q",
    ]


def test_a_rank_looks_its_field_up_and_a_score_reads_it():
    ranked = "nearest($p.v, [1.0, 0.0])"
    _, after = trees(f"match {{ $p: P }} return {{ $p.k, {ranked} as d }} order {{ d, $p.n }} limit 2")
    assert after[2:] == [
        f"      Rank {ranked} first 2, ties by $p.n",
        "        NodeScan $p: P columns $p.k, $p.n",
    ]
    _, after = trees(f"match {{ $p: P }} return {{ {ranked} as d }}")
    assert after == [f"  Score {ranked}", "    NodeScan $p: P columns $p.v"]


def test_the_ranked_side_of_a_rank_join_gives_no_columns():
    _, after = trees("match { $q: Q  $p likes $q } return { $p.t } order { nearest($p.v, [1.0, 0.0]), $p.n } limit 2")
    assert after[2:] == [
        "      RankJoin $p",
        "        Expand $q Likes <- $p: P columns $p.n, $p.t",
        "          NodeScan $q: Q",
        "        Rank nearest($p.v, [1.0, 0.0]) first 2, ties by $p.n",
        "          NodeScan $p: P columns $p.n",
    ]


def test_join_keys_need_theirs():
    from omnigraph.plan.rules import join_components

    text = "query q() { match { $p: P  $q: Q  $p.n = $q.n } return { $q.k } }"
    plan = join_components(lower_query(compile_query(text, CATALOG), CATALOG), CATALOG)
    assert explain(prune_columns(plan, CATALOG)).splitlines()[2:] == [
        "  Join $p.n = $q.n",
        "    NodeScan $p: P columns $p.n",
        "    NodeScan $q: Q columns $q.k, $q.n",
    ]
