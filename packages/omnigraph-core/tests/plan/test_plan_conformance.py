"""The reads of the conformance set, answered by running their plans: plain ones and optimised ones."""

from __future__ import annotations

import importlib.util
import sys
from datetime import date
from pathlib import Path

import pytest

from omnigraph.lang.dates import format_datetime
from omnigraph.plan import lower_query, optimize
from omnigraph.query import compile_query
from omnigraph.schema import compile_schema


def _load(name: str):
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


toy = _load("toy_engine")
library = _load("library")

CATALOG = compile_schema(library.SCHEMA)


def days(text: str) -> int:
    return (date.fromisoformat(text) - date(1970, 1, 1)).days


@pytest.fixture
def graph():
    return library.make_graph(toy)


@pytest.fixture(params=["plain", "optimised"])
def answer(request, graph):
    """The rows of a query as tuples, in the order of the result."""

    def run(core: str, parameters: str = "", given: dict | None = None):
        checked = compile_query(f"query q({parameters}) {{ {core} }}", CATALOG)
        plan = lower_query(checked, CATALOG)
        if request.param == "optimised":
            plan = optimize(plan, CATALOG)
        return [tuple(each.values()) for each in toy.run(plan, graph, given)]

    return run


def test_the_toy_graph_has_the_days_of_the_set(graph):
    assert days("2026-02-01") == library.FEBRUARY_1_2026
    released = [each.get("released") for each in graph.nodes["Film"].values()]
    assert released == [days("2020-03-01"), days("2021-07-09"), None]


def test_1_nulls_are_smallest_and_columns_have_the_name_of_their_variable(answer):
    assert answer("match { $f: Film } return { $f.code, $f.stars } order { $f.stars }") == [
        ("DO-3", None),
        ("DR-2", 3.0),
        ("SF-1", 4.5),
    ]
    plan = lower_query(compile_query("query q() { match { $f: Film } return { $f.code, $f.stars } }", CATALOG), CATALOG)
    assert [each.name for each in plan.columns] == ["f.code", "f.stars"]


def test_2_a_limit_cuts_after_the_order(answer):
    assert answer("match { $f: Film } return { $f.code } order { $f.stars desc } limit 2") == [("SF-1",), ("DR-2",)]


def test_3_an_inline_match_on_a_list_is_membership(answer):
    assert answer('match { $f: Film { tags: "space" } } return { $f.code }') == [("SF-1",)]


def test_4_unequal_keeps_what_differs(answer):
    found = answer('match { $f: Film  $f.genre != "drama" } return { $f.code }')
    assert sorted(found) == [("DO-3",), ("SF-1",)]


def test_5_null_is_not_unequal(answer):
    assert answer("match { $f: Film  $f.stars != 3.0 } return { $f.code }") == [("SF-1",)]


@pytest.mark.parametrize("traversal", ["$p rented $f", "$f rented $p"], ids=["6", "7"])
def test_6_and_7_the_order_of_writing_does_not_matter_between_different_types(answer, traversal):
    core = f'match {{ $f: Film {{ code: "SF-1" }}  {traversal} }} return {{ $p.handle }} order {{ $p.handle }}'
    assert answer(core) == [("ann",), ("bo",)]


def test_8_a_negation_keeps_rows_without_a_solution(answer):
    assert answer("match { $p: Person  not { $p rented $_ } } return { $p.handle }") == [("cy",)]


def test_9_a_search_never_returns_to_its_source(answer):
    core = 'match { $p: Person { handle: "ann" }  $p follows{1,3} $q } return { $q.handle } order { $q.handle }'
    assert answer(core) == [("bo",), ("cy",)]


def test_10_an_edge_to_itself_emits_a_node_one_hop_later(answer):
    core = 'match { $p: Person { handle: "ann" }  $p follows{2,2} $q } return { $q.handle }'
    assert sorted(answer(core)) == [("bo",), ("cy",)]


def test_11_undirected_unites_both_directions(answer):
    core = 'match { $p: Person { handle: "bo" }  $p <follows> $q } return { $q.handle } order { $q.handle }'
    assert answer(core) == [("ann",), ("bo",), ("cy",)]


def test_12_a_bound_edge_has_properties(answer):
    core = 'match { $p: Person  $p $r:rented $f  $r.on >= date("2026-02-02") } return { $p.handle, $r.on }'
    assert answer(core) == [("bo", days("2026-02-03"))]


