"""From checked queries to plain plans: every clause becomes the operator that the language means by it."""

from __future__ import annotations

import pytest

from omnigraph.lang.types import Scalar, ValueType
from omnigraph.plan import explain, lower_query
from omnigraph.plan.changes import (
    Cascade,
    DeleteEdges,
    DeleteNodes,
    Embedding,
    InsertEdge,
    InsertNode,
    UpdateNodes,
)
from omnigraph.plan.ir import Aggregate, Column, Expand, Limit, Measure, NodeScan, Project, Sort, SortKey
from omnigraph.query import compile_query
from omnigraph.query.ast import AggregateFunction, Operator
from omnigraph.query.checked import (
    Assignment,
    ColumnRef,
    Constant,
    Direction,
    EntityRef,
    ParameterRef,
    Predicate,
    Projection,
    PropertyMatch,
    PropertyRef,
)
from omnigraph.schema import compile_schema

CATALOG = compile_schema(
    """
    node P {
        k: String @key
        n: I64?
        t: String?
        v: Vector(2)
        raw: Blob?
    }
    node Q { k: String @key  tags: [String]? }
    node Doc { text: String  vec: Vector(3) @embed("text", model="m")  note: String? }
    edge Likes: P -> Q { w: I64?  seal: Blob? }
    edge Knows: P -> P
    edge Cites: Doc -> Doc
    """
)

STRING = ValueType(Scalar.STRING)
NUMBER = ValueType(Scalar.I64, is_nullable=True)


def lower(text: str, parameters: str = ""):
    return lower_query(compile_query(f"query q({parameters}) {{ {text} }}", CATALOG), CATALOG)


def rows(clauses: str, rest: str = "") -> list[str]:
    """The lines of a plain plan below its root, without columns."""
    plan = lower(f"match {{ {clauses} }} return {{ 1 }} {rest}")
    return [line[2:].split(" columns ")[0] for line in explain(plan).splitlines()[2:]]


# ── whole trees ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_read_becomes_a_tree_of_operators_with_all_readable_columns():
    plan = lower('match { $p: P { k: "a" }  $p likes $q } return { $q.k, count($p) as c } order { c desc } limit 3')

    scan = NodeScan(
        "p", "P", (PropertyMatch(PropertyRef("p", "k", STRING), Constant("a", STRING)),), ("k", "n", "t", "v")
    )
    expand = Expand(scan, "p", "q", "Likes", Direction.FORWARD, "Q", columns=("k", "tags"))
    count = ValueType(Scalar.I64)
    groups = Aggregate(
        expand,
        (Projection("q.k", PropertyRef("q", "k", STRING)),),
        (Measure("c", AggregateFunction.COUNT, EntityRef("p", "P"), count),),
    )
    order = Sort(groups, (SortKey(ColumnRef("c", count), is_descending=True, nulls_first=False),))
    columns = (Projection("q.k", ColumnRef("q.k", STRING)), Projection("c", ColumnRef("c", count)))
    assert plan.root == Project(Limit(order, 3), columns)
    assert plan.columns == (Column("q.k", STRING), Column("c", count))


def test_a_plan_knows_its_name_and_its_parameters():
    plan = lower("match { $p: P { k: $k } } return { $p }", "$k: String, $unused: I32?")

    assert plan.name == "q"
    assert [(each.name, str(each.type)) for each in plan.parameters] == [("k", "String"), ("unused", "I32?")]


# ── match ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_first_binding_of_the_text_is_scanned_and_later_ones_are_conditions():
    assert rows('$p likes $q  $q: Q { tags: "x" }  $p: P { n: 1 }') == [
        "Expand $q Likes <- $p: P where $p.n = 1",
        '  NodeScan $q: Q where $q.tags contains "x"',
    ]


def test_bindings_of_one_variable_conjoin():
    assert rows('$p: P { n: 1 }  $p: P { k: "a", t: "b" }') == [
        'NodeScan $p: P where $p.n = 1 and $p.k = "a" and $p.t = "b"',
    ]


