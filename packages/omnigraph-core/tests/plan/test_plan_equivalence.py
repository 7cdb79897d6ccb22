"""Whatever the rules do to a plan, its rows stay the same; and the plain plan gives the rows that the language says."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from omnigraph.errors import CompileError
from omnigraph.plan import RULES, lower_query, optimize
from omnigraph.plan.rules import prune_columns
from omnigraph.plan.tree import walk
from omnigraph.query import compile_query
from omnigraph.schema import compile_schema


def _load(name: str):
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


toy = _load("toy_engine")
toy_oracle = _load("toy_oracle")
toy_queries = _load("toy_queries")

CATALOG = compile_schema(toy_queries.SCHEMA)
PROFILE = settings(deadline=None, suppress_health_check=[HealthCheck.filter_too_much])


def checked(text: str):
    try:
        return compile_query(text, CATALOG)
    except CompileError:
        assume(False)


def outcome(rows, text: str):
    """A list when the query has an order, which is total; else a bag."""
    spelled = [repr(list(each.items())) for each in rows]
    return spelled if " order " in text else Counter(spelled)


@PROFILE
@given(toy_queries.graphs(toy), toy_queries.queries())
def test_optimised_and_plain_plans_have_the_same_rows(graph, text):
    plain = lower_query(checked(text), CATALOG)

    assert outcome(toy.run(optimize(plain, CATALOG), graph), text) == outcome(toy.run(plain, graph), text)


@PROFILE
@given(toy_queries.graphs(toy), toy_queries.queries(), st.permutations(RULES[:-1]))
def test_rules_keep_the_rows_in_any_order_as_long_as_columns_are_pruned_last(graph, text, rules):
    plain = lower_query(checked(text), CATALOG)
    plan = plain
    for rule in (*rules, RULES[-1]):
        plan = rule(plan, CATALOG)

    assert RULES[-1] is prune_columns
    assert outcome(toy.run(plan, graph), text) == outcome(toy.run(plain, graph), text)


@PROFILE
@given(toy_queries.queries())
def test_rules_change_nothing_the_second_time(text):
    plan = optimize(lower_query(checked(text), CATALOG), CATALOG)

    assert optimize(plan, CATALOG) == plan


@PROFILE
@given(toy_queries.graphs(toy), toy_queries.queries(maximum_minimum=1))
def test_plain_plans_have_the_rows_that_trying_every_assignment_finds(graph, text):
    read = checked(text)

    expected = toy_oracle.Oracle(toy, graph, {}).rows(read)
    assert outcome(toy.run(lower_query(read, CATALOG), graph), text) == outcome(expected, text)


def test_the_generated_queries_are_mostly_valid_and_of_every_kind():
    found: Counter[str] = Counter()

    @settings(max_examples=300, deadline=None, database=None, derandomize=True)
    @given(toy_queries.queries())
    def collect(text):
        try:
            plan = optimize(lower_query(compile_query(text, CATALOG), CATALOG), CATALOG)
        except CompileError:
            found["refused"] += 1
            return
        for name in {type(each).__name__ for each in walk(plan.root)}:
            found[name] += 1

    collect()

    assert found["refused"] < 100
    kinds = ("Expand", "EdgeExpand", "Filter", "CrossJoin", "Join", "AntiJoin", "OuterRows", "Rank", "RankJoin", "Fuse")
    assert [kind for kind in kinds if found[kind] < 3] == []
