"""An ``@index`` is used, whatever the type of the property: by queries, updates, deletes and scans.

Answers are those of Python over the same rows, for every comparison, both orders of the operands, literals and
parameters. That an index was used is read from the bytes that storage gave and from what ``explain`` says.
"""

from __future__ import annotations

import random
import uuid
from operator import eq, ge, gt, le, lt, ne
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnigraph as og
from omnigraph import Graph
from omnigraph.lang.dates import format_datetime

SCHEMA = """
node Event {
    key: String @key
    at: DateTime? @index
    small: U32? @index
    wide: U64? @index
    number: I64? @index
    text: String?
    more: [DateTime]?
}
edge Follows: Event -> Event {
    since: DateTime? @index
    weight: U64? @index
}
"""
COUNT = 60_000
"""More than a type has that is read whole for the sake of a few."""

NAMED = {"at": "DateTime", "small": "U32", "wide": "U64", "number": "I64"}
OPERATORS = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def stored(column: str, row: int) -> int | None:
    """The value of a property in a row, as an integer; each occurs in few rows, and one row in eleven has none."""
    if row % 11 == 5:
        return None
    draw = random.Random(f"{column} {row // 2}")
    if column == "at":
        return draw.choice([-1, 0, 1, 999]) if row % 997 == 0 else draw.randrange(-(10**12), 2 * 10**12)
    if column == "small":
        return draw.choice([0, 2**31, 2**32 - 1]) if row % 997 == 0 else draw.randrange(2**32)
    if column == "wide":
        return draw.choice([0, 2**63 - 1, 2**63, 2**64 - 1]) if row % 997 == 0 else draw.randrange(2**64)
    return draw.randrange(-(2**63), 2**63)


VALUES = {column: [stored(column, row) for row in range(COUNT)] for column in NAMED}


def events() -> pa.Table:
    return pa.table(
        {
            "key": [f"e{row:05}" for row in range(COUNT)],
            "at": pa.array(VALUES["at"], pa.int64()).cast(pa.timestamp("ms", "UTC")),
            "small": pa.array(VALUES["small"], pa.uint32()),
            "wide": pa.array(VALUES["wide"], pa.uint64()),
            "number": pa.array(VALUES["number"], pa.int64()),
            "text": pa.array([f"text {row} " * 4 for row in range(COUNT)]),
        }
    )


def indexed_graph() -> Graph:
    made = og.init(f"memory://indexed-{uuid.uuid4().hex}", schema=SCHEMA)
    made.load({"Event": events()}, "append")
    made.maintain.ensure_indices()
    return made


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Nothing of it is kept in memory, so that every query reads from storage."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMNIGRAPH_CACHE_BYTES", "0")
        return indexed_graph()


def as_given(column: str, value: int) -> Any:
    return format_datetime(value) if column == "at" else value


def as_literal(column: str, value: int) -> str:
    return f'datetime("{format_datetime(value)}")' if column == "at" else str(value)


def keys(graph: Graph, condition: str, declared: str = "", **params: Any) -> list[str]:
    text = f"query q({declared}) {{ match {{ $e: Event {condition} }} return {{ $e.key }} }}"
    found = graph.query(text, params=params)
    return sorted(each["e.key"] for each in found.rows())


def expected(column: str, operator: str, value: int) -> list[str]:
    is_true = OPERATORS[operator]
    return [f"e{row:05}" for row, each in enumerate(VALUES[column]) if each is not None and is_true(each, value)]


WANTED = st.sampled_from(list(NAMED)).flatmap(
    lambda column: st.tuples(
        st.just(column),
        st.sampled_from(list(OPERATORS)),
        st.sampled_from([each for each in VALUES[column] if each is not None]),
    )
)


@given(wanted=WANTED, is_mirrored=st.booleans(), is_literal=st.booleans())
@settings(max_examples=60, deadline=None)
def test_an_answer_by_an_index_is_that_of_every_row_looked_at(
    graph: Graph, wanted: tuple[str, str, int], is_mirrored: bool, is_literal: bool
):
    column, operator, value = wanted
    # No literal of the language has a sign.
    is_literal = is_literal and (column == "at" or value >= 0)
    given_value = as_literal(column, value) if is_literal else "$v"
    words = [f"$e.{column}", operator, given_value]
    if is_mirrored:
        words = [given_value, MIRRORED[operator], f"$e.{column}"]
    declared, params = ("", {}) if is_literal else (f"$v: {NAMED[column]}", {"v": as_given(column, value)})
    assert keys(graph, " ".join(words), declared, **params) == expected(column, operator, value)


@pytest.mark.parametrize("column", NAMED)
def test_a_query_reads_what_the_index_names_and_says_so(graph: Graph, column: str):
    value = next(each for each in VALUES[column][3:] if each is not None)
    assert value is not None
    text = f"query q($v: {NAMED[column]}) {{ match {{ $e: Event {{ {column}: $v }} }} return {{ $e.text }} }}"
    before = graph.stats().read_bytes
    shown = graph.explain(text, params={"v": as_given(column, value)}, analyze=True)
    read = graph.stats().read_bytes - before
    assert f"by the index on {column}" in str(shown)
    assert f"-- index node:Event.{column} (btree) covers 60,000 of 60,000" in str(shown)
    assert shown.row_count == len(expected(column, "=", value))
    # The column alone has 8 bytes (4 for U32) in each row, and the texts far more.
    assert read < COUNT * 4