def test_a_part_without_a_binding_is_seeded_at_the_source_of_its_first_edge():
    assert rows("$a likes $b") == ["Expand $a Likes -> $b: Q", "  NodeScan $a: P"]
    assert rows("$_ likes $b") == ["Expand $b Likes <- $_: P", "  NodeScan $b: Q"]
    assert rows("$a likes $_") == ["Expand $a Likes -> $_: Q", "  NodeScan $a: P"]


def test_nameless_ends_have_nothing_to_do_with_each_other():
    assert rows("$a: P  $a likes $_  $_ knows $a") == [
        "Expand $a Knows <- $_: P",
        "  Expand $a Likes -> $_: Q",
        "    NodeScan $a: P",
    ]


def test_a_traversal_between_nameless_ends_scans_a_variable_that_no_query_can_name():
    assert rows("$_ knows $_  $_ $e:likes $_") == [
        "CrossJoin",
        "  Expand $#0 Knows -> $_: P",
        "    NodeScan $#0: P",
        "  EdgeExpand $#1 $e:Likes -> $_: Q",
        "    NodeScan $#1: P",
    ]


def test_a_block_that_binds_nothing_starts_from_one_empty_row():
    assert rows('"a" = "b"') == ['Filter "a" = "b"', "  OneRow"]


def test_numbers_of_different_types_are_compared_as_they_are_written():
    assert rows("$p: P  $p $e:likes $q  $e.w > 1.5  $e.w != $p.n")[0] == "Filter $e.w > 1.5 and $e.w != $p.n"


def test_traversals_wait_until_one_of_their_ends_is_bound():
    assert rows("$a: P  $c knows $d  $b knows $c  $a knows $b") == [
        "Expand $c Knows -> $d: P",
        "  Expand $b Knows -> $c: P",
        "    Expand $a Knows -> $b: P",
        "      NodeScan $a: P",
    ]


def test_a_traversal_between_bound_ends_is_a_test():
    assert rows("$a: P  $a knows $b  $b knows $a  $a knows $a") == [
        "Expand $a Knows -> $a (bound)",
        "  Expand $b Knows -> $a (bound)",
        "    Expand $a Knows -> $b: P",
        "      NodeScan $a: P",
    ]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("$p likes $q", "Expand $p Likes -> $q: Q"),
        ("$q likes $p", "Expand $p Likes -> $q: Q"),
        ("$r knows $p", "Expand $p Knows <- $r: P"),
        ("$p <knows> $r", "Expand $p <Knows> $r: P"),
        ("$r <knows>{1,2} $p", "Expand $p <Knows>{1,2} $r: P"),
        ("$p knows{2,4} $r", "Expand $p Knows{2,4} -> $r: P"),
        ("$r knows{2,4} $p", "Expand $p Knows{2,4} <- $r: P"),
        ("$p knows{1,1} $r", "Expand $p Knows -> $r: P"),
        ("$p likes{1,4} $q", "Expand $p Likes -> $q: Q"),
        ("$p likes{2,4} $q", "Expand $p Likes{2,1} -> $q: Q"),
        ("$p $e:likes $q", "EdgeExpand $p $e:Likes -> $q: Q"),
        ("$r $e:knows $p", "EdgeExpand $p $e:Knows <- $r: P"),
        ("$p $e:<knows> $r", "EdgeExpand $p $e:<Knows> $r: P"),
        ("$p $e:knows $p", "EdgeExpand $p $e:Knows -> $p (bound)"),
        ("$p $_:likes $q", "Expand $p Likes -> $q: Q"),
    ],
)
def test_direction_hops_and_edge_bindings_of_a_traversal(written, expected):
    assert rows(f"$p: P  {written}") == [expected, "  NodeScan $p: P"]