def test_13_projections_beside_an_aggregate_are_the_group_key(answer):
    core = "match { $p: Person  $p rented $f } return { $p.handle, count($f) as n } order { n desc }"
    assert answer(core) == [("ann", 2), ("bo", 1)]


def test_14_no_rows_without_a_group_key_are_one_group(answer):
    core = 'match { $f: Film { genre: "docu" }  $p rented $f } return { count($p) as n }'
    assert answer(core) == [(0,)]


def test_15_a_node_is_its_id(answer):
    (found,) = answer('match { $f: Film { code: "DO-3" } } return { $f, $f.added }')
    assert found[0] == "DO-3"
    assert format_datetime(found[1]) == "2026-01-03T00:00:00.500Z"


def test_16_a_parameter_that_is_null_matches_nothing(answer):
    assert answer("match { $f: Film { genre: $g } } return { $f.code }", "$g: String?") == []


@pytest.mark.parametrize(("traversal", "doubled"), [("$p follows $q", False), ("$p $e:follows $q", True)])
def test_28_parallel_edges_count_once_unless_the_edge_is_bound(answer, graph, traversal, doubled):
    core = f"match {{ $p: Person  {traversal} }} return {{ $p.handle, count($q) as n }}"
    once = sorted(answer(core))
    graph.edges["Follows"] += [toy.Edge(f"{each.id}x", each.source, each.target) for each in graph.edges["Follows"]]

    assert once == [("ann", 1), ("bo", 2), ("cy", 1)]
    assert sorted(answer(core)) == ([("ann", 2), ("bo", 4), ("cy", 2)] if doubled else once)


# ── rules of sections 9 to 11 that the set does not touch ────────────────────────────────────────────────────────────


def test_a_part_without_a_binding_starts_where_its_edge_starts(answer):
    found = answer("match { $a follows $b } return { $a, $b }")
    assert sorted(found) == [("ann", "bo"), ("bo", "bo"), ("bo", "cy"), ("cy", "ann")]


def test_two_bindings_of_a_variable_must_both_hold(answer):
    assert answer('match { $f: Film { tags: "space" }  $f: Film { genre: "drama" } } return { $f.code }') == []
    assert answer('match { $f: Film { tags: "space" }  $f: Film { tags: "slow" } } return { $f.code }') == [("SF-1",)]


def test_a_later_binding_is_a_condition_on_the_variable(answer):
    core = 'match { $p: Person  $p rented $f  $f: Film { genre: "drama" } } return { $p.handle }'
    assert answer(core) == [("ann",)]


@pytest.mark.parametrize("traversal", ["$f directed $p", "$p directed $f"])
def test_a_flip_works_inside_a_negation(answer, traversal):
    core = f'match {{ $f: Film  $p: Person {{ handle: "cy" }}  not {{ {traversal} }} }} return {{ $f.code }}'
    assert sorted(answer(core)) == [("DO-3",), ("DR-2",)]


def test_binding_an_outer_variable_again_inside_a_negation_is_a_condition_on_the_row(answer):
    core = 'match { $p: Person  not { $p: Person { handle: "bo" } } } return { $p.handle }'
    assert sorted(answer(core)) == [("ann",), ("cy",)]


def test_a_comparison_that_is_null_inside_a_negation_is_no_solution(answer):
    found = answer("match { $f: Film  not { $f.stars > 3.0 } } return { $f.code }")
    assert sorted(found) == [("DO-3",), ("DR-2",)]


def test_a_negation_in_a_negation_sees_the_variables_of_both_blocks(answer):
    # People who rented every film that somebody rented: only ann rented SF-1 and DR-2.
    core = (
        "match { $p: Person  not { $x rented $f  $p.handle != $x.handle  not { $p rented $f } } } return { $p.handle }"
    )
    assert sorted(answer(core)) == [("ann",)]


def test_hop_bounds_above_one_between_different_types_lead_nowhere(answer):
    assert answer("match { $p: Person  $p rented{2,3} $f } return { $p.handle }") == []
    assert len(answer("match { $p: Person  $p rented{1,3} $f } return { $p.handle }")) == 3


def test_a_node_at_distance_one_is_not_reached_in_two_to_three_hops(answer):
    # cy follows ann, ann follows bo: bo is at distance 2; ann, at distance 1, is not reported.
    core = 'match { $p: Person { handle: "cy" }  $p follows{2,3} $q } return { $q.handle }'
    assert answer(core) == [("bo",)]


