"""``ensure_indices``: what is declared is built, in one commit or none."""

from __future__ import annotations

from typing import Any

import pytest

import omnigraph as og
from omnigraph import failpoints
from omnigraph.errors import NotFoundError, ReadOnlyError
from omnigraph.history.ulids import new_ulid
from omnigraph.testing import faults

SCHEMA = """
node Film { code: String @key  stars: F32? @index  mood: Vector(2)? @index }
node Empty { k: String @key }
edge Next: Film -> Film
"""
FILM_INDEXES = {
    ("node:Film", "id", "btree"),
    ("node:Film", "code", "btree"),
    ("node:Film", "code", "inverted"),
    ("node:Film", "stars", "btree"),
}
MOOD = ("node:Film", "mood", "vector")


def film(code: str, **more: Any) -> dict[str, Any]:
    return {"type": "Film", "data": {"code": code, **more}}


@pytest.fixture
def graph() -> og.Graph:
    graph = og.init(f"memory://{new_ulid()}", schema=SCHEMA)
    graph.load([film("a"), film("b")], mode="append")
    return graph


def built(report: og.IndexReport) -> set[tuple[str, str, str]]:
    return {(each.type_key, each.property, each.kind) for each in report.built}


def uncovered(graph: og.Graph) -> dict[tuple[str, str, str], int]:
    return {(each.type_key, each.property, each.kind): each.uncovered_rows for each in graph.stats().indexes}


def test_everything_declared_is_built_in_one_maintenance_commit(graph: og.Graph) -> None:
    before = graph.snapshot().commit.id
    report = graph.maintain.ensure_indices()
    assert built(report) == FILM_INDEXES
    assert report.commit is not None
    assert (report.commit.kind, report.commit.parent_id) == ("maintenance", before)
    assert graph.snapshot().commit.id == report.commit.id
    assert {key: uncovered(graph)[key] for key in FILM_INDEXES} == dict.fromkeys(FILM_INDEXES, 0)


def test_a_vector_index_waits_for_vectors_and_says_so(graph: og.Graph) -> None:
    report = graph.maintain.ensure_indices()
    assert [(each.type_key, each.property, each.kind, each.reason) for each in report.pending] == [
        (*MOOD, "no non-null vectors to train on yet")
    ]
    graph.load([film("c", mood=[1.0, 0.0])], mode="append")
    again = graph.maintain.ensure_indices()
    assert MOOD in built(again)
    assert again.pending == ()


def test_an_index_on_several_properties_stays_pending_with_its_reason_and_fails_nothing() -> None:
    graph = og.init(
        f"memory://{new_ulid()}",
        schema="""
        node Film { code: String @key  year: I32?  stars: F32?  tags: [String]?  @index(year, stars)  @index(tags) }
        edge Next: Film -> Film { since: Date? @index  @index(dst, since) }
        """,
    )
    graph.load([film("a"), film("b"), {"edge": "Next", "from": "a", "to": "b"}], mode="append")
    report = graph.maintain.ensure_indices()
    assert ("edge:Next", "since", "btree") in built(report)
    several = "an index on several properties is not built; declare @index on each of them"
    assert [(each.type_key, each.property, each.kind, each.reason) for each in report.pending] == [
        ("edge:Next", "dst, since", "composite", several),
        ("node:Film", "stars, year", "composite", several),
        ("node:Film", "tags", "btree", "an index on a list is not built"),
    ]
    again = graph.maintain.ensure_indices()
    assert (again.built, again.commit, again.pending) == ((), None, report.pending)
    waiting = {(each.type_key, each.property): each for each in graph.stats().indexes if each.pending is not None}
    assert set(waiting) == {(each.type_key, each.property) for each in report.pending}
    composite = waiting["node:Film", "stars, year"]
    assert (composite.covered_rows, composite.uncovered_rows, composite.is_declared) == (0, 2, True)
    assert composite.pending == several


def test_nothing_to_do_writes_nothing(graph: og.Graph) -> None:
    graph.maintain.ensure_indices()
    head = graph.snapshot().commit
    report = graph.maintain.ensure_indices()
    assert (report.built, report.commit) == ((), None)
    assert graph.snapshot().commit == head


def test_rows_that_came_later_are_covered_by_the_next_run_and_only_they_are_indexed(graph: og.Graph) -> None:
    graph.maintain.ensure_indices()
    graph.load([film("c"), film("d"), film("e")], mode="append")
    assert {uncovered(graph)[key] for key in FILM_INDEXES} == {3}
    report = graph.maintain.ensure_indices()
    assert {each.rows for each in report.built if each.property != "mood"} == {3}
    assert {uncovered(graph)[key] for key in FILM_INDEXES} == {0}


def test_a_type_without_rows_is_left_alone(graph: og.Graph) -> None:
    assert not [each for each in graph.maintain.ensure_indices().built if each.type_key != "node:Film"]


def test_rows_are_as_before_and_later_writes_see_them(graph: og.Graph) -> None:
    before = list(graph.export())
    graph.maintain.ensure_indices()
    assert list(graph.export()) == before
    graph.load([film("a", stars=2.5)], mode="merge")
    assert [row["stars"] for row in graph.table("Film", ["code", "stars"]) if row["code"] == "a"] == [2.5]
    assert len(graph.table("Film")) == 2


def test_a_load_that_comes_first_is_not_lost_and_its_rows_are_indexed_too(graph: og.Graph) -> None:
    other = og.open(graph.uri)
    loads = iter([lambda: other.load([film("z")], mode="append")])

    def load_once(_: str) -> None:
        next(loads, lambda: None)()

    with faults.armed({failpoints.PUBLISH_BEFORE_COMMIT: faults.Call(load_once)}):
        report = graph.maintain.ensure_indices()
    assert {row["code"] for row in graph.table("Film", ["code"])} == {"a", "b", "z"}
    assert {each.rows for each in report.built} == {3}
    assert {uncovered(graph)[key] for key in FILM_INDEXES} == {0}


def test_an_unknown_branch_and_a_graph_for_reading_are_refused(graph: og.Graph) -> None:
    with pytest.raises(NotFoundError):
        graph.maintain.ensure_indices("dev")
    with pytest.raises(ReadOnlyError):
        _ = og.open(graph.uri, mode="r").maintain