def test_parts_are_combined_by_cross_product_in_the_order_of_their_first_mention():
    assert rows("$b: P  $a: P  $c likes $d  $a knows $x") == [
        "CrossJoin",
        "  CrossJoin",
        "    NodeScan $b: P",
        "    Expand $a Knows -> $x: P",
        "      NodeScan $a: P",
        "  Expand $c Likes -> $d: Q",
        "    NodeScan $c: P",
    ]


def test_a_traversal_joins_parts_that_were_apart():
    # The first sweep passes $b knows $c by, because neither end is bound yet.
    assert rows("$a: P  $b: P  $b knows $c  $a knows $c") == [
        "Expand $c Knows <- $b: P",
        "  Expand $a Knows -> $c: P",
        "    NodeScan $a: P",
    ]


def test_filters_come_after_traversals_and_negations_after_filters_wherever_they_stand():
    assert rows('$p: P  not { $p likes $_ }  $p.n = 1  search($p.t, "x")  $p knows $r') == [
        "AntiJoin",
        '  Filter $p.n = 1 and search($p.t, "x")',
        "    Expand $p Knows -> $r: P",
        "      NodeScan $p: P",
        "  Expand $p Likes -> $_: Q",
        "    OuterRows $p",
    ]


# ── negations ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_negation_starts_from_the_outer_row():
    assert rows("$p: P  $p likes $q  not { $q likes $r  $r.n = 1 }") == [
        "AntiJoin",
        "  Expand $p Likes -> $q: Q",
        "    NodeScan $p: P",
        "  Filter $r.n = 1",
        "    Expand $q Likes <- $r: P",
        "      OuterRows $q",
    ]


def test_binding_an_outer_variable_again_is_a_condition_on_the_outer_row():
    assert rows('$p: P  not { $p: P { k: "x" }  $p likes $q }') == [
        "AntiJoin",
        "  NodeScan $p: P",
        "  Expand $p Likes -> $q: Q",
        '    Filter $p.k = "x"',
        "      OuterRows $p",
    ]


def test_a_part_of_a_negation_that_nothing_connects_is_scanned():
    assert rows("$p: P  not { $x: Q  $p.k = $x.k }") == [
        "AntiJoin",
        "  NodeScan $p: P",
        "  Filter $p.k = $x.k",
        "    CrossJoin",
        "      OuterRows $p",
        "      NodeScan $x: Q",
    ]


def test_a_bound_edge_can_be_asked_about_in_a_negation():
    assert rows("$p: P  $p $e:likes $q  not { $e.w > 1 }")[-2:] == ["  Filter $e.w > 1", "    OuterRows $e"]


def test_a_negation_hands_on_what_only_a_negation_inside_it_mentions():
    assert rows("$p: P  $p likes $q  not { $p knows $r  not { $r likes $q } }") == [
        "AntiJoin",
        "  Expand $p Likes -> $q: Q",
        "    NodeScan $p: P",
        "  AntiJoin",
        "    Expand $p Knows -> $r: P",
        "      OuterRows $p, $q",
        "    Expand $r Likes -> $q (bound)",
        "      OuterRows $q, $r",
    ]


def test_a_name_inside_a_negation_has_nothing_to_do_with_the_same_name_after_it():
    assert rows("$p: P  not { $p likes $q }  $q: Q") == [
        "AntiJoin",
        "  CrossJoin",
        "    NodeScan $p: P",
        "    NodeScan $q: Q",
        "  Expand $p Likes -> $q: Q",
        "    OuterRows $p",
    ]


# ── results ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_order_ends_with_the_ids_of_all_variables_by_name():
    assert rows("$b: P  $b $a:likes $c", "order { $b.n desc, $c.k }")[0] == "Sort $b.n desc, $c.k, $a, $b, $c"


def test_no_order_sorts_nothing_and_a_limit_stands_above_the_order():
    assert rows("$p: P", "limit 0") == ["Limit 0", "  NodeScan $p: P"]
    assert rows("$p: P", "order { $p.n } limit 2") == ["Limit 2", "  Sort $p.n, $p", "    NodeScan $p: P"]


