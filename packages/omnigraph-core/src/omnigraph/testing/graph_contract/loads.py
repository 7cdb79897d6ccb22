"""What goes in comes out: the three modes, exports, refusals, and the commits and the past that loads leave."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from omnigraph.errors import ConstraintError, InvalidInputError, NotFoundError
from omnigraph.testing.graph_contract.clauses import (
    SEED,
    STORY,
    GraphClauses,
    GraphPlace,
    film,
    holds,
    lines,
    model_of,
    person,
    rated,
)
from omnigraph.testing.invariants import assert_graph_is_whole

if TYPE_CHECKING:
    from omnigraph.graph import Graph

REFUSED = {
    "a type that is not declared": ({"type": "Book", "data": {}}, InvalidInputError),
    "a value of another type": ({"type": "Person", "data": {"name": "dee", "age": "old"}}, InvalidInputError),
    "a required value that is missing": ({"type": "Film", "data": {"code": "F9"}}, InvalidInputError),
    "a value out of its range": (person("dee", 151), ConstraintError),
    "a value that the enum has not": (film("F9", "x", "western"), ConstraintError),
    "an edge without its end": (rated("bo", "F7", 1), ConstraintError),
    "an id that is stored": (person("ann", 1), ConstraintError),
    "a tuple of ends that is stored": (
        {"edge": "Rated", "from": "ann", "to": "F1", "data": {"id": "other", "stars": 1}},
        ConstraintError,
    ),
}
"""What one record may get wrong, beside the kind of error that comes of it."""


class LoadClauses(GraphClauses):
    """Loads, exports, history."""

    def test_every_mode_does_what_it_says(self, graph: Graph) -> None:
        for number in range(len(STORY)):
            mode, records = STORY[number]
            result = graph.load(lines(records), mode)
            model = model_of(*STORY[: number + 1])
            assert holds(graph, model), f"after {mode} number {number}"
            assert result.total == len(records)
            assert {each["name"]: each["count"] for each in graph.snapshot().to_dict()["types"]} == {
                key.partition(":")[2]: len(rows) for key, rows in model.rows.items()
            }
        assert_graph_is_whole(graph)

    def test_rows_are_read_back_by_type(self, seeded: Graph) -> None:
        people = {row["id"]: row for row in seeded.table("Person")}
        assert people == {
            "ann": {"id": "ann", "age": 41, "name": "ann"},
            "bo": {"id": "bo", "age": None, "name": "bo"},
        }
        (one,) = (row for row in seeded.table("edge:Rated", columns=["id", "src", "dst"]) if row["src"] == "ann")
        assert one == {"id": "ann-F1", "src": "ann", "dst": "F1"}

    def test_an_export_loads_into_an_equal_graph(self, place: GraphPlace, seeded: Graph) -> None:
        exported = list(seeded.export())
        with replace(place, uri=f"{place.uri}-{secrets.token_hex(4)}").init() as copy:
            copy.load("\n".join(exported), "overwrite")
            assert list(copy.export()) == exported

    def test_an_empty_load_is_a_commit(self, seeded: Graph) -> None:
        before, commits = list(seeded.export()), seeded.commits.list()
        result = seeded.load([], "overwrite")
        assert seeded.commits.list() == [result.commit, *commits]
        assert list(seeded.export()) == before

    def test_a_refused_load_changes_nothing_and_the_next_one_works(self, seeded: Graph) -> None:
        before, commits = list(seeded.export()), seeded.commits.list()
        for what, (record, kind) in REFUSED.items():
            good = [film("F5", "Good"), record]
            with pytest.raises((InvalidInputError, ConstraintError)) as caught:
                seeded.load(good, "append")
            assert type(caught.value) is kind, what
            assert seeded.commits.list() == commits, what
            assert list(seeded.export()) == before, what
        seeded.load([film("F5", "Good")], "append")
        assert holds(seeded, model_of(("append", SEED), ("append", [film("F5", "Good")])))
        assert_graph_is_whole(seeded)

    def test_a_load_of_a_known_name_happens_once(self, seeded: Graph) -> None:
        first = seeded.load([person("dee")], "append", load_id="monday")
        again = seeded.load([person("dee")], "append", load_id="monday")
        assert again.commit == first.commit
        assert len(seeded.commits.list()) == 3

    def test_every_load_is_one_commit_on_one_line(self, graph: Graph) -> None:
        made = [graph.load(records, mode, actor=f"actor {mode}").commit for mode, records in STORY]
        listed = graph.commits.list()
        assert listed[:-1] == made[::-1]
        assert [each.actor for each in made] == [f"actor {mode}" for mode, _ in STORY]
        assert [each.parent_id for each in listed] == [*(each.id for each in listed[1:]), None]
        assert graph.commits.list(limit=2) == listed[:2]
        assert graph.commits.list(actor="actor merge") == [made[1]]
        assert graph.commits.show(made[1].id) == made[1]
        with pytest.raises(NotFoundError):
            graph.commits.show("01ARZ3NDEKTSV4RRFFQ69G5FAV")

    def test_the_past_is_read_as_it_was(self, place: GraphPlace, graph: Graph) -> None:
        states = [list(graph.export())]
        for mode, records in STORY:
            graph.load(records, mode)
            states.append(list(graph.export()))
        commits = graph.commits.list()[::-1]
        with place.open("r") as reader:
            for commit, state in zip(commits, states, strict=True):
                kept = reader.snapshot(at=commit.id)
                assert kept.commit == commit
                for moment in (commit.id, commit.manifest_version, kept):
                    assert list(reader.export(snapshot=moment)) == state
                people = sum('"type":"Person"' in line.replace(" ", "") for line in state)
                assert len(reader.table("Person", snapshot=commit.id)) == people
            with pytest.raises(NotFoundError):
                reader.snapshot(at=len(commits) + 1)

    def test_a_snapshot_stays_as_it_is(self, seeded: Graph) -> None:
        kept, before = seeded.snapshot(), list(seeded.export())
        seeded.load([person("dee")], "append")
        assert list(seeded.export(snapshot=kept)) == before
        assert list(seeded.export()) != before
