"""``CommittedRows``: the same answers from memory and from the tables, and a note of every table looked at."""

from __future__ import annotations

import pyarrow as pa
import pytest
from publish_world import FILM, PERSON, SAW, new_graph, write

from omnigraph.history.warm import WarmColumns
from omnigraph.tables.counting import count_table_calls
from omnigraph.write.committed import CommittedRows

PEOPLE = {"ann": 30, "bob": None, "cem": 30, "dee": 7}


def people(repository, pin, target):
    rows = pa.table({"id": list(PEOPLE), "age": list(PEOPLE.values()), "name": list(PEOPLE)})
    return repository.tables.stage_append(
        repository.tables.open_at(pin), rows.select(target.schema.names).cast(target.schema)
    )


@pytest.fixture(params=[1_000, 0], ids=["in memory", "from the table"])
def committed(request) -> CommittedRows:
    repository = new_graph()
    write(repository, {PERSON: people})
    return CommittedRows(
        repository.snapshot(repository.newest()), repository.tables, WarmColumns(max_rows=request.param)
    )


def person(committed: CommittedRows):
    return committed.snapshot.schema.node("Person")


def test_rows_are_found_by_their_keys(committed):
    found = committed.lookup(person(committed), pa.array(["dee", "ann", "zoe"]), columns=["id", "age"])
    assert found.column_names == ["id", "age"]
    assert sorted(map(tuple, (each.values() for each in found.to_pylist()))) == [("ann", 30), ("dee", 7)]


def test_rows_are_found_by_another_column(committed):
    found = committed.lookup(person(committed), pa.array([30], pa.int32()), key="age", columns=["id"])
    assert sorted(found["id"].to_pylist()) == ["ann", "cem"]


def test_rows_are_found_whole(committed):
    [found] = committed.lookup(person(committed), pa.array(["bob"])).to_pylist()
    assert found == {"id": "bob", "age": None, "name": "bob"}


def test_no_keys_find_no_rows(committed):
    found = committed.lookup(person(committed), pa.array([], pa.string()), columns=["id", "age"])
    assert found.num_rows == 0
    assert found.column_names == ["id", "age"]


def test_rows_are_found_by_several_columns_at_once(committed):
    keys = {"age": pa.array([30, 7], pa.int32()), "name": pa.array(["cem", "dee", "bob"])}
    found = committed.lookup_all(person(committed), keys, columns=["id"])
    assert sorted(found["id"].to_pylist()) == ["cem", "dee"]
    assert found.column_names == ["id"]


def test_all_rows_come_as_a_stream(committed):
    found = committed.read(person(committed), ["id"]).read_all()
    assert sorted(found["id"].to_pylist()) == sorted(PEOPLE)


def test_the_number_of_rows_costs_nothing(committed):
    with count_table_calls() as counts:
        assert committed.row_count(person(committed)) == 4
        assert committed.row_count(committed.snapshot.schema.node("Film")) == 0
    assert counts == {}


@pytest.mark.parametrize(
    "look",
    [
        lambda committed, target: committed.row_count(target),
        lambda committed, target: committed.read(target, ["id"]).read_all(),
        lambda committed, target: committed.lookup(target, pa.array(["x"]), columns=["id"]),
        lambda committed, target: committed.lookup(target, pa.array(["x"])),
        lambda committed, target: committed.lookup_all(target, {"id": pa.array(["x"])}, columns=["id"]),
    ],
)
def test_every_look_at_a_table_is_noted(committed, look):
    assert committed.looked_at == set()
    look(committed, committed.snapshot.schema.node("Film"))
    assert committed.looked_at == {FILM}
    look(committed, committed.snapshot.schema.edge("Saw"))
    assert committed.looked_at == {FILM, SAW}


# ── without rows that go ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def left(committed) -> CommittedRows:
    """What is committed as if ann and dee were gone."""
    return committed.without({PERSON: pa.array(["ann", "dee", "nobody"])})


def test_rows_that_go_are_not_found_by_any_way(left):
    target = person(left)
    age, names = pa.array([30, 7], pa.int32()), pa.array(["ann", "cem"])
    assert left.lookup(target, pa.array(["ann", "bob"]), columns=["age", "name"]).to_pylist() == [
        {"age": None, "name": "bob"}
    ]
    assert left.lookup(target, age, key="age", columns=["name"]).to_pylist() == [{"name": "cem"}]
    assert [each["id"] for each in left.lookup(target, pa.array(["dee", "cem"])).to_pylist()] == ["cem"]
    assert left.lookup_all(target, {"age": age, "name": names}, columns=["age"]).to_pylist() == [{"age": 30}]
    assert sorted(left.read(target, ["name"]).read_all()["name"].to_pylist()) == ["bob", "cem"]
    assert left.read(target, ["name"]).schema.names == ["name"]
    places = left.locate(target, pa.array(["ann", "bob", "dee"]))
    assert places.is_null().to_pylist() == [True, False, True]


def test_rows_of_other_types_are_all_there(committed):
    left = committed.without({FILM: pa.array(["ann"])})
    assert left.lookup(person(left), pa.array(["ann"]), columns=["id"]).to_pylist() == [{"id": "ann"}]
    assert len(left.read(person(left), ["id"]).read_all()) == len(PEOPLE)


def test_what_is_looked_at_without_rows_is_noted_with_the_whole(committed, left):
    assert left.row_count(person(left)) >= 2
    left.lookup(left.snapshot.schema.node("Film"), pa.array(["alien"]), columns=["id"])
    assert committed.looked_at == left.looked_at == {PERSON, FILM}