def test_nulls_are_smallest():
    plan = lower("match { $p: P } return { $p } order { $p.n, $p.t desc }")
    assert [(each.is_descending, each.nulls_first) for each in plan.root.input.keys][:2] == [
        (False, True),
        (True, False),
    ]


def test_an_alias_in_the_order_is_what_it_stands_for():
    plan = lower('match { $p: P } return { $p.n as x, $p as y, "z" as z } order { x desc, y, z }')
    assert explain(plan).splitlines()[2] == '  Sort $p.n desc, $p, "z", $p'


def test_groups_are_sorted_by_columns_without_ids():
    plan = lower("match { $p: P } return { $p.t, sum($p.n) as s } order { $p.t desc, s }")
    assert explain(plan).splitlines()[1:4] == [
        "Project p.t, s",
        "  Sort p.t desc, s",
        "    Aggregate by p.t = $p.t to s = sum($p.n)",
    ]


# ── ranking ──────────────────────────────────────────────────────────────────────────────────────────────────────────

NEAREST = "nearest($p.v, [1.0, 0.0])"
BM25 = 'bm25($p.t, "x")'


def test_conditions_on_a_ranked_variable_stand_below_its_rank_and_others_above():
    assert rows(
        '$p: P { k: "a" }  $p likes $q  $p.n > 1  search($p.t, "y")  $q.k = $p.t  not { $p.n = 5 }',
        f"order {{ {NEAREST} }} limit 7",
    ) == [
        "Limit 7",
        f"  Sort {NEAREST} nulls last, $p, $q",
        "    AntiJoin",
        "      Filter $q.k = $p.t",
        "        Expand $p Likes -> $q: Q",
        f"          Rank {NEAREST} first 7",
        '            Filter $p.n > 1 and search($p.t, "y")',
        '              NodeScan $p: P where $p.k = "a"',
        "      Filter $p.n = 5",
        "        OuterRows $p",
    ]


def test_a_ranked_variable_that_a_traversal_binds_is_joined_with_its_rank():
    assert rows("$q: Q  $p likes $q  $p: P { n: 1 }", f"order {{ {BM25} }}") == [
        f"Sort {BM25} desc, $p, $q",
        "  RankJoin $p",
        "    Expand $q Likes <- $p: P",
        "      NodeScan $q: Q",
        f"    Rank {BM25}",
        "      NodeScan $p: P where $p.n = 1",
    ]


def test_a_fusion_ranks_below_and_fuses_above_the_whole_block():
    fused = f"rrf({NEAREST}, {BM25}, 7)"
    assert rows("$p: P  not { $p likes $_ }", f"order {{ {fused}, $p.n desc }} limit 3") == [
        "Limit 3",
        f"  Sort {fused} desc, $p.n desc, place, $p",
        f"    Fuse {fused} first 3, ties by $p.n desc",
        "      AntiJoin",
        f"        Rank {fused} first 3, ties by $p.n desc",
        "          NodeScan $p: P",
        "        Expand $p Likes -> $_: Q",
        "          OuterRows $p",
    ]


def test_only_keys_on_the_ranked_variable_decide_ties_of_its_rank():
    found = rows("$p: P  $p likes $q", f"order {{ {NEAREST}, $p.n, $q.k, $p.t }} limit 3")
    assert f"Rank {NEAREST} first 3, ties by $p.n" in found[-2]
    assert found[1] == f"  Sort {NEAREST} nulls last, $p.n, $q.k, $p.t, $p, $q"


