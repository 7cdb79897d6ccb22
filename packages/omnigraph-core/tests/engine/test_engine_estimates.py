"""Guesses of row counts: from the counts of the snapshot and the schema, operator by operator."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from omnigraph.engine.estimates import average_degree, estimate_rows
from omnigraph.plan.compiler import Compiler
from omnigraph.plan.ir import Aggregate, AntiJoin, CrossJoin, EdgeExpand, Expand, Limit, NodeScan, Sort
from omnigraph.plan.tree import walk
from omnigraph.schema import compile_schema

SCHEMA = """
node Person { handle: String @key  mail: String @unique  age: I64?  city: enum(north, south, east, west) }
node Film { code: String @key  title: String @index }
edge Knows: Person -> Person
edge Rented: Person -> Film { on: Date? }
"""
CATALOG = compile_schema(SCHEMA)
COUNTS = {"node:Person": 1_000, "node:Film": 50, "edge:Knows": 5_000, "edge:Rented": 2_000}
SOURCE = SimpleNamespace(row_count=COUNTS.__getitem__, schema=SimpleNamespace(catalog=CATALOG))


def plan_of(text):
    return Compiler(CATALOG).plan(f"query q($k: String) {{ {text} }}").root


def estimate(text, kind=None):
    """Of the topmost operator of a kind, or of the whole query."""
    root = plan_of(text)
    wanted = root if kind is None else next(each for each in walk(root) if isinstance(each, kind))
    return estimate_rows(wanted, SOURCE, CATALOG)


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("match { $p: Person } return { $p.age }", NodeScan, 1_000),
        ("match { $p: Person { handle: $k } } return { $p.age }", NodeScan, 1),
        ("match { $p: Person { mail: $k } } return { $p.age }", NodeScan, 1),
        ('match { $p: Person { city: "north" } } return { $p.age }', NodeScan, 250),
        ("match { $p: Person { handle: $k } $p knows $q } return { $q.age }", Expand, 5),
        ("match { $p: Person { handle: $k } $p knows{1,2} $q } return { $q.age }", Expand, 30),
        ("match { $p: Person { handle: $k } $p knows{1,9} $q } return { $q.age }", Expand, 1_000),
        ("match { $p: Person { handle: $k } $p <knows> $q } return { $q.age }", Expand, 10),
        ('match { $p: Person { handle: $k } $p knows $q $q: Person { city: "east" } } return { $q.age }', Expand, 1.25),
        ("match { $f: Film { code: $k } $p rented $f } return { $p.age }", Expand, 40),
        ("match { $p: Person { handle: $k } $p $r:rented $f } return { $r.on }", EdgeExpand, 2),
        ("match { $p: Person $f: Film } return { $p.age }", CrossJoin, 50_000),
        ("match { $p: Person not { $p knows $_ } } return { $p.age }", AntiJoin, 500),
        ("match { $p: Person } return { $p.age } order { $p.age desc } limit 7", Limit, 7),
        ("match { $p: Person } return { $p.age } order { $p.age desc } limit 7", Sort, 1_000),
        ("match { $p: Person } return { count($p) as n }", Aggregate, 1),
        ("match { $p: Person } return { $p.city, count($p) as n }", Aggregate, 4),
        ("match { $p: Person } return { $p.age, count($p) as n }", Aggregate, 100),
        ("match { $p: Person } return { $p.age, count($p) as n }", None, 100),
    ],
)
def test_rows_are_guessed_from_counts_and_schema(text, kind, expected):
    assert estimate(text, kind) == pytest.approx(expected)


def test_a_row_whose_ends_are_both_bound_is_kept_with_the_chance_of_an_edge():
    text = "match { $p: Person { handle: $k } $p knows $q $q knows $p } return { $q.age }"
    first, second = [each for each in walk(plan_of(text)) if isinstance(each, Expand)]
    assert (first.is_bound, second.is_bound) == (True, False)
    assert estimate_rows(first, SOURCE, CATALOG) == pytest.approx(5 * 5 / 1_000)


@pytest.mark.parametrize("comparison", ["<", "=", "!=", ">="])
def test_conditions_never_make_rows_more(comparison):
    text = f"match {{ $p: Person $f: Film $q: Person $p.age {comparison} 3 }} return {{ $p.age }}"
    assert 0 < estimate(text) < 1_000 * 50 * 1_000
    joined = f"match {{ $p: Person $q: Person $p.age {comparison} $q.age }} return {{ $p.age }}"
    assert 0 < estimate(joined) < 1_000 * 1_000


def test_an_empty_graph_is_no_trouble():
    empty = SimpleNamespace(row_count=lambda key: 0, schema=SOURCE.schema)
    root = plan_of(
        "match { $p: Person $p knows{1,3} $q $q rented $f not { $f: Film $q rented $f } } return { $f.title }"
    )
    assert estimate_rows(root, empty, CATALOG) == 0
    step = next(each for each in walk(root) if isinstance(each, Expand))
    assert average_degree(step, empty) == 0


def test_very_long_paths_do_not_overflow():
    step = Expand(NodeScan("p", "Person"), "p", "q", "Knows", "forward", "Person", 1, 10**6)
    assert estimate_rows(step, SOURCE, CATALOG) == 1_000 * 1_000
    far = Expand(NodeScan("p", "Person"), "p", "q", "Knows", "forward", "Person", 10**6, 10**6)
    assert estimate_rows(far, SOURCE, CATALOG) == 1_000 * 1_000