@pytest.mark.parametrize("column", NAMED)
def test_updates_and_deletes_find_their_rows_by_the_index(column: str):
    graph = indexed_graph()
    # As for a type of more rows than a writer keeps in memory.
    graph._repository.warm.max_rows = 1_000
    value = VALUES[column][8]
    assert value is not None
    touched = expected(column, "=", value)
    before = graph.stats().read_bytes
    done = graph.mutate(
        f'query u($v: {NAMED[column]}) {{ update Event set {{ text: "new" }} where {column} = $v }}',
        params={"v": as_given(column, value)},
    )
    assert done.affected_nodes == len(touched)
    assert graph.stats().read_bytes - before < COUNT * 4
    assert keys(graph, '$e.text = "new"') == touched
    before = graph.stats().read_bytes
    done = graph.mutate(
        f"query d($v: {NAMED[column]}) {{ delete Event where {column} = $v }}", params={"v": as_given(column, value)}
    )
    assert done.affected_nodes == len(touched)
    assert graph.stats().read_bytes - before < COUNT * 4
    assert keys(graph, f"$e.{column} = $v", f"$v: {NAMED[column]}", v=as_given(column, value)) == []


def test_a_text_in_a_type_with_a_list_of_such_values_is_found_by_its_index(graph: Graph):
    """Every filter on such a type was refused by storage, and the type was read whole."""
    before = graph.stats().read_bytes
    found = graph.scan("Event", ["id", "text"]).read(where=[("id", "in", ["e00007", "e59999"])]).read_all()
    assert sorted(found["id"].to_pylist()) == ["e00007", "e59999"]
    assert graph.stats().read_bytes - before < COUNT * 4


# ── edges ────────────────────────────────────────────────────────────────────────────────────────────────────────────

EDGES = 40_000


def follows() -> pa.Table:
    """Each event follows the next ones; each value of a property is that of two edges."""
    return pa.table(
        {
            "from": [f"e{row % 20_000:05}" for row in range(EDGES)],
            "to": [f"e{(row * 7 + 1) % 20_000:05}" for row in range(EDGES)],
            "since": pa.array([row // 2 * 1_001 for row in range(EDGES)], pa.int64()).cast(pa.timestamp("ms", "UTC")),
            "weight": pa.array([2**64 - 1 - row // 2 for row in range(EDGES)], pa.uint64()),
        }
    )


@pytest.fixture(params=[True, False], ids=["indexed", "without indexes"])
def edges(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Graph:
    monkeypatch.setenv("OMNIGRAPH_CACHE_BYTES", "0")
    made = og.init(f"memory://indexed-{uuid.uuid4().hex}", schema=SCHEMA)
    made.load({"Event": events().slice(0, 20_000), "Follows": follows()}, "append")
    if request.param:
        report = made.maintain.ensure_indices()
        assert {(each.property, each.kind) for each in report.built if each.type_key == "edge:Follows"} == {
            ("id", "btree"), ("src", "btree"), ("dst", "btree"), ("since", "btree"), ("weight", "btree"),
        }  # fmt: skip
    return made


def test_many_nodes_ask_for_edges_by_the_index_on_their_property(edges: Graph):
    """Answers are the same without it; with it the edges of 20,000 nodes are not read."""
    is_indexed = any(each.property == "weight" and each.covered_rows for each in edges.stats().indexes)
    weight = 2**64 - 1 - 600
    text = """
    query q($w: U64) {
        match { $e: Event  $e $f:follows $t  $f.weight = $w }
        return { $e.key $t.key }
        order { $e.key }
    }
    """
    found = edges.query(text, params={"w": weight}).rows()
    expected_rows = [row for row in range(EDGES) if row // 2 == 600]
    assert [(each["e.key"], each["t.key"]) for each in found] == sorted(
        (f"e{row % 20_000:05}", f"e{(row * 7 + 1) % 20_000:05}") for row in expected_rows
    )
    steps = edges.explain(text, params={"w": weight}, analyze=True).steps
    (step,) = (each for each in steps if each.operator.startswith("EdgeExpand"))
    assert step.facts["filter"] == ("by the index on weight" if is_indexed else "sieved by weight, no index")


@pytest.mark.parametrize("condition", ["since = $v", "weight = $v"])
def test_edges_are_deleted_by_the_index_on_their_property(edges: Graph, condition: str):
    is_indexed = any(each.property == "weight" and each.covered_rows for each in edges.stats().indexes)
    edges._repository.warm.max_rows = 1_000
    declared = "DateTime" if "since" in condition else "U64"
    value: Any = format_datetime(600 * 1_001) if "since" in condition else 2**64 - 1 - 600
    before = edges.stats().read_bytes
    done = edges.mutate(f"query d($v: {declared}) {{ delete Follows where {condition} }}", params={"v": value})
    assert done.affected_edges == 2
    if is_indexed:
        assert edges.stats().read_bytes - before < EDGES * 4
    assert edges.scan("Follows", ["id"]).row_count == EDGES - 2