def test_nameless_ends_make_a_row_per_node_and_bind_nothing(answer):
    assert len(answer("match { $p: Person  $p rented $_ } return { $p.handle }")) == 3
    assert len(answer("match { $_ follows $_ } return { 1 }")) == 4
    assert sorted(answer("match { $_ follows $b } return { $b }")) == [("ann",), ("bo",), ("bo",), ("cy",)]


def test_groups_come_with_null_as_a_key_of_its_own(answer, graph):
    graph.nodes["Film"]["DO-4"] = {"code": "DO-4", "title": "Tide", "genre": "docu", "added": 0}
    found = answer("match { $f: Film } return { $f.stars, count($f) as n, avg($f.stars) as mean }")
    assert sorted(found, key=str) == sorted([(4.5, 1, 4.5), (3.0, 1, 3.0), (None, 2, None)], key=str)


def test_measures_leave_nulls_out(answer):
    core = "match { $f: Film } return { count($f.stars) as c, sum($f.stars) as s, min($f.title) as a, max($f) as b }"
    assert answer(core) == [(2, 7.5, "Harbor", "SF-1")]


def test_ids_by_name_of_variable_break_ties(answer):
    core = "match { $b: Person  $a: Film } return { $a, $b } order { $b.mail desc } limit 4"
    # ann has a mail; for equal mails the films ascend first, because "a" comes before "b".
    assert answer(core) == [("DO-3", "ann"), ("DR-2", "ann"), ("SF-1", "ann"), ("DO-3", "bo")]


def test_an_equality_between_parts_joins_them(answer, graph):
    graph.nodes["Person"]["Orbit"] = {"handle": "Orbit"}
    assert answer("match { $p: Person  $f: Film  $p.handle = $f.title } return { $p.handle, $f.code }") == [
        ("Orbit", "SF-1")
    ]


# ── search ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def plots(graph):
    plots = {"SF-1": "a ship far away", "DR-2": "a ship in a harbor", "DO-3": "salt of the sea"}
    vectors = {"SF-1": (1.0, 0.0, 0.0, 0.0), "DR-2": (1.0, 1.0, 0.0, 0.0), "DO-3": (0.0, 1.0, 0.0, 0.0)}
    for code, film in graph.nodes["Film"].items():
        film["plot"], film["plotVec"] = plots[code], vectors[code]
    return graph


