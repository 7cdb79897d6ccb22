"""The bulk door with tickets in other processes: one commit, judged as a whole."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import pyarrow as pa
import pytest
from bulk_workers import PEOPLE, write_follows, write_people
from library import SCHEMA

import omnigraph as og
from omnigraph.errors import ConstraintError, InvalidInputError, NotFoundError


def in_processes(ticket: og.BulkTicket) -> list[str]:
    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("spawn")) as pool:
        people = [pool.submit(write_people, ticket, part) for part in range(3)]
        follows = [pool.submit(write_follows, ticket, part) for part in range(3)]
        return [each.result() for each in (*people, *follows)]


@pytest.fixture
def graph(shared_root) -> og.Graph:
    return shared_root.init(SCHEMA)


def test_rows_written_by_other_processes_become_one_commit(graph: og.Graph):
    ticket = pickle.loads(pickle.dumps(graph.bulk(["Person", "Follows"], load_id="night-7")))
    receipts = in_processes(ticket)
    assert len(graph.commits.list()) == 1
    assert len(graph.table("Person")) == 0

    done = graph.bulk_publish(receipts, load_id="night-7")
    assert (done.nodes, done.edges, done.total) == ({"Person": 12}, {"Follows": 9}, 21)
    assert done.commit.properties["load_id"] == "night-7"
    assert len(graph.commits.list()) == 2
    assert sorted(row["id"] for row in graph.table("Person")) == sorted(
        f"p{part}-{number}" for part in range(3) for number in range(PEOPLE)
    )
    assert len(graph.table("Follows")) == 9

    again = graph.bulk_publish(receipts, load_id="night-7")
    assert again.commit == done.commit
    assert len(graph.table("Follows")) == 9


def test_rows_written_by_other_processes_for_a_branch_are_on_its_own_lines(graph: og.Graph):
    graph.load([{"type": "Person", "data": {"handle": "before"}}], mode="append")
    graph.branches.create("night")
    ticket = pickle.loads(pickle.dumps(graph.bulk(["Person", "Follows"], branch="night")))
    receipts = in_processes(ticket)
    # While they were at work, somebody else made the first write of the branch.
    graph.load([{"type": "Person", "data": {"handle": "meanwhile"}}], mode="append", branch="night")
    done = graph.bulk_publish(receipts, branch="night")
    assert (done.branch, done.total) == ("night", 21)
    assert len(graph.table("Person", branch="night")) == 14
    assert len(graph.table("Follows", branch="night")) == 9
    assert [row["id"] for row in graph.table("Person")] == ["before"]
    line = graph.snapshot("night").branch.physical
    lines = {each["name"]: each["physical_branch"] for each in graph.snapshot("night").to_dict()["types"]}
    assert sorted(name for name, each in lines.items() if each is not None) == ["Follows", "Person"]
    assert all(each is None or each.startswith(f"{line}.") for each in lines.values())


def test_receipts_are_judged_together(graph: og.Graph):
    ticket = graph.bulk()
    twice = [ticket.write("Person", pa.table({"handle": ["ann"]})) for _ in range(2)]
    with pytest.raises(ConstraintError, match=r"@unique violation on Person\.handle"):
        graph.bulk_publish(twice)
    stranded = ticket.write("Follows", pa.table({"src": ["ann"], "dst": ["nobody"]}))
    with pytest.raises(ConstraintError, match="dst 'nobody' not found in Person"):
        graph.bulk_publish([twice[0], stranded])
    assert len(graph.commits.list()) == 1
    assert graph.bulk_publish([twice[0]]).total == 1


def test_a_ticket_writes_only_what_it_is_for(graph: og.Graph):
    ticket = graph.bulk(["Person"])
    with pytest.raises(NotFoundError, match="edge:Follows"):
        ticket.write("Follows", pa.table({"src": ["a"], "dst": ["b"]}))
    with pytest.raises(InvalidInputError, match="unknown input field"):
        ticket.write("Person", pa.table({"handle": ["a"], "heigth": [1]}))
    with pytest.raises(InvalidInputError, match="no receipt"):
        graph.bulk_publish(['{"format": 9}'])
    with pytest.raises(InvalidInputError, match="one load"):
        graph.bulk_publish([ticket.write("Person", pa.table({"handle": ["a"]}))], load_id="another")


def test_a_bulk_merge_recognises_edges_by_their_unique_tuple(graph: og.Graph):
    people, films = (
        pa.table({"handle": ["ann"]}),
        [{"type": "Film", "data": {"code": "SF-1", "title": "t", "genre": "docu", "added": 0}}],
    )
    graph.load(films, mode="append")
    for load_id in ("one", "two"):
        ticket = graph.bulk(load_id=load_id)
        receipts = [
            ticket.write("Person", people),
            ticket.write("Rented", pa.table({"src": ["ann"], "dst": ["SF-1"]})),
        ]
        graph.bulk_publish(receipts, mode="merge")
    assert len(graph.table("Rented")) == 1
    assert len(graph.table("Person")) == 1