def test_the_ranking_that_is_ordered_by_is_scored_once_and_others_on_top():
    plan = lower(
        f"match {{ $p: P }} return {{ $p, {NEAREST} as d, {BM25} as s }} order {{ d, {BM25} }} limit 2",
    )
    assert [line.split(" columns ")[0] for line in explain(plan).splitlines()[1:]] == [
        f"Project p = $p, d = {NEAREST}, s = {BM25}",
        "  Limit 2",
        f"    Sort {NEAREST} nulls last, {BM25} desc, $p",
        f"      Score {BM25}",
        f"        Rank {NEAREST} first 2",
        "          NodeScan $p: P",
    ]


# ── mutations ────────────────────────────────────────────────────────────────────────────────────────────────────────


def given(name: str) -> ParameterRef:
    return ParameterRef(name, STRING)


def test_an_insert_says_what_becomes_null_and_what_makes_the_id():
    plan = lower("insert P { k: $k  v: [1.0, 2.0]  n: 4 }", "$k: String")
    vector = ValueType(Scalar.VECTOR, dimension=2)
    (found,) = plan.operations
    assert isinstance(found, InsertNode)
    assert (found.type_name, found.key, found.unset, found.embeddings) == ("P", ("k",), ("raw", "t"), ())
    assert found.assignments[0] == Assignment("k", STRING, given("k"))
    assert [(each.property, each.type) for each in found.assignments[1:]] == [("v", vector), ("n", NUMBER)]


def test_a_required_vector_that_is_left_out_is_to_be_embedded():
    (found,) = lower("insert Doc { text: $t }", "$t: String").operations
    assert found == InsertNode(
        "Doc", (), (Assignment("text", STRING, given("t")),), ("note",), (Embedding("vec", 3, "text", "m"),)
    )


def test_an_inserted_edge_knows_the_types_of_its_ends():
    (found,) = lower("insert Likes { from: $a, to: $b }", "$a: String, $b: String").operations
    assert found == InsertEdge("Likes", "P", "Q", given("a"), given("b"), (), ("seal", "w"))


def test_an_update_has_its_predicate_and_the_key_that_it_leaves_alone():
    (found,) = lower("update P set { t: $t } where k = $k", "$t: String, $k: String").operations
    assert found == UpdateNodes(
        "P",
        ("k",),
        (Assignment("t", ValueType(Scalar.STRING, is_nullable=True), given("t")),),
        Predicate("k", STRING, Operator.EQ, given("k")),
    )


def test_a_blob_that_may_be_null_is_assigned_by_an_update_like_anything_else():
    (update,) = lower('update P set { raw: $raw } where k = "a"', "$raw: Blob?").operations
    blob = ValueType(Scalar.BLOB, is_nullable=True)
    assert update.assignments == (Assignment("raw", blob, ParameterRef("raw", blob)),)


def test_deleting_nodes_names_every_edge_type_at_them():
    deleted_people, deleted_likes = lower(
        "delete P where k = $k  delete Likes where from = $k", "$k: String"
    ).operations
    assert deleted_people == DeleteNodes(
        "P",
        Predicate("k", STRING, Operator.EQ, given("k")),
        (Cascade("Knows", at_source=True, at_target=True), Cascade("Likes", at_source=True, at_target=False)),
    )
    assert deleted_likes == DeleteEdges("Likes", Predicate("src", STRING, Operator.EQ, given("k")))


def test_deleting_nodes_at_which_edges_end_names_that_side():
    (found,) = lower("delete Q where k = $k", "$k: String").operations
    assert found.cascades == (Cascade("Likes", at_source=False, at_target=True),)


# ── bounds ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def chain(steps: int) -> str:
    clauses = "  ".join(f"$v{number} knows $v{number + 1}" for number in range(steps))
    return f"match {{ $v0: P  {clauses} }} return {{ $v0 }}"


def test_a_query_of_256_steps_is_planned():
    assert explain(lower(chain(255))).count("Expand") == 255


def test_filters_and_columns_are_not_counted():
    many = "  ".join(f"$p.n > {number}" for number in range(500))
    assert isinstance(lower(f"match {{ $p: P  {many} }} return {{ $p }}").root, Project)