@pytest.mark.usefixtures("plots")
class TestSearch:
    def test_a_text_clause_works_on_a_variable_that_a_traversal_binds(self, answer):
        core = 'match { $p: Person  $p rented $f  search($f.plot, "harbor") } return { $p.handle, $f.code }'
        assert answer(core) == [("ann", "DR-2")]

    def test_several_text_clauses_must_all_hold(self, answer):
        core = 'match { $f: Film  search($f.plot, "ship")  match_text($f.plot, "away") } return { $f.code }'
        assert answer(core) == [("SF-1",)]

    def test_fuzzy_takes_as_many_edits_as_it_says(self, answer):
        # "harbour" is one letter from "harbor", and farther from any other word.
        assert answer('match { $f: Film  fuzzy($f.plot, "harbour", 1) } return { $f.code }') == [("DR-2",)]
        assert answer('match { $f: Film  fuzzy($f.plot, "harbour", 0) } return { $f.code }') == []

    def test_nearest_ranks_by_cosine_and_its_score_is_a_column(self, answer):
        core = (
            "match { $f: Film } return { $f.code, nearest($f.plotVec, [0.0, 2.0, 0.0, 0.0]) as d } order { d } limit 2"
        )
        assert answer(core) == [("DO-3", pytest.approx(0)), ("DR-2", pytest.approx(1 - 0.5**0.5))]

    def test_conditions_on_the_ranked_variable_come_before_the_top(self, answer):
        core = (
            'match { $f: Film  $f.genre != "docu" } return { $f.code }'
            " order { nearest($f.plotVec, [0.0, 1.0, 0.0, 0.0]) } limit 1"
        )
        assert answer(core) == [("DR-2",)]

    def test_traversals_and_negations_come_after_the_top_and_may_leave_fewer(self, answer):
        order = " order { nearest($f.plotVec, [0.0, 1.0, 0.0, 0.0]) } limit 2"
        # The two nearest are DO-3, which nobody rented, and DR-2.
        assert answer(f"match {{ $p: Person  $p rented $f }} return {{ $f.code }}{order}") == [("DR-2",)]
        assert answer(f"match {{ $f: Film  not {{ $_ rented $f }} }} return {{ $f.code }}{order}") == [("DO-3",)]

    def test_nodes_without_a_vector_are_not_ranked(self, answer, graph):
        del graph.nodes["Film"]["DO-3"]["plotVec"]
        core = "match { $f: Film } return { $f.code } order { nearest($f.plotVec, [0.0, 1.0, 0.0, 0.0]) } limit 9"
        assert answer(core) == [("DR-2",), ("SF-1",)]

    def test_bm25_leaves_out_rows_without_a_match(self, answer):
        core = 'match { $f: Film } return { $f.code } order { bm25($f.plot, "ship harbor") }'
        assert answer(core) == [("DR-2",), ("SF-1",)]

    def test_a_score_that_is_not_ordered_by_drops_no_row(self, answer):
        core = 'match { $f: Film } return { $f.code, bm25($f.plot, "sea") as s } order { $f.code }'
        found = answer(core)
        assert [code for code, _ in found] == ["DO-3", "DR-2", "SF-1"]
        assert [score is None for _, score in found] == [False, True, True]

    def test_keys_after_a_ranking_break_its_ties_also_at_the_cut(self, answer, graph):
        for film in graph.nodes["Film"].values():
            film["plotVec"] = (1.0, 0.0, 0.0, 0.0)
        order = "order { nearest($f.plotVec, [1.0, 0.0, 0.0, 0.0]), $f.title desc } limit 2"
        assert answer(f"match {{ $f: Film }} return {{ $f.title }} {order}") == [("Salt",), ("Orbit",)]

    def test_rrf_adds_the_reciprocal_ranks_of_its_arms(self, answer):
        fused = 'rrf(nearest($f.plotVec, [0.0, 1.0, 0.0, 0.0]), bm25($f.plot, "far"))'
        core = f"match {{ $f: Film }} return {{ $f.code, {fused} as s }} order {{ s }} limit 3"
        # nearest: DO-3, DR-2, SF-1. bm25: SF-1 only.
        assert answer(core) == [
            ("SF-1", pytest.approx(1 / 63 + 1 / 61)),
            ("DO-3", pytest.approx(1 / 61)),
            ("DR-2", pytest.approx(1 / 62)),
        ]

    def test_rrf_ranks_what_the_whole_query_leaves(self, answer):
        fused = 'rrf(nearest($f.plotVec, [0.0, 1.0, 0.0, 0.0]), bm25($f.plot, "far"), 1)'
        core = (
            f"match {{ $p: Person  $p rented $f }} return {{ $f.code, $p.handle, {fused} as s }} order {{ s }} limit 3"
        )
        # DO-3 is not rented, so DR-2 and SF-1 have the ranks 1 and 2 in the first arm.
        assert answer(core) == [
            ("SF-1", "ann", pytest.approx(1 / 3 + 1 / 2)),
            ("SF-1", "bo", pytest.approx(1 / 3 + 1 / 2)),
            ("DR-2", "ann", pytest.approx(1 / 2)),
        ]

    def test_rrf_ties_keep_the_order_of_the_first_arm(self, answer):
        fused = 'rrf(bm25($f.plot, "sea"), bm25($f.plot, "far"))'
        core = f"match {{ $f: Film }} return {{ $f.code }} order {{ {fused} }} limit 2"
        assert answer(core) == [("DO-3",), ("SF-1",)]

    def test_rrf_that_is_only_shown_ranks_the_rows_there_are(self, answer):
        fused = 'rrf(nearest($f.plotVec, [0.0, 1.0, 0.0, 0.0]), bm25($f.plot, "ship"))'
        core = f'match {{ $f: Film  $f.genre != "sci-fi" }} return {{ $f.code, {fused} as s }} order {{ $f.code }}'
        assert answer(core) == [("DO-3", pytest.approx(1 / 61)), ("DR-2", pytest.approx(1 / 62 + 1 / 61))]

    def test_a_text_is_embedded_before_it_is_compared(self, answer):
        assert toy.embed("alpha", 4) == pytest.approx([-0.542049, -0.471799, 0.160905, 0.676534], abs=1e-5)
        core = "match { $f: Film } return { $f.code } order { nearest($f.plotVec, $q) } limit 3"
        # The first two numbers are negative and nearly equal: whatever has both is farthest.
        assert answer(core, "$q: String", {"q": "alpha"})[-1] == ("DR-2",)


def test_conditions_that_name_no_variable_keep_or_drop_the_one_empty_row(answer):
    core = 'match { $word = "yes" } return { $word, count($word) as n }'
    assert answer(core, "$word: String", {"word": "yes"}) == [("yes", 1)]
    assert answer(core, "$word: String", {"word": "no"}) == []
