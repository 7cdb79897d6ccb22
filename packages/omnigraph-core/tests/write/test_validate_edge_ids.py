"""Ids of edges in a merge: edges without one take that of the committed edge with the same unique tuple."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from validation_world import LARGE, LIBRARY, RENTED, SMALL, STORED, World, table_of

from omnigraph.write.validation.edge_ids import keep_last, merge_tuple, resolve_edge_ids
from omnigraph.write.validation.sets import Limits

BOTH = pytest.mark.parametrize("limits", [SMALL, LARGE], ids=["small", "large"])
WIDER = "node A { } edge E: A -> A { on: Date?  zero: F64?  @unique(src, dst, on, zero) }"


def resolved(world: World, name: str, records: Sequence[dict[str, Any]], limits: Limits) -> list[str | None]:
    """The ids after resolving; all other columns stay as they are."""
    target = world.by_name[name]
    rows = table_of(target, records)
    found = resolve_edge_ids(target, rows, world.committed, limits=limits)  # type: ignore[arg-type]
    assert found.schema == rows.schema
    assert found.drop_columns(["id"]).to_pylist() == rows.drop_columns(["id"]).to_pylist()
    return found["id"].to_pylist()


@BOTH
def test_an_edge_without_an_id_takes_that_of_the_committed_edge_between_the_same_nodes(limits):
    # Case 26 of the conformance set: the same lines again, and one that is new.
    world = World(LIBRARY, STORED)
    again = [{"src": each["src"], "dst": each["dst"]} for each in reversed(RENTED)]
    assert resolved(world, "Rented", [*again, {"src": "cy", "dst": "SF-1"}], limits) == ["r3", "r2", "r1", None]


@BOTH
def test_an_id_that_is_given_stays(limits):
    world = World(LIBRARY, STORED)
    assert resolved(world, "Rented", [{"id": "mine", "src": "ann", "dst": "SF-1"}], limits) == ["mine"]


@BOTH
def test_edges_of_a_type_without_a_telling_tuple_stay_without_id(limits):
    world = World(LIBRARY, STORED)
    assert resolved(world, "Follows", [{"src": "ann", "dst": "bo"}], limits) == [None]
    assert world.committed.accesses == []


@BOTH
def test_a_wider_tuple_tells_edges_apart_and_a_null_in_it_meets_nothing(limits):
    stored = [
        {"id": "1", "src": "a", "dst": "b", "on": 7, "zero": -0.0},
        {"id": "2", "src": "a", "dst": "b", "on": 8, "zero": 1.5},
        {"id": "3", "src": "a", "dst": "b", "on": None, "zero": 0.0},
    ]
    world = World(WIDER, {"E": stored})
    records = [
        {"src": "a", "dst": "b", "on": 8, "zero": 1.5},
        {"src": "a", "dst": "b", "on": 7, "zero": 0.0},
        {"src": "a", "dst": "b", "on": None, "zero": 0.0},
        {"src": "b", "dst": "a", "on": 7, "zero": 0.0},
    ]
    assert resolved(world, "E", records, limits) == ["2", "1", None, None]


@BOTH
def test_an_edge_that_another_record_names_is_not_taken(limits):
    # r1 moves to another film, so the old place is free for a new edge.
    world = World(LIBRARY, STORED)
    records = [{"src": "ann", "dst": "SF-1"}, {"id": "r1", "src": "ann", "dst": "DO-3"}]
    assert resolved(world, "Rented", records, limits) == [None, "r1"]


@BOTH
def test_two_records_of_one_tuple_take_the_same_id_and_are_then_refused(limits):
    world = World(LIBRARY, STORED)
    assert resolved(world, "Rented", [{"src": "ann", "dst": "SF-1"}] * 2, limits) == ["r1", "r1"]
    both = [{"id": "r1", "src": "ann", "dst": "SF-1"}] * 2
    assert world.judge(world.change("Rented", "upsert", both), limits=limits).counts == {"unique": 1}


@BOTH
def test_where_nothing_is_committed_nothing_is_read(limits):
    world = World(LIBRARY)
    assert resolved(world, "Rented", [{"src": "ann", "dst": "SF-1"}], limits) == [None]
    assert world.committed.accesses == []


def test_few_edges_are_looked_up():
    world = World(LIBRARY, STORED)
    resolved(world, "Rented", [{"src": "ann", "dst": "SF-1"}], SMALL)
    assert world.committed.accesses == [("lookup_all", "edge:Rented")]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", None),
        ("{ @unique(src) }", None),
        ("{ p: I32? @unique }", None),
        ("{ @unique(src, dst) }", ("dst", "src")),
        ("{ p: I32?  @unique(dst, p, src) }", ("dst", "p", "src")),
        ("{ p: I32?  @unique(dst, p, src)  @unique(src, dst) }", ("dst", "src")),
    ],
)
def test_the_telling_tuple_is_the_narrowest_that_holds_both_ends(body, expected):
    world = World(f"node A {{ p: I32? @unique }} edge E: A -> A {body}")
    assert merge_tuple(world.by_name["E"]) == expected
    assert merge_tuple(world.by_name["A"]) is None


@BOTH
def test_of_rows_of_one_id_the_last_is_kept_where_it_stands(limits):
    world = World("node A { n: I32? }")
    names = ["x", "y", "x", None, "z", "y", None]
    rows = table_of(world.by_name["A"], [{"id": name, "n": place} for place, name in enumerate(names)])
    kept = keep_last(rows, limits=limits)
    assert kept["n"].to_pylist() == [2, 3, 4, 5, 6]
    assert keep_last(kept, limits=limits) is kept
